//! `wst connect` when the cable is pulled in a transfer, and plugged in again: engines go on, conversations end.

use crate::common;
use crate::peers;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use common::desktop::Desktop;
use common::{Desk, WST, tame};
use peers::lrzsz::lrzsz;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use wetstring_testkit::{Within, terminal, within};

/// Bytes that the cable holds in each direction.
const HOLDS: usize = 4096;
/// How long it is out, if it comes back.
const OUT: Duration = Duration::from_millis(500);
const BYTES: usize = 200_000;

fn nonblocking<T: AsFd>(file: T) -> T {
    fcntl_setfl(&file, OFlags::NONBLOCK).expect("it is set");
    file
}

/// A port as a link to a terminal, and its peer.
struct Cable {
    link: String,
    /// The port's other side, and its own, which is held open between programs.
    plugged: Option<(File, File)>,
    plug_at: Instant,
    /// How long it is out.
    out: Duration,
    peer: (ChildStdin, ChildStdout),
    to_peer: Vec<u8>,
    to_user: Vec<u8>,
    passed: usize,
}

impl Cable {
    /// From a link to a program, plugged out.
    fn of(link: &str, peer: &mut Child) -> Self {
        let stdin = nonblocking(peer.stdin.take().expect("a pipe"));
        let stdout = nonblocking(peer.stdout.take().expect("a pipe"));
        Self {
            link: link.to_owned(),
            plugged: None,
            plug_at: Instant::now(),
            out: OUT,
            peer: (stdin, stdout),
            to_peer: Vec::new(),
            to_user: Vec::new(),
            passed: 0,
        }
    }

    fn plug(&mut self) {
        let both = terminal().expect("a terminal");
        let held = both.open().expect("the port");
        // As a serial port that no program has set up: no echo.
        let mut settings = tcgetattr(&held).expect("its settings");
        settings.make_raw();
        tcsetattr(&held, OptionalActions::Now, &settings).expect("they are set");
        std::os::unix::fs::symlink(&both.path, &self.link).expect("a link");
        self.plugged = Some((nonblocking(File::from(both.master)), held));
    }

    /// What it holds is lost.
    fn pull(&mut self) {
        std::fs::remove_file(&self.link).expect("it goes");
        self.plugged = None;
        self.to_peer.clear();
        self.to_user.clear();
        self.plug_at = Instant::now() + self.out;
    }

    /// Carries until the peer ends. The cable is pulled whenever this many bytes have passed since it was plugged in.
    fn carry_until_the_end(mut self, pulls: &[usize]) -> Self {
        let mut pulls = pulls.iter();
        let mut left = pulls.next();
        let end = Instant::now() + Duration::from_secs(100);
        while Instant::now() < end {
            if self.plugged.is_none() && Instant::now() > self.plug_at {
                self.plug();
                self.passed = 0;
            }
            let Some(moved) = self.carry() else { return self };
            self.passed += moved;
            if left.is_some_and(|most| self.passed > *most) && self.plugged.is_some() {
                self.pull();
                left = pulls.next();
            }
            if moved == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        panic!("the peer did not end");
    }

    /// Carries what there is, and returns how much; `None` once the peer has ended.
    fn carry(&mut self) -> Option<usize> {
        fn moved(from: &mut impl Read, held: &mut Vec<u8>, to: &mut impl Write) -> Option<usize> {
            let mut buffer = [0; HOLDS];
            let room = HOLDS - held.len();
            match from.read(&mut buffer[..room]) {
                Ok(0) if room > 0 => return None,
                Ok(len) => held.extend_from_slice(&buffer[..len]),
                Err(_) => {}
            }
            let written = to.write(held).unwrap_or(0);
            held.drain(..written);
            Some(written)
        }
        let (stdin, stdout) = &mut self.peer;
        let Some((port, _)) = &mut self.plugged else {
            return moved(stdout, &mut self.to_user, &mut std::io::sink()).map(|_| 0);
        };
        let sent = moved(port, &mut self.to_peer, stdin).unwrap_or(0);
        moved(stdout, &mut self.to_user, port).map(|len| len + sent)
    }
}

/// A session with this program behind a cable.
#[track_caller]
fn session(desk: &Desk, peer: &[&str]) -> (Desktop, Cable, Child) {
    let link = desk.path("port");
    let mut command = Command::new(peer[0]);
    tame(&mut command);
    command.args(&peer[1..]).current_dir(desk.path("there"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the peer starts");
    let mut cable = Cable::of(&link, &mut child);
    cable.plug();
    let into = desk.path("in");
    let line = format!("serial:{link}");
    let user = Desktop::start(&["connect", "--autodownload", "on", "-o", &into, &line]);
    user.until("the terminal", |user| user.screen().contains("connected to"));
    (user, cable, child)
}

/// A transfer with this program, in which the cable is pulled twice; what the user types first, and sees.
#[track_caller]
fn pulled_twice(desk: &Desk, peer: &[&str], first: &[(String, &str)]) {
    let (mut user, cable, mut child) = session(desk, peer);
    for (keys, says) in first {
        user.type_and_see(keys.as_bytes(), says);
    }
    let carrying = std::thread::spawn(move || cable.carry_until_the_end(&[60_000, 60_000]));
    let came = within(Duration::from_secs(120), || carrying.is_finished());
    assert_eq!(came, Within::Done, "{}", user.screen());
    let cable = carrying.join().expect("the peer ended");
    assert!(child.wait().expect("it ends").success(), "{}", user.screen());
    // The transfer is over there; what the session says of it comes next.
    user.until("the session", |user| !user.modes().contains(LocalModes::ISIG));
    let count = |text: &str| user.screen().matches(text).count();
    assert_eq!(count("the transfer continues if it comes back"), 2, "{}", user.screen());
    assert_eq!(count(" again)"), 2, "{}", user.screen());
    user.type_and_see(b"\x14v", "connected again 2 times");
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0));
    drop(cable);
}

/// A desk with a folder for the peer.
fn desk() -> Desk {
    let desk = Desk::new(BYTES);
    std::fs::create_dir(desk.path("there")).expect("a folder");
    desk
}

fn sends(desk: &Desk, peer: &[&str], protocol: &str) {
    let file = desk.path("data.bin");
    let first = [(format!("\x14s{file}\r"), "By protocol"), (format!("{protocol}\r"), "\r\n")];
    pulled_twice(desk, peer, &first);
    let got = std::fs::read(desk.path("there/data.bin")).expect("it arrived");
    assert!(got == desk.bytes, "{} of {BYTES} bytes", got.len());
}

#[test]
fn an_upload_by_kermit_goes_on() {
    sends(&desk(), &[WST, "receive", "-P", "kermit", "-"], "kermit");
}

#[test]
fn an_upload_to_rz_goes_on() {
    let Some(_) = lrzsz() else { return };
    sends(&desk(), &["rz", "-b", "-t", "30"], "zmodem");
}

#[test]
fn a_download_from_sb_goes_on() {
    let Some(_) = lrzsz() else { return };
    let desk = desk();
    let file = desk.path("data.bin");
    pulled_twice(
        &desk,
        &["sb", "-k", &file],
        &[("\x14r".into(), "eceive by protocol"), ("ymodem\r".into(), "\r\n")],
    );
    desk.arrived();
}

#[test]
fn a_download_from_sz_goes_on() {
    let Some(_) = lrzsz() else { return };
    let desk = desk();
    let file = desk.path("data.bin");
    pulled_twice(&desk, &["sz", "-b", &file], &[]);
    desk.arrived();
}

/// A conversation with this program, in which the cable is pulled once: it is ended at both ends, which is told, and
/// the session goes on. What the user types first, and sees.
#[track_caller]
fn ends_when_pulled(desk: &Desk, peer: &[&str], first: &[(String, &str)], says: &str) {
    let (mut user, cable, mut child) = session(desk, peer);
    let carrying = std::thread::spawn(move || cable.carry_until_the_end(&[60_000]));
    for (keys, says) in first {
        if keys.is_empty() {
            user.until(says, |user| user.screen().contains(says));
        } else {
            user.type_and_see(keys.as_bytes(), says);
        }
    }
    user.until("the reason", |user| user.screen().contains(says));
    let screen = user.screen();
    assert_eq!(screen.matches("is gone").count(), 1, "{screen}");
    assert!(screen.contains("waiting for it, Ctrl-C ends the transfer"), "{screen}");
    assert!(screen.contains("the port was gone, and what was on the way is lost"), "{screen}");
    user.until("the session", |user| !user.modes().contains(LocalModes::ISIG));
    user.type_and_see(b"\x14v", "connected again 1 time");
    // A shell is at its prompt, with its echo; it is left to it.
    if peer[0] == "script" {
        user.type_and_see(b"echo $((5 * 7))\r", "35\r\nready> ");
        user.type_and_see(b"echo still $((6 * 7))\r", "echo still $((6 * 7))\r\nstill 42");
        user.press(b"exit\r");
    }
    let came = within(Duration::from_secs(30), || carrying.is_finished());
    assert_eq!(came, Within::Done, "{}", user.screen());
    let cable = carrying.join().expect("the peer ended");
    child.wait().expect("it ends");
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0));
    drop(cable);
}

#[test]
fn a_download_from_tsz_is_ended_and_told() {
    let Some(_) = peers::peer("tsz", "none; pip install trzsz") else { return };
    for flag in ["-y", "-b"] {
        let desk = desk();
        let file = desk.path("data.bin");
        ends_when_pulled(&desk, &["tsz", flag, &file], &[], "tsz was ended: start it again");
        assert_eq!(desk.names(), ["data.bin.part"], "{flag}");
    }
}

/// The user need not wait for a port that stays away: the session does.
#[test]
fn a_user_may_end_the_wait_for_the_port() {
    let Some(_) = peers::peer("tsz", "none; pip install trzsz") else { return };
    let desk = desk();
    let (mut user, mut cable, mut child) = session(&desk, &["tsz", &desk.path("data.bin")]);
    cable.out = Duration::from_secs(1000);
    let carrying = std::thread::spawn(move || cable.carry_until_the_end(&[60_000]));
    user.until("the wait", |user| user.screen().contains("waiting for it, Ctrl-C ends"));
    user.type_and_see(b"\x03", "interrupted by signal 2");
    user.until("the session", |user| !user.modes().contains(LocalModes::ISIG));
    assert!(user.screen().contains("/port is gone; waiting for "), "{}", user.screen());
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0), "{}", user.screen());
    child.kill().expect("it waits for an answer");
    child.wait().expect("it ends");
    carrying.join().expect("the peer ended");
}

#[test]
fn an_upload_to_trz_is_ended_and_told() {
    let Some(_) = peers::peer("trz", "none; pip install trzsz") else { return };
    for flag in ["-y", "-b"] {
        let desk = desk();
        let file = format!("{}\r", desk.path("data.bin"));
        let first = [(String::new(), "Send: "), (file, "keys: x")];
        ends_when_pulled(
            &desk,
            &["trz", flag],
            &first,
            "trz was ended, and has a part of the file",
        );
    }
}

/// Ctrl-T u to a shell without a receiver.
#[test]
fn an_upload_to_a_shell_is_ended_and_told() {
    let Some(_) = peers::peer("script", "bsdutils") else { return };
    let desk = desk();
    let bin = desk.few_tools();
    let shell = format!("PATH={bin} PS1='ready> ' /bin/sh -i");
    // At the prompt behind this: the first one may come late.
    let first = [
        ("echo $((6 * 7))\r".to_owned(), "42\r\nready> "),
        ("\x14u".to_owned(), "Upload files: "),
        (format!("{}\r", desk.path("data.bin")), "data.bin"),
    ];
    let says = "what ran at the shell was ended: send the file again";
    ends_when_pulled(&desk, &["script", "-qfec", &shell, "/dev/null"], &first, says);
    let there = std::fs::read_dir(desk.path("there")).expect("the folder").count();
    assert_eq!(there, 0, "no part of it is there");
}
