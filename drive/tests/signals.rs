//! Real signals, sent to our own process: this test program, run again.
#![cfg(unix)]

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use wetstring_drive::Signals;
use wetstring_drive::terminal::Restore;
use wetstring_testkit::handle_terminal_signals;

const ROLE: &str = "WST_TEST_ROLE";

/// Runs one test of this program again, in a role.
fn again(test: &str, role: &str, stdin: Stdio) -> (Child, BufReader<std::process::ChildStderr>) {
    handle_terminal_signals();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--quiet"])
        .env(ROLE, role)
        .stdin(stdin)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    (child, said)
}

fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

fn wait_for(said: &mut impl BufRead, word: &str) {
    let mut line = String::new();
    while said.read_line(&mut line).unwrap() > 0 {
        if line.trim() == word {
            return;
        }
        line.clear();
    }
    panic!("{word} was not said");
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn the_second_signal_ends_hard_and_restores_the_terminal() {
    if role().is_some() {
        let signals = Signals::install().unwrap();
        let _raw = Restore::raw(rustix::stdio::stdin()).unwrap();
        eprintln!("raw");
        while signals.count() == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        eprintln!("noticed");
        // As a program that hangs.
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let both = wetstring_testkit::terminal().unwrap();
    let slave = both.open().unwrap();
    let echoes = || tcgetattr(&slave).unwrap().local_modes.contains(LocalModes::ECHO);
    assert!(echoes());
    let stdin = Stdio::from(slave.try_clone().unwrap());
    let test = "the_second_signal_ends_hard_and_restores_the_terminal";
    let (mut child, mut said) = again(test, "hang", stdin);
    wait_for(&mut said, "raw");
    assert!(!echoes());
    signal(&child, Signal::INT);
    wait_for(&mut said, "noticed");
    assert!(!echoes(), "the first signal leaves the line as it is");
    let start = Instant::now();
    signal(&child, Signal::INT);
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(echoes(), "the terminal came back");
}

#[test]
fn a_signal_limits_finish_to_one_second() {
    let usual = Duration::from_secs(2);
    let signals = Signals::detached().unwrap();
    assert_eq!((signals.since_first(), signals.patience(usual)), (None, usual));
    signals.raise(2);
    std::thread::sleep(Duration::from_millis(100));
    // The second does not begin the second again.
    signals.raise(2);
    assert!(signals.since_first().unwrap() >= Duration::from_millis(100));
    let left = signals.patience(usual);
    assert!(left <= Duration::from_millis(450) && !left.is_zero(), "{left:?}");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(signals.patience(usual), Duration::ZERO);
    signals.reset();
    assert_eq!(signals.patience(usual), usual);
}

#[test]
fn a_silent_source_does_not_delay_the_end() {
    use wetstring_drive::disk::{DiskStore, SendOptions, Source};
    use wetstring_proto::file::{Reply, Request, Store};
    let test = "a_silent_source_does_not_delay_the_end";
    if role().is_some() {
        Signals::install().unwrap();
        let mut store = DiskStore::sending(vec![Source::stdin(b"x")], SendOptions::default());
        assert!(matches!(store.answer(Request::Next), Reply::File(_)));
        let mut byte = [0];
        for _ in 0..2 {
            // The second one is due when the signal has already arrived.
            eprintln!("waits");
            let read = store.answer(Request::Read { offset: 0, into: &mut byte });
            assert!(matches!(read, Reply::Failed(_)), "{read:?}");
        }
        return;
    }
    let (mut child, mut said) = again(test, "wait", Stdio::piped());
    let _silent = child.stdin.take();
    wait_for(&mut said, "waits");
    std::thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    signal(&child, Signal::INT);
    let ended = std::iter::repeat_with(|| {
        std::thread::sleep(Duration::from_millis(10));
        child.try_wait().unwrap()
    });
    let status = ended.take(300).flatten().next();
    if status.is_none() {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(
        status.is_some_and(|status| status.success()),
        "{status:?} after {:?}",
        start.elapsed()
    );
}

#[test]
fn a_panic_restores_the_terminal() {
    let both = wetstring_testkit::terminal().unwrap();
    let slave = both.open().unwrap();
    let before = tcgetattr(&slave).unwrap();
    let inner = slave.try_clone().unwrap();
    let panicked = std::thread::spawn(move || {
        let _raw = Restore::raw(&inner).unwrap();
        assert!(!tcgetattr(&inner).unwrap().local_modes.contains(LocalModes::ICANON));
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(panicked.join().is_err());
    let after = tcgetattr(&slave).unwrap();
    assert_eq!(after.local_modes, before.local_modes);
    assert_eq!(after.input_modes, before.input_modes);
}

#[test]
fn signals_ignored_from_the_start_stay_ignored() {
    if role().is_some() {
        let signals = Signals::install().unwrap();
        eprintln!("ready");
        while signals.count() == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        eprintln!("got {}", signals.last().unwrap());
        return;
    }
    let test = "signals_ignored_from_the_start_stay_ignored";
    let mut child = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$0\" --exact \"$1\" --nocapture --quiet"])
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env(ROLE, "nohup")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    wait_for(&mut said, "ready");
    signal(&child, Signal::HUP);
    std::thread::sleep(Duration::from_millis(100));
    signal(&child, Signal::TERM);
    wait_for(&mut said, "got 15");
    let status = child.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(0), None));
}
