//! Accounts of runs of the laboratory: the parts add up, mean what they say, and the advice is what
//! happens when it is taken.

use wetstring_lab::explain::{Account, Ends, Part, RateSource, header};
use wetstring_lab::scenario::{Outcome, Protocol, Scenario, no_files};
use wetstring_lab::{End, Random, Recorder};

/// Runs a scenario, with the trace that `wst lab run` writes of it.
fn run(text: &str) -> (Outcome, Vec<String>) {
    let scenario = Scenario::parse("test", text, &no_files).unwrap_or_else(|bad| panic!("{bad}"));
    let mut lines = header("test", text, &[], &scenario).unwrap();
    let mut recorder = Recorder::keep();
    let outcome = scenario.run(&mut recorder);
    lines.extend(recorder.lines().iter().cloned());
    (outcome, lines)
}

fn account(lines: &[String]) -> Account {
    let lines = lines.iter().map(String::as_str);
    Account::read(lines, None).unwrap_or_else(|bad| panic!("{bad}"))
}

/// The same as one end would have written it: nothing of the other, nothing of the line.
fn one_end(lines: &[String], who: &str) -> Vec<String> {
    let word = |line: &&String| line.split(' ').nth(1) == Some(who);
    lines.iter().filter(word).cloned().collect()
}

fn ns(outcome: &Outcome) -> u64 {
    u64::try_from(outcome.elapsed.as_nanos()).unwrap()
}

/// Asserts that a share in thousandths is about so much.
fn near(account: &Account, part: Part, permille: u64, give: u64) {
    let got = account.budget.permille(part);
    assert!(got.abs_diff(permille) <= give, "{part:?}: {got}, expected {permille} of\n{account:?}");
}

/// A scenario by chance: protocol, line, faults, length, settings.
fn by_chance(seed: u64) -> String {
    let mut random = Random::stream(seed, "explain", "scenario");
    let mut pick = |words: &[&str]| words[random.below(words.len() as u64) as usize].to_owned();
    let names: Vec<_> = Protocol::of_bytes().map(|protocol| protocol.name).collect();
    let protocol = pick(&names);
    let rate = pick(&["0", "300", "2400", "9600", "9600/1200", "115200"]);
    let delay = pick(&["", ",delay=20ms", ",delay=300ms"]);
    let half = pick(&["", "", ",half=80ms"]);
    let faults = pick(&[
        "",
        "",
        ",ber=1e-5",
        ",burst=8@3000",
        ",drop=1e-4",
        ",dup=1e-4",
        ",ber=2e-5,dir=rev",
    ]);
    // Some lines are of other kinds, whose delays and faults are their own.
    let other = pick(&[
        "",
        "",
        "",
        "19200,rtscts,rxbuf=256",
        "modem:dte=57600,line=14400,v42bis",
        "7171:turn=85ms",
        "tcp:mss=1460 over ethernet:10M",
    ]);
    let line = if other.is_empty() { format!("{rate}{delay}{half}{faults}") } else { other };
    let host = pick(&["", "", "host = 'read=5ms+20us'", "host = 'write=2ms,disk=20K,wake=1ms'"]);
    let bytes = pick(&["0", "1", "100", "3000", "20000"]);
    let made = pick(&["random", "text", "zeros"]);
    let settings = match protocol.as_str() {
        "kermit" => format!(
            "window = {}\nsend-length = {}\nprefixing = '{}'\nbundle = '{}'",
            pick(&["1", "4", "31"]),
            pick(&["94", "1000", "9024"]),
            pick(&["all", "cautious", "auto"]),
            pick(&["auto", "on"])
        ),
        "zmodem" => format!("window = {}", pick(&["0", "4096"])),
        _ => String::new(),
    };
    format!(
        "protocol = '{protocol}'\nline = '{line}'\nseed = {seed}\n[file]\n\
         made = '{made}'\nbytes = {bytes}\n[both]\n{host}\n{settings}\n[limits]\ntime = 3000\n"
    )
}

#[test]
fn the_parts_of_any_transfer_add_up_to_its_time() {
    let (mut done, mut parts) = (0, Vec::new());
    for seed in 0..400 {
        let text = by_chance(seed);
        let (outcome, lines) = run(&text);
        let whole = account(&lines);
        assert_eq!(whole.elapsed_ns, ns(&outcome), "{text}");
        assert_eq!(whole.budget.total(), ns(&outcome), "{text}\n{:?}", whole.budget);
        for who in ["A", "B"] {
            let lines = one_end(&lines, who);
            for rate in [None, Some(96_000), Some(11_520_000)] {
                let Ok(half) = Account::read(lines.iter().map(String::as_str), rate) else {
                    continue;
                };
                let total = half.budget.total();
                assert_eq!(total, half.elapsed_ns, "{who} {rate:?}\n{text}\n{:?}", half.budget);
                // Both ends together know why it was asked for.
                assert_eq!(whole.budget.of(Part::Asked), 0, "{text}");
                parts.extend(Some(Part::Asked).filter(|part| half.budget.of(*part) > 0));
            }
        }
        done += u64::from(outcome.is_done());
        parts.extend(Part::ALL.into_iter().filter(|part| whole.budget.of(*part) > 0));
    }
    // The property is worth little if only easy transfers were looked at.
    assert!((200..400).contains(&done), "{done} of 400 ended well");
    for part in Part::ALL {
        let seen = parts.iter().filter(|known| **known == part).count();
        // The laboratory's files take no time; what an engine waits for is seldom unknown.
        // A channel with turns, and typing, are in lab/tests/slip_lab.rs; the ARPANET is in lab/tests/imp.rs.
        let on_slip = matches!(part, Part::OtherSide | Part::Unfilled | Part::Typing);
        let on_imp = matches!(part, Part::Rfnm | Part::Allocation);
        // Few of these files are long enough for error correction: it is in lab/tests/explain_mechanisms.rs.
        let elsewhere = on_slip
            || on_imp
            || matches!(part, Part::Store | Part::Idle | Part::Loss | Part::Parity);
        assert!(seen > 1 || elsewhere, "{part:?} was seen {seen} times");
    }
}

#[test]
fn a_perfect_line_has_nothing_but_file_and_packets() {
    let (outcome, lines) =
        run("line = '9600'\nprotocol = 'kermit'\n[file]\nmade = 'random'\nbytes = 60000\n\
         [both]\nwindow = 31\nprefixing = 'all'\n");
    assert!(outcome.is_done());
    let account = account(&lines);
    assert_eq!((account.ends, account.rate_source), (Ends::Both, RateSource::Told));
    assert_eq!((account.file_bytes, account.millicps), (60_000, Some(960_000)));
    // Each byte of the file is on the line once, and takes what a byte takes.
    let payload = account.budget.of(Part::Payload);
    let line_time = 60_000 * 1_000_000_000 / 960;
    assert!(payload.abs_diff(line_time) < 200_000, "{payload} instead of {line_time}");
    // 66 of 256 codes get a prefix, less what repeat counts save.
    let stats = outcome.report.sides[0].stats;
    let encoding = (stats.encoded_bytes - stats.file_bytes) * 1_000_000_000 / 960;
    let got = account.budget.of(Part::Encoding);
    assert!(got.abs_diff(encoding) < 2_000_000, "{got} instead of {encoding}");
    for part in [Part::Damage, Part::Loss, Part::Timeout, Part::GoBack, Part::TurnAround] {
        assert_eq!(account.budget.of(part), 0, "{part:?}");
    }
    assert!(account.budget.permille(Part::Acknowledgement) < 5, "{account:?}");
    // The line's own counter of its busy time knows nothing of packets.
    let busy: u64 = [Part::Payload, Part::Encoding, Part::Framing]
        .map(|part| account.budget.of(part))
        .iter()
        .sum();
    let usage = outcome.report.sides[End::A.index()].usage.busy_ns;
    assert!(busy <= usage && usage - busy < 400_000_000, "{busy} of {usage}");
}

#[test]
fn stop_and_wait_time_matches_the_formula() {
    // A block of 133 bytes takes 138.5 ms at 960 characters a second, its answer 1 ms, and both
    // travel 250 ms: 500 ms and a character of 639.6 ms are waited.
    let (outcome, lines) =
        run("line = '9600,delay=250ms'\nprotocol = 'xmodem-crc'\n[file]\nbytes = 12800\n\
         [both]\npause = 0\n");
    assert!(outcome.is_done());
    let account = account(&lines);
    let wait = account.budget.of(Part::Acknowledgement);
    let expected = 100 * (500_000_000 + 1_041_667);
    assert!(wait.abs_diff(expected) < expected / 200, "{wait} instead of {expected}: {account:?}");
    let says = account.bottleneck();
    assert!(says.starts_with("Waiting for acknowledgements"), "{says}");
    // From the sender's end the rate and the delay are found out without being told.
    let sender = self::account(&one_end(&lines, "A"));
    assert_eq!((sender.ends, sender.rate_source), (Ends::Sender, RateSource::Measured));
    let told = Account::read(one_end(&lines, "A").iter().map(String::as_str), Some(960_000));
    let round_trip = told.unwrap().round_trip_ns().unwrap();
    assert!(round_trip.abs_diff(500_000_000) < 5_000_000, "{round_trip}");
}

#[test]
fn the_rate_is_found_from_short_and_long_packets() {
    for rate in [2400u64, 9600, 38_400] {
        let text = format!(
            "line = '{rate},delay=100ms'\nprotocol = 'kermit'\n[file]\nbytes = 20000\n\
             [both]\nwindow = 1\nadapt-length = 'on'\n"
        );
        let (_, lines) = run(&text);
        let sender = account(&one_end(&lines, "A"));
        assert_eq!(sender.rate_source, RateSource::Measured);
        let (found, real) = (sender.millicps.unwrap(), rate * 100);
        assert!(found.abs_diff(real) < real / 20, "{found} instead of {real}");
        let round_trip = sender.round_trip_ns().unwrap();
        assert!(round_trip.abs_diff(200_000_000) < 20_000_000, "{round_trip} at {rate}");
    }
}

/// The port's rate, which a PTY names and does not keep to, is no limit where more was carried.
#[test]
fn a_port_rate_below_the_throughput_is_ignored() {
    let text =
        "protocol = \"kermit\"\nline = \"115200\"\nfile = { made = \"random\", bytes = 50_000 }\n";
    let sender = one_end(&run(text).1, "A");
    let told = |bps: u64| {
        let head = format!("0.000000000 run value rate_bps={bps}");
        let lines: Vec<String> = [head].into_iter().chain(sender.iter().cloned()).collect();
        account(&lines).millicps.expect("a rate")
    };
    assert!(told(9600) > 10_000_000, "{}", told(9600));
    let near = told(115_200);
    assert!((11_000_000..=12_000_000).contains(&near), "{near}");
}

#[test]
fn each_kind_of_retransmission_is_told_from_the_others() {
    let file = "[file]\nbytes = 60000\n";
    let (_, lines) =
        run(&format!("line = '9600,burst=8@5s,dir=fwd'\nprotocol = 'xmodem-crc'\n{file}"));
    let damaged = account(&lines);
    assert!(damaged.budget.permille(Part::Damage) > 50, "{damaged:?}");
    assert_eq!(damaged.budget.of(Part::GoBack), 0);
    // A stream that is hit goes back: on a long line much had followed.
    let (_, lines) =
        run(&format!("line = '9600,delay=500ms,burst=8@10s,dir=fwd'\nprotocol = 'zmodem'\n{file}"));
    let back = account(&lines);
    assert!(back.budget.permille(Part::GoBack) > 20, "{back:?}");
    assert!(back.budget.of(Part::Damage) > 0, "{back:?}");
    // Answers of one character are only missed, by a timeout.
    let (_, lines) =
        run(&format!("line = '9600,drop=0.02,dir=rev'\nprotocol = 'xmodem-crc'\n{file}"));
    let missed = account(&lines);
    assert!(missed.budget.permille(Part::Timeout) > 50, "{missed:?}");
    // With a window a packet that is lost shows by those behind it.
    let (_, lines) =
        run(&format!("line = '9600,ber=1e-5'\nprotocol = 'kermit'\n{file}[both]\nwindow = 31\n"));
    let lost = account(&lines);
    assert!(lost.budget.of(Part::Loss) + lost.budget.of(Part::Damage) > 0, "{lost:?}");
}

#[test]
fn turnarounds_of_a_half_duplex_line_are_counted() {
    let (outcome, lines) = run(
        "line = '9600,half=80ms'\nprotocol = 'kermit'\n[file]\nbytes = 10000\n[both]\nwindow = 1\n\
         send-length = 500\n",
    );
    assert!(outcome.is_done());
    let account = account(&lines);
    let turns: u64 = outcome.report.sides.iter().map(|side| side.usage.turnarounds).sum();
    let told = account.budget.of(Part::TurnAround);
    // Those of start-up and closing belong there.
    let fewer = (turns - 12) * 80_000_000;
    assert!((fewer..=turns * 80_000_000).contains(&told), "{told} in {turns} turns");
}

#[test]
fn a_busy_computer_is_told_from_a_long_line() {
    // 40 packets, and for each the receiver's machine reads 50 ms, and the sender's 50 for the
    // answer.
    let (outcome, lines) =
        run("line = '9600,delay=100ms'\nprotocol = 'xmodem-crc'\n[file]\nbytes = 5120\n[both]\n\
         pause = 0\nhost = 'read=50ms,gather=1@10ms'\n");
    assert!(outcome.is_done());
    let account = account(&lines);
    let think = account.budget.of(Part::ThinkTime);
    let wait = account.budget.of(Part::Acknowledgement);
    assert!((39 * 100_000_000..=40 * 150_000_000).contains(&think), "{think}: {account:?}");
    // What is always left of that read looks like a longer way.
    assert!((40 * 201_000_000..40 * 220_000_000).contains(&wait), "{wait}: {account:?}");
}

#[test]
fn a_receiver_that_cannot_keep_up_is_a_computer() {
    // It takes twice as long for a byte as the line does, and 64 KiB wait in front of it.
    let (outcome, lines) =
        run("line = '9600'\nprotocol = 'kermit'\n[file]\nbytes = 20000\n[receiver]\n\
         host = 'read=0ms+2ms,block=64'\n");
    let account = account(&lines);
    assert!(outcome.is_done());
    assert!(account.budget.permille(Part::ThinkTime) > 300, "{account:?}");
    assert!(account.bottleneck().starts_with("A computer"), "{}", account.bottleneck());
}

#[test]
fn a_modem_that_stops_the_host_is_flow_control() {
    // The terminal's side of a modem is four times as fast as the line behind it, which the
    // trace is told is no limit: what was ready did not go.
    let (outcome, lines) =
        run("line = 'modem:dte=57600,line=14400'\nprotocol = 'zmodem'\n[file]\nbytes = 60000\n");
    assert!(outcome.is_done());
    let whole = account(&lines);
    assert!(whole.budget.permille(Part::Payload) > 800, "{whole:?}");
    let of_a = one_end(&lines, "A");
    let fast = Account::read(of_a.iter().map(String::as_str), Some(5_760_000)).unwrap();
    assert!(fast.budget.permille(Part::FlowControl) > 500, "{fast:?}");
    assert!(fast.bottleneck().starts_with("Flow control"), "{}", fast.bottleneck());
}

#[test]
fn a_receiver_alone_sees_nearly_the_same() {
    let text = "line = '9600,delay=100ms'\nprotocol = 'kermit'\n[file]\nmade = 'random'\n\
                bytes = 40000\n[both]\nwindow = 1\nsend-length = 500\nprefixing = 'all'\n";
    let (_, lines) = run(text);
    let both = account(&lines);
    let receiver = Account::read(one_end(&lines, "B").iter().map(String::as_str), Some(960_000));
    let receiver = receiver.unwrap();
    assert_eq!(receiver.ends, Ends::Receiver);
    for part in [Part::Payload, Part::Encoding, Part::Framing, Part::Acknowledgement] {
        near(&receiver, part, both.budget.permille(part), 8);
    }
    assert!(receiver.bottleneck().contains("line") || receiver.bottleneck().contains("peer"));
}

#[test]
fn the_prediction_is_what_happens() {
    let cases = [
        (
            "line = '9600,delay=100ms'\nprotocol = 'kermit'\n[file]\nbytes = 60000\n[both]\n\
             window = 1\nsend-length = 94\nadapt-length = 'off'\n",
            "kermit.",
        ),
        // Packets with another MARK do not go in bundles, which need no prefixes.
        (
            "line = '2400'\nprotocol = 'kermit'\n[file]\nmade = 'random'\nbytes = 20000\n[both]\n\
             prefixing = 'all'\nmark = 2\n",
            "kermit.prefixing",
        ),
        (
            "line = '2400'\nprotocol = 'kermit'\n[file]\nmade = 'random'\nbytes = 20000\n[both]\n\
             prefixing = 'all'\n",
            "kermit.bundle",
        ),
        ("line = '9600,delay=300ms'\nprotocol = 'xmodem'\n[file]\nbytes = 20000\n", "protocol"),
        (
            "line = '9600,delay=500ms'\nprotocol = 'zmodem'\n[file]\nbytes = 40000\n[both]\n\
             window = 1024\n",
            "zmodem.window",
        ),
    ];
    for (text, setting) in cases {
        let (outcome, lines) = run(text);
        let advice = account(&lines).advise(&no_files).unwrap_or_else(|no| panic!("{no}"));
        assert_eq!(advice.before_ns, ns(&outcome));
        let (change, predicted) = advice.best.clone().unwrap_or_else(|| panic!("{advice:?}"));
        assert!(change.setting.starts_with(setting), "{change:?} of\n{text}");
        // A user takes the advice, in the scenario's own notation.
        let mut sets = Vec::new();
        let text = if change.setting == "protocol" {
            sets.push(format!("protocol={}", change.to));
            text.split("[both]").next().unwrap()
        } else {
            let key = change.setting.split_once('.').unwrap().1;
            let end = change.at.as_str();
            sets.push(format!("{end}.{key}={}", change.to));
            let also = change.also.and_then(|also| also.split_once('.'));
            sets.extend(also.map(|(_, key)| format!("{end}.{key}={}", change.to)));
            text
        };
        let scenario = Scenario::parse_with("test", text, &sets, &no_files).unwrap();
        let taken = scenario.run(&mut Recorder::off());
        assert!(taken.is_done());
        assert_eq!(ns(&taken), predicted, "{change:?}");
        assert!(advice.sentence().contains(&change.to), "{}", advice.sentence());
    }
}

#[test]
fn a_line_that_is_full_has_nothing_to_gain() {
    let (_, lines) = run("line = '2400'\nprotocol = 'zmodem'\n[file]\nmade = 'random'\n");
    let account = account(&lines);
    assert!(account.bottleneck().starts_with("The line is the limit"), "{account:?}");
    let advice = account.advise(&no_files).unwrap();
    let Some((change, after)) = advice.best else { return };
    // Only coding that shortens the file can still save anything.
    let coding = matches!(change.setting, "zmodem.rle" | "protocol" | "kermit.repeat");
    assert!(coding && after > advice.before_ns * 9 / 10, "{change:?}");
}

#[test]
fn the_page_fits_eighty_columns() {
    for seed in 0..40 {
        let (_, lines) = run(&by_chance(seed));
        let page = account(&lines).page();
        for line in page.lines() {
            assert!(line.chars().count() <= 80, "{line}");
            assert_eq!(line.trim_end(), line);
        }
        assert!(page.contains("Bottleneck: "), "{page}");
    }
}

#[test]
fn invalid_traces_are_reported_with_their_line() {
    let read = |text: &str| Account::read(text.lines(), None).map(|_| ()).unwrap_err().to_string();
    assert_eq!(read(""), "expected the trace of a transfer, got an empty file");
    let start = "0.000000000 A state from=start to=init";
    assert_eq!(read(start), "expected the trace of a transfer, got one without a packet");
    let bad = read(&format!("{start}\n\x1b]0;hello"));
    assert_eq!(
        bad,
        "line 2: expected a line of a trace, such as `1.250000000 A sent D n=3 len=94`, got \
         `\\u{1b}]0;hello`"
    );
}

/// A trace that was cut or mixed up is an account of something, or an error; never a panic.
#[test]
fn damaged_traces_do_no_harm() {
    let (_, lines) = run(&by_chance(7));
    let mut random = Random::stream(7, "explain", "damage");
    for _ in 0..300 {
        let mut lines = lines.clone();
        for _ in 0..=random.below(5) {
            let at = random.below(lines.len() as u64) as usize;
            match random.below(4) {
                0 => drop(lines.remove(at)),
                1 => lines.truncate(at + 1),
                2 => {
                    let other = random.below(lines.len() as u64) as usize;
                    lines.swap(at, other);
                }
                _ => {
                    let digit = char::from(b'0' + random.below(10) as u8);
                    lines[at] = lines[at].replace('3', &digit.to_string());
                }
            }
        }
        if let Ok(account) = Account::read(lines.iter().map(String::as_str), None) {
            assert_eq!(account.budget.total(), account.elapsed_ns);
        }
    }
}
