//! `wst probe` over emulated lines, terminals and Telnet: what it finds is what the line was told to do.

use crate::peers;

use std::collections::VecDeque;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use peers::{End, Running, Scene, wst};

const LIMIT: Duration = Duration::from_secs(300);

/// Probes a line whose two ends are these, for `--answer` and for the one that asks.
fn probe(scene: &Scene, [there, here]: [&str; 2], flags: &[&str]) -> End {
    let answer = &mut wst(["probe", "--answer", there]);
    let mut answer = scene.start("answer", answer).expect("wst starts");
    let mut asks =
        scene.start("ask", &mut wst([&["probe", here], flags].concat())).expect("starts");
    let end = asks.wait(LIMIT).expect("it ends");
    if end.code == 0 {
        assert_eq!(answer.wait(LIMIT).expect("it ends").code, 0);
    }
    end
}

/// An emulated line between two PTYs.
fn line(scene: &Scene, spec: &str) -> (Running, [String; 2]) {
    let ends = ["a", "b"].map(|end| scene.path(end).display().to_string());
    let [a, b] = ends.each_ref().map(|end| format!("pty:{end}"));
    let mut line =
        scene.start("line", &mut wst(["line", spec, "-a", &a, "-b", &b])).expect("a line");
    for end in ["end A: ", "end B: "] {
        line.line_after(end).expect("an end");
    }
    (line, ends.map(|end| format!("serial:{end}")))
}

#[track_caller]
fn says(end: &End, all: &[&str]) {
    assert_eq!(end.code, 0, "{end:?}");
    for one in all {
        assert!(end.said.contains(one), "expected {one:?} in {}", end.said);
    }
}

#[test]
fn a_transparent_line_is_found_so_with_its_rate_and_delay() {
    let scene = Scene::new();
    let (_line, ends) = line(&scene, "38400,delay=50ms");
    let end = probe(&scene, ends.each_ref().map(String::as_str), &[]);
    says(
        &end,
        &[
            "every byte arrives as it is",
            "8 bits",
            "echo           no",
            "settings       none needed",
        ],
    );
    let number = |after: &str| -> f64 {
        let rest = end.said.split_once(after).expect("it is there").1.trim_start();
        rest.split(' ').next().and_then(|word| word.parse().ok()).expect("a number")
    };
    // Twice the delay and the time of the characters; a loaded machine is slower.
    assert!(number("round trip") >= 100.0, "{end:?}");
    // No line is faster than it is: what its driver had buffered counts little in seconds.
    assert!((10_000.0..42_000.0).contains(&number("rate")), "{end:?}");
}

#[test]
fn seven_bits_and_parity_are_found() {
    for (spec, says_so, setting) in [
        ("115200,7bit", "7 bits: the eighth is 0", "kermit.parity=space"),
        ("115200,parity=even", "7 bits, even parity", "kermit.parity=even"),
        ("115200,parity=odd", "7 bits, odd parity", "kermit.parity=odd"),
    ] {
        let scene = Scene::new();
        let (_line, ends) = line(&scene, spec);
        let end = probe(&scene, ends.each_ref().map(String::as_str), &[]);
        says(&end, &[says_so, setting, "every byte arrives as it is"]);
    }
}

#[test]
fn an_echo_is_found() {
    let scene = Scene::new();
    let (_line, [here, there]) = line(&scene, "115200,echo");
    let end = probe(&scene, [&there, &here], &[]);
    says(&end, &["echo           yes", "every byte arrives as it is"]);
}

/// The driver of the terminal at one end takes XON and XOFF for itself.
#[test]
fn eaten_xon_and_xoff_are_found_and_saved() {
    let scene = Scene::new();
    let (_line, [there, here]) = line(&scene, "115200");
    let there = format!("{there}?flow=xonxoff");
    let end = probe(&scene, [&there, &here], &["--save", "bench"]);
    says(&end, &["do not arrive: 11 13 (XON and XOFF are eaten)", "saved: @bench"]);
    let path = scene.path("no-config/wetstring/config.toml");
    let text = fs::read_to_string(&path).expect("the configuration");
    assert!(text.contains("[profile.bench]"), "{text}");
    let mut show =
        scene.start("show", &mut wst(["show", "--profile", "bench", "window"])).expect("wst");
    assert_eq!(show.wait(LIMIT).expect("it ends").code, 0);
    // A profile is not overwritten.
    let again = scene.start("ask", &mut wst(["probe", "--save", "bench", "pty:"]));
    let end = again.expect("wst starts").wait(LIMIT).expect("it ends");
    assert_eq!(end.code, 2, "{end:?}");
    assert!(end.said.contains("bench"), "{end:?}");
}

/// A terminal that is not raw changes line ends.
#[test]
fn a_terminal_that_is_not_raw_is_found() {
    let scene = Scene::new();
    let line = format!(
        "exec-pty:stty -icanon min 1 -echo -isig -ixon icrnl; cat | {} probe --answer - | cat",
        peers::WST
    );
    let mut asks = scene.start("ask", &mut wst(["probe", &line])).expect("wst starts");
    let end = asks.wait(LIMIT).expect("it ends");
    says(&end, &["0D arrives as 0A (a terminal that is not raw)"]);
    says(&end, &["--set kermit.prefixing=all", "--set zmodem.escape=controls"]);
}

/// A port that takes 2,000 bytes a second, keeps 512 and loses the others.
fn small_buffer(mut from: TcpStream, mut to: TcpStream) {
    from.set_read_timeout(Some(Duration::from_millis(5))).expect("a timeout");
    let (mut kept, mut bytes) = (VecDeque::new(), [0; 4096]);
    let mut since = Instant::now();
    loop {
        match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(len) => {
                let room = 512_usize.saturating_sub(kept.len());
                kept.extend(bytes[..len].iter().copied().take(room));
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
        let due = (since.elapsed().as_millis() as usize * 2).min(kept.len());
        if due > 0 || kept.is_empty() {
            since = Instant::now();
        }
        let part: Vec<u8> = kept.drain(..due).collect();
        if to.write_all(&part).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn a_small_buffer_is_found() {
    let scene = Scene::new();
    let there = &mut wst(["probe", "--answer", "tcp-listen://127.0.0.1:0"]);
    let mut there = scene.start("answer", there).expect("wst starts");
    let at = there.line_after("listening on ").expect("a port");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let line = format!("tcp://{}", listener.local_addr().expect("its number"));
    let mut asks = scene.start("ask", &mut wst(["probe", &line])).expect("wst starts");
    let (ours, _) = listener.accept().expect("wst connects");
    let theirs = TcpStream::connect(&*at).expect("the answerer listens");
    let [mut back, mut home] = [&theirs, &ours].map(|one| one.try_clone().expect("a handle"));
    let down = thread::spawn(move || std::io::copy(&mut back, &mut home));
    let up = thread::spawn(move || small_buffer(ours, theirs));
    let end = asks.wait(LIMIT).expect("it ends");
    up.join().expect("the port ends");
    let _ = down.join().expect("the port ends");
    says(&end, &["every byte arrives as it is", "; more loses bytes", "--set kermit.window=1"]);
    let longest = end.said.split_once("burst ").expect("a burst").1.trim_start();
    let longest: u32 = longest.split(' ').next().and_then(|word| word.parse().ok()).expect("bytes");
    // A machine that stops the sender in the middle lets more pass.
    assert!((256..16384).contains(&longest), "{end:?}");
}

#[test]
fn no_peer_is_told() {
    let scene = Scene::new();
    let mut asks = scene.start("ask", &mut wst(["probe", "exec:sleep 1000"])).expect("wst starts");
    let end = asks.wait(LIMIT).expect("it ends");
    assert_eq!(end.code, 7, "{end:?}");
    assert!(end.said.contains("wst probe --answer"), "{end:?}");
}

/// An end that speaks Telnet behind one that does not.
#[test]
fn telnet_is_found_by_its_doubled_iac() {
    let scene = Scene::new();
    let there = &mut wst(["probe", "--answer", "telnet-listen://127.0.0.1:0"]);
    let mut there = scene.start("answer", there).expect("wst starts");
    let at = there.line_after("listening on ").expect("a port");
    let mut asks = scene.start("ask", &mut wst(["probe", &format!("tcp://{at}")])).expect("starts");
    let end = asks.wait(LIMIT).expect("it ends");
    says(&end, &["FF arrives as FF FF (Telnet's IAC: use telnet://)"]);
}
