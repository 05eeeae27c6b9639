//! The wire format of a session's datagrams.
//!
//! ```text
//! all     0 'W' 'N' | 2 type | 3 version 1 | 4 index of the receiver (Init: of the sender)
//! Init    8 suite | 9 pattern | 10 length of the Noise message | 12 cookie (16) | 28 message, zeros
//! Reply   8 index of the sender | 12 length | 14 zero | 16 message, zeros
//! Finish  8 message
//! Cookie  8 cookie (16)
//! Data    8 nonce (8) | 16 ciphertext and tag
//! Refuse  8 why
//! CodeInit  8 cookie (16) | 24 message of SPAKE2 (33), zeros
//! CodeReply 8 index of the sender | 12 message of SPAKE2 (33)
//! ```
//!
//! After CodeInit and CodeReply the message of an Init begins with the index of CodeReply.
//!
//! Big endian. A NETBLT packet has its version in the place of the type here, so that the two cannot be
//! confused by accident: that would take a checksum `57 4E` and packet type 1.

/// The shortest `Init`: any reply is shorter.
pub const SHORTEST: usize = 512;
pub(in crate::datagram) const DATA_HEADER: usize = 16;
pub(super) const INIT_HEADER: usize = 28;
pub(super) const REPLY_HEADER: usize = 16;
pub(super) const COOKIE_LEN: usize = 16;
/// Bytes of an SPAKE2 message: the side, and a point.
pub(super) const EXCHANGE_LEN: usize = 33;

const MAGIC: [u8; 2] = *b"WN";
const VERSION: u8 = 1;
const INIT: u8 = 1;
const REPLY: u8 = 2;
const FINISH: u8 = 3;
const COOKIE: u8 = 4;
const DATA: u8 = 5;
const REFUSE: u8 = 6;
const CODE_INIT: u8 = 7;
const CODE_REPLY: u8 = 8;

/// Why a listener refuses an `Init`. A hint for the user: it is not authenticated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusalReason {
    /// The listener has key pairs, or a secret, and the peer the other.
    Pattern,
    /// The secrets differ.
    Secret,
    /// The listener speaks plain NETBLT.
    Plain,
    /// The code phrases differ.
    Code,
    /// The code phrase has admitted a peer already, or there were too many wrong guesses.
    Used,
}

impl RefusalReason {
    const fn code(self) -> u8 {
        match self {
            Self::Pattern => 1,
            Self::Secret => 2,
            Self::Plain => 3,
            Self::Code => 4,
            Self::Used => 5,
        }
    }

    const fn of(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Pattern),
            2 => Some(Self::Secret),
            3 => Some(Self::Plain),
            4 => Some(Self::Code),
            5 => Some(Self::Used),
            _ => None,
        }
    }

    /// The text for the user at the listener.
    pub const fn at_listener(self) -> &'static str {
        match self {
            Self::Pattern => {
                "expected both ends to use key pairs, or both a shared secret (--secret-file), or \
                 both a code phrase (--code); it uses another"
            }
            Self::Secret => "expected our secret, it has another",
            Self::Plain => "expected --plain, with which this listener was started; it encrypts",
            Self::Code => "expected our code phrase, it has another",
            Self::Used => "the code phrase has already been used",
        }
    }

    /// The text for the user at the dialing end.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Pattern => {
                "expected both ends to use key pairs, or both a shared secret (--secret-file), or \
                 both a code phrase (--code); the listener uses another"
            }
            Self::Secret => "expected the secret of the listener, ours is another",
            Self::Plain => {
                "expected a listener that encrypts, got one that was started with --plain; start it \
                 without, or use --plain here too"
            }
            Self::Code => {
                "expected the code phrase of the listener, ours is another: was it typed \
                 correctly? If it was, there may be a man in the middle: start again with a new one"
            }
            Self::Used => {
                "expected a code phrase that is still valid, it has been used or there were too many \
                 wrong guesses; start again with a new one"
            }
        }
    }
}

/// A datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame<'a> {
    /// A request for a session.
    Init {
        /// Sender's index, for the answer.
        sender: u32,
        /// Code of the cipher.
        suite: u8,
        /// Code of the handshake: keys or a secret.
        pattern: u8,
        /// The listener's cookie for this index, or zeros.
        cookie: [u8; COOKIE_LEN],
        /// Noise's first message.
        message: &'a [u8],
    },
    /// The listener accepts.
    Reply {
        /// Receiver's index.
        receiver: u32,
        /// Index of the listener.
        sender: u32,
        /// Noise's second message.
        message: &'a [u8],
    },
    /// The dialer proves its key.
    Finish {
        /// Receiver's index.
        receiver: u32,
        /// Noise's third message.
        message: &'a [u8],
    },
    /// Retry with this cookie.
    Cookie {
        /// Receiver's index.
        receiver: u32,
        /// To be echoed.
        cookie: [u8; COOKIE_LEN],
    },
    /// A sealed packet.
    Data {
        /// Receiver's index.
        receiver: u32,
        /// Never used twice under one key.
        nonce: u64,
        /// Ciphertext and tag.
        sealed: &'a [u8],
    },
    /// The dialer's code phrase message.
    CodeInit {
        /// Sender's index, for the answer.
        sender: u32,
        /// The listener's cookie for this index, or zeros.
        cookie: [u8; COOKIE_LEN],
        /// The dialer's SPAKE2 message.
        message: [u8; EXCHANGE_LEN],
    },
    /// The listener's code phrase message.
    CodeReply {
        /// Receiver's index.
        receiver: u32,
        /// The index that begins the Init.
        sender: u32,
        /// The listener's SPAKE2 message.
        message: [u8; EXCHANGE_LEN],
    },
    /// The listener refuses.
    Refuse {
        /// Receiver's index.
        receiver: u32,
        /// A hint, not authenticated.
        why: RefusalReason,
    },
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A Noise message whose length is at `at`, and which begins at `from`.
fn message(bytes: &[u8], at: usize, from: usize) -> Option<&[u8]> {
    let len = u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?);
    bytes.get(from..from + usize::from(len))
}

impl<'a> Frame<'a> {
    /// Parses a datagram; `None` if it is not one of a session.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        if bytes.get(..2)? != MAGIC || *bytes.get(3)? != VERSION {
            return None;
        }
        let index = u32_at(bytes, 4)?;
        Some(match bytes[2] {
            INIT => Self::Init {
                sender: index,
                suite: *bytes.get(8)?,
                pattern: *bytes.get(9)?,
                cookie: bytes.get(12..28)?.try_into().ok()?,
                message: message(bytes, 10, INIT_HEADER)?,
            },
            REPLY => Self::Reply {
                receiver: index,
                sender: u32_at(bytes, 8)?,
                message: message(bytes, 12, REPLY_HEADER)?,
            },
            FINISH => Self::Finish { receiver: index, message: bytes.get(8..)? },
            COOKIE => Self::Cookie { receiver: index, cookie: bytes.get(8..24)?.try_into().ok()? },
            DATA => Self::Data {
                receiver: index,
                nonce: u64::from_be_bytes(bytes.get(8..16)?.try_into().ok()?),
                sealed: bytes.get(DATA_HEADER..)?,
            },
            CODE_INIT => Self::CodeInit {
                sender: index,
                cookie: bytes.get(8..24)?.try_into().ok()?,
                message: bytes.get(24..24 + EXCHANGE_LEN)?.try_into().ok()?,
            },
            CODE_REPLY => Self::CodeReply {
                receiver: index,
                sender: u32_at(bytes, 8)?,
                message: bytes.get(12..12 + EXCHANGE_LEN)?.try_into().ok()?,
            },
            REFUSE => Self::Refuse { receiver: index, why: RefusalReason::of(*bytes.get(8)?)? },
            _ => return None,
        })
    }

    /// Encodes the datagram, padded with zeros to `len` if it is shorter.
    pub(super) fn bytes(&self, len: usize) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let mut begin = |kind: u8, index: u32| {
            out.extend([kind, VERSION]);
            out.extend(index.to_be_bytes());
        };
        match *self {
            Self::Init { sender, suite, pattern, cookie, message } => {
                begin(INIT, sender);
                out.extend([suite, pattern]);
                out.extend((message.len() as u16).to_be_bytes());
                out.extend(cookie);
                out.extend(message);
            }
            Self::Reply { receiver, sender, message } => {
                begin(REPLY, receiver);
                out.extend(sender.to_be_bytes());
                out.extend((message.len() as u16).to_be_bytes());
                out.extend([0, 0]);
                out.extend(message);
            }
            Self::Finish { receiver, message } => {
                begin(FINISH, receiver);
                out.extend(message);
            }
            Self::Cookie { receiver, cookie } => {
                begin(COOKIE, receiver);
                out.extend(cookie);
            }
            Self::Data { receiver, nonce, sealed } => {
                begin(DATA, receiver);
                out.extend(nonce.to_be_bytes());
                out.extend(sealed);
            }
            Self::CodeInit { sender, cookie, message } => {
                begin(CODE_INIT, sender);
                out.extend(cookie);
                out.extend(message);
            }
            Self::CodeReply { receiver, sender, message } => {
                begin(CODE_REPLY, receiver);
                out.extend(sender.to_be_bytes());
                out.extend(message);
            }
            Self::Refuse { receiver, why } => {
                begin(REFUSE, receiver);
                out.push(why.code());
            }
        }
        if out.len() < len {
            out.resize(len, 0);
        }
        out
    }
}

/// Writes the header of a sealed packet.
pub(super) fn data_header(into: &mut [u8], receiver: u32, nonce: u64) {
    into[..2].copy_from_slice(&MAGIC);
    into[2..4].copy_from_slice(&[DATA, VERSION]);
    into[4..8].copy_from_slice(&receiver.to_be_bytes());
    into[8..16].copy_from_slice(&nonce.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_round_trip() {
        let (cookie, message) = ([7; COOKIE_LEN], &[1, 2, 3][..]);
        for (frame, exact) in [
            (Frame::Init { sender: 9, suite: 1, pattern: 2, cookie, message }, false),
            (Frame::Reply { receiver: 9, sender: 4, message }, false),
            (Frame::Finish { receiver: 9, message }, true),
            (Frame::Cookie { receiver: 9, cookie }, false),
            (Frame::Data { receiver: 9, nonce: 1 << 63, sealed: message }, true),
            (Frame::Refuse { receiver: 9, why: RefusalReason::Secret }, false),
            (Frame::CodeInit { sender: 9, cookie, message: [5; EXCHANGE_LEN] }, false),
            (Frame::CodeReply { receiver: 9, sender: 4, message: [5; EXCHANGE_LEN] }, false),
        ] {
            assert_eq!(Frame::parse(&frame.bytes(0)), Some(frame));
            if !exact {
                let padded = frame.bytes(500);
                assert_eq!((padded.len(), Frame::parse(&padded)), (500, Some(frame)));
            }
            for cut in 0..8 {
                assert_eq!(Frame::parse(&frame.bytes(0)[..cut]), None);
            }
        }
    }

    #[test]
    fn nothing_panics() {
        let mut dice = wetstring_testkit::Dice(1);
        for len in 0..2000 {
            let mut bytes = dice.bytes(len % 90);
            for (at, byte) in [b'W', b'N', (len % 9) as u8, 1].into_iter().enumerate() {
                if at < bytes.len() {
                    bytes[at] = byte;
                }
            }
            let _ = Frame::parse(&bytes);
        }
    }
}
