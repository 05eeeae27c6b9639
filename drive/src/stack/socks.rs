//! The SOCKS 5 handshake (RFC 1928) of a TCP proxy: no authentication, CONNECT. A state machine over received
//! bytes, without I/O.

use std::fmt;
use std::net::Ipv4Addr;

/// Longest request: version, command, reserved, type, length, name of 255, port.
pub(super) const MOST: usize = 4 + 1 + 255 + 2;

const VERSION: u8 = 5;

/// The target of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Address(Ipv4Addr, u16),
    Name(String, u16),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address, port) => write!(f, "{address}:{port}"),
            Self::Name(name, port) => write!(f, "{name}:{port}"),
        }
    }
}

/// The next step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// More bytes are needed.
    More,
    /// This many bytes were the greeting; send this and continue.
    Say(usize, &'static [u8]),
    /// This many bytes were the request.
    Connect(usize, Target),
    /// Send this and end.
    Refuse(&'static [u8]),
}

/// No authentication.
const WELCOME: &[u8] = &[VERSION, 0];
/// No acceptable method.
const NO_METHOD: &[u8] = &[VERSION, 0xFF];

/// A reply with this code; clients of CONNECT ignore the address in it.
const fn reply(code: u8) -> [u8; 10] {
    [VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

pub(super) const GRANTED: [u8; 10] = reply(0);
pub(super) const UNREACHABLE: [u8; 10] = reply(4);
pub(super) const REFUSED: [u8; 10] = reply(5);
const BAD_COMMAND: [u8; 10] = reply(7);
const BAD_ADDRESS: [u8; 10] = reply(8);

/// The first words: which methods the client has.
pub(super) fn greeting(bytes: &[u8]) -> Step {
    match bytes {
        [VERSION, count, methods @ ..] => {
            let count = usize::from(*count);
            match methods.get(..count) {
                Some(methods) if methods.contains(&0) => Step::Say(2 + count, WELCOME),
                Some(_) => Step::Refuse(NO_METHOD),
                None => Step::More,
            }
        }
        [] | [VERSION] => Step::More,
        // SOCKS 4 and whatever else has no answer that it would understand.
        _ => Step::Refuse(&[]),
    }
}

/// The request.
pub(super) fn request(bytes: &[u8]) -> Step {
    let port = |at: usize| bytes.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
    match bytes {
        [VERSION, 1, _, 1, rest @ ..] => match (rest.first_chunk::<4>(), port(8)) {
            (Some(address), Some(port)) => {
                Step::Connect(10, Target::Address(Ipv4Addr::from(*address), port))
            }
            _ => Step::More,
        },
        [VERSION, 1, _, 3, len, rest @ ..] => {
            let len = usize::from(*len);
            match (rest.get(..len), port(5 + len)) {
                (Some(name), Some(port)) => match std::str::from_utf8(name) {
                    Ok(name) if !name.is_empty() => {
                        let target = match name.parse::<Ipv4Addr>() {
                            Ok(address) => Target::Address(address, port),
                            Err(_) => Target::Name(name.to_owned(), port),
                        };
                        Step::Connect(7 + len, target)
                    }
                    _ => Step::Refuse(&BAD_ADDRESS),
                },
                _ => Step::More,
            }
        }
        [VERSION, 1, _, 3] => Step::More,
        [VERSION, 1, _, _, ..] => Step::Refuse(&BAD_ADDRESS),
        [VERSION, _, _, _, ..] => Step::Refuse(&BAD_COMMAND),
        [] | [VERSION, ..] => Step::More,
        _ => Step::Refuse(&[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any prefix asks for more, and what follows is left alone.
    fn whole(step: fn(&[u8]) -> Step, bytes: &[u8]) -> Step {
        for len in 0..bytes.len() {
            assert_eq!(step(&bytes[..len]), Step::More, "{len} of {bytes:?}");
        }
        let mut more = bytes.to_vec();
        more.extend(b"GET /");
        assert_eq!(step(&more), step(bytes));
        step(bytes)
    }

    #[test]
    fn a_client_without_passwords_is_welcome() {
        assert_eq!(whole(greeting, &[5, 2, 2, 0]), Step::Say(4, WELCOME));
        assert_eq!(greeting(&[5, 1, 2]), Step::Refuse(NO_METHOD));
        assert_eq!(greeting(&[4, 1, 0, 80]), Step::Refuse(&[]));
        assert_eq!(greeting(b"GET / HTTP/1.1"), Step::Refuse(&[]));
    }

    #[test]
    fn addresses_and_names_are_targets() {
        let target = Target::Address(Ipv4Addr::new(10, 0, 2, 2), 80);
        assert_eq!(whole(request, &[5, 1, 0, 1, 10, 0, 2, 2, 0, 80]), Step::Connect(10, target));
        let name = [&[5, 1, 0, 3, 3][..], b"box", &[1, 187]].concat();
        assert_eq!(whole(request, &name), Step::Connect(10, Target::Name("box".into(), 443)));
        let digits = [&[5, 1, 0, 3, 7][..], b"1.2.3.4", &[0, 22]].concat();
        let target = Target::Address(Ipv4Addr::new(1, 2, 3, 4), 22);
        assert_eq!(request(&digits), Step::Connect(14, target));
    }

    #[test]
    fn what_is_not_done_is_refused_by_its_code() {
        assert_eq!(request(&[5, 2, 0, 1]), Step::Refuse(&BAD_COMMAND));
        assert_eq!(request(&[5, 1, 0, 4, 0]), Step::Refuse(&BAD_ADDRESS));
        assert_eq!(request(&[5, 1, 0, 3, 0, 0, 80]), Step::Refuse(&BAD_ADDRESS));
        assert_eq!(request(&[5, 1, 0, 3, 1, 0xFF, 0, 80]), Step::Refuse(&BAD_ADDRESS));
    }
}
