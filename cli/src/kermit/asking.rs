//! A command to a Kermit server and its short answer: one packet each way, on block check 1.
//!
//! ```text
//! us      R name | G letter arguments | C command | K command
//! server  Y text: done | E text: refused | S ...: files or a long answer follow
//! ```
//!
//! No parameters are exchanged before it: what every Kermit understands is enough for a short command,
//! and a transfer that follows negotiates by itself.

use std::time::{Duration, Instant};

use wetstring_proto::kermit::check::{Check, tochar};
use wetstring_proto::kermit::decode::Decoder;
use wetstring_proto::kermit::encode::{Coding, Shift, encode_text};
use wetstring_proto::kermit::frame::{Found, FrameReader, FrameSettings};
use wetstring_proto::kermit::packet::{LONG_HEADER, finish, kind, parse};
use wetstring_script::world::Remote;

/// How long to wait for an answer before the command is sent again.
const WAIT: Duration = Duration::from_secs(5);
/// How often a command is sent.
const TRIES: u32 = 6;
/// Data bytes of a packet that every Kermit takes.
const ROOM: usize = 88;

/// What moves bytes for a command.
pub(super) trait Wire {
    /// Sends all of them.
    fn send(&mut self, bytes: &[u8]) -> Result<(), String>;
    /// Waits for some; none if there were none in this time.
    fn wait(&mut self, time: Duration) -> Result<Vec<u8>, String>;
}

/// What came back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Done, with these words.
    Done(Vec<u8>),
    /// Refused, with these words.
    Refused(Vec<u8>),
    /// A transfer begins: these bytes have come of it.
    Transfer(Vec<u8>),
}

/// An argument with its length before it.
fn field(text: &[u8]) -> Result<Vec<u8>, String> {
    if text.len() > 94 {
        return Err(format!("expected at most 94 bytes for a server, got {}", text.len()));
    }
    Ok([&[tochar(text.len() as u8)], text].concat())
}

/// Codes of REMOTE SET, and of the words that some of its values are.
fn set_code(path: &str) -> Option<(&'static str, &'static [&'static str])> {
    Some(match path {
        "attributes" => ("132", &["off", "on"]),
        "file type" => ("300", &["text", "binary", "labeled"]),
        // The server counts literal as 0.
        "file names" => ("301", &["literal", "converted"]),
        "file collision" => {
            ("302", &["rename", "replace", "backup", "append", "discard", "ask", "update"])
        }
        "file incomplete" => ("310", &["discard", "keep", "automatic"]),
        "file character-set" => ("320", &[]),
        "match dotfile" => ("330", &["off", "on"]),
        "match fifo" => ("331", &["off", "on"]),
        "block-check" => ("400", &[]),
        "receive packet-length" => ("401", &[]),
        "receive timeout" => ("402", &[]),
        "retry" => ("403", &[]),
        "server timeout" => ("404", &[]),
        "transfer character-set" => ("405", &[]),
        "window" => ("406", &[]),
        "transfer mode" => ("410", &["automatic", "manual"]),
        "server cd-message" => ("420", &["off", "on"]),
        _ => return None,
    })
}

/// Type and data of the packet that asks for something; a sentence if it is not there.
pub(super) fn packet_of(remote: &Remote) -> Result<(u8, Vec<u8>), String> {
    let text = |index: usize| remote.arguments.get(index).map_or(&[][..], Vec::as_slice);
    let letter = match remote.verb.as_str() {
        "host" => return Ok((b'C', text(0).to_vec())),
        "kermit" => return Ok((b'K', text(0).to_vec())),
        "finish" => "F",
        "bye" => "L",
        "exit" => "X",
        "login" | "logout" => "I",
        "cd" => "C",
        "cdup" => return Ok((b'G', [&b"C"[..], &field(b"..")?].concat())),
        "pwd" => "A",
        "delete" => "E",
        "rename" => "R",
        "copy" => "K",
        "mkdir" => "m",
        "rmdir" => "d",
        "message" => "M",
        "set" => {
            let path = String::from_utf8_lossy(text(0)).into_owned();
            let unknown = || format!("REMOTE SET {} has no code", path.to_uppercase());
            let (code, words) = set_code(&path).ok_or_else(unknown)?;
            let value = String::from_utf8_lossy(text(1)).to_ascii_lowercase();
            let value = match value.as_str() {
                "overwrite" => "replace",
                "reject" => "discard",
                other => other,
            };
            let number = words.iter().position(|word| *word == value);
            let value = number.map_or(value.to_owned(), |number| number.to_string());
            let fields = [field(code.as_bytes())?, field(value.as_bytes())?].concat();
            return Ok((b'G', [&b"S"[..], &fields].concat()));
        }
        "assign" => {
            let fields = [field(b"S")?, field(text(0))?, field(text(1))?].concat();
            return Ok((b'G', [&b"V"[..], &fields].concat()));
        }
        "query" => {
            let kind = text(0).first().map_or(b'K', u8::to_ascii_uppercase);
            let fields = [field(b"Q")?, field(&[kind])?, field(text(1))?].concat();
            return Ok((b'G', [&b"V"[..], &fields].concat()));
        }
        "directory" => "D",
        "space" => "U",
        "type" => "T",
        "who" => "W",
        "help" => "H",
        "status" => "Q",
        other => return Err(format!("REMOTE {} is not there", other.to_uppercase())),
    };
    let mut data = letter.as_bytes().to_vec();
    for argument in &remote.arguments {
        data.extend(field(argument)?);
    }
    Ok((b'G', data))
}

/// The whole packet, CR behind it.
pub(super) fn frame(packet_type: u8, data: &[u8]) -> Result<Vec<u8>, String> {
    let mut buffer = [0; LONG_HEADER + ROOM + 8];
    let room = &mut buffer[LONG_HEADER..LONG_HEADER + ROOM];
    let (used, len) = encode_text(&Coding::default(), data, room);
    if used < data.len() {
        return Err(format!(
            "expected a command that fits into one packet, got {} bytes",
            data.len()
        ));
    }
    let (from, to) = finish(&mut buffer, len, 0, packet_type, Check::Sum6, 1, false);
    Ok([&buffer[from..to], b"\r"].concat())
}

fn decoded(data: &[u8]) -> Vec<u8> {
    let mut decoder = Decoder::new(b'#', None, None, Shift::Off, false);
    let mut out = vec![0; data.len() + 16];
    let (_, len) = decoder.decode(data, &mut out);
    let end = len + decoder.finish(&mut out[len..]);
    out.truncate(end);
    out
}

/// Sends a command until something comes back.
pub(super) fn ask(wire: &mut dyn Wire, packet_type: u8, data: &[u8]) -> Result<Answer, String> {
    let packet = frame(packet_type, data)?;
    let settings = FrameSettings { max_len: 9024, ..FrameSettings::default() };
    let mut buffer = vec![0; settings.buffer_len()];
    for _ in 0..TRIES {
        wire.send(&packet)?;
        let until = Instant::now() + WAIT;
        let mut reader = FrameReader::new(settings);
        let mut came: Vec<u8> = Vec::new();
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            let bytes = wire.wait(left)?;
            came.extend_from_slice(&bytes);
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (used, found) = reader.next(&mut buffer, rest);
                rest = &rest[used..];
                let Some(Found::Packet(body)) = found else { continue };
                let Ok(packet) = parse(body, Check::Sum6, false) else { continue };
                match packet.kind {
                    kind::ACK => return Ok(Answer::Done(decoded(packet.data))),
                    kind::ERROR => return Ok(Answer::Refused(decoded(packet.data))),
                    kind::SEND_INIT => return Ok(Answer::Transfer(came)),
                    kind::NAK => break,
                    // Our own packet, echoed.
                    _ => {}
                }
            }
        }
    }
    Err(format!("no answer after {TRIES} times {} s", WAIT.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(verb: &str, arguments: &[&str]) -> Remote {
        let arguments = arguments.iter().map(|a| a.as_bytes().to_vec()).collect();
        Remote { verb: verb.to_owned(), arguments }
    }

    /// The data fields of the digest, before they are encoded.
    #[test]
    fn commands_are_packets() {
        for (asked, expected) in [
            (remote("cd", &["/srv"]), (b'G', &b"C$/srv"[..])),
            (remote("set", &["file collision", "overwrite"]), (b'G', b"S#302!1")),
            (remote("set", &["receive packet-length", "1000"]), (b'G', b"S#401$1000")),
            (remote("query", &["kermit", "version"]), (b'G', b"V!Q!K'version")),
            (remote("assign", &["foo", "bar"]), (b'G', b"V!S#foo#bar")),
            (remote("login", &["user", "pass", "acct"]), (b'G', b"I$user$pass$acct")),
            (remote("finish", &[]), (b'G', b"F")),
            (remote("host", &["echo hi"]), (b'C', b"echo hi")),
        ] {
            assert_eq!(packet_of(&asked), Ok((expected.0, expected.1.to_vec())));
        }
        assert!(packet_of(&remote("cd", &[&"x".repeat(95)])).is_err());
        assert!(packet_of(&remote("set", &["nonesuch", "1"])).is_err());
    }

    #[test]
    fn a_packet_is_framed() {
        // `GF` with the check that C-Kermit's client sends.
        assert_eq!(frame(b'G', b"F"), Ok(b"\x01$ GF4\r".to_vec()));
        assert!(frame(b'C', &[b'x'; 200]).is_err());
    }

    /// Answers as it is told, after so many silent waits.
    struct Server(Vec<Vec<u8>>, usize);

    impl Wire for Server {
        fn send(&mut self, _: &[u8]) -> Result<(), String> {
            self.1 += 1;
            Ok(())
        }
        fn wait(&mut self, _: Duration) -> Result<Vec<u8>, String> {
            if self.0.is_empty() { Err("closed".to_owned()) } else { Ok(self.0.remove(0)) }
        }
    }

    #[test]
    fn answers_are_told_apart() {
        let packet = |packet_type: u8, text: &[u8]| frame(packet_type, text).expect("short");
        let mut server = Server(vec![packet(b'Y', b"/srv")], 0);
        assert_eq!(ask(&mut server, b'G', b"A"), Ok(Answer::Done(b"/srv".to_vec())));
        let mut server = Server(vec![b"noise".to_vec(), packet(b'E', b"no")], 0);
        assert_eq!(ask(&mut server, b'G', b"A"), Ok(Answer::Refused(b"no".to_vec())));
        let begin = packet(b'S', b"~/ @-#");
        let mut server = Server(vec![begin.clone()], 0);
        assert_eq!(ask(&mut server, b'R', b"x"), Ok(Answer::Transfer(begin)));
        assert!(ask(&mut Server(Vec::new(), 0), b'G', b"A").is_err());
    }
}
