//! The messages of a probe: text in hexadecimal, which passes any line, around the bytes that are tried.
//!
//! ```text
//! {wpp07;                 ping              {wpP07;             its answer
//! {wpi02 0D.G 0E.G        two bytes, as they are after their names
//! {wpI02 0D0AG 0EG ;      what came of them (here: 0D became 0D 0A, 0E as it was is 0E0EG; this one is lost)
//! {wpd0810;               asks for bytes 8 to 16 of the order, as they are: {wpD08...
//! {wpb00001000;UUUU...    a burst           {wpB00001000000f4240;  bytes and microseconds
//! {wpx;                   the end           {wpX;
//! ```
//!
//! (Blanks only for the eye.) The first letter is small in requests and large in answers, so that an echo is no
//! answer. The eighth bit of everything but tried bytes is ignored: it may be parity.

use std::fmt::Write as _;

const MARK: &[u8] = b"{wp";
/// What a byte may become, at most.
const MOST_OF_ONE: usize = 8;
/// A message is at most this long.
const LONGEST: usize = 1024;
/// Ends a tried byte.
const END: u8 = b'G';
/// What a burst consists of.
pub(super) const FILLER: u8 = b'U';

/// The bytes in the order in which they are tried: an XOFF is followed by an XON soon.
pub(super) fn order() -> Vec<u8> {
    let mut all: Vec<u8> = (0..=255).collect();
    all.swap(0x11, 0x13);
    all
}

/// A byte that was tried, and the result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Item {
    pub(super) byte: u8,
    pub(super) got: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Message {
    Ping(u8),
    Pong(u8),
    /// Tried bytes.
    Items(Vec<Item>),
    /// What came of them.
    Answer(Vec<Item>),
    /// Asks for tried bytes, by their places in the order.
    Down(u8, u16),
    /// Tried bytes that were asked for.
    DownItems(Vec<Item>),
    Burst(u32),
    BurstDone {
        len: u32,
        micros: u32,
    },
    Bye,
    ByeBye,
}

impl Message {
    /// Its bytes on the line.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let text = match self {
            Self::Ping(n) => format!("p{n:02X};"),
            Self::Pong(n) => format!("P{n:02X};"),
            Self::Down(from, to) => format!("d{from:02X}{to:03X};"),
            Self::Burst(len) => format!("b{len:08X};"),
            Self::BurstDone { len, micros } => format!("B{len:08X}{micros:08X};"),
            Self::Bye => "x;".to_owned(),
            Self::ByeBye => "X;".to_owned(),
            Self::Answer(items) => {
                let mut text = format!("I{:02X}", items.len());
                for item in items {
                    // Writing to a string cannot fail.
                    let _ = write!(text, "{:02X}", item.byte);
                    for byte in &item.got {
                        let _ = write!(text, "{byte:02X}");
                    }
                    text.push(END as char);
                }
                text + ";"
            }
            Self::Items(items) | Self::DownItems(items) => {
                let kind = if matches!(self, Self::Items(_)) { b'i' } else { b'D' };
                let mut all = [MARK, &[kind]].concat();
                all.extend_from_slice(format!("{:02X}", items.len()).as_bytes());
                for item in items {
                    all.extend_from_slice(format!("{:02X}", item.byte).as_bytes());
                    all.extend_from_slice(&item.got);
                    all.push(END);
                }
                return all;
            }
        };
        [MARK, text.as_bytes()].concat()
    }
}

/// Finds messages among received bytes.
#[derive(Default)]
pub(super) struct Parser {
    bytes: Vec<u8>,
    /// Bytes of text with the eighth bit, of those with an even and of those with an odd number of ones.
    pub(super) eighth: [[u32; 2]; 2],
}

/// Reads the text of a message.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Why there is no message.
enum Fault {
    Incomplete,
    Malformed,
}

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8, Fault> {
        let byte = *self.bytes.get(self.at).ok_or(Fault::Incomplete)?;
        self.at += 1;
        Ok(byte)
    }

    fn peek(&self, ahead: usize) -> Result<u8, Fault> {
        self.bytes.get(self.at + ahead).map(|byte| byte & 0x7F).ok_or(Fault::Incomplete)
    }

    fn text(&mut self) -> Result<u8, Fault> {
        Ok(self.byte()? & 0x7F)
    }

    fn hex(&mut self, digits: usize) -> Result<u32, Fault> {
        let mut value = 0;
        for _ in 0..digits {
            let digit = (self.text()? as char).to_digit(16).ok_or(Fault::Malformed)?;
            value = value << 4 | digit;
        }
        Ok(value)
    }

    fn end(&mut self) -> Result<(), Fault> {
        if self.text()? == b';' { Ok(()) } else { Err(Fault::Malformed) }
    }

    /// Tried bytes as they are.
    fn items(&mut self) -> Result<Vec<Item>, Fault> {
        let count = self.hex(2)?;
        let mut items = Vec::new();
        for _ in 0..count {
            let byte = self.hex(2)? as u8;
            let mut got = Vec::new();
            // The byte that is also the end stands twice, if it arrives.
            if byte & 0x7F == END && self.peek(0)? == END && self.peek(1)? == END {
                got.push(self.byte()?);
            }
            while self.peek(0)? != END {
                got.push(self.byte()?);
                if got.len() > MOST_OF_ONE {
                    return Err(Fault::Malformed);
                }
            }
            self.at += 1;
            items.push(Item { byte, got });
        }
        Ok(items)
    }

    /// The results for the bytes that were tried.
    fn answer(&mut self) -> Result<Vec<Item>, Fault> {
        let count = self.hex(2)?;
        let mut items = Vec::new();
        for _ in 0..count {
            let byte = self.hex(2)? as u8;
            let mut got = Vec::new();
            while self.peek(0)? != END {
                got.push(self.hex(2)? as u8);
            }
            self.at += 1;
            items.push(Item { byte, got });
        }
        self.end()?;
        Ok(items)
    }

    fn message(&mut self) -> Result<Message, Fault> {
        for mark in MARK {
            if self.text()? != *mark {
                return Err(Fault::Malformed);
            }
        }
        let ended = |reader: &mut Self, message| reader.end().map(|()| message);
        match self.text()? {
            b'p' => {
                let n = self.hex(2)? as u8;
                ended(self, Message::Ping(n))
            }
            b'P' => {
                let n = self.hex(2)? as u8;
                ended(self, Message::Pong(n))
            }
            b'i' => self.items().map(Message::Items),
            b'D' => self.items().map(Message::DownItems),
            b'I' => self.answer().map(Message::Answer),
            b'd' => {
                let (from, to) = (self.hex(2)? as u8, self.hex(3)? as u16);
                ended(self, Message::Down(from, to))
            }
            b'b' => {
                let len = self.hex(8)?;
                ended(self, Message::Burst(len))
            }
            b'B' => {
                let (len, micros) = (self.hex(8)?, self.hex(8)?);
                ended(self, Message::BurstDone { len, micros })
            }
            b'x' => ended(self, Message::Bye),
            b'X' => ended(self, Message::ByeBye),
            _ => Err(Fault::Malformed),
        }
    }
}

impl Parser {
    pub(super) fn heard(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Nothing more of an unfinished message will come.
    pub(super) fn silence(&mut self) {
        self.bytes.clear();
    }

    /// Takes what follows the last message.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// The next message.
    pub(super) fn next(&mut self) -> Option<Message> {
        loop {
            let Some(at) = self.bytes.iter().position(|byte| byte & 0x7F == MARK[0]) else {
                self.bytes.clear();
                return None;
            };
            self.bytes.drain(..at);
            let mut reader = Reader { bytes: &self.bytes, at: 0 };
            match reader.message() {
                Ok(message) => {
                    let len = reader.at;
                    for byte in &self.bytes[..MARK.len()] {
                        let ones = (byte & 0x7F).count_ones() as usize & 1;
                        self.eighth[usize::from(byte >> 7)][ones] += 1;
                    }
                    self.bytes.drain(..len);
                    return Some(message);
                }
                Err(Fault::Incomplete) if self.bytes.len() < LONGEST => return None,
                Err(_) => drop(self.bytes.drain(..1)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(byte: u8, got: &[u8]) -> Item {
        Item { byte, got: got.to_vec() }
    }

    #[test]
    fn every_message_is_read_as_it_was_written_in_any_chunks() {
        let whole: Vec<Item> = order().iter().map(|byte| item(*byte, &[*byte])).collect();
        let lost =
            vec![item(0x13, &[]), item(b'G', &[]), item(13, &[13, 10]), item(255, &[255, 255])];
        let mut all = vec![
            Message::Ping(7),
            Message::Pong(255),
            Message::Down(8, 256),
            Message::Burst(4096),
            Message::BurstDone { len: 4000, micros: 1_000_000 },
            Message::Bye,
            Message::ByeBye,
            Message::Items(lost.clone()),
            Message::DownItems(lost.clone()),
            Message::Answer(lost),
        ];
        all.extend(whole.chunks(8).map(|items| Message::Items(items.to_vec())));
        let bytes: Vec<u8> = all.iter().flat_map(Message::bytes).collect();
        for step in [1, 7, bytes.len()] {
            let (mut parser, mut got) = (Parser::default(), Vec::new());
            for part in bytes.chunks(step) {
                parser.heard(part);
                got.extend(std::iter::from_fn(|| parser.next()));
            }
            assert_eq!(got, all, "{step}");
        }
    }

    #[test]
    fn text_around_messages_and_parity_do_not_matter() {
        let mut parser = Parser::default();
        parser.heard(b"login: {wp {wpz; {");
        let with_parity: Vec<u8> = Message::Ping(3)
            .bytes()
            .iter()
            .map(|byte| byte | ((byte.count_ones() as u8 & 1) << 7))
            .collect();
        parser.heard(&with_parity);
        assert_eq!(parser.next(), Some(Message::Ping(3)));
        assert_eq!(parser.eighth[1][0] + parser.eighth[0][1], 0);
        assert_eq!(parser.next(), None);
    }
}
