//! The command lines that scripts and people have, by our `sz`, `rz`, `sx`, `rx`, `sb` and `rb` on a
//! terminal, a TCP connection and pipes, with lrzsz at the peer.

use crate::peers;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use peers::lrzsz::{EVERYWHERE, Over, arrived, batch, lrzsz, padded};
use peers::wired::{Wired, line, wired};
use peers::{Scene, all, material, same};

const LIMIT: Duration = Duration::from_secs(60);

/// Command lines of sender and receiver, and which of them is ours.
type Job = (Over, bool, &'static str, &'static str);

fn everywhere(lines: &[(&'static str, &'static str)]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for over in EVERYWHERE {
        for ours in [true, false] {
            jobs.extend(lines.iter().map(|(send, receive)| (over, ours, *send, *receive)));
        }
    }
    jobs
}

fn run(scene: &Scene, job: &Job, more: &[&Path]) -> Result<Wired, String> {
    let (over, we_send, send, receive) = *job;
    let (from, into) = (scene.folder("from"), scene.folder("in"));
    let mut sender = line(scene, we_send, send, &from);
    sender.args(more);
    let receiver = line(scene, !we_send, receive, &into);
    let (ours, theirs) = if we_send { (sender, receiver) } else { (receiver, sender) };
    wired(scene, over, ours, theirs, LIMIT)
}

fn bytes() -> Vec<u8> {
    let mut bytes = material::every_byte();
    bytes.extend(material::random(3000, 90));
    bytes
}

#[test]
fn xmodem_command_lines() {
    let Some(_) = lrzsz() else { return };
    let lines = [
        ("lsz -b -X -m 1200 -M 10 a.bin", "lrz -X -y -c -b a.bin"),
        ("lsz -b -X -m 1200 -M 10 a.bin", "rx a.bin"),
        ("sx -k a.bin", "rx a.bin"),
    ];
    all(&everywhere(&lines), 18, |job| {
        let scene = Scene::new();
        let file = scene.file("from/a.bin", &bytes());
        run(&scene, job, &[])?.well()?;
        padded(&file, &scene.path("in/a.bin"))
    });
}

#[test]
fn batches_by_zmodem_and_ymodem() {
    let Some(_) = lrzsz() else { return };
    let lines = [
        ("sz -vv -b -e", "rz -y -E -r"),
        ("sz", "rz"),
        ("sb", "rb"),
        ("sz --ymodem", "rz --ymodem"),
    ];
    all(&everywhere(&lines), 8, |job| {
        let scene = Scene::new();
        let files = batch(&scene, &bytes());
        let paths: Vec<&Path> = files.iter().map(AsRef::as_ref).collect();
        run(&scene, job, &paths)?.well()?;
        arrived(&files, &scene.folder("in"))
    });
}

#[test]
fn resuming_and_skipping() {
    let Some(_) = lrzsz() else { return };
    let bytes = material::random(200_000, 91);
    let lines = [("sz -b -r a.bin b.bin", "rz -b -r"), ("sz -b a.bin b.bin", "rz -b -p")];
    all(&everywhere(&lines), 4, |job| {
        let scene = Scene::new();
        let file = scene.file("from/a.bin", &bytes);
        let other = scene.file("from/b.bin", &bytes[..500]);
        let there = scene.file("in/a.bin", &bytes[..120_000]);
        let done = run(&scene, job, &[])?;
        same(&other, &scene.path("in/b.bin")).map_err(|why| format!("{why}: {done:?}"))?;
        if job.2.contains("-r") {
            let wire = if job.1 { done.from_ours.len() } else { done.to_ours.len() };
            // A part of it was there, and did not come again.
            if wire > 100_000 {
                return Err(format!("expected 80000 bytes and a little, {wire} came"));
            }
            done.well()?;
            return same(&file, &there);
        }
        // That a file was skipped is told, by exit code 1, unless our own end was asked to.
        let wanted = i32::from(job.1);
        if (done.ours.code, done.theirs.code) != (wanted, 0) {
            return Err(format!("expected exit code {wanted}: {:?}", done.ours));
        }
        let kept = std::fs::read(&there).map_err(|e| e.to_string())?;
        peers::same_bytes(&bytes[..120_000], &kept)
    });
}

/// `rz` offers ZMODEM for five times as long as `-t` says (10 s), then YMODEM. lrzsz's `sb` takes the
/// first offer that it sees, so it comes late, and what was said before goes by.
#[test]
fn rz_turns_to_ymodem() {
    let Some(_) = lrzsz() else { return };
    all(&EVERYWHERE, 3, |over| {
        let scene = Scene::new();
        let files = ["a.bin", "b.bin"].map(|name| scene.file(&format!("from/{name}"), &bytes()));
        let (from, into) = (scene.folder("from"), scene.folder("in"));
        let ours = line(&scene, true, "rz -b -t 10", &into);
        let mut late = Command::new("sh");
        late.args(["-c", "timeout 5.2 cat >/dev/null; exec sb a.bin b.bin"]).current_dir(from);
        let done = wired(&scene, *over, ours, late, LIMIT)?.well()?;
        let offers = done.from_ours.windows(6).filter(|at| at == b"**\x18B01").count();
        let asks = done.from_ours.windows(2).any(|at| at == b"\x06C");
        if offers < 2 || !asks || done.took < Duration::from_secs(5) {
            let wire = done.from_ours.escape_ascii();
            return Err(format!("expected offers, then YMODEM: {:?}, {wire}", done.took));
        }
        arrived(&files, &into)
    });
}

/// `sz` and `sx` obey a receiver that asks for YMODEM.
#[test]
fn sz_is_asked_for_ymodem() {
    let Some(_) = lrzsz() else { return };
    let jobs: [Job; 3] = EVERYWHERE.map(|over| (over, true, "sz a.bin b.bin", "rb"));
    all(&jobs, 3, |job| {
        let scene = Scene::new();
        let files = ["a.bin", "b.bin"].map(|name| scene.file(&format!("from/{name}"), &bytes()));
        run(&scene, job, &[])?.well()?;
        arrived(&files, &scene.folder("in"))
    });
}

/// `sz -` sends its stdin, and hears the peer by the terminal that it has.
#[test]
fn stdin_is_sent() {
    let Some(_) = lrzsz() else { return };
    let scene = Scene::new();
    let file = scene.file("from/a.bin", &material::random(100_000, 92));
    let into = scene.folder("in");
    let sz = line(&scene, true, "sz", &into).get_program().to_owned();
    for (name, arrives) in [("", None), ("named by hand", Some("named by hand"))] {
        let mut ours = Command::new("setsid");
        let pipe = format!("cat {} | exec {} -b -", file.display(), sz.display());
        ours.args(["-c", "-w", "sh", "-c", &pipe]).env("ONAME", name);
        let theirs = line(&scene, false, "rz -b", &into);
        let done = wired(&scene, Over::Pty, ours, theirs, LIMIT).and_then(Wired::well);
        done.unwrap_or_else(|why| panic!("{why}"));
        let names = std::fs::read_dir(&into).expect("the directory");
        let names: Vec<String> =
            names.flatten().map(|entry| entry.file_name().to_string_lossy().into()).collect();
        assert_eq!(names.len(), 1, "{names:?}");
        if let Some(name) = arrives {
            assert_eq!(names[0], name);
        } else {
            let process = names[0].strip_prefix('s').and_then(|rest| rest.strip_suffix(".sz"));
            let number = process.is_some_and(|digits| digits.parse::<u32>().is_ok());
            assert!(number, "{names:?}");
        }
        same(&file, &into.join(&names[0])).unwrap_or_else(|why| panic!("{why}"));
        std::fs::remove_file(into.join(&names[0])).expect("it is there");
    }
}
