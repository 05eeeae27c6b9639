//! Whether what `wst explain` predicts comes true: transfers over lines in real time, then the same with the
//! change that it advises.
//!
//! A case is a line, a protocol and settings that are not the best for it. Both ends and the line (`wst line`) are
//! real programs. The first transfer is traced at its sender; the best change of its account is made at both ends;
//! and the time of the second is compared with the prediction, and on a line with noise with the stated range.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use wetstring_testkit::noise;

/// Longest time of one transfer.
const LIMIT: Duration = Duration::from_secs(120);
/// Cases at the same time: they mostly wait.
const AT_ONCE: usize = 3;
/// Percent by which a prediction without noise may be wrong.
const TOLERANCE: f64 = 10.0;

/// Line, protocol, bytes of the file, flags of both ends.
type Case = (&'static str, &'static str, usize, &'static [&'static str]);

const ONE: &[&str] = &["--window", "1", "--streaming", "off"];
const SHORT: &[&str] = &["--window", "4", "--send-length", "94", "--streaming", "off"];
const PREFIXED: &[&str] = &["--prefixing", "all", "--streaming", "off"];

const CASES: [Case; 40] = [
    ("9600,delay=50ms", "kermit", 4000, ONE),
    ("19200,delay=100ms", "kermit", 6000, ONE),
    ("38400,delay=20ms", "kermit", 12000, ONE),
    ("38400,delay=200ms", "kermit", 8000, SHORT),
    ("57600,delay=60ms", "kermit", 20000, SHORT),
    ("115200,delay=30ms", "kermit", 30000, ONE),
    ("115200,delay=100ms", "kermit", 30000, SHORT),
    ("9600", "kermit", 5000, PREFIXED),
    ("19200", "kermit", 9000, PREFIXED),
    ("38400,delay=10ms", "kermit", 20000, PREFIXED),
    ("9600,delay=30ms", "xmodem-crc", 4000, &[]),
    ("19200,delay=80ms", "xmodem-crc", 5000, &[]),
    ("38400,delay=40ms", "xmodem-1k", 12000, &[]),
    ("57600,delay=100ms", "xmodem-1k", 16000, &[]),
    ("115200,delay=20ms", "xmodem", 12000, &[]),
    ("9600,delay=60ms", "ymodem", 5000, &[]),
    ("38400,delay=90ms", "ymodem", 16000, &["--block", "128"]),
    ("115200,delay=60ms", "ymodem", 40000, &[]),
    ("9600,delay=200ms", "zmodem", 6000, &["--window", "1024"]),
    ("19200,delay=150ms", "zmodem", 10000, &["--window", "1024"]),
    ("38400,delay=100ms", "zmodem", 20000, &["--window", "2048"]),
    ("57600,delay=250ms", "zmodem", 30000, &["--window", "4096"]),
    ("9600,delay=100ms", "uucp-g", 5000, &["--window", "1", "--packet", "64"]),
    ("38400,delay=50ms", "uucp-g", 12000, &["--window", "1", "--packet", "256"]),
    ("115200,delay=40ms", "uucp-g", 30000, &["--window", "2", "--packet", "128"]),
    ("19200,delay=300ms", "kermit", 5000, &["--window", "2", "--streaming", "off"]),
    (
        "57600,delay=15ms",
        "kermit",
        20000,
        &["--window", "1", "--send-length", "500", "--streaming", "off"],
    ),
    (
        "19200,half=50ms",
        "kermit",
        4000,
        &["--window", "1", "--send-length", "200", "--streaming", "off"],
    ),
    ("38400,delay=150ms", "xmodem-crc", 5000, &["--pause", "50"]),
    ("115200,delay=5ms", "xmodem-crc", 20000, &["--pause", "20"]),
    // With noise.
    ("9600,delay=50ms,ber=2e-5,dir=fwd,seed=1", "kermit", 6000, ONE),
    ("19200,delay=60ms,ber=2e-5,dir=fwd,seed=2", "kermit", 10000, SHORT),
    ("38400,delay=30ms,burst=4@2s,dir=fwd,seed=3", "kermit", 15000, ONE),
    ("19200,delay=40ms,ber=3e-5,dir=fwd,seed=4", "xmodem-crc", 6000, &[]),
    ("38400,delay=60ms,ber=1e-5,dir=fwd,seed=5", "xmodem-1k", 12000, &[]),
    ("38400,delay=80ms,ber=2e-5,dir=fwd,seed=6", "ymodem", 12000, &[]),
    ("19200,delay=100ms,ber=2e-5,dir=fwd,seed=7", "zmodem", 12000, &["--window", "1024"]),
    ("57600,delay=50ms,ber=1e-5,dir=fwd,seed=8", "zmodem", 40000, &["--window", "2048"]),
    (
        "19200,delay=80ms,burst=4@3s,dir=fwd,seed=9",
        "uucp-g",
        8000,
        &["--window", "1", "--packet", "64"],
    ),
    ("57600,delay=40ms,ber=1e-5,dir=fwd,seed=10", "xmodem-crc", 12000, &[]),
];

/// What came of a case.
struct Report {
    number: usize,
    line: &'static str,
    protocol: &'static str,
    change: String,
    before: f64,
    predicted: f64,
    range: Option<(f64, f64)>,
    took: f64,
}

impl Report {
    fn off(&self) -> f64 {
        (self.predicted / self.took - 1.0) * 100.0
    }

    /// A line with noise has a range; any other has a tolerance.
    fn came_true(&self) -> bool {
        match self.range {
            Some((low, high)) => (low..=high).contains(&self.took),
            None => self.off().abs() <= TOLERANCE,
        }
    }

    fn has_noise(&self) -> bool {
        self.line.contains("ber=") || self.line.contains("burst=")
    }

    fn row(&self) -> String {
        let range =
            self.range.map_or(String::new(), |(low, high)| format!("{low:.2} to {high:.2}"));
        format!(
            "| {} | `{}` | {} | {} | {:.2} | {:.2} | {range} | {:.2} | {:+.1} % | {} |",
            self.number,
            self.line,
            self.protocol,
            self.change,
            self.before,
            self.predicted,
            self.took,
            self.off(),
            if self.came_true() { "yes" } else { "no" }
        )
    }
}

/// Runs all cases, or one, and prints a table. An error if fewer come true than nine of ten.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    const USAGE: &str = "expected --case NUMBER or --wst PATH";
    let (mut only, mut program) = (None, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let value = args.next().ok_or(USAGE)?;
        match arg.as_str() {
            "--case" => only = Some(value.parse::<usize>().map_err(|_| USAGE)?),
            "--wst" => program = Some(PathBuf::from(value)),
            _ => return Err(USAGE.to_owned()),
        }
    }
    let program = match program {
        Some(program) => program,
        None => crate::peers::build()?.into(),
    };
    let scratch = std::env::temp_dir().join(format!("wst-explain-{}", std::process::id()));
    let numbers: Vec<usize> = (0..CASES.len()).filter(|n| only.is_none_or(|o| o == *n)).collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new((Vec::new(), Vec::new())));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = case(&program, *number, &scratch.join(number.to_string()));
                    let Ok(mut done) = done.lock() else { return };
                    match result {
                        Ok(report) => done.0.push(report),
                        Err(why) => done.1.push(format!("{number}: {why}")),
                    }
                }
            });
        }
    });
    let (mut reports, failures) = done.into_inner().map_err(|_| "a case panicked")?;
    let _ = std::fs::remove_dir_all(&scratch);
    reports.sort_by_key(|report| report.number);
    say(&reports, &failures)
}

/// The table and its sums.
fn say(reports: &[Report], failures: &[String]) -> Result<(), String> {
    println!(
        "| case | line | protocol | change | before | predicted | range | took | off | true |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for report in reports {
        println!("{}", report.row());
    }
    for why in failures {
        println!("failed: {why}");
    }
    let mut enough = failures.is_empty();
    for noisy in [false, true] {
        let of: Vec<&Report> = reports.iter().filter(|r| r.has_noise() == noisy).collect();
        let right = of.iter().filter(|report| report.came_true()).count();
        let mut off: Vec<f64> = of.iter().map(|report| report.off().abs()).collect();
        off.sort_by(f64::total_cmp);
        let median = off.get(off.len() / 2).copied().unwrap_or(0.0);
        let what = if noisy { "with noise, in the range" } else { "without noise, within 10 %" };
        println!("{what}: {right} of {}; median off by {median:.1} %", of.len());
        enough &= right * 10 >= of.len() * 9;
    }
    if enough { Ok(()) } else { Err("fewer than nine of ten came true".to_owned()) }
}

/// Both transfers of a case.
fn case(program: &Path, number: usize, dir: &Path) -> Result<Report, String> {
    let (line, protocol, len, flags) = CASES[number];
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut words = vec!["-P".to_owned(), protocol.to_owned()];
    words.extend(flags.iter().map(|flag| (*flag).to_owned()));
    let first = transfer(program, &dir.join("1"), line, len, number as u64, &words)?;
    let best = &first["advice"]["best"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (Some(setting), Some(to)) = (text(&best["setting"]), text(&best["to"])) else {
        return Err(format!("no advice: {}", first["advice"]["sentence"]));
    };
    if setting == "protocol" {
        words = vec!["-P".to_owned(), to.clone()];
    } else {
        for name in [Some(setting.clone()), text(&best["also"])].into_iter().flatten() {
            words = without(words, &name);
            words.extend(["--set".to_owned(), format!("{name}={to}")]);
        }
    }
    // Another seed of the noise.
    let other = line.replace("seed=", "seed=10");
    let second = transfer(program, &dir.join("2"), &other, len, number as u64, &words)?;
    let seconds = |value: &Value| value.as_f64().ok_or_else(|| format!("no number: {value}"));
    let range = best["range_s"]
        .as_array()
        .and_then(|of| Some((of.first()?.as_f64()?, of.get(1)?.as_f64()?)));
    Ok(Report {
        number,
        line,
        protocol,
        change: format!("{setting} = {to}"),
        before: seconds(&first["elapsed_s"])?,
        predicted: seconds(&best["predicted_s"])?,
        range,
        took: seconds(&second["elapsed_s"])?,
    })
}

/// The flags without the one of this setting.
fn without(words: Vec<String>, setting: &str) -> Vec<String> {
    let flag = setting.split_once('.').map(|(_, flag)| format!("--{flag}"));
    let mut kept = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if Some(&word) == flag.as_ref() {
            words.next();
        } else {
            kept.push(word);
        }
    }
    kept
}

/// A transfer over a line of its own; what its sender explains.
fn transfer(
    program: &Path,
    dir: &Path,
    line: &str,
    len: usize,
    seed: u64,
    words: &[String],
) -> Result<Value, String> {
    let io = |e: std::io::Error| e.to_string();
    std::fs::create_dir_all(dir).map_err(io)?;
    let path = |name: &str| dir.join(name).display().to_string();
    std::fs::write(path("data.bin"), noise(seed, len)).map_err(io)?;
    let ends = ["a", "b"].map(|name| format!("pty:{}", path(name)));
    let wst = |args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null());
        command.env("XDG_CONFIG_HOME", "/nonexistent").env("XDG_STATE_HOME", "/dev/null/none");
        command.stderr(Stdio::null());
        command
    };
    let between = wst(&["line", line, "-a", &ends[0], "-b", &ends[1]]).spawn().map_err(io)?;
    let mut between = Ended(between);
    let until = Instant::now() + Duration::from_secs(10);
    while !(dir.join("a").exists() && dir.join("b").exists()) {
        if Instant::now() > until {
            return Err(format!("`wst line {line}` made no ends"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let [a, b] = ["a", "b"].map(|name| format!("serial:{}", path(name)));
    let mut receive = wst(&["receive", &b, "-o", &path("in")]);
    if words.iter().any(|word| word.starts_with("xmodem")) {
        receive.args(["--as", "data.bin"]);
    }
    let mut receiver = Ended(receive.args(words).stdout(Stdio::null()).spawn().map_err(io)?);
    let (trace, data) = (path("trace"), path("data.bin"));
    let mut send = wst(&["send", &data, &a, "--trace", &trace]);
    let mut sender = Ended(send.args(words).stdout(Stdio::null()).spawn().map_err(io)?);
    let ended = [wait(&mut sender.0), wait(&mut receiver.0)];
    drop(receiver);
    let _ = between.0.kill();
    if ended != [true, true] {
        return Err(format!("{line} {words:?}: a transfer failed"));
    }
    let out = wst(&["explain", &trace, "--json"]).output().map_err(io)?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let found = events.into_iter().find(|event| event["event"] == "explained");
    found.ok_or_else(|| format!("nothing explained: {text}"))
}

/// Whether a program ends well within the limit.
fn wait(child: &mut Child) -> bool {
    let until = Instant::now() + LIMIT;
    while Instant::now() < until {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            Err(_) => return false,
        }
    }
    false
}

/// A program that is ended, whatever happens.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
