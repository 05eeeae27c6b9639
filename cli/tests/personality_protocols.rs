//! `wst send` and `wst receive` with every protocol of `-P`, and recognition without it.

use crate::common;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use common::zmodem::{self, kind};
use common::{Desk, Ran, Running, run, wst};
use wetstring_testkit::Terminal;

/// Sends by one program and receives by another over TCP.
fn over_tcp(desk: &Desk, send_flags: &[&str], receive_flags: &[&str]) -> (Ran, Ran) {
    let into = desk.path("in");
    let mut args = vec!["receive", "tcp-listen://127.0.0.1:0", "-o", &into];
    args.extend(receive_flags);
    let receiver = Running::start(wst(&args));
    let line = format!("tcp://{}", receiver.says("listening on "));
    let data = desk.path("data.bin");
    let mut args = vec!["send", &data, &line];
    args.extend(send_flags);
    let sent = run(wst(&args));
    (sent, receiver.end())
}

#[test]
fn every_protocol_moves_a_file() {
    for protocol in ["zmodem", "ymodem", "ymodem-g"] {
        let desk = Desk::new(100_000);
        let flags = ["-P", protocol];
        let (sent, received) = over_tcp(&desk, &flags, &flags);
        assert_eq!(sent.code(), 0, "{protocol}: {}", sent.stderr);
        assert_eq!(received.code(), 0, "{protocol}: {}", received.stderr);
        desk.arrived();
        assert!(sent.stderr.contains("not verified by the peer"), "{}", sent.stderr);
    }
}

#[test]
fn xmodem_loses_name_and_length_and_says_so() {
    for protocol in ["xmodem", "xmodem-crc", "xmodem-1k"] {
        for truncate in [false, true] {
            let desk = Desk::new(3000);
            let mut flags = vec!["-P", protocol, "--as", "data.bin"];
            flags.extend(truncate.then_some(["--truncate-pad", "on"]).into_iter().flatten());
            let (sent, received) = over_tcp(&desk, &["-P", protocol], &flags);
            assert_eq!(sent.code(), 0, "{protocol}: {}", sent.stderr);
            assert_eq!(received.code(), 0, "{protocol}: {}", received.stderr);
            let say = "neither name, length nor time";
            assert!(sent.stderr.contains(say) && received.stderr.contains(say));
            assert_eq!(received.stderr.contains("the padding"), !truncate, "{}", received.stderr);
            let got = std::fs::read(desk.path("in/data.bin")).expect("the file");
            let padded = if truncate { 3000 } else { 3072 };
            assert_eq!(got.len(), padded, "{protocol}");
            assert!(got.starts_with(&desk.bytes), "{protocol}");
        }
    }
}

#[test]
fn what_a_protocol_cannot_do_is_a_wrong_command_line() {
    let desk = Desk::new(10);
    let data = desk.path("data.bin");
    for args in [
        &["receive", "-P", "xmodem", "tcp://127.0.0.1:1"][..],
        &["send", "-P", "xmodem", &data, &data, "tcp://127.0.0.1:1"],
        &["send", "-P", "zmodem", "--check", "3", &data, "tcp://127.0.0.1:1"],
        &["send", "-P", "zmodem", "--send-length", "9000", &data, "tcp://127.0.0.1:1"],
        &["send", "-P", "smodem", &data, "tcp://127.0.0.1:1"],
    ] {
        assert_eq!(run(wst(args)).code(), 2, "{args:?}");
    }
    let help = run(wst(["send", "-P", "zmodem", "--help"]));
    // Its own first; those of the others, which it does not take, follow under how they are chosen.
    let at = |text: &str| help.stdout.find(text);
    let (own, others) = (at("\nZMODEM settings:\n"), at("\nKermit settings (with -P kermit):\n"));
    assert!(own.is_some() && own < others && others < at("--clear-channel"), "{}", help.stdout);
}

#[test]
fn a_receiver_recognises_kermit_and_zmodem() {
    for protocol in ["kermit", "zmodem"] {
        let desk = Desk::new(50_000);
        let (sent, received) = over_tcp(&desk, &["-P", protocol], &[]);
        assert_eq!(sent.code(), 0, "{protocol}: {}", sent.stderr);
        assert_eq!(received.code(), 0, "{protocol}: {}", received.stderr);
        desk.arrived();
    }
}

#[test]
fn nothing_is_lost_by_the_recognition() {
    // The sender talks before it is asked, in one piece behind a banner, or byte by byte.
    for pieces in [1, 7, 1000] {
        let desk = Desk::new(10);
        let into = desk.path("in");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let line = format!("tcp://{}", listener.local_addr().expect("its address"));
        let program = Running::start(wst(["receive", "-o", &into, &line]));
        let mut stream = common::accept(&listener);
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        let file = [
            zmodem::hex(kind::ZFILE, [0, 0, 0, 1]),
            zmodem::subpacket(b"f\x007 0 0 0 1 7\0", b'k'),
        ];
        let first = [b"Welcome * to the host\r\nrz\r".to_vec(), zmodem::hex(kind::ZRQINIT, [0; 4])];
        let words = [first.concat(), file.concat()].concat();
        for piece in words.chunks(pieces) {
            stream.write_all(piece).expect("it leaves");
            if pieces < 10 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let answer = zmodem::wait_for(&mut stream, &[kind::ZRPOS]);
        assert_eq!(answer, Some((kind::ZRPOS, [0; 4])), "{pieces}");
        let rest = [
            zmodem::hex(kind::ZDATA, [0; 4]),
            zmodem::subpacket(b"payload", b'h'),
            zmodem::hex(kind::ZEOF, [7, 0, 0, 0]),
        ];
        stream.write_all(&rest.concat()).expect("it leaves");
        zmodem::wait_for(&mut stream, &[kind::ZRINIT]).expect("an answer");
        stream.write_all(&zmodem::hex(kind::ZFIN, [0; 4])).expect("it leaves");
        zmodem::wait_for(&mut stream, &[kind::ZFIN]).expect("an answer");
        stream.write_all(b"OO").expect("it leaves");
        program.end().expect(0);
        assert_eq!(std::fs::read(desk.path("in/f")).expect("the file"), b"payload");
    }
}

#[test]
fn a_sender_of_zmodem_starts_the_receiver() {
    let desk = Desk::new(10);
    let data = desk.path("data.bin");
    for (flags, starts) in [(&[][..], true), (&["--autostart", "off"], false)] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let line = format!("tcp://{}", listener.local_addr().expect("its address"));
        let mut args = vec!["send", "-P", "zmodem", &data, &line];
        args.extend(flags);
        let program = Running::start(wst(&args));
        let mut stream = common::accept(&listener);
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        let mut first = [0; 6];
        stream.read_exact(&mut first).expect("the first bytes");
        assert_eq!(first.starts_with(b"rz\r**\x18"), starts, "{first:?}");
        drop(stream);
        assert_ne!(program.end().code(), 0);
    }
}

#[test]
fn line_ends_of_text_become_those_of_the_peer() {
    for protocol in ["ymodem", "zmodem"] {
        let desk = Desk::new(10);
        std::fs::write(desk.path("data.bin"), "one\ntwo\nend\n").expect("the file");
        let (sent, received) =
            over_tcp(&desk, &["-P", protocol, "--text"], &["-P", protocol, "--text"]);
        assert_eq!(sent.code(), 0, "{protocol}: {}", sent.stderr);
        assert_eq!(received.code(), 0, "{protocol}: {}", received.stderr);
        let got = std::fs::read(desk.path("in/data.bin")).expect("the file");
        assert_eq!(String::from_utf8_lossy(&got), "one\ntwo\nend\n", "{protocol}");
    }
}

/// A serial line whose driver takes XON and XOFF out of the stream is no line for X/YMODEM.
#[test]
fn what_a_line_cannot_carry_is_said_before_a_byte_is_sent() {
    let Terminal { master: far, path } = wetstring_testkit::terminal().expect("a terminal");
    let line = format!("serial:{path}?flow=xonxoff");
    let desk = Desk::new(1000);
    let (data, into) = (desk.path("data.bin"), desk.path("in"));
    for protocol in ["xmodem", "xmodem-crc", "xmodem-1k", "ymodem", "ymodem-g"] {
        let send = ["send", "-P", protocol, &data, &line];
        let receive = ["receive", "-P", protocol, "--as", "f", "-o", &into, &line];
        for args in [&send[..], &receive[..]] {
            let ran = run(wst(args));
            ran.expect(2);
            assert!(ran.stderr.contains("XON/XOFF"), "{args:?}: {}", ran.stderr);
            assert!(ran.elapsed < Duration::from_secs(4), "{args:?}: {:?}", ran.elapsed);
        }
    }
    assert!(desk.names().is_empty());
    let mut byte = [0];
    rustix::fs::fcntl_setfl(&far, rustix::fs::OFlags::NONBLOCK).expect("a flag");
    assert!(rustix::io::read(&far, &mut byte).is_err(), "nothing was sent");
}
