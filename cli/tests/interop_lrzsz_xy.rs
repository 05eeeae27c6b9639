//! lrzsz's `sx`, `rx`, `sb` and `rb` and our XMODEM and YMODEM: over pipes, a PTY and TCP, in both
//! directions.
//!
//! lrzsz throws its input away after each answer and sees the end only after a second of silence;
//! the tests mostly wait for that, and run in parallel.

use crate::peers;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use peers::lrzsz::{Done, EVERYWHERE, Over, arrived, lrzsz, names, padded, run, words};
use peers::{LIMIT, Scene, all, last_event, material, same, same_bytes};

/// A protocol of ours, further settings, and what lrzsz is told.
type Job = (Over, &'static str, &'static [&'static str], &'static str);

/// Waits of these many transfers overlap.
const AT_ONCE: usize = 12;

fn everywhere(modes: &[(&'static str, &'static [&'static str], &'static str)]) -> Vec<Job> {
    let over = |over| modes.iter().map(move |(name, flags, theirs)| (over, *name, *flags, *theirs));
    EVERYWHERE.into_iter().flat_map(over).collect()
}

fn send(protocol: &str, flags: &[&str], files: &[PathBuf]) -> Vec<OsString> {
    let mut args = words(&["send", "-P", protocol, "--json"]);
    args.extend(words(flags));
    args.extend(words(files));
    args
}

fn receive(protocol: &str, flags: &[&str], scene: &Scene) -> Vec<OsString> {
    let mut args = words(&["receive", "-P", protocol, "--output"]);
    args.push(scene.folder("in").into());
    args.extend(words(flags));
    args
}

/// All byte values, CAN and EOT first in their blocks among them; its length is odd, and its last
/// byte is no padding.
fn small() -> Vec<u8> {
    let mut bytes = material::every_byte();
    bytes.extend([0x18; 128 * 2]);
    bytes.extend([0x04; 128]);
    bytes.extend(material::random(1500, 70));
    bytes.push(0x55);
    bytes
}

/// The files of a YMODEM batch.
fn batch(scene: &Scene) -> Vec<PathBuf> {
    let dir = scene.folder("from");
    let [spaces, latin, utf] = names();
    let mut ends_in_padding = material::random(128, 71);
    ends_in_padding[100..].fill(0x1A);
    let files = [
        (OsString::from("0.bin"), small()),
        (OsString::from("1-empty.bin"), Vec::new()),
        (spaces, vec![0x1A]),
        (latin, material::random(1024, 72)),
        (utf, ends_in_padding),
    ];
    let write = |(name, bytes): (OsString, Vec<u8>)| {
        let path = dir.join(name);
        fs::write(&path, bytes).expect("the file is written");
        path
    };
    files.into_iter().map(write).collect()
}

#[test]
fn wst_sends_to_rx() {
    let Some(_) = lrzsz() else { return };
    let bytes = small();
    let modes: &[(&str, &[&str], &str)] = &[
        ("xmodem", &[], "rx a.bin"),
        ("xmodem-crc", &[], "rx -c a.bin"),
        ("xmodem-1k", &[], "rx -c a.bin"),
        // The receiver decides about the check.
        ("xmodem-crc", &[], "rx a.bin"),
        ("xmodem-1k", &[], "rx a.bin"),
        ("xmodem", &[], "rx -c a.bin"),
    ];
    all(&everywhere(modes), AT_ONCE, |(over, protocol, flags, command)| {
        let scene = Scene::new();
        let (file, into) = (scene.file("from/a.bin", &bytes), scene.folder("in"));
        let args = send(protocol, flags, std::slice::from_ref(&file));
        let done = run(&scene, *over, &args, &into, command, LIMIT)?.well()?;
        // rx takes long blocks with checksums too.
        let longest = last_event(&done.wst)?["stats"]["longest_packet_bytes"].as_u64();
        let data = if *protocol == "xmodem-1k" { 1024 } else { 128 };
        let check = if command.contains("-c") { 2 } else { 1 };
        if longest != Some(3 + data + check) {
            return Err(format!("expected blocks of {data}, got {longest:?}"));
        }
        padded(&file, &into.join("a.bin"))
    });
}

#[test]
fn sx_sends_to_wst() {
    let Some(_) = lrzsz() else { return };
    let bytes = small();
    let modes: &[(&str, &[&str], &str)] = &[
        ("xmodem", &[], "sx a.bin"),
        ("xmodem-crc", &[], "sx a.bin"),
        ("xmodem-1k", &[], "sx -k a.bin"),
        ("xmodem", &[], "sx -k a.bin"),
    ];
    all(&everywhere(modes), AT_ONCE, |(over, protocol, flags, command)| {
        let scene = Scene::new();
        let file = scene.file("from/a.bin", &bytes);
        let mut args = receive(protocol, flags, &scene);
        args.extend(words(&["--as", "b.bin"]));
        run(&scene, *over, &args, &scene.folder("from"), command, LIMIT)?.well()?;
        padded(&file, &scene.path("in/b.bin"))
    });
}

#[test]
fn padding_is_taken_off_when_asked() {
    let Some(_) = lrzsz() else { return };
    let bytes = small();
    let scene = Scene::new();
    scene.file("from/a.bin", &bytes);
    let args = receive("xmodem-crc", &["--as=b.bin", "--truncate-pad=on"], &scene);
    let done = run(&scene, Over::Pipe, &args, &scene.folder("from"), "sx a.bin", LIMIT);
    done.and_then(Done::well).unwrap_or_else(|why| panic!("{why}"));
    let arrived = fs::read(scene.path("in/b.bin")).expect("the file is there");
    same_bytes(&bytes, &arrived).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn wst_sends_batches_to_rb() {
    let Some(_) = lrzsz() else { return };
    let modes: &[(&str, &[&str], &str)] = &[
        ("ymodem", &[], "rb"),
        ("ymodem", &["--block=128"], "rb"),
        // rb asks for ordinary YMODEM, and gets it.
        ("ymodem-g", &[], "rb"),
    ];
    all(&everywhere(modes), AT_ONCE, |(over, protocol, flags, command)| {
        let scene = Scene::new();
        let (files, into) = (batch(&scene), scene.folder("in"));
        let args = send(protocol, flags, &files);
        let limit = Duration::from_secs(100);
        run(&scene, *over, &args, &into, command, limit)?.well()?;
        arrived(&files, &into)
    });
}

#[test]
fn sb_sends_batches_to_wst() {
    let Some(_) = lrzsz() else { return };
    let modes: &[(&str, &[&str], &str)] =
        &[("ymodem", &[], "sb *"), ("ymodem", &[], "sb -k *"), ("ymodem-g", &[], "sb -k *")];
    all(&everywhere(modes), AT_ONCE, |(over, protocol, flags, command)| {
        let scene = Scene::new();
        let files = batch(&scene);
        let args = receive(protocol, flags, &scene);
        run(&scene, *over, &args, &scene.folder("from"), command, LIMIT)?.well()?;
        arrived(&files, &scene.folder("in"))
    });
}

#[test]
fn sixty_four_mebibytes_by_ymodem() {
    let Some(_) = lrzsz() else { return };
    let scene = Scene::new();
    let file = scene.file("from/big.bin", &material::random(64 << 20, 73));
    let (from, into) = (scene.folder("from"), scene.folder("in"));
    let limit = Duration::from_secs(100);
    let args = send("ymodem", &[], std::slice::from_ref(&file));
    let there = run(&scene, Over::Pipe, &args, &into, "rb", limit).and_then(Done::well);
    let there = there.unwrap_or_else(|why| panic!("{why}"));
    same(&file, &into.join("big.bin")).unwrap_or_else(|why| panic!("{why}"));
    fs::remove_file(into.join("big.bin")).expect("it is there");
    let args = receive("ymodem", &[], &scene);
    let back = run(&scene, Over::Pipe, &args, &from, "sb -k big.bin", limit).and_then(Done::well);
    let back = back.unwrap_or_else(|why| panic!("{why}"));
    same(&file, &into.join("big.bin")).unwrap_or_else(|why| panic!("{why}"));
    println!("64 MiB: to rb {:?}, from sb {:?}", there.took, back.took);
}
