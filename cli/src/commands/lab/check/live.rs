//! A transfer between real programs: `wst line`, and a program at each of its ends.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use wetstring_drive::in_words;

use super::case::{Case, FILE, span};
use super::uucico;
use crate::config::protocol::Protocol;

/// How often something awaited is looked for.
const LOOK: Duration = Duration::from_millis(5);
/// Longest wait for a program to begin, and for the line to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program that is ended, whatever happens.
struct Running {
    child: Child,
    /// For how long it has waited for a processor.
    kept_waiting: Duration,
    what: &'static str,
    log: PathBuf,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(mut command: Command, what: &'static str, dir: &Path) -> Result<Self, String> {
        let log = dir.join(format!("{what}.log"));
        let out = File::create(&log).map_err(|e| in_words(&e))?;
        let both = out.try_clone().map_err(|e| in_words(&e))?;
        // Nothing of the user's own configuration changes a measurement.
        command
            .env("XDG_CONFIG_HOME", dir.join("none"))
            .env("HOME", dir)
            .env("XDG_STATE_HOME", dir.join("none"))
            .stdin(Stdio::null());
        command.stdout(both).stderr(out);
        let child = command.spawn().map_err(|e| format!("{what}: {}", in_words(&e)))?;
        Ok(Self { child, kept_waiting: Duration::ZERO, what, log })
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        // While the process exists: its time on a processor and its time waiting for one, in ns.
        let stat = fs::read_to_string(format!("/proc/{}/schedstat", self.child.id()));
        let waited = stat.ok().and_then(|stat| stat.split_whitespace().nth(1)?.parse().ok());
        self.kept_waiting = waited.map_or(self.kept_waiting, Duration::from_nanos);
        self.child.try_wait().ok().flatten()
    }

    /// Waits until something is so.
    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) -> Result<(), String> {
        let until = Instant::now() + PATIENCE;
        while !is_so(self) {
            if self.ended().is_some() || Instant::now() > until {
                return Err(format!("{}: expected {what}, got {}", self.what, last(&self.said())));
            }
            sleep(LOOK);
        }
        Ok(())
    }
}

/// The last lines of what a program said.
fn last(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}

/// A transfer by the clock.
pub(super) struct Real {
    pub(super) seconds: f64,
    /// For how long its programs have waited for a processor.
    pub(super) kept_waiting: f64,
}

/// A program at an end.
enum Peer {
    Child(Running),
    /// It was started by the line, and leaves this file.
    OfLine(PathBuf),
}

impl Peer {
    /// Whether it has ended. Exit codes of other programs prove nothing: whether the file exists does.
    fn has_ended(&mut self, is_ours: bool) -> Result<bool, String> {
        let running = match self {
            Self::Child(running) => running,
            Self::OfLine(file) => return Ok(file.exists()),
        };
        match running.ended() {
            Some(status) if is_ours && !status.success() => {
                Err(format!("{}: {status}: {}", running.what, last(&running.said())))
            }
            status => Ok(status.is_some()),
        }
    }

    fn said(&self) -> String {
        match self {
            Self::Child(running) => format!("{}: {}", running.what, last(&running.said())),
            Self::OfLine(file) => file.display().to_string(),
        }
    }
}

/// What an end of the line is for its program.
enum At {
    /// A terminal, for bytes of a serial kind.
    Terminal(PathBuf),
    /// A TCP port, where a connection is what is emulated.
    Port(String),
    /// Pipes of a program that the line has started; it begins when the first file is there, and leaves the second.
    Pipes { begin: PathBuf, done: PathBuf },
}

/// The ends of a line.
enum Ends {
    Bytes([At; 2]),
    /// UDP: the receiver, and the line's port for the sender.
    Datagrams {
        receiver: Running,
        to: String,
    },
}

/// Makes a transfer. Everything is done in `dir`, which is empty.
pub(super) fn run(
    program: &Path,
    case: &Case,
    dir: &Path,
    limit: Duration,
) -> Result<Real, String> {
    let io = |e: std::io::Error| in_words(&e);
    let [from, into] = ["from", "in"].map(|name| dir.join(name));
    fs::create_dir_all(&from).map_err(io)?;
    fs::create_dir_all(&into).map_err(io)?;
    fs::write(from.join(FILE), case.content()).map_err(io)?;
    let live = Live { program, case, dir };
    let (mut line, ends) = live.line()?;
    let (receiver, sender) = match ends {
        // uucico speaks once, and then waits for its caller.
        Ends::Bytes([a, b]) if case.receiver.as_deref() == Some("uucico") => {
            let mut sender = live.ours_sends(&ours(&a))?;
            sender.until("that it waits", |of| of.said().contains("\"event\":\"waiting\""))?;
            (live.receiver(&b)?, Peer::Child(sender))
        }
        Ends::Bytes([a, b]) => (live.receiver(&b)?, live.sender(&a)?),
        Ends::Datagrams { receiver, to } => {
            (Peer::Child(receiver), Peer::Child(live.ours_sends(&to)?))
        }
    };
    let until = Instant::now() + limit;
    let mut kept_waiting = Duration::ZERO;
    for (mut peer, is_ours) in
        [(sender, case.sender.is_none()), (receiver, case.receiver.is_none())]
    {
        while !peer.has_ended(is_ours)? {
            if Instant::now() > until {
                return Err(format!("no end after {} s: {}", limit.as_secs(), peer.said()));
            }
            let _ = line.ended();
            sleep(LOOK);
        }
        if let Peer::Child(running) = &peer {
            kept_waiting += running.kept_waiting;
        }
    }
    kept_waiting += line.kept_waiting;
    live.arrived(&into)?;
    Ok(Real { seconds: live.measure(&mut line)?, kept_waiting: kept_waiting.as_secs_f64() })
}

struct Live<'a> {
    program: &'a Path,
    case: &'a Case,
    dir: &'a Path,
}

impl Live<'_> {
    fn wst(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.args(args);
        command
    }

    /// Starts the line, and waits for its ends.
    fn line(&self) -> Result<(Running, Ends), String> {
        let spec = self.case.line();
        let capture = self.dir.join("line.pcapng").display().to_string();
        if let Some(network) = spec.strip_prefix("udp over ") {
            let mut receiver = self.ours_receives("udp-listen://127.0.0.1:0")?;
            receiver.until("a port", |of| of.said().contains("listening on "))?;
            let to = format!("udp://{}", after(&receiver.said(), "listening on "));
            let args =
                ["line", network, "-a", "udp-listen://127.0.0.1:0", "-b", &to, "--pcap", &capture];
            let mut line = Running::start(self.wst(&args), "line", self.dir)?;
            line.until("a port", |of| of.said().contains("end A: listening on "))?;
            let to = format!("udp://{}", after(&line.said(), "end A: listening on "));
            return Ok((line, Ends::Datagrams { receiver, to }));
        }
        let is_connection = self.case.is_network();
        let ends = [("a", "A", &self.case.sender), ("b", "B", &self.case.receiver)];
        let in_line = |command: &Option<String>| command.clone().filter(|_| self.case.pipes);
        let specs = ends.map(|(name, _, command)| match in_line(command) {
            Some(command) => self.piped(name, &command),
            None if is_connection => "tcp-listen://127.0.0.1:0".to_owned(),
            None => format!("pty:{}", self.dir.join(name).display()),
        });
        let args = ["line", &spec, "-a", &specs[0], "-b", &specs[1], "--pcap", &capture];
        let mut line = Running::start(self.wst(&args), "line", self.dir)?;
        line.until("both ends", |of| of.said().contains("is up"))?;
        let said = line.said();
        let ends = ends.map(|(name, end, command)| match in_line(command) {
            Some(_) => {
                let [begin, done] =
                    ["begin", "done"].map(|what| self.dir.join(format!("{name}.{what}")));
                At::Pipes { begin, done }
            }
            None if is_connection => At::Port(after(&said, &format!("end {end}: listening on "))),
            None => At::Terminal(self.dir.join(name)),
        });
        Ok((line, Ends::Bytes(ends)))
    }

    /// A line that starts a program of other people's. When it has ended its pipes stay open: the line goes on.
    fn piped(&self, name: &str, command: &str) -> String {
        let folder = if name == "a" { "from" } else { "in" };
        let at = self.dir.join(name).display().to_string();
        format!(
            "exec:cd '{}' && while ! [ -e '{at}.begin' ]; do sleep 0.02; done; {command} 2>'{at}.log'; \
             echo $? >'{at}.done'; exec sleep 60",
            self.dir.join(folder).display()
        )
    }

    fn settings(&self, command: &mut Command) {
        let protocol = Protocol::of(&self.case.protocol);
        let prefix = protocol.map_or(self.case.protocol.as_str(), |by| by.family().prefix());
        command.args(["-P", &self.case.protocol]);
        for setting in &self.case.set {
            command.args(["--set", &format!("{prefix}.{setting}")]);
        }
    }

    fn ours_sends(&self, to: &str) -> Result<Running, String> {
        let file = self.dir.join("from").join(FILE).display().to_string();
        let mut command = self.wst(&["send", &file, to, "--json"]);
        self.settings(&mut command);
        Self::plain(&mut command, to);
        Running::start(command, "sender", self.dir)
    }

    fn ours_receives(&self, from: &str) -> Result<Running, String> {
        let into = self.dir.join("in").display().to_string();
        let mut command = self.wst(&["receive", from, "-o", &into, "--json"]);
        self.settings(&mut command);
        Self::plain(&mut command, from);
        if Protocol::of(&self.case.protocol).is_some_and(|by| !by.tells_names) {
            command.args(["--as", FILE]);
        }
        let mut receiver = Running::start(command, "receiver", self.dir)?;
        receiver.until("that it waits", |of| {
            of.said().contains("\"event\":\"waiting\"") || of.said().contains("listening on ")
        })?;
        Ok(receiver)
    }

    /// What is sent on UDP is not sealed, and no question is asked.
    fn plain(command: &mut Command, line: &str) {
        if line.starts_with("udp") {
            command.arg("--plain");
        }
    }

    /// The program that receives, once it is there.
    fn receiver(&self, at: &At) -> Result<Peer, String> {
        let into = self.dir.join("in");
        match self.case.receiver.as_deref() {
            None => Ok(Peer::Child(self.ours_receives(&ours(at))?)),
            Some("uucico") => self.other(&uucico::called(&into)?, "receiver", at, &into),
            Some(command) => self.other(command, "receiver", at, &into),
        }
    }

    fn sender(&self, at: &At) -> Result<Peer, String> {
        match self.case.sender.as_deref() {
            None => Ok(Peer::Child(self.ours_sends(&ours(at))?)),
            Some(command) => self.other(command, "sender", at, &self.dir.join("from")),
        }
    }

    /// Another program in this directory, at a terminal that is raw.
    fn other(
        &self,
        command: &str,
        what: &'static str,
        at: &At,
        dir: &Path,
    ) -> Result<Peer, String> {
        let tty = match at {
            At::Terminal(tty) => tty.display().to_string(),
            At::Port(port) => return Err(format!("{command} does not connect to {port}")),
            At::Pipes { begin, done } => {
                fs::write(begin, "").map_err(|e| in_words(&e))?;
                return Ok(Peer::OfLine(done.clone()));
            }
        };
        let ready = self.dir.join(format!("{what}.ready"));
        let redirect = if command.contains("{tty}") { "" } else { "<\"$TTY\" >\"$TTY\"" };
        let script = format!(
            "stty raw -echo <\"$TTY\" && : >\"$READY\" && exec {} {redirect}",
            command.replace("{tty}", "\"$TTY\"")
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).current_dir(dir).env("TTY", tty).env("READY", &ready);
        let mut running = Running::start(shell, what, self.dir)?;
        running.until("a terminal", |_| ready.exists())?;
        Ok(Peer::Child(running))
    }

    /// Whether the file is there; behind it only padding.
    fn arrived(&self, into: &Path) -> Result<(), String> {
        let sent = self.case.content();
        let places = [into.join(FILE), into.join("pub").join(FILE)];
        let arrived = places.iter().find_map(|place| fs::read(place).ok()).unwrap_or_default();
        if arrived.starts_with(&sent) && arrived.len() < sent.len() + 1024 {
            return Ok(());
        }
        Err(format!("expected {} bytes, got {} or others", sent.len(), arrived.len()))
    }

    /// Ends the line, and reads what passed it.
    fn measure(&self, line: &mut Running) -> Result<f64, String> {
        let interrupt = format!("kill -INT {}", line.child.id());
        let _ = Command::new("sh").args(["-c", &interrupt]).status();
        let until = Instant::now() + PATIENCE;
        while line.ended().is_none() {
            if Instant::now() > until {
                return Err("the line did not end".to_owned());
            }
            sleep(LOOK);
        }
        let capture = fs::read(self.dir.join("line.pcapng")).map_err(|e| in_words(&e))?;
        span(&capture)
    }
}

/// An end of the line as a LINE of ours.
fn ours(at: &At) -> String {
    match at {
        At::Terminal(tty) => format!("serial:{}", tty.display()),
        At::Port(port) => format!("tcp://{port}"),
        At::Pipes { .. } => unreachable!("the line starts programs of others only"),
    }
}

/// The rest of the line after these words.
fn after(said: &str, words: &str) -> String {
    let rest = said.split_once(words).map_or("", |(_, rest)| rest);
    rest.split(|c: char| c.is_whitespace() || c == '"' || c == ';')
        .next()
        .unwrap_or_default()
        .to_owned()
}
