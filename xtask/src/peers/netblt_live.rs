//! NETBLT live through `wst line` on the loopback interface, beside the same paths in virtual time; and live
//! on a machine that is busy, beside the same when it is not.
//!
//! The laboratory's packets are those of the live run: as long, and sealed ones with the 32 bytes of the
//! session around them. The handshake is not counted, as the sender does not count it.

use std::fs;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use wetstring_testkit::Dice;

use super::Bench;
use super::netblt::{output, pair, secret};
use super::run::Program;
use super::tables::material;

/// A path, and bytes of the file that it carries in five to ten seconds.
type Row = (&'static str, usize);

/// Rates, delays, queues of four packets to one bandwidth-delay product, loss.
const PATHS: [Row; 8] = [
    ("path:rate=64k,delay=30ms,queue=8p", 60_000),
    ("path:rate=256k,delay=10ms,queue=6p", 250_000),
    ("path:rate=1M,delay=1ms,queue=4p", 800_000),
    ("path:rate=1M,delay=300ms,queue=20p,loss=1%", 900_000),
    ("path:rate=10M,delay=10ms,queue=6p", 8_000_000),
    ("path:rate=10M,delay=100ms,queue=rtt,loss=1%", 8_000_000),
    ("path:rate=50M,delay=20ms,queue=rtt", 40_000_000),
    ("path:rate=100M,delay=30ms,queue=20p,loss=1%", 60_000_000),
];
/// Live and laboratory differ by less than this share.
const BAR: f64 = 0.05;
/// The NETBLT packet of these runs; a sealed one is 32 bytes longer.
const PACKET: usize = 1168;
const SEAL: usize = 32;

/// What must be left of the rate on a busy machine.
const BUSY_BAR: f64 = 0.8;
/// Busy threads that make a load of 20.
const BUSY: usize = 20;
const BUSY_PATHS: [Row; 3] = [
    ("path:rate=10M,delay=10ms,queue=rtt", 4_000_000),
    ("path:rate=50M,delay=20ms,queue=rtt", 20_000_000),
    ("path:rate=100M,delay=5ms,queue=rtt", 40_000_000),
];

/// Bytes per second live, through a relay.
fn live(bench: &Bench, path: &str, file: &Path, flags: &[String]) -> Result<f64, String> {
    let relay = |at: &str| {
        let mut line = Command::new(&bench.wst);
        line.args(["line", path, "-a", "udp-listen://127.0.0.1:0", "-b"])
            .arg(format!("udp://{at}"));
        line.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        line
    };
    // The relay must know where the receiver listens before the sender may dial: the port is chosen here.
    let at = free_port()?;
    let mut relay = relay(&at).spawn().map_err(|e| format!("wst line: {e}"))?;
    let mut said = BufReader::new(relay.stderr.take().ok_or("expected what it says")?).lines();
    let entry = said.by_ref().map_while(Result::ok).find_map(|line| {
        line.split_once("listening on ").map(|(_, at)| format!("udp://{}", at.trim()))
    });
    let entry = entry.ok_or("expected where the relay listens")?;
    let listen = format!("udp-listen://{at}");
    let figure = pair(bench, file, (&listen, &entry), flags, &|_| Command::new(&bench.wst));
    let pid = Pid::from_child(&relay);
    let _ = kill_process(pid, Signal::INT);
    let _ = relay.wait();
    figure.map(|figure| figure.speed)
}

fn free_port() -> Result<String, String> {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
    socket.local_addr().map(|at| at.to_string()).map_err(|e| e.to_string())
}

/// Bytes per second in virtual time.
fn laboratory(bench: &Bench, path: &str, bytes: usize, around: usize) -> Result<f64, String> {
    let scenario = bench.path("scenario.toml");
    let text = format!(
        "protocol = \"netblt\"\nline = \"{path},overhead={around}\"\n\
         both = {{ datagram = {PACKET} }}\nfile = {{ made = \"random\", bytes = {bytes} }}\n"
    );
    fs::write(&scenario, text).map_err(|e| e.to_string())?;
    let mut run = Command::new(&bench.wst);
    let said = output(run.args(["lab", "run", "--json"]).arg(&scenario), "wst lab run")?;
    let mut events = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let elapsed = events.find_map(|event| event["elapsed_s"].as_f64());
    elapsed.map(|s| bytes as f64 / s).ok_or_else(|| format!("expected a time, got {said}"))
}

fn file_of(bench: &Bench, bytes: usize) -> Result<std::path::PathBuf, String> {
    let file = bench.path("live.bin");
    fs::write(&file, material::random(bytes, 63)).map_err(|e| e.to_string())?;
    Ok(file)
}

fn flags(bench: &Bench, sealed: bool) -> Result<Vec<String>, String> {
    let mut flags = if sealed { secret(bench)? } else { vec!["--plain".to_owned()] };
    flags.extend(["--datagram".to_owned(), PACKET.to_string()]);
    Ok(flags)
}

/// The median of the bench's rounds.
fn median(bench: &Bench, mut one: impl FnMut() -> Result<f64, String>) -> Result<f64, String> {
    let mut all = (0..bench.rounds).map(|_| one()).collect::<Result<Vec<_>, _>>()?;
    all.sort_by(f64::total_cmp);
    Ok(all[all.len() / 2])
}

/// The group of live against laboratory.
pub(super) fn all(bench: &Bench) -> Result<(), String> {
    println!("Live through wst line, and in virtual time, kB/s; packets of {PACKET}");
    let mut missed = 0;
    for (path, bytes) in PATHS {
        let file = file_of(bench, bytes)?;
        for sealed in [false, true] {
            let flags = flags(bench, sealed)?;
            let live = median(bench, || live(bench, path, &file, &flags))?;
            let lab = laboratory(bench, path, bytes, if sealed { SEAL } else { 0 })?;
            let ratio = live / lab;
            let good = (ratio - 1.0).abs() <= BAR;
            missed += usize::from(!good);
            println!(
                "  {path:<46} {:<7} live {:8.1}  laboratory {:8.1}  ratio {ratio:.3}{}",
                if sealed { "sealed" } else { "plain" },
                live / 1e3,
                lab / 1e3,
                if good { "" } else { "  MISSED" }
            );
        }
    }
    println!("{missed} of {} beyond {:.0} %\n", 2 * PATHS.len(), BAR * 100.0);
    Ok(())
}

/// Keeps the processors busy until it is dropped, or for ten minutes. Dropping a program ends it.
struct Load(#[allow(dead_code)] Vec<Program>);

impl Load {
    /// Processes of their own: the scheduler shares the processors among processes as a user's work would.
    fn start() -> Result<Self, String> {
        let me = std::env::current_exe().map_err(|e| e.to_string())?;
        let busy = (0..BUSY).map(|_| {
            let mut one = Command::new(&me);
            one.args(["peers", "--busy"]).stdin(Stdio::null()).stdout(Stdio::null());
            Program::start(&mut one)
        });
        let busy = busy.collect::<Result<Vec<_>, _>>()?;
        // So that they run, all of them.
        thread::sleep(Duration::from_secs(2));
        Ok(Self(busy))
    }
}

/// A busy process: it ends when the one that started it has gone, and after ten minutes in any case.
pub(super) fn busy() {
    let (until, mut work) = (Instant::now() + Duration::from_secs(600), Dice(1));
    let parent = rustix::process::getppid();
    while Instant::now() < until && rustix::process::getppid() == parent {
        for _ in 0..10_000_000 {
            black_box(work.next());
        }
    }
}

/// The group of a busy machine.
pub(super) fn loaded(bench: &Bench) -> Result<(), String> {
    println!("Live through wst line, alone and beside {BUSY} busy processes, kB/s");
    for (path, bytes) in BUSY_PATHS {
        let file = file_of(bench, bytes)?;
        for sealed in [false, true] {
            let flags = flags(bench, sealed)?;
            let alone = median(bench, || live(bench, path, &file, &flags))?;
            let load = Load::start()?;
            let busy = median(bench, || live(bench, path, &file, &flags));
            drop(load);
            let busy = busy?;
            let ratio = busy / alone;
            println!(
                "  {path:<46} {:<7} alone {:8.1}  busy {:8.1}  ratio {ratio:.2}{}",
                if sealed { "sealed" } else { "plain" },
                alone / 1e3,
                busy / 1e3,
                if ratio >= BUSY_BAR { "" } else { "  MISSED" }
            );
        }
    }
    Ok(())
}
