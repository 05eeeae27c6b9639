//! A peer other than the one that was meant is named, with the flag that speaks
//! to it: every sender and receiver of ours against every wrong kind of the programs that people have,
//! and against our own.
//!
//! It takes half a minute, all of it waiting: G-Kermit's receiver says nothing for some seconds, and
//! senders of XMODEM and YMODEM nothing at all until they are asked.

use crate::common;
use crate::peers;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use common::{Running, WST, wst};
use peers::peer;
use rustix::process::{Pid, Signal, getpgid, getpgrp, kill_process, kill_process_group};

/// How long it may take until it is said who the peer is. The issue says 10 s, and
/// `drive/tests/lookout.rs` has that in virtual time; here the machine may be busy.
const NAMED: Duration = Duration::from_secs(25);

const PROTOCOLS: [&str; 4] = ["kermit", "xmodem", "ymodem", "zmodem"];

/// A program at the peer: its protocol, whether it sends, and its command.
struct Other {
    protocol: &'static str,
    sends: bool,
    command: String,
    /// One of ours, which finds out who we are as we do, and leaves when it has.
    ours: bool,
}

fn others() -> Vec<Other> {
    let mut others = Vec::new();
    let mut add = |package, program, protocol, sends, command: &str| {
        if peer(program, package).is_some() {
            others.push(Other { protocol, sends, command: command.to_owned(), ours: false });
        }
    };
    add("lrzsz", "sz", "zmodem", true, "sz f.bin");
    add("lrzsz", "rz", "zmodem", false, "rz");
    add("lrzsz", "sb", "ymodem", true, "sb f.bin");
    add("lrzsz", "rb", "ymodem", false, "rb");
    add("lrzsz", "sx", "xmodem", true, "sx f.bin");
    add("lrzsz", "rx", "xmodem", false, "rx new.bin");
    add("lrzsz", "rx", "xmodem", false, "rx -c new.bin");
    add("ckermit", "kermit", "kermit", true, "kermit -Y + send.ksc");
    add("ckermit", "kermit", "kermit", false, "kermit -Y + receive.ksc");
    add("gkermit", "gkermit", "kermit", true, "gkermit -s f.bin");
    add("gkermit", "gkermit", "kermit", false, "gkermit -r");
    for protocol in PROTOCOLS {
        let name = if protocol == "xmodem" { " --as new.bin" } else { "" };
        for (sends, words) in [(true, "send f.bin -"), (false, "receive -")] {
            let name = if sends { "" } else { name };
            let command = format!("{WST} {words} -P {protocol}{name}");
            others.push(Other { protocol, sends, command, ours: true });
        }
    }
    others
}

/// A directory for both ends of one case.
fn prepare(dir: &Path) {
    std::fs::create_dir_all(dir.join("there")).expect("directories");
    for place in [dir, &dir.join("there")] {
        std::fs::write(place.join("f.bin"), [0x5A; 3000]).expect("a file");
    }
    let script = |name: &str, words: &str| {
        let text = format!("set quiet on\nset delay 0\n{words}\nexit\n");
        std::fs::write(dir.join("there").join(name), text).expect("a script");
    };
    script("send.ksc", "send f.bin");
    script("receive.ksc", "receive");
}

/// Programs that run in a directory of ours. When this value is dropped, they are killed, each
/// with its process group.
struct Workers(PathBuf);

impl Workers {
    fn there(&self) -> Vec<Pid> {
        let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
        let here = |pid: &Pid| {
            let place = std::fs::read_link(format!("/proc/{}/cwd", pid.as_raw_nonzero()));
            place.is_ok_and(|place| place.starts_with(&self.0))
        };
        let id = |name: std::ffi::OsString| Pid::from_raw(name.to_str()?.parse().ok()?);
        processes.flatten().filter_map(|entry| id(entry.file_name())).filter(here).collect()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for pid in self.there() {
            // Each may have gone since, with its group.
            let _ = match getpgid(Some(pid)) {
                Ok(group) if group != getpgrp() => kill_process_group(group, Signal::KILL),
                _ => kill_process(pid, Signal::KILL),
            };
        }
    }
}

#[test]
fn workers_are_killed_with_their_group() {
    let scratch = tempfile::tempdir().expect("a directory");
    let dir = scratch.path().canonicalize().expect("a path");
    let workers = Workers(dir.clone());
    let mut leader = Command::new("sh")
        .args(["-c", "trap '' HUP INT TERM; sleep 600 & sleep 600"])
        .current_dir(&dir)
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .expect("a shell");
    let until = Instant::now() + Duration::from_secs(30);
    while workers.there().len() < 3 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let before = workers.there().len();
    drop(workers);
    leader.wait().expect("the shell can be waited for");
    let workers = Workers(dir);
    while !workers.there().is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!((before, workers.there()), (3, vec![]));
}

/// Runs one case, and says what is wrong with it.
fn one(dir: &Path, protocol: &str, sends: bool, other: &Other) -> Option<String> {
    prepare(dir);
    let _workers = Workers(dir.canonicalize().expect("a path"));
    // A program in pipes tells on our stderr what it says, in a terminal on the line.
    let kind = if other.ours { "exec" } else { "exec-pty" };
    let line = format!("{kind}:cd there; {}", other.command);
    let mut args = vec![if sends { "send" } else { "receive" }];
    args.extend(sends.then_some("f.bin"));
    args.extend([line.as_str(), "-P", protocol]);
    if !sends && protocol == "xmodem" {
        args.extend(["--as", "x.bin"]);
    }
    let mut command = wst(&args);
    command.current_dir(dir).process_group(0);
    let ran = Running::start(command).end();
    let mut flags = vec![format!("-P {}", other.protocol)];
    if other.ours {
        // It says who we are, and may be the first to leave.
        flags.push(format!("-P {protocol}"));
    }
    if matches!(other.protocol, "ymodem" | "zmodem") {
        // sz and sb say the other's words when their own are not heard.
        flags.extend(["-P ymodem".to_owned(), "-P zmodem".to_owned()]);
    }
    let says =
        |line: &str| line.contains("the peer is a") && flags.iter().any(|flag| line.contains(flag));
    let named = ran.elapsed < NAMED && ran.stderr.lines().any(says);
    let what = format!("{args:?}: {:?}\n{}", ran.elapsed, ran.stderr);
    // sb and sz speak each other's protocol.
    let spoke = other.command.starts_with('s') && ran.code() == 0;
    match named {
        true if ran.code() == 0 => Some(format!("named, and exit code 0: {what}")),
        false if !spoke => Some(format!("not named: {what}")),
        _ => None,
    }
}

#[test]
fn every_wrong_peer_is_named_with_its_flag() {
    let scratch = tempfile::tempdir().expect("a directory");
    let others = others();
    let mut cases = Vec::new();
    for protocol in PROTOCOLS {
        for sends in [true, false] {
            let wrong = |other: &&Other| other.protocol != protocol || other.sends == sends;
            cases.extend(others.iter().filter(wrong).map(|other| (protocol, sends, other)));
        }
    }
    let queue = Mutex::new(cases.iter().enumerate());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no panic").next();
                    let Some((number, (protocol, sends, other))) = next else { return };
                    let dir = scratch.path().join(number.to_string());
                    if let Some(say) = one(&dir, protocol, *sends, other) {
                        wrong.lock().expect("no panic").push(say);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
