//! Starts as they arrive, and what is none.

use super::*;
use std::time::Instant;

const ZRQINIT: &[u8] = b"rz\r**\x18B00000000000000\r\x8a\x11";
const ZRINIT: &[u8] = b"rz waiting to receive.**\x18B0100000023be50\r\x8a\x11";
const TSZ: &[u8] = b"\x1b7::TRZSZ:TRANSFER:S:1.1.7:6234567890100:40123\r\n";
const TRZ_OF_GO: &[u8] = b"\x1b7\x07::TRZSZ:TRANSFER:R:1.1.8:6234567890100\r\n";
const SEND_INIT: &[u8] = b"KERMIT READY TO SEND...\r\n\x01, S~/ @-#Y1~\r";

/// What shows of these chunks, and the start that follows.
fn scouted(chunks: &[&[u8]], gap: Duration) -> (Vec<u8>, Vec<Start>) {
    let (mut detector, mut shown, mut starts) =
        (StartDetector::<Instant>::default().and_trzsz(), Vec::new(), Vec::new());
    let mut now = Instant::now();
    for chunk in chunks {
        detector.feed(now, chunk, &mut shown);
        now += gap;
        starts.extend(detector.decide(now, &mut shown));
    }
    for _ in 0..2 {
        now += Duration::from_secs(1);
        starts.extend(detector.decide(now, &mut shown));
    }
    assert!(!detector.holds(), "nothing is held for longer than a second");
    (shown, starts)
}

fn packet_check(packet: &[u8]) -> Vec<u8> {
    let sum: u32 = packet[1..].iter().map(|byte| u32::from(*byte)).sum();
    let check = ((sum + ((sum & 0xC0) >> 6)) & 0x3F) as u8 + 32;
    [packet, &[check, b'\r']].concat()
}

#[test]
fn starts_are_found_in_any_chunking() {
    let send_init = packet_check(b"\x01, S~/ @-#Y1~");
    let (head, _) = SEND_INIT.split_at(25);
    let kermit = [head, &send_init].concat();
    for (bytes, protocol, part) in [
        (ZRQINIT, PeerProtocol::Zmodem, Part::Sender),
        (ZRINIT, PeerProtocol::Zmodem, Part::Receiver),
        (&kermit, PeerProtocol::Kermit, Part::Sender),
        (TSZ, PeerProtocol::Trzsz, Part::Sender),
        (TRZ_OF_GO, PeerProtocol::Trzsz, Part::Receiver),
    ] {
        for len in 1..=bytes.len() {
            let chunks: Vec<&[u8]> = bytes.chunks(len).collect();
            let (shown, starts) = scouted(&chunks, Duration::from_millis(5));
            let [start] = &starts[..] else { panic!("{len}: {starts:?}") };
            assert_eq!((start.protocol, start.part), (protocol, part), "{len}");
            // Asterisks may show before it is known what they are.
            let all = [&shown[..], &start.bytes].concat();
            let repeated = all.len() - bytes.len();
            assert!(repeated <= 2 && all.starts_with(&bytes[..shown.len()]), "{len}");
            assert!(all.ends_with(&start.bytes) && bytes.ends_with(&start.bytes), "{len}");
        }
    }
}

#[test]
fn a_start_that_more_follows_is_text() {
    for start in [ZRQINIT, ZRINIT, TSZ] {
        for after in [&b"\r\nuser@host:~$ "[..], b"x", b"**\x18B00000000000000\r\x8a\x11", b"\x18"]
        {
            let bytes = [start, after].concat();
            for len in [1, 7, bytes.len()] {
                let chunks: Vec<&[u8]> = bytes.chunks(len).collect();
                let (shown, starts) = scouted(&chunks, Duration::from_millis(5));
                if after.len() < 20 {
                    assert_eq!((shown, starts), (bytes.clone(), vec![]), "{len}");
                }
            }
        }
    }
}

#[test]
fn a_damaged_start_is_text() {
    let bad = [
        &b"**\x18B00000000000001\r\x8a\x11"[..],
        b"**\x18B0000000000000",
        b"\x18B00000000000000\r\x8a\x11",
        b"***\x18",
        b"\x01, S~/ @-#Y1~!\r",
        b"\x01",
        b"\x01# S\x02",
        b"\x18\x18\x18\x18\x18",
        b"\x1b",
        b"\x1b7",
        b"::TRZSZ:TRANSFER:S:1.1.7:6234567890100:40123\r\n",
        b"\x1b7::TRZSZ:TRANSFER:X:1.1.7:6234567890100:40123\r\n",
        b"\x1b7::TRZSZ:TRANSFER:S:1.1.7:x:40123\r\n",
        b"\x1b7::TRZSZ:TRANSFER:S:1.1.7:6234567890100:40123",
    ];
    for bytes in bad {
        let (shown, starts) = scouted(&[bytes], Duration::from_millis(5));
        assert!(starts.is_empty(), "{}", bytes.escape_ascii());
        assert_eq!(shown, bytes, "all of it shows");
    }
}

#[test]
fn prompts_of_boot_loaders_and_lrzsz_are_starts() {
    let uboot = |protocol: &str| {
        format!(
            "=> load\r\n## Ready for binary ({protocol}) download to 0x41000000 at 115200 bps...\r\n"
        )
    };
    let (x, y, k) = (uboot("xmodem"), uboot("ymodem"), uboot("kermit"));
    for (text, protocol, part) in [
        (format!("{y}CC"), PeerProtocol::Ymodem, Part::Receiver),
        (format!("{x}C"), PeerProtocol::Xmodem, Part::Receiver),
        (k.clone(), PeerProtocol::Kermit, Part::Receiver),
        ("rb waiting to receive.C".to_owned(), PeerProtocol::Ymodem, Part::Receiver),
        ("rx: ready to receive a.bin\r\nC".to_owned(), PeerProtocol::Xmodem, Part::Receiver),
        (
            "Sending a.bin, 7 blocks: Give your local XMODEM receive command now.\r\n".to_owned(),
            PeerProtocol::Xmodem,
            Part::Sender,
        ),
    ] {
        let (shown, starts) = scouted(&[text.as_bytes()], Duration::from_millis(5));
        assert_eq!(shown, text.as_bytes());
        assert_eq!(starts, [Found::new(protocol, part).with(Vec::new())], "{text}");
    }
    for text in [format!("{y}CC## Total Size = 0\r\n"), format!("{k}=> "), "CCCC".to_owned()] {
        let (_, starts) = scouted(&[text.as_bytes()], Duration::from_millis(5));
        assert!(starts.is_empty(), "{text}");
    }
}

#[test]
fn a_shell_waits_at_its_prompt() {
    for (text, waits) in [
        ("user@host:~$ ", true),
        ("boot ok\r\n# ", true),
        ("ls\r\nfile\r\nready> ", true),
        ("\r\n\x1b[1;32mbox\x1b[0m % ", true),
        ("login: ", false),
        ("make -j4\r\n  CC main.o", false),
        ("$ vi file", false),
        ("", false),
    ] {
        let (mut detector, mut shown) = (StartDetector::<Instant>::default(), Vec::new());
        detector.feed(Instant::now(), text.as_bytes(), &mut shown);
        assert_eq!(detector.is_at_prompt(), waits, "{text}");
    }
}

#[test]
fn a_line_is_found_and_its_echo_is_not() {
    let (mut detector, mut shown) = (StartDetector::<Instant>::default(), Vec::new());
    detector.feed(Instant::now(), b"$ echo no'-'receiver\r\n", &mut shown);
    assert!(!detector.has_line(b"no-receiver"));
    detector.feed(Instant::now(), b"no-receiver\r\n$ ", &mut shown);
    assert!(detector.has_line(b"no-receiver") && detector.is_at_prompt());
    detector.forget();
    assert!(!detector.has_line(b"no-receiver"));
}

/// Logs, binaries and sources that have the bytes of starts in them.
#[test]
fn nothing_in_a_corpus_of_false_starts_is_one() {
    let captured = [ZRQINIT, ZRINIT, TSZ, SEND_INIT].concat();
    let noise = wetstring_testkit::noise(7, 1_000_000);
    let program = std::fs::read(std::env::current_exe().expect("this program")).expect("it");
    let source = include_bytes!("../start.rs").repeat(3);
    let log = "## Ready for binary (ymodem) download to 0x4 at 115200 bps...\r\nCCC## Total\r\n";
    for (name, bytes) in [
        ("captured", &[&captured[..], b"$ "].concat()[..]),
        ("noise", &noise),
        ("program", &program[..program.len().min(8_000_000)]),
        ("source", &source),
        ("log", log.repeat(100).as_bytes()),
    ] {
        for len in [17, 4095] {
            if len == 17 && bytes.len() > 2_000_000 {
                continue;
            }
            let chunks: Vec<&[u8]> = bytes.chunks(len).collect();
            let (shown, starts) = scouted(&chunks, Duration::from_micros(100));
            assert!(starts.is_empty(), "{name}: {starts:?}");
            assert!(shown == bytes, "{name}: every byte shows once");
        }
    }
}

/// Nothing that tmux draws is held back, and what it draws again is no other start.
#[test]
fn trzsz_is_found_where_tmux_or_windows_draws_it() {
    let line = "\r\n::TRZSZ:TRANSFER:R:1.1.7:6234567890120:40123\r\n";
    let status = "\x1b[30;1H[0] 0:trz*\x1b[6;1H";
    let (tmux, other) = ([line, status].concat(), line.replace("120:", "320:"));
    let mut detector = StartDetector::<Instant>::default().and_trzsz();
    let mut now = Instant::now();
    for (text, found) in [(&tmux, true), (&tmux, false), (&other, true)] {
        let mut shown = Vec::new();
        detector.feed(now, text.as_bytes(), &mut shown);
        assert_eq!(shown, text.as_bytes(), "all of it shows");
        now += QUIET_AFTER_PROMPT;
        let start = detector.decide(now, &mut shown);
        let host = start.map(|start| (start.host, start.part, start.bytes));
        assert_eq!(host, found.then(|| (Host::Tmux, Part::Receiver, Vec::new())));
    }
    // As its own program writes it; no lone ESC 7 comes out of a console.
    let windows = line.replace("120:", "110:");
    for bytes in [windows.clone(), format!("\x1b7{}", windows.trim_start())] {
        let (_, starts) = scouted(&[bytes.as_bytes()], Duration::from_millis(5));
        let [start] = &starts[..] else { panic!("{starts:?}") };
        assert_eq!(start.host, Host::Windows);
        assert!(start.refusal().ends_with(b"==!\n"), "the end of a line there");
        assert_eq!(start.engine(), None);
    }
}

#[test]
fn trzsz_is_found_only_where_it_is_asked_for() {
    let (mut detector, mut shown) = (StartDetector::<Instant>::default(), Vec::new());
    assert!(detector.passes(Instant::now(), TSZ));
    detector.feed(Instant::now(), TSZ, &mut shown);
    assert_eq!(shown, TSZ);
}

#[test]
fn a_refusal_is_a_packet_that_kermit_understands() {
    let packet = error_packet();
    let body = &packet[1..packet.len() - 1];
    let parsed =
        wetstring_proto::kermit::packet::parse(body, Check::Sum6, false).expect("a packet");
    assert_eq!((parsed.kind, parsed.data), (b'E', &b"refused by the user"[..]));
}
