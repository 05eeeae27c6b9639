//! Transfers between `wst` and `python_peers/uucp.py`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{End, Scene, all, material, same, wst};
use serde_json::{Value, json};
use wetstring_testkit::{Within, within};

/// Longest run, on a machine that is busy with other work.
pub const LIMIT: Duration = Duration::from_secs(100);

/// How many runs are under way at once: most of them wait.
pub const THREADS: usize = 10;

/// The peer with what it is told, in its own directory.
pub struct Peer {
    pub told: PathBuf,
    pub result: PathBuf,
    pub dir: PathBuf,
}

impl Peer {
    /// Has `config`, and a directory for its files.
    pub fn new(scene: &Scene, mut config: Value) -> Self {
        let dir = scene.folder("theirs");
        let (told, result) = (scene.path("peer.json"), scene.path("result.json"));
        config["dir"] = json!(dir);
        config["result"] = json!(result);
        if config.get("limit").is_none() {
            config["limit"] = json!(90);
        }
        fs::write(&told, config.to_string()).expect("its configuration");
        Self { told, result, dir }
    }

    /// The line that runs it.
    pub fn line(&self) -> String {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python_peers/uucp.py");
        format!("exec:python3 -I -S {} {}", program.display(), self.told.display())
    }

    /// What it says of the conversation, once it has ended.
    pub fn said(&self) -> Result<Value, String> {
        if within(LIMIT, || self.result.exists()) == Within::Late {
            return Err("the peer left no result".to_owned());
        }
        let text = fs::read_to_string(&self.result).map_err(|e| e.to_string())?;
        serde_json::from_str(&text).map_err(|e| e.to_string())
    }
}

/// Runs `wst` with these words, a line and quick timers.
pub fn run(scene: &Scene, words: &[&str], line: &str) -> Result<End, String> {
    let mut args = vec![words[0], "-P", "uucp-g", "--timeout=1"];
    args.extend(&words[1..]);
    args.push(line);
    scene.start("wst", &mut wst(args))?.wait(LIMIT)
}

/// The text of both ends for a message of failure.
pub fn told(end: &End, peer: &Peer) -> String {
    let said = peer.said().unwrap_or_default();
    format!("wst: {} {:?}; peer: {} {}", end.code, end.said, said["error"], said["log"])
}

pub fn expect_code(code: i32, end: &End, peer: &Peer) -> Result<(), String> {
    let what = || format!("expected exit {code}; {}", told(end, peer));
    if end.code == code { Ok(()) } else { Err(what()) }
}

/// Sizes at the borders of packets, and names that are hard on a command of words.
pub const FILES: &[(&str, usize)] = &[
    ("empty", 0),
    ("one byte.bin", 1),
    ("-dash", 31),
    ("quote\"and'both", 32),
    ("f\u{fc}r.txt", 64),
    ("percent%20&co", 65),
    ("D.0001", 4095),
    (".hidden", 4096),
    ("with#hash~tilde!bang", 4097),
    ("large.bin", 100_000),
];

pub fn make(scene: &Scene, files: &[(&str, usize)], noisy: bool) -> Vec<PathBuf> {
    let one = |(at, (name, len)): (usize, &(&str, usize))| {
        let mut bytes = material::random(*len, at as u64 + 7);
        // What looks like packets within packets, and the bytes that a terminal would take.
        for (byte, at) in [0x10, 9, 0xA2, 0xAA, 8, 9, 0x11, 0x13].into_iter().zip(64..) {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        if noisy {
            // The sum has its second register folded in where a byte is zero, or an addition carries.
            // Without that it misses one flipped bit of thirty in packets of 32 bytes (nearly all of
            // them in the first byte), which no implementation can help; with this one of 10,000.
            bytes.iter_mut().skip(3).step_by(4).for_each(|byte| *byte = 0);
        }
        scene.file(&format!("from/{name}"), &bytes)
    };
    files.iter().enumerate().map(one).collect()
}

pub fn words(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|file| file.display().to_string()).collect()
}

/// The peer's jobs for these files.
pub fn jobs(files: &[PathBuf]) -> Value {
    let name = |file: &PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let job = |file| json!({"path": file, "to": format!("~/{}", name(file)), "spool": true});
    files.iter().map(job).collect()
}

pub fn arrived(files: &[PathBuf], into: &Path) -> Result<(), String> {
    files.iter().try_for_each(|file| same(file, &into.join(file.file_name().unwrap_or_default())))
}

pub fn merged(one: Value, two: &Value) -> Value {
    let mut all = one;
    for (key, value) in two.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    all
}

/// The peer found nothing against the manual, and ended as it should.
pub fn content(end: &End, peer: &Peer) -> Result<(), String> {
    let said = peer.said()?;
    let well = said["finished"] == true && said["violations"] == json!([]);
    if well { Ok(()) } else { Err(format!("{}; {}", said["violations"], told(end, peer))) }
}

/// `wst` sends; it calls, or is called.
pub fn sends(
    calls: bool,
    flags: &[&str],
    files: &[(&str, usize)],
    config: &Value,
) -> Result<(), String> {
    let scene = Scene::new();
    let files = make(&scene, files, config.get("noise").is_some());
    let role = if calls { "answer" } else { "call" };
    let peer = Peer::new(&scene, merged(json!({ "role": role }), config));
    let names = words(&files);
    let mut args = vec!["send", if calls { "--role=call" } else { "--role=answer" }];
    args.extend(flags);
    args.push("--");
    args.extend(names.iter().map(String::as_str));
    let end = run(&scene, &args, &peer.line())?;
    expect_code(0, &end, &peer)?;
    arrived(&files, &peer.dir).map_err(|e| format!("{e}; {}", told(&end, &peer)))?;
    content(&end, &peer)
}

/// `wst` receives; it calls, or is called.
pub fn receives(
    calls: bool,
    flags: &[&str],
    files: &[(&str, usize)],
    config: &Value,
) -> Result<(), String> {
    let scene = Scene::new();
    let files = make(&scene, files, config.get("noise").is_some());
    let role = if calls { "answer" } else { "call" };
    let config = merged(json!({ "role": role, "sends": jobs(&files) }), config);
    let peer = Peer::new(&scene, config);
    let into = scene.folder("in");
    let output = into.display().to_string();
    let mut args =
        vec!["receive", if calls { "--role=call" } else { "--role=answer" }, "-o", &output];
    args.extend(flags);
    let end = run(&scene, &args, &peer.line())?;
    expect_code(0, &end, &peer)?;
    arrived(&files, &into).map_err(|e| format!("{e}; {}", told(&end, &peer)))?;
    if peer.said()?["queue"] != json!([]) {
        return Err(format!("jobs are left; {}", told(&end, &peer)));
    }
    content(&end, &peer)
}

/// In both directions, each end calling.
#[derive(Debug)]
pub struct Case {
    pub sends: bool,
    pub calls: bool,
    pub flags: Vec<String>,
    pub config: Value,
}

pub fn four(flags: &[&str], config: &Value) -> Vec<Case> {
    let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let case = |(sends, calls)| Case { sends, calls, flags: flags.clone(), config: config.clone() };
    [(true, true), (true, false), (false, true), (false, false)].map(case).into()
}

pub fn every(cases: &[Case], files: &[(&str, usize)]) {
    all(cases, THREADS, |case| {
        let flags: Vec<_> = case.flags.iter().map(String::as_str).collect();
        let go = if case.sends { sends } else { receives };
        go(case.calls, &flags, files, &case.config)
    });
}

/// Whether Python is there.
pub fn ready() -> bool {
    super::peer("python3", "python3").is_some()
}
