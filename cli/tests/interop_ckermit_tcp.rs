//! C-Kermit over raw TCP: every combination of the usual settings, both directions.

use crate::peers;

use std::fs::File;
use std::slice::from_ref;
use std::time::{Duration, UNIX_EPOCH};

use peers::ckermit::{Mode, Over, Session};
use peers::{Scene, all, ckermit, material, same};

/// Every combination of streaming, window, length, check and prefixing.
fn combinations() -> Vec<Mode> {
    let mut modes = Vec::new();
    for (streaming, window) in [(true, 31), (false, 1), (false, 10), (false, 31)] {
        for length in [94, 1000, 9024] {
            for check in ['1', '2', '3', 'B'] {
                for prefix in ["all", "cautious", "none"] {
                    let streaming = Some(streaming);
                    let mode = Mode { streaming, window, length, check, prefix, ..Mode::default() };
                    modes.push(mode);
                }
            }
        }
    }
    modes
}

fn material() -> Vec<u8> {
    let mut bytes = material::runs();
    bytes.extend(material::random(20_000, 1));
    bytes
}

#[test]
fn ckermit_sends_to_wst_with_every_combination() {
    let Some(_) = ckermit() else { return };
    let bytes = material();
    all(&combinations(), 4, |mode| {
        let scene = Scene::new();
        let file = scene.file("from/runs.bin", &bytes);
        let session = Session::they_send(&scene, Over::TcpToUs, mode, from_ref(&file));
        let done = session.run()?.well()?;
        same(&file, &done.into.join("runs.bin"))
    });
}

#[test]
fn wst_sends_to_ckermit_with_every_combination() {
    let Some(_) = ckermit() else { return };
    let bytes = material();
    // C-Kermit throws away what comes before it is ready; most of the time here is waiting.
    all(&combinations(), 16, |mode| {
        let scene = Scene::new();
        let file = scene.file("from/runs.bin", &bytes);
        let session = Session::we_send(&scene, Over::TcpToUs, mode, from_ref(&file));
        let done = session.run()?.well()?;
        same(&file, &done.into.join("runs.bin"))
    });
}

#[test]
fn wst_connects_to_a_listening_ckermit() {
    let Some(_) = ckermit() else { return };
    let bytes = material();
    let modes = [Mode::default(), Mode { streaming: Some(false), window: 10, ..Mode::default() }];
    let jobs: Vec<(bool, Mode)> =
        modes.iter().flat_map(|mode| [(true, mode.clone()), (false, mode.clone())]).collect();
    all(&jobs, 4, |(we_send, mode)| {
        let scene = Scene::new();
        let file = scene.file("from/runs.bin", &bytes);
        let over = Over::TcpToThem;
        let session = if *we_send {
            Session::we_send(&scene, over, mode, from_ref(&file))
        } else {
            Session::they_send(&scene, over, mode, from_ref(&file))
        };
        let done = session.run()?.well()?;
        same(&file, &done.into.join("runs.bin"))
    });
}

#[test]
fn dates_are_right_in_every_zone_and_season() {
    let Some(_) = ckermit() else { return };
    // 2026-01-15 12:00 and 2026-07-15 12:00 UTC.
    let seasons = [("winter", 1_768_478_400), ("summer", 1_784_116_800)];
    let mut jobs = Vec::new();
    for zone in ["UTC", "America/New_York", "Asia/Kolkata"] {
        jobs.extend([(zone, true), (zone, false)]);
    }
    all(&jobs, 3, |(zone, we_send)| {
        let (scene, mode) = (Scene::new().zone(zone), Mode::default());
        let files = seasons.map(|(name, date)| {
            let path = scene.file(&format!("from/{name}"), b"a day");
            let file = File::options().write(true).open(&path).expect("the file");
            file.set_modified(UNIX_EPOCH + Duration::from_secs(date)).expect("its date");
            path
        });
        let begin = if *we_send { Session::we_send } else { Session::they_send };
        let done = begin(&scene, Over::TcpToUs, &mode, &files).run()?.well()?;
        for (name, date) in seasons {
            let arrived = std::fs::metadata(done.into.join(name)).and_then(|file| file.modified());
            let arrived = arrived.map_err(|e| e.to_string())?.duration_since(UNIX_EPOCH);
            let arrived = arrived.map_err(|e| e.to_string())?.as_secs();
            if arrived != date {
                return Err(format!("{name}: expected {date}, got {arrived}"));
            }
        }
        Ok(())
    });
}
