//! Measures `wst` and the programs people have, in turn, in one run on this machine.
//!
//! Figures of one run only compare with each other: machines differ, and one machine differs from
//! hour to hour. So everything is run in turn (A B A B ...), a first round warms up and is not
//! counted, and the table gives medians and ratios. Starting a program is not counted:
//!
//! * `wst` to `wst`: the whole transaction, first packet to last, as the sender counts it;
//! * C-Kermit and G-Kermit to themselves: the time for the file less the time for a file of one
//!   byte, because they take up to seconds before and after a transfer;
//! * `wst` and another program: from the file's first packet to its last acknowledgement, as `wst`
//!   counts it;
//! * X, Y and ZMODEM on pipes: the same difference, for lrzsz and for us alike;
//! * UDP: each program's own time of the file; `iperf3`, what its receiver got; TCP by `socat`, from
//!   its start to its end;
//! * SLIP: what `iperf3` gets through, and the processor time of both ends meanwhile;
//! * many small files: from the start of the sending program to its end;
//! * what a program prints in a wrapper: from its start to its last byte at the terminal;
//! * plain sockets and the plain PTY: from the first to the last byte, two threads, no files unless
//!   the row notes it.

mod netblt;
mod netblt_live;
mod netblt_path;
mod plain;
mod run;
mod serve;
mod slip;
mod small;
mod suite;
mod tables;
mod wrapper;
mod xyz;

use std::path::Path;
use std::process::Command;

/// What the measurements share.
pub(crate) struct Bench {
    /// The release build of the program.
    wst: String,
    /// Files and scripts.
    dir: std::path::PathBuf,
    /// Counted rounds.
    rounds: usize,
    /// Bytes of the files that are moved.
    len: usize,
    /// Bytes of the file for the memory measurement.
    huge: u64,
}

const USAGE: &str = "expected --quick, --rounds N or --only WORD (tcp, window, pty, xyz, netblt, netblt-path, netblt-live, netblt-load, slip, serve, small, wrapper, wire, memory)";

/// Runs the comparison.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if cfg!(debug_assertions) {
        return optimized(args);
    }
    let (mut rounds, mut quick, mut only) = (5, false, String::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => quick = true,
            // What `netblt-load` starts many of.
            "--busy" => {
                netblt_live::busy();
                return Ok(());
            }
            "--rounds" => {
                rounds =
                    args.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0).ok_or(USAGE)?;
            }
            "--only" => only.clone_from(args.next().ok_or(USAGE)?),
            _ => return Err(USAGE.to_owned()),
        }
    }
    for (program, package) in [("kermit", "ckermit"), ("gkermit", "gkermit")] {
        if Command::new(program).arg("--version").output().is_err() {
            return Err(format!("{program} is not installed (Debian package {package})"));
        }
    }
    let bench = Bench {
        wst: build()?,
        dir: std::env::temp_dir().join(format!("wst-peers-{}", std::process::id())),
        rounds: if quick { rounds.min(3) } else { rounds },
        len: if quick { 8 << 20 } else { 64 << 20 },
        huge: if quick { 128 << 20 } else { 1 << 30 },
    };
    load();
    std::fs::create_dir_all(&bench.dir).map_err(|e| format!("{}: {e}", bench.dir.display()))?;
    let result = suite::all(&bench, &only);
    let _ = std::fs::remove_dir_all(&bench.dir);
    load();
    result
}

/// The same by a release build of this program, which measures with it (plain sockets, busy threads).
fn optimized(args: &[String]) -> Result<(), String> {
    let mut again = crate::building::cargo();
    again.args(["run", "--quiet", "--release", "--package", "xtask", "--", "peers"]).args(args);
    let status = again.current_dir(crate::root()).status().map_err(|e| format!("cargo: {e}"))?;
    status.success().then_some(()).ok_or_else(|| "the comparison failed".to_owned())
}

/// Builds the release program, and returns its path.
pub(crate) fn build() -> Result<String, String> {
    let root = crate::root();
    let args = ["build", "--release", "--package", "wetstring", "--message-format=json", "--quiet"];
    let mut building = crate::building::cargo();
    building.args(args).current_dir(root).stderr(std::process::Stdio::inherit());
    let out = building.output().map_err(|e| format!("cargo: {e}"))?;
    if !out.status.success() {
        return Err("expected the release build to work, it does not".to_owned());
    }
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let found = text.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message["executable"]
            .as_str()
            .filter(|path| Path::new(path).ends_with("wst"))
            .map(str::to_owned)
    });
    found.ok_or_else(|| "expected cargo to name the program wst".to_owned())
}

/// Says how busy the machine is: other work spoils a measurement.
fn load() {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let Some(one) = text.split(' ').next().and_then(|n| n.parse::<f64>().ok()) else { return };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let warning = if one > 0.3 * cores as f64 { " (high: expect noise)" } else { "" };
    println!("load average {one:.2} on {cores} cores{warning}");
}
