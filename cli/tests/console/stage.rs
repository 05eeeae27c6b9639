//! Where blocks run: a directory in which each host has its own, and what is said there in the words of this machine.

use std::cell::RefCell;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};

use regex::Regex;

use super::stand_ins::STAND_INS;
use crate::common::{WST, noise, tame};

/// Enters a host: its directory, a shell or a command there.
const AT: &str = r#"#!/bin/sh
root=$(cd "$(dirname "$0")/.." && pwd)
at=$1; shift
[ -d "$root/$at" ] || cp -r "$root/new" "$root/$at"
cd "$root/$at" || exit 1
export HOME="$root/$at" XDG_CONFIG_HOME="$root/$at/.config" PATH="$root/bin:$PATH"
export NO_COLOR=1 SHELL=/bin/sh ENV="$root/$at/.profile"
unset TMUX TMUX_PANE COLUMNS
name=$at; [ "$at" != here ] || name=
# A command that fails shows its exit code in front of the prompt.
printf 'PS1=\047${?#0}%s$ \047\n' "$name" > .profile
[ $# -gt 0 ] || exec sh -i
exec sh -c "$*"
"#;

/// Prints that a machine starts again, and asks for a user.
const REBOOT: &str = "#!/bin/sh\nprintf 'Restarting system.\\r\\n\\r\\nboard login:'\n";

/// A shell as on the console of a machine without files.
const CONSOLE: &str = "#!/bin/sh\ncd inbox && PS1= exec sh\n";

/// The directory, and what stands for what in it.
pub(super) struct Stage {
    dir: tempfile::TempDir,
    ports: Vec<(&'static str, String)>,
    /// Which host has which end of the device.
    ends: RefCell<Vec<String>>,
    /// What was shown, and what was said instead.
    learned: RefCell<Vec<(String, String)>>,
    fingerprint: RefCell<String>,
}

/// Makes a script.
fn program(path: &Path, text: &str) {
    fs::write(path, text).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a program");
}

/// Ports of which Linux gives none away by itself: one that is free stays so until the block uses it.
const PORTS: std::ops::Range<u16> = 10_000..32_000;

/// A port that is free for TCP and UDP, another one each time.
fn free() -> u16 {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let first = std::process::id() as u16;
    loop {
        let nth = first.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed));
        let port = PORTS.start + nth % PORTS.len() as u16;
        let at = ("127.0.0.1", port);
        if TcpListener::bind(at).is_ok() && UdpSocket::bind(at).is_ok() {
            return port;
        }
    }
}

impl Stage {
    pub(super) fn new() -> Self {
        let number = |port: &'static String| (port.as_str(), free().to_string());
        let ports = STAND_INS.ports.numbers.iter().map(number).collect();
        let dir = tempfile::Builder::new().prefix("wst-").tempdir().expect("a directory");
        let bin = dir.path().join("bin");
        fs::create_dir(&bin).expect("a directory");
        std::os::unix::fs::symlink(WST, bin.join("wst")).expect("a link");
        program(&bin.join("at"), AT);
        program(&bin.join("reboot"), REBOOT);
        program(&bin.join("console"), CONSOLE);
        // Debian keeps it where only root looks.
        program(&bin.join("ser2net"), "#!/bin/sh\nexec /usr/sbin/ser2net \"$@\"\n");
        for (name, reads) in &STAND_INS.gates {
            let text =
                format!("#!/bin/sh\n{reads}\nexec \"$(dirname \"$0\")/at\" \"$at\" \"$@\"\n");
            program(&bin.join(name), &text);
        }
        let stage = Self {
            dir,
            ports,
            ends: RefCell::default(),
            learned: RefCell::default(),
            fingerprint: RefCell::default(),
        };
        stage.home("new");
        stage
    }

    /// A path in its directory.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Makes a program that hosts have.
    pub(super) fn program(&self, name: &str, text: &str) {
        program(&self.path("bin").join(name), text);
    }

    /// The directory of a host, with its files.
    pub(super) fn home(&self, host: &str) -> PathBuf {
        let home = self.path(host);
        if !home.exists() {
            for (index, (name, len)) in STAND_INS.files.iter().enumerate() {
                let path = home.join(name);
                fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
                fs::write(path, noise(index as u64 + 1, *len)).expect("the file");
            }
            fs::create_dir(home.join("inbox")).expect("the folder");
        }
        home
    }

    /// The port that stands for this one of the pages.
    pub(super) fn port(&self, shown: &str) -> u16 {
        let own = self.ports.iter().find(|(number, _)| *number == shown);
        own.and_then(|(_, own)| own.parse().ok()).expect("a port of stand-ins.toml")
    }

    /// The path of an end of the device.
    pub(super) fn tty(&self, end: usize) -> String {
        self.path(&format!("tty{end}")).display().to_string()
    }

    /// Text of a page with what is this machine's instead.
    pub(super) fn changed(&self, host: &str, text: &str) -> String {
        let mut text = text.to_owned();
        let device = &STAND_INS.device.path;
        if text.contains(device) {
            let mut ends = self.ends.borrow_mut();
            if !ends.iter().any(|have| have == host) {
                ends.push(host.to_owned());
            }
            let end = ends.iter().position(|have| have == host).unwrap_or(0);
            // Marked until the other words have been replaced.
            text = text.replace(device, &format!("\u{1}{end}\u{1}"));
        }
        for (number, own) in &self.ports {
            for before in [":", "port=", "tcp,"] {
                let port = Regex::new(&format!(r"{before}{number}(?-u:\b)")).expect("a pattern");
                text = port.replace_all(&text, format!("{before}\u{2}{own}")).into_owned();
            }
        }
        let text = text.replace('\u{2}', "");
        let dir = self.dir.path().display().to_string();
        let home = self.home(host).display().to_string();
        let mut text = STAND_INS.replaced.iter().fold(text, |text, row| {
            let by = row.by.replace("{dir}", &dir).replace("{home}", &home);
            let by = by.replace("{fingerprint}", &self.fingerprint.borrow());
            row.here.replace_all(&text, by).into_owned()
        });
        for end in 0..2 {
            text = text.replace(&format!("\u{1}{end}\u{1}"), &self.tty(end));
        }
        let learned = self.learned.borrow();
        learned.iter().fold(text, |text, (shown, said)| text.replace(shown, said))
    }

    /// What a page shows of the output of a command, likewise. What is shown for the first time stands for what was said.
    pub(super) fn expected(&self, host: &str, shown: &[String], said: &str) -> Vec<String> {
        for pattern in &STAND_INS.learned.patterns {
            let all = shown.join("\n");
            let pairs = pattern.find_iter(&all).zip(pattern.find_iter(said));
            for (shown, said) in pairs {
                let mut learned = self.learned.borrow_mut();
                if !learned.iter().any(|(known, _)| known == shown.as_str()) {
                    learned.push((shown.as_str().to_owned(), said.as_str().to_owned()));
                }
            }
        }
        let print = Regex::new(r"Fingerprint=([0-9A-F:]+)").expect("a pattern");
        if let Some(found) = print.captures(said) {
            found[1].clone_into(&mut self.fingerprint.borrow_mut());
        }
        shown.iter().map(|line| self.changed(host, line)).collect()
    }

    /// A command at a host, without a terminal.
    pub(super) fn command(&self, host: &str, text: &str) -> Command {
        let mut shell = Command::new("sh");
        tame(&mut shell);
        let path = std::env::var("PATH").unwrap_or_default();
        let home = self.home(host);
        // The shell gives way to the program, so that signals reach that.
        let exec =
            if text.starts_with("wst ") && !text.contains(['|', ';']) { "exec " } else { "" };
        // What is said is in the order in which a user sees it.
        shell.arg("-c").arg(format!("exec 1>&2\n{exec}{text}"));
        shell.env("PATH", format!("{}/bin:{path}", self.dir.path().display()));
        shell
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("HOME", &home)
            .current_dir(home)
            .process_group(0);
        shell
    }
}
