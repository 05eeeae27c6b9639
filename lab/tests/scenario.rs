//! Scenarios: what is read, what is refused and where, and the same trace twice.

use std::path::PathBuf;
use wetstring_lab::Recorder;
use wetstring_lab::element::End;
use wetstring_lab::scenario::{Ending, Outcome, Scenario, no_files};
use wetstring_lab::trace::twice;

const NOISY: &str =
    "line = '9600,delay=250ms,burst=8@2s'\n[file]\nmade = 'random'\nbytes = 20000\n";

fn parse(text: &str) -> Scenario {
    Scenario::parse("x.toml", text, &no_files).unwrap_or_else(|bad| panic!("{bad}"))
}

fn run(text: &str) -> Outcome {
    parse(text).run(&mut Recorder::off())
}

fn refused(text: &str) -> String {
    match Scenario::parse("x.toml", text, &no_files) {
        Ok(_) => panic!("expected a refusal of {text}"),
        Err(bad) => bad.to_string(),
    }
}

#[test]
fn a_wrong_place_is_named_by_file_line_and_key() {
    let line = "line = '9600'\n";
    for (text, wanted) in [
        ("lien = '9600'", "x.toml:1: lien: unknown field `lien`"),
        ("\n\nline = '-9600'", "x.toml:3: line: `-9600`: "),
        ("line = []", "x.toml:1: line: ``: expected at least one element"),
        (
            "line = ['7171:', '7171:']",
            "x.toml:1: line: `7171:`: expected it as the last of the row",
        ),
        (
            "seed = 2\nline = ['9600', 'flip 7171:']",
            "x.toml:2: line: `flip 7171:`: expected it as the first of the row",
        ),
        (
            "line = ['telnet:escape=1e', '9600']",
            "x.toml:1: line: `telnet:escape=1e`: expected it as the last",
        ),
        (
            "line = ['tcp:mss=1460 over ethernet:10M', '9600']",
            "x.toml:1: line: `tcp:mss=1460 over ethernet:10M`: expected a network alone",
        ),
        (
            "line = ['9600', 'flip tcp:mss=1460 over ethernet:10M']",
            "x.toml:1: line: `flip tcp:mss=1460 over ethernet:10M`: expected a network alone",
        ),
        ("line = 7", "x.toml:1: line: expected a description"),
        ("line = ['9600', '9600,dely=1s']", "x.toml:1: line: `9600,dely=1s`: "),
        ("seed = 1", "x.toml: line: expected a line"),
        (&format!("{line}seed = -1"), "x.toml:2: seed: "),
        (&format!("{line}seed = 'x'"), "x.toml:2: seed: "),
        (&format!("{line}protocol = 'kremit'"), "x.toml:2: protocol: expected one of kermit, "),
        (
            &format!("{line}[file]\ncorpus = 'bible'"),
            "x.toml:3: file.corpus: expected one of manual",
        ),
        (&format!("{line}[file]\nsize = 3"), "x.toml:3: file.size: unknown field `size`"),
        (&format!("{line}[file]\nmade = 'nice'"), "x.toml:3: file.made: expected random"),
        (&format!("{line}[file]\npath = 'f'"), "x.toml:3: file.path: expected a corpus"),
        (&format!("{line}[file]\nbytes = 5000000000"), "x.toml:3: file.bytes: expected at most"),
        (
            &format!("{line}[both]\nwidow = 3"),
            "x.toml:3: both.widow: unknown setting, expected host",
        ),
        (
            &format!("{line}[sender]\nwindow = 32"),
            "x.toml:3: sender.window: kermit.window takes 1..31",
        ),
        (&format!("{line}[sender]\nwindow = 1.5"), "x.toml:3: sender.window: expected a text"),
        (&format!("{line}[receiver]\nhost = 'write=fast'"), "x.toml:3: receiver.host: "),
        (
            &format!("{line}[receiver]\nhost = 'disk=1s'"),
            "x.toml:3: receiver.host: host: disk: expected bytes up to",
        ),
        (&format!("{line}[limits]\ntime = -3"), "x.toml:3: limits.time: "),
        ("line = '9600", "x.toml:1: line: "),
    ] {
        let said = refused(text);
        assert!(said.starts_with(wanted), "{text}\n  expected {wanted}\n  got      {said}");
    }
}

#[test]
fn an_older_version_that_cannot_be_made_is_refused() {
    let line = "line = '9600'\n";
    for (text, wanted) in [
        (
            &format!("{line}[file]\nold = {{ changed = 0, share = 0.1 }}"),
            "x.toml:3: file.old: expected changed from 1, and share above 0 and at most 1, got 0 and 0.1",
        ),
        (
            &format!("{line}[file]\nold = {{ changed = 3, share = 1.5 }}"),
            "x.toml:3: file.old: expected changed from 1, and share above 0 and at most 1, got 3 and 1.5",
        ),
        (&format!("{line}[file]\nold = {{ changed = 3 }}"), "x.toml:3: file.old: missing field"),
        (
            &format!("{line}[file]\nbytes = 1000\nold = {{ changed = 30, share = 0.01 }}"),
            "x.toml:4: file.old: expected a byte for each of 30 places, got 0.01 of 1000 bytes for all",
        ),
        (
            &format!("{line}[file]\ntext = true\nold = {{ changed = 3, share = 0.1 }}"),
            "x.toml:4: file.old: expected no older version of a text",
        ),
    ] {
        let said = refused(text);
        assert!(said.starts_with(wanted), "{text}\n  expected {wanted}\n  got      {said}");
    }
}

#[test]
fn a_missing_file_is_reported_with_its_place() {
    let load = |path: &str| Err(format!("{path}: no such file"));
    let bad = Scenario::parse("x.toml", "line = '9600'\nfile.path = 'nothing'", &load).unwrap_err();
    assert_eq!(bad.to_string(), "x.toml:2: file.path: nothing: no such file");
    let load = |_: &str| Ok(b"abc".to_vec());
    let found =
        Scenario::parse("x.toml", "line = '0'\nfile.path = 'd/f'\nfile.bytes = 7", &load).unwrap();
    assert_eq!((&*found.file().name, &*found.file().bytes), (&b"f"[..], &b"abcabca"[..]));
}

#[test]
fn overrides_take_precedence_and_their_errors_are_named() {
    let with = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        Scenario::parse_with("x.toml", NOISY, &sets, &no_files)
    };
    let changed = with(&["line=1200", "seed=9", "file.bytes=100", "both.window=3"]).unwrap();
    assert_eq!((changed.line(), changed.seed()), (&["1200".to_owned()][..], 9));
    assert_eq!(changed.file().bytes.len(), 100);
    // A value that is several elements, and one that looks like a number but is a text.
    assert_eq!(with(&["line=['0', '2400']"]).unwrap().line().len(), 2);
    assert_eq!(with(&["line=0,delay=1s"]).unwrap().limit_millicps(), None);
    for (set, wanted) in [
        ("both.window=99", "--set both.window=99: both.window: kermit.window takes 1..31, got 99"),
        ("widow=3", "--set widow=3: widow: unknown field `widow`"),
        ("window", "--set window: expected KEY=VALUE"),
        ("seed=x", "--set seed=x: seed: "),
    ] {
        let bad = with(&[set]).unwrap_err().to_string();
        assert!(bad.starts_with(wanted), "expected {wanted}\n got {bad}");
    }
}

#[test]
fn every_protocol_moves_a_file_and_says_what_it_cost() {
    for protocol in ["kermit", "xmodem", "xmodem-crc", "xmodem-1k", "ymodem", "ymodem-g", "zmodem"]
    {
        let text = format!("protocol = '{protocol}'\nline = '9600'\nfile.corpus = 'sparc-small'");
        let outcome = run(&text);
        assert_eq!(outcome.ending, Ending::Done, "{protocol}");
        assert_eq!((outcome.bytes, outcome.limit_millicps), (24_576, Some(960_000)));
        // Only Kermit codes runs; the others take at least 25.6 s, and XMODEM 15 % more.
        let secs = outcome.elapsed.as_secs();
        let range = if protocol == "kermit" { 7..12 } else { 25..31 };
        assert!(range.contains(&secs), "{protocol}: {:?}", outcome.elapsed);
        assert_eq!(outcome.printed_cps(), 24_576 / outcome.whole_secs());
    }
}

#[test]
fn a_text_is_counted_as_its_receiver_counts_it() {
    let outcome = run("line = '115200'\n[file]\ncorpus = 'manual'\ntext = true");
    assert_eq!((outcome.ending, outcome.bytes), (Ending::Done, 137_901));
}

/// Kermit with one packet under way on a machine of 20 ms a packet: every packet costs them.
#[test]
fn a_machine_costs_what_it_says() {
    let base = "line = '9600'\n[file]\nmade = 'ramp'\nbytes = 30000\n\
                [both]\nwindow = 1\nadapt-length = 'off'\nsend-length = 94\n";
    let free = run(base);
    let costly = run(&format!("{base}[receiver]\nhost = 'write=20ms'\n"));
    let packets = u128::from(costly.report.sides[End::B.index()].stats.packets_in);
    assert!(packets > 300);
    let more = costly.elapsed.as_millis() - free.elapsed.as_millis();
    // The last one is acknowledged and then nothing waits.
    assert!((packets * 20 - 40..=packets * 20 + 20).contains(&more), "{more} for {packets}");
    // A byte takes 1.04 ms on the line and 3.3 on a disk of 300 bytes a second, which carries what
    // is read and what is answered.
    let slow = run(&format!("{base}[receiver]\nhost = 'disk=300'\n"));
    let pace = u128::from(slow.report.sides[End::B.index()].stats.wire_in_bytes) * 1000 / 300;
    assert!((pace..pace * 5 / 4).contains(&slow.elapsed.as_millis()), "{:?}", slow.elapsed);
}

#[test]
fn limits_and_failures_are_told_apart() {
    let stopped = run(&format!("{NOISY}[limits]\ntime = 3\n"));
    assert!(matches!(stopped.ending, Ending::Stopped(_)), "{:?}", stopped.ending);
    let failed = run(&format!("protocol = 'ymodem-g'\n{NOISY}"));
    assert!(matches!(failed.ending, Ending::Failed(..)), "{:?}", failed.ending);
    assert!(!failed.is_done());
}

#[test]
fn two_lines_in_a_row_are_slower_than_one() {
    let one = run("line = '9600'\nfile.bytes = 5000");
    let two = run("line = ['9600', '2400,delay=10ms']\nfile.bytes = 5000");
    assert_eq!(two.limit_millicps, Some(240_000));
    assert!(two.elapsed > one.elapsed * 3);
}

#[test]
fn the_same_scenario_gives_the_same_trace_and_another_seed_another_one() {
    for protocol in ["kermit", "xmodem-crc", "ymodem", "zmodem"] {
        let scenario = parse(&format!("protocol = '{protocol}'\n{NOISY}"));
        let first = twice(|recorder| scenario.run(recorder));
        let (outcome, trace) =
            first.unwrap_or_else(|difference| panic!("{protocol}: {difference}"));
        assert!(outcome.is_done() && trace.count() > 50, "{protocol}");
        assert_eq!(outcome.trace_digest, trace.digest());
        let mut other = Recorder::digest_only();
        scenario.clone().with_seed(2).run(&mut other);
        assert_ne!(other.digest(), trace.digest(), "{protocol}");
    }
}

#[test]
fn the_scenarios_that_come_with_the_laboratory_run() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut count = 0;
    for entry in std::fs::read_dir(directory).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        let text = std::fs::read_to_string(&path).expect("it can be read");
        let name = path.to_string_lossy();
        let scenario =
            Scenario::parse(&name, &text, &no_files).unwrap_or_else(|bad| panic!("{bad}"));
        let outcome = scenario.run(&mut Recorder::off());
        assert!(outcome.is_done(), "{name}: {}", outcome.ending);
        count += 1;
    }
    assert!(count >= 4);
}

#[test]
fn comparators_run_over_a_network_of_packets_and_are_measured_in_a_window() {
    let text = |protocol: &str| {
        format!(
            "protocol = '{protocol}'\nline = 'udp over path:20M,rtt=30ms,queue=rtt'\n\
             file = {{ made = 'pattern', bytes = 30000000 }}\n"
        )
    };
    for protocol in ["tcp-reno", "tcp-cubic", "quic-reno", "quic-cubic", "quic-bbr"] {
        let whole = run(&text(protocol));
        assert_eq!((whole.ending, whole.bytes), (Ending::Done, 30_000_000), "{protocol}");
        // 20 Mb/s less 52 of 1500 bytes.
        assert_eq!(whole.limit_millicps, Some(2_413_333_333), "{protocol}");
        let share = whole.efficiency(2_413_333_333);
        assert!((90_000..101_000).contains(&share), "{protocol}: {share}");
        let measured = run(&format!("{}measure = {{ from-rtts = 30, ms = 2000 }}", text(protocol)));
        assert_eq!(measured.ending, Ending::Measured);
        assert_eq!(measured.elapsed.as_millis(), 2000);
        let share = measured.efficiency(2_413_333_333);
        assert!((90_000..101_000).contains(&share), "{protocol}: {share}");
        let text = text(protocol);
        twice(|recorder| parse(&text).run(recorder)).unwrap_or_else(|bad| panic!("{bad}"));
    }
    assert!(
        refused("line = 'udp over path:1M'").contains("expected an element that carries bytes")
    );
    assert_eq!(
        refused("line = '9600'\nmeasure = { rtts = 3 }"),
        "x.toml:2: measure: expected from-ms and ms: this line has no round trip that is known"
    );
    assert_eq!(
        refused("protocol = 'tcp-reno'\nline = 'path:1M'\nmeasure = { from-ms = 3 }"),
        "x.toml:3: measure: expected how long to measure, ms, rtts or bytes"
    );
}

#[test]
fn losses_and_headers_are_taken_off_what_a_path_can_carry() {
    let text = "protocol = 'quic-bbr'\nline = 'path:10M,rtt=20ms,loss=1%'\n";
    let scenario = parse(text);
    // 1250000 x 1448/1500 x 0.99, in thousandths.
    assert_eq!(scenario.limit_millicps().map(|cps| cps / 1000), Some(1_194_599));
}

#[test]
fn ftp_sends_the_file_of_the_scenario() {
    let cps = |made: &str, text: bool| {
        let scenario = format!(
            "protocol = 'ftp'\nline = 'modem:dte=57600,line=14400,v42bis'\n\
             file = {{ made = '{made}', bytes = 100000, text = {text} }}"
        );
        let outcome = run(&scenario);
        assert_eq!(outcome.ending, Ending::Done, "{made}");
        (outcome.bytes, outcome.millicps() / 1000)
    };
    let (_, random) = cps("random", false);
    let (_, zeros) = cps("zeros", false);
    let (plain, text) = cps("text", false);
    let (with_cr, _) = cps("text", true);
    // 14400 bit/s are 1800 octets per second, less LAPM's frames; nothing is gained from random bytes.
    assert!((1600..1800).contains(&random), "{random}");
    // The ports have 57600 bit/s.
    assert!((5500..=5760).contains(&zeros), "{zeros}");
    assert!(text > random * 5 / 4 && text < zeros, "{text}");
    assert!(with_cr > plain, "{with_cr} bytes of text, {plain} in the file");
}

/// A published time is of the bytes that were sent: only who asks for compression has it.
#[cfg(feature = "compress")]
#[test]
fn a_scenario_compresses_if_it_says_so() {
    let seconds = |settings: &str| {
        let text = format!(
            "line = '9600'\nfile = {{ made = 'text', bytes = 40000 }}\n\
             [both]\nbundle = 'on'\nstreaming = 'off'\n{settings}"
        );
        let outcome = run(&text);
        assert!(outcome.is_done(), "{settings}");
        outcome.elapsed.as_secs()
    };
    let (without, with) = (seconds(""), seconds("compress = 'auto'"));
    assert!(with * 10 < without * 8, "{with} {without}");
}

/// An older version at the receiver: Kermit sends the difference, and says what was there; others send everything.
#[test]
fn the_difference_to_an_older_version_is_sent() {
    let with = |old: &str, settings: &str| {
        let text =
            format!("line = '115200'\n{settings}\n[file]\nmade = 'random'\nbytes = 400000\n{old}");
        let outcome = run(&text);
        assert!(outcome.is_done(), "{text}: {outcome:?}");
        (outcome.elapsed, outcome.report.sides[1].stats.known_bytes)
    };
    let old = "old = { changed = 4, share = 0.02 }";
    let kermit = "both.bundle = 'on'";
    let ((all, none), (some, known)) = (with("", kermit), with(old, kermit));
    // Of 196 blocks of 2048 bytes those are sent in which something changed, and the rest after the last.
    assert_eq!((none, known % 2048), (0, 0));
    assert!((400_000 - 17 * 2048..392_000).contains(&known), "{known}");
    assert!(some * 8 < all, "{some:?} {all:?}");
    assert_eq!(with(old, "both = { bundle = 'on', difference = 'off' }"), (all, 0));
    assert_eq!(with(old, "protocol = 'zmodem'"), with("", "protocol = 'zmodem'"));
    let said =
        refused("line = '9600'\n[file]\nmade = 'pattern'\nold = { changed = 4, share = 0.02 }");
    assert!(
        said.starts_with("x.toml:4: file.old: expected no older version of a text or a pattern"),
        "{said}"
    );
}
