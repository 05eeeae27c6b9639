//! SLIP in the laboratory: TCP over a line, interactive traffic, the composition of the bytes, the time budget.

use wetstring_lab::Recorder;
use wetstring_lab::explain::{Account, Part, header};
use wetstring_lab::net::Network;
use wetstring_lab::scenario::{Ending, Outcome, Scenario, named, no_files};
use wetstring_lab::trace::twice;

fn scenario(line: &str, more: &str) -> Scenario {
    let text = format!(
        "protocol = 'ftp'\nline = '{line}'\nfile = {{ made = 'pattern', bytes = 60000 }}\n{more}"
    );
    Scenario::parse("x.toml", &text, &no_files).unwrap_or_else(|bad| panic!("{bad}"))
}

fn run(line: &str, more: &str) -> Outcome {
    let outcome = scenario(line, more).run(&mut Recorder::off());
    assert_eq!(outcome.ending, Ending::Done, "{line}");
    outcome
}

fn refused(line: &str, more: &str) -> String {
    let text = format!("protocol = 'ftp'\nline = '{line}'\n{more}");
    match Scenario::parse("x.toml", &text, &no_files) {
        Ok(_) => panic!("expected a refusal of {line}"),
        Err(bad) => bad.to_string(),
    }
}

#[test]
fn words_are_read_and_written_and_wrong_ones_are_told() {
    for text in [
        "tcp:mss=256,window=4K over slip:vj,mtu=296 over pep:dte=19200,s120=12",
        "tcp:mss=256 over slip:eleven,mtu=296,fifo,slots=8,rate=9000 over 9600 then modem:line=9600",
        "udp over slip:plain,mtu=1006,queue=4096,rate=off over 9600,delay=30ms",
    ] {
        let network: Network = text.parse().unwrap_or_else(|bad| panic!("{text}: {bad}"));
        let written = network.to_string();
        assert_eq!(written.parse::<Network>().unwrap(), network, "{text}: {written}");
    }
    for (line, wanted) in [
        ("tcp:mss=256 over slip:vj", "expected a line such as 9600 or pep:dte=19200 after"),
        ("tcp:mss=256 over slip:vj over 96oo", "`96oo`"),
        ("tcp:mss=512 over slip:vj,mtu=296 over 9600", "an mss of at most 40 less than the mtu"),
        ("slip:vj over 9600", "expected tcp:, udp or ip over slip:"),
        ("tcp:mss=256 over slip:mtu=20 over 9600", "expected 68 to 1500 bytes"),
        ("tcp:mss=256 over slip:speed=3 over 9600", "expected one of plain, vj, eleven"),
        ("tcp:mss=256 over slip:vj,plain over 9600", "expected one of plain, vj and eleven"),
        ("tcp:mss=256 over slip:fifo,priority over 9600", "expected fifo or priority"),
        ("tcp:mss=256 over slip:eleven,slots=17 over 9600", "expected 3 to 16 with eleven"),
        ("tcp:mss=256 over slip:vj over path:10M", "carries bytes, got datagrams"),
    ] {
        let bad = refused(line, "");
        assert!(bad.starts_with("x.toml:2: line: ") && bad.contains(wanted), "{line}: {bad}");
    }
    let slip = "tcp:mss=256 over slip:vj over 9600";
    for (line, more, wanted) in [
        ("9600", "typing.every = '1s'", "typing: expected protocol = \"ftp\" over a line such as"),
        (slip, "typing.every = '1'", "expected every = a time from 10ms"),
        (slip, "typing.from = 'middle'", "expected from = \"sender\" or \"receiver\", got middle"),
        (slip, "typing.often = 3", "unknown field `often`"),
    ] {
        let bad = refused(line, more);
        assert!(bad.starts_with("x.toml:3: ") && bad.contains(wanted), "{more}: {bad}");
    }
}

/// What a segment of 256 bytes and an acknowledgement take of the line, escapes with it: the addresses of the
/// laboratory have a C0 each, which `plain` says every time, and of 256 bytes two are escaped.
#[test]
fn each_scheme_has_its_bytes() {
    for (words, around, ack) in
        [("plain", 44..=46, 44..=45), ("eleven", 11..=15, 11..=13), ("vj", 4..=7, 7..=8)]
    {
        let outcome = run(&format!("tcp:mss=256,window=4096 over slip:{words} over 9600"), "");
        let [out, back] = outcome.ledgers.unwrap();
        assert_eq!(out.data_bytes, 60_000, "{words}: nothing came twice");
        let each = out.head_bytes / 235;
        assert!(around.contains(&each), "{words}: {each} bytes around a segment");
        let each = back.ack_millibytes().unwrap() / 1000;
        assert!(ack.contains(&each), "{words}: {each} bytes for an acknowledgement");
        // Nothing but the line is in the way: its bytes are all the time.
        let seconds = out.line_bytes as f64 / 960.0;
        let off = outcome.elapsed.as_secs_f64() / seconds - 1.0;
        assert!((0.0..0.02).contains(&off), "{words}: {off}");
    }
}

#[test]
fn runs_are_deterministic_and_recover_from_noise() {
    let noisy =
        scenario("tcp:mss=256,window=4096 over slip:vj over 9600,ber=1e-4", "typing.every = '1s'");
    let (outcome, recorder) = twice(|recorder| noisy.run(recorder)).unwrap();
    assert_eq!(outcome.ending, Ending::Done, "every byte is compared");
    let [out, _] = outcome.ledgers.unwrap();
    let came = out.data_bytes + out.head_bytes + out.ack_bytes + out.typed_bytes + out.other_bytes;
    assert!(out.line_bytes > came + 2000, "some frames were lost: {out:?}");
    assert!(recorder.lines().iter().any(|line| line.contains("echo_ns")));
}

/// The bar that the real program is held to, in virtual time: the echo waits for the packet on the line and for
/// two small ones; without priority for everything; and the file hardly notices.
#[test]
fn interactive_traffic_is_prioritized() {
    let line = |queue: &str| format!("tcp:mss=256,window=4096 over slip:vj,{queue} over 9600");
    let more = "typing = { every = '1s' }";
    let alone = run(&line("priority"), "");
    for from in ["sender", "receiver"] {
        let more = format!("typing = {{ every = '1s', from = '{from}' }}");
        let [first, fifo] = ["priority", "fifo"].map(|queue| run(&line(queue), &more));
        let [echo, in_turn] = [&first, &fifo].map(|run| run.echoes.unwrap());
        assert!(echo.keys > 40 && echo.echoed + 2 >= echo.keys, "{from}: {echo:?}");
        // An MTU and its ENDs, and a key and its echo in frames of at most ten bytes.
        let packets = (298.0 + 20.0) / 960.0;
        let median = echo.median_ns as f64 / 1e9;
        assert!(median <= 1.3 * packets, "{from}: {median} s");
        assert!(in_turn.median_ns >= 4 * echo.median_ns, "{from}: {echo:?} {in_turn:?}");
        let slower = first.elapsed.as_secs_f64() / alone.elapsed.as_secs_f64();
        assert!(slower < 1.1, "{from}: the file loses {slower}");
    }
    // Another seed is another user.
    let other = scenario(&line("priority"), more).with_seed(2).run(&mut Recorder::off());
    assert_ne!(other.echoes, run(&line("priority"), more).echoes);
}

/// A modem that takes two thousand characters ahead takes them from the queue as well.
#[test]
fn a_modem_with_a_long_buffer_undoes_the_queue() {
    let median = |buffer: u32| {
        let line = format!(
            "tcp:mss=256,window=4096 over slip:vj over pep:dte=19200,most=1,gap=47ms,buffer={buffer}"
        );
        run(&line, "typing.every = '2s'").echoes.unwrap().median_ns
    };
    let [long, short] = [2048, 256].map(median);
    assert!(long > 2 * short, "{long} and {short} ns");
}

#[test]
fn engines_go_over_it_too() {
    for text in [
        "protocol = 'kermit'\nline = 'tcp:mss=256,window=4096 over slip:vj over 9600 then modem:line=14400,v42bis'",
        "protocol = 'netblt'\nline = 'udp over slip:vj,mtu=1006,queue=64K over 9600,delay=20ms'\nboth = { datagram = 900, burst = 1, interval = 1200 }",
    ] {
        let text = format!("{text}\nfile = {{ made = 'text', bytes = 20000 }}\n");
        let scenario =
            Scenario::parse("x.toml", &text, &no_files).unwrap_or_else(|bad| panic!("{bad}"));
        let outcome = scenario.run(&mut Recorder::off());
        assert_eq!(outcome.ending, Ending::Done, "{text}");
    }
}

fn account(line: &str, more: &str) -> (Account, Outcome) {
    let scenario = scenario(line, more);
    let mut recorder = Recorder::keep();
    let outcome = scenario.run(&mut recorder);
    let text = format!(
        "protocol = 'ftp'\nline = '{line}'\nfile = {{ made = 'pattern', bytes = 60000 }}\n{more}"
    );
    let head = header("x.toml", &text, &[], &scenario).unwrap();
    let lines = head.iter().chain(recorder.lines()).map(String::as_str);
    (Account::read(lines, None).unwrap_or_else(|bad| panic!("{bad}")), outcome)
}

#[test]
fn the_time_budget_follows_the_bytes() {
    let (account, outcome) = account(
        "tcp:mss=256,window=4096 over slip:eleven over pep:dte=19200,s120=12,most=1,gap=47ms",
        "typing.every = '2s'",
    );
    let elapsed = u64::try_from(outcome.elapsed.as_nanos()).unwrap();
    assert_eq!((account.elapsed_ns, account.budget.total()), (elapsed, elapsed));
    assert_eq!(account.file_bytes, 60_000);
    // 60,000 characters of 250 in 136 ms each.
    let payload = account.budget.of(Part::Payload) as f64 / 1e9;
    assert!((payload / (60_000.0 * 0.136 / 250.0) - 1.0).abs() < 0.01, "{payload}");
    // A turn of one packet needs two pauses of 47 ms.
    assert!(account.budget.permille(Part::TurnAround) > 300, "{:?}", account.budget);
    for part in [Part::Framing, Part::OtherSide, Part::Typing, Part::Unfilled] {
        assert!(account.budget.of(part) > 0, "{part:?}: {:?}", account.budget);
    }
    assert!(account.bottleneck().contains("half duplex"), "{}", account.bottleneck());
}

#[test]
fn advice_is_about_words_of_the_line() {
    let line = |headers: &str| {
        format!(
            "tcp:mss=256,window=4096 over slip:{headers} over pep:dte=19200,s120=12,most=1,gap=47ms"
        )
    };
    let (plain, _) = account(&line("plain"), "typing.every = '2s'");
    let advice = plain.advise(&no_files).unwrap();
    let (change, after) = advice.best.as_ref().expect("five bytes save something");
    assert_eq!((change.setting, change.to.as_str()), ("slip: headers", "vj"), "{advice:?}");
    assert!(*after < advice.before_ns);
    assert!(advice.trials.iter().any(|trial| trial.change.setting == "pep: s120"));
    // Interactive traffic would wait for longer segments, so they are tried only without it.
    let longest = |account: &Account| {
        let trials = account.advise(&no_files).unwrap().trials;
        let mss = trials.iter().filter(|trial| trial.change.setting.starts_with("tcp: mss"));
        mss.filter_map(|trial| trial.change.to.parse::<u32>().ok()).max()
    };
    let (alone, _) = account(&line("plain"), "");
    assert_eq!((longest(&plain), longest(&alone)), (Some(128), Some(966)));
}

#[test]
fn a_window_that_is_too_small_shows_as_waiting() {
    let line = "tcp:mss=256,window=256 over slip:vj over 9600,delay=200ms";
    let (account, _) = account(line, "");
    assert!(account.budget.permille(Part::Acknowledgement) > 400, "{:?}", account.budget);
    let advice = account.advise(&no_files).unwrap();
    let (change, _) = advice.best.as_ref().expect("a window helps");
    assert_eq!(change.setting, "tcp: window", "{}", advice.sentence());
}

#[test]
fn the_scenario_of_the_laboratory_runs() {
    let text = named("telebit").expect("a scenario of the laboratory");
    let scenario =
        Scenario::parse("telebit", text, &no_files).unwrap_or_else(|bad| panic!("{bad}"));
    let outcome = scenario.run(&mut Recorder::off());
    assert!(outcome.is_done() && outcome.echoes.is_some_and(|echoes| echoes.echoed > 20));
}
