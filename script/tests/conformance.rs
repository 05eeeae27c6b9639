//! Small scripts with their expected output, run by us and by C-Kermit.
//!
//! A file of `conformance/` is a topic, and a section of it a script:
//!
//! ```text
//! === NAME
//! the script
//! --- says
//! what it says
//! --- c-kermit says
//! what C-Kermit says, only where that is something else; the script then says why that is wrong
//! ```
//!
//! Lines that begin with `?` are error messages, whose wording differs between the programs: they are skipped,
//! and scripts test the status.
//!
//! C-Kermit is run where it is installed; `WETSTRING_REQUIRE_PEERS=1` requires it. A script without `--- says`
//! is a new one: the test shows C-Kermit's output, and fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use wetstring_script::{Interp, Limits, Local};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance")
}

/// A script, and its expected output.
#[derive(Default)]
struct Section {
    name: String,
    script: String,
    says: Option<String>,
    ckermit_says: Option<String>,
}

impl Section {
    /// The output expected of C-Kermit.
    fn ckermit(&self) -> &str {
        self.ckermit_says.as_ref().or(self.says.as_ref()).map_or("", |text| text)
    }
}

/// All scripts of all topics, sorted by topic.
fn sections() -> Vec<Section> {
    let entries = fs::read_dir(folder()).expect("the folder of the scripts");
    let mut topics: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    topics.sort();
    let sections: Vec<Section> = topics
        .iter()
        .flat_map(|topic| {
            let text =
                fs::read_to_string(topic).unwrap_or_else(|e| panic!("{}: {e}", topic.display()));
            parsed(&text)
        })
        .collect();
    let mut names: Vec<&str> = sections.iter().map(|section| section.name.as_str()).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    assert!(twice.is_none(), "expected a name of its own for each script, got {twice:?}");
    sections
}

fn parsed(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut part = 0;
    for line in text.split_inclusive('\n') {
        if let Some(name) = line.strip_prefix("=== ") {
            sections.push(Section { name: name.trim_end().to_owned(), ..Section::default() });
            part = 0;
            continue;
        }
        let section = sections.last_mut().expect("a file begins with === NAME");
        match line.trim_end() {
            "--- says" => {
                part = 1;
                section.says = Some(String::new());
            }
            "--- c-kermit says" => {
                part = 2;
                section.ckermit_says = Some(String::new());
            }
            _ => {
                let to = [
                    Some(&mut section.script),
                    section.says.as_mut(),
                    section.ckermit_says.as_mut(),
                ];
                to.into_iter().nth(part).flatten().expect("a part that has begun").push_str(line);
            }
        }
    }
    sections
}

/// Without error messages.
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
fn place(script: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    fs::write(place.path().join("t.ksc"), script).expect("a file");
    fs::write(place.path().join("three"), "one\ntwo\nthree\n").expect("a file");
    fs::write(place.path().join("sub.ksc"), "echo sub [\\%1] [\\%2]\nreturn 7\n").expect("a file");
    place
}

fn ours(script: &str) -> String {
    let place = place(script);
    let directory = fs::canonicalize(place.path()).expect("the directory");
    let mut world = Local::new(directory, |_| 0).captured();
    let limits = Limits { steps: Some(1_000_000), ..Limits::default() };
    Interp::new(&mut world, limits, Vec::new()).file("t.ksc", &[]);
    told(world.said())
}

fn c_kermit(script: &str) -> String {
    let place = place(script);
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

/// Runs something for every script, on a few threads; returns the differences.
fn differences(run: impl Fn(&Section) -> Option<String> + Sync) -> Vec<String> {
    let sections = sections();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(section) = sections.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(difference) = run(section) {
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

#[test]
fn our_output_is_as_expected() {
    let count = sections().len();
    assert!(count >= 150, "expected at least 150 scripts, got {count}");
    // Commands of a Unix shell.
    let of_a_shell = ["command-function", "run"];
    let found = differences(|section| {
        let name = &section.name;
        if cfg!(windows) && of_a_shell.contains(&name.as_str()) {
            return None;
        }
        let Some(says) = &section.says else { return Some(format!("{name}: no --- says")) };
        compared(name, says, &ours(&section.script))
    });
    assert!(found.is_empty(), "{} differ\n{}", found.len(), found.join("\n"));
}

#[test]
#[cfg_attr(windows, ignore = "C-Kermit is at the Unix side")]
fn c_kermit_output_is_as_expected() {
    if !is_there() {
        return;
    }
    let found = differences(|section| {
        let (name, got) = (&section.name, c_kermit(&section.script));
        if section.says.is_none() {
            return Some(format!("{name}, which is new:\n--- says\n{got}"));
        }
        compared(name, section.ckermit(), &got)
    });
    assert!(found.is_empty(), "{} differ\n{}", found.len(), found.join("\n"));
}
