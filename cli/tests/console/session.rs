//! The blocks of a page that a user types at terminals, from the first to the last.
//!
//! A command goes to a window that has the prompt of its host, or to a new one. What keeps its window is looked at again
//! at the end. What stands behind a question (`asked` of `stand-ins.toml`) is typed when the question is on the screen.

use super::device::{self, Board};
use super::output;
use super::pages::{Block, Kind, Step};
use super::stage::Stage;
use super::stand_ins::{Asked, STAND_INS};
use super::window::{Screen, Windows};
use crate::common::Running;
use crate::peers::{self, sshd, uboot};

/// The name of a board.
const BOARD: &str = "";

/// What may keep a window busy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// It ends by itself.
    Served,
    /// The user presses Ctrl-C.
    Interrupted,
    /// The user presses Ctrl-T q.
    Quit,
}

/// A window, and where the user is in it.
struct Window {
    name: String,
    /// Each was entered from the one before.
    hosts: Vec<String>,
    /// What keeps it busy.
    keeps: Option<(Until, String)>,
}

/// A command under way.
struct Typed<'a> {
    place: String,
    step: &'a Step,
    /// What was typed.
    text: String,
    /// The window, and the line after the command.
    window: usize,
    first: usize,
}

/// A session under way.
struct Session {
    // Dropped in this order: the user leaves first.
    windows: Windows,
    open: Vec<Window>,
    board: Option<Board>,
    console: Option<Running>,
    server: Option<sshd::Server>,
    stage: Stage,
}

/// Whether a command leads to a shell at another host.
fn leads(command: &str) -> bool {
    ["ssh ", "wst ssh ", "wst -- ", "wst wrap ", "tmux "]
        .iter()
        .any(|verb| command.starts_with(verb))
}

/// What keeps the window of a command, if something does.
fn keeps(command: &str) -> Option<Until> {
    let waits = ["-listen:", "probe --answer"].iter().any(|word| command.contains(word));
    match () {
        () if command.starts_with("wst connect ") => Some(Until::Quit),
        () if STAND_INS.serves(command) => Some(Until::Interrupted),
        () => waits.then_some(Until::Served),
    }
}

/// The question in a line of a page, and the answer to it: nothing may show of that.
fn question<'a>(command: &str, line: &'a str) -> Option<(&'static Asked, &'a str, &'a str)> {
    let all = STAND_INS.asked.iter().filter(|asked| command.contains(&asked.of));
    all.filter_map(|asked| {
        let end = if asked.hidden.is_some() {
            line.ends_with(asked.ends.trim_end()).then_some(line.len())?
        } else {
            line.find(&asked.ends)? + asked.ends.len()
        };
        Some((asked, &line[..end], &line[end..]))
    })
    .find(|(asked, _, answer)| asked.hidden.is_some() || !answer.is_empty())
}

/// Runs them.
pub(super) fn perform(blocks: &[Block]) {
    let stage = Stage::new();
    let mut session = Session {
        windows: Windows::new(&stage),
        open: Vec::new(),
        board: None,
        console: None,
        server: None,
        stage,
    };
    // A board that the page itself starts has its turn, too.
    let is = |block: &Block, word: &str| block.lines.iter().any(|line| line.contains(word));
    let own = blocks.iter().any(|block| is(block, "qemu-system-"));
    let _turn = own.then(uboot::turn);
    if blocks.iter().any(|block| is(block, "ssh ")) {
        session.serve();
    }
    for block in blocks {
        let device = &STAND_INS.device.path;
        let of_file = block.steps().iter().any(|step| {
            block.files_for(&step.command).any(|(_, text)| text.contains(device.as_str()))
        });
        session.device(block, of_file || is(block, device), is(block, &STAND_INS.power.line));
        session.block(block);
    }
    session.end(&blocks[0].page);
}

impl Session {
    /// The hosts of the page, which ssh reaches.
    fn serve(&mut self) {
        let dir = self.stage.path("sshd");
        std::fs::create_dir(&dir).expect("a folder");
        let enter = self.stage.path("bin").join("enter").display().to_string();
        self.stage.program(
            "enter",
            "#!/bin/sh\nset -- \"$WETSTRING_HOST\" ${SSH_ORIGINAL_COMMAND:+\"$SSH_ORIGINAL_COMMAND\"}\n\
             exec \"$(dirname \"$0\")/at\" \"$@\"\n",
        );
        let more = format!("AcceptEnv WETSTRING_HOST\nForceCommand {enter}\n");
        let server = sshd::Server::start(&dir, sshd::sshd().expect("sshd"), "", &more);
        let mut config = String::new();
        for host in ["box", "bastion", "jump", "far", "there"] {
            config.push_str("Host ");
            config.push_str(host);
            config.push_str("\n  SetEnv WETSTRING_HOST=");
            config.push_str(host);
            config.push('\n');
        }
        let dir = dir.display();
        let all = format!(
            "Host *\n  HostName 127.0.0.1\n  Port {}\n  IdentityFile {dir}/own\n  LogLevel ERROR\n  \
             StrictHostKeyChecking no\n  UserKnownHostsFile {dir}/known\n",
            server.port
        );
        config.push_str(&all);
        let path = self.stage.path("ssh_config");
        std::fs::write(&path, config).expect("a file");
        let path = path.display();
        self.stage.program("ssh", &format!("#!/bin/sh\nexec /usr/bin/ssh -F {path} \"$@\"\n"));
        self.server = Some(server);
    }

    /// What is behind the device in a block.
    fn device(&mut self, block: &Block, needed: bool, off: bool) {
        if block.kind == Kind::Board && needed {
            let fits = self.board.as_ref().is_some_and(|board| board.is_on != off);
            if !fits {
                self.board = None;
                let mut board = Board::off(&self.stage);
                if !off {
                    board.boot();
                }
                self.board = Some(board);
            }
        } else if needed && self.console.is_none() {
            self.console = Some(device::console(&self.stage));
        }
    }

    fn block(&mut self, block: &Block) {
        let steps = block.steps();
        let device = &STAND_INS.device.path;
        let takes = |step: &Step| {
            step.command.contains(device) && keeps(&step.command) == Some(Until::Quit)
        };
        if steps.iter().any(takes) {
            self.leave_all(&block.place(), Until::Quit);
        }
        for (at, step) in steps.iter().enumerate() {
            for (name, text) in block.files_for(&step.command) {
                let text = self.stage.changed(&step.host, text);
                let path = self.stage.home(&step.host).join(name);
                std::fs::write(path, text).expect("the file of the page");
            }
            let next = steps.get(at + 1).map(|step| step.host.as_str());
            if step.host == BOARD {
                self.at_board(&block.place(), step);
            } else {
                self.step(block.place(), step, next);
            }
        }
    }

    /// A command in a shell.
    fn step(&mut self, place: String, step: &Step, next: Option<&str>) {
        let text = self.stage.changed(&step.host, &step.command);
        let beside = text.ends_with(" &");
        let text = text.trim_end_matches(" &").to_owned();
        let window = self.window(&place, &step.host, &text);
        let first = self.windows.types(&self.open[window].name, &text);
        let typed = Typed { place, step, text, window, first };
        self.answer(&typed);
        let until = keeps(&typed.text).or(beside.then_some(Until::Served));
        let Some(until) = until else { return self.finish(&typed, next) };
        let said = self.until(&typed, "what is shown", |session, screen| {
            let said = screen.all_since(first);
            let shown = session.stage.expected(&step.host, &step.shown, &said);
            let ready = match () {
                () if !shown.is_empty() => output::fits(&shown, &output::lines(&said), true),
                () if typed.text.contains("-listen:") => said.contains("listening on"),
                // It answers, and says nothing.
                () if typed.text.contains("probe --answer") => true,
                () if typed.text.starts_with("ser2net ") => {
                    peers::ckermit::listens(session.stage.port("2217")).is_ok()
                }
                () => !said.trim().is_empty(),
            };
            ready || screen.at_prompt(&step.host).is_some()
        });
        let over = said.at_prompt(&step.host);
        assert!(over.unwrap_or(0) == 0, "{}: {}", typed.place, said.lines.join("\n"));
        if over.is_none() {
            self.open[window].keeps = Some((until, typed.text));
        }
    }

    /// Waits for the end of a command, and compares its output.
    fn finish(&mut self, typed: &Typed<'_>, next: Option<&str>) {
        let mut hosts = vec![typed.step.host.as_str()];
        let entered = next.filter(|_| leads(&typed.text));
        hosts.extend(entered);
        let at = |screen: &Screen| hosts.iter().rev().find_map(|host| screen.at_prompt(host));
        let screen = self.until(typed, "its end", |_, screen| at(screen).is_some());
        let said = screen.since(typed.first);
        assert_eq!(at(&screen), Some(0), "{}: {}\n{said}", typed.place, typed.text);
        if let Some(host) = entered.filter(|host| screen.at_prompt(host).is_some()) {
            self.open[typed.window].hosts.push(host.to_owned());
        }
        self.compare(typed, &said);
    }

    fn compare(&self, typed: &Typed<'_>, said: &str) {
        // The program that receives is the user's, in whichever shell there a command runs.
        let shown = self.stage.expected(&self.open[typed.window].hosts[0], &typed.step.shown, said);
        output::compare(&typed.place, &typed.text, &shown, said);
    }

    /// Waits for something in the window of a command, and switches the board on when that asks for it.
    fn until(
        &mut self,
        typed: &Typed<'_>,
        what: &str,
        so: impl Fn(&Self, &Screen) -> bool,
    ) -> Screen {
        let name = self.open[typed.window].name.clone();
        let what = format!("{}: {}: {what}", typed.place, typed.text);
        loop {
            let asks =
                |screen: &Screen| screen.all_since(typed.first).contains(&STAND_INS.power.line);
            let off = self.board.as_ref().is_some_and(|board| !board.is_on);
            let screen =
                self.windows.until(&name, &what, |screen| off && asks(screen) || so(self, screen));
            if so(self, &screen) {
                return screen;
            }
            self.board.as_mut().expect("it is off").switch_on();
        }
    }

    /// Types what the page shows behind questions.
    fn answer(&mut self, typed: &Typed<'_>) {
        let host = self.open[typed.window].hosts[0].clone();
        let host = host.as_str();
        for line in &typed.step.shown {
            let Some((asked, shown, answer)) = question(&typed.step.command, line) else {
                continue;
            };
            let mut before = String::new();
            self.until(typed, shown, |session, screen| {
                // A fingerprint in a question may be new.
                let said = screen.all_since(typed.first);
                let wanted = session.stage.expected(host, &[shown.to_owned()], &said);
                output::fits(&wanted, &[screen.last()], false)
            });
            before.push_str(&self.stage.changed(host, answer));
            let name = &self.open[typed.window].name;
            if let Some(hidden) = &asked.hidden {
                self.windows.types_hidden(name, hidden);
                let went = |screen: &Screen| !screen.last().ends_with(asked.ends.trim_end());
                self.windows.until(name, "the next line", went);
            } else {
                self.windows.types(name, &before);
            }
        }
    }

    /// A command at the board: in the terminal that is there, or in another program that holds the port for it.
    fn at_board(&mut self, place: &str, step: &Step) {
        let text = self.stage.changed("here", &step.command);
        let is_terminal =
            |window: &Window| window.keeps.as_ref().is_some_and(|(until, _)| *until == Until::Quit);
        let Some(window) = self.open.iter().position(is_terminal) else {
            let board = self.board.as_ref();
            let said = board.expect("a board at the device").user().ask(&text);
            let shown = self.stage.expected("here", &step.shown, &said);
            output::compare(place, &text, &shown, &said);
            return;
        };
        let name = self.open[window].name.clone();
        let mut presses = 0;
        // Return until the prompt shows, now and then: the board may be starting.
        self.windows.until(&name, "the prompt of the board", |screen| {
            if screen.last() == "=>" {
                return true;
            }
            presses += 1;
            if presses % 10 == 0 {
                self.windows.press(&name, "Enter");
            }
            false
        });
        let first = self.windows.types(&name, &text);
        let typed = Typed { place: place.to_owned(), step, text, window, first };
        self.answer(&typed);
        let screen = self.until(&typed, "the prompt", |_, screen| screen.last() == "=>");
        self.compare(&typed, &screen.since(first));
    }

    /// A window with the prompt of this host.
    fn window(&mut self, place: &str, host: &str, text: &str) -> usize {
        // One program at a time has a port.
        for at in 0..self.open.len() {
            let alone = |(until, text): &(Until, String)| {
                *until == Until::Quit && !text.contains("--share")
            };
            if self.open[at].keeps.as_ref().is_some_and(alone) && !text.starts_with("wst connect ")
            {
                self.leave(place, at);
            }
        }
        let free = |window: &Window| {
            window.keeps.is_none() && window.hosts.last().is_some_and(|at| at == host)
        };
        self.open.iter().rposition(free).unwrap_or_else(|| {
            let name = self.windows.open(&self.stage, host);
            self.open.push(Window { name, hosts: vec![host.to_owned()], keeps: None });
            self.open.len() - 1
        })
    }

    /// Ends what keeps a window.
    fn leave(&mut self, place: &str, at: usize) {
        let Some((until, text)) = self.open[at].keeps.take() else { return };
        let Window { name, hosts, .. } = &self.open[at];
        let host = hosts.last().expect("a host");
        match until {
            Until::Served => {}
            Until::Interrupted => self.windows.press(name, "C-c"),
            Until::Quit => {
                self.windows.press(name, "C-t");
                self.windows.press(name, "q");
            }
        }
        let what = format!("{place}: the end of {text}");
        let screen = self.windows.until(name, &what, |screen| screen.at_prompt(host).is_some());
        let code = screen.at_prompt(host);
        // What other people's programs say of Ctrl-C is their own.
        let ends = code == Some(130) || !text.starts_with("wst ");
        let good = code == Some(0) || until == Until::Interrupted && ends;
        assert!(good, "{place}: {text}\n{}", screen.lines.join("\n"));
    }

    /// Ends what is kept until the same, the last first.
    fn leave_all(&mut self, place: &str, last: Until) {
        // A session that shares its port ends after those that use it.
        for shares in [false, true] {
            for at in (0..self.open.len()).rev() {
                let is = |(until, text): &(Until, String)| {
                    *until == last && text.contains("--share") == shares
                };
                if self.open[at].keeps.as_ref().is_some_and(is) {
                    self.leave(place, at);
                }
            }
        }
    }

    /// What was served has to end well; then everything is left.
    fn end(&mut self, page: &str) {
        for last in [Until::Served, Until::Quit, Until::Interrupted] {
            self.leave_all(page, last);
        }
        for window in &mut self.open {
            while window.hosts.len() > 1 {
                window.hosts.pop();
                let host = window.hosts.last().expect("a host");
                self.windows.types(&window.name, "exit");
                let what = format!("{page}: the end of the session");
                let over = |screen: &Screen| screen.at_prompt(host).is_some();
                let screen = self.windows.until(&window.name, &what, over);
                assert_eq!(screen.at_prompt(host), Some(0), "{page}: {}", screen.lines.join("\n"));
            }
        }
    }
}
