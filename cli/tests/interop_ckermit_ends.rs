//! C-Kermit: transfers that do not run straight through, and the bugs of C-Kermit 10.0 beta that
//! are tolerated.

use crate::peers;

use std::fs;
use std::slice::from_ref;
use std::thread;
use std::time::{Duration, Instant};

use peers::ckermit::{Mode, Over, Session, Transfer};
use peers::{Scene, all, ckermit, last_event, material, same};

const OVERS: [Over; 2] = [Over::TcpToUs, Over::OurPty];

/// A mode that leaves C-Kermit's packet log beside the files.
fn logged(scene: &Scene) -> Mode {
    let log = scene.path("packets.log");
    Mode { commands: vec![format!("log packets {}", log.display())], ..Mode::default() }
}

/// C-Kermit's packet log. A packet that it sent begins with `s-` and two numbers, one that it
/// received with `r-`; MARK stands as `^A`.
fn packets(scene: &Scene) -> Vec<u8> {
    fs::read(scene.path("packets.log")).unwrap_or_default()
}

fn contains(log: &[u8], part: &[u8]) -> bool {
    log.windows(part.len()).any(|window| window == part)
}

/// The lines of the log that begin so.
fn lines<'a>(log: &'a [u8], start: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    log.split(|byte| *byte == b'\n').filter(move |line| line.starts_with(start))
}

fn ends(done: &Transfer, wst: i32) -> Result<(), String> {
    if done.wst.code == wst {
        Ok(())
    } else {
        Err(format!("expected wst to end with {wst}: {done:?}"))
    }
}

#[test]
fn ckermit_takes_up_a_partial_file_of_ours() {
    let _turn = crate::turn();
    let Some(_) = ckermit() else { return };
    let bytes = material::random(150_000, 4);
    // Nothing there, a part, the whole.
    let jobs: Vec<_> =
        OVERS.iter().flat_map(|over| [0, 70_000, bytes.len()].map(|part| (*over, part))).collect();
    all(&jobs, 6, |(over, part)| {
        let scene = Scene::new();
        let mut mode = logged(&scene);
        mode.flags = vec!["--resume".into(), "--json".into()];
        let file = scene.file("from/data.bin", &bytes);
        if *part > 0 {
            scene.file("in/data.bin", &bytes[..*part]);
        }
        let done = Session::we_send(&scene, *over, &mode, from_ref(&file)).run()?.well()?;
        same(&file, &done.into.join("data.bin"))?;
        let sent = last_event(&done.wst)?["stats"]["wire_out_bytes"].as_u64().unwrap_or(0);
        let rest = (bytes.len() - part) as u64;
        // Prefixes cost up to an eighth of random data and more on lines that are not clear.
        if sent > rest + rest / 6 + 500 {
            return Err(format!("expected to send the last {rest} bytes, sent {sent}"));
        }
        Ok(())
    });
}

#[test]
fn wst_takes_up_a_partial_file_of_ckermits() {
    let _turn = crate::turn();
    let Some(_) = ckermit() else { return };
    let bytes = material::random(150_000, 5);
    let jobs: Vec<_> = OVERS
        .iter()
        .flat_map(|over| {
            [("", 0), ("data.bin.part", 70_000), ("data.bin", 70_000)].map(|there| (*over, there))
        })
        .collect();
    all(&jobs, 6, |(over, (name, part))| {
        let scene = Scene::new();
        let flags = vec!["--set=store.resume=existing".to_owned(), "--json".to_owned()];
        let mode = Mode { flags, ..Mode::default() };
        let file = scene.file("from/data.bin", &bytes);
        if *part > 0 {
            scene.file(&format!("in/{name}"), &bytes[..*part]);
        }
        let session = Session::they_send(&scene, *over, &mode, from_ref(&file));
        let done = session.command(format!("resend {}", file.display())).run()?.well()?;
        same(&file, &done.into.join("data.bin"))?;
        let came = last_event(&done.wst)?["stats"]["wire_in_bytes"].as_u64().unwrap_or(0);
        let rest = (bytes.len() - part) as u64;
        if came > rest + rest / 6 + 500 {
            return Err(format!("expected the last {rest} bytes, got {came}"));
        }
        Ok(())
    });
}

#[test]
fn a_file_that_exists_is_refused_by_either() {
    let _turn = crate::turn();
    let Some(_) = ckermit() else { return };
    all(&OVERS, 2, |over| {
        let scene = Scene::new();
        let files = [scene.file("from/a.bin", b"new"), scene.file("from/b.bin", b"other")];
        let old = scene.file("in/a.bin", b"old");
        let unchanged = |done: &Transfer| {
            ends(done, 1)?;
            let kept = fs::read(&old).map_err(|e| e.to_string())?;
            if kept != b"old" {
                return Err("the file that was there has changed".to_owned());
            }
            // The rest of the batch continues.
            same(&files[1], &done.into.join("b.bin"))
        };
        let commands = vec!["set file collision reject".to_owned()];
        let mode = Mode { commands, ..Mode::default() };
        unchanged(&Session::we_send(&scene, *over, &mode, &files).run()?)?;
        fs::remove_file(scene.path("in/b.bin")).map_err(|e| e.to_string())?;
        let mode = Mode { flags: vec!["--collision=reject".to_owned()], ..Mode::default() };
        unchanged(&Session::they_send(&scene, *over, &mode, &files).run()?)
    });
}

/// Interrupts `wst` or C-Kermit in the middle of a slow transfer.
fn interrupt(over: Over, we_send: bool, them: bool, bytes: &[u8]) -> Result<(), String> {
    let scene = Scene::new();
    let flags = vec!["--json".to_owned()];
    let mode = Mode { streaming: Some(false), window: 1, length: 94, flags, ..Mode::default() };
    let file = scene.file("from/long.bin", bytes);
    let session = if we_send {
        Session::we_send(&scene, over, &mode, &[file])
    } else {
        Session::they_send(&scene, over, &mode, &[file])
    };
    let (mut ours, mut theirs) = session.start()?;
    let wst = ours.as_mut().ok_or("expected wst in front")?;
    wst.line_after("\"file-started\"")?;
    thread::sleep(Duration::from_millis(400));
    let pressed = Instant::now();
    match (&theirs, them) {
        (Some(kermit), true) => kermit.interrupt(),
        _ => wst.interrupt(),
    }
    let end = wst.wait(Duration::from_secs(10))?;
    let took = pressed.elapsed();
    let kermit = theirs.as_mut().map(|kermit| kermit.wait(Duration::from_secs(20))).transpose()?;
    // C-Kermit leaves without a word where it has no terminal to ask: the line closes.
    let (most, code) = if them { (10_000, 3) } else { (1_500, 130) };
    if took > Duration::from_millis(most) || end.code != code {
        return Err(format!("expected exit code {code} at once, got {end:?} after {took:?}"));
    }
    if last_event(&end)?["event"] != "end" {
        return Err(format!("expected the end event, got {end:?}"));
    }
    if kermit.as_ref().is_some_and(|kermit| kermit.code == 0) {
        return Err(format!("expected kermit to say that it failed, got {kermit:?}"));
    }
    let whole = scene.path("in/long.bin");
    if !we_send && whole.exists() {
        return Err("half a file stands under the name of the whole".to_owned());
    }
    Ok(())
}

#[test]
fn an_interrupt_ends_both() {
    let _turn = crate::turn();
    let Some(_) = ckermit() else { return };
    let bytes = material::random(64 << 20, 6);
    let mut jobs = Vec::new();
    for we_send in [true, false] {
        jobs.push((Over::TcpToUs, we_send, false));
        jobs.push((Over::OurPty, we_send, false));
    }
    all(&jobs, 2, |(over, we_send, them)| interrupt(*over, *we_send, *them, &bytes));
}

#[test]
fn an_interrupt_of_ckermit_ends_wst() {
    let _turn = crate::turn();
    let Some(_) = ckermit() else { return };
    let bytes = material::random(64 << 20, 7);
    all(&[true, false], 2, |we_send| interrupt(Over::TcpToUs, *we_send, true, &bytes));
}

#[test]
fn ckermit_accepts_our_bytes_after_whatami2() {
    let _turn = crate::turn();
    let Some(_) = ckermit() else { return };
    let scene = Scene::new();
    let mode = logged(&scene);
    let file = scene.file("from/a.bin", &material::runs());
    let done = Session::we_send(&scene, Over::TcpToUs, &mode, from_ref(&file)).run();
    let done = done.and_then(Transfer::well).unwrap_or_else(|why| panic!("{why}"));
    same(&file, &done.into.join("a.bin")).unwrap_or_else(|why| panic!("{why}"));
    let log = packets(&scene);
    let init = lines(&log, b"r-00-").next().expect("C-Kermit logged the packet it received first");
    // System id with its length, WHATAMI2, and then ours: a 'W' and what we add.
    let at = init.windows(3).position(|w| w == b"\"U1").expect("a system id");
    assert_eq!(init[at + 4], b'W', "{}", init.escape_ascii());
    assert!(lines(&log, b"r-01-").any(|l| contains(l, b"Fa.bin")), "C-Kermit went on");
}

/// Whether the installed C-Kermit is the one whose bugs are told of here.
fn is_beta_08() -> bool {
    let version = std::process::Command::new("kermit").arg("--version").output();
    version.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).trim().starts_with("10.0"))
}

#[test]
fn ckermit_10_beta_sends_len_95_to_a_peer_that_allows_94() {
    let _turn = crate::turn();
    let Some(_) = ckermit() else { return };
    for streaming in [true, false] {
        let scene = Scene::new();
        let streaming = Some(streaming);
        let mode = Mode { streaming, length: 94, ..logged(&scene) };
        let file = scene.file("from/a.bin", &material::random(30_000, 8));
        let done = Session::they_send(&scene, Over::TcpToUs, &mode, from_ref(&file)).run();
        let done = done.and_then(Transfer::well).unwrap_or_else(|why| panic!("{why}"));
        same(&file, &done.into.join("a.bin")).unwrap_or_else(|why| panic!("{why}"));
        // LEN 95 is the byte 7F, as no number of the protocol is.
        let bug = contains(&packets(&scene), b"^A\x7f");
        assert_eq!(bug, is_beta_08(), "C-Kermit 10.0 beta sends LEN 95, others do not");
    }
}

#[test]
fn ckermit_10_beta_sends_an_extended_length_of_9025_where_9024_is_allowed() {
    let _turn = crate::turn();
    let Some(_) = ckermit() else { return };
    let scene = Scene::new();
    let mode = logged(&scene);
    let file = scene.file("from/a.bin", &material::random(300_000, 9));
    let done = Session::they_send(&scene, Over::TcpToUs, &mode, from_ref(&file)).run();
    let done = done.and_then(Transfer::well).unwrap_or_else(|why| panic!("{why}"));
    same(&file, &done.into.join("a.bin")).unwrap_or_else(|why| panic!("{why}"));
    let log = packets(&scene);
    let over = lines(&log, b"s-").any(|line| line.get(13..15) == Some(b"\x7f "));
    assert_eq!(over, is_beta_08(), "C-Kermit 10.0 beta writes LENX1 as 95, others do not");
}

#[test]
fn ckermit_10_beta_answers_minus_one_to_a_resend_of_what_it_does_not_have() {
    let _turn = crate::turn();
    let Some(_) = ckermit() else { return };
    let scene = Scene::new();
    let mode = Mode { flags: vec!["--resume".into()], ..logged(&scene) };
    let file = scene.file("from/a.bin", &material::random(20_000, 10));
    let done = Session::we_send(&scene, Over::TcpToUs, &mode, from_ref(&file)).run();
    let done = done.and_then(Transfer::well).unwrap_or_else(|why| panic!("{why}"));
    same(&file, &done.into.join("a.bin")).unwrap_or_else(|why| panic!("{why}"));
    let minus = contains(&packets(&scene), b"Y1\"-1");
    assert_eq!(minus, is_beta_08(), "C-Kermit 10.0 beta claims to have -1 bytes, others do not");
}

#[test]
fn wst_regets_nothing_it_did_not_ask_for() {
    let _turn = crate::turn();
    // A part under another file's name stays what it is: resuming needs the sender's offer.
    let Some(_) = ckermit() else { return };
    let scene = Scene::new();
    let mode = Mode { flags: vec!["--set=store.resume=existing".into()], ..Mode::default() };
    let file = scene.file("from/a.bin", b"whole");
    scene.file("in/a.bin", b"wh");
    let done = Session::they_send(&scene, Over::TcpToUs, &mode, from_ref(&file)).run();
    let done = done.and_then(Transfer::well).unwrap_or_else(|why| panic!("{why}"));
    same(&file, &done.into.join("a.bin")).unwrap_or_else(|why| panic!("{why}"));
    let aside = scene.path("in/a.bin.~1~");
    same(&aside, &scene.file("expected", b"wh")).expect("untouched");
}
