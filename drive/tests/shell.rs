//! Files through shells: scripted ones in memory, and those of this machine at a terminal.
//!
//! A program of its own: each of its conversations starts many small programs.

#[cfg(unix)]
mod shell_real;
#[cfg(unix)]
mod shell_stages;

use std::time::Duration;
use wetstring_drive::run::NoWatch;
use wetstring_drive::shell::{Broken, Fast, Pace, PutOptions, Role, Stages, Talk, Wire, get, put};
use wetstring_proto::stats::Stats;
use wetstring_testkit::{File, Sink, Source};

const NONCE: &str = "0badcafe";

/// A shell in memory: answers lines as its script says.
struct Scripted<S> {
    script: S,
    line: Vec<u8>,
    answers: Vec<u8>,
    /// All that was sent.
    seen: Vec<u8>,
}

impl<S: FnMut(&str) -> Vec<u8>> Scripted<S> {
    fn new(script: S) -> Self {
        Self { script, line: Vec::new(), answers: Vec::new(), seen: Vec::new() }
    }
}

impl<S: FnMut(&str) -> Vec<u8>> Wire for Scripted<S> {
    fn send(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.seen.extend_from_slice(bytes);
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = String::from_utf8(std::mem::take(&mut self.line)).expect("ASCII");
            self.answers.extend((self.script)(&line));
        }
        Ok(())
    }

    fn receive(&mut self, _: Duration, into: &mut Vec<u8>) -> Result<(), Broken> {
        into.append(&mut self.answers);
        Ok(())
    }
}

fn says(words: &str) -> Vec<u8> {
    format!("@{NONCE} {words}\r\n").into_bytes()
}

/// The command of a line, if it is one.
fn command(line: &str) -> &str {
    line.strip_prefix(NONCE).and_then(|rest| rest.strip_prefix(' ')).unwrap_or(line)
}

/// A shell that does what is expected, except to commands that begin like this.
fn but(begins: &'static str, answer: &'static [u8]) -> impl FnMut(&str) -> Vec<u8> {
    let mut left = 0;
    move |line| {
        if !line.starts_with(NONCE) && !line.starts_with(" (w=") {
            left -= usize::from(left > 0);
            return if left == 0 && !line.is_empty() { says("1") } else { Vec::new() };
        }
        let line = command(line);
        if line.starts_with(begins) {
            return answer.to_vec();
        }
        if line.starts_with("[ -t 0 ]") {
            return says("pipe");
        }
        if let Some(rest) = line.strip_prefix("r ") {
            let lines = rest.split(' ').next().and_then(|lines| lines.parse().ok());
            left = lines.expect("a number of lines");
            return Vec::new();
        }
        match line {
            line if line.starts_with(" (w=") => [b"$ (w=echo\r\n", &says("up tty")[..]].concat(),
            line if line.contains("|d 2>") => says("yes"),
            "a $(echo hi|k 2>/dev/null)" => says("1479881546 3"),
            line if line.starts_with("if [ -f \"$n\" ];then") => says("free"),
            line if line.starts_with("t=${n") || line.contains("mv -f") => says("ok"),
            "a $(k <\"$t\")" => says("1479881546 3"),
            "exit" => says("bye"),
            _ => Vec::new(),
        }
    }
}

fn put_hi(script: impl FnMut(&str) -> Vec<u8>) -> (Result<(), Broken>, Vec<u8>, Source) {
    let mut shell = Scripted::new(script);
    let mut store = Source::new(vec![File::new("a.txt", b"hi\n")]);
    let mut stats = Stats::default();
    let result = Talk::begin(&mut shell, Pace::default(), NONCE).and_then(|mut talk| {
        let counted = (&mut NoWatch as &mut _, &mut stats);
        match put(&mut talk, &mut store, counted, &PutOptions::default()) {
            Ok(()) => talk.end().map(drop),
            Err(broken) => {
                talk.leave();
                Err(broken)
            }
        }
    });
    (result, shell.seen, store)
}

/// The prompt may come with the last answer, whether the file was taken or not.
#[test]
fn what_comes_after_the_conversation_is_given_back() {
    for there in [false, true] {
        let mut script = but(if there { "if [ -f" } else { "nothing" }, says("file").leak());
        let mut shell = Scripted::new(|line| {
            let mut answer = script(line);
            if command(line) == "exit" {
                answer.extend_from_slice(b"$ ");
            }
            answer
        });
        let mut store = Source::new(vec![File::new("a.txt", b"hi\n")]);
        let mut stats = Stats::default();
        let mut talk = Talk::begin(&mut shell, Pace::default(), NONCE).unwrap();
        let counted = (&mut NoWatch as &mut _, &mut stats);
        let after = match put(&mut talk, &mut store, counted, &PutOptions::default()) {
            Ok(()) => talk.end().unwrap(),
            Err(broken) => {
                assert!(matches!(broken, Broken::Refused(_)), "{broken}");
                talk.leave().unwrap()
            }
        };
        assert_eq!(after, b"$ ", "{there}");
    }
}

#[test]
fn a_file_goes_to_a_shell_in_short_printable_lines() {
    let (result, seen, store) = put_hi(but("nothing", b""));
    assert_eq!(result, Ok(()));
    assert_eq!(store.closed, [(true, true)]);
    for line in seen.split(|byte| *byte == b'\n') {
        let shown = String::from_utf8_lossy(line);
        assert!(
            line.len() < 255 && line.iter().all(|byte| (b' '..=b'~').contains(byte)),
            "{shown}"
        );
    }
    assert!(seen.ends_with(b"\n0badcafe exit\n"), "it leaves last");
}

#[test]
fn failures_say_what_was_expected_and_what_came() {
    const LOGIN: &str = "expected a shell that runs a command (logged in, at its prompt, with no line half typed), got 'login:'";
    const PASSWORD: &str = "expected a shell that runs a command (logged in, at its prompt, with no line half typed), got 'Password:'";
    const ECHO: &str = "expected a shell that runs a command (logged in, at its prompt, with no line half typed), got 'only the echo of what was typed'";
    let full = format!("cat: no space left on device\r\n@{NONCE} fail 1\r\n").leak().as_bytes();
    let wrong = says("17 3").leak();
    let there = says("file").leak();
    let flood = b"y\r\n".repeat(60_000).leak();
    let long = vec![b'y'; 1_000_000].leak();
    for (begins, answer, say) in [
        (" (w=", &b"login: "[..], LOGIN),
        (" (w=", &b" (w=0badcafe;s=;;esac;done)\r\nPassword: "[..], PASSWORD),
        (" (w=", &b" (w=0badcafe;s=;;esac;done)\r\n"[..], ECHO),
        ("if [ -f", there, "./a.txt is at the shell already; --overwrite replaces it"),
        ("if [ -f", b"", "expected whether the file is there, got nothing"),
        ("t=${n", says("no").leak(), "expected a temporary file at the shell, got nothing"),
        ("r ", full, "expected acknowledgement 1, got 'cat: no space left on device fail 1'"),
        ("r ", says("9").leak(), "expected acknowledgement 1, got '9'"),
        ("a $(k <", wrong, "expected cksum 1479881546 3, got '17 3'"),
        ("if [ -f", flood, "expected whether the file is there, got 'y y y"),
        ("if [ -f", long, "expected whether the file is there, got 'yyy"),
    ] {
        let (result, seen, store) = put_hi(but(begins, answer));
        let said = result.expect_err("a failure").to_string();
        assert!(said.starts_with(say) && said.len() < 400, "{said}, expected {say}");
        let end = String::from_utf8_lossy(&seen).into_owned();
        assert!(end.ends_with("\n\n0badcafe exit\n"), "it leaves: {end}");
        assert!(!store.closed.contains(&(true, true)), "{say}");
    }
}

#[test]
fn what_a_shell_lacks_is_named() {
    let script = |line: &str| match line {
        line if line.contains("|d 2>") => says("no"),
        line => but("nothing", b"")(line),
    };
    let (result, _, store) = put_hi(script);
    let said = result.expect_err("no tool").to_string();
    let all = "base64, openssl, python3, python, perl, uudecode, awk, xxd, printf";
    assert_eq!(said, format!("expected one of {all} at the shell, got none that works"));
    assert_eq!(store.closed, []);
}

/// What is said of a program that cannot be had, and which way the file goes then.
fn put_large(
    program: fn() -> Result<Vec<u8>, String>,
    stages: Stages,
) -> (Result<(), Broken>, String) {
    let said = std::cell::RefCell::new(String::new());
    let find = |_: Role, _: &str| program();
    let engine = |_: Role, _: bool| Err("no engine here".to_owned());
    let note = |text: &str| said.borrow_mut().push_str(text);
    let mut fast = Fast::new(&find, &engine, &note);
    fast.stages = stages;
    let mut shell = Scripted::new(but("a $(uname", says("vax").leak()));
    // It says what it says of a small file: the digest differs if all goes well.
    let mut store = Source::new(vec![File::new("a.txt", &vec![b'x'; 600_000])]);
    let (mut stats, pace) = (Stats::default(), Pace { rate_bps: Some(9600), ..Pace::default() });
    let options = PutOptions { fast: Some(&fast), ..PutOptions::default() };
    let mut talk = Talk::begin(&mut shell, pace, NONCE).expect("a shell");
    let done = put(&mut talk, &mut store, (&mut NoWatch, &mut stats), &options);
    let said = said.borrow().clone();
    (done, said)
}

#[test]
fn without_a_program_for_its_processor_a_shell_gets_one_stage() {
    let none = || Err("no wst-mini for vax in DIR".to_owned());
    let (done, said) = put_large(none, Stages::Auto);
    assert_eq!(said, "no wst-mini for vax in DIR; the shell's own tools take the file");
    assert!(matches!(done, Err(Broken::Peer { expected, .. }) if expected == "acknowledgement 2"));
    let (done, said) = put_large(none, Stages::Two);
    assert_eq!(
        (done, said.as_str()),
        (Err(Broken::Missing("no wst-mini for vax in DIR".into())), "")
    );
    let (_, said) = put_large(|| panic!("it is not looked for"), Stages::One);
    assert_eq!(said, "");
}

/// More bytes than announced, lines of no coding, an endless answer: nothing of it is stored as a file.
#[test]
fn a_hostile_shell_fills_nothing() {
    let lines = |line: &'static str, times: usize| {
        move |sent: &str| match command(sent) {
            line if line.starts_with(" (w=") => says("up tty"),
            line if line.contains("|e 2>") => says("aGkK"),
            line if line.contains("|k 2>") => says("none"),
            line if line.contains("wc -c") => says("3"),
            line_ if line_.starts_with("if e ") => {
                [format!("{line}\r\n").repeat(times).into_bytes(), says("end")].concat()
            }
            "exit" => says("bye"),
            _ => Vec::new(),
        }
    };
    for (line, times, say) in [
        ("aGkK", 1, ""),
        ("aGkK", 2, "expected 3 bytes, got '6 bytes and more'"),
        ("", 100_000, "expected 3 bytes, got '0 bytes and more'"),
        ("aGk=", 1, "expected 3 bytes and the end, got '2 bytes and end'"),
        ("kernel: eth0 up", 1, "expected a line of base64, got 'kernel: eth0 up'"),
    ] {
        let mut shell = Scripted::new(lines(line, times));
        let (mut store, mut stats) = (Sink::new(), Stats::default());
        let mut talk = Talk::begin(&mut shell, Pace::default(), NONCE).expect("a shell");
        let names = [b"dir/-a b".to_vec()];
        let result = get(&mut talk, &mut store, (&mut NoWatch, &mut stats), &names, None);
        let said = result.map_or_else(|broken| broken.to_string(), |()| String::new());
        assert_eq!(said, say);
        assert_eq!(store.files[0].complete, say.is_empty(), "{say}");
    }
}
