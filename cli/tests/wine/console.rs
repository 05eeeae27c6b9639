//! A user at a console: keys, lines that are typed, passwords, progress, Ctrl-C; and how the console is left.
//!
//! Wine's console draws on the terminal that it was started at, and its keys are those of that terminal. So a test has
//! the other side of a pseudo-terminal: it presses keys as a terminal sends them, and reads what was drawn.
//!
//! Of the signals of that terminal only Ctrl-C is left: Wine gives it to the programs as Ctrl-C of the console, also
//! while they want it as a key. So that key cannot be sent to a peer here.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Winsize, tcgetattr, tcsetattr, tcsetwinsize,
};

use crate::peers::{LIMIT, Scene, same, wst};
use crate::session::{Wine, wine};
use wetstring_testkit::{Within, noise, terminal, within};

/// How soon a program ends after Ctrl-C, with the two processes of Wine that end after it.
const AT_ONCE: Duration = Duration::from_secs(1);
/// How often that is tried: a machine that is busy with other tests is late at times.
const TRIES: usize = 3;
/// How soon something is seen.
const SOON: Duration = Duration::from_secs(20);

/// The program at a console.
struct Console {
    child: Child,
    keyboard: File,
    /// The program's side of the terminal.
    side: File,
    drawn: Arc<Mutex<Vec<u8>>>,
    /// How much of what was drawn has been looked at.
    seen: usize,
}

/// What was drawn, without most moves of the cursor.
fn text(drawn: &[u8]) -> String {
    let drawn = String::from_utf8_lossy(drawn);
    let mut parts = drawn.split("\x1b[");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).map_or(part.len(), |at| at + 1);
        // Blanks that are there already are passed over.
        if let Some(columns) = part[..end].strip_suffix('C') {
            text.push_str(&" ".repeat(columns.parse().unwrap_or(1)));
        }
        text.push_str(&part[end..]);
    }
    text
}

impl Console {
    fn start(wine: &Wine, scene: &Scene, args: &[&str]) -> Self {
        let both = terminal().unwrap();
        let side = both.open().unwrap();
        let mut settings = tcgetattr(&side).unwrap();
        for code in [SpecialCodeIndex::VQUIT, SpecialCodeIndex::VSUSP] {
            settings.special_codes[code] = 0;
        }
        tcsetattr(&side, OptionalActions::Now, &settings).unwrap();
        let size = Winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&side, size).unwrap();
        let at = wine.at_console(args);
        // util-linux's, which gives the program a session with this terminal.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(at.get_program()).args(at.get_args());
        for (name, value) in at.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        // Wine counts what makes colours as columns. A console needs no name in TERM.
        command.env("NO_COLOR", "1").env_remove("TERM").env_remove("COLUMNS");
        command.current_dir(scene.folder("here"));
        let copy = || side.try_clone().unwrap();
        command.stdin(copy()).stdout(copy()).stderr(copy());
        let child = command.spawn().unwrap();
        let keyboard = File::from(both.master);
        let drawn = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, shown) = (keyboard.try_clone().unwrap(), drawn.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(len @ 1..) = reader.read(&mut buffer) {
                shown.lock().unwrap().extend_from_slice(&buffer[..len]);
            }
        });
        Self { child, keyboard, side, drawn, seen: 0 }
    }

    /// What was drawn since the last look.
    fn fresh(&self) -> String {
        text(&self.drawn.lock().unwrap()[self.seen..])
    }

    /// All that was drawn.
    fn all(&self) -> String {
        text(&self.drawn.lock().unwrap())
    }

    /// Presses keys, once Wine reads them: sooner the terminal itself would show them, and wait for a line.
    #[track_caller]
    fn press(&mut self, keys: &[u8]) {
        let single = || {
            let modes = tcgetattr(&self.side).unwrap().local_modes;
            !modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
        };
        assert_eq!(within(SOON, single), Within::Done, "no key is waited for: {:?}", self.all());
        self.seen = self.drawn.lock().unwrap().len();
        self.keyboard.write_all(keys).unwrap();
    }

    /// Waits until it is drawn, after the last key.
    #[track_caller]
    fn see(&self, what: &str) {
        let came = within(SOON, || self.fresh().contains(what));
        assert_eq!(
            came,
            Within::Done,
            "expected {what:?}, got {:?} in {:?}",
            self.fresh(),
            self.all()
        );
    }

    /// Its exit code, once it has ended, with the console as it was.
    #[track_caller]
    fn end(&mut self, limit: Duration) -> i32 {
        let mut code = None;
        let came = within(limit, || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        assert_eq!(came, Within::Done, "it has not ended: {:?}", self.all());
        // What is drawn comes in parts.
        let modes = |when: &str| {
            let all = self.all();
            let (modes, _) = all.split_once(when)?.1.split_once(')')?;
            Some(modes.trim().to_owned())
        };
        let after = within(SOON, || modes("(after ").is_some());
        assert_eq!(after, Within::Done, "{:?}", self.all());
        assert_eq!(modes("(before "), modes("(after "), "{:?}", self.all());
        code.unwrap().code().unwrap()
    }

    /// Its exit code after a key that ends it, and how long that took.
    #[track_caller]
    fn end_by(&mut self, key: &[u8]) -> (i32, Duration) {
        let began = Instant::now();
        self.press(key);
        let code = self.end(SOON);
        (code, began.elapsed())
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program ends by a key with 130, at once.
#[track_caller]
fn at_once(mut try_it: impl FnMut() -> (i32, Duration)) {
    let mut took = Vec::new();
    while took.len() < TRIES && took.last().is_none_or(|last| *last > AT_ONCE) {
        let (code, time) = try_it();
        assert_eq!(code, 130);
        took.push(time);
    }
    assert!(took.last().is_some_and(|last| *last <= AT_ONCE), "expected {AT_ONCE:?}, got {took:?}");
}

/// A peer that the test itself is, and its address.
fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = format!("tcp://{}", listener.local_addr().unwrap());
    (listener, at)
}

fn accept(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    let mut peer = None;
    let came = within(SOON, || {
        peer = listener.accept().ok();
        peer.is_some()
    });
    assert_eq!(came, Within::Done, "expected a connection");
    let (peer, _) = peer.unwrap();
    peer.set_nonblocking(false).unwrap();
    peer.set_read_timeout(Some(SOON)).unwrap();
    peer
}

/// A way to an address that carries about ten megabytes in a second, for one connection.
fn slowly(to: String) -> String {
    let (listener, at) = listener();
    let copy = |mut from: TcpStream, mut to: TcpStream| {
        let mut buffer = vec![0; 32 * 1024];
        while let Ok(len @ 1..) = from.read(&mut buffer)
            && to.write_all(&buffer[..len]).is_ok()
        {
            std::thread::sleep(Duration::from_millis(3));
        }
        let _ = to.shutdown(std::net::Shutdown::Write);
    };
    std::thread::spawn(move || {
        let (ours, theirs) = (listener.accept().unwrap().0, TcpStream::connect(to).unwrap());
        let (back_from, back_to) = (theirs.try_clone().unwrap(), ours.try_clone().unwrap());
        std::thread::spawn(move || copy(back_from, back_to));
        copy(ours, theirs);
    });
    at
}

/// Reads what a key has sent, which is as long as `want`.
#[track_caller]
fn gets(peer: &mut TcpStream, want: &[u8]) {
    let mut got = vec![0; want.len()];
    let len = peer.read_exact(&mut got).map_or(0, |()| want.len());
    assert_eq!(got[..len].escape_ascii().to_string(), want.escape_ascii().to_string());
}

/// What terminals send, and what arrives: the same, each at once. Wine 8 makes events of it, and not all keys are known
/// to it; the program makes of them what a terminal sends.
const KEYS: [&[u8]; 26] = [
    b"a",
    b"Z",
    b"\r",
    b"\t",
    b"\x7f",
    b"\x08",
    b"\x01",
    b"\x04",
    b"\x11",
    b"\x13",
    b"\x1a",
    b"\x1c",
    b"\x1d",
    b"\0",
    b"\x1b",
    b"\x1bx",
    b"\x1b[A",
    b"\x1b[B",
    b"\x1b[1;5D",
    b"\x1b[1;2A",
    b"\x1b[3~",
    b"\x1b[5~",
    b"\x1bOP",
    b"\x1b[15~",
    "\u{e9}".as_bytes(),
    "\u{20ac}".as_bytes(),
];

#[test]
fn keys_reach_the_peer_one_by_one() {
    let Some(wine) = wine() else { return };
    let scene = Scene::new();
    let (listener, at) = listener();
    let mut user = Console::start(wine, &scene, &["connect", &at]);
    let mut peer = accept(&listener);
    user.see("Ctrl-T ? lists the keys");
    for key in KEYS {
        user.press(key);
        gets(&mut peer, key);
    }
    // What arrives is drawn, whatever it is; characters come in parts, too.
    for part in [&b"caf\xe9 b\xc3"[..], b"\xa9b\xc3\xa9"] {
        peer.write_all(part).unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
    user.see("caf\u{fffd} b\u{e9}b\u{e9}");
    user.press(b"\x14?");
    user.see("Ctrl-T  Ctrl-T itself");
    user.press(b"\x14\x14");
    gets(&mut peer, b"\x14");
    user.press(b"\x14q");
    drop(peer);
    assert_eq!(user.end(SOON), 0);
}

#[test]
fn ctrl_c_ends_a_session_at_once() {
    let Some(wine) = wine() else { return };
    at_once(|| {
        let scene = Scene::new();
        let (listener, at) = listener();
        let mut user = Console::start(wine, &scene, &["connect", &at]);
        let mut peer = accept(&listener);
        user.see("Ctrl-T ? lists the keys");
        user.press(b"a");
        gets(&mut peer, b"a");
        user.end_by(b"\x03")
    });
}

#[test]
fn files_pass_within_a_session() {
    let Some(wine) = wine() else { return };
    let scene = Scene::new();
    let file = scene.file("two words/data.bin", &noise(21, 100_000));
    let there = scene.folder("there");
    let mut receive = wst(["receive", "-P", "zmodem", "-o", there.to_str().unwrap()]);
    let mut peer = scene.start("receive", receive.arg("tcp-listen://127.0.0.1:0")).unwrap();
    let at = format!("tcp://{}", peer.line_after("listening on ").unwrap());
    let mut user = Console::start(wine, &scene, &["connect", &at]);
    user.see("The peer receives files by ZMODEM. Send:");
    // A path as it is dropped on a console, but for its end, which Tab completes.
    let windows = format!("\"Z:{}", file.display()).replace('/', r"\").replace("data.bin", "dax");
    user.press(windows.as_bytes());
    user.see("dax");
    user.press(b"\x7f\t");
    user.see("ta.bin");
    user.press(b"\"\r");
    user.see("data.bin: sent 100.0 kB");
    assert_eq!(peer.wait(LIMIT).unwrap().code, 0);
    same(&file, &there.join("data.bin")).unwrap();
    assert_eq!(user.end(SOON), 0);

    let send = ["send", "-P", "zmodem", file.to_str().unwrap(), "tcp-listen://127.0.0.1:0"];
    let mut peer = scene.start("send", &mut wst(send)).unwrap();
    let at = format!("tcp://{}", peer.line_after("listening on ").unwrap());
    let mut user = Console::start(wine, &scene, &["connect", &at]);
    let here = scene.path("here");
    user.see("The peer sends files by ZMODEM. Receive them into Z:\\");
    user.press(b"yes\r");
    user.see("data.bin: stored as");
    assert_eq!(peer.wait(LIMIT).unwrap().code, 0);
    same(&file, &here.join("data.bin")).unwrap();
    assert_eq!(user.end(SOON), 0);
}

#[test]
fn the_prompt_of_kermit() {
    let Some(wine) = wine() else { return };
    let scene = Scene::new();
    let (listener, _) = listener();
    let port = listener.local_addr().unwrap().port();
    let mut user = Console::start(wine, &scene, &["kermit"]);
    let type_in = |user: &mut Console, line: &str, says: &str| {
        user.see("wst kermit> ");
        user.press(format!("{line}\r").as_bytes());
        user.see(says);
    };
    // Edited: Ctrl-A, Right, Del.
    type_in(&mut user, "eecho one\x01\x1b[C\x1b[3~", "\none");
    // The last line again, and more of it.
    type_in(&mut user, "\x1b[A two", "\none two");
    // A console shows characters only.
    type_in(&mut user, r"echo caf\{233}!", "\ncaf\u{fffd}!");
    // Single keys, and lines, are for the commands; all others are for the prompt.
    type_in(&mut user, r#"getc \%a "key? ""#, "key? ");
    user.press(b"k");
    type_in(&mut user, r"echo [\%a]", "[k]");
    type_in(&mut user, r#"ask \%b "name? ""#, "name? ");
    user.press(b"bobb\x7f\r");
    type_in(&mut user, r"echo [\%b]", "[bob]");
    type_in(&mut user, r#"askq \%c "word? ""#, "word? ");
    user.press(b"secrex\x7ft\r");
    user.see("wst kermit> ");
    assert!(!user.fresh().contains("sec"), "{:?}", user.fresh());
    type_in(&mut user, r"echo [\%c]", "[secret]");
    type_in(&mut user, "pause 1", "wst kermit> ");
    type_in(&mut user, "echo all keys", "\nall keys");
    // Ctrl-C ends a command, and not the program.
    type_in(&mut user, "pause 60", "pause 60");
    std::thread::sleep(Duration::from_millis(300));
    user.press(b"\x03");
    type_in(&mut user, "echo after", "\nafter");
    type_in(&mut user, &format!("set host 127.0.0.1 {port} /raw"), "wst kermit> ");
    let mut peer = accept(&listener);
    type_in(&mut user, "connect", "Ctrl-\\ C comes back");
    user.press(b"\x1b[A");
    gets(&mut peer, b"\x1b[A");
    user.press(b"\x1cc");
    type_in(&mut user, "echo back", "\nback");
    type_in(&mut user, "exit 7", "exit 7");
    drop(peer);
    assert_eq!(user.end(SOON), 7);
}

/// Keys pressed ahead of time are for the reader that asks next, and Ctrl-Z ends one answer only.
#[test]
fn an_answer_takes_one_line() {
    let Some(wine) = wine() else { return };
    let scene = Scene::new();
    let mut user = Console::start(wine, &scene, &["kermit"]);
    let type_in = |user: &mut Console, keys: &str, says: &str| {
        user.see("wst kermit> ");
        user.press(keys.as_bytes());
        user.see(says);
    };
    type_in(&mut user, "ask \\%a \"name? \"\r", "name? ");
    user.press(b"bob\recho <\\%a>\r");
    user.see("\n<bob>");
    type_in(&mut user, "ask \\%a \"name? \"\r", "name? ");
    user.press(b"ann\rask \\%b \"town? \"\rrome\recho <\\%a \\%b>\r");
    user.see("\n<ann rome>");
    type_in(&mut user, "ask \\%a \"name? \"\r", "name? ");
    user.press(b"\x1a\r");
    type_in(&mut user, "ask \\%a \"name? \"\r", "name? ");
    user.press(b"eve\r");
    type_in(&mut user, "echo <\\%a>\r", "\n<eve>");
    // The first key is taken, and the rest is for the prompt.
    type_in(&mut user, "getc \\%a \"key? \"\r", "key? ");
    user.press(b"kecho <\\%a>\r");
    user.see("\n<k>");
    type_in(&mut user, "exit 7\r", "exit 7");
    assert_eq!(user.end(SOON), 7);
}

#[test]
fn a_transfer_shows_how_far_it_is_and_ends_at_once() {
    let Some(wine) = wine() else { return };
    // Ctrl-C, and the key for it.
    for key in [b"\x03", b"e"] {
        at_once(|| {
            let scene = Scene::new();
            let into = scene.folder("in");
            let huge = scene.file("huge.bin", &noise(22, 60_000_000));
            let args = ["receive", "-P", "kermit", "-o", into.to_str().unwrap()];
            let mut receive = wst(args);
            let mut peer = scene.start("receive", receive.arg("tcp-listen://127.0.0.1:0")).unwrap();
            let at = slowly(peer.line_after("listening on ").unwrap());
            let send = ["send", "-P", "kermit", huge.to_str().unwrap(), &at];
            let mut user = Console::start(wine, &scene, &send);
            user.see("huge.bin   ");
            // Each time on the same line.
            user.seen = user.drawn.lock().unwrap().len();
            let draws = || user.fresh().matches("huge.bin").count() >= 3;
            assert_eq!(within(SOON, draws), Within::Done, "{:?}", user.all());
            assert!(!user.fresh().contains('\n'), "{:?}", user.fresh());
            let ended = user.end_by(key);
            assert_ne!(peer.wait(LIMIT).unwrap().code, 0);
            ended
        });
    }
}

#[test]
fn passwords_are_not_shown() {
    let Some(wine) = wine() else { return };
    let scene = Scene::new();
    let users = scene.path("users");
    let args = ["users", "add", users.to_str().unwrap(), "ann"];
    let mut user = Console::start(wine, &scene, &args);
    user.see("password for ann: ");
    user.press(b"hidden wordx\x7f\r");
    user.see("the same again: ");
    user.press(b"hidden word\r");
    user.see("ann is added");
    assert_eq!(user.end(SOON), 0);
    assert!(!user.all().contains("hid"), "{:?}", user.all());
    let mut user = Console::start(wine, &scene, &args);
    user.see("password for ann: ");
    assert_eq!(user.end_by(b"\x03").0, 130);
}

/// Commands come by a pipe, and one of them waits: the next ones are still there.
#[test]
fn commands_by_a_pipe_are_not_lost() {
    let Some(wine) = wine() else { return };
    let scene = Scene::new();
    let commands = scene.file("commands", b"pause 1\necho last\n");
    let out = wine.wst(["kermit"]).stdin(File::open(commands).unwrap()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout).trim(), "last");
}
