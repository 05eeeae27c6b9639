//! NETBLT over UDP on the loopback interface, encrypted, beside `uftp` and what `iperf3 -u` gets
//! through: the same machine, in turn.
//!
//! `uftp` tells its own elapsed time of the file, and `iperf3` the rate at its receiver, lost datagrams
//! not counted; it carries no file, nor does it repeat what was lost.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::Bench;
use super::run::{Figure, Program, size};
use super::tables::{Contender, group};

/// Ports that nobody else here uses.
const UFTP_PORT: &str = "10440";
const IPERF_PORT: &str = "15201";

/// The group of NETBLT.
pub(super) fn all(bench: &Bench, file: &Path) -> Result<(), String> {
    let rows: Vec<Contender<'_>> = vec![
        ("uftp to uftpd", Box::new(|| uftp(bench, file))),
        ("wst to wst, encrypted", Box::new(|| own(bench, file))),
        ("iperf3 -u, no file", Box::new(iperf)),
    ];
    group(bench, "UDP loopback, random", &rows, &[(1, 0, 1.5), (1, 2, 0.67)])
}

fn figure(speed: f64) -> Figure {
    Figure { speed, wire: 0.0 }
}

/// What a program wrote to its output, once it has ended well.
fn output(command: &mut Command, what: &str) -> Result<String, String> {
    let out = command.stdin(Stdio::null()).output().map_err(|e| format!("{what}: {e}"))?;
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    if out.status.success() { Ok(said) } else { Err(format!("{what}: {}: {said}", out.status)) }
}

fn own(bench: &Bench, file: &Path) -> Result<Figure, String> {
    let secret = bench.path("secret");
    fs::write(&secret, "a secret of this bench").map_err(|e| e.to_string())?;
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).map_err(|e| e.to_string())?;
    let wst = |verb: &str| {
        let mut command = Command::new(&bench.wst);
        command.args([verb, "--json", "--secret-file"]).arg(&secret).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command
    };
    let mut receive = wst("receive");
    let mut receiver =
        Program::start(receive.arg("udp-listen://127.0.0.1:0").arg("-o").arg(bench.fresh()?))?;
    let mut lines = BufReader::new(receiver.output()?);
    let mut line = String::new();
    lines.read_line(&mut line).map_err(|e| e.to_string())?;
    let told: Value = serde_json::from_str(&line).map_err(|e| e.to_string())?;
    let at = told["text"].as_str().and_then(|text| text.strip_prefix("listening on "));
    let line = format!("udp://{}", at.ok_or("expected where it listens")?);
    let said = output(wst("send").arg(file).arg(line), "wst send")?;
    lines.read_to_string(&mut String::new()).map_err(|e| e.to_string())?;
    receiver.end("wst receive")?;
    bench.same(file)?;
    let end: Value =
        serde_json::from_str(said.lines().last().unwrap_or_default()).map_err(|e| e.to_string())?;
    let elapsed = end["elapsed_s"].as_f64().ok_or("expected a time")?;
    Ok(figure(size(file) / elapsed))
}

fn uftp(bench: &Bench, file: &Path) -> Result<Figure, String> {
    let into = bench.fresh()?;
    let mut receive = Command::new("uftpd");
    receive.args(["-d", "-t", "-I", "lo", "-p", UFTP_PORT, "-D"]).arg(into);
    receive.stdout(Stdio::null()).stderr(Stdio::null());
    let receiver = Program::start(&mut receive)?;
    thread::sleep(Duration::from_millis(300));
    let mut send = Command::new("uftp");
    send.args(["-M", "127.0.0.1", "-I", "lo", "-p", UFTP_PORT, "-R", "-1", "-b", "8800"]);
    let out = send.arg(file).output().map_err(|e| format!("uftp (Debian package uftp): {e}"))?;
    let said = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
    drop(receiver);
    bench.same(file)?;
    // "Total elapsed time: 1.234 seconds"
    let time = said.lines().find_map(|line| {
        line.split_once("elapsed time: ")?.1.split(' ').next()?.parse::<f64>().ok()
    });
    Ok(figure(size(file) / time.ok_or_else(|| format!("expected its time, got {said}"))?))
}

fn iperf() -> Result<Figure, String> {
    let mut serve = Command::new("iperf3");
    serve.args(["-s", "-1", "-p", IPERF_PORT]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = Program::start(&mut serve)?;
    thread::sleep(Duration::from_millis(300));
    let mut client = Command::new("iperf3");
    client.args(["-c", "127.0.0.1", "-p", IPERF_PORT, "-u", "-b", "0", "-t", "3", "-J"]);
    let said = output(&mut client, "iperf3 (Debian package iperf3)")?;
    server.end("iperf3 -s")?;
    let told: Value = serde_json::from_str(&said).map_err(|e| e.to_string())?;
    let sum = &told["end"]["sum"];
    let sent = sum["bits_per_second"].as_f64().ok_or("expected its rate")?;
    let lost = sum["lost_percent"].as_f64().ok_or("expected its losses")?;
    Ok(figure(sent / 8.0 * (1.0 - lost / 100.0)))
}
