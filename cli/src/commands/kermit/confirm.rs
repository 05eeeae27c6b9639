//! SET RECEIVE CONFIRM and /CALIBRATE: stores that ask the user, and that generate or discard data.
//!
//! ```text
//! engine --Offer--> Confirming --yes--> store
//!                   "Accept incoming file ...?"  no: this one is refused; quit: all are, and it ends
//! ```

use crate::transfer::client::requested::Requested;
use std::io::{IsTerminal as _, Write as _, stdin, stdout};

use wetstring_drive::Signals;
use wetstring_drive::event::{Interest, wait};
use wetstring_drive::terminal;
use wetstring_proto::{FileInfo, FileKind, Refusal, Reply, Request, Store, StoreError};
use wetstring_script::world::{Confirm, Kept, Report, Scope};

use crate::ui::format::escaped;

/// The answer of the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    Yes,
    No,
    /// This one and all that follow.
    Go,
    /// None, and the transfer ends.
    Quit,
}

impl Answer {
    /// Parses the answer or a prefix of it; `None` if it is neither.
    pub(super) fn of(typed: &[u8]) -> Option<Self> {
        let typed = typed.trim_ascii().to_ascii_lowercase();
        let is = |word: &[u8]| !typed.is_empty() && word.starts_with(&typed);
        let known = [
            (is(b"yes") || is(b"ok"), Self::Yes),
            (is(b"no"), Self::No),
            (is(b"go"), Self::Go),
            (is(b"quit"), Self::Quit),
        ];
        known.into_iter().find_map(|(said, answer)| said.then_some(answer))
    }
}

/// Asks whether to accept a file of this name.
pub(super) type Asker = Box<dyn FnMut(&str) -> Answer>;

/// The longest answer.
const LONGEST: u64 = 200;

/// Asks the user whether to accept a file of this name, until there is an answer. Ctrl-C, by `signals`,
/// counts as one.
pub(super) fn ask_whether(name: &str, signals: &Signals) -> Answer {
    loop {
        print!("Accept incoming file \"{name}\"? (yes, no, go: this and the rest, quit) ");
        let mut typed = Vec::new();
        let read = stdout().flush().and_then(|()| {
            if interrupted(signals) {
                return Ok(0);
            }
            typed = terminal::stdin::line(LONGEST)?;
            Ok(typed.len())
        });
        if !matches!(read, Ok(1..)) {
            println!();
            eprintln!(
                "no answer, so {name} is refused; SET RECEIVE CONFIRM OFF accepts every file"
            );
            return Answer::Quit;
        }
        if let Some(answer) = Answer::of(&typed) {
            return answer;
        }
    }
}

/// Waits for a line at the terminal, or for a signal. Other inputs need no wait: a terminal gives
/// one line at a time, a pipe may have given the next one already.
fn interrupted(signals: &Signals) -> bool {
    if !stdin().is_terminal() {
        return false;
    }
    let mut interests =
        [Interest::read(terminal::stdin::source()), Interest::read(signals.source())];
    while !matches!(wait(&mut interests, None), Ok(true)) {}
    interests[1].is_ready()
}

/// Whether the settings and the command require confirmation, and for which end of the connection.
pub(super) fn asked_for(kept: &Kept, switch: Option<Confirm>) -> (Confirm, Scope) {
    let value = kept.get("receive confirm").map_or(&b"on local"[..], |value| value);
    let mut words = value.split(|byte| *byte == b' ');
    let level = match words.next() {
        Some(b"off") => Confirm::Off,
        Some(b"all") => Confirm::All,
        _ => Confirm::On,
    };
    let scope = match words.next() {
        Some(b"both") => Scope::Both,
        Some(b"remote") => Scope::Remote,
        _ => Scope::Local,
    };
    (switch.unwrap_or(level), scope)
}

/// Asks the user before an unrequested file is stored.
pub(super) struct Confirming<'a> {
    store: &'a mut dyn Store,
    /// Without one there is no question.
    asker: Option<Asker>,
    /// Files requested from a server need no question.
    asked: Option<Requested>,
    /// Other files of a server are refused where no question is possible.
    strict: bool,
    /// The file that the user agreed to, until it is closed: it may be offered twice.
    agreed: Option<Vec<u8>>,
    go: bool,
    /// The user wants the transfer to end.
    quit: bool,
    /// An unrequested file was accepted: the server renames files.
    other: bool,
}

impl<'a> Confirming<'a> {
    /// For unsolicited files.
    pub(super) fn new(store: &'a mut dyn Store, asker: Option<Asker>) -> Self {
        Self {
            store,
            asker,
            asked: None,
            strict: false,
            agreed: None,
            go: false,
            quit: false,
            other: false,
        }
    }

    /// For GET.
    pub(super) fn of(self, asked: Requested, strict: bool) -> Self {
        Self { asked: Some(asked), strict, ..self }
    }

    /// Records in the report that the user ended the transfer.
    pub(super) fn ended(&self, mut report: Report) -> Report {
        if self.quit {
            report.done = false;
            "a file was not accepted, and the transfer was ended".clone_into(&mut report.message);
        } else if let Some(missing) = self.missing().filter(|_| report.done) {
            report.done = false;
            report.message = missing;
        }
        report
    }

    /// Requested names that the server did not send.
    fn missing(&self) -> Option<String> {
        let asked = self.asked.as_ref().filter(|_| !self.other)?;
        let names: Vec<_> = asked.missing().map(escaped).collect();
        (!names.is_empty()).then(|| format!("not received: {}", names.join(", ")))
    }

    /// Whether to accept the file.
    fn may(&mut self, info: &FileInfo<'_>) -> bool {
        if info.extras.kermit().screen {
            return true;
        }
        if self.asked.as_mut().is_some_and(|asked| asked.takes(info.name)) {
            return true;
        }
        let may = self.go || self.agreed.as_deref() == Some(info.name) || self.agrees(info);
        self.other |= may;
        may
    }

    /// Whether to accept an unrequested file.
    fn agrees(&mut self, info: &FileInfo<'_>) -> bool {
        let Some(asker) = &mut self.asker else { return !self.strict };
        match asker(&escaped(info.name)) {
            Answer::Yes => {}
            Answer::Go => self.go = true,
            Answer::No => return false,
            Answer::Quit => {
                self.quit = true;
                return false;
            }
        }
        self.agreed = Some(info.name.to_vec());
        true
    }
}

impl Store for Confirming<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match &request {
            Request::Offer { info } if !self.may(info) => {
                return if self.quit {
                    Reply::Failed(StoreError::Permission)
                } else {
                    Reply::Refuse(Refusal::Declined)
                };
            }
            Request::Close { .. } => self.agreed = None,
            _ => {}
        }
        self.store.answer(request)
    }
}

/// SEND /CALIBRATE: generated, incompressible bytes.
pub(super) struct Generated {
    size: u64,
    offered: bool,
}

impl Generated {
    /// C-Kermit's name for them.
    const NAME: &'static [u8] = b"CALIBRATION";

    pub(super) fn new(size: u64) -> Self {
        Self { size, offered: false }
    }

    /// The byte at an offset: always the same.
    fn byte(offset: u64) -> u8 {
        let mut word = (offset / 8).wrapping_add(0x9E37_79B9_7F4A_7C15);
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (word ^ (word >> 31)).to_le_bytes()[(offset % 8) as usize]
    }
}

impl Store for Generated {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Next if std::mem::replace(&mut self.offered, true) => Reply::NoMoreFiles,
            Request::Next => Reply::File(FileInfo {
                name: Self::NAME,
                size: Some(self.size),
                kind: FileKind::Binary,
                ..FileInfo::default()
            }),
            Request::Read { offset, into } => {
                let left = self.size.saturating_sub(offset);
                let len = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                for (byte, at) in into[..len].iter_mut().zip(offset..) {
                    *byte = Self::byte(at);
                }
                Reply::Read(len)
            }
            Request::Close { .. } => Reply::Done,
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepts every file.
    struct All(Vec<Vec<u8>>);

    impl Store for All {
        fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
            let Request::Offer { info } = request else { return Reply::Done };
            self.0.push(info.name.to_vec());
            Reply::Accept { offset: 0 }
        }
    }

    /// The questions, and the accepted files, for these names, each offered twice.
    fn run(
        answers: &'static [Answer],
        requested: &[&str],
        recursive: bool,
        names: &[&str],
    ) -> (Vec<String>, Vec<String>, bool) {
        let mut all = All(Vec::new());
        let questions = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let (told, mut answers) = (std::rc::Rc::clone(&questions), answers.iter());
        let asker: Asker = Box::new(move |name| {
            told.borrow_mut().push(name.to_owned());
            *answers.next().expect("an answer")
        });
        let asked = Requested::new(requested.iter().map(|name| name.as_bytes()), recursive);
        let mut store = Confirming::new(&mut all, Some(asker)).of(asked, true);
        for name in names {
            let info = FileInfo { name: name.as_bytes(), ..FileInfo::default() };
            let offer = || Request::Offer { info };
            match store.answer(offer()) {
                Reply::Accept { .. } => {
                    assert_eq!(store.answer(offer()), Reply::Accept { offset: 0 }, "{name}");
                    store.answer(Request::Close { complete: true, verified: false });
                }
                Reply::Failed(_) => break,
                refused => assert_eq!(refused, Reply::Refuse(Refusal::Declined), "{name}"),
            }
        }
        let quit = !store.ended(Report { done: true, ..Report::default() }).done;
        let mut taken: Vec<String> =
            all.0.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        taken.dedup();
        (questions.take(), taken, quit)
    }

    #[test]
    fn unrequested_files_need_confirmation() {
        use Answer::{Go, No, Quit, Yes};
        let words = |all: &[&str]| all.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let (asked, taken, quit) = run(&[Yes, No, Go], &[], false, &["a", "b", "c", "d"]);
        assert_eq!((asked, taken, quit), (words(&["a", "b", "c"]), words(&["a", "c", "d"]), false));
        let (asked, taken, quit) = run(&[Quit], &[], false, &["a", "b"]);
        assert_eq!((asked, taken, quit), (words(&["a"]), vec![], true));
        // A server may send what was requested; anything else needs confirmation.
        let (asked, taken, _) =
            run(&[No], &["d/a", "*.txt", "f{o}"], false, &["a", "b.txt", "f{o}", ".profile"]);
        assert_eq!((asked, taken), (words(&[".profile"]), words(&["a", "b.txt", "f{o}"])));
        // SET FILE NAMES CONVERTED at the server.
        let (asked, ..) = run(&[], &["read.me.first", "x y"], false, &["READ_ME.FIRST", "X_Y"]);
        assert!(asked.is_empty(), "{asked:?}");
        let (asked, ..) = run(&[], &["d"], true, &["d/x", "d/e/y"]);
        assert!(asked.is_empty());
        // Only below what was requested.
        let (asked, taken, _) = run(&[No], &["d"], true, &[".ssh/keys", "d/x"]);
        assert_eq!((asked, taken), (words(&[".ssh/keys"]), words(&["d/x"])));
        // ALL also asks about files below a directory.
        let (asked, ..) = run(&[Yes], &["d"], false, &["d/x"]);
        assert_eq!(asked, ["d/x"]);
    }

    #[test]
    fn without_a_terminal_only_requested_files_are_accepted() {
        for (strict, taken) in [(true, &["a"][..]), (false, &["a", ".profile"])] {
            let mut all = All(Vec::new());
            let asked = Requested::new([&b"a"[..]].into_iter(), false);
            let mut store = Confirming::new(&mut all, None).of(asked, strict);
            for name in ["a", ".profile"] {
                let info = FileInfo { name: name.as_bytes(), ..FileInfo::default() };
                store.answer(Request::Offer { info });
            }
            assert_eq!(all.0, taken.iter().map(|name| name.as_bytes()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn answers_may_be_abbreviated() {
        let of = |typed: &str| Answer::of(typed.as_bytes());
        assert_eq!(of("YES\r"), Some(Answer::Yes));
        assert_eq!(
            (of("n"), of("g"), of("qui")),
            (Some(Answer::No), Some(Answer::Go), Some(Answer::Quit))
        );
        assert_eq!((of(""), of("maybe")), (None, None));
    }

    #[test]
    fn generated_bytes_are_the_same_in_any_pieces() {
        let mut whole = [0; 100];
        let mut store = Generated::new(90);
        let request = Request::Read { offset: 0, into: &mut whole };
        assert_eq!(store.answer(request), Reply::Read(90));
        let mut piece = [0; 7];
        store.answer(Request::Read { offset: 13, into: &mut piece });
        assert_eq!(piece, whole[13..20]);
        assert!(whole[..90].windows(4).all(|four| four != [0; 4]));
    }
}
