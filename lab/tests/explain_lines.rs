//! Accounts of transfers over lines that are not what they seem from one end or from a port: one
//! packet at a time, questions of a receiver, modems with error control, networks.

use wetstring_lab::explain::{Account, Part, RateSource, header};
use wetstring_lab::scenario::{Outcome, Scenario, no_files};
use wetstring_lab::{End, Recorder};

fn scenario(text: &str) -> Scenario {
    Scenario::parse("test", text, &no_files).unwrap_or_else(|bad| panic!("{bad}"))
}

/// Runs a scenario, with the trace that `wst lab run` writes of it.
fn run(text: &str) -> (Outcome, Vec<String>) {
    let scenario = scenario(text);
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

/// The sender's own trace, as `wst send` writes it: what the port says and what was set, and nothing
/// of the peer.
fn of_sender(lines: &[String], said: &[&str]) -> Account {
    let head = said.iter().map(|said| format!("0.000000000 run {said}"));
    let own = lines.iter().filter(|line| line.split(' ').nth(1) == Some("A")).cloned();
    account(&head.chain(own).collect::<Vec<_>>())
}

fn seconds(outcome: &Outcome) -> f64 {
    outcome.elapsed.as_secs_f64()
}

/// Stop-and-wait Kermit with packets of 94 over a line that is slower than its port.
fn stop_and_wait(window: u32) -> String {
    format!(
        "line = '9600,delay=250ms'\nprotocol = 'kermit'\n[file]\nbytes = 8000\n[both]\n\
         window = {window}\nsend-length = 94\nadapt-length = 'off'\nstreaming = 'off'\n"
    )
}

const SAID: [&str; 7] = [
    "text protocol=kermit",
    "value rate_bps=115200",
    "value reliable=0",
    "text set=kermit.window=1",
    "text set=kermit.send-length=94",
    "text set=kermit.adapt-length=off",
    "text set=kermit.streaming=off",
];

#[test]
fn one_packet_at_a_time_is_no_rate() {
    let (outcome, lines) = run(&stop_and_wait(1));
    let sender = of_sender(&lines, &SAID);
    assert_eq!(sender.rate_source, RateSource::Measured);
    let rate = sender.millicps.unwrap();
    assert!((860_000..1_060_000).contains(&rate), "{rate}, of 960000");
    let says = sender.bottleneck();
    assert!(says.starts_with("Waiting for acknowledgements"), "{says}");
    assert!(sender.budget.permille(Part::Acknowledgement) > 600, "{sender:?}");
    let advice = sender.advise(&no_files).unwrap();
    let trial = advice
        .trials
        .iter()
        .find(|trial| trial.change.setting == "kermit.window" && trial.change.to == "16");
    let predicted = trial.and_then(|trial| trial.elapsed_ns).unwrap() as f64 / 1e9;
    let taken = seconds(&run(&stop_and_wait(16)).0);
    assert!((predicted - taken).abs() < taken * 0.15, "{predicted} s, took {taken} s");
    assert!(taken < seconds(&outcome) / 3.0);
}

#[test]
fn unknown_line_properties_are_not_invented() {
    // All packets are about equally long, and the end was not seen.
    let text = stop_and_wait(1).replace("= 94", "= 31").replace("= 8000", "= 1000");
    let (_, mut lines) = run(&text);
    let over = lines.iter().position(|line| line.contains(" A sent Z")).unwrap();
    lines.truncate(over);
    let port = of_sender(&lines, &SAID);
    assert_eq!((port.rate_source, port.millicps), (RateSource::Port, Some(11_520_000)));
    assert!(port.page().contains("the rate of the line behind it was not seen"), "{}", port.page());
    let unknown = of_sender(&lines, &SAID[..1]);
    assert_eq!((unknown.rate_source, unknown.millicps), (RateSource::Unknown, None));
    assert!(unknown.page().contains("rate is not known"), "{}", unknown.page());
    for account in [&port, &unknown] {
        let says = account.bottleneck();
        assert!(says.starts_with("Waiting for acknowledgements"), "{says}");
        let advice = account.advise(&no_files).unwrap();
        assert!(advice.sentence().contains("The line's rate "), "{}", advice.sentence());
    }
}

#[test]
fn a_question_is_no_proof_of_noise() {
    // The answer takes longer than the receiver waits.
    let (outcome, lines) =
        run("line = '9600,delay=6s'\nprotocol = 'xmodem-crc'\n[file]\nbytes = 1500\n");
    let both = account(&lines);
    assert!(outcome.retransmissions() > 2, "{outcome:?}");
    assert_eq!((both.budget.of(Part::Damage), both.budget.of(Part::Asked)), (0, 0), "{both:?}");
    assert!(both.budget.of(Part::Timeout) > 0, "{both:?}");
    let sender = of_sender(&lines, &["value rate_bps=9600"]);
    assert_eq!(sender.budget.of(Part::Damage), 0, "{sender:?}");
    assert!(sender.budget.of(Part::Asked) > 0, "{sender:?}");
    // Where something did come damaged, both ends together tell it.
    let (_, lines) = run("line = '9600,burst=8@5s,dir=fwd'\nprotocol = 'xmodem-crc'\n");
    let noisy = account(&lines);
    assert!(noisy.budget.of(Part::Damage) > 0, "{noisy:?}");
    assert_eq!(noisy.budget.of(Part::Asked), 0, "{noisy:?}");
    assert!(of_sender(&lines, &[]).budget.of(Part::Asked) > 0);
}

#[test]
fn a_modem_with_error_control_carries_octets() {
    let limit = |words: &str| scenario(&format!("line = 'modem:{words}'")).limit_millicps();
    assert_eq!(limit("dte=57600,line=14400"), Some(1_440_000), "start-stop");
    // 128 of 134 octets at 1800 a second.
    assert_eq!(limit("dte=57600,line=14400,v42"), Some(1_719_402));
    assert_eq!(limit("dte=57600,line=14400,v42bis"), limit("dte=57600,line=14400,v42"));
    assert_eq!(limit("dte=9600,line=14400,v42"), Some(960_000), "the port is slower");
    for words in ["v42", "v42bis"] {
        let (outcome, lines) = run(&format!(
            "line = 'modem:dte=57600,line=14400,{words}'\nprotocol = 'zmodem'\n[file]\n\
             made = 'random'\nbytes = 100000\n"
        ));
        assert!(outcome.is_done());
        let share = outcome.efficiency(outcome.limit_millicps.unwrap());
        assert!((90_000..100_000).contains(&share), "{words}: {share}");
        let account = account(&lines);
        let payload = account.budget.permille(Part::Payload);
        assert!((900..1000).contains(&payload), "{words}: {account:?}");
    }
}

#[test]
fn a_modem_that_compresses_takes_no_more_time_than_it_does() {
    let (outcome, lines) =
        run("line = 'modem:dte=57600,line=14400,v42bis'\nprotocol = 'zmodem'\n[file]\n\
         made = 'text'\nbytes = 100000\n");
    assert!(outcome.is_done());
    assert!(outcome.efficiency(1_440_000) > 150_000, "it compresses: {outcome:?}");
    let account = account(&lines);
    assert!(account.budget.permille(Part::Payload) > 900, "{account:?}");
    // At the line's rate without compression its packets would still be on the line at the end.
    let closing = account.budget.of(Part::Closing);
    assert!((10_000_000..1_000_000_000).contains(&closing), "{account:?}");
}

#[test]
fn the_time_of_a_network_is_its_own() {
    let tcp = "tcp:mss=1460 over ethernet:10M";
    // 1460 of 1538 octets at 1250000 a second.
    assert_eq!(scenario(&format!("line = '{tcp}'")).limit_millicps(), Some(1_186_605_981));
    let path = "tcp:mss=1460,window=8K over path:1M,delay=100ms";
    assert_eq!(scenario(&format!("line = '{path}'")).limit_millicps(), Some(121_666_666));
    for line in [tcp, path] {
        for protocol in ["kermit", "zmodem", "xmodem-1k"] {
            let (outcome, lines) = run(&format!(
                "line = '{line}'\nprotocol = '{protocol}'\n[file]\nmade = 'random'\n\
                 bytes = 200000\n"
            ));
            assert!(outcome.is_done());
            let account = account(&lines);
            let limit = outcome.limit_millicps.unwrap();
            let ns = u128::from(200_000_u64) * 1_000_000_000_000 / u128::from(limit);
            let payload = u128::from(account.budget.of(Part::Payload));
            assert!(payload.abs_diff(ns) < ns / 50, "{line} {protocol}: {ns} {account:?}");
            assert_eq!(account.budget.of(Part::FlowControl), 0, "{line} {protocol}: {account:?}");
        }
    }
    // ZMODEM waits for no answer, but TCP's window is an eighth of what the path holds.
    let (_, lines) =
        run(&format!("line = '{path}'\nprotocol = 'zmodem'\n[file]\nbytes = 200000\n"));
    let says = account(&lines).bottleneck();
    assert!(says.starts_with("TCP's window is too small: 8192 bytes"), "{says}");
    // XMODEM does wait.
    let (_, lines) = run(&format!(
        "line = '{path}'\nprotocol = 'xmodem-1k'\n[file]\nbytes = 40000\n[both]\npause = 0\n"
    ));
    let says = account(&lines).bottleneck();
    assert!(says.starts_with("Waiting for acknowledgements"), "{says}");
}

#[test]
fn a_comparator_has_nothing_to_account_for_and_says_so() {
    let (outcome, lines) = run("line = 'tcp:mss=1460 over ethernet:10M'\nprotocol = 'ftp'\n");
    assert!(outcome.is_done());
    let bad = Account::read(lines.iter().map(String::as_str), None).unwrap_err().to_string();
    assert!(bad.starts_with("ftp is a comparator"), "{bad}");
}

#[test]
fn parts_of_one_cause_are_one_bottleneck() {
    // A short file over a long line: all of it is the delay.
    let (_, lines) = run(
        "line = '9600,delay=400ms'\nprotocol = 'kermit'\n[file]\nbytes = 300\n[both]\nwindow = 1\n\
         send-length = 94\nstreaming = 'off'\n",
    );
    let short = account(&lines);
    let (cause, ns) = short.budget.largest_cost().unwrap();
    assert_eq!(cause, Part::Acknowledgement);
    let wait = |part| short.budget.answer_wait(part);
    let sum = [Part::Acknowledgement, Part::StartUp, Part::Closing]
        .map(|part| if part == Part::Acknowledgement { short.budget.of(part) } else { wait(part) });
    assert_eq!(sum.iter().sum::<u64>(), ns);
    assert!(sum.iter().all(|part| *part > 400_000_000), "{sum:?}");
    assert!(wait(Part::StartUp) <= short.budget.of(Part::StartUp));
    let says = short.bottleneck();
    assert!(says.contains("between data") && says.contains("before it"), "{says}");
    assert!(!says.contains("most of the time"), "{says}");
}

#[test]
fn the_advice_names_what_is_in_force() {
    let (_, lines) = run(
        "line = '9600,delay=300ms'\nprotocol = 'kermit'\n[file]\nbytes = 20000\n[both]\nwindow = 1\n\
         adapt-length = 'off'\nstreaming = 'off'\n[receiver]\nreceive-length = 94\n",
    );
    let advice = account(&lines).advise(&no_files).unwrap();
    let lengths: Vec<_> = advice
        .trials
        .iter()
        .map(|trial| &trial.change)
        .filter(|change| change.setting.ends_with("length") && !change.setting.contains("adapt"))
        .collect();
    assert!(!lengths.is_empty());
    for change in lengths {
        assert_eq!((change.setting, change.from.as_str()), ("kermit.receive-length", "94"));
        assert_eq!(change.also, None, "the sender would send more");
    }
    // Where both are in the way, both are named.
    let (_, lines) = run(
        "line = '9600,delay=300ms'\nprotocol = 'kermit'\n[file]\nbytes = 5000\n[both]\nwindow = 1\n\
         adapt-length = 'off'\nstreaming = 'off'\nsend-length = 90\nreceive-length = 94\n",
    );
    let advice = account(&lines).advise(&no_files).unwrap();
    let trial = advice.trials.iter().find(|trial| trial.change.to == "4000").unwrap();
    assert_eq!(trial.change.setting, "kermit.send-length");
    assert_eq!(trial.change.also, Some("kermit.receive-length"));
}

#[test]
fn a_run_that_fails_counts_what_arrived() {
    let text =
        "line = '9600'\nprotocol = 'xmodem-crc'\n[file]\nbytes = 20000\n[limits]\ntime = 5\n";
    let (outcome, _) = run(text);
    assert!(!outcome.is_done());
    assert!((1000..4800).contains(&outcome.bytes), "{}", outcome.bytes);
    assert_eq!(outcome.bytes, outcome.report.sides[End::B.index()].written);
    assert!(outcome.millicps() < 960_000, "faster than the line: {}", outcome.millicps());
}

#[test]
fn retransmitted_bytes_count_once() {
    let text = |faults: &str| {
        format!("line = '9600{faults}'\nprotocol = 'xmodem-crc'\n[file]\nbytes = 20000\n")
    };
    let (clean, _) = run(&text(""));
    let (noisy, _) = run(&text(",burst=8@2s,dir=fwd"));
    assert!(noisy.is_done() && noisy.retransmissions() > 5);
    let carried = |outcome: &Outcome| outcome.line_bps() as f64 * seconds(outcome);
    let (once, twice) = (carried(&clean), carried(&noisy));
    assert!((once - twice).abs() < once / 100.0, "{once} bits and {twice}");
}
