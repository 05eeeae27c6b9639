//! Two stages: `wst-mini` of `cargo xtask mini` goes to the shells of this machine, and Kermit follows.

use crate::shell_real::{ALWAYS, Host, SHELLS, lacking};
use std::path::Path;
use wetstring_drive::run::{NoWatch, Watch};
use wetstring_drive::shell::{Broken, Fast, Pace, PutOptions, Role, Stages, get, put};
use wetstring_proto::Engine;
use wetstring_proto::engine::Command;
use wetstring_proto::kermit::prefix::PrefixTable;
use wetstring_proto::kermit::{Config, Prefixing, Receiver, Sender};
use wetstring_proto::stats::Stats;
use wetstring_testkit::{File, Sink, Source, noise};

/// More than is measured with, and an odd number.
const LEN: usize = 300_001;

fn program(role: Role) -> Option<Vec<u8>> {
    let name = if role == Role::Receiver { "wst-mini" } else { "wst-mini-send" };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/mini/share");
    let program = std::fs::read(folder.join(std::env::consts::ARCH).join(name));
    if program.is_err() {
        lacking(&format!("{name}, by cargo xtask mini,"));
    }
    program.ok()
}

/// Our end, as the program makes it.
fn engine(role: Role, passes: bool) -> Result<Box<dyn Engine>, String> {
    let mut config = Config::default();
    if passes {
        config.prefixing = Prefixing::None;
        config.unprefixed = PrefixTable::NOTHING.with(0).with(255);
    }
    Ok(match role {
        Role::Receiver => {
            let memory = vec![0; config.sender_memory()];
            Box::new(Sender::new(config, memory).map_err(|bad| bad.to_string())?)
        }
        Role::Sender => {
            let memory = vec![0; config.receiver_memory()];
            Box::new(Receiver::new(config, memory).map_err(|bad| bad.to_string())?)
        }
    })
}

const TOOLS: [&str; 7] = ["base64", "head", "dd", "wc", "uname", "sha256sum", "stty"];

fn host(shell: &str) -> Option<Host> {
    let tools: Vec<&str> = TOOLS.into_iter().chain(ALWAYS).filter(|tool| *tool != "stty").collect();
    Host::new(shell, &[&tools[..], &["stty"]].concat())
}

/// Each byte is tried, or Kermit finds out; the line has a rate, or it is measured.
#[test]
fn files_go_up_and_down_and_nothing_is_left() {
    let (Some(receiver), Some(sender)) = (program(Role::Receiver), program(Role::Sender)) else {
        return;
    };
    let find = |role: Role, processor: &str| {
        assert_eq!(processor, std::env::consts::ARCH);
        Ok(if role == Role::Receiver { receiver.clone() } else { sender.clone() })
    };
    let note = |text: &str| panic!("{text}");
    let files = || vec![File::new("a.bin", &noise(1, LEN)), File::new("b.bin", &noise(2, LEN))];
    for shell in SHELLS {
        for (tries_bytes, rate_bps) in [(true, None), (true, Some(9600)), (false, Some(9600))] {
            let Some(host) = host(shell) else { return };
            let pace = Pace { rate_bps, ..Pace::default() };
            let case = format!("{shell}, {tries_bytes}, {rate_bps:?}");
            let mut fast = Fast::new(&find, &engine, &note);
            fast.stages = Stages::Two;
            fast.tries_bytes = tries_bytes;
            let (mut store, mut stats) = (Source::new(files()), Stats::default());
            let options = PutOptions { fast: Some(&fast), ..PutOptions::default() };
            let done = host
                .paced(pace, |talk| put(talk, &mut store, (&mut NoWatch, &mut stats), &options));
            assert_eq!(done, Ok(()), "{case}");
            assert_eq!(store.closed, [(true, true); 2], "{case}");
            // Most of it went by Kermit.
            assert!(stats.wire_out_bytes < 2 * LEN as u64 * 5 / 4 + 100_000, "{case}: {stats:?}");
            assert_eq!(stats.file_bytes, 2 * LEN as u64, "{case}");
            for file in files() {
                let name = std::str::from_utf8(&file.name).expect("a name");
                let came = std::fs::read(host.home().join(name)).expect("the file");
                assert!(came == file.bytes, "{case}");
            }
            let mut fast = Fast::new(&find, &engine, &note);
            fast.stages = Stages::Two;
            fast.tries_bytes = tries_bytes;
            let (mut store, mut stats) = (Sink::new(), Stats::default());
            let names = [b"a.bin".to_vec(), b"b.bin".to_vec()];
            let done = host.paced(pace, |talk| {
                get(talk, &mut store, (&mut NoWatch, &mut stats), &names, Some(&fast))
            });
            assert_eq!(done, Ok(()), "{case}");
            for (got, file) in store.files.iter().zip(files()) {
                assert!(got.complete && got.bytes == file.bytes, "{case}");
            }
            assert_eq!((host.names().len(), host.temporary()), (2, 0), "{case}");
        }
    }
}

/// At a line that seems slow it pays, and at a fast one the measured rate says that it does not.
#[test]
fn a_program_goes_first_if_that_is_faster() {
    let Some(receiver) = program(Role::Receiver) else { return };
    let asked = std::cell::Cell::new(0);
    let find = |_: Role, _: &str| {
        asked.set(asked.get() + 1);
        Ok(receiver.clone())
    };
    let note = |text: &str| panic!("{text}");
    for (rate_bps, expected) in [(Some(9600), 1), (None, 0)] {
        asked.set(0);
        let Some(host) = host(SHELLS[0]) else { return };
        let fast = Fast::new(&find, &engine, &note);
        let mut store = Source::new(vec![File::new("a.bin", &noise(3, LEN))]);
        let (mut stats, pace) = (Stats::default(), Pace { rate_bps, ..Pace::default() });
        let options = PutOptions { fast: Some(&fast), ..PutOptions::default() };
        let done =
            host.paced(pace, |talk| put(talk, &mut store, (&mut NoWatch, &mut stats), &options));
        assert_eq!((done, asked.get()), (Ok(()), expected), "{rate_bps:?}");
        let came = std::fs::read(host.home().join("a.bin")).expect("the file");
        assert!(came == noise(3, LEN), "{rate_bps:?}");
    }
}

/// A program that does not run there is no reason to fail.
#[test]
fn a_program_that_does_not_run_is_told_and_not_needed() {
    for shell in SHELLS {
        let Some(host) = host(shell) else { return };
        let find = |_: Role, _: &str| Ok(b"\x7fELF of another machine".repeat(100));
        let said = std::cell::RefCell::new(String::new());
        let note = |text: &str| said.borrow_mut().push_str(text);
        let fast = Fast::new(&find, &engine, &note);
        let mut store = Source::new(vec![File::new("a.bin", &noise(4, LEN))]);
        let mut stats = Stats::default();
        let pace = Pace { rate_bps: Some(9600), ..Pace::default() };
        let options = PutOptions { fast: Some(&fast), ..PutOptions::default() };
        let done =
            host.paced(pace, |talk| put(talk, &mut store, (&mut NoWatch, &mut stats), &options));
        assert_eq!(done, Ok(()), "{shell}");
        let said = said.borrow();
        assert!(said.starts_with("expected wst-mini to run on "), "{shell}: {said}");
        assert_eq!((host.names(), host.temporary()), (vec!["a.bin".to_owned()], 0), "{shell}");
    }
}

/// Wants no more once Kermit has some of the file through.
#[derive(Default)]
struct Impatient(bool);

impl Watch for Impatient {
    fn progress(&mut self, stats: &Stats) {
        self.0 |= stats.current_file_bytes > 100_000;
    }

    fn command(&mut self) -> Option<Command> {
        self.0.then_some(Command::Abort)
    }
}

/// Nothing of the file and of the program is left at a shell whose user has had enough, and it is at its prompt.
#[test]
fn an_abort_leaves_nothing() {
    let Some(receiver) = program(Role::Receiver) else { return };
    for shell in SHELLS {
        let Some(host) = host(shell) else { return };
        let find = |_: Role, _: &str| Ok(receiver.clone());
        let note = |text: &str| panic!("{text}");
        let mut fast = Fast::new(&find, &engine, &note);
        fast.stages = Stages::Two;
        let mut store = Source::new(vec![File::new("a.bin", &noise(5, 20_000_000))]);
        let mut stats = Stats::default();
        let options = PutOptions { fast: Some(&fast), ..PutOptions::default() };
        let done = host.paced(Pace::default(), |talk| {
            put(talk, &mut store, (&mut Impatient::default(), &mut stats), &options)
        });
        assert_eq!(done, Err(Broken::Interrupted(2)), "{shell}");
        assert_eq!((host.names().len(), host.temporary()), (0, 0), "{shell}");
    }
}
