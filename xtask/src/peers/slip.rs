//! What `wst slip` costs: two namespaces with Linux at both ends, `wst line` of 3 Mb/s between them, a TCP
//! transfer of `iperf3` over it, and the processor time of each `wst slip` beside it.
//!
//! The bar is line rate with under 10 % of a core. What escapes, headers and acknowledgements cost of
//! the line is not TCP's: line rate is taken as 95 % of its 300,000 bytes/s where packets are of 1500 bytes.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Bench;
use super::run::Program;
use super::tables::{middle, verdict};
use wetstring_testkit::namespaces::{forbidden, ip};

/// The line, and what it carries.
const LINE: &str = "3000000";
const LINE_BYTES: f64 = 300_000.0;
/// The two ends, of which the first receives.
const ADDRESSES: [&str; 2] = ["10.97.1.1", "10.97.1.2"];
/// Seconds of one transfer.
const SECONDS: &str = "10";
/// How long anything may take to be there.
const SOON: Duration = Duration::from_secs(10);

/// What one transfer gave.
struct Figure {
    /// Bytes of data per second.
    speed: f64,
    /// Processor time over wall time, of the receiving and the sending end.
    cpu: [f64; 2],
}

/// The group.
pub(super) fn all(bench: &Bench) -> Result<(), String> {
    if let Some(why) = forbidden() {
        return Err(format!("expected the right to make network namespaces: {why}"));
    }
    println!("wst slip with TUN, a line of {LINE} bit/s, iperf3 over it for {SECONDS} s");
    for (mtu, bar) in [("1500", 0.95), ("296", 0.0)] {
        let (mut speeds, mut cpus) = (Vec::new(), [Vec::new(), Vec::new()]);
        for round in 0..=bench.rounds {
            let figure = once(bench, mtu)?;
            if round > 0 {
                speeds.push(figure.speed / LINE_BYTES);
                for (all, one) in cpus.iter_mut().zip(figure.cpu) {
                    all.push(one);
                }
            }
        }
        let (share, cpus) = (middle(speeds), cpus.map(middle));
        let shown = format!("{:.1} % of the line", share * 100.0);
        if bar > 0.0 {
            verdict(&format!("MTU {mtu}"), &shown, "at least 95 %", share >= bar);
        } else {
            println!("    MTU {mtu}: {shown}");
        }
        for (end, cpu) in ["receiving", "sending"].iter().zip(cpus) {
            let shown = format!("{:.1} % of a core", cpu * 100.0);
            verdict(&format!("MTU {mtu}, {end} end"), &shown, "under 10 %", cpu < 0.1);
        }
    }
    println!();
    Ok(())
}

/// Namespaces that go when this does.
struct Spaces([String; 2]);

impl Drop for Spaces {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

fn once(bench: &Bench, mtu: &str) -> Result<Figure, String> {
    let quiet = |command: &mut Command| {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    };
    let spaces = Spaces(["a", "b"].map(|end| format!("wsts{end}{}", std::process::id())));
    for name in &spaces.0 {
        ip(&format!("netns add {name}"))?;
    }
    let ptys = ["a", "b"].map(|end| bench.path(&format!("slip-{end}")));
    let mut line = Command::new(&bench.wst);
    line.args(["line", LINE]);
    for (flag, pty) in ["-a", "-b"].iter().zip(&ptys) {
        line.arg(flag).arg(format!("pty:{}", pty.display()));
    }
    quiet(&mut line);
    let _line = Program::start(&mut line)?;
    let mut ends = Vec::new();
    for end in 0..2 {
        wait_for(|| ptys[end].exists(), "the line's PTY")?;
        let mut slip = within(&spaces, end, &bench.wst);
        slip.args(["slip", "--tun", "sl0", "--rate", LINE, "--mtu", mtu]);
        slip.args(["--local", ADDRESSES[end], "--remote", ADDRESSES[1 - end]]);
        slip.arg(format!("serial:{}", ptys[end].display()));
        quiet(&mut slip);
        ends.push(Program::start(&mut slip)?);
        let show = format!("-n {} link show sl0", spaces.0[end]);
        wait_for(|| ip(&show).is_ok(), "the network interface")?;
    }
    let mut serve = within(&spaces, 0, "iperf3");
    serve.args(["-s", "-1", "-B", ADDRESSES[0]]);
    quiet(&mut serve);
    let mut server = Program::start(&mut serve)?;
    let listening = format!("netns exec {} ss -Hltn sport = :5201", spaces.0[0]);
    wait_for(|| ip(&listening).is_ok_and(|list| !list.is_empty()), "iperf3")?;
    let spent = |ends: &[Program]| [0, 1].map(|end| seconds_of(ends[end].id()));
    let (began, before) = (Instant::now(), spent(&ends));
    let mut client = within(&spaces, 1, "iperf3");
    client.args(["-c", ADDRESSES[0], "-t", SECONDS, "-J"]).stderr(Stdio::null());
    let out = client.output().map_err(|e| format!("iperf3 (Debian package iperf3): {e}"))?;
    let (took, after) = (began.elapsed().as_secs_f64(), spent(&ends));
    server.end("iperf3 -s")?;
    let said: Value = serde_json::from_slice(&out.stdout).map_err(|e| format!("iperf3: {e}"))?;
    let bits = said["end"]["sum_received"]["bits_per_second"].as_f64();
    let bits = bits.ok_or_else(|| format!("expected iperf3's rate, got {}", said["error"]))?;
    let cpu = [0, 1].map(|end| (after[end] - before[end]) / took);
    Ok(Figure { speed: bits / 8.0, cpu })
}

fn within(spaces: &Spaces, end: usize, program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &spaces.0[end], program]).stdin(Stdio::null());
    command
}

fn wait_for(mut there: impl FnMut() -> bool, what: &str) -> Result<(), String> {
    let until = Instant::now() + SOON;
    while !there() {
        if Instant::now() > until {
            return Err(format!("expected {what} within {} s", SOON.as_secs()));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// User and system time of a process, in seconds, in steps of 10 ms.
fn seconds_of(process: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name stands in brackets and may hold anything; utime is the 12th word behind it.
    let words = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks = words.skip(11).take(2).filter_map(|word| word.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}
