//! What `wst explain` advises: by which comparison, at which ends, and with what to type.

use wetstring_lab::explain::{Account, Advice, At, Step, Trouble, header};
use wetstring_lab::scenario::{Scenario, no_files};
use wetstring_lab::{Recorder, recording};

/// C-Kermit sends to G-Kermit.
const CKERMIT: &[u8] = include_bytes!("recordings/ckermit-sends.strace");

fn account(lines: &[String]) -> Account {
    let lines = lines.iter().map(String::as_str);
    Account::read(lines, None).unwrap_or_else(|bad| panic!("{bad}"))
}

/// The trace of a run, as `wst lab run` writes it.
fn run(text: &str) -> Vec<String> {
    let scenario = Scenario::parse("test", text, &no_files).unwrap_or_else(|bad| panic!("{bad}"));
    let mut lines = header("test", text, &[], &scenario).unwrap();
    let mut recorder = Recorder::keep();
    let outcome = scenario.run(&mut recorder);
    assert!(outcome.is_done(), "{text}: {outcome:?}");
    lines.extend(recorder.lines().iter().cloned());
    lines
}

/// The sender's own trace of a run, with what it says of itself.
fn of_sender(text: &str, said: &[&str]) -> Account {
    let lines = run(text);
    let head = said.iter().map(|said| format!("0.000000000 run {said}"));
    let own = lines.iter().filter(|line| line.split(' ').nth(1) == Some("A")).cloned();
    account(&head.chain(own).collect::<Vec<_>>())
}

fn advice(account: &Account) -> Advice {
    account.advise(&no_files).unwrap_or_else(|no| panic!("{no}"))
}

fn tries(advice: &Advice, setting: &str) -> bool {
    advice.trials.iter().any(|trial| trial.change.setting == setting)
}

const OF_OURS: [&str; 4] =
    ["kermit.bundle", "kermit.correction", "kermit.compress", "kermit.difference"];

/// Times of replays are compared with times of replays: where what was measured is far from both, neither is claimed
/// to be saved.
#[test]
fn a_gain_is_that_of_one_replay_over_another() {
    let mut off = 0;
    for line in ["drop=1e-3", "burst=60@1s"] {
        for settings in ["", "bundle = 'off'\nwindow = 4"] {
            let text = format!(
                "line = '115200,{line}'\nprotocol = 'kermit'\n[file]\nmade = 'random'\n\
                 bytes = 16000\n[both]\n{settings}\n"
            );
            let sets = settings.replace(" = ", "=").replace('\'', "");
            let sets = sets.lines().map(|set| format!("text set=kermit.{set}"));
            let sets: Vec<String> = sets.collect();
            let mut said = vec!["text protocol=kermit", "value rate_bps=115200"];
            said.extend(sets.iter().map(String::as_str));
            let advice = advice(&of_sender(&text, &said));
            let Some((_, predicted)) = advice.best else { continue };
            let (with, range) = advice.changed_ns.expect("the replay of what is advised");
            let gain = |with: u64, without: u64| 1.0 - with as f64 / without as f64;
            let (claimed, replayed) =
                (gain(predicted, advice.before_ns), gain(with, advice.replayed_ns));
            assert!(replayed >= 0.03, "{text}: {replayed}: {}", advice.sentence());
            assert!(claimed <= replayed + 0.005, "{claimed} {replayed}: {}", advice.sentence());
            assert_eq!(range.is_some(), advice.range.is_some());
            let sentence = advice.sentence();
            let seconds = |ns: u64| {
                format!("{}.{:03} s", ns / 1_000_000_000, (ns + 500_000) / 1_000_000 % 1000)
            };
            if sentence.contains("Replayed without changes it takes") {
                off += 1;
                let says = format!("instead of {}, ", seconds(advice.replayed_ns));
                assert!(sentence.contains(&says), "{says}: {sentence}");
                assert!(sentence.contains(&seconds(advice.before_ns)), "{sentence}");
            }
            println!("{line} {settings:?}: {sentence}");
        }
    }
    assert!(off > 0, "no replay was unlike its transfer");
}

#[test]
fn what_only_ours_have_is_not_advised_to_others() {
    let lines = recording::trace(CKERMIT).unwrap().unwrap();
    let recorded = advice(&account(&lines));
    assert!(tries(&recorded, "kermit.window"));
    assert!(OF_OURS.iter().all(|setting| !tries(&recorded, setting)), "{recorded:?}");
    assert_eq!((recorded.is_recording, recorded.shrunk_ns), (true, None));
    assert_eq!(recorded.flags(), Vec::<String>::new());
    assert!(!recorded.sentence().contains("bundle"), "{}", recorded.sentence());
    // Our sender and a peer that refuses.
    let text = "line = '9600'\nprotocol = 'kermit'\n[receiver]\nbundle = 'off'\n";
    let said = ["text protocol=kermit", "value rate_bps=9600"];
    let refused = advice(&of_sender(text, &said));
    assert!(OF_OURS.iter().all(|setting| !tries(&refused, setting)), "{refused:?}");
    assert_eq!(refused.shrunk_ns, None);
    // Ours did not offer it: the peer may have it.
    let text = text.replace("receiver", "both");
    let offered = advice(&of_sender(&text, &[said[0], said[1], "text set=kermit.bundle=off"]));
    assert!(tries(&offered, "kermit.bundle"), "{offered:?}");
    assert!(!tries(&advice(&of_sender(&text, &said)), "kermit.bundle"));
}

const LATE: &str =
    "line = '9600,delay=250ms'\nprotocol = 'kermit'\n[file]\nmade = 'text'\nbytes = 20000\n";
const SAID: [&str; 3] =
    ["text protocol=kermit", "value rate_bps=9600", "text set=kermit.streaming=off"];

/// What is advised, and the sentence that says it.
fn best(advice: &Advice) -> (&'static str, At, Vec<String>, String) {
    let (change, _) = advice.best.clone().unwrap_or_else(|| panic!("{advice:?}"));
    (change.setting, change.at, advice.flags(), advice.sentence())
}

#[test]
fn where_one_end_is_enough_it_is_named_with_what_to_type() {
    // This end limits the window. What its peer would take is not seen.
    let text = format!("{LATE}[both]\nstreaming = 'off'\n[receiver]\nbundle = 'off'\n");
    let short = format!("{text}[sender]\nwindow = 1\n");
    let window = ["text set=kermit.window=1"];
    let ours = advice(&of_sender(&short, &[&SAID[..], &window].concat()));
    let (setting, at, flags, says) = best(&ours);
    assert_eq!((setting, at), ("kermit.window", At::Sender), "{says}");
    let to = &ours.best.as_ref().unwrap().0.to;
    assert_eq!(flags, ["--window", to]);
    assert!(says.contains(&format!(" = {to} at this end (--window {to}), instead of 1")), "{says}");
    assert!(says.contains("the peer must support it") && !says.contains("both ends"), "{says}");
    // The peer does.
    let peer = advice(&of_sender(&format!("{text}window = 1\n"), &SAID));
    let (setting, at, _, says) = best(&peer);
    assert_eq!((setting, at), ("kermit.window", At::Receiver), "{says}");
    assert!(says.contains(" at the peer (of wst: --window "), "{says}");
    // Ours could have offered bundles, and its peer may have them.
    let text = format!("{LATE}[both]\nbundle = 'off'\n");
    let set = ["text set=kermit.bundle=off"];
    let (setting, at, flags, says) = best(&advice(&of_sender(&text, &[&SAID[..2], &set].concat())));
    assert_eq!((setting, at), ("kermit.bundle", At::Sender), "{says}");
    assert_eq!(flags, ["--set", "kermit.bundle=on"]);
    // Compression as well; but the file was not there.
    assert!(says.contains("With kermit.compress = on and kermit.bundle = on it takes"), "{says}");
    // A run is changed by its scenario's keys; both ends limit it.
    let text = "line = '19200,parity=even,half=85ms'\nprotocol = 'kermit'\n[file]\ncorpus = 'russian'\n\
                [both]\nwindow = 1\nsend-length = 1920\nreceive-length = 1920\nparity = 'even'\n\
                prefixing = 'all'\nlocking-shift = 'on'\n";
    let (setting, at, flags, says) = best(&advice(&account(&run(text))));
    assert_eq!((setting, at, &*flags[0]), ("kermit.window", At::Both, "--set"), "{says}");
    assert!(
        flags[1].starts_with("both.window=") && says.contains(" at both ends (--set both.window="),
        "{says}"
    );
    // The prefixes are the sender's to choose.
    let text = "line = '2400'\nprotocol = 'kermit'\n[file]\nmade = 'random'\nbytes = 20000\n[both]\n\
                prefixing = 'all'\nmark = 2\n";
    let (setting, at, flags, says) = best(&advice(&account(&run(text))));
    assert_eq!((setting, at), ("kermit.prefixing", At::Sender), "{says}");
    assert!(
        flags[1].starts_with("sender.prefixing=") && says.contains(" at the sender "),
        "{says}"
    );
}

#[test]
fn a_packet_that_is_hit_often_is_hit_once() {
    let mut trace = "0.000000000 run text protocol=kermit\n0.000000000 run text way=send\n\
                     0.100000000 sender got Y n=0 len=40 at=41\n0.100000000 sender value bundle=1\n"
        .to_owned();
    let sent = |time: u32, n: u32, rest: &str| {
        format!(
            "{time}.000000000 sender sent D n={n} len=100 at={} data=90 file=80 parity=8{rest}\n",
            time * 100
        )
    };
    for n in 1..=3 {
        trace.push_str(&sent(n, n, ""));
    }
    for again in 1..=5 {
        trace.push_str(&sent(3 + again, 2, &format!(" old=80 again={again} why=nak")));
    }
    for (time, n) in [(20, 3), (21, 2)] {
        let at = time * 10;
        let got = format!("{time}.000000000 sender got Y n={n} len=8 at={at}\n");
        trace.push_str(&got);
        let mended = format!("{time}.000000000 sender value mended=1\n");
        trace.push_str(&mended);
    }
    trace.push_str("30.000000000 sender settled outcome=done\n30.000000000 sender stats file=240 encoded=240\n");
    let lines: Vec<String> = trace.lines().map(str::to_owned).collect();
    let acted = account(&lines).acted().join("\n");
    assert!(acted.contains("Error correction: 2 of 3 packets were hit"), "{acted}");
    assert!(acted.contains("mended 1 of them without asking again"), "{acted}");
}

#[test]
fn a_send_that_was_cancelled_without_an_answer_names_that() {
    let trace = "0.000000000 run text way=send\n0.000000000 run value rate_bps=115200\n\
                 0.000000000 run text protocol=kermit\n\
                 0.000088100 sender state from=start to=init input=Opened\n\
                 0.000088100 sender sent S n=0 len=41 at=0\n\
                 0.000088100 sender waiting for=answer\n0.000146226 sender left total=42\n\
                 1.362801584 sender timeout n=0 waiting_for=acknowledgement\n\
                 1.362801584 sender sent S n=0 len=41 at=42 again=1 why=timeout\n\
                 1.362872058 sender left total=84\n7.988821351 sender sent E n=1 len=37 at=84\n\
                 7.988821351 sender waiting for=nothing\n7.988879978 sender left total=122\n\
                 7.988821351 sender settled outcome=failed blame=local kind=aborted\n";
    let lines: Vec<String> = trace.lines().map(str::to_owned).collect();
    let silent = account(&lines);
    let failed = silent.failed().unwrap();
    assert_eq!(failed.trouble, Trouble::CancelledUnanswered);
    assert!(failed.why.contains("nothing usable came from the peer"), "{failed:?}");
    let steps: Vec<String> = failed.steps.iter().map(Step::sentence).collect();
    assert!(steps[0].starts_with("start the peer") && steps[1].contains("same rate"), "{steps:?}");
    assert_eq!(silent.bottleneck(), "The peer: for 100 % of the time nothing usable came from it.");
    assert!(silent.page().contains("100.0 %"), "{}", silent.page());
    // One answer, and it is another matter.
    let answered = trace.replace(
        "1.362801584 sender timeout",
        "1.000000000 sender got Y n=0 len=40 at=41\n1.362801584 sender timeout",
    );
    let lines: Vec<String> = answered.lines().map(str::to_owned).collect();
    assert_eq!(account(&lines).failed().unwrap().trouble, Trouble::CancelledHere);
}
