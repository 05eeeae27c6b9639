//! CONNECT: the user's terminal on the connection.

use std::io::Write as _;
use std::path::Path;

use std::io::{IsTerminal as _, stdin};
use wetstring_drive::terminal::{size_of, stdout};
use wetstring_script::World;
use wetstring_script::world::{Done, Fault, Kept};

use super::live::{Live, no_connection};
use crate::args::Common;
use crate::args::session::LogFormat;
use crate::terminal::keys::{Keys, named, parse_escape};
use crate::terminal::log::Log;
use crate::terminal::{End, Options, Session};

/// SET ESCAPE-CHARACTER: a code, or `^X`; Ctrl-\ if it is empty.
pub(super) fn escape_character(text: &[u8]) -> Option<u8> {
    let keys = Keys::of("kermit")?;
    if text.is_empty() {
        return keys.escape;
    }
    parse_escape(str::from_utf8(text).ok()?).ok()?
}

fn show(text: &str) -> Result<(), Fault> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

impl Live<'_> {
    /// Connects the user's terminal to the peer, until the escape character and C.
    pub(super) fn talk(&mut self, kept: &Kept) -> Result<Done, Fault> {
        let name = self.port.as_ref().ok_or_else(no_connection)?.facts().name.clone();
        if !stdin().is_terminal() {
            return Err(Fault::new("expected a terminal for CONNECT, got another stdin"));
        }
        let escape = kept.get("escape-character").map_or(Some(28), |text| escape_character(text));
        let escape = escape.ok_or_else(|| Fault::new("expected an escape character below 128"))?;
        let keys = Keys::of("kermit").ok_or_else(|| Fault::new("no keys"))?.with(Some(escape));
        let mut options = Options::new(keys);
        options.echo = kept.get("duplex").is_some_and(|value| value == b"half");
        let key = named(escape);
        options.greeting = vec![format!("Connected to {name}: {key} C comes back, {key} ? helps")];
        let common = Common { trace: self.trace.clone(), ..Common::default() };
        let line = (self.spec.clone().ok_or_else(no_connection)?, self.port.take());
        let mut session =
            Session::new((self.ui, &common), self.settings.clone(), self.signals, line, options);
        // LOG SESSION has every byte.
        let log = self.session.as_ref().and_then(|file| file.try_clone().ok());
        let on = |file| Log::on(file, Path::new("session"), LogFormat::Raw, size_of(stdout()));
        session.log = log.map(on);
        session.options.ahead = self.ahead.drain(..).collect();
        let end = session.run();
        self.port = session.port.take();
        let over = match end.map_err(|ending| Fault::new(ending.message))? {
            End::Leave => true,
            End::HangUp => {
                self.hang_up()?;
                false
            }
            End::Lost(_) => {
                show("\n(the connection is closed)\n")?;
                self.hang_up()?;
                return Ok(Done::default());
            }
            _ => false,
        };
        show("\n(back at the commands)\n")?;
        Ok(Done { over, ..Done::default() })
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
    }
}
