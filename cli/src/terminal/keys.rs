//! Keys behind the escape key: their layouts, and the help about them.

use std::fmt::Write as _;

/// What a key behind the escape key does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// The list of keys.
    Help,
    /// Ends the session.
    Quit,
    /// Closes the connection and ends the session.
    HangUp,
    /// Ends the whole program, where a session is a part of it.
    Leave,
    /// Sends files.
    Send,
    /// Starts a receiver at the peer's shell, and sends files to it.
    Upload,
    /// Receives files.
    Receive,
    /// Runs a script.
    Script,
    /// Sends a break.
    Break,
    /// Changes DTR.
    ToggleDtr,
    /// Changes DTR for a moment.
    PulseDtr,
    /// Changes RTS.
    ToggleRts,
    /// Changes RTS for a moment.
    PulseRts,
    /// Shows the line, its settings and wires.
    Line,
    /// Asks for the rate.
    Baud,
    /// The next higher usual rate.
    Faster,
    /// The next lower usual rate.
    Slower,
    /// Asks for the parity.
    Parity,
    /// Local echo on or off.
    Echo,
    /// Asks how line ends are changed.
    Maps,
    /// Bytes in hexadecimal on or off.
    Hex,
    /// The next form of timestamps.
    Stamps,
    /// Logging on or off.
    Log,
    /// Clears the screen.
    Clear,
    /// Shows counters.
    Statistics,
    /// Sends a NUL.
    Nul,
}

impl Action {
    /// In the help.
    const fn title(self) -> &'static str {
        match self {
            Self::Help => "this list",
            Self::Quit => "quit",
            Self::HangUp => "hang up",
            Self::Leave => "end the program",
            Self::Send => "send files",
            Self::Upload => "upload to a shell",
            Self::Receive => "receive files",
            Self::Script => "run a script",
            Self::Break => "send a break",
            Self::ToggleDtr => "change DTR",
            Self::PulseDtr => "pulse DTR",
            Self::ToggleRts => "change RTS",
            Self::PulseRts => "pulse RTS",
            Self::Line => "show the line",
            Self::Baud => "set the rate",
            Self::Faster => "next higher rate",
            Self::Slower => "next lower rate",
            Self::Parity => "set the parity",
            Self::Echo => "local echo",
            Self::Maps => "map line ends",
            Self::Hex => "hexadecimal view",
            Self::Stamps => "timestamps",
            Self::Log => "log on or off",
            Self::Clear => "clear the screen",
            Self::Statistics => "statistics",
            Self::Nul => "send NUL",
        }
    }
}

/// Which keys do what.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Its name for `--keys`.
    pub(crate) name: &'static str,
    /// The escape key unless another is chosen.
    pub(crate) escape: u8,
    /// Upper and lower case are one key.
    folds: bool,
    keys: &'static [(u8, Action)],
}

use Action as A;

/// The layouts.
pub(crate) const LAYOUTS: [Layout; 5] = [
    Layout {
        name: "wst",
        escape: ctrl(b't'),
        folds: false,
        keys: &[
            (b'?', A::Help),
            (b'q', A::Quit),
            (b's', A::Send),
            (b'r', A::Receive),
            (b'x', A::Script),
            (b'b', A::Break),
            (b'd', A::ToggleDtr),
            (b'D', A::PulseDtr),
            (b'f', A::ToggleRts),
            (b'F', A::PulseRts),
            (b'i', A::Line),
            (b'=', A::Baud),
            (b'+', A::Faster),
            (b'-', A::Slower),
            (b'p', A::Parity),
            (b'e', A::Echo),
            (b'm', A::Maps),
            (b'h', A::Hex),
            (b't', A::Stamps),
            (b'l', A::Log),
            (b'c', A::Clear),
            (b'v', A::Statistics),
            (b'u', A::Upload),
        ],
    },
    Layout {
        name: "tio",
        escape: ctrl(b't'),
        folds: false,
        keys: &[
            (b'?', A::Help),
            (b'q', A::Quit),
            (b'x', A::Send),
            (b'y', A::Send),
            (b'd', A::Receive),
            (b'r', A::Script),
            (b'b', A::Break),
            (b'g', A::ToggleDtr),
            (b'p', A::PulseDtr),
            (b'G', A::ToggleRts),
            (b'P', A::PulseRts),
            (b'L', A::Line),
            (b'c', A::Line),
            (b'e', A::Echo),
            (b'm', A::Maps),
            (b'o', A::Hex),
            (b't', A::Stamps),
            (b'f', A::Log),
            (b'l', A::Clear),
            (b's', A::Statistics),
        ],
    },
    Layout {
        name: "picocom",
        escape: ctrl(b'a'),
        folds: false,
        keys: &[
            (ctrl(b'h'), A::Help),
            (ctrl(b'k'), A::Help),
            (ctrl(b'x'), A::Quit),
            (ctrl(b'q'), A::Quit),
            (ctrl(b's'), A::Send),
            (ctrl(b'r'), A::Receive),
            (ctrl(b'\\'), A::Break),
            (ctrl(b't'), A::ToggleDtr),
            (ctrl(b'p'), A::PulseDtr),
            (ctrl(b'g'), A::ToggleRts),
            (ctrl(b'v'), A::Line),
            (ctrl(b'b'), A::Baud),
            (ctrl(b'u'), A::Faster),
            (ctrl(b'd'), A::Slower),
            (ctrl(b'y'), A::Parity),
            (ctrl(b'c'), A::Echo),
            (ctrl(b'w'), A::Hex),
            (b'?', A::Help),
        ],
    },
    Layout {
        name: "minicom",
        escape: ctrl(b'a'),
        folds: true,
        keys: &[
            (b'z', A::Help),
            (b'?', A::Help),
            (b'x', A::Quit),
            (b'q', A::Quit),
            (b's', A::Send),
            (b'r', A::Receive),
            (b'g', A::Script),
            (b'f', A::Break),
            (b'h', A::PulseDtr),
            (b'o', A::Line),
            (b'p', A::Baud),
            (b'e', A::Echo),
            (b'a', A::Maps),
            (b'n', A::Stamps),
            (b'l', A::Log),
            (b'c', A::Clear),
        ],
    },
    Layout {
        name: "kermit",
        escape: ctrl(b'\\'),
        folds: true,
        keys: &[
            (b'c', A::Quit),
            (ctrl(b'c'), A::Quit),
            (b'h', A::HangUp),
            (b'u', A::HangUp),
            (b'q', A::Leave),
            (b's', A::Line),
            (b'b', A::Break),
            (b'0', A::Nul),
            (b'?', A::Help),
        ],
    },
];

/// The code of a key with Ctrl.
const fn ctrl(letter: u8) -> u8 {
    letter & 31
}

/// The name of a key: `Ctrl-T`.
pub(crate) fn named(code: u8) -> String {
    match code {
        27 => "Esc".to_owned(),
        127 => "Del".to_owned(),
        0..32 => format!("Ctrl-{}", char::from(code + 64)),
        code => char::from(code).to_string(),
    }
}

/// An escape key: a code, `^X`, `ctrl-x` or `none`.
pub(crate) fn parse_escape(text: &str) -> Result<Option<u8>, String> {
    let lower = text.to_ascii_lowercase();
    let letter = lower.strip_prefix('^').or_else(|| lower.strip_prefix("ctrl-"));
    let code = match (letter.map(str::as_bytes), lower.as_str()) {
        (_, "none") => return Ok(None),
        (Some([letter @ (b'a'..=b'z' | b'\\' | b']' | b'^' | b'_' | b'@' | b'[')]), _) => {
            Some(letter & 31)
        }
        _ => lower.parse().ok().filter(|code| *code < 128),
    };
    let say = || format!("expected an escape key such as ctrl-t, ^], 28 or none, got {text}");
    code.map(Some).ok_or_else(say)
}

/// A layout and its escape key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    /// What begins a command; `None`: every key is the peer's.
    pub(crate) escape: Option<u8>,
    layout: &'static Layout,
}

/// What a key behind the escape key is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pressed {
    /// A command.
    Do(Action),
    /// The escape key itself, for the peer.
    Literal,
    /// Nothing.
    Unknown,
}

impl Keys {
    /// The layout of this name with its escape key.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let layout = LAYOUTS.iter().find(|layout| layout.name == name)?;
        Some(Self { escape: Some(layout.escape), layout })
    }

    /// The same with this escape key.
    pub(crate) fn with(self, escape: Option<u8>) -> Self {
        Self { escape, ..self }
    }

    /// What this key does behind the escape key.
    pub(crate) fn pressed(&self, key: u8) -> Pressed {
        if Some(key) == self.escape {
            return Pressed::Literal;
        }
        let key = if self.layout.folds { key.to_ascii_lowercase() } else { key };
        let action = |key| self.layout.keys.iter().find(|(code, _)| *code == key);
        // Ctrl held a little longer.
        let released = if (1..27).contains(&key) { key | 0x60 } else { key };
        match action(key).or_else(|| action(released)) {
            Some((_, action)) => Pressed::Do(*action),
            None => Pressed::Unknown,
        }
    }

    /// The key for an action.
    pub(crate) fn key_for(&self, action: Action) -> Option<u8> {
        Some(self.layout.keys.iter().find(|(_, known)| *known == action)?.0)
    }

    /// The keys for an action, in words: `Ctrl-T r: receive files`.
    pub(crate) fn how_to(&self, action: Action) -> Option<String> {
        let (escape, key) = (named(self.escape?), named(self.key_for(action)?));
        Some(format!("{escape} {key}: {}", action.title()))
    }

    /// One line at the start: `Ctrl-T q quits, Ctrl-T ? lists the keys`.
    pub(crate) fn hint(&self) -> Option<String> {
        let escape = named(self.escape?);
        let (quit, help) = (self.key_for(A::Quit)?, self.key_for(A::Help)?);
        let verb = if self.layout.name == "kermit" { "comes back" } else { "quits" };
        let (quit, help) = (named(quit), named(help));
        let quit = if self.layout.name == "kermit" { quit.to_uppercase() } else { quit };
        Some(format!("{escape} {quit} {verb}, {escape} {help} lists the keys"))
    }

    /// The list of keys, in lines of at most 40 columns.
    pub(crate) fn help(&self) -> String {
        let escape = self.escape.map_or_else(|| "(no key)".to_owned(), named);
        let mut text = format!("behind {escape}:\n");
        for (key, action) in self.layout.keys {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {:<7} {}", named(*key), action.title());
        }
        let _ = writeln!(text, "  {escape:<7} {escape} itself");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_key_has_many_spellings() {
        for (text, code) in [
            ("29", Some(Some(29))),
            ("^]", Some(Some(29))),
            ("^a", Some(Some(1))),
            ("Ctrl-T", Some(Some(20))),
            ("none", Some(None)),
            ("200", None),
            ("no", None),
            ("ctrl-", None),
        ] {
            assert_eq!(parse_escape(text).ok(), code, "{text}");
        }
        assert_eq!((named(28).as_str(), named(1).as_str()), ("Ctrl-\\", "Ctrl-A"));
    }

    #[test]
    fn every_layout_quits_helps_sends_and_has_each_key_once() {
        for layout in &LAYOUTS {
            let keys = Keys::of(layout.name).expect("a layout");
            let mut codes: Vec<u8> = layout.keys.iter().map(|(code, _)| *code).collect();
            codes.sort_unstable();
            let all = codes.len();
            codes.dedup();
            assert_eq!(codes.len(), all, "{}", layout.name);
            assert!(!codes.contains(&layout.escape), "{}", layout.name);
            let wanted = if layout.name == "kermit" { A::HangUp } else { A::Send };
            for action in [A::Quit, A::Help, A::Break, wanted] {
                let key = keys.key_for(action).unwrap_or_else(|| panic!("{action:?}"));
                assert_eq!(keys.pressed(key), Pressed::Do(action), "{}", layout.name);
            }
            assert_eq!(keys.pressed(layout.escape), Pressed::Literal);
            assert!(keys.help().lines().all(|line| line.len() <= 40), "{}", keys.help());
        }
        let wst = Keys::of("wst").expect("ours");
        assert_eq!(wst.pressed(b'D'), Pressed::Do(A::PulseDtr));
        assert_eq!(wst.pressed(ctrl(b'q')), Pressed::Do(A::Quit));
        assert_eq!(wst.pressed(b'Z'), Pressed::Unknown);
        let minicom = Keys::of("minicom").expect("minicom's");
        assert_eq!(minicom.pressed(b'X'), Pressed::Do(A::Quit));
        assert_eq!(wst.hint().expect("a hint"), "Ctrl-T q quits, Ctrl-T ? lists the keys");
        assert!(wst.with(None).hint().is_none());
    }
}
