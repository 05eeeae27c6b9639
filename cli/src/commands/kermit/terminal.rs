//! CONNECT: the user's terminal on the connection.
//!
//! ```text
//! keyboard --raw--> [escape character?] --> connection
//! screen   <------------------------------- connection
//! ```
//!
//! Bytes pass unchanged: the peer's output is meant for the terminal that this program runs in.

use std::io::Write as _;

use std::io::{IsTerminal as _, stdin};
use wetstring_drive::event::{self, Interest};
use wetstring_drive::terminal;
use wetstring_script::World;
use wetstring_script::world::{Done, Fault, Heard, Kept};

use super::live::{LONGEST_POLL, Live, no_connection};

/// Ctrl-\
const ESCAPE: u8 = 28;

const HELP: &str = "\r\n C comes back, H hangs up, Q ends the program, S shows the connection, 0 sends NUL,\
    \r\n the escape character itself sends it, ? is this help\r\n";

/// The name of a control character: `^\` or `Ctrl-\`.
fn named(code: u8) -> String {
    match code {
        127 => "DEL".to_owned(),
        0..32 => format!("Ctrl-{}", char::from(code + 64)),
        code => char::from(code).to_string(),
    }
}

/// SET ESCAPE-CHARACTER: a code, or `^X`.
pub(super) fn escape_character(text: &[u8]) -> Option<u8> {
    match text {
        [] => Some(ESCAPE),
        [b'^', letter] => Some(letter.to_ascii_uppercase() & 31),
        digits => std::str::from_utf8(digits).ok()?.parse().ok().filter(|code| *code < 128),
    }
}

/// What a key after the escape character does.
enum EscapeCommand {
    Back,
    HangUp,
    Quit,
    Show,
    Help,
    Send(u8),
    Unknown,
}

fn escape_command(key: u8, escape: u8) -> EscapeCommand {
    match key.to_ascii_lowercase() {
        _ if key == escape => EscapeCommand::Send(escape),
        b'c' | 3 => EscapeCommand::Back,
        b'h' | b'u' => EscapeCommand::HangUp,
        b'q' => EscapeCommand::Quit,
        b's' => EscapeCommand::Show,
        b'?' => EscapeCommand::Help,
        b'0' => EscapeCommand::Send(0),
        _ => EscapeCommand::Unknown,
    }
}

fn show(text: &[u8]) -> Result<(), Fault> {
    let mut out = std::io::stdout().lock();
    out.write_all(text)?;
    Ok(out.flush()?)
}

impl Live<'_> {
    /// Connects the user's terminal to the peer, until the escape character and C.
    pub(super) fn talk(&mut self, kept: &Kept) -> Result<Done, Fault> {
        let name = self.port.as_ref().ok_or_else(no_connection)?.facts().name.clone();
        if !stdin().is_terminal() {
            return Err(Fault::new("expected a terminal for CONNECT, got another stdin"));
        }
        let escape =
            kept.get("escape-character").map_or(Some(ESCAPE), |text| escape_character(text));
        let escape = escape.ok_or_else(|| Fault::new("expected an escape character below 128"))?;
        let echo = kept.get("duplex").is_some_and(|value| value == b"half");
        let key = named(escape);
        show(format!("Connected to {name}: {key} C comes back, {key} ? helps\n").as_bytes())?;
        let raw = terminal::stdin::raw()?;
        let ended = self.pass(escape, echo, &name);
        drop(raw);
        let over = ended?;
        show(b"\n(back at the commands)\n")?;
        Ok(Done { over, ..Done::default() })
    }

    /// Passes bytes both ways; true if the program is to end.
    fn pass(&mut self, escape: u8, echo: bool, name: &str) -> Result<bool, Fault> {
        let mut escaped = false;
        let mut keys = [0; 256];
        loop {
            match self.hear(std::time::Duration::ZERO) {
                Heard::Byte(byte) => {
                    self.ahead.push_front(byte);
                    let bytes: Vec<u8> = self.ahead.drain(..).collect();
                    self.log_session(&bytes);
                    show(&bytes)?;
                    continue;
                }
                Heard::Silence => {}
                Heard::Interrupted => return Ok(false),
                Heard::Lost => {
                    show(b"\r\n(the connection is closed)\r\n")?;
                    return Ok(false);
                }
            }
            let Some(port) = &self.port else { return Ok(false) };
            let mut interests = [
                Interest::read(port.read_source()),
                Interest::read(self.signals.source()),
                Interest::read(terminal::stdin::source()),
            ];
            // An interrupted wait is handled above.
            let _ = event::wait(&mut interests, Some(LONGEST_POLL));
            if !interests[2].is_ready() {
                continue;
            }
            let len = terminal::stdin::read(&mut keys)?;
            if len == 0 {
                return Ok(false);
            }
            for key in &keys[..len] {
                if !escaped {
                    escaped = *key == escape;
                    if !escaped {
                        self.typed(&[*key], echo)?;
                    }
                    continue;
                }
                escaped = false;
                match escape_command(*key, escape) {
                    EscapeCommand::Back => return Ok(false),
                    EscapeCommand::Quit => return Ok(true),
                    EscapeCommand::HangUp => {
                        self.hang_up()?;
                        return Ok(false);
                    }
                    EscapeCommand::Show => show(format!("\r\n({name})\r\n").as_bytes())?,
                    EscapeCommand::Help => show(HELP.as_bytes())?,
                    EscapeCommand::Send(byte) => self.typed(&[byte], echo)?,
                    EscapeCommand::Unknown => show(b"\x07")?,
                }
            }
        }
    }

    fn typed(&mut self, bytes: &[u8], echo: bool) -> Result<(), Fault> {
        if echo {
            show(bytes)?;
        }
        self.transmit(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_escape_character_has_many_spellings() {
        for (text, code) in [
            (&b""[..], Some(28)),
            (b"29", Some(29)),
            (b"^]", Some(29)),
            (b"^a", Some(1)),
            (b"200", None),
            (b"no", None),
        ] {
            assert_eq!(escape_character(text), code, "{}", text.escape_ascii());
        }
        assert_eq!((named(28).as_str(), named(1).as_str()), ("Ctrl-\\", "Ctrl-A"));
    }
}
