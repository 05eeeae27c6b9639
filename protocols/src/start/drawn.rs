//! The line of trzsz where tmux or the console of Windows draws it.
//!
//! Neither passes what a program writes: each draws it, where the cursor is or after moving it, and may draw a line of
//! its own elsewhere and come back. What shows behind the line where it ended, or where the cursor is at last, is no
//! drawing of theirs but what follows the line, such as the prompt behind a log on the screen.

use super::{Found, RUN, TRZSZ, host_of, part_of};
use wetstring_proto::peer::{Host, PeerProtocol};

const BEL: u8 = 7;
const ESC: u8 = 0x1B;

/// A line of trzsz.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Drawn<'a> {
    pub(super) found: Found,
    /// The number of the run.
    pub(super) run: &'a [u8],
}

/// The last line of trzsz in a text, if it was drawn and nothing follows it.
pub(super) fn start(text: &[u8]) -> Option<Drawn<'_>> {
    let at = text.windows(TRZSZ.len()).rposition(|part| part == TRZSZ)?;
    // A line of a program begins a row.
    let before = text[..at].last().copied().unwrap_or(b'\n');
    if !before.is_ascii_control() && !ends_a_sequence(&text[..at]) {
        return None;
    }
    let rest = &text[at + TRZSZ.len()..];
    let len = rest
        .iter()
        .position(|byte| !byte.is_ascii_alphanumeric() && !b":.".contains(byte))
        .unwrap_or(rest.len());
    let (line, after) = rest.split_at(len);
    let mut fields = line.split(|byte| *byte == b':');
    let part = fields.next().and_then(part_of)?;
    let run = fields.nth(1).filter(|run| run.len() == RUN)?;
    let port = fields.next().unwrap_or_default();
    let host = host_of(run);
    let numbers = run.iter().chain(port).all(u8::is_ascii_digit);
    if host == Host::Plain || !numbers || fields.next().is_some() || !is_drawing(after) {
        return None;
    }
    Some(Drawn { found: Found { host, ..Found::new(PeerProtocol::Trzsz, part) }, run })
}

/// Whether a text ends with a whole sequence of a terminal.
fn ends_a_sequence(text: &[u8]) -> bool {
    let Some(at) = text.iter().rposition(|byte| *byte == ESC) else { return false };
    sequence(&text[at..]).is_some_and(|(len, _)| at + len == text.len())
}

/// Whether this shows nothing but what a console draws elsewhere.
fn is_drawing(mut text: &[u8]) -> bool {
    // Something shows since the cursor was moved; it was moved once.
    let mut shows = false;
    let mut moved = false;
    while let Some(first) = text.first() {
        let len = if *first == ESC {
            let Some((len, moves)) = sequence(text) else { return false };
            if moves && shows && !moved {
                return false;
            }
            if moves {
                shows = false;
                moved = true;
            }
            len
        } else {
            shows |= !first.is_ascii_control() && *first != b' ';
            1
        };
        text = &text[len..];
    }
    !shows
}

/// The length of the sequence at the start of a text, and whether it puts the cursor somewhere; `None` if its end is
/// still to come.
fn sequence(text: &[u8]) -> Option<(usize, bool)> {
    match *text.get(1)? {
        b'[' => {
            let end = text[2..].iter().position(|byte| (b'@'..=b'~').contains(byte))? + 2;
            Some((end + 1, matches!(text[end], b'H' | b'f' | b'd')))
        }
        b']' | b'P' => {
            let bell = text.iter().position(|byte| *byte == BEL).map(|at| at + 1);
            let string = text.windows(2).position(|two| two == b"\x1b\\").map(|at| at + 2);
            let end = bell.into_iter().chain(string).min()?;
            Some((end, false))
        }
        b'(' | b')' | b'#' => text.get(2).map(|_| (3, false)),
        _ => Some((2, false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wetstring_proto::peer::Part;

    const LINE: &str = "::TRZSZ:TRANSFER:S:1.1.7:6234567890120:40123";
    const STATUS: &str = "\x1b[42m\x1b[30;1H[0] 0:tsz*   \"box\" 21:50\x1b(B\x1b[m";

    fn host(text: &str) -> Option<Host> {
        start(text.as_bytes()).map(|drawn| drawn.found.host)
    }

    #[test]
    fn a_line_is_found_whatever_is_drawn_elsewhere() {
        for text in [
            LINE.to_owned(),
            format!("ready> tsz a\r\n{LINE}\r\n"),
            format!("\x1b[5;41H{LINE}\x1b[K\r\n"),
            format!("\r\n{LINE}\r\n{STATUS}\x1b[6;1H"),
            format!("\r\n{LINE}\r\n\x1b]0;title\x07{STATUS}\x1b[6;1H\x1b[?25h"),
        ] {
            assert_eq!(host(&text), Some(Host::Tmux), "{}", text.escape_default());
        }
        let windows = LINE.replace("120:", "110:").replace(":S:", ":D:");
        let drawn = start(windows.as_bytes()).expect("it is one");
        assert_eq!((drawn.found.host, drawn.found.part), (Host::Windows, Part::Receiver));
        assert_eq!(drawn.run, b"6234567890110");
    }

    #[test]
    fn what_follows_makes_it_text() {
        for text in [
            format!("{LINE}\r\nready> "),
            format!("{LINE}\r\nready> {STATUS}\x1b[6;8H"),
            format!("{LINE}\r\n\x1b[6;41Hready> "),
            format!("{LINE}\r\n\x1b[6;"),
            format!("echo {LINE}\r\n"),
            LINE.replace("120:", "100:"),
            LINE.replace("6234", "x234"),
            LINE.replace("6234", "234"),
            format!("{LINE}:1:1"),
            "::TRZSZ:TRANSFER:".to_owned(),
            "::TRZSZ:TRANSFER:S:1.1.7".to_owned(),
        ] {
            assert_eq!(host(&text), None, "{}", text.escape_default());
        }
    }
}
