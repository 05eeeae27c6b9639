//! Small scripts with what they say, run by us and by C-Kermit.
//!
//! `conformance/NAME.ksc` is a script, `NAME.out` what it says. `NAME.ckermit` stands where C-Kermit
//! says something else; the script then says why that is wrong. Lines that begin with `?` are
//! complaints, whose wording is each program's own: they are left out, and scripts ask for the status.
//!
//! C-Kermit is run where it is installed; `WETSTRING_REQUIRE_PEERS=1` wants it to be.
//! `WETSTRING_UPDATE_CONFORMANCE=1` writes `.out` of new scripts as C-Kermit says it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use wetstring_script::{Interp, Limits, Local};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance")
}

/// Names of all scripts, without their ends.
fn names() -> Vec<String> {
    let entries = fs::read_dir(folder()).expect("the folder of the scripts");
    let name =
        |entry: fs::DirEntry| Some(entry.file_name().to_str()?.strip_suffix(".ksc")?.to_owned());
    let mut names: Vec<String> = entries.flatten().filter_map(name).collect();
    names.sort();
    names
}

/// Without complaints.
fn told(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    // C-Kermit rings the bell with some of them.
    let complaint = |line: &&str| line.trim_start_matches('\u{7}').starts_with('?');
    let lines = text.lines().filter(|line| !complaint(line));
    let mut out = String::new();
    for line in lines {
        out += line.trim_end_matches('\r');
        out.push('\n');
    }
    out
}

/// A directory of its own for a script, with the files that scripts expect.
fn place(name: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    let script = folder().join(format!("{name}.ksc"));
    fs::copy(script, place.path().join("t.ksc")).expect("a copy of the script");
    fs::write(place.path().join("three"), "one\ntwo\nthree\n").expect("a file");
    fs::write(place.path().join("sub.ksc"), "echo sub [\\%1] [\\%2]\nreturn 7\n").expect("a file");
    place
}

fn ours(name: &str) -> String {
    let place = place(name);
    let directory = fs::canonicalize(place.path()).expect("the directory");
    let mut world = Local::new(directory, |_| 0).captured();
    let limits = Limits { steps: Some(1_000_000), ..Limits::default() };
    Interp::new(&mut world, limits, Vec::new()).file("t.ksc", &[]);
    told(world.said())
}

fn c_kermit(name: &str) -> String {
    let place = place(name);
    let mut command = Command::new("kermit");
    command.arg("t.ksc").current_dir(place.path()).env("HOME", place.path()).env("TZ", "UTC");
    let output = command.stdin(Stdio::null()).output().expect("kermit runs");
    told(&output.stdout)
}

fn is_there() -> bool {
    let found = Command::new("kermit").arg("-h").stdin(Stdio::null()).output();
    let there = found.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("ermit"));
    let needed = std::env::var_os("WETSTRING_REQUIRE_PEERS").is_some_and(|value| value == "1");
    assert!(there || !needed, "C-Kermit is not installed, and WETSTRING_REQUIRE_PEERS wants it");
    if !there {
        eprintln!("C-Kermit is not installed: the scripts were not compared with it");
    }
    there
}

/// Runs something for every script, on a few threads; gives what differs.
fn differences(run: impl Fn(&str) -> Option<String> + Sync) -> Vec<String> {
    let names = names();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(difference) = run(name) {
                        found.lock().expect("no panic").push(difference);
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().expect("no panic");
    found.sort();
    found
}

fn compared(name: &str, expected: &str, got: &str) -> Option<String> {
    let first = expected.lines().zip(got.lines()).position(|(e, g)| e != g);
    let line = first.unwrap_or(expected.lines().count().min(got.lines().count()));
    let show = |text: &str| text.lines().nth(line).unwrap_or("(nothing)").to_owned();
    (expected != got).then(|| {
        format!("{name}, line {}: expected {:?}, got {:?}", line + 1, show(expected), show(got))
    })
}

fn expected(name: &str, end: &str) -> Option<String> {
    fs::read_to_string(folder().join(format!("{name}.{end}"))).ok()
}

#[test]
fn we_say_what_is_expected() {
    let names = names();
    assert!(names.len() >= 150, "expected at least 150 scripts, got {}", names.len());
    let found = differences(|name| {
        let Some(out) = expected(name, "out") else { return Some(format!("{name}: no .out")) };
        compared(name, &out, &ours(name))
    });
    assert!(found.is_empty(), "{} differ\n{}", found.len(), found.join("\n"));
}

#[test]
fn c_kermit_says_what_is_expected() {
    if !is_there() {
        return;
    }
    let update = std::env::var_os("WETSTRING_UPDATE_CONFORMANCE").is_some_and(|value| value == "1");
    let found = differences(|name| {
        let got = c_kermit(name);
        if update && expected(name, "out").is_none() {
            fs::write(folder().join(format!("{name}.out")), &got).expect("a file to write");
        }
        let out = expected(name, "ckermit").or_else(|| expected(name, "out")).unwrap_or_default();
        compared(name, &out, &got)
    });
    assert!(found.is_empty(), "{} differ\n{}", found.len(), found.join("\n"));
}
