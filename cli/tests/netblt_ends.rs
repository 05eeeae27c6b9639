//! How transfers over NETBLT end that do not end well: full disks, killed senders, forged OPENs. Both ends
//! say why, with the exit code that the documentation has, and what has come is kept where it can be used.

use crate::common;

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::{Duration, Instant};

use common::friends::Friends;
use common::{Desk, Ran, Running, WST, noise, run, tame, wst};
use rustix::process::Signal;
use wetstring_proto::netblt::packet::{Body, Packet, Ports, Terms};

/// A sender that trusts the listener at first sight.
fn sending(friends: &Friends, args: &[&str]) -> Command {
    let mut command = friends.ours(args);
    command.arg("--accept-new");
    command
}

/// A listener that may write at most this many blocks of 512 bytes into a file: the program is told, not killed.
fn limited(friends: &Friends, into: &str, blocks: u32) -> (Running, String) {
    let mut command = Command::new("sh");
    let receive = format!(
        "trap '' XFSZ; ulimit -f {blocks}; \
         exec {WST} receive udp-listen://127.0.0.1:0 -o {into}"
    );
    tame(command.args(["-c", &receive]));
    command.env("XDG_CONFIG_HOME", friends.theirs.path());
    let running = Running::start(command);
    let line = format!("udp://{}", running.says("listening on "));
    (running, line)
}

/// The last event of a program that was started with `--json`.
fn last(ran: &Ran) -> serde_json::Value {
    ran.events().pop().expect("an event")
}

#[test]
fn a_file_that_does_not_fit_is_refused_before_it_moves() {
    let (desk, friends) = (Desk::new(10), Friends::new());
    // Eight terabytes of nothing; where even they fit, or cannot be, there is no telling.
    let file = desk.path("huge.bin");
    let made = std::fs::File::create(&file).and_then(|file| file.set_len(8 << 40));
    let free = rustix::fs::statvfs(desk.path("in")).expect("the file system");
    if made.is_err() || free.f_bavail * free.f_frsize >= 8 << 40 {
        println!("no file that is too large can be made here");
        return;
    }
    let (receiver, line) = friends.listen(&desk.path("in"), &[]);
    let sent = run(sending(&friends, &["send", &file, &line]));
    let ended = receiver.end();
    println!("{}\n{}", sent.stderr, ended.stderr);
    sent.expect(1);
    // It is the disk here that is full.
    ended.expect(5);
    assert!(ended.stderr.contains("free some space"), "{}", ended.stderr);
    assert!(sent.stderr.contains("huge.bin"), "{}", sent.stderr);
    assert!(desk.names().is_empty(), "{:?}", desk.names());
}

#[test]
fn a_disk_that_fills_up_ends_both_ends_and_says_so() {
    // Below a mebibyte nothing is reserved, and the length of a pipe is unknown.
    for (len, piped) in [(900_000, false), (3_000_000, true)] {
        let (desk, friends) = (Desk::new(len), Friends::new());
        let (receiver, line) = limited(&friends, &desk.path("in"), 400);
        let file = desk.path("data.bin");
        let (of_pipe, of_file) = (["send", "-", &line, "--as", "data.bin"], ["send", &file, &line]);
        let mut command = sending(&friends, if piped { &of_pipe } else { &of_file });
        if piped {
            command.stdin(std::fs::File::open(&file).expect("the file"));
        }
        let began = Instant::now();
        let sent = run(command);
        let ended = receiver.end();
        println!("{}\n{}", sent.stderr, ended.stderr);
        sent.expect(4);
        ended.expect(5);
        let lost = if piped {
            "; what was read from stdin is gone, so this cannot be resumed: run the whole pipeline again, or send a \
             file, which --resume continues"
        } else {
            ""
        };
        let told = format!("wst: the peer says: the receiver has no space left{lost}\n");
        assert!(sent.stderr.ends_with(&told), "{}", sent.stderr);
        let part = desk.path("in/data.bin.part");
        let told = format!(
            "wst: {part}: File too large; \
             free some space or choose another directory with -o\n"
        );
        assert!(ended.stderr.ends_with(&told), "{}", ended.stderr);
        let kept = format!("data.bin: 204.8 kB kept in {part}; send it again with --resume\n");
        assert!(ended.stderr.contains(&kept), "{}", ended.stderr);
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        // What came is kept, up to the hole.
        assert_eq!(desk.names(), ["data.bin.part"]);
        let part = std::fs::read(desk.path("in/data.bin.part")).expect("the part");
        assert!(part.len() <= 400 * 512 && desk.bytes.starts_with(&part), "{}", part.len());
    }
}

#[test]
fn a_sender_that_was_killed_continues_at_once() {
    let (desk, friends) = (Desk::new(6_000_000), Friends::new());
    let (file, into) = (desk.path("data.bin"), desk.path("in"));
    let (receiver, line) = friends.listen(&into, &[]);
    let slow = ["--max-rate", "16M", "--datagram", "1400", "-v"];
    let mut args = vec!["send", &file, &line];
    args.extend(slow);
    let sender = Running::start(sending(&friends, &args));
    sender.says("data.bin: begins");
    std::thread::sleep(Duration::from_millis(1500));
    sender.signal(Signal::KILL);
    assert_eq!(sender.end().code(), -1);
    // The listener does not know that, and would wait for a minute.
    let again = run(sending(&friends, &["send", &file, &line, "--resume", "--json"]));
    again.expect(0);
    assert!(again.elapsed < Duration::from_secs(15), "{:?}", again.elapsed);
    let moved = last(&again)["stats"]["wire_out_bytes"].as_u64().expect("a count");
    assert!(moved < 5_000_000, "all of it was sent again: {moved}");
    // One session for the listener: the other one was it.
    let ended = receiver.end();
    ended.expect(0);
    assert!(ended.stderr.contains("continues in another session"), "{}", ended.stderr);
    desk.arrived();
    assert_eq!(desk.names(), ["data.bin"]);
}

#[test]
fn two_live_senders_of_one_name_do_not_disturb_each_other() {
    let (desk, friends) = (Desk::new(2_000_000), Friends::new());
    let (receiver, line) = friends.listen(&desk.path("in"), &["--sessions", "2"]);
    std::fs::create_dir(desk.path("other")).expect("a directory");
    let other = desk.path("other/data.bin");
    std::fs::write(&other, noise(99, 2_000_000)).expect("a file");
    // Eight seconds each.
    let slow = ["--max-rate", "2M", "--datagram", "1400", "-v"];
    let start = |file: &str| {
        let mut args = vec!["send", file, &line];
        args.extend(slow);
        Running::start(sending(&friends, &args))
    };
    let first = start(&desk.path("data.bin"));
    first.says("data.bin: begins");
    let second = start(&other);
    second.end().expect(0);
    first.end().expect(0);
    receiver.end().expect(0);
    assert_eq!(desk.names(), ["data.bin", "data.bin.~1~"]);
    // Whichever was whole first was put aside for the other.
    let read = |name: &str| std::fs::read(desk.path(name)).expect("it came");
    let mut both = [read("in/data.bin"), read("in/data.bin.~1~")];
    let mut wanted = [desk.bytes.clone(), noise(99, 2_000_000)];
    both.sort();
    wanted.sort();
    assert!(both == wanted);
}

/// An OPEN of RFC 998 for a file of four gigabytes.
fn forged(number: u32, name: &str) -> Vec<u8> {
    let client = format!("wst1 x s=4000000000 name={name}");
    let terms = Terms {
        id: number,
        buffer_size: 100_000,
        transfer_size: 4_000_000_000,
        packet_size: 1000,
        burst_size: 5,
        burst_interval_ms: 10,
        // What has proved nothing is remembered for five seconds longer than that.
        death_s: 5,
        write: true,
        checksum: true,
        outstanding: 4,
        client: client.as_bytes(),
    };
    let ports = Ports { local: 5000 + number as u16, foreign: 7000 };
    let mut out = vec![0; 200];
    let len = Packet { ports, body: Body::Open(terms) }.put(&mut out).expect("there is room");
    out.truncate(len);
    out
}

/// Bytes that the files in a directory take on the disk.
fn blocks(dir: &str) -> u64 {
    let entries = std::fs::read_dir(dir).expect("the directory");
    let sizes = entries.flatten().filter_map(|entry| entry.metadata().ok());
    sizes.map(|metadata| metadata.blocks() * 512).sum()
}

/// OPENs from ten addresses, and what one who sees no answer can make up besides. None gets more bytes back
/// than it sent, and all the while `holds`.
fn flood_with_forgeries(at: SocketAddr, holds: &dyn Fn() -> bool) {
    let sockets: Vec<UdpSocket> = (2..12)
        .map(|host| UdpSocket::bind((Ipv4Addr::new(127, 0, 9, host), 0)).expect("a socket"))
        .collect();
    let (mut sent, mut got) = (vec![0; sockets.len()], vec![0; sockets.len()]);
    let mut hear = |number: usize, socket: &UdpSocket| {
        let mut answer = [0; 2000];
        got[number] += std::iter::from_fn(|| socket.recv(&mut answer).ok()).sum::<usize>();
    };
    for round in 0..20 {
        for (number, socket) in sockets.iter().enumerate() {
            socket.set_nonblocking(true).expect("it need not wait");
            let ports = Ports { local: 5000 + number as u16, foreign: 7000 };
            let made_up = |body| {
                let mut bytes = vec![0; 60];
                let len = Packet { ports, body }.put(&mut bytes).expect("there is room");
                bytes.truncate(len);
                bytes
            };
            let bytes = match round % 4 {
                1 => made_up(Body::KeepAlive),
                3 => made_up(Body::NullAck { high: 1, burst_size: 5, burst_interval_ms: 10 }),
                _ => forged(number as u32, "data.bin"),
            };
            sent[number] += socket.send_to(&bytes, at).expect("it leaves");
            hear(number, socket);
        }
        std::thread::sleep(Duration::from_millis(50));
        assert!(holds(), "blocks for an unproved address");
    }
    std::thread::sleep(Duration::from_millis(1500));
    sockets.iter().enumerate().for_each(|(number, socket)| hear(number, socket));
    println!("sent {sent:?}, got {got:?}");
    assert!(got.iter().sum::<usize>() > 0, "no answers");
    for (sent, got) in sent.iter().zip(&got) {
        assert!(got <= sent, "{got} bytes for {sent}");
    }
}

#[test]
fn forged_opens_take_no_disk_and_nothing_away() {
    let desk = Desk::new(300_000);
    let into = desk.path("in");
    // What an earlier transfer left.
    let (file, plain) = (desk.path("data.bin"), "--plain");
    let listen = || {
        let running =
            Running::start(wst(["receive", "udp-listen://127.0.0.1:0", "-o", &into, plain]));
        let at: SocketAddr = running.says("listening on ").parse().expect("an address");
        (running, at)
    };
    let (receiver, at) = listen();
    let line = format!("udp://{at}");
    let slow = ["--max-rate", "1M", "--datagram", "1400", "-v"];
    let mut args = vec!["send", &file, &line, plain];
    args.extend(slow);
    let sender = Running::start(wst(&args));
    sender.says("data.bin: begins");
    std::thread::sleep(Duration::from_millis(1000));
    receiver.signal(Signal::INT);
    receiver.end().expect(130);
    assert_ne!(sender.end().code(), 0);
    assert_eq!(desk.names(), ["data.bin.part"]);
    let left = std::fs::metadata(desk.path("in/data.bin.part")).expect("the part").len();
    let before = blocks(&into);

    let (receiver, at) = listen();
    flood_with_forgeries(at, &|| blocks(&into) <= before);
    // The part is unchanged, and an explicit resume continues it.
    let now = std::fs::metadata(desk.path("in/data.bin.part")).expect("the part").len();
    assert_eq!(now, left);
    std::thread::sleep(Duration::from_secs(11));
    assert_eq!(desk.names(), ["data.bin.part"]);
    let line = format!("udp://{at}");
    let resumed = run(wst(["send", &file, &line, plain, "--resume", "--json"]));
    resumed.expect(0);
    let moved = last(&resumed)["stats"]["wire_out_bytes"].as_u64().expect("a count");
    assert!(moved + left < 330_000, "{moved} after {left}");
    receiver.end().expect(0);
    desk.arrived();
    assert_eq!(desk.names(), ["data.bin"]);
}
