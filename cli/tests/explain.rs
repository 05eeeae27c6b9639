//! `wst explain` and `--explain`: of traces, of real transfers over a line in real time, and
//! whether a prediction comes true when it is tried.

use crate::common;

use common::{Desk, LIMIT, Ran, Running, run, wst};
use rustix::process::Signal;
use serde_json::Value;

/// The line of the live tests: slow and long enough to be known through the noise of a busy machine.
const LINE: &str = "19200,delay=100ms,port=115200";
/// Percent by which a prediction for a live transfer may be wrong. The rate is estimated to about
/// five, and the machine that runs the tests does other things too.
const TOLERANCE: f64 = 15.0;

/// The last `explained` event.
fn explained(ran: &Ran) -> Value {
    let found = ran.events().into_iter().rfind(|event| event["event"] == "explained");
    found.unwrap_or_else(|| panic!("no explanation in\n{}\n{}", ran.stdout, ran.stderr))
}

fn seconds(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("expected a number, got {value}"))
}

fn ns_of(account: &Value, part: &str) -> u64 {
    let parts = account["parts"].as_array().expect("parts");
    let found = parts.iter().find(|known| known["part"] == part);
    found.and_then(|part| part["ns"].as_u64()).unwrap_or_else(|| panic!("there is no {part}"))
}

/// Asserts that the parts add up to the time.
fn adds_up(account: &Value) {
    let parts = account["parts"].as_array().expect("parts");
    let sum: u64 = parts.iter().filter_map(|part| part["ns"].as_u64()).sum();
    assert_eq!(Some(sum), account["elapsed_ns"].as_u64(), "{account}");
}

/// Whether something was sent again: on this line, which loses nothing, because the machine was too busy
/// for a timer.
fn disturbed(account: &Value) -> bool {
    let parts = account["parts"].as_array().expect("parts");
    let again = |part: &Value| part["part"].as_str().is_some_and(|name| name.contains("again"));
    parts.iter().any(|part| again(part) && part["ns"].as_u64() > Some(0))
}

/// A transfer over the line, with these flags at both ends. Gives what each end explains. One that the
/// machine disturbed is made again.
fn live(len: usize, flags: &[&str]) -> (Value, Value) {
    for _ in 0..3 {
        let (sender, receiver) = live_once(len, flags);
        if !disturbed(&sender) && !disturbed(&receiver) {
            return (sender, receiver);
        }
        println!("something was sent again: {sender}");
    }
    live_once(len, flags)
}

fn live_once(len: usize, flags: &[&str]) -> (Value, Value) {
    let desk = Desk::new(len);
    let (a, b) = (desk.path("a"), desk.path("b"));
    let ends = [format!("pty:{a}"), format!("pty:{b}")];
    let line = Running::start(wst(["line", LINE, "-a", &ends[0], "-b", &ends[1]]));
    line.says("line ");
    let (a, b) = (format!("serial:{a}"), format!("serial:{b}"));
    let (inbox, data) = (desk.path("in"), desk.path("data.bin"));
    let mut receive = vec!["receive", &b, "-o", &inbox, "--json", "--explain"];
    receive.extend(flags);
    let receiver = Running::start(wst(receive));
    let mut send = vec!["send", &data, &a, "--json", "--explain"];
    send.extend(flags);
    let sender = run(wst(send));
    let receiver = receiver.end();
    line.signal(Signal::INT);
    line.end();
    sender.expect(0);
    receiver.expect(0);
    desk.arrived();
    (explained(&sender), explained(&receiver))
}

/// The prediction for one change.
fn predicted(account: &Value, setting: &str, to: &str) -> f64 {
    let trials = account["advice"]["trials"].as_array();
    let trials = trials.unwrap_or_else(|| panic!("no advice: {}", account["no_advice"]));
    let found = trials.iter().find(|trial| trial["setting"] == setting && trial["to"] == to);
    seconds(&found.unwrap_or_else(|| panic!("{setting} = {to} was not tried"))["predicted_s"])
}

fn comes_true(predicted: f64, account: &Value) {
    let real = seconds(&account["elapsed_s"]);
    let off = (predicted - real).abs() * 100.0 / real;
    println!("predicted {predicted:.3} s, took {real:.3} s: off by {off:.1} %");
    assert!(off <= TOLERANCE, "predicted {predicted:.3} s, took {real:.3} s");
}

#[test]
fn predictions_for_live_transfers_are_accurate() {
    let _turn = crate::turn();
    let len = 9000;
    // Packets grow to this length: the first are short, and so the rate is seen.
    let slow = ["-P", "kermit", "--window", "1", "--length", "500"];
    let (sender, receiver) = live(len, &slow);
    adds_up(&sender);
    adds_up(&receiver);
    assert_eq!((&sender["ends"], &receiver["ends"]), (&"sender".into(), &"receiver".into()));
    // The port says 115200 bit/s; what lies behind it is found to be slower.
    let rate = seconds(&sender["line_bytes_per_s"]);
    assert!((1700.0..2150.0).contains(&rate), "{rate} bytes/s");
    let round_trip = seconds(&sender["round_trip_s"]);
    assert!((0.19..0.25).contains(&round_trip), "{round_trip} s");
    let waits = ns_of(&sender, "acknowledgement") as f64 / 1e9;
    assert!(waits > 0.4 * seconds(&sender["elapsed_s"]), "{waits} s");
    let says = sender["bottleneck"].as_str().expect("a sentence");
    assert!(says.contains("cannot be seen from one end"), "{says}");

    let window = predicted(&sender, "kermit.window", "31");
    let (faster, _) = live(len, &["-P", "kermit", "--window", "31", "--length", "500"]);
    comes_true(window, &faster);
    assert!(seconds(&faster["elapsed_s"]) < seconds(&sender["elapsed_s"]) * 0.8);

    let protocol = predicted(&sender, "protocol", "zmodem");
    let (other, _) = live(len, &["-P", "zmodem"]);
    comes_true(protocol, &other);
}

#[test]
fn stop_and_wait_does_not_measure_the_line_rate() {
    let _turn = crate::turn();
    let len = 3000;
    let flags = ["-P", "kermit", "--streaming", "off", "--send-length", "94"];
    let with = |window| [&flags[..], &["--window", window]].concat();
    let (sender, _) = live(len, &with("1"));
    adds_up(&sender);
    // The line carries 1920 bytes a second; a packet by its round trip is 330.
    if sender["line_rate"] == "measured" {
        let rate = seconds(&sender["line_bytes_per_s"]);
        assert!((1300.0..2900.0).contains(&rate), "{rate} bytes/s");
    } else {
        assert_eq!(sender["line_rate"], "port", "{sender}");
    }
    let says = sender["bottleneck"].as_str().expect("a sentence");
    assert!(says.starts_with("Waiting for acknowledgements"), "{says}");
    let four = predicted(&sender, "kermit.window", "4");
    comes_true(four, &live(len, &with("4")).0);
}

const SCENARIO: &str = "line = '9600,delay=150ms'\nprotocol = 'kermit'\n[file]\nbytes = 40000\n\
                        [both]\nwindow = 1\nsend-length = 500\n";

#[test]
fn a_laboratory_run_is_explained_live_and_from_its_trace() {
    let _turn = crate::turn();
    let desk = Desk::new(1);
    let (scenario, trace) = (desk.path("s.toml"), desk.path("s.trace"));
    std::fs::write(&scenario, SCENARIO).expect("the scenario");
    let ran = run(wst(["lab", "run", &scenario, "--explain", "--trace", &trace, "--json"]));
    ran.expect(0);
    let at_once = explained(&ran);
    adds_up(&at_once);
    let later = run(wst(["explain", &trace, "--json"]));
    assert_eq!(explained(later.expect(0)), at_once);
    // Taken, the advice is exactly what happens.
    let best = &at_once["advice"]["best"];
    let flags = best["flags"].as_array().expect("what to type");
    let mut args: Vec<String> = ["lab", "run", &scenario, "--json"].map(str::to_owned).into();
    args.extend(flags.iter().map(|flag| flag.as_str().expect("a flag").to_owned()));
    let taken = run(wst(&args));
    let result = taken.expect(0).events().into_iter().find(|event| event["event"] == "result");
    assert_eq!(result.expect("a result")["elapsed_s"], best["predicted_s"]);

    let page = run(wst(["explain", &trace]));
    page.expect(0);
    assert!(page.stdout.lines().all(|line| line.chars().count() <= 80), "{}", page.stdout);
    for word in
        ["waiting for acknowledgement", "Bottleneck: Waiting", "What helps: kermit.", "(--set "]
    {
        assert!(page.stdout.contains(word), "{word} in\n{}", page.stdout);
    }
    let short = run(wst(["explain", &trace, "--no-replay"]));
    assert!(!short.expect(0).stdout.contains("What helps"), "{}", short.stdout);
    // A trace of one end, with the rate that a user knows.
    let lines = std::fs::read_to_string(&trace).expect("the trace");
    let of_a = |line: &&str| line.split(' ').nth(1) == Some("A");
    let half = lines.lines().filter(of_a).collect::<Vec<_>>().join("\n");
    std::fs::write(&trace, half).expect("the trace");
    let half = explained(run(wst(["explain", &trace, "--rate", "9600", "--json"])).expect(0));
    adds_up(&half);
    assert_eq!((&half["ends"], &half["line_rate"]), (&"sender".into(), &"given".into()));
    assert!(half["no_advice"].as_str().is_some_and(|why| why.contains("protocol")), "{half}");
}

#[test]
fn what_it_takes_is_said() {
    let desk = Desk::new(1);
    let trace = desk.path("t.trace");
    let said = "0.000000000 run text protocol=kermit\n0.100000000 A sent S n=0 len=20 at=0\n\
                0.200000000 A left total=21\n1.000000000 A settled outcome=done\n";
    std::fs::write(&trace, said).expect("the trace");
    for (rate, bytes_per_s) in [("115200", 11_520.0), ("64k", 6400.0), ("200M", 20_000_000.0)] {
        let ran = run(wst(["explain", &trace, "--rate", rate, "--json"]));
        let account = explained(ran.expect(0));
        assert!((seconds(&account["line_bytes_per_s"]) - bytes_per_s).abs() < 1.0, "{account}");
    }
    for rate in ["fast", "0", "-1", "12x"] {
        let ran = run(wst(["explain", &trace, &format!("--rate={rate}")]));
        let says = &ran.expect(2).stderr;
        assert!(says.contains("expected a rate in bit/s, such as 115200, 64k or 200M"), "{says}");
    }
    let ran = run(wst(["explain", &trace, "--anonymise", "shared.trace"]));
    let says = &ran.expect(2).stderr;
    assert!(says.contains("got shared.trace, too: --anonymise writes to stdout"), "{says}");
    let ran = run(wst(["explain", &trace, "other.trace"]));
    assert!(ran.expect(2).stderr.contains("expected one trace, got other.trace, too"));
    let help = run(wst(["explain", "--help"]));
    assert!(help.stdout.contains("wst explain --anonymise TRACE > FILE"), "{}", help.stdout);
}

#[test]
fn a_failed_run_reports_received_and_lost_bytes() {
    let _turn = crate::turn();
    let desk = Desk::new(1);
    let path = desk.path("s.toml");
    let text = "line = '9600,burst=200@5s,dir=fwd'\nprotocol = 'xmodem-crc'\n[file]\n\
                bytes = 20000\n[both]\nretries = 1\n";
    std::fs::write(&path, text).expect("the scenario");
    let ran = run(wst(["lab", "run", &path]));
    assert!(!ran.status.success(), "{}", ran.stdout);
    assert!(ran.stdout.contains(" of 20000 bytes arrived and were stored in "), "{}", ran.stdout);
    assert!(!ran.stdout.contains("\n20000 bytes in"), "{}", ran.stdout);
    let ran = run(wst(["lab", "run", &path, "--json"]));
    let result = ran.events().into_iter().find(|event| event["event"] == "result").expect("result");
    let (bytes, lost) = (result["bytes"].as_u64(), result["lost_bytes"].as_u64());
    assert_eq!(bytes.zip(lost).map(|(bytes, lost)| bytes + lost), Some(20_000), "{result}");
    assert!(lost > Some(0) && seconds(&result["cps"]) < 960.0, "{result}");
}

#[test]
fn comparators_are_not_explained() {
    let _turn = crate::turn();
    let desk = Desk::new(1);
    let path = desk.path("s.toml");
    std::fs::write(&path, "line = 'tcp: over ethernet:10M'\nprotocol = 'ftp'\n").expect("a file");
    let ran = run(wst(["lab", "run", &path, "--explain"]));
    let said = &ran.expect(0).stderr;
    assert!(said.contains("nothing to explain: ftp is a comparator"), "{said}");
    let ran = run(wst(["lab", "run", &path, "--explain", "--json"]));
    let none = explained(ran.expect(0))["no_account"].to_string();
    assert!(none.contains("ftp is a comparator"), "{none}");
}

/// A trace may come from others, and name what a terminal acts on.
#[test]
fn what_a_trace_names_is_shown_so_that_no_terminal_acts_on_it() {
    let _turn = crate::turn();
    let desk = Desk::new(3000);
    let (data, trace) = (desk.path("data.bin"), desk.path("trace"));
    let line = format!("exec:{} receive - -o {}", common::WST, desk.path("in"));
    run(wst(["send", "--trace", &trace, &data, &line])).expect(0);
    let text = std::fs::read_to_string(&trace).expect("a trace");
    let odd = text.replace("text protocol=kermit", "text protocol=x\u{9b}2J\u{202e}");
    assert_ne!(odd, text);
    std::fs::write(&trace, odd).expect("a trace");
    let ran = run(wst(["explain", &trace]));
    let said = ran.expect(0).stdout.as_str();
    assert!(said.contains("x\\u{9b}2J\\u{202e}"), "{said}");
    assert!(!said.contains(['\u{9b}', '\u{202e}']), "{said}");
}

#[test]
fn invalid_traces_are_rejected() {
    let _turn = crate::turn();
    let desk = Desk::new(2000);
    let data = desk.path("data.bin");
    let ran = run(wst(["explain", &data]));
    let said = &ran.expect(2).stderr;
    let start = format!("wst: {data}: line 1: expected a line of a trace, such as `");
    assert!(said.starts_with(&start) && !said.contains('\u{1b}'), "{said}");
    let ran = run(wst(["explain", "/dev/null", "--json"]));
    let end = ran.expect(2).events().pop().expect("the end");
    let message = "/dev/null: expected the trace of a transfer, got an empty file";
    assert_eq!((&end["event"], &end["message"]), (&"end".into(), &message.into()));
    let ran = run(wst(["explain", &desk.path("nothing")]));
    assert!(ran.expect(5).stderr.contains("could not read"), "{}", ran.stderr);
    run(wst(["explain", &data, "--rate", "0"])).expect(2);
    assert!(ran.elapsed < LIMIT);
}
