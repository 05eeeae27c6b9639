//! Logs of strace: what a program read and wrote.

use super::{BadRecording, Piece, Side};
use std::collections::BTreeMap;

/// What to call, for who has something else.
const COMMAND: &str = "strace -f -ttt -T -xx -s 65536 -e trace=read,write,ioctl -o FILE PROGRAM";
/// Lines in which a call has to be, so that a text is taken for such a log.
const LOOKED_AT: usize = 20;

/// A call that moved bytes.
struct Moved {
    fd: u32,
    piece: Piece,
}

/// Whether this is the log of strace.
pub(super) fn is_strace(file: &[u8]) -> bool {
    let lines = file.split(|byte| *byte == b'\n').take(LOOKED_AT);
    let mut texts = lines.filter_map(|line| std::str::from_utf8(line).ok());
    texts.any(|line| {
        let (_, rest) = process(line.trim_end());
        let rest = time(rest).map_or(rest, |(_, rest)| rest);
        let name = rest.split('(').next().unwrap_or_default();
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let is_call = !name.is_empty() && name.len() < rest.len() && name.bytes().all(is_name);
        is_call && (rest.contains(" = ") || rest.ends_with("<unfinished ...>"))
    })
}

/// The ends at which the program may have spoken a protocol.
pub(super) fn candidates(file: &[u8]) -> Result<Vec<Side>, BadRecording> {
    let text = String::from_utf8_lossy(file);
    let mut log = Log::default();
    for (index, line) in text.lines().enumerate() {
        log.line(line).map_err(|why| {
            BadRecording::new(format!("strace: line {}: {why}; use {COMMAND}", index + 1))
        })?;
    }
    let sides = log.candidates();
    if sides.is_empty() {
        let say =
            "strace: expected a file descriptor that is written and read, or 1 and 0, got none";
        return Err(BadRecording::new(format!("{say}; use {COMMAND}")));
    }
    Ok(sides)
}

#[derive(Default)]
struct Log {
    moved: Vec<Moved>,
    /// Calls that are not over, by process: the text so far, and when it began.
    unfinished: BTreeMap<String, (String, u64)>,
    /// The read of a process whose end is not known: that is not after its next call.
    open: BTreeMap<String, usize>,
    /// The rate of each port, and of each the one that it had when bytes moved last.
    rates: BTreeMap<u32, u64>,
    used_rates: BTreeMap<u32, u64>,
}

impl Log {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let (process, rest) = process(line.trim_end());
        // Signals, exits, and what the program wrote between.
        let is_call = rest.contains('(') || rest.contains("resumed>");
        if !is_call {
            return Ok(());
        }
        let Some((at, rest)) = time(rest) else {
            return Err("expected a time before each call (-ttt)".to_owned());
        };
        if let Some(read) = self.open.remove(process) {
            self.moved[read].piece.to = at;
        }
        if let Some(begun) = rest.strip_suffix("<unfinished ...>") {
            self.unfinished.insert(process.to_owned(), (begun.to_owned(), at));
            return Ok(());
        }
        let resumed = rest.strip_prefix("<... ").and_then(|rest| rest.split_once("resumed>"));
        match resumed {
            None => self.call(process, rest, at, None),
            Some((_, end)) => match self.unfinished.remove(process) {
                Some((begun, from)) => {
                    self.call(process, &format!("{begun}{}", end.trim_start()), from, Some(at))
                }
                None => Ok(()),
            },
        }
    }

    /// A whole call that began `from`. When it ended is `to`, or at its end.
    fn call(
        &mut self,
        process: &str,
        call: &str,
        from: u64,
        to: Option<u64>,
    ) -> Result<(), String> {
        let Some((name, rest)) = call.split_once('(') else { return Ok(()) };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(fd) = rest[..digits].parse::<u32>() else { return Ok(()) };
        let sent = match name {
            "write" | "writev" | "send" | "sendto" => true,
            "read" | "readv" | "recv" | "recvfrom" => false,
            "ioctl" if rest.contains("TCSETS") => {
                if let Some(bps) = rate(rest) {
                    self.rates.insert(fd, bps);
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        let (mut bytes, is_cut, after) = quoted(rest, name.ends_with('v'))?;
        let result = after.rsplit_once(" = ").map_or("", |(_, result)| result);
        let count = result.split(' ').next().and_then(|count| count.parse::<usize>().ok());
        let Some(count) = count.filter(|count| *count > 0) else { return Ok(()) };
        if bytes.len() < count || is_cut && bytes.len() == count {
            return Err(format!("expected all {count} bytes (-s 65536), got {}", bytes.len()));
        }
        bytes.truncate(count);
        let spent = result.rsplit_once('<').and_then(|(_, rest)| rest.strip_suffix('>'));
        let spent = spent.and_then(decimal);
        let to = spent.map(|spent| from.saturating_add(spent)).or(to);
        if to.is_none() && !sent {
            self.open.insert(process.to_owned(), self.moved.len());
        }
        if let Some(bps) = self.rates.get(&fd) {
            self.used_rates.insert(fd, *bps);
        }
        let to = to.unwrap_or(from);
        self.moved.push(Moved { fd, piece: Piece { from, to, sent, bytes } });
        Ok(())
    }

    /// The descriptors through which the program may have reached the peer.
    fn candidates(&self) -> Vec<Side> {
        let has = |fd: u32, sent: bool| {
            self.moved.iter().any(|moved| moved.fd == fd && moved.piece.sent == sent)
        };
        let mut fds: Vec<u32> = self.moved.iter().map(|moved| moved.fd).collect();
        fds.sort_unstable();
        fds.dedup();
        let both = fds.into_iter().filter(|fd| has(*fd, true) && has(*fd, false));
        let pairs = [(1, 0)].into_iter().chain(both.map(|fd| (fd, fd)));
        let sides = pairs.map(|(out, back)| self.side(out, back));
        sides.filter(|side| !side.pieces.is_empty()).collect()
    }

    fn side(&self, out: u32, back: u32) -> Side {
        let ours = |moved: &&Moved| moved.fd == if moved.piece.sent { out } else { back };
        let mut pieces: Vec<Piece> =
            self.moved.iter().filter(ours).map(|moved| moved.piece.clone()).collect();
        pieces.sort_by_key(|piece| piece.to);
        let rate_bps = self.used_rates.get(&out).or_else(|| self.used_rates.get(&back)).copied();
        Side { pieces, rate_bps, reliable: false, sees_calls: true }
    }
}

/// The process of a line, and the rest.
fn process(line: &str) -> (&str, &str) {
    if let Some((process, rest)) = line.strip_prefix("[pid").and_then(|rest| rest.split_once(']')) {
        return (process.trim(), rest.trim_start());
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    match line[digits..].strip_prefix(' ') {
        Some(rest) if digits > 0 => (&line[..digits], rest.trim_start()),
        _ => ("", line),
    }
}

/// The time of a line in ns, as -ttt (since 1970) or -tt (of the day) writes it, and the rest.
fn time(line: &str) -> Option<(u64, &str)> {
    let (time, rest) = line.split_once(' ')?;
    let mut seconds = 0u64;
    let mut parts = time.split(':').peekable();
    while let Some(part) = parts.next() {
        seconds = seconds.checked_mul(60)?;
        if parts.peek().is_some() {
            seconds = seconds.checked_add(part.parse().ok()?)?;
        } else {
            let whole = seconds.checked_mul(1_000_000_000)?;
            return Some((whole.checked_add(decimal(part)?)?, rest.trim_start()));
        }
    }
    None
}

/// Seconds with a fraction, in ns.
fn decimal(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    if fraction.is_empty() || fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let unit = 10u64.pow(9 - fraction.len() as u32);
    seconds
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(fraction.parse::<u64>().ok()? * unit)
}

/// The rate in the arguments of an ioctl: a word such as B115200.
fn rate(arguments: &str) -> Option<u64> {
    let words = arguments.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.filter_map(|word| word.strip_prefix('B')).find_map(|bps| bps.parse().ok())
}

/// The bytes of the first string of the arguments, or of all of them; whether it was cut; what follows.
fn quoted(mut rest: &str, all: bool) -> Result<(Vec<u8>, bool, &str), String> {
    let (mut bytes, mut is_cut) = (Vec::new(), false);
    while let Some((_, text)) = rest.split_once('"') {
        let len = string(text, &mut bytes).ok_or("expected the end of a string")?;
        rest = &text[len..];
        is_cut |= rest.starts_with("...");
        if !all {
            break;
        }
    }
    Ok((bytes, is_cut, rest))
}

/// A string as C writes it: its length with the quote at its end.
fn string(text: &str, bytes: &mut Vec<u8>) -> Option<usize> {
    let raw = text.as_bytes();
    let mut at = 0;
    loop {
        let byte = *raw.get(at)?;
        at += 1;
        match byte {
            b'"' => return Some(at),
            b'\\' => {
                let (value, len) = escaped(raw.get(at..)?)?;
                bytes.push(value);
                at += len;
            }
            _ => bytes.push(byte),
        }
    }
}

/// What follows a backslash, and its length.
fn escaped(raw: &[u8]) -> Option<(u8, usize)> {
    let number = |digits: &[u8], base| {
        let text = std::str::from_utf8(digits).ok()?;
        u8::try_from(u32::from_str_radix(text, base).ok()?).ok()
    };
    let plain = match *raw.first()? {
        b'x' => return Some((number(raw.get(1..3)?, 16)?, 3)),
        b'0'..=b'7' => {
            let len = raw.iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
            return Some((number(&raw[..len], 8)?, len));
        }
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'f' => 12,
        b'a' => 7,
        b'b' => 8,
        b'e' => 27,
        other => other,
    };
    Some((plain, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(log: &str) -> Vec<(u64, u64, bool, Vec<u8>)> {
        let sides = candidates(log.as_bytes()).unwrap_or_else(|bad| panic!("{bad}"));
        let pieces = sides.into_iter().flat_map(|side| side.pieces);
        pieces.map(|piece| (piece.from, piece.to, piece.sent, piece.bytes)).collect()
    }

    #[test]
    fn each_way_to_write_a_call_is_read() {
        let plain =
            "1.000001 write(1, \"ab\\r\", 3) = 3 <0.000002>\n1.5 read(0, \"\\6\", 9) = 1 <0.25>\n";
        let want = [
            (1_000_001_000, 1_000_003_000, true, b"ab\r".to_vec()),
            (1_500_000_000, 1_750_000_000, false, vec![6]),
        ];
        assert_eq!(pieces(plain), want);
        let others = [
            "[pid 7] 00:00:01.000001 write(1</dev/pts/1>, \"\\x61\\x62\\x0d\", 3) = 3 <0.000002>\n\
             [pid 7] 00:00:01.5 read(0</dev/pts/1>, \"\\006\", 9)     = 1 <0.25>\n",
            "7 1.000001 writev(1, [{iov_base=\"a\", iov_len=1}, {iov_base=\"b\\r\", iov_len=2}], 2) = 3 <0.000002>\n\
             7 1.5 read(0,  <unfinished ...>\n8 1.6 read(5, \"\", 9) = 0\n\
             7 1.7 <... read resumed>\"\\6\", 9) = 1 <0.25>\n",
        ];
        for other in others {
            assert_eq!(pieces(other), want, "{other}");
        }
        // Without -T a read ends before the next call of its process.
        let late =
            "7 1.5 read(0, \"\\6\", 9) = 1\n8 1.6 close(3) = 0\n7 1.75 write(1, \"a\", 1) = 1\n";
        assert_eq!(pieces(late)[0], want[1]);
    }

    #[test]
    fn times_that_are_none_are_refused() {
        let long = u64::MAX;
        for time in [format!("{long}.0"), format!("{long}:00:00.0"), "99999999999:0:0.5".to_owned()]
        {
            let log = format!("{time} write(1, \"a\", 1) = 1\n");
            assert!(candidates(log.as_bytes()).is_err(), "{time}");
        }
    }
}
