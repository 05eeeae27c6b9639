//! lrzsz's `sz` and `rz` and our ZMODEM: over pipes, a PTY and TCP, in both directions.

use crate::peers;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use peers::lrzsz::{Done, EVERYWHERE, Over, arrived, batch, lrzsz, run, words};
use peers::{LIMIT, Scene, WST, all, last_event, material, same};

/// Settings of ours and options of lrzsz.
type Job = (Over, &'static [&'static str], &'static str);

fn everywhere(modes: &[(&'static [&'static str], &'static str)]) -> Vec<Job> {
    let over = |over| modes.iter().map(move |(flags, options)| (over, *flags, *options));
    EVERYWHERE.into_iter().flat_map(over).collect()
}

fn send(flags: &[&str], files: &[PathBuf]) -> Vec<OsString> {
    let mut args = words(&["send", "-P", "zmodem", "--json"]);
    args.extend(words(flags));
    args.extend(words(files));
    args
}

fn receive(flags: &[&str], scene: &Scene) -> Vec<OsString> {
    let mut args = words(&["receive", "-P", "zmodem", "--json", "--output"]);
    args.push(scene.folder("in").into());
    args.extend(words(flags));
    args
}

fn material() -> Vec<u8> {
    let mut bytes = material::runs();
    bytes.extend(material::random(50_000, 60));
    bytes
}

#[test]
fn wst_sends_batches_to_rz() {
    let Some(_) = lrzsz() else { return };
    let bytes = material();
    let modes: &[(&[&str], &str)] = &[
        (&[], "rz -b"),
        (&[], "rz -b -e"),
        (&["--crc32=off"], "rz -b"),
        (&["--escape=controls"], "rz -b"),
        (&["--escape=turbo"], "rz -b"),
        (&["--window=4096"], "rz -b"),
        (&["--window=1024", "--send-length=256", "--crc32=off"], "rz -b -e"),
        (&["--send-length=128"], "rz -b"),
        (&["--conversion=unsaid"], "rz"),
        (&["--rle=on", "--variable-headers=on"], "rz -b"),
        (&["--autostart=off"], "rz -b"),
    ];
    all(&everywhere(modes), 4, |(over, flags, command)| {
        let scene = Scene::new();
        let (files, into) = (batch(&scene, &bytes), scene.folder("in"));
        run(&scene, *over, &send(flags, &files), &into, command, LIMIT)?.well()?;
        arrived(&files, &into)
    });
}

#[test]
fn sz_sends_batches_to_wst() {
    let Some(_) = lrzsz() else { return };
    let bytes = material();
    let modes: &[(&[&str], &str)] = &[
        (&[], "sz -b *"),
        (&[], "sz -b -e *"),
        (&[], "sz -b -o *"),
        (&[], "sz -b -w 4096 *"),
        (&[], "sz -b -l 2048 *"),
        (&[], "sz -b -L 64 -o -e *"),
        (&[], "sz -b -4 *"),
        (&[], "sz -b -8 *"),
        (&[], "sz *"),
        (&["--crc32=off"], "sz -b *"),
        (&["--escape=controls"], "sz -b *"),
        (&["--receive-buffer=1024"], "sz -b *"),
        (&["--challenge=12345"], "sz -b *"),
        (&["--rle=on", "--variable-headers=on"], "sz -b *"),
    ];
    all(&everywhere(modes), 4, |(over, flags, command)| {
        let scene = Scene::new();
        let files = batch(&scene, &bytes);
        let args = receive(flags, &scene);
        run(&scene, *over, &args, &scene.folder("from"), command, LIMIT)?.well()?;
        arrived(&files, &scene.folder("in"))
    });
}

/// Without `-P` a receiver sees by itself that it is ZMODEM.
#[test]
fn sz_is_recognised() {
    let Some(_) = lrzsz() else { return };
    all(&EVERYWHERE, 3, |over| {
        let scene = Scene::new();
        let files = batch(&scene, &material::every_byte());
        let mut args = words(&["receive", "--output"]);
        args.push(scene.folder("in").into());
        run(&scene, *over, &args, &scene.folder("from"), "sz -b *", LIMIT)?.well()?;
        arrived(&files, &scene.folder("in"))
    });
}

#[test]
fn sixty_four_mebibytes_everywhere() {
    let Some(_) = lrzsz() else { return };
    let bytes = material::random(64 << 20, 61);
    // One after the other: each has the whole machine.
    all(&EVERYWHERE, 1, |over| {
        let scene = Scene::new();
        let file = scene.file("from/big.bin", &bytes);
        let (from, into) = (scene.folder("from"), scene.folder("in"));
        let limit = Duration::from_secs(100);
        let args = send(&[], std::slice::from_ref(&file));
        let there = run(&scene, *over, &args, &into, "rz -b", limit)?.well()?;
        same(&file, &into.join("big.bin"))?;
        fs::remove_file(into.join("big.bin")).map_err(|e| e.to_string())?;
        let args = receive(&[], &scene);
        let back = run(&scene, *over, &args, &from, "sz -b big.bin", limit)?.well()?;
        same(&file, &into.join("big.bin"))?;
        println!("64 MiB, {over:?}: to rz {:?}, from sz {:?}", there.took, back.took);
        Ok(())
    });
}

fn bytes_of(done: &Done, counter: &str) -> Result<u64, String> {
    let event = last_event(&done.wst)?;
    event["stats"][counter].as_u64().ok_or_else(|| format!("expected {counter} in {event}"))
}

#[test]
fn wst_resumes_at_rz() {
    let Some(_) = lrzsz() else { return };
    let bytes = material::random(300_000, 62);
    // How much of it is there; and whether the shell asks for resuming, or the sender.
    let jobs = [
        (0, &["--resume"][..], "rz -b"),
        (200_000, &["--resume"], "rz -b"),
        (200_000, &[], "rz -b -r"),
        (300_000, &["--resume"], "rz -b"),
    ];
    all(&jobs, 4, |(there, flags, command)| {
        let scene = Scene::new();
        let file = scene.file("from/a.bin", &bytes);
        scene.file("in/a.bin", &bytes[..*there]);
        let into = scene.folder("in");
        let done = run(
            &scene,
            Over::Pipe,
            &send(flags, std::slice::from_ref(&file)),
            &into,
            command,
            LIMIT,
        )?;
        let sent = bytes_of(&done, "wire_out_bytes")?;
        let rest = (bytes.len() - there) as u64;
        if sent > rest + rest / 20 + 70_000 {
            return Err(format!("expected about {rest} bytes, {sent} were sent: {done:?}"));
        }
        same(&file, &into.join("a.bin"))
    });
}

#[test]
fn sz_resumes_at_wst() {
    let Some(_) = lrzsz() else { return };
    let bytes = material::random(300_000, 63);
    let jobs = [
        ("a.bin.part", 0, &[][..], "sz -b -r a.bin"),
        ("a.bin.part", 200_000, &[], "sz -b -r a.bin"),
        ("a.bin", 200_000, &["--resume=existing"], "sz -b -r a.bin"),
    ];
    all(&jobs, 4, |(name, there, flags, command)| {
        let scene = Scene::new();
        let file = scene.file("from/a.bin", &bytes);
        scene.file(&format!("in/{name}"), &bytes[..*there]);
        let (from, args) = (scene.folder("from"), receive(flags, &scene));
        let done = run(&scene, Over::Pipe, &args, &from, command, LIMIT)?.well()?;
        let got = bytes_of(&done, "wire_in_bytes")?;
        let rest = (bytes.len() - there) as u64;
        if got > rest + rest / 20 + 1000 {
            return Err(format!("expected about {rest} bytes, {got} came: {done:?}"));
        }
        same(&file, &scene.path("in/a.bin"))
    });
}

/// A part that is not a part of this file is not gone on with: the files' check is compared first.
#[test]
fn wst_does_not_resume_another_file() {
    let Some(_) = lrzsz() else { return };
    let bytes = material::random(100_000, 64);
    let scene = Scene::new();
    let file = scene.file("from/a.bin", &bytes);
    let mut part = bytes[..50_000].to_vec();
    part[7] ^= 1;
    scene.file("in/a.bin.part", &part);
    let (from, args) = (scene.folder("from"), receive(&[], &scene));
    let done = run(&scene, Over::Pipe, &args, &from, "sz -b -r a.bin", LIMIT);
    let done = done.unwrap_or_else(|why| panic!("{why}"));
    assert_eq!((done.code, done.wst.code), (0, 0), "{done:?}");
    assert!(!done.wst.said.contains("--resume"), "{done:?}");
    let left: Vec<_> = fs::read_dir(scene.folder("in")).expect("it is there").flatten().collect();
    // It may be a user's, so it stays as it is.
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(fs::read(scene.path("in/a.bin.part")).ok(), Some(part));
    // The file came as a whole.
    assert!(bytes_of(&done, "wire_in_bytes").is_ok_and(|came| came > 100_000), "{done:?}");
    same(&file, &scene.path("in/a.bin")).unwrap_or_else(|why| panic!("{why}"));
}

/// Between two of ours: lrzsz's `rz` 0.12.21 asks for the CRC (ZMCRC) and replaces the file in any
/// case, and its `sz` cannot say the wish.
#[test]
fn a_file_is_replaced_only_if_its_check_differs() {
    let bytes = material::random(40_000, 66);
    let mut other = bytes.clone();
    other[20_000] ^= 1;
    all(&[(&bytes, false), (&other, true)], 2, |(there, replaced)| {
        let scene = Scene::new();
        let file = scene.file("from/a.bin", &bytes);
        let copy = scene.file("in/a.bin", there);
        let mut args = send(&["--wish=different-check"], std::slice::from_ref(&file));
        let receiver = format!(
            "{WST} receive -P zmodem --collision=replace -o {} - 2>/dev/null",
            scene.folder("in").display()
        );
        args.push(format!("exec:{receiver}").into());
        let ended = scene.start("wst", &mut peers::wst(args))?.wait(LIMIT)?;
        if ended.code != i32::from(!replaced) {
            return Err(format!("expected {replaced}, got {ended:?}"));
        }
        same(&file, &copy)
    });
}

#[test]
fn an_existing_file_is_skipped_and_the_rest_arrives() {
    let Some(_) = lrzsz() else { return };
    let (new, old) = (material::random(40_000, 65), b"what was here before".to_vec());
    let jobs: Vec<(Over, bool)> =
        EVERYWHERE.iter().flat_map(|over| [(*over, true), (*over, false)]).collect();
    all(&jobs, 4, |(over, we_send)| {
        let scene = Scene::new();
        let files = ["a.bin", "b.bin", "c.bin"].map(|n| scene.file(&format!("from/{n}"), &new));
        scene.file("in/b.bin", &old);
        let (from, into) = (scene.folder("from"), scene.folder("in"));
        let done = if *we_send {
            run(&scene, *over, &send(&[], &files), &into, "rz -b -p", LIMIT)?
        } else {
            let args = receive(&["--collision=reject"], &scene);
            run(&scene, *over, &args, &from, "sz -b *", LIMIT)?
        };
        // "Some were skipped" is our end's code, whichever end wished it.
        if done.wst.code != 1 {
            return Err(format!("expected exit code 1: {done:?}"));
        }
        // Once, and only where the user has not said so here.
        let advised = format!("{:?}", done.wst).matches("rz -y overwrites it").count();
        if advised != usize::from(*we_send) {
            return Err(format!("expected advice about rz -y: {done:?}"));
        }
        arrived(&[files[0].clone(), files[2].clone()], &into)?;
        let kept = fs::read(into.join("b.bin")).map_err(|e| e.to_string())?;
        peers::same_bytes(&old, &kept)
    });
}
