//! Peers of `rz`, `rb`, `rx` and `sz` that send invalid or hostile input: each transfer has a clear end
//! in a short time, and nothing is left that should not be there.

use crate::common;

use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, Instant};

use common::scripted_peer::{block, header, send_by_ymodem, until, with_peer};
use common::zmodem::{self, kind};
use common::{Desk, Ran};

const PLAIN: [u8; 4] = [0, 0, 0, 1];
/// More than any of them should take.
const SOON: Duration = Duration::from_secs(30);

/// Writes the same for a second, and reads nothing. Indefinite input is tested where the
/// clock is ours: `noise_that_never_ends` and `a_subpacket_that_never_ends` of the engines.
fn flood(stream: &mut TcpStream, bytes: &[u8]) {
    let until = Instant::now() + Duration::from_secs(1);
    while Instant::now() < until && stream.write_all(bytes).is_ok() {}
}

/// Begins a file at `rz`, and answers whether it was wanted.
fn begin(stream: &mut TcpStream, info: &str) -> Option<u8> {
    stream.write_all(&zmodem::hex(kind::ZRQINIT, [0; 4])).ok()?;
    zmodem::wait_for(stream, &[kind::ZRINIT])?;
    zmodem::offer(stream, b"f", info, PLAIN)
}

#[track_caller]
fn soon(ran: &Ran, code: i32) {
    ran.expect(code);
    assert!(ran.elapsed < SOON, "{:?}", ran.elapsed);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

#[test]
fn ten_gigabytes_are_announced() {
    // ZMODEM has no positions beyond 4 GiB.
    let desk = Desk::new(10);
    let (ran, answer) = with_peer(&desk, "rz", &[], &[], |mut stream| {
        zmodem::send(&mut stream, b"f", "10737418240 0 0 0 1 10737418240", PLAIN, b"payload")
    });
    assert_eq!(answer, Some(kind::ZSKIP));
    soon(&ran, 1);
    assert!(desk.names().is_empty(), "{:?}", desk.names());
    // YMODEM has; what does not come takes no room, and is no file. More than any disk is refused.
    for size in ["10737418240", "9000000000000000000"] {
        let desk = Desk::new(10);
        let (ran, began) = with_peer(&desk, "rb", &[], &[], move |mut stream| {
            until(&mut stream, b"C")?;
            stream.write_all(&header(b"f", size)).ok()?;
            (until(&mut stream, &[6, 0x18])? == 6).then_some(())?;
            until(&mut stream, b"C")?;
            stream.write_all(&block(1, &[7; 1024])).ok()?;
            until(&mut stream, &[6]).map(drop)
        });
        soon(&ran, 128);
        let fits = size.parse::<u64>().is_ok_and(|size| size < room(&desk));
        assert_eq!(began.is_some(), fits, "{size}: {}", ran.stderr);
        assert!(!desk.names().contains(&"f".to_owned()), "{:?}", desk.names());
        for name in desk.names() {
            let part = std::fs::metadata(desk.path(&format!("in/{name}"))).expect("the part");
            assert!(part.blocks() * 512 < 100_000, "{size}: {} blocks", part.blocks());
        }
    }
}

/// Bytes that the disk of the desk has left.
fn room(desk: &Desk) -> u64 {
    let file_system = rustix::fs::statvfs(desk.dir.path()).expect("a disk");
    file_system.f_bavail * file_system.f_frsize
}

#[test]
fn a_million_files_are_announced() {
    let info = "7 0 0 0 1000000 99999999999999";
    let desk = Desk::new(10);
    let (ran, answer) = with_peer(&desk, "rz", &[], &[], move |mut stream| {
        zmodem::send(&mut stream, b"f", info, PLAIN, b"payload")
    });
    assert_eq!(answer, Some(kind::ZRPOS));
    soon(&ran, 0);
    let desk = Desk::new(10);
    let (ran, taken) =
        with_peer(&desk, "rb", &[], &[], move |mut stream| send_by_ymodem(&mut stream, b"f", info));
    assert!(taken.is_some(), "{}", ran.stderr);
    soon(&ran, 0);
    assert_eq!(std::fs::read(desk.path("in/f")).expect("the file"), b"payload");
}

#[test]
fn a_name_without_end() {
    let desk = Desk::new(10);
    let (ran, answer) = with_peer(&desk, "rz", &[], &[], |mut stream| {
        zmodem::send(&mut stream, &vec![b'n'; 60_000], "7 0 0 0 1 7", PLAIN, b"payload")
    });
    assert_ne!(answer, Some(kind::ZRPOS));
    soon(&ran, 128);
    assert!(desk.names().is_empty(), "{:?}", desk.names());
    // Block 0 has no room for more than a kilobyte of it, and then no NUL.
    let desk = Desk::new(10);
    let (ran, ()) = with_peer(&desk, "rb", &[], &[], |mut stream| {
        until(&mut stream, b"C");
        let _ = stream.write_all(&block(0, &[b'n'; 1024]));
        until(&mut stream, &[0x18]);
    });
    soon(&ran, 128);
    assert!(desk.names().is_empty(), "{:?}", desk.names());
}

#[test]
fn data_without_end() {
    // A subpacket without its end, and then more of it until the line is gone.
    let desk = Desk::new(10);
    let (ran, ()) = with_peer(&desk, "rz", &[], &[], |mut stream| {
        begin(&mut stream, "7 0 0 0 1 7");
        let _ = stream.write_all(&zmodem::hex(kind::ZDATA, [0; 4]));
        flood(&mut stream, &[b'x'; 5000]);
    });
    soon(&ran, 128);
    assert!(!desk.names().contains(&"f".to_owned()));
    for (name, args) in [("rx", &["f"][..]), ("rb", &[])] {
        for noise in [&[1][..], &[2, 1, 0xFE], &[0x15], b"C", &[0xFF]] {
            let desk = Desk::new(10);
            let noise = noise.repeat(3000);
            let (ran, ()) =
                with_peer(&desk, name, args, &[], move |mut stream| flood(&mut stream, &noise));
            soon(&ran, 128);
            assert!(!desk.names().contains(&"f".to_owned()), "{name}");
        }
    }
}

#[test]
fn an_end_of_file_that_is_none() {
    // Behind what came, before it, and nonsense: the file is not whole, whatever follows.
    for position in [5_u32, 100, u32::MAX] {
        let desk = Desk::new(10);
        let (ran, ()) = with_peer(&desk, "rz", &[], &[], move |mut stream| {
            begin(&mut stream, "7 0 0 0 1 7");
            let _ = stream.write_all(&zmodem::hex(kind::ZDATA, [0; 4]));
            let _ = stream.write_all(&zmodem::subpacket(b"payload", b'h'));
            let _ = stream.write_all(&zmodem::hex(kind::ZEOF, position.to_le_bytes()));
            std::thread::sleep(Duration::from_millis(300));
            let _ = stream.write_all(&zmodem::hex(kind::ZFIN, [0; 4]));
        });
        soon(&ran, 128);
        assert!(!desk.names().contains(&"f".to_owned()), "{position}: {:?}", desk.names());
    }
    // A stray 0x04 between the blocks of XMODEM and YMODEM, and one where a block should begin.
    let desk = Desk::new(10);
    let (ran, ()) = with_peer(&desk, "rb", &[], &[], |mut stream| {
        until(&mut stream, b"C");
        let _ = stream.write_all(&header(b"f", "300"));
        until(&mut stream, b"C");
        let _ = stream.write_all(&block(1, &[7; 128]));
        until(&mut stream, &[6]);
        let _ = stream.write_all(&[4]);
        assert_eq!(until(&mut stream, &[6, 0x15, 0x18]), Some(0x15), "it is asked again");
    });
    soon(&ran, 128);
    assert!(!desk.names().contains(&"f".to_owned()), "{:?}", desk.names());
}

/// A receiver that never has enough: the same position indefinitely, in the file and beyond it.
#[test]
fn a_receiver_that_sends_nak_indefinitely() {
    let desk = Desk::new(20_000);
    let data = desk.path("data.bin");
    for (name, with) in [("ZRPOS", [0; 4]), ("ZRPOS beyond", [0xFF; 4])] {
        let (ran, ()) = with_peer(&desk, "sz", &[&data], &[], move |mut stream| {
            let _ = stream.write_all(&zmodem::hex(kind::ZRINIT, [0, 0, 0, 0x23]));
            let mut hears = stream.try_clone().expect("a socket");
            std::thread::spawn(move || std::io::copy(&mut hears, &mut std::io::sink()));
            let until = Instant::now() + 2 * SOON;
            let question = zmodem::hex(kind::ZRPOS, with);
            while Instant::now() < until && stream.write_all(&question).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        assert!(ran.elapsed < SOON, "{name}: {:?}", ran.elapsed);
        assert_eq!(ran.code(), 128, "{name}: {}", ran.stderr);
    }
}

/// What `personality_safety` proves of ZMODEM, for YMODEM's block 0.
#[test]
fn names_and_modes_of_ymodem() {
    for (name, arrives) in [
        (&b"../evil"[..], None),
        (b"a/../../evil", None),
        (b"..", None),
        (b"directory/", None),
        (b"/tmp/wetstring-evil-rb", Some("tmp/wetstring-evil-rb")),
        (b"a\x1b[2Jb", Some("a_[2Jb")),
        (b"plain", Some("plain")),
    ] {
        let desk = Desk::new(10);
        let before = common::names(desk.dir.path());
        let (ran, taken) = with_peer(&desk, "rb", &[], &[], move |mut stream| {
            send_by_ymodem(&mut stream, name, "7 14000000000 107777")
        });
        let shown = format!("{}: {}", name.escape_ascii(), ran.stderr);
        assert_eq!(common::names(desk.dir.path()), before, "{shown}");
        assert!(!std::path::Path::new("/tmp/wetstring-evil-rb").exists(), "{shown}");
        assert!(!ran.stderr.contains('\u{1b}'), "{shown}");
        assert_eq!(taken.is_some(), arrives.is_some(), "{shown}");
        let Some(arrives) = arrives else {
            assert!(desk.names().is_empty(), "{shown}");
            soon(&ran, 128);
            continue;
        };
        soon(&ran, 0);
        let path = desk.path(&format!("in/{arrives}"));
        let mode = std::fs::metadata(&path).unwrap_or_else(|e| panic!("{e}: {shown}"));
        assert_eq!(mode.permissions().mode() & 0o7022, 0, "{shown}");
    }
}

/// lrzsz's `rb` frees memory twice when the file exists.
#[test]
fn a_file_that_is_here_ends_ymodem_in_good_order() {
    let desk = Desk::new(10);
    std::fs::write(desk.path("in/f"), "old").expect("the file");
    std::fs::write(desk.path("secret"), "secret").expect("the file");
    symlink(desk.path("secret"), desk.path("in/link")).expect("a link");
    for (flags, name) in [(&[][..], &b"f"[..]), (&[], b"link"), (&["-y"], b"link")] {
        let (ran, taken) = with_peer(&desk, "rb", flags, &[], move |mut stream| {
            send_by_ymodem(&mut stream, name, "7")
        });
        let replaced = flags == ["-y"];
        soon(&ran, if replaced { 0 } else { 128 });
        assert_eq!(taken.is_some(), replaced, "{}", ran.stderr);
        assert_eq!(std::fs::read(desk.path("in/f")).expect("the file"), b"old");
        assert_eq!(std::fs::read(desk.path("secret")).expect("the file"), b"secret");
    }
    assert!(!std::fs::symlink_metadata(desk.path("in/link")).expect("the file").is_symlink());
}
