//! C-Kermit and `wst` through `wst line`: 9600 bit/s, a quarter of a second each way, and a burst of
//! noise every two seconds, in real time.

use crate::peers;

use std::process::Command;
use std::time::{Duration, Instant};

use peers::{End, Running, Scene, all, ckermit, material, same, wst};

const LINE: &str = "9600,delay=250ms,burst=8@2s";
/// The files take 10 to 40 seconds.
const PATIENCE: Duration = Duration::from_secs(150);

/// What the two ends of the line are for `wst`.
#[derive(Clone, Copy, Debug)]
enum Ours {
    Tcp,
    Pty,
}

/// One transfer.
#[derive(Clone, Copy, Debug)]
struct Job {
    we_send: bool,
    ours: Ours,
    line: &'static str,
    /// Bytes of the file.
    len: usize,
}

/// A line with C-Kermit's end first; returns it with the port of the one end and the LINE of ours.
fn line(scene: &Scene, job: &Job) -> Result<(Running, String, String), String> {
    let tty = scene.path("tty");
    let b = match job.ours {
        Ours::Tcp => "tcp-listen://127.0.0.1:0".to_owned(),
        Ours::Pty => format!("pty:{}", tty.display()),
    };
    let args = ["line", job.line, "-a", "tcp-listen://127.0.0.1:0", "-b", &b];
    let mut line = scene.start("line", &mut wst(args))?;
    let port = line.line_after("end A: listening on 127.0.0.1:")?;
    let at = match job.ours {
        Ours::Tcp => format!("tcp://{}", line.line_after("end B: listening on ")?),
        Ours::Pty => {
            line.line_after("end B: ")?;
            format!("serial:{}?baud=9600", tty.display())
        }
    };
    Ok((line, port, at))
}

fn transfer(job: &Job) -> Result<(), String> {
    let scene = Scene::new();
    let mut bytes = material::every_byte();
    bytes.extend(material::random(job.len.saturating_sub(bytes.len()), 40));
    let file = scene.file("from/a.bin", &bytes);
    let into = scene.folder("in");
    let (_line, port, at) = line(&scene, job)?;
    let command =
        if job.we_send { "receive".to_owned() } else { format!("send {}", file.display()) };
    let script = [
        "set quiet on",
        "set delay 0",
        "set tcp reverse-dns-lookup off",
        "set file type binary",
        // It thinks that TCP loses nothing.
        "set reliable off",
        "set streaming off",
        "set clear-channel off",
        // Lengths that C-Kermit can get through between two bursts.
        "set receive packet-length 250",
        "set send packet-length 250",
        "set window 8",
        "set retry-limit 60",
        &format!("cd {}", into.display()),
        &format!("set host 127.0.0.1 {port} /raw"),
        "if fail exit 99",
        &command,
        "if fail exit 1",
        "exit 0",
    ];
    let script = scene.file("script.ksc", (script.join("\n") + "\n").as_bytes());
    let mut args = vec![if job.we_send { "send" } else { "receive" }, "--reliable=off", "--json"];
    let (name, output) = (file.display().to_string(), format!("--output={}", into.display()));
    args.push(if job.we_send { &name } else { &output });
    args.push(&at);
    let mut ours = scene.start("wst", &mut wst(args))?;
    let mut command = Command::new("kermit");
    let mut theirs = scene.start("kermit", command.arg("-Y").arg("+").arg(&script))?;
    let began = Instant::now();
    let (ours, theirs): (End, End) = (ours.wait(PATIENCE)?, theirs.wait(PATIENCE)?);
    if ours.code != 0 || theirs.code != 0 {
        return Err(format!("after {:?}: {ours:?} {theirs:?}", began.elapsed()));
    }
    same(&file, &into.join("a.bin"))
}

#[test]
fn through_noise_and_delay() {
    let _turn = crate::turn();
    let Some(_) = ckermit() else { return };
    let mut jobs = Vec::new();
    for we_send in [true, false] {
        jobs.push(Job { we_send, ours: Ours::Tcp, line: LINE, len: 12_000 });
        jobs.push(Job { we_send, ours: Ours::Pty, line: LINE, len: 6_000 });
        jobs.push(Job { we_send, ours: Ours::Tcp, line: "38400,delay=50ms", len: 20_000 });
    }
    all(&jobs, 8, transfer);
}
