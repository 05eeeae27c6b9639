//! Recordings of other programs, and of our own beside their traces.

use wetstring_lab::capture::Capture;
use wetstring_lab::explain::{Account, Ends, Part, header};
use wetstring_lab::scenario::{Scenario, no_files};
use wetstring_lab::{Random, Recorder, recording};

/// C-Kermit 10 beta sends 372 bytes to G-Kermit over a PTY.
const CKERMIT: &[u8] = include_bytes!("recordings/ckermit-sends.strace");
/// rb of lrzsz receives the same from sb; without the durations of calls (-T), and not in hex (-xx).
const RB: &[u8] = include_bytes!("recordings/lrzsz-rb.strace");
/// sz of lrzsz sends it to rz.
const SZ: &[u8] = include_bytes!("recordings/lrzsz-sz.socat");
/// C-Kermit sends it over TCP to `wst receive`.
const TCP: &[u8] = include_bytes!("recordings/ckermit-tcp.pcap");

fn account(file: &[u8]) -> Account {
    let lines = recording::trace(file).expect("a recording").unwrap_or_else(|bad| panic!("{bad}"));
    Account::read(lines.iter().map(String::as_str), None).unwrap_or_else(|bad| panic!("{bad}"))
}

/// What is said of a file of which nothing can be made.
fn refused(file: &[u8]) -> String {
    recording::trace(file).expect("a recording").expect_err("nothing to be made of it").to_string()
}

#[test]
fn programs_of_others_are_understood() {
    let all = [
        (CKERMIT, "kermit", Ends::Sender),
        (RB, "ymodem", Ends::Receiver),
        (SZ, "zmodem", Ends::Sender),
        (TCP, "kermit", Ends::Sender),
    ];
    for (file, protocol, ends) in all {
        let account = account(file);
        assert_eq!(account.protocol.as_deref(), Some(protocol));
        assert_eq!((account.ends, account.file_bytes), (ends, 372), "{protocol}: {account:?}");
        assert_eq!(account.budget.total(), account.elapsed_ns, "{protocol}: {account:?}");
        assert_eq!(account.errors(), 0, "{protocol}: {account:?}");
    }
}

#[test]
fn rb_waits_a_second_before_its_last_answers() {
    let account = account(RB);
    assert!((2_000_000_000..2_020_000_000).contains(&account.elapsed_ns), "{account:?}");
    assert!(account.budget.permille(Part::Closing) > 990, "{account:?}");
}

#[test]
fn the_rate_of_the_port_is_that_of_the_transfer() {
    let lines = recording::trace(CKERMIT).unwrap().unwrap();
    assert!(lines.iter().any(|line| line.ends_with(" run value rate_bps=9600")), "{lines:?}");
}

/// Runs a scenario; gives its own account, and that of a capture of it.
fn both(text: &str) -> [Account; 2] {
    let scenario = Scenario::parse("test", text, &no_files).unwrap_or_else(|bad| panic!("{bad}"));
    let mut lines = header("test", text, &[], &scenario).unwrap();
    let capture = Capture::new();
    let mut recorder = Recorder::keep();
    let outcome = scenario.with_capture(&capture).run(&mut recorder);
    assert!(outcome.is_done(), "{text}");
    lines.extend(recorder.lines().iter().cloned());
    let seen = recording::trace(&capture.pcapng()).unwrap().unwrap_or_else(|bad| panic!("{bad}"));
    [lines, seen].map(|lines| {
        let lines = lines.iter().map(String::as_str);
        Account::read(lines, Some(960_000)).unwrap_or_else(|bad| panic!("{bad}"))
    })
}

/// Parts of an account that are one thing seen from outside: waits, what was retransmitted, and the rest of the line's time.
const GROUPS: [&[Part]; 4] = [
    &[Part::Payload, Part::Encoding, Part::Framing],
    &[Part::Damage, Part::Asked, Part::Loss, Part::Timeout, Part::GoBack],
    &[
        Part::Acknowledgement,
        Part::Pause,
        Part::ThinkTime,
        Part::Store,
        Part::Idle,
        Part::FlowControl,
    ],
    &[Part::StartUp, Part::Closing],
];

#[test]
fn a_capture_shows_what_the_engines_say() {
    for protocol in ["kermit", "xmodem", "ymodem", "zmodem"] {
        for line in ["9600", "9600,delay=100ms", "9600,burst=8@3s", "9600,delay=50ms,burst=8@5s"] {
            let made = if protocol == "xmodem" { 128 * 94 } else { 12_000 };
            let text = format!(
                "protocol = {protocol:?}\nline = {line:?}\nseed = 3\n[file]\nmade = \"random\"\nbytes = {made}\n"
            );
            let [told, seen] = both(&text);
            assert_eq!(seen.protocol, told.protocol);
            assert_eq!(seen.file_bytes, told.file_bytes, "{protocol} {line}");
            let of = |account: &Account, parts: &[Part]| -> u64 {
                parts.iter().map(|part| account.budget.permille(*part)).sum()
            };
            if protocol != "xmodem" {
                let payload = (seen.budget.of(Part::Payload) + 500_000) / 1_000_000;
                assert_eq!(payload, 12_500, "{protocol} {line}: 12,000 bytes at 960 a second");
            }
            // An engine of ZMODEM counts what it put into its queue, and dropped when it was asked to go back, as sent.
            let give = if protocol == "zmodem" { 100 } else { 50 };
            for parts in GROUPS {
                let (told_share, seen_share) = (of(&told, parts), of(&seen, parts));
                assert!(
                    told_share.abs_diff(seen_share) <= give,
                    "{protocol} {line} {parts:?}: {told_share} thousandths, seen {seen_share}\n{told:?}\n{seen:?}"
                );
            }
        }
    }
}

#[test]
fn what_cannot_be_used_says_what_to_do() {
    let timeless = "write(1, \"**\\30B00\", 6) = 6\nread(0, \"C\", 1) = 1\n";
    assert!(
        refused(timeless.as_bytes()).contains("line 1: expected a time before each call (-ttt)")
    );
    let cut = "12 1700000000.123456 write(1, \"abc\"..., 500) = 500\n";
    let said = refused(cut.as_bytes());
    assert!(said.contains("line 1: expected all 500 bytes (-s 65536), got 3"), "{said}");
    let alone = "1700000000.123456 write(5, \"abc\", 3) = 3\n";
    assert!(refused(alone.as_bytes()).contains("a file descriptor that is written and read"));
    let none = "1700000000.1 write(5, \"abcd\", 4) = 4\n1700000000.2 read(5, \"abcd\", 9) = 4\n";
    assert!(
        refused(none.as_bytes()).contains("expected packets of Kermit, XMODEM, YMODEM or ZMODEM")
    );
    let short = &SZ[..SZ.len() - 30];
    assert!(refused(short).contains("bytes after it, got"), "{}", refused(short));
    let whole = TCP.len();
    assert_eq!(refused(&TCP[..whole - 3]), "pcap: expected whole packets, got the end of the file");
}

#[test]
fn holes_in_a_connection_are_not_passed_over() {
    // Without the packet in the middle, which has data of the file.
    let mut at = 24;
    let mut packets = Vec::new();
    while at < TCP.len() {
        let len = u32::from_le_bytes(TCP[at + 8..at + 12].try_into().unwrap()) as usize;
        packets.push(&TCP[at..at + 16 + len]);
        at += 16 + len;
    }
    let longest = (0..packets.len()).max_by_key(|index| packets[*index].len()).unwrap();
    packets.remove(longest);
    let file = [&TCP[..24], &packets.concat()].concat();
    assert!(refused(&file).contains("a capture with holes"));
}

#[test]
fn bundles_between_our_own_ends_need_their_trace() {
    let text = "protocol = \"kermit\"\nline = \"9600\"\n[both]\nbundle = \"on\"\n[file]\nmade = \"random\"\nbytes = 3000\n";
    let scenario = Scenario::parse("test", text, &no_files).unwrap_or_else(|bad| panic!("{bad}"));
    let capture = Capture::new();
    assert!(scenario.with_capture(&capture).run(&mut Recorder::off()).is_done());
    assert!(refused(&capture.pcapng()).contains("record it by --trace FILE"));
}

#[test]
fn a_trace_is_no_recording() {
    for text in [
        "",
        "0.000000000 A sent S n=0 len=32 at=0\n",
        "hello\n",
        "> see above\n",
        "f(x) is a function\n",
    ] {
        assert!(recording::trace(text.as_bytes()).is_none(), "{text}");
    }
}

#[test]
fn nothing_that_is_in_a_file_makes_it_panic() {
    let random = &mut Random::stream(1, "recordings", "damage");
    for file in [CKERMIT, RB, SZ, TCP] {
        for _ in 0..200 {
            let mut file = file.to_vec();
            for _ in 0..random.between(1, 20) {
                let at = random.between(0, file.len() as u64 - 1) as usize;
                file[at] = random.bits() as u8;
            }
            file.truncate(random.between(0, file.len() as u64) as usize);
            if let Some(Ok(lines)) = recording::trace(&file) {
                // It may be no transfer, but it is a trace.
                let read = Account::read(lines.iter().map(String::as_str), None);
                assert!(read.is_ok() || !read.unwrap_err().to_string().contains("line "));
            }
        }
    }
}
