//! A block that runs by itself, without a terminal.
//!
//! A command that ends with ` &` runs beside those that follow; what waits for a peer has to end well when the block does,
//! what serves indefinitely is interrupted. A device that one command alone has leads to a peer if it sends or receives,
//! else to a console with a shell, or to one of `devices` in `stand-ins.toml`. `=> ` is the prompt of a device whose part that peer plays.

use super::output;
use super::pages::{Block, Step};
use super::stage::Stage;
use super::stand_ins::STAND_INS;
use crate::common::{Running, run};

/// What runs beside the others.
struct Beside {
    host: String,
    text: String,
    shown: Vec<String>,
    /// Until it is interrupted.
    serves: bool,
    running: Running,
}

/// A block under way.
struct Alone<'a> {
    block: &'a Block,
    stage: Stage,
    beside: Vec<Beside>,
}

/// Whether a command talks to a console, and not to a peer that sends or receives.
fn is_to_a_console(command: &str) -> bool {
    ["wst connect ", "wst put --shell ", "wst get --shell "]
        .iter()
        .any(|verb| command.contains(verb))
}

/// Runs it.
pub(super) fn perform(block: &Block) {
    let stage = Stage::new();
    for step in block.steps() {
        let home = stage.home(if step.host.is_empty() { "here" } else { &step.host });
        for (name, text) in block.files_for(&step.command) {
            std::fs::write(home.join(name), text).expect("the file of the page");
        }
    }
    Alone { block, stage, beside: Vec::new() }.perform();
}

impl Alone<'_> {
    fn perform(&mut self) {
        let place = self.block.place();
        let sender = self.wire();
        for step in self.block.steps().iter().filter(|step| !step.host.is_empty()) {
            let text = self.stage.changed(&step.host, &step.command);
            let sender = sender.as_ref().filter(|_| step.command.contains(&STAND_INS.device.path));
            if let Some(sender) = sender {
                self.start(step, &text);
                self.play("peer", sender);
                // The next command wants what this one has received.
                let received = self.beside.len() - 2;
                let received = self.beside.remove(received);
                self.finish(received);
                continue;
            }
            if let Some(text) = text.strip_suffix(" &") {
                self.start(step, text);
                continue;
            }
            let ran = run(self.stage.command(&step.host, &text));
            assert_eq!(ran.code(), 0, "{place}: {text}\n{}{}", ran.stdout, ran.stderr);
            let shown = self.stage.expected(&step.host, &step.shown, &ran.stderr);
            output::compare(&place, &text, &shown, &ran.stderr);
        }
        for one in std::mem::take(&mut self.beside).into_iter().rev() {
            self.finish(one);
        }
    }

    /// The end of what ran beside.
    fn finish(&self, one: Beside) {
        let place = self.block.place();
        if one.serves {
            one.running.signal(rustix::process::Signal::INT);
        }
        let ran = one.running.end();
        let good = ran.code() == 0 || one.serves && ran.code() == 130;
        assert!(good, "{place}: {}\n{}{}", one.text, ran.stdout, ran.stderr);
        let shown = self.stage.expected(&one.host, &one.shown, &ran.stderr);
        output::compare(&place, &one.text, &shown, &ran.stderr);
    }

    fn start(&mut self, step: &Step, text: &str) {
        let running = Running::start(self.stage.command(&step.host, text));
        let ready = match () {
            () if text.starts_with("wst line ") => Some("line "),
            () if text.contains("-listen:") => Some("listening on"),
            () if text.starts_with("wst ncp ") => Some("host up"),
            // It answers, and says nothing.
            () if text.starts_with("wst probe --answer ") => None,
            () => Some(""),
        };
        ready.map(|ready| running.says(ready));
        let (host, shown, text) = (step.host.clone(), step.shown.clone(), text.to_owned());
        let serves = STAND_INS.serves(&text);
        self.beside.push(Beside { host, text, shown, serves, running });
    }

    /// The same for a part that no page shows.
    fn play(&mut self, host: &str, text: &str) {
        let (host, command) = (host.to_owned(), text.to_owned());
        self.start(&Step { host, command, shown: Vec::new() }, text);
    }

    /// The line of the device. Returns the command for the peer, if it has to start after the block's own.
    fn wire(&mut self) -> Option<String> {
        let device = &STAND_INS.device.path;
        let steps = self.block.steps();
        let with: Vec<&Step> = steps.iter().filter(|step| step.command.contains(device)).collect();
        let first = with.first()?;
        let mut ends = [0, 1].map(|end| format!("pty:{}", self.stage.tty(end)));
        let alone = with.iter().all(|step| is_to_a_console(&step.command));
        let mut devices = STAND_INS.devices.iter();
        let device = devices.find(|(word, _)| with.iter().any(|step| step.command.contains(*word)));
        if let Some((_, script)) = device {
            // What it echoes and what it says keep their order on one terminal; `exec-pty:` has two.
            let text = format!("#!/bin/sh\nexec >/dev/tty 2>&1\n{script}\n");
            self.stage.program("device", &text);
            "exec-pty:device".clone_into(&mut ends[1]);
        } else if alone {
            "exec-pty:console".clone_into(&mut ends[1]);
        }
        self.play("wire", &format!("wst line 1000000 -a {} -b {}", ends[0], ends[1]));
        if with.len() > 1 || alone || device.is_some() {
            return None;
        }
        let changed = self.stage.changed(&first.host, &first.command);
        let words: Vec<&str> = changed.split_whitespace().collect();
        let (near, far) = (self.stage.tty(0), self.stage.tty(1));
        let at = words.iter().find(|word| word.contains(&near)).expect("the device");
        let at = at.replace(&near, &far);
        let protocol = words.iter().position(|word| *word == "-P").map(|at| words[at + 1]);
        let protocol = protocol.map_or_else(String::new, |name| format!(" -P {name}"));
        match words[1] {
            "send" => {
                // XMODEM has no name for its file.
                let name = if protocol.contains("xmodem") { " --as received.bin" } else { "" };
                self.play("peer", &format!("wst receive {at} -o inbox{protocol}{name}"));
                None
            }
            "receive" => Some(format!("wst send notes.txt {at}{protocol}")),
            other => panic!("{}: expected send or receive, got {other}", self.block.place()),
        }
    }
}
