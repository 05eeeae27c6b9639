//! The cost of a server: one client, a hundred at once, ten thousand silent ones, and none.
//!
//! All clients are `wst get` on this machine and take their share of it, the server's own time stands
//! beside the rate. The bars: a hundred clients of 10 MB each together at 60 % of one client's rate or
//! more, with the server below 200 MB; no wake-up for those who wait.

use std::fs;
use std::io::Read as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Bench;
use super::run::{Program, listens, port};
use super::tables::{middle, verdict};

/// Clients at once.
const CLIENTS: usize = 100;
/// Bytes for each.
const EACH: usize = 10_000_000;
/// Connections that say nothing, and how many of them the server lets in.
const SILENT: usize = 10_000;
const PLACES: usize = 1000;
/// Period without any wake-up.
const IDLE: Duration = Duration::from_secs(10);

fn words(error: impl std::fmt::Display) -> String {
    format!("serve: {error}")
}

/// The group.
pub(super) fn all(bench: &Bench) -> Result<(), String> {
    println!("wst serve, {CLIENTS} clients of {EACH} bytes each, and {SILENT} silent ones");
    let root = bench.path("root");
    fs::create_dir_all(&root).map_err(words)?;
    let bytes: Vec<u8> =
        (0..EACH as u64).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8).collect();
    let names: Vec<String> = (0..CLIENTS).map(|index| format!("{index}.bin")).collect();
    let first = root.join(&names[0]);
    fs::write(&first, &bytes).map_err(words)?;
    for name in &names[1..] {
        fs::hard_link(&first, root.join(name)).map_err(words)?;
    }
    let (mut ones, mut many, mut most) = (Vec::new(), Vec::new(), 0.0_f64);
    for round in 0..=bench.rounds {
        let (one, _) = transfer(bench, &root, &[&names[..]], &bytes)?;
        let each: Vec<&[String]> = names.chunks(1).collect();
        let (all, peak) = transfer(bench, &root, &each, &bytes)?;
        if round > 0 {
            ones.push(one);
            many.push(all);
            most = most.max(peak);
        }
    }
    let (one, many) = (middle(ones), middle(many));
    println!("    one client, {CLIENTS} files one after the other: {:.0} MB/s", one / 1e6);
    let shown = format!("{:.0} MB/s, {:.2} of that", many / 1e6, many / one);
    verdict("a client for each at once", &shown, "at least 0.6", many >= 0.6 * one);
    let shown = format!("{:.0} MB", most / 1e6);
    verdict("the server's memory at its most", &shown, "under 200 MB", most < 200e6);
    silent(bench, &root)
}

/// Starts a server.
fn server(bench: &Bench, root: &Path, flags: &[&str]) -> Result<(Program, u16), String> {
    let port = port()?;
    let mut command = Command::new(&bench.wst);
    command.arg("serve").arg(format!("tcp-listen://127.0.0.1:{port}")).arg("--root").arg(root);
    command.args(["-q"]).args(flags).stdin(Stdio::null());
    let server = Program::start(&mut command)?;
    listens(port)?;
    Ok((server, port))
}

/// A client for each of these lists of names, at once: bytes per second of all, and the most memory
/// that the server had.
fn transfer(
    bench: &Bench,
    root: &Path,
    lists: &[&[String]],
    bytes: &[u8],
) -> Result<(f64, f64), String> {
    let (mut server, port) = server(bench, root, &[])?;
    let line = format!("tcp://127.0.0.1:{port}");
    let into = bench.fresh()?;
    let began = Instant::now();
    let mut clients = Vec::new();
    for (index, names) in lists.iter().enumerate() {
        let folder = into.join(index.to_string());
        fs::create_dir_all(&folder).map_err(words)?;
        let mut command = Command::new(&bench.wst);
        command.args(["get", "-q", &line]).args(*names).arg("-o").arg(&folder);
        clients.push((Program::start(command.stdin(Stdio::null()))?, folder));
    }
    for (client, _) in &mut clients {
        client.end("wst get")?;
    }
    let took = began.elapsed().as_secs_f64();
    let count: usize = lists.iter().map(|names| names.len()).sum();
    let peak = figure(server.id(), "VmHWM")? * 1000.0;
    server.stop()?;
    for ((_, folder), names) in clients.iter().zip(lists) {
        for name in *names {
            let got = fs::read(folder.join(name)).map_err(words)?;
            if got != bytes {
                return Err(format!("serve: {name} is not what was served"));
            }
        }
    }
    fs::remove_dir_all(&into).map_err(words)?;
    Ok(((count * bytes.len()) as f64 / took, peak))
}

/// Those who say nothing.
fn silent(bench: &Bench, root: &Path) -> Result<(), String> {
    let places = PLACES.to_string();
    let (mut server, port) = server(bench, root, &["--sessions", &places])?;
    let began = Instant::now();
    let (mut waiting, mut refused) = (Vec::new(), 0);
    for index in 0..SILENT {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(words)?;
        if index < PLACES {
            waiting.push(stream);
            if index + 1 == PLACES {
                // All of them must have their places before the others connect.
                thread::sleep(Duration::from_secs(1));
            }
            continue;
        }
        stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(words)?;
        let mut said = String::new();
        let told = stream.read_to_string(&mut said).is_ok() && said.contains("Too many sessions");
        refused += usize::from(told);
    }
    let took = began.elapsed().as_secs_f64();
    let expected = SILENT - PLACES;
    let shown = format!("{refused} of {expected} told so, {took:.1} s");
    verdict("who finds no place", &shown, "all", refused == expected);
    let peak = figure(server.id(), "VmHWM")? * 1000.0;
    let shown = format!("{:.0} MB", peak / 1e6);
    verdict(&format!("memory with {PLACES} who wait"), &shown, "under 200 MB", peak < 200e6);
    let before = sleeps(server.id())?;
    thread::sleep(IDLE);
    let woken = sleeps(server.id())? - before;
    let shown = format!("{woken:.0} in {} s", IDLE.as_secs());
    verdict("wake-ups meanwhile", &shown, "none", woken == 0.0);
    println!();
    drop(waiting);
    server.stop()
}

/// A figure of a process's status: kB, or times.
fn figure(process: u32, name: &str) -> Result<f64, String> {
    number(&format!("/proc/{process}/status"), name)
}

fn number(path: &str, name: &str) -> Result<f64, String> {
    let status = fs::read_to_string(path).map_err(words)?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.trim_start_matches(':').split_whitespace().next());
    number.and_then(|n| n.parse().ok()).ok_or_else(|| format!("expected {name} in {path}"))
}

/// How often all threads of a process have gone to sleep.
fn sleeps(process: u32) -> Result<f64, String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).map_err(words)?;
    tasks
        .flatten()
        .map(|task| {
            let path = task.path().join("status").display().to_string();
            number(&path, "voluntary_ctxt_switches")
        })
        .sum()
}
