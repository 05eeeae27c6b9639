//! The console blocks of the README and of `docs/` are run as they stand.
//!
//! A block is fenced as `console`. `$ ` is a prompt on this host, `there$ ` one on another: each host has a
//! directory of its own. A command that ends with ` &` runs beside those that follow; what waits for a peer has to end well
//! when the block does, what serves indefinitely is interrupted. `=> ` is the prompt of a board, whose part a peer plays. Any other line is
//! output that must be among what was said. What is behind `   # ` is for the reader. Files, hosts, ports and devices stand in
//! the tables below. A device that one command alone has leads to a peer if it sends or receives, else to a console with a shell.
//! What needs a user or other hardware is marked `console,norun REASON`.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::common::{Ran, Running, WST, noise, run, tame, wst};
use crate::peers;

/// Files that every host has.
const FILES: &[(&str, usize)] = &[
    ("notes.txt", 700),
    ("kernel.bin", 3000),
    ("firmware.bin", 3000),
    ("big.bin", 4000),
    ("images.tar", 30_000),
    ("report.pdf", 2000),
    ("tape.bin", 900),
    ("photos/one.jpg", 500),
    ("pub/notes.txt", 600),
    ("pub/reports/may.txt", 300),
    ("files/tape.bin", 900),
];

/// Hosts that are this machine here.
const HOSTS: &[&str] = &["//0.0.0.0:", "//HOST:", "//box:", "//there:", "//far:", " HOST:"];

/// Programs that lead to other hosts, which are directories of this machine here: what they are told to run there runs
/// here, in the directory of the host, which has the usual files. Flags of these programs do nothing.
const GATES: &[(&str, &str)] = &[
    (
        "ssh",
        r#"while :; do case "$1" in -[Jlop]) shift 2;; -*) shift;; *) break;; esac; done; at=${1#*@}; shift"#,
    ),
    (
        "docker",
        r#"shift; while :; do case "$1" in -*) shift;; *) break;; esac; done; at=$1; shift"#,
    ),
];

/// A PTY has neither parity nor lines for flow control.
const NOT_OF_A_PTY: &[&str] = &["&flow=rtscts", "&parity=even"];

/// Ports of which free ones are taken instead, the longer numbers first.
const PORTS: &[&str] = &["20011", "20012", "1649", "1650", "9980", "7001", "8080", "998"];

/// The device, which is one end of a PTY pair here.
const DEVICE: &str = "/dev/ttyUSB0";

/// Verbs that serve until they are interrupted.
const SERVE: &[&str] = &["wst line ", "wst serve ", "wst slip ", "wst ncp serve ", "wst ncp up "];

/// How many blocks run at once.
const AT_ONCE: usize = 4;

/// A block of a page.
#[derive(Debug)]
struct Block {
    page: String,
    line: usize,
    /// Why it is not run.
    norun: Option<String>,
    lines: Vec<String>,
}

/// The pages: README and everything under `docs/`.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root");
    let mut pages = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("docs").filter_map(Result::ok) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    let name =
        |path: &PathBuf| path.strip_prefix(root).expect("below the root").display().to_string();
    pages.iter().map(|path| (name(path), fs::read_to_string(path).expect("a page"))).collect()
}

/// The console blocks of a page.
fn blocks(page: &str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let inner = lines.by_ref().map(|(_, line)| line.to_owned());
        let inner: Vec<String> = inner.take_while(|line| line != "```").collect();
        let Some(rest) = info.strip_prefix("console") else { continue };
        let norun = rest.strip_prefix(",norun").map(|why| why.trim().to_owned());
        assert!(norun.is_some() || rest.is_empty(), "{page}:{}: {info}", at + 1);
        blocks.push(Block { page: page.to_owned(), line: at + 1, norun, lines: inner });
    }
    blocks
}

/// The host and the command of a line, if it has a prompt. A board has no name.
fn prompt(line: &str) -> Option<(&str, &str)> {
    if let Some(command) = line.strip_prefix("=> ") {
        return Some(("", command));
    }
    let (host, command) = line.split_once("$ ")?;
    let is_name = host.chars().all(|c| c.is_ascii_alphanumeric());
    let command = command.split("   # ").next().unwrap_or_default().trim_end();
    is_name.then_some((if host.is_empty() { "here" } else { host }, command))
}

/// Whether a command talks to a console, and not to a peer that sends or receives.
fn is_to_a_console(command: &str) -> bool {
    ["wst connect ", "wst put --shell ", "wst get --shell "]
        .iter()
        .any(|verb| command.contains(verb))
}

/// Makes a program that leads to another host: `reads` takes the host, `$at`, off its arguments.
fn gate(path: &Path, reads: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let there = r#"
root=$(cd "$(dirname "$0")/.." && pwd)
[ -d "$root/$at" ] || cp -r "$root/here" "$root/$at"
cd "$root/$at" && export XDG_CONFIG_HOME="$root/$at/config"
[ $# -gt 0 ] || exec sh -i
exec sh -c "$*"
"#;
    fs::write(path, format!("#!/bin/sh\n{reads}{there}")).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a program");
}

/// Where a block runs.
struct Stage {
    dir: tempfile::TempDir,
    ports: Vec<(&'static str, String)>,
    /// Which host has which end of the device.
    ends: Vec<String>,
    /// What runs beside, and whether it serves until it is interrupted.
    beside: Vec<(String, bool, Running)>,
    said: String,
}

impl Stage {
    fn new() -> Self {
        let free = |_: &&str| {
            // Free for both kinds.
            let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
            let at = tcp.local_addr().expect("its number");
            UdpSocket::bind(at).map_or(at.port(), |udp| udp.local_addr().expect("it").port())
        };
        let ports = PORTS.iter().map(|port| (*port, free(port).to_string())).collect();
        let dir = tempfile::tempdir().expect("a directory");
        let bin = dir.path().join("bin");
        fs::create_dir(&bin).expect("a directory");
        std::os::unix::fs::symlink(WST, bin.join("wst")).expect("a link");
        for (name, reads) in GATES {
            gate(&bin.join(name), reads);
        }
        Self { dir, ports, ends: Vec::new(), beside: Vec::new(), said: String::new() }
    }

    /// The directory of a host, with its files.
    fn home(&self, host: &str) -> PathBuf {
        let home = self.dir.path().join(host);
        if !home.exists() {
            for (index, (name, len)) in FILES.iter().enumerate() {
                let path = home.join(name);
                fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
                fs::write(path, noise(index as u64 + 1, *len)).expect("the file");
            }
            fs::create_dir(home.join("inbox")).expect("the folder");
        }
        home
    }

    /// The command with what is this machine's instead.
    fn changed(&mut self, host: &str, command: &str) -> String {
        let mut text = command.replace("/tmp/", &format!("{}/", self.dir.path().display()));
        if text.contains(DEVICE) && !self.ends.iter().any(|have| have == host) {
            self.ends.push(host.to_owned());
        }
        let end = self.ends.iter().position(|have| have == host).unwrap_or(0);
        text = text.replace(DEVICE, &self.tty(end));
        for name in HOSTS {
            let before = if name.starts_with("//") { "//" } else { " " };
            text = text.replace(name, &format!("{before}127.0.0.1:"));
        }
        for word in NOT_OF_A_PTY {
            text = text.replace(word, "");
        }
        for (port, own) in &self.ports {
            for (before, after) in [(":", ""), ("port=", "")] {
                text = text.replace(&format!("{before}{port}{after}"), &format!("{before}{own}"));
            }
        }
        text
    }

    fn tty(&self, end: usize) -> String {
        self.dir.path().join(format!("tty{end}")).display().to_string()
    }

    fn command(&self, host: &str, text: &str) -> Command {
        let mut shell = Command::new("sh");
        tame(&mut shell);
        let path = std::env::var("PATH").unwrap_or_default();
        let home = self.home(host);
        // The shell gives way to the program, so that signals reach that.
        let text = if text.starts_with("wst ") && !text.contains(['|', ';']) {
            format!("exec {text}")
        } else {
            text.to_owned()
        };
        shell.arg("-c").arg(text).env("PATH", format!("{}/bin:{path}", self.dir.path().display()));
        shell
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("HOME", &home)
            .current_dir(home)
            .process_group(0);
        shell
    }

    fn start(&mut self, host: &str, text: &str) {
        let serves = SERVE.iter().any(|verb| text.starts_with(verb));
        let running = Running::start(self.command(host, text));
        let ready = match () {
            () if text.starts_with("wst line ") => Some("line "),
            () if text.contains("-listen:") => Some("listening on"),
            () if text.starts_with("wst ncp ") => Some("host up"),
            // It answers, and says nothing.
            () if text.starts_with("wst probe --answer ") => None,
            () => Some(""),
        };
        ready.map(|ready| running.says(ready));
        self.beside.push((text.to_owned(), serves, running));
    }

    /// The line of the device. Returns the command for the peer, if the block has none itself.
    fn wire(&mut self, block: &Block) -> Option<String> {
        let with: Vec<_> = block.lines.iter().filter(|line| line.contains(DEVICE)).collect();
        let first = with.first()?;
        let mut ends = [0, 1].map(|end| format!("pty:{}", self.tty(end)));
        let alone =
            with.len() == 1 && prompt(first).is_some_and(|(_, command)| is_to_a_console(command));
        if alone {
            "exec-pty:sh".clone_into(&mut ends[1]);
        }
        self.start("wire", &format!("wst line 1000000 -a {} -b {}", ends[0], ends[1]));
        if with.len() > 1 || alone {
            return None;
        }
        let (_, command) = prompt(first).expect("a command");
        let words: Vec<&str> = command.split_whitespace().collect();
        let at = words.iter().find(|word| word.contains(DEVICE)).expect("the device");
        let mut at = at.replace(DEVICE, &self.tty(1));
        for word in NOT_OF_A_PTY {
            at = at.replace(word, "");
        }
        let protocol = words.iter().position(|word| *word == "-P").map(|at| words[at + 1]);
        let protocol = protocol.map_or_else(String::new, |name| format!(" -P {name}"));
        match words[1] {
            "send" => {
                // XMODEM has no name for its file.
                let name = if protocol.contains("xmodem") { " --as received.bin" } else { "" };
                self.start("peer", &format!("wst receive {at} -o inbox{protocol}{name}"));
                None
            }
            "receive" => Some(format!("wst send notes.txt {at}{protocol}")),
            other => panic!("{}:{}: expected send or receive, got {other}", block.page, block.line),
        }
    }

    /// Keeps what a command said, by lines.
    fn hear(&mut self, ran: &Ran) {
        for text in [&ran.stdout, &ran.stderr] {
            self.said.push_str(text);
            self.said.push('\n');
        }
    }

    fn perform(&mut self, block: &Block) {
        let place = format!("{}:{}", block.page, block.line);
        for (host, _) in block.lines.iter().filter_map(|line| prompt(line)) {
            self.home(host);
        }
        let sender = self.wire(block);
        let (mut outputs, mut commands) = (Vec::new(), 0);
        for line in &block.lines {
            let Some((host, command)) = prompt(line) else {
                outputs.push(line.trim());
                continue;
            };
            if host.is_empty() || command.is_empty() {
                continue;
            }
            commands += 1;
            let text = self.changed(host, command);
            if let Some(sender) = sender.as_ref().filter(|_| command.contains(DEVICE)) {
                self.start(host, &text);
                self.start("peer", sender);
                continue;
            }
            if let Some(text) = text.strip_suffix(" &") {
                self.start(host, text);
                continue;
            }
            let ran = run(self.command(host, &text));
            assert_eq!(ran.code(), 0, "{place}: {text}\n{}{}", ran.stdout, ran.stderr);
            self.hear(&ran);
        }
        for (text, serves, running) in std::mem::take(&mut self.beside).into_iter().rev() {
            if serves {
                running.signal(rustix::process::Signal::INT);
            }
            let ran = running.end();
            let good = ran.code() == 0 || serves && ran.code() == 130;
            assert!(good, "{place}: {text}\n{}{}", ran.stdout, ran.stderr);
            self.hear(&ran);
        }
        assert!(commands > 0, "{place}: expected a command, with a prompt");
        for output in outputs.iter().filter(|line| !line.is_empty()) {
            let parts: Vec<&str> = output.split("...").collect();
            let is = |line: &str| {
                // Without `...` the line is that, and no other that has it.
                let mut rest = if parts.len() == 1 && line.trim() != *output { "" } else { line };
                parts.iter().all(|part| match rest.split_once(part) {
                    Some((_, after)) => {
                        rest = after;
                        true
                    }
                    None => false,
                })
            };
            assert!(self.said.lines().any(is), "{place}: no output has {output:?}\n{}", self.said);
        }
    }
}

#[test]
fn every_console_block_runs() {
    let all: Vec<Block> = pages().iter().flat_map(|(page, text)| blocks(page, text)).collect();
    // C-Kermit may be missing, which is said; in CI that is a failure.
    let needs_kermit = |block: &&Block| {
        let mut commands = block.lines.iter().filter_map(|line| prompt(line));
        block.norun.is_none() && commands.any(|(_, command)| command.starts_with("kermit "))
    };
    let absent = peers::ckermit().is_none();
    let missing = all.iter().filter(|block| absent && needs_kermit(block)).count();
    let mark =
        |block: &Block| Some(format!("{}:{}: {}", block.page, block.line, block.norun.as_ref()?));
    let (marked, shown): (Vec<String>, _) = (all.iter().filter_map(mark).collect(), all.len());
    let left = Mutex::new(
        all.iter().filter(|block| block.norun.is_none() && !(absent && needs_kermit(block))),
    );
    let (ran, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    // Most of the time they wait.
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(block) = left.lock().ok().and_then(|mut left| left.next()) {
                    let outcome = std::panic::catch_unwind(|| Stage::new().perform(block));
                    if outcome.is_ok() {
                        ran.fetch_add(1, Relaxed);
                    } else {
                        let place = format!("{}:{}", block.page, block.line);
                        failed.lock().expect("no poison").push(place);
                    }
                }
            });
        }
    });
    let ran = ran.into_inner();
    let failed = failed.into_inner().expect("no poison");
    assert!(failed.is_empty(), "these blocks failed, each as said above: {failed:?}");
    let reasonless = marked.iter().filter(|mark| mark.ends_with(": ")).count();
    assert_eq!(reasonless, 0, "a block that is not run needs a reason:\n{}", marked.join("\n"));
    assert_eq!(shown - ran - marked.len() - missing, 0, "blocks that are not marked have not run");
    eprintln!("{ran} blocks ran; not run:\n{}", marked.join("\n"));
    assert!(ran >= 20, "only {ran} blocks ran");
}

/// A command outside of a console block would not be run.
#[test]
fn commands_stand_in_console_blocks() {
    for (page, text) in pages() {
        let fenced = blocks(&page, &text).len();
        for (at, line) in text.lines().enumerate() {
            let bare = line.starts_with("    wst ") || line.starts_with("$ wst ");
            assert!(!bare || fenced > 0 && !line.starts_with(' '), "{page}:{}: {line}", at + 1);
        }
        assert!(!text.contains("```sh\nwst"), "{page}: expected ```console");
    }
}

/// Every command that a page shows, run or not, has a verb and flags that there are.
#[test]
fn commands_in_pages_exist() {
    let mut shown = 0;
    for (page, text) in pages() {
        let all = blocks(&page, &text);
        for line in all.iter().flat_map(|block| &block.lines) {
            let Some((_, command)) = prompt(line) else { continue };
            let Some((_, words)) = command.split_once("wst ").filter(|(head, _)| {
                head.split_whitespace().all(|word| word.starts_with("WETSTRING_"))
            }) else {
                continue;
            };
            shown += 1;
            let words: Vec<&str> = words.split(' ').collect();
            let verb: Vec<&str> = match words[..] {
                [outer @ ("lab" | "users" | "key" | "ncp"), inner, ..] => vec![outer, inner],
                // Short forms of the wrapper; what follows is another program's.
                ["--" | "ssh", ..] => continue,
                // A flag of the program itself.
                [flag, ..] if flag.starts_with("--") => vec![],
                [verb, ..] => vec![verb],
                [] => panic!("{line}"),
            };
            let help = run(wst(verb.iter().copied().chain(["--help"])));
            assert_eq!(help.code(), 0, "{page}: {line}: {}", help.stderr);
            // Of a command in quotes the flags are another program's.
            for flag in words.iter().take_while(|word| !word.starts_with("'exec") && **word != "--")
            {
                let Some(flag) = flag.strip_prefix("--") else { continue };
                let flag = flag.split('=').next().unwrap_or_default();
                assert!(help.stdout.contains(&format!("--{flag}")), "{page}: {line}: --{flag}");
            }
        }
    }
    assert!(shown > 40, "only {shown} commands were found");
}

#[test]
fn blocks_and_prompts_are_read() {
    let text = "a\n```console\n$ wst x   # why\nthere$ y &\nout\n```\n```console,norun no board\n=> z\n```\n";
    let found = blocks("p", text);
    assert_eq!(found.len(), 2, "{found:?}");
    let prompts: Vec<_> = found[0].lines.iter().map(|line| prompt(line)).collect();
    assert_eq!(prompts, [Some(("here", "wst x")), Some(("there", "y &")), None]);
    assert_eq!(found[1].norun.as_deref(), Some("no board"));
    assert_eq!(prompt(&found[1].lines[0]), Some(("", "z")));
}
