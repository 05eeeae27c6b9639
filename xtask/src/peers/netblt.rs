//! NETBLT over UDP on the loopback interface, encrypted, beside `uftp`, what `iperf3 -u` gets through,
//! and TCP with TLS: the same machine, in turn.
//!
//! `uftp` tells its own elapsed time of the file, and `iperf3` the rate at its receiver, lost datagrams
//! not counted; it carries no file, and does not retransmit. TCP is `socat` from file to file,
//! with blocks of 256 KiB, from its start to its end.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Bench;
use super::run::{Figure, Program, Spent, listens, port, size};
use super::tables::{Contender, group, material};

/// Ports not used elsewhere here.
const UFTP_PORT: &str = "10440";
const IPERF_PORT: &str = "15201";
/// Bytes of a file, in units of the bench's length: what takes a second, not a tenth of one.
const TIMES: usize = 8;
const BLOCKS: &str = "262144";

/// The group of NETBLT.
pub(super) fn all(bench: &Bench) -> Result<(), String> {
    let file = bench.path("big.bin");
    fs::write(&file, material::random(bench.len * TIMES, 61)).map_err(|e| e.to_string())?;
    certificate(bench)?;
    let file = &file;
    let rows: Vec<Contender<'_>> = vec![
        ("uftp to uftpd", Box::new(|| uftp(bench, file))),
        ("wst to wst, encrypted", Box::new(|| own(bench, file, true))),
        ("iperf3 -u, no file", Box::new(iperf)),
        ("wst to wst, --plain", Box::new(|| own(bench, file, false))),
        ("socat, TCP and TLS 1.3", Box::new(|| socat(bench, file, true))),
        ("socat, TCP", Box::new(|| socat(bench, file, false))),
    ];
    let mib = size(file) / f64::from(1 << 20);
    let title = format!("UDP and TCP on the loopback interface, random, {mib:.0} MiB");
    group(bench, &title, &rows, &[(1, 0, 1.5), (1, 2, 0.67)])?;
    parts_alone(bench, file)?;
    let _ = fs::remove_file(file);
    Ok(())
}

/// What carrying a file by encrypted datagrams takes of the processors, part by part and by the programs
/// of others: the system's UDP, the cipher at both ends, reading and writing the file. `iperf3` does only the
/// first of them.
fn parts_alone(bench: &Bench, file: &Path) -> Result<(), String> {
    let (mut parts, mut speed) = ([f64::INFINITY; 3], 0.0_f64);
    for _ in 0..3 {
        let udp = iperf()?;
        speed = speed.max(udp.speed);
        for (least, cpu) in parts.iter_mut().zip([udp.cpu, 2.0 * cipher()?, copy(bench, file)?]) {
            *least = least.min(cpu * 1e9);
        }
    }
    let sum: f64 = parts.iter().sum();
    let cores = thread::available_parallelism().map_or(1, usize::from).min(2) as f64;
    let most = cores / sum * 1e3;
    println!(
        "The parts alone, in s of CPU/GB: UDP (iperf3) {:.2}, AES-256-GCM at both ends (openssl) {:.2}, \
         the file read and written (dd) {:.2}\n    two processors carry {most:.0} MB/s of that, {:.2} of \
         iperf3 -u\n",
        parts[0],
        parts[1],
        parts[2],
        most * 1e6 / speed
    );
    Ok(())
}

/// Seconds of the processor that AES-256-GCM takes for a byte, in packets as long as ours, by the library
/// that the system has.
fn cipher() -> Result<f64, String> {
    let mut speed = Command::new("openssl");
    speed.args(["speed", "-mr", "-seconds", "1", "-bytes", "65432", "-evp", "aes-256-gcm"]);
    // "+F:25:AES-256-GCM:3568464980.00": bytes per second of the processor.
    let said = output(&mut speed, "openssl speed")?;
    let mut lines = said.lines().filter_map(|line| line.strip_prefix("+F:"));
    let rate = lines.find_map(|line| line.rsplit(':').next()?.parse::<f64>().ok());
    rate.map(|rate| 1.0 / rate).ok_or_else(|| format!("expected a rate, got {said}"))
}

/// Seconds of the processor that reading and writing the file take for a byte.
fn copy(bench: &Bench, file: &Path) -> Result<f64, String> {
    let into = bench.fresh()?.join("copy");
    let spent = Spent::begin();
    let mut dd = Command::new("dd");
    dd.arg(format!("if={}", file.display())).arg(format!("of={}", into.display())).arg("bs=128k");
    output(&mut dd, "dd")?;
    Ok(spent.seconds() / size(file))
}

/// What a program wrote to its output, once it has ended well.
pub(super) fn output(command: &mut Command, what: &str) -> Result<String, String> {
    let out = command.stdin(Stdio::null()).output().map_err(|e| format!("{what}: {e}"))?;
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    if out.status.success() {
        return Ok(said);
    }
    let error = String::from_utf8_lossy(&out.stderr).into_owned();
    Err(format!("{what}: {}: {said}{error}", out.status))
}

/// The flags that give either end the secret of the bench.
pub(super) fn secret(bench: &Bench) -> Result<Vec<String>, String> {
    let secret = bench.path("secret");
    fs::write(&secret, "a secret of this bench").map_err(|e| e.to_string())?;
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).map_err(|e| e.to_string())?;
    Ok(vec!["--secret-file".to_owned(), secret.display().to_string()])
}

/// Runs `wst receive` and `wst send` with these flags, made by `make` for either end (0 receives).
/// `AT` in the line that is dialled is where the other listens.
pub(super) fn pair(
    bench: &Bench,
    file: &Path,
    (listen, dial): (&str, &str),
    flags: &[String],
    make: &dyn Fn(usize) -> Command,
) -> Result<Figure, String> {
    let wst = |end: usize, verb: &str| {
        let mut command = make(end);
        command.args([verb, "--json"]).args(flags).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command
    };
    let spent = Spent::begin();
    let mut receive = wst(0, "receive");
    let mut receiver = Program::start(receive.arg(listen).arg("-o").arg(bench.fresh()?))?;
    let mut lines = BufReader::new(receiver.output()?);
    let mut line = String::new();
    lines.read_line(&mut line).map_err(|e| e.to_string())?;
    let told: Value = serde_json::from_str(&line).map_err(|e| format!("{line:?}: {e}"))?;
    let at = told["text"].as_str().and_then(|text| text.strip_prefix("listening on "));
    let line = dial.replace("AT", at.ok_or("expected where it listens")?);
    let said = output(wst(1, "send").arg(file).arg(line), "wst send")?;
    lines.read_to_string(&mut String::new()).map_err(|e| e.to_string())?;
    receiver.end("wst receive")?;
    let cpu = spent.seconds();
    bench.same(file)?;
    let end: Value =
        serde_json::from_str(said.lines().last().unwrap_or_default()).map_err(|e| e.to_string())?;
    let elapsed = end["elapsed_s"].as_f64().ok_or("expected a time")?;
    Ok(Figure { cpu: cpu / size(file), ..Figure::speed(size(file) / elapsed) })
}

fn own(bench: &Bench, file: &Path, sealed: bool) -> Result<Figure, String> {
    let flags = if sealed { secret(bench)? } else { vec!["--plain".to_owned()] };
    let ends = ("udp-listen://127.0.0.1:0", "udp://AT");
    pair(bench, file, ends, &flags, &|_| Command::new(&bench.wst))
}

/// Runs `uftpd` and `uftp`, made by `make` for either end (0 receives).
pub(super) fn uftp_pair(
    bench: &Bench,
    file: &Path,
    (to, device, rate): (&str, [&str; 2], &str),
    make: &dyn Fn(usize, &str) -> Command,
) -> Result<Figure, String> {
    let spent = Spent::begin();
    let into = bench.fresh()?;
    let mut receive = make(0, "uftpd");
    receive.args(["-d", "-t", "-I", device[0], "-p", UFTP_PORT, "-D"]).arg(into);
    receive.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut receiver = Program::start(&mut receive)?;
    thread::sleep(Duration::from_millis(300));
    let mut send = make(1, "uftp");
    send.args(["-M", to, "-I", device[1], "-p", UFTP_PORT, "-R", rate]);
    send.args(["-b", if device[0] == "lo" { "8800" } else { "1400" }]);
    let out = send.arg(file).stdin(Stdio::null()).output();
    let out = out.map_err(|e| format!("uftp (Debian package uftp): {e}"))?;
    let said = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
    receiver.stop()?;
    let cpu = spent.seconds();
    bench.same(file)?;
    // "Total elapsed time: 1.234 seconds"
    let time = said.lines().find_map(|line| {
        line.split_once("elapsed time: ")?.1.split(' ').next()?.parse::<f64>().ok()
    });
    let time = time.ok_or_else(|| format!("expected its time, got {said}"))?;
    Ok(Figure { cpu: cpu / size(file), ..Figure::speed(size(file) / time) })
}

fn uftp(bench: &Bench, file: &Path) -> Result<Figure, String> {
    uftp_pair(bench, file, ("127.0.0.1", ["lo"; 2], "-1"), &|_, program| Command::new(program))
}

fn iperf() -> Result<Figure, String> {
    let spent = Spent::begin();
    let mut serve = Command::new("iperf3");
    serve.args(["-s", "-1", "-p", IPERF_PORT]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = Program::start(&mut serve)?;
    thread::sleep(Duration::from_millis(300));
    let mut client = Command::new("iperf3");
    client.args(["-c", "127.0.0.1", "-p", IPERF_PORT, "-u", "-b", "0", "-t", "3", "-J"]);
    let said = output(&mut client, "iperf3 (Debian package iperf3)")?;
    server.end("iperf3 -s")?;
    let cpu = spent.seconds();
    let told: Value = serde_json::from_str(&said).map_err(|e| e.to_string())?;
    let sum = &told["end"]["sum"];
    let rate_bps = sum["bits_per_second"].as_f64().ok_or("expected its rate")?;
    let lost = sum["lost_percent"].as_f64().ok_or("expected its losses")?;
    let bytes = sum["bytes"].as_f64().ok_or("expected what it sent")?;
    // The processor's time is of what was sent, which is more.
    Ok(Figure { cpu: cpu / bytes, ..Figure::speed(rate_bps / 8.0 * (1.0 - lost / 100.0)) })
}

/// A key and a certificate for the one who listens.
fn certificate(bench: &Bench) -> Result<(), String> {
    let (key, cert) = (bench.path("tls.key"), bench.path("tls.crt"));
    let mut make = Command::new("openssl");
    make.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    make.args(["-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout"]).arg(&key);
    output(make.arg("-out").arg(&cert), "openssl (Debian package openssl)")?;
    let both = [fs::read(key), fs::read(cert)].into_iter().collect::<Result<Vec<_>, _>>();
    fs::write(bench.path("tls.pem"), both.map_err(|e| e.to_string())?.concat())
        .map_err(|e| e.to_string())
}

/// A plain copy by `socat`, made by `make` for either end (0 receives).
pub(super) fn socat_pair(
    bench: &Bench,
    file: &Path,
    (listen, dial): (&str, &str),
    ready: &dyn Fn() -> Result<(), String>,
    make: &dyn Fn(usize) -> Command,
) -> Result<Figure, String> {
    let name = file.file_name().unwrap_or_default();
    let into = bench.fresh()?.join(name);
    let spent = Spent::begin();
    let mut receive = make(0);
    receive.args(["-u", "-b", BLOCKS, listen]).arg(format!("CREATE:{}", into.display()));
    let mut receiver = Program::start(receive.stdin(Stdio::null()))?;
    ready()?;
    let began = Instant::now();
    let mut send = make(1);
    send.args(["-u", "-b", BLOCKS]).arg(format!("OPEN:{},rdonly", file.display())).arg(dial);
    output(&mut send, "socat (Debian package socat)")?;
    receiver.end("socat")?;
    let (cpu, elapsed) = (spent.seconds(), began.elapsed().as_secs_f64());
    bench.same(file)?;
    Ok(Figure { cpu: cpu / size(file), ..Figure::speed(size(file) / elapsed) })
}

fn socat(bench: &Bench, file: &Path, tls: bool) -> Result<Figure, String> {
    let port = port()?;
    let pem = bench.path("tls.pem").display().to_string();
    let ends = if tls {
        let listen = format!("OPENSSL-LISTEN:{port},bind=127.0.0.1,cert={pem},verify=0");
        (listen, format!("OPENSSL:127.0.0.1:{port},verify=0"))
    } else {
        (format!("TCP-LISTEN:{port},bind=127.0.0.1"), format!("TCP:127.0.0.1:{port}"))
    };
    socat_pair(bench, file, (&ends.0, &ends.1), &|| listens(port), &|_| Command::new("socat"))
}
