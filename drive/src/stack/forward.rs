//! The syntax of forwards: `[BIND:]PORT:HOST:PORT`, as in ssh.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A port on one side of the line, and the target of its connections on the other.
///
/// ```
/// use wetstring_drive::stack::Forward;
/// let forward: Forward = "8080:10.0.0.1:80".parse().unwrap();
/// assert_eq!(forward.bind, None);
/// assert_eq!((forward.port, forward.host.as_str(), forward.to), (8080, "10.0.0.1", 80));
/// assert_eq!("0.0.0.0:2222:[::1]:22".parse::<Forward>().unwrap().host, "::1");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forward {
    /// The listening address; `None` is this machine alone (127.0.0.1), and for connections over the line every
    /// address of ours.
    pub bind: Option<IpAddr>,
    /// The listening port; 0 lets the system choose one on this machine.
    pub port: u16,
    /// The target: an address, or a name that the connecting side looks up.
    pub host: String,
    /// The target port.
    pub to: u16,
}

/// A malformed forward.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadForward(String);

impl fmt::Display for BadForward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadForward {}

impl FromStr for Forward {
    type Err = BadForward;

    fn from_str(text: &str) -> Result<Self, BadForward> {
        let shape = || {
            BadForward(format!(
                "expected [BIND:]PORT:HOST:PORT such as 8080:10.0.0.1:80, got {text}"
            ))
        };
        let mut words = words(text).ok_or_else(shape)?;
        let bind = match words.len() {
            3 => None,
            4 => Some(address(words.remove(0)).ok_or_else(shape)?),
            _ => return Err(shape()),
        };
        let port = |word: &str| {
            let say = || BadForward(format!("expected a port from 0 to 65535, got {word}"));
            word.parse::<u16>().map_err(|_| say())
        };
        let (from, host, to) = (port(words[0])?, words[1], port(words[2])?);
        if host.is_empty() || to == 0 {
            return Err(shape());
        }
        Ok(Self { bind, port: from, host: host.to_owned(), to })
    }
}

impl fmt::Display for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(bind) = self.bind {
            write!(f, "{}:", Bracketed(&bind.to_string()))?;
        }
        write!(f, "{}:{}:{}", self.port, Bracketed(&self.host), self.to)
    }
}

/// An address with colons is in brackets.
struct Bracketed<'a>(&'a str);

impl fmt::Display for Bracketed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.contains(':') { write!(f, "[{}]", self.0) } else { f.write_str(self.0) }
    }
}

/// Splits at colons outside brackets, and removes the brackets.
fn words(text: &str) -> Option<Vec<&str>> {
    let mut words = Vec::new();
    let mut rest = text;
    loop {
        let (word, after) = match rest.strip_prefix('[') {
            Some(inner) => inner.split_once(']')?,
            None => rest.split_at(rest.find(':').unwrap_or(rest.len())),
        };
        words.push(word);
        match after.strip_prefix(':') {
            Some(more) => rest = more,
            None if after.is_empty() => return Some(words),
            None => return None,
        }
    }
}

fn address(word: &str) -> Option<IpAddr> {
    match word {
        "" | "*" => Some(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        _ => word
            .parse::<Ipv4Addr>()
            .map(IpAddr::V4)
            .or_else(|_| word.parse::<Ipv6Addr>().map(IpAddr::V6))
            .ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwards_round_trip() {
        for text in ["8080:10.0.0.1:80", "127.0.0.1:0:box:22", "[::1]:22:[fe80::1]:22"] {
            let forward: Forward = text.parse().unwrap();
            assert_eq!(forward.to_string(), text);
        }
        assert_eq!("*:1:a:2".parse::<Forward>().unwrap().to_string(), "0.0.0.0:1:a:2");
    }

    #[test]
    fn malformed_forwards_are_named() {
        for text in
            ["", "80", "80:host", "80:host:0", "80::80", "1:2:3:4:5", "[::1:22:a:1", "x:1:b:2"]
        {
            let bad = text.parse::<Forward>().unwrap_err().to_string();
            assert!(bad.starts_with("expected "), "{text}: {bad}");
        }
        let bad = "66000:a:1".parse::<Forward>().unwrap_err().to_string();
        assert_eq!(bad, "expected a port from 0 to 65535, got 66000");
    }
}
