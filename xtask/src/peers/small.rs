//! Many small files over TCP on this machine: `wst`, C-Kermit, and rsync's daemon if it is installed.
//!
//! Every run has a directory of its own, which stays until the end: ext4 looks long for a free inode where many have just
//! been removed. What is measured is from the start of the sending program to its end. rsync asks for no
//! acknowledgement of a file, and its receiver is two processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::Bench;
use super::run::{Figure, Program, Setting, listens, port, said};
use super::tables::{Contender, middle, verdict};

const FILES: usize = 20_000;
const EACH: usize = 1000;
const IN_DIRECTORY: usize = 1000;

fn words(error: impl std::fmt::Display) -> String {
    format!("small: {error}")
}

/// The group.
pub(super) fn all(bench: &Bench) -> Result<(), String> {
    println!("{FILES} files of {EACH} bytes over TCP, files per second");
    let tree = bench.path("tree");
    make(&tree)?;
    let mut rows: Vec<Contender<'_>> = vec![
        ("wst to wst", Box::new(|| own(bench, &tree))),
        ("C-Kermit to C-Kermit", Box::new(|| ckermit(bench, &tree))),
    ];
    if Command::new("rsync").arg("--version").output().is_ok() {
        rows.push(("rsync to its daemon", Box::new(|| rsync(bench, &tree))));
    }
    let mut rates = vec![Vec::new(); rows.len()];
    for round in 0..=bench.rounds {
        for (rates, (name, run)) in rates.iter_mut().zip(&rows) {
            let figure = run().map_err(|why| format!("{name}: {why}"))?;
            if round > 0 {
                rates.push(figure.speed);
            }
        }
    }
    let rates: Vec<f64> = rates.into_iter().map(middle).collect();
    for (rate, (name, _)) in rates.iter().zip(&rows) {
        println!("    {name:<24} {rate:>8.0}/s   {:.2} of wst", rate / rates[0]);
    }
    let ratio = rates[0] / rates[1];
    verdict("wst beside C-Kermit", &format!("{ratio:.1} times"), "at least 5", ratio >= 5.0);
    Ok(())
}

/// The tree of files.
fn make(tree: &Path) -> Result<(), String> {
    for index in 0..FILES {
        let directory = tree.join(format!("d{:03}", index / IN_DIRECTORY));
        if index % IN_DIRECTORY == 0 {
            fs::create_dir_all(&directory).map_err(words)?;
        }
        let seed = index as u64 * EACH as u64;
        let byte = |at: u64| ((seed + at).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8;
        let bytes: Vec<u8> = (0..EACH as u64).map(byte).collect();
        fs::write(directory.join(format!("file{index:06}")), bytes).map_err(words)?;
    }
    Ok(())
}

/// A directory that nothing was in before.
fn unused(bench: &Bench) -> Result<PathBuf, String> {
    let free =
        (0..1000).map(|index| bench.path(&format!("small{index}"))).find(|path| !path.exists());
    let into = free.ok_or("no free name")?;
    fs::create_dir_all(&into).map_err(words)?;
    Ok(into)
}

/// Files per second, if all have arrived as they are.
fn rate(began: Instant, tree: &Path, came: &Path) -> Result<Figure, String> {
    let took = began.elapsed().as_secs_f64();
    let differs = Command::new("diff").arg("-rq").arg(tree).arg(came).output().map_err(words)?;
    if !differs.status.success() {
        return Err("the trees differ".to_owned());
    }
    Ok(Figure::speed(FILES as f64 / took))
}

fn own(bench: &Bench, tree: &Path) -> Result<Figure, String> {
    let (into, port) = (unused(bench)?, port()?);
    let quiet = |verb: &str| {
        let mut command = Command::new(&bench.wst);
        command.args([verb, "-q"]).stdin(Stdio::null()).stdout(Stdio::piped());
        command.env("XDG_CONFIG_HOME", bench.path("no-config"));
        command.env("XDG_STATE_HOME", "/dev/null/none");
        command
    };
    let mut receive = quiet("receive");
    receive.args(["-r", "-o"]).arg(&into).arg(format!("tcp-listen://127.0.0.1:{port}"));
    let mut receiver = Program::start(&mut receive)?;
    listens(port)?;
    let mut send = quiet("send");
    send.arg(tree).arg(format!("tcp://127.0.0.1:{port}"));
    let began = Instant::now();
    said(&mut send, "wst send")?;
    let figure = rate(began, tree, &into.join("tree"));
    receiver.end("wst receive")?;
    figure
}

fn ckermit(bench: &Bench, tree: &Path) -> Result<Figure, String> {
    let into = unused(bench)?;
    let port = port()?;
    let setting =
        Setting { flags: &[], commands: &["set streaming on", "set receive pathnames relative"] };
    let server = bench.server(&into, port, setting)?;
    let lines = [
        format!("cd {}", tree.display()),
        "set send pathnames relative".to_owned(),
        format!("set host 127.0.0.1 {port} /raw"),
        "if fail exit 9".to_owned(),
        "send /recursive *".to_owned(),
        "if fail exit 8".to_owned(),
    ];
    let mut client = bench.kermit("client.ksc", setting, &lines)?;
    let began = Instant::now();
    said(&mut client, "kermit")?;
    let figure = rate(began, tree, &into);
    drop(server);
    figure
}

fn rsync(bench: &Bench, tree: &Path) -> Result<Figure, String> {
    let (into, port) = (unused(bench)?, port()?);
    let settings = format!(
        "address = 127.0.0.1\nport = {port}\nuse chroot = no\n[in]\npath = {}\nread only = no\n\
         uid = {}\ngid = {}\n",
        into.display(),
        id("-u")?,
        id("-g")?
    );
    let file = bench.path("rsyncd.conf");
    fs::write(&file, settings).map_err(words)?;
    let mut daemon = Command::new("rsync");
    daemon.args(["--daemon", "--no-detach", "--config"]).arg(&file).stdin(Stdio::null());
    let daemon = Program::start(&mut daemon)?;
    listens(port)?;
    let mut client = Command::new("rsync");
    client.arg("-rt").arg(tree).arg(format!("rsync://127.0.0.1:{port}/in/"));
    client.stdin(Stdio::null()).stdout(Stdio::piped());
    let began = Instant::now();
    said(&mut client, "rsync")?;
    let figure = rate(began, tree, &into.join("tree"));
    drop(daemon);
    figure
}

/// What `id` says.
fn id(flag: &str) -> Result<String, String> {
    let output = Command::new("id").arg(flag).output().map_err(words)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
