//! Transfers between `wst` and `python_peers/netblt.py`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::{End, Running, Scene, all, last_event, material, same_bytes, wst};
use serde_json::Value;

/// Longest run, on a machine that is busy with other work.
pub const LIMIT: Duration = Duration::from_secs(45);

/// How many runs are under way at once: most of them wait.
pub const THREADS: usize = 16;

/// Attempts at what depends on speed: the peer's bursts are late on a busy machine.
pub const TIMES: usize = 3;

/// A name of which an OPEN is long enough for any answer.
pub const NAME: &str =
    "a name that is long enough for every answer that the OPEN it comes in may get.bin";

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum We {
    Receive,
    Send,
}

/// How we come to the line; the peer does the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Opening {
    Listen,
    Dial,
}

pub const ROLES: [We; 2] = [We::Receive, We::Send];
pub const WAYS: [(We, Opening); 4] = [
    (We::Receive, Opening::Listen),
    (We::Receive, Opening::Dial),
    (We::Send, Opening::Listen),
    (We::Send, Opening::Dial),
];

#[derive(Debug, Clone)]
pub struct Case {
    pub we: We,
    pub opening: Opening,
    pub len: usize,
    pub name: String,
    pub ours: String,
    pub theirs: String,
    /// A peer that comes to the listener before, and ends.
    pub first: Option<String>,
}

pub fn case((we, opening): (We, Opening), len: usize, theirs: &str) -> Case {
    let (ours, name) = ("--death 20".to_owned(), NAME.to_owned());
    Case { we, opening, len, name, ours, theirs: theirs.to_owned(), first: None }
}

/// How a run ended.
pub struct Done {
    pub ours: End,
    pub peer: Value,
    pub sent: Vec<u8>,
    /// The file under its name, if it is there.
    pub got: Option<Vec<u8>>,
    /// The names in the directory of received files.
    pub names: Vec<String>,
    pub took: Duration,
}

impl Done {
    pub fn told(&self) -> String {
        format!("wst: exit {} {:?}; peer: {}", self.ours.code, self.ours.said, self.peer)
    }

    pub fn check(&self, good: bool, expected: &str) -> Result<(), String> {
        if good { Ok(()) } else { Err(format!("expected {expected}; {}", self.told())) }
    }

    pub fn code(&self, code: i32) -> Result<(), String> {
        self.check(self.ours.code == code, &format!("exit code {code}"))
    }

    pub fn state(&self, state: &str) -> Result<(), String> {
        self.check(self.peer["state"] == state, &format!("the peer in the state {state}"))
    }

    /// Nothing that we sent was against the RFC.
    pub fn lawful(&self) -> Result<(), String> {
        let none = self.peer["faults"].as_array().is_some_and(Vec::is_empty);
        self.check(none, "nothing against RFC 998")
    }

    /// Both ends call it done, and the bytes are the same.
    pub fn whole(&self) -> Result<(), String> {
        let got = self.got.as_deref().ok_or_else(|| format!("no file; {}", self.told()))?;
        same_bytes(&self.sent, got).map_err(|why| format!("{why}; {}", self.told()))?;
        self.code(0)?;
        self.state("done")?;
        self.lawful()
    }

    /// Nothing that is not whole is under the file's name.
    pub fn not_whole(&self) -> Result<(), String> {
        self.check(self.got.is_none(), "no file under its name")
    }

    pub fn seconds(&self) -> f64 {
        self.peer["data_seconds"].as_f64().unwrap_or_default()
    }
}

pub fn python() -> Option<PathBuf> {
    super::peer("python3", "python3")
}

pub fn netblt(python: &Path, words: &[&str], theirs: &str) -> Command {
    let mut command = Command::new(python);
    // Without compiled files in the tree.
    command.args(["-S", "-B"]);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python_peers/netblt.py"));
    command.args(words).args(theirs.split_whitespace());
    command
}

/// The two programs of a case.
pub struct Run {
    pub scene: Scene,
    pub case: Case,
    pub sent: Vec<u8>,
    pub wst: Running,
    pub peer: Running,
    pub began: Instant,
}

impl Run {
    pub fn start(case: &Case) -> Result<Self, String> {
        let python = python().ok_or("no python3")?;
        let (scene, began) = (Scene::new(), Instant::now());
        let sent = material::random(case.len, case.len as u64 + 3);
        let file = scene.file(&format!("from/{}", case.name), &sent).display().to_string();
        let (into, out) = (scene.folder("in").display().to_string(), scene.path("out"));
        let out = out.display().to_string();
        let (ours, theirs) = match case.we {
            We::Receive => (vec!["receive", "-o", &into], vec!["send", "--file", &file]),
            We::Send => (vec!["send", &file], vec!["receive", "--file", &out]),
        };
        let ours: Vec<&str> = ours.into_iter().chain(case.ours.split_whitespace()).collect();
        // A receiver of data names no file.
        let name = if case.we == We::Receive { case.name.as_str() } else { "" };
        let (wst, peer) = if case.opening == Opening::Listen {
            let line = ["--plain", "udp-listen://127.0.0.1:0"];
            let mut wst = scene.start("wst", &mut wst(ours.into_iter().chain(line)))?;
            let at = wst.line_after("listening on ")?;
            if let Some(first) = &case.first {
                let words = [&theirs[..], &["--connect", &at]].concat();
                scene.start("first", &mut netblt(&python, &words, first))?.wait(LIMIT)?;
            }
            let words = [&theirs[..], &["--name", name, "--connect", &at]].concat();
            (wst, scene.start("peer", &mut netblt(&python, &words, &case.theirs))?)
        } else {
            let words = [&theirs[..], &["--name", name, "--listen", "127.0.0.1:0"]].concat();
            let mut peer = scene.start("peer", &mut netblt(&python, &words, &case.theirs))?;
            let line = format!("udp://{}", peer.line_after("listening on ")?);
            let words = ours.into_iter().chain(["--plain", &line]);
            (scene.start("wst", &mut wst(words))?, peer)
        };
        Ok(Self { scene, case: case.clone(), sent, wst, peer, began })
    }

    pub fn end(mut self) -> Result<Done, String> {
        let ours = self.wst.wait(LIMIT).map_err(|why| {
            let peer = self.peer.wait(Duration::from_millis(10)).map_or_else(|e| e, |end| end.said);
            format!("{why}; peer: {peer}")
        })?;
        let peer = self.peer.wait(LIMIT)?;
        let said = last_event(&peer).map_err(|why| format!("{why}: {}", peer.said))?;
        let file = match self.case.we {
            We::Receive => self.scene.path("in").join(&self.case.name),
            We::Send => self.scene.path("out"),
        };
        let entries = fs::read_dir(self.scene.path("in")).map_err(|e| e.to_string())?;
        let names = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned());
        let (names, took) = (names.collect(), self.began.elapsed());
        Ok(Done { ours, peer: said, sent: self.sent, got: fs::read(file).ok(), names, took })
    }
}

/// The report of a peer that may keep listening.
pub fn peer_of(case: &Case) -> Result<Value, String> {
    let mut run = Run::start(case)?;
    last_event(&run.peer.wait(LIMIT)?).map_err(|why| format!("{why}; wst: {}", run.wst.said()))
}

pub fn run(case: &Case) -> Result<Done, String> {
    Run::start(case)?.end()
}

/// Runs all of them; each has to be whole at both ends.
pub fn all_whole(cases: &[Case]) {
    if python().is_some() {
        all(cases, THREADS, |case| run(case)?.whole());
    }
}

/// Buffers of five packets of 716 bytes.
pub const SMALL: &str = "--buffer-size 3580 --packet-size 716 --interval 5";
