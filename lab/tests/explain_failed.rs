//! Failed transfers: what failed, why, and what to do, by protocol.

use wetstring_lab::Recorder;
use wetstring_lab::explain::{Account, Failed, Trouble, header};
use wetstring_lab::scenario::{Protocol, Scenario, no_files};
use wetstring_proto::trace::{Kind, RECORDS};

/// The trace of a run, and of one end of it.
fn traces(text: &str) -> [Vec<String>; 3] {
    let scenario = Scenario::parse("test", text, &no_files).unwrap_or_else(|bad| panic!("{bad}"));
    let mut recorder = Recorder::keep();
    assert!(!scenario.run(&mut recorder).is_done(), "expected a failure of\n{text}");
    let of = |who: &str, way: &str| {
        let head = ["way", "protocol"].into_iter().zip([way, scenario.protocol_name()]);
        let head = head.map(|(name, text)| format!("0.000000000 run text {name}={text}"));
        let own = recorder.lines().iter().filter(|line| line.split(' ').nth(1) == Some(who));
        head.chain(own.cloned()).collect::<Vec<_>>()
    };
    let mut both = header("test", text, &[], &scenario).unwrap();
    both.extend(recorder.lines().iter().cloned());
    [both, of("A", "send"), of("B", "receive")]
}

fn failed(trace: &[String]) -> Failed {
    let account = Account::read(trace.iter().map(String::as_str), None);
    let account = account.unwrap_or_else(|bad| panic!("{bad}"));
    assert!(account.page().contains("Failed: "), "{}", account.page());
    account.failed().expect("it failed")
}

const FILE: &str = "[file]\nmade = 'random'\nbytes = 20000\n";

#[test]
fn a_line_of_seven_bits_is_told_from_noise() {
    for protocol in ["xmodem-crc", "ymodem", "zmodem", "uucp-g"] {
        let text = format!("protocol = '{protocol}'\nline = '9600,7bit'\n{FILE}");
        let [both, sender, receiver] = traces(&text);
        for trace in [&both, &receiver] {
            let told = failed(trace);
            println!("{protocol}: {told:?}");
            let known = [Trouble::DataDamaged, Trouble::Unanswered];
            assert!(known.contains(&told.trouble), "{protocol}: {told:?}");
            assert!(!told.steps.is_empty(), "{told:?}");
        }
        assert!(!failed(&sender).steps.is_empty());
    }
}

#[test]
fn a_failure_of_a_run_is_replayed_until_it_ends_well() {
    let text = format!(
        "protocol = 'kermit'\nline = '9600,parity=even'\n{FILE}[both]\nparity = 'none'\n\
         retries = 3\n[limits]\ntime = 300\n"
    );
    let [both, ..] = traces(&text);
    println!("{:?}", failed(&both));
    // Noise that no long packet survives: shorter ones do.
    let text = format!(
        "protocol = 'kermit'\nline = '9600,ber=4e-4,dir=fwd'\n{FILE}[both]\nadapt-length = 'off'\n\
         send-length = 2000\nretries = 5\nwindow = 1\n"
    );
    let [both, sender, _] = traces(&text);
    for trace in [&both, &sender] {
        let told = failed(trace);
        let flags: Vec<_> =
            told.steps.iter().flat_map(wetstring_lab::explain::Step::flags).collect();
        assert!(flags.contains(&"--send-length".to_owned()), "{told:?}");
    }
    let account = Account::read(both.iter().map(String::as_str), None).unwrap();
    let advice = account.advise(&no_files).unwrap();
    let (change, ns) = advice.best.clone().expect("shorter packets get through");
    assert!(advice.fails && ns > 0, "{change:?}");
    assert!(advice.sentence().contains("ends well"), "{}", advice.sentence());
}

#[test]
fn characters_lost_in_front_of_a_computer_are_overruns() {
    let text = format!(
        "protocol = 'xmodem-crc'\nline = '57600,none,fifo=16,latency=10ms'\n{FILE}[both]\nretries = 3\n"
    );
    let [both, ..] = traces(&text);
    let failed = failed(&both);
    assert_eq!(failed.trouble, Trouble::Overrun, "{failed:?}");
    assert!(failed.steps[0].text.contains("flow control"), "{failed:?}");
}

#[test]
fn a_peer_that_never_answers_is_named() {
    let text = format!(
        "protocol = 'ymodem'\nline = '9600,drop=1,dir=rev'\n{FILE}[both]\npatience = 20\n[limits]\ntime = 300\n"
    );
    let [_, sender, _] = traces(&text);
    assert_eq!(failed(&sender).trouble, Trouble::Unanswered);
}

/// What is said of each kind of failure that an engine has.
#[test]
fn every_kind_of_failure_has_an_answer() {
    let kinds = RECORDS.iter().find(|record| record.word == "settled").expect("settled").keys;
    let of = |name: &str| {
        let key = kinds.iter().find(|key| key.name == name).expect("a key");
        match key.kind {
            Kind::Word(words) => words,
            _ => panic!("{name} is no word"),
        }
    };
    for way in ["send", "receive"] {
        let who = if way == "send" { "sender" } else { "receiver" };
        for kind in of("kind") {
            for blame in of("blame") {
                let trace = format!(
                    "0.000000000 run text way={way}\n0.000000000 run text protocol=zmodem\n\
                     1.000000000 {who} left total=30\n\
                     2.000000000 {who} settled outcome=failed blame={blame} kind={kind}"
                );
                let failed = failed(&trace.lines().map(str::to_owned).collect::<Vec<_>>());
                let known = failed.trouble != Trouble::Internal || *kind == "internal";
                assert!(known && !failed.steps.is_empty(), "{kind} {blame}: {failed:?}");
                assert!(failed.trouble != Trouble::Unfinished, "{kind}: {failed:?}");
            }
        }
    }
}

/// Every setting that is advised belongs to the protocol, and takes the value.
#[test]
fn steps_are_settings_of_the_protocol() {
    for protocol in Protocol::of_bytes() {
        for trouble in Trouble::ALL {
            for step in Failed::steps(trouble, protocol) {
                let other = step.protocol.map(Protocol::named);
                let of = other.unwrap_or(protocol);
                for (name, value) in &step.settings {
                    let set = of.config().set(name, value);
                    assert!(set.is_ok(), "{} {trouble:?}: {name} = {value}", of.name);
                }
            }
        }
    }
}
