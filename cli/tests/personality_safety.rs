//! What lrzsz lets a sender do, and `rz` here does not: each has a peer that tries.

use crate::common;

use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use common::scripted_peer::with_peer;
use common::zmodem::{self, kind};
use common::{Desk, Ran};

/// Overwrite, and nothing else, in a header's ZF3 to ZF0.
const CLOBBER: [u8; 4] = [0, 0, 4, 1];
const PLAIN: [u8; 4] = [0, 0, 0, 1];

/// What `rz` answers to an offer, and how it ends.
fn offered(
    desk: &Desk,
    flags: &[&str],
    name: &'static [u8],
    info: &'static str,
    options: [u8; 4],
) -> (Ran, Option<u8>) {
    with_peer(desk, "rz", flags, &[], move |mut stream| {
        zmodem::send(&mut stream, name, info, options, b"payload")
    })
}

fn read(desk: &Desk, name: &str) -> Vec<u8> {
    std::fs::read(desk.path(&format!("in/{name}"))).expect("the file")
}

#[test]
fn names_stay_in_the_directory() {
    for flags in [&[][..], &["-y"], &["-U", "-y"], &["-E"], &["-j"]] {
        for (name, here) in [
            (&b"../evil"[..], None),
            (b"a/../../evil", None),
            (b"..", None),
            (b"directory/", None),
            (b"/tmp/wetstring-evil-rz", Some("wetstring-evil-rz")),
            (b"C:\\WINDOWS\\x", Some("x")),
        ] {
            let desk = Desk::new(10);
            let before = common::names(desk.dir.path());
            let (ran, answer) = offered(&desk, flags, name, "7 0 0 0 1 7", PLAIN);
            let shown = format!("{flags:?} {}: {}", String::from_utf8_lossy(name), ran.stderr);
            assert_eq!(common::names(desk.dir.path()), before, "{shown}");
            assert!(!std::path::Path::new("/tmp/wetstring-evil-rz").exists(), "{shown}");
            let mut files = Vec::new();
            collect(&desk.dir.path().join("in"), &mut files);
            // With -j the last part is used, whatever stands before it.
            let junked = flags == ["-j"] && name.ends_with(b"evil");
            if let Some(here) = here.or(junked.then_some("evil")) {
                assert_eq!(ran.code(), 0, "{shown}");
                assert_eq!(files, [here], "{shown}");
            } else {
                assert_eq!(answer, Some(kind::ZSKIP), "{shown}");
                assert_eq!(ran.code(), 1, "{shown}");
                assert!(files.is_empty(), "{shown}");
            }
        }
    }
}

/// The names of all plain files below a directory.
fn collect(directory: &std::path::Path, into: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).expect("the directory") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("its type").is_dir() {
            collect(&entry.path(), into);
        } else {
            into.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
}

#[test]
fn nothing_is_overwritten_at_the_senders_wish() {
    let append = [0, 0, 3, 1];
    for options in [PLAIN, CLOBBER, append, [0, 0, 1, 1], [0, 0, 2, 1], [0, 0, 5, 1], [0, 0, 6, 1]]
    {
        let desk = Desk::new(10);
        std::fs::write(desk.path("in/f"), "old").expect("the file");
        let (ran, answer) = offered(&desk, &[], b"f", "7 17777777777 0 0 1 7", options);
        assert_eq!(answer, Some(kind::ZSKIP), "{options:?}: {}", ran.stderr);
        ran.expect(1);
        assert_eq!(read(&desk, "f"), b"old", "{options:?}");
        assert_eq!(desk.names(), ["f"], "{options:?}");
    }
}

#[test]
fn what_the_user_allows_is_done() {
    let rename = [0, 0, 8, 1];
    let protect = [0, 0, 7, 1];
    let newer = [0, 0, 5, 1];
    for (flags, options, info, names, content) in [
        (&["-y"][..], PLAIN, "7 0 0 0 1 7", &["f"][..], "payload"),
        (&["-y"], CLOBBER, "7 0 0 0 1 7", &["f"], "payload"),
        (&["-y"], protect, "7 0 0 0 1 7", &["f"], "old"),
        // One second after 1970, and long after now.
        (&["-y"], newer, "7 1 0 0 1 7", &["f"], "old"),
        (&["-y"], newer, "7 17777777777 0 0 1 7", &["f"], "payload"),
        // Newer or longer; different; and the same length with a date before.
        (&["-y"], [0, 0, 1, 1], "7 1 0 0 1 7", &["f"], "payload"),
        (&["-y"], [0, 0, 6, 1], "7 1 0 0 1 7", &["f"], "payload"),
        (&["-y"], [0, 0, 1, 1], "3 1 0 0 1 3", &["f"], "old"),
        (&["-E"], PLAIN, "7 0 0 0 1 7", &["f", "f.0"], "old"),
        (&[], rename, "7 0 0 0 1 7", &["f", "f.0"], "old"),
        (&["-+"], PLAIN, "7 0 0 0 1 7", &["f"], "oldpayload"),
        (&["-p"], CLOBBER, "7 0 0 0 1 7", &["f"], "old"),
    ] {
        let desk = Desk::new(10);
        std::fs::write(desk.path("in/f"), "old").expect("the file");
        let (ran, _) = offered(&desk, flags, b"f", info, options);
        assert_eq!(desk.names(), names, "{flags:?} {options:?}: {}", ran.stderr);
        assert_eq!(read(&desk, "f"), content.as_bytes(), "{flags:?} {options:?}");
    }
}

#[test]
fn a_file_that_is_not_here_is_not_taken_if_the_sender_says_so() {
    let desk = Desk::new(10);
    let (_, answer) = offered(&desk, &["-y"], b"f", "7 0 0 0 1 7", [0, 0, 0x84, 1]);
    assert_eq!(answer, Some(kind::ZSKIP));
    assert!(desk.names().is_empty());
}

#[test]
fn symlinks_are_not_followed() {
    let desk = Desk::new(10);
    std::fs::write(desk.path("secret"), "secret").expect("the file");
    symlink(desk.path("secret"), desk.path("in/f")).expect("a link");
    symlink(desk.dir.path(), desk.path("in/up")).expect("a link");
    offered(&desk, &["-y"], b"f", "7 0 0 0 1 7", CLOBBER);
    assert_eq!(std::fs::read(desk.path("secret")).expect("the file"), b"secret");
    let (ran, answer) = offered(&desk, &["-y"], b"up/secret", "7 0 0 0 1 7", CLOBBER);
    assert_eq!(answer, Some(kind::ZSKIP), "{}", ran.stderr);
    assert_eq!(std::fs::read(desk.path("secret")).expect("the file"), b"secret");
}

#[test]
fn modes_have_no_setuid_bits() {
    let desk = Desk::new(10);
    let (ran, _) = offered(&desk, &[], b"f", "7 14000000000 107777 0 1 7", PLAIN);
    ran.expect(0);
    let mode = std::fs::metadata(desk.path("in/f")).expect("the file").permissions().mode();
    assert_eq!(mode & 0o7000, 0, "{mode:o}");
    assert_eq!(mode & 0o022, 0, "the umask counts: {mode:o}");
}

#[test]
fn commands_are_refused_unless_the_user_allows_them() {
    for flags in [&[][..], &["-U"], &["-C", "-R"]] {
        let desk = Desk::new(10);
        let (ran, answer) = with_peer(&desk, "rz", flags, &[], |mut stream| {
            use std::io::Write;
            stream.write_all(&zmodem::hex(kind::ZRQINIT, [0, 0, 0, 0x12])).ok()?;
            zmodem::wait_for(&mut stream, &[kind::ZRINIT])?;
            stream.write_all(&zmodem::hex(kind::ZCOMMAND, [0; 4])).ok()?;
            stream.write_all(&zmodem::subpacket(b"touch pwned\0", b'k')).ok()?;
            let answer = zmodem::wait_for(&mut stream, &[kind::ZCOMPL]);
            stream.write_all(&zmodem::hex(kind::ZFIN, [0; 4])).ok()?;
            zmodem::wait_for(&mut stream, &[kind::ZFIN])?;
            stream.write_all(b"OO").ok()?;
            answer
        });
        let (_, status) = answer.unwrap_or_else(|| panic!("no answer: {}", ran.stderr));
        assert_ne!(status, [0; 4], "{flags:?}: a command was reported as done");
        assert!(desk.names().is_empty(), "{flags:?}: {:?}", desk.names());
    }
}

#[test]
fn restricted_means_no_directories_and_no_hidden_files() {
    let restricted = [("ZMODEM_RESTRICTED", "1")];
    let shell = [("SHELL", "/bin/rbash")];
    for (flags, env) in [
        (&["-R", "-R"][..], &[][..]),
        (&[], &restricted),
        (&["-U"], &shell),
        (&["-y"], &restricted),
    ] {
        for (name, taken) in [(&b".rhosts"[..], false), (b"dir/f", false), (b"plain", true)] {
            let desk = Desk::new(10);
            let (ran, answer) = with_peer(&desk, "rz", flags, env, move |mut stream| {
                zmodem::send(&mut stream, name, "7 0 0 0 1 7", PLAIN, b"payload")
            });
            let shown = format!("{flags:?} {env:?} {name:?}: {}", ran.stderr);
            assert_eq!(answer == Some(kind::ZRPOS), taken, "{shown}");
            assert_eq!(desk.names().len(), usize::from(taken), "{shown}");
        }
    }
    // -U takes -R and the variable back.
    let desk = Desk::new(10);
    let (ran, _) = with_peer(&desk, "rz", &["-U"], &restricted, |mut stream| {
        zmodem::send(&mut stream, b"dir/.f", "7 0 0 0 1 7", PLAIN, b"payload")
    });
    ran.expect(0);
    assert!(std::path::Path::new(&desk.path("in/dir/.f")).exists());
}

#[test]
fn control_characters_of_names_are_escaped() {
    let desk = Desk::new(10);
    let (ran, _) = offered(&desk, &["-v"], b"a\x1b[2J\x07b", "7 0 0 0 1 7", PLAIN);
    ran.expect(0);
    assert!(!ran.stderr.contains(['\u{1b}', '\u{7}']), "{:?}", ran.stderr);
    assert!(desk.names().iter().all(|name| !name.contains(char::is_control)), "{:?}", desk.names());
}

#[test]
fn a_sender_is_not_made_to_read_behind_its_file() {
    // The position asked for is beyond the end: CVE-2018-10195 and its relatives.
    let desk = Desk::new(1000);
    let data = desk.path("data.bin");
    let (ran, sent) = with_peer(&desk, "sz", &[&data], &[], |mut stream| {
        use std::io::{Read, Write};
        let mut all = Vec::new();
        let ask = [
            zmodem::hex(kind::ZRINIT, [0, 0, 0, 0x03]),
            zmodem::hex(kind::ZRPOS, 0x7FFF_FFFF_u32.to_le_bytes()),
            zmodem::hex(kind::ZRPOS, 5000_u32.to_le_bytes()),
        ];
        for header in ask {
            let _ = stream.write_all(&header);
            std::thread::sleep(Duration::from_millis(200));
        }
        stream.set_read_timeout(Some(Duration::from_secs(1))).expect("a limit");
        let mut buffer = [0; 4096];
        while let Ok(len @ 1..) = stream.read(&mut buffer) {
            all.extend_from_slice(&buffer[..len]);
        }
        all.len()
    });
    assert_eq!(ran.code(), 128, "{}", ran.stderr);
    assert!(sent < 3000, "{sent} bytes came");
}

#[test]
fn a_partial_file_is_resumed_only_on_request() {
    let resume = [0, 0, 0, 3];
    let tail = |desk: &Desk, flags: &[&str]| {
        with_peer(desk, "rz", flags, &[], move |mut stream| {
            zmodem::send(&mut stream, b"f", "7 0 0 0 1 7", resume, b"payload")
        })
    };
    // The sender's wish alone does not make a file that is here longer.
    let desk = Desk::new(10);
    std::fs::write(desk.path("in/f"), "pay").expect("the file");
    let (ran, answer) = tail(&desk, &[]);
    assert_eq!(answer, Some(kind::ZSKIP), "{}", ran.stderr);
    assert_eq!(read(&desk, "f"), b"pay");
}

#[test]
fn a_name_given_by_the_user_is_used_and_nothing_is_lost() {
    use std::io::{Read, Write};
    let block = |mut stream: TcpStream| {
        let mut start = [0];
        stream.read_exact(&mut start).expect("a start");
        let mut data = b"payload".to_vec();
        data.resize(128, 0x1A);
        let mut block = vec![1, 1, 0xFE];
        block.extend_from_slice(&data);
        if start[0] == b'C' {
            block.extend_from_slice(&zmodem::crc16(&data).to_be_bytes());
        } else {
            block.push(data.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
        }
        stream.write_all(&block).expect("the block leaves");
        let mut answer = [0];
        stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(answer[0], 6);
        for _ in 0..2 {
            stream.write_all(&[4]).expect("the end leaves");
            stream.read_exact(&mut answer).expect("an answer");
            if answer[0] == 6 {
                break;
            }
        }
        assert_eq!(answer[0], 6);
        start[0]
    };
    for (flags, names, start) in [
        (&["f"][..], &["f", "f.~1~"][..], 0x15),
        (&["-c", "f"], &["f", "f.~1~"], b'C'),
        (&["-y", "f"], &["f"], 0x15),
        (&["-E", "f"], &["f", "f.0"], 0x15),
        (&["../in/f"], &["f", "f.~1~"], 0x15),
    ] {
        let desk = Desk::new(10);
        std::fs::write(desk.path("in/f"), "old").expect("the file");
        let (ran, began) = with_peer(&desk, "rx", flags, &[], block);
        ran.expect(0);
        assert_eq!(began, start, "{flags:?}");
        assert_eq!(desk.names(), names, "{flags:?}: {}", ran.stderr);
    }
}
