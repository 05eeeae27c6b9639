//! Our `sz`, `rz`, `sx`, `rx`, `sb` and `rb` against lrzsz's, joined by two pipes with nothing in
//! between, as a script or a terminal program would start them.

use crate::peers;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use peers::lrzsz::{arrived, batch, join, lrzsz, padded, personality};
use peers::{End, Scene, all, material, same};

/// lrzsz waits up to 10 seconds when it has thrown away what it waits for.
const LIMIT: Duration = Duration::from_secs(60);

/// Two command lines, and which of them is ours.
#[derive(Clone, Copy, Debug)]
struct Job {
    our_sender: bool,
    send: &'static str,
    receive: &'static str,
}

/// The same command lines, once with our sender and once with our receiver.
fn both(lines: &[(&'static str, &'static str)]) -> Vec<Job> {
    let jobs = |(send, receive): &(&'static str, &'static str)| {
        [true, false].map(|our_sender| Job { our_sender, send, receive })
    };
    lines.iter().flat_map(jobs).collect()
}

/// A command line, whose words are separated by blanks.
fn command(scene: &Scene, ours: bool, line: &str, dir: &Path) -> Command {
    let mut words = line.split(' ');
    let name = words.next().unwrap_or_default();
    let program = if ours {
        personality(scene, name)
    } else {
        PathBuf::from(name.strip_prefix('l').unwrap_or(name))
    };
    let mut command = Command::new(program);
    command.args(words).current_dir(dir);
    command
}

fn run(scene: &Scene, job: &Job, files: &[PathBuf]) -> Result<(End, End), String> {
    let (from, into) = (scene.folder("from"), scene.folder("in"));
    let mut sender = command(scene, job.our_sender, job.send, &from);
    sender.args(files);
    let receiver = command(scene, !job.our_sender, job.receive, &into);
    join(scene, sender, receiver, LIMIT)
}

fn well(scene: &Scene, job: &Job, files: &[PathBuf]) -> Result<(), String> {
    let ends = run(scene, job, files)?;
    if ends.0.code == 0 && ends.1.code == 0 { Ok(()) } else { Err(format!("{ends:?}")) }
}

fn material() -> Vec<u8> {
    let mut bytes = material::runs();
    bytes.extend(material::random(50_000, 80));
    bytes
}

#[test]
fn sz_and_rz() {
    let Some(_) = lrzsz() else { return };
    let bytes = material();
    let lines = [
        ("sz -b", "rz -b"),
        ("sz -vv -b -e", "rz -y -E -r"),
        ("lsz -q -b -o", "lrz -q -b"),
        ("sz -b -w 4096", "rz -b -e"),
        ("sz -b -L 128 -l 1024", "rz"),
        ("sz -b -8", "rz -b -y"),
        ("sz -b -y", "rz -b"),
        ("sz --binary --escape --windowsize 8192", "rz --binary --overwrite"),
    ];
    all(&both(&lines), 4, |job| {
        let scene = Scene::new();
        let files = batch(&scene, &bytes);
        well(&scene, job, &files)?;
        arrived(&files, &scene.folder("in"))
    });
}

#[test]
fn sb_and_rb() {
    let Some(_) = lrzsz() else { return };
    let lines = [("sb", "rb"), ("sb -k", "rb"), ("sz --ymodem", "rz --ymodem"), ("lsb -q", "lrb")];
    all(&both(&lines), 8, |job| {
        let scene = Scene::new();
        let files = batch(&scene, &material::every_byte());
        well(&scene, job, &files)?;
        arrived(&files, &scene.folder("in"))
    });
}

#[test]
fn sx_and_rx() {
    let Some(_) = lrzsz() else { return };
    let lines = [
        ("sx", "rx a.bin"),
        ("sx -k", "rx -c a.bin"),
        ("sx -k", "rx a.bin"),
        ("sx", "lrz -X -y -c -b a.bin"),
        ("lsz -b -X -m 1200 -M 10", "rx a.bin"),
    ];
    all(&both(&lines), 8, |job| {
        let scene = Scene::new();
        let file = scene.file("from/a.bin", &material::every_byte());
        well(&scene, job, std::slice::from_ref(&file))?;
        padded(&file, &scene.path("in/a.bin"))
    });
}

#[test]
fn resuming_and_files_that_exist() {
    let Some(_) = lrzsz() else { return };
    let bytes = material::random(200_000, 81);
    // What is in the receiver's directory before, and whether the file comes to be whole there.
    let part = &bytes[..120_000];
    let mut jobs: Vec<(Job, &[u8], bool)> = Vec::new();
    for job in both(&[("sz -b -r", "rz -b -r"), ("sz -b", "rz -b -r")]) {
        jobs.push((job, part, true));
    }
    // Our rz resumes a file under its own name only if its own flags say so.
    jobs.push((Job { our_sender: true, send: "sz -b -r", receive: "rz -b" }, part, true));
    jobs.push((Job { our_sender: false, send: "sz -b -r", receive: "rz -b" }, part, false));
    jobs.extend(both(&[("sz -b", "rz -b -y")]).into_iter().map(|job| (job, &b"old"[..], true)));
    jobs.extend(both(&[("sz -b", "rz -b -p")]).into_iter().map(|job| (job, &b"old"[..], false)));
    all(&jobs, 4, |(job, before, whole)| {
        let scene = Scene::new();
        let file = scene.file("from/a.bin", &bytes);
        let there = scene.file("in/a.bin", before);
        let ends = run(&scene, job, std::slice::from_ref(&file))?;
        if *whole {
            same(&file, &there).map_err(|why| format!("{why}: {ends:?}"))?;
            let well = ends.0.code == 0 && ends.1.code == 0;
            return if well { Ok(()) } else { Err(format!("{ends:?}")) };
        }
        let kept = std::fs::read(&there).map_err(|e| e.to_string())?;
        peers::same_bytes(before, &kept).map_err(|why| format!("{why}: {ends:?}"))
    });
}

/// A file that is here and is not the beginning of the one that comes stays as it is; it is one
/// file that was missed, and resuming would not help.
#[test]
fn another_file_of_the_name_is_not_continued() {
    let Some(_) = lrzsz() else { return };
    let bytes = material::random(50_000, 82);
    let mut part = bytes[..20_000].to_vec();
    part[9] ^= 1;
    // With -r the CRCs differ; without it, the name is taken.
    let jobs = [("sz -b -r", "rz -b -r"), ("sz -b -r", "rz -b")];
    all(&jobs, 2, |(send, receive)| {
        let scene = Scene::new();
        let file = scene.file("from/a.bin", &bytes);
        let there = scene.file("in/a.bin", &part);
        let job = Job { our_sender: false, send, receive };
        let ends = run(&scene, &job, std::slice::from_ref(&file))?;
        let said = &ends.1.said;
        let well =
            ends.1.code == 1 && said.contains("1 file skipped") && !said.contains("--resume");
        if !well {
            return Err(format!("{ends:?}"));
        }
        let names: Vec<_> = std::fs::read_dir(scene.folder("in")).expect("a folder").collect();
        if names.len() != 1 {
            return Err(format!("{names:?}"));
        }
        let kept = std::fs::read(&there).map_err(|e| e.to_string())?;
        peers::same_bytes(&part, &kept)
    });
}

#[test]
fn commands_both_ways() {
    let Some(_) = lrzsz() else { return };
    let (does, told) = ("touch${IFS}done;exit${IFS}3", "exit${IFS}4");
    let line = |flag: &str, what: &str| -> &'static str {
        Box::leak(format!("sz {flag} {what}").into_boxed_str())
    };
    // Whose sender, which lines, the sender's code, whether it was run. lrzsz's rz runs commands
    // with -U -C only, and has an error of its own in -i.
    let jobs: Vec<(Job, i32, bool)> = vec![
        (Job { our_sender: true, send: line("-c", does), receive: "rz -U -C" }, 3, true),
        (Job { our_sender: true, send: line("-c", told), receive: "rz -U -C" }, 4, false),
        (Job { our_sender: true, send: line("-c", does), receive: "rz" }, 126, false),
        (Job { our_sender: false, send: line("-c", does), receive: "rz -C" }, 3, true),
        (
            Job { our_sender: false, send: line("-i", does), receive: "rz --allow-commands" },
            0,
            true,
        ),
        (Job { our_sender: false, send: line("-c", does), receive: "rz" }, 1, false),
        (Job { our_sender: false, send: line("-c", does), receive: "rz -C -R" }, 1, false),
    ];
    all(&jobs, 3, |(job, code, done)| {
        let scene = Scene::new();
        let ends = run(&scene, job, &[])?;
        let there = scene.path("in/done").exists();
        if ends.0.code == *code && there == *done { Ok(()) } else { Err(format!("{ends:?}")) }
    });
}
