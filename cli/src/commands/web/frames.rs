//! Frames of a WebSocket (RFC 6455 5), at the server's end.
//!
//! ```text
//! FIN . . . opcode   MASK length   [length, 2 or 8 bytes]   [key, 4 bytes]   payload
//! ```
//!
//! Binary messages are bytes of the line, whose borders mean nothing: the payload is passed on as it comes, and a
//! message may be of any length. Text messages are short, for the page and this program. There are no extensions.

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// The longest text message; control frames have at most 125 bytes.
const MOST_TEXT: usize = 4096;
/// The longest head of a frame.
const MOST_HEAD: usize = 14;

/// What came.
#[derive(Default, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    /// For the line.
    pub(super) bytes: Vec<u8>,
    /// Text messages.
    pub(super) texts: Vec<String>,
    /// Frames that answer: PONGs, and the echo of a CLOSE.
    pub(super) answers: Vec<u8>,
    /// The peer closes.
    pub(super) closed: bool,
}

/// A frame that breaks the rules.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// Takes frames apart, in any chunking.
#[derive(Default)]
pub(super) struct Frames {
    head: Vec<u8>,
    /// The frame whose payload is being received.
    frame: Option<Frame>,
    /// The opcode of a message in several frames.
    message: u8,
    text: Vec<u8>,
    control: Vec<u8>,
}

struct Frame {
    opcode: u8,
    last: bool,
    left: u64,
    key: [u8; 4],
    /// Position in the key.
    turn: usize,
}

impl Frames {
    /// Received bytes.
    pub(super) fn feed(&mut self, mut bytes: &[u8], came: &mut Decoded) -> Result<(), Broken> {
        while !came.closed {
            if self.frame.is_none() {
                let Some((first, rest)) = bytes.split_first() else { return Ok(()) };
                self.head.push(*first);
                bytes = rest;
                self.frame = self.begun()?;
                if self.frame.is_none() {
                    continue;
                }
            }
            let Some(frame) = &mut self.frame else { return Ok(()) };
            let len = usize::try_from(frame.left).unwrap_or(usize::MAX).min(bytes.len());
            let (part, rest) = bytes.split_at(len);
            bytes = rest;
            frame.left -= len as u64;
            let (key, turn) = (frame.key, frame.turn);
            frame.turn = (turn + len) % 4;
            let opcode = frame.opcode;
            let plain = part.iter().zip(turn..).map(|(byte, at)| byte ^ key[at % 4]);
            match opcode {
                BINARY => came.bytes.extend(plain),
                TEXT => self.text.extend(plain),
                _ => self.control.extend(plain),
            }
            if self.text.len() > MOST_TEXT {
                return Err(Broken);
            }
            if frame.left > 0 {
                return Ok(());
            }
            let last = frame.last;
            self.frame = None;
            self.ended(opcode, last, came);
        }
        Ok(())
    }

    /// The frame, once its head is whole.
    fn begun(&mut self) -> Result<Option<Frame>, Broken> {
        let [first, second, rest @ ..] = &self.head[..] else { return Ok(None) };
        let extra = match second & 0x7F {
            127 => 8,
            126 => 2,
            _ => 0,
        };
        if rest.len() < extra + 4 {
            return Ok(None);
        }
        let (last, opcode) = (first & 0x80 != 0, first & 0x0F);
        let is_control = opcode >= CLOSE;
        // Reserved bits are of extensions; a client's frames are masked; control frames are short and whole.
        let breaks = first & 0x70 != 0
            || second & 0x80 == 0
            || !matches!(opcode, CONTINUATION | TEXT | BINARY | CLOSE | PING | PONG)
            || (is_control && (extra > 0 || !last))
            || (opcode == CONTINUATION) != (self.message != 0 && !is_control);
        if breaks {
            return Err(Broken);
        }
        let len = rest[..extra].iter().fold(0, |len, byte| len << 8 | u64::from(*byte));
        let left = if extra == 0 { u64::from(second & 0x7F) } else { len };
        let mut key = [0; 4];
        key.copy_from_slice(&rest[extra..extra + 4]);
        self.head.clear();
        let opcode = if opcode == CONTINUATION { self.message } else { opcode };
        if !is_control {
            self.message = if last { 0 } else { opcode };
        }
        Ok(Some(Frame { opcode, last, left, key, turn: 0 }))
    }

    fn ended(&mut self, opcode: u8, last: bool, came: &mut Decoded) {
        match opcode {
            TEXT if last => {
                let text = std::mem::take(&mut self.text);
                came.texts.push(String::from_utf8_lossy(&text).into_owned());
            }
            PING => put(PONG, &self.control, &mut came.answers),
            CLOSE => {
                // The code comes back.
                put(CLOSE, &self.control[..self.control.len().min(2)], &mut came.answers);
                came.closed = true;
            }
            _ => {}
        }
        if opcode >= CLOSE {
            self.control.clear();
        }
    }
}

fn put(opcode: u8, payload: &[u8], into: &mut Vec<u8>) {
    let mut head = [0; MOST_HEAD];
    head[0] = 0x80 | opcode;
    let len = payload.len();
    let head_len = if len < 126 {
        head[1] = len as u8;
        2
    } else if let Ok(short) = u16::try_from(len) {
        head[1] = 126;
        head[2..4].copy_from_slice(&short.to_be_bytes());
        4
    } else {
        head[1] = 127;
        head[2..10].copy_from_slice(&(len as u64).to_be_bytes());
        10
    };
    into.extend_from_slice(&head[..head_len]);
    into.extend_from_slice(payload);
}

/// A message of bytes.
pub(super) fn binary(payload: &[u8], into: &mut Vec<u8>) {
    put(BINARY, payload, into);
}

/// A message of text.
pub(super) fn text(payload: &str, into: &mut Vec<u8>) {
    put(TEXT, payload.as_bytes(), into);
}

/// The end, with a code and a reason.
pub(super) fn close(code: u16, why: &str, into: &mut Vec<u8>) {
    let mut end = why.len().min(120);
    while !why.is_char_boundary(end) {
        end -= 1;
    }
    put(CLOSE, &[&code.to_be_bytes(), &why.as_bytes()[..end]].concat(), into);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client's frame.
    fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        put(first & 0x0F, payload, &mut plain);
        let head_len = plain.len() - payload.len();
        plain[0] = first;
        plain[1] |= 0x80;
        let key = [0x37, 0xFA, 0x21, 0x3D];
        let body: Vec<u8> = payload.iter().zip(0..).map(|(b, at)| b ^ key[at % 4]).collect();
        [&plain[..head_len], &key, &body].concat()
    }

    fn came(bytes: &[u8], chunk: usize) -> Result<Decoded, Broken> {
        let (mut frames, mut came) = (Frames::default(), Decoded::default());
        for part in bytes.chunks(chunk) {
            frames.feed(part, &mut came)?;
        }
        Ok(came)
    }

    #[test]
    fn the_examples_of_rfc_6455() {
        let hello = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        assert_eq!(came(&hello, 20).expect("a frame").texts, ["Hello"]);
        let mut out = Vec::new();
        text("Hello", &mut out);
        assert_eq!(out, [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]);
        out.clear();
        binary(&[7; 256], &mut out);
        assert_eq!(out[..4], [0x82, 0x7E, 1, 0]);
        out.clear();
        binary(&vec![7; 65536], &mut out);
        assert_eq!(out[..10], [0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn messages_come_out_in_any_chunking() {
        let long = vec![0xA5; 70_000];
        let stream = [
            masked(0x82, b"ab"),
            masked(0x02, &long),
            masked(0x89, b"are you there"),
            masked(0x80, b"cd"),
            masked(0x01, b"tex"),
            masked(0x80, b"t"),
            masked(0x82, b""),
            masked(0x88, &[3, 0xE8, b'x']),
            masked(0x82, b"after the end"),
        ]
        .concat();
        for chunk in [1, 3, 1000, stream.len()] {
            let came = came(&stream, chunk).expect("frames");
            assert_eq!(came.bytes, [&b"ab"[..], &long, b"cd"].concat());
            assert_eq!(came.texts, ["text"]);
            assert!(came.closed);
            assert_eq!(came.answers, b"\x8A\x0Dare you there\x88\x02\x03\xE8");
        }
    }

    #[test]
    fn what_breaks_the_rules_is_refused() {
        let bad = [
            b"\x82\x01xabcd".to_vec(),
            masked(0xC2, b"x"),
            masked(0x83, b"x"),
            masked(0x80, b"x"),
            masked(0x09, b"x"),
            masked(0x89, &[0; 126]),
            [masked(0x02, b"x"), masked(0x82, b"y")].concat(),
            masked(0x81, &[b'x'; 5000]),
        ];
        for bytes in bad {
            assert_eq!(came(&bytes, 7), Err(Broken), "{:?}", &bytes[..bytes.len().min(8)]);
        }
    }
}
