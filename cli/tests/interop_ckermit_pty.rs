//! C-Kermit over PTYs, each of the two as the remote end: settings, 7-bit lines, text.

use crate::peers;

use std::slice::from_ref;

use peers::ckermit::{Mode, Over, Session};
use peers::{Scene, all, ckermit, material, same, same_bytes};

/// One transfer to be made.
#[derive(Clone, Debug)]
struct Job {
    over: Over,
    we_send: bool,
    mode: Mode,
}

/// Each mode in both directions over each kind of PTY.
fn jobs(modes: &[Mode], lines: &[Over]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for mode in modes {
        for over in lines {
            for we_send in [true, false] {
                jobs.push(Job { over: *over, we_send, mode: mode.clone() });
            }
        }
    }
    jobs
}

const PTYS: [Over; 2] = [Over::OurPty, Over::TheirPty];

fn transfer(job: &Job, bytes: &[u8]) -> Result<(), String> {
    let scene = Scene::new();
    let file = scene.file("from/runs.bin", bytes);
    let session = if job.we_send {
        Session::we_send(&scene, job.over, &job.mode, from_ref(&file))
    } else {
        Session::they_send(&scene, job.over, &job.mode, from_ref(&file))
    };
    let done = session.run()?.well()?;
    same(&file, &done.into.join("runs.bin"))
}

/// Settings that cover each pair of values of two of them at least once.
fn covering() -> Vec<Mode> {
    let streaming = [(true, 31), (false, 1), (false, 10), (false, 31)];
    let mut modes = Vec::new();
    for (row, (on, window)) in streaming.into_iter().enumerate() {
        for (column, check) in ['1', '2', '3', 'B'].into_iter().enumerate() {
            let length = [94, 1000, 9024][(row + column) % 3];
            // Bare XON and XOFF would stop a terminal: NONE is for TCP.
            let prefix = ["all", "cautious"][(row + column / 2) % 2];
            let streaming = Some(on);
            modes.push(Mode { streaming, window, length, check, prefix, ..Mode::default() });
        }
    }
    modes.push(Mode::default());
    modes
}

#[test]
fn settings_over_ptys() {
    let Some(_) = ckermit() else { return };
    let mut bytes = material::runs();
    bytes.extend(material::random(10_000, 2));
    all(&jobs(&covering(), &PTYS), 4, |job| transfer(job, &bytes));
}

#[test]
fn seven_bits_with_single_and_locking_shifts() {
    let Some(_) = ckermit() else { return };
    let mut bytes = material::every_byte();
    bytes.extend(material::latin1());
    bytes.extend(material::runs());
    let mut modes = Vec::new();
    for shift in ["off", "on", "forced"] {
        for window in [1, 31] {
            let parity = Some("even");
            let streaming = Some(false);
            modes.push(Mode { parity, shift, window, streaming, length: 1000, ..Mode::default() });
        }
        modes.push(Mode { parity: Some("even"), shift, ..Mode::default() });
    }
    let lines = [Over::OurPty, Over::TheirPty, Over::TcpToUs];
    all(&jobs(&modes, &lines), 8, |job| transfer(job, &bytes));
}

#[test]
fn the_other_parities_given_and_sensed() {
    let Some(_) = ckermit() else { return };
    let bytes = material::runs();
    let mut modes = Vec::new();
    for parity in ["odd", "mark", "space"] {
        modes.push(Mode { parity: Some(parity), ..Mode::default() });
    }
    all(&jobs(&modes, &[Over::TcpToUs]), 8, |job| transfer(job, &bytes));
    // Sensed from the first packet: only the receiver can do it.
    let sensed: Vec<Job> = ["even", "odd", "mark"]
        .into_iter()
        .map(|parity| Mode { their_parity: Some(parity), ..Mode::default() })
        .map(|mode| Job { over: Over::TcpToUs, we_send: false, mode })
        .collect();
    all(&sensed, 4, |job| transfer(job, &bytes));
}

#[test]
fn text_keeps_its_lines() {
    let Some(_) = ckermit() else { return };
    let mut text = material::c_source(40_000);
    text.extend_from_slice(b"\n\n\n\x0b\x0c tab\there, no line end at the end: \xe9\xdf");
    let modes = [
        Mode { text: true, ..Mode::default() },
        Mode { text: true, streaming: Some(false), length: 94, ..Mode::default() },
        Mode { text: true, parity: Some("even"), ..Mode::default() },
    ];
    all(&jobs(&modes, &[Over::OurPty, Over::TheirPty, Over::TcpToUs]), 8, |job| {
        transfer(job, &text)
    });
}

#[test]
fn one_byte_no_byte_and_a_hundred_files() {
    let Some(_) = ckermit() else { return };
    let lines = [Over::OurPty, Over::TheirPty, Over::TcpToUs];
    all(&jobs(&[Mode::default()], &lines), 6, |job| {
        let scene = Scene::new();
        let mut files = vec![scene.file("from/empty", b""), scene.file("from/one", b"\x81")];
        for number in 0..100usize {
            let bytes = material::random(number * 37, number as u64);
            files.push(scene.file(&format!("from/small.{number}"), &bytes));
        }
        let session = if job.we_send {
            Session::we_send(&scene, job.over, &job.mode, &files)
        } else {
            let first = format!("send {}/*", scene.path("from").display());
            Session::they_send(&scene, job.over, &job.mode, &files).command(first)
        };
        let done = session.run()?.well()?;
        let count = std::fs::read_dir(&done.into).map_err(|e| e.to_string())?.count();
        if count != files.len() {
            return Err(format!("expected {} files, got {count}", files.len()));
        }
        files.iter().try_for_each(|file| {
            same(file, &done.into.join(file.file_name().unwrap_or_default()))
                .map_err(|e| format!("{}: {e}", file.display()))
        })
    });
}

#[test]
fn sixty_four_mebibytes_over_tcp() {
    let Some(_) = ckermit() else { return };
    let bytes = material::random(64 << 20, 3);
    for we_send in [true, false] {
        let job = Job { over: Over::TcpToUs, we_send, mode: Mode::default() };
        if let Err(why) = transfer(&job, &bytes) {
            panic!("{job:?}: {why}");
        }
    }
    assert!(same_bytes(&bytes, &bytes[1..]).is_err(), "the comparison sees a difference");
}
