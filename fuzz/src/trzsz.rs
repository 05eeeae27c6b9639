//! trzsz: a peer that the script rules, at our ends of both directions and in each form.
//!
//! The peer mostly keeps to the order of lines, with a right or a wrong thing in each, and says anything else between
//! them. Digests are those of RFC 1321 A.5, so that a file can end as it should.

use crate::Script;
use std::time::Duration;
use wetstring_drive::run::NoWatch;
use wetstring_drive::shell::{Broken, Wire};
use wetstring_drive::trzsz::{Talk, Terms, receive, send};
use wetstring_lab::store::{MemoryFile, MemorySink, MemorySource};
use wetstring_proto::peer::Host;
use wetstring_proto::stats::Stats;

/// Contents, and their MD5.
const FILES: [(&[u8], u128); 4] = [
    (b"", 0xd41d_8cd9_8f00_b204_e980_0998_ecf8_427e),
    (b"a", 0x0cc1_75b9_c0f1_b6a8_31c3_99e2_6977_2661),
    (b"message digest", 0xf96b_697d_7cb7_938d_525a_2f31_aaf1_61d0),
    (b"abcdefghijklmnopqrstuvwxyz", 0xc3fc_d3d7_6192_e400_7dfb_496c_ca67_e13b),
];
/// What a peer may agree upon.
const CONFIGS: [&[u8]; 7] = [
    b"{}",
    br#"{"binary":true,"escape_chars":[]}"#,
    br#"{"binary":true,"escape_chars":[["\u00ee","\u00ee\u00ee"],["~","\u00ee1"],["a","\u00eea"]]}"#,
    br#"{"binary":true,"escape_chars":[["~","~"]]}"#,
    br#"{"directory":true,"tmux_output_junk":true}"#,
    br#"{"binary":1,"directory":"x","timeout":-1}"#,
    b"[1",
];
const NUMBERS: [&str; 9] =
    ["0", "1", "2", "14", "26", "-1", "1e9", "18446744073709551615", "99999999999999999999"];
/// Names of files, and what stands for one with `-d`.
const NAMES: [&[u8]; 6] = [
    b"a",
    b"../../x",
    b"\x1b]0;x\x07",
    br#"{"path_id":0,"path_name":["d","..","x"],"is_dir":false}"#,
    br#"{"path_id":0,"path_name":["d"],"is_dir":true}"#,
    br#"{"path_id":0,"path_name":[],"is_dir":1}"#,
];

/// Base64 of bytes in a block of zlib that is not compressed.
fn packed(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    let bytes = &bytes[..usize::from(len)];
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    let (head, sum) = ([0x78, 1, 1], (high << 16 | low).to_be_bytes());
    let all = [&head[..], &len.to_le_bytes(), &(!len).to_le_bytes(), bytes, &sum].concat();
    all.chunks(3)
        .flat_map(|three| {
            let word = three.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
            let word = word << (8 * (3 - three.len()));
            (0..4).map(move |at| {
                let letter = LETTERS[(word >> (18 - 6 * at)) as usize & 63];
                if at > three.len() { '=' } else { char::from(letter) }
            })
        })
        .collect()
}

/// What a peer says by a script, until the line closes.
struct Peer<'a> {
    script: Script<'a>,
    host: Host,
    /// It sends files.
    sends: bool,
    config: &'static [u8],
    file: usize,
    /// What comes next, if it keeps to the order.
    next: u8,
    says: Vec<u8>,
    /// Bytes of files that were said.
    said: u64,
    heard: usize,
}

impl Peer<'_> {
    fn line(&mut self, kind: &str, value: &str) {
        let end = if self.host == Host::Windows { "!\n" } else { "\n" };
        self.says.extend_from_slice(format!("#{kind}:{value}{end}").as_bytes());
    }

    fn data(&mut self) {
        let (whole, _) = FILES[self.file];
        let bytes =
            if self.script.one_in(8) { self.script.bytes().to_vec() } else { whole.to_vec() };
        self.said += bytes.len() as u64;
        if !self.config.starts_with(br#"{"binary":true"#) {
            return self.line("DATA", &packed(&bytes));
        }
        let len = if self.script.one_in(12) {
            self.script.pick(&NUMBERS).to_owned()
        } else {
            bytes.len().to_string()
        };
        self.says.extend_from_slice(format!("#DATA:{len}\n").as_bytes());
        self.says.extend_from_slice(&bytes);
    }

    /// A number that is right, mostly.
    fn number(&mut self, kind: &str, right: usize) {
        let wrong = self.script.one_in(16);
        let value = if wrong { self.script.pick(&NUMBERS).to_owned() } else { right.to_string() };
        self.line(kind, &value);
    }

    /// The next line of one who sends, or of one who receives.
    fn in_order(&mut self) {
        let (bytes, digest) = FILES[self.file];
        let kind = if self.sends {
            ["CFG", "NUM", "NAME", "SIZE", "DATA", "MD5"]
        } else {
            ["CFG", "SUCC", "SUCC", "SUCC", "SUCC", "SUCC"]
        };
        let kind = kind[usize::from(self.next)];
        match self.next {
            0 => self.line(kind, &packed(self.config)),
            1 => self.number(kind, 2),
            2 => {
                let name = self.script.pick(&NAMES);
                self.line(kind, &packed(name));
            }
            3 => self.number(kind, bytes.len()),
            // A file without bytes has no such line.
            4 if bytes.is_empty() => {}
            4 if self.sends => self.data(),
            4 => self.number(kind, bytes.len()),
            _ => self.line(kind, &packed(&digest.to_be_bytes())),
        }
        // The second file is like the first.
        self.next = if self.next == 5 { 2 } else { self.next + 1 };
    }

    fn speak(&mut self) {
        match self.script.byte() % 16 {
            0 => {
                let bytes = self.script.bytes();
                self.says.extend_from_slice(bytes);
            }
            1 => {
                let kind = self.script.pick(&["FAIL", "fail", "EXIT", "SUCC", "DATA", ""]);
                let text = packed(self.script.bytes());
                self.line(kind, &text);
            }
            2 => {
                let drawn: [&[u8]; 4] = [
                    b"\x1b[30;1H[0] 0:tsz*\r\n",
                    b"\x1bP=1s\x1b\\",
                    b"\r\n\x1b[25;119H",
                    b"\x1b[H",
                ];
                let drawn = self.script.pick(&drawn);
                self.says.extend_from_slice(drawn);
            }
            3 => self.next = self.script.byte() % 6,
            _ => self.in_order(),
        }
    }
}

impl Wire for Peer<'_> {
    fn send(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.heard += bytes.len();
        Ok(())
    }

    fn receive(&mut self, _: Duration, into: &mut Vec<u8>) -> Result<(), Broken> {
        while self.says.is_empty() {
            if self.script.is_over() {
                return Err(Broken::Line("the line closed".to_owned()));
            }
            self.speak();
        }
        let len = self.says.len().min(1 + usize::from(self.script.byte()));
        into.extend(self.says.drain(..len));
        Ok(())
    }
}

/// A conversation; what was counted.
///
/// # Panics
///
/// If a file is called verified that is not one of those with such a digest, a file has more than was said, or a peer
/// that says little is told much.
pub fn talk(bytes: &[u8]) -> Stats {
    let mut script = Script::new(bytes);
    let sends = script.one_in(2);
    let host = script.pick(&[Host::Plain, Host::Tmux, Host::Windows]);
    let terms = Terms { host, clear: script.one_in(2) };
    let config = script.pick(&CONFIGS);
    let file = usize::from(script.byte()) % FILES.len();
    let mut peer =
        Peer { script, host, sends, config, file, next: 0, says: Vec::new(), said: 0, heard: 0 };
    let (mut watch, mut stats, mut sink) = (NoWatch, Stats::default(), MemorySink::new());
    let mut talk = Talk::new(&mut peer, terms, (&mut watch, &mut stats));
    let result = if sends {
        receive(&mut talk, &mut sink)
    } else {
        let files = ["a", "d/b"].map(|name| MemoryFile::new(name, FILES[file].0));
        send(&mut talk, &mut MemorySource::new(files.to_vec()), 2)
    };
    if let Err(broken) = &result {
        talk.stop(broken);
        assert!(broken.to_string().len() < 4000, "a short reason");
    }
    assert!(talk.over().len() < 100_000, "little is left");
    assert!(!sink.broken_order(), "the store was asked for nonsense");
    for came in sink.complete() {
        assert!(FILES.iter().any(|(bytes, _)| came.bytes == *bytes), "a false success");
        assert!(came.verified, "every whole file is compared");
    }
    let stored: usize = sink.received().iter().map(|came| came.bytes.len()).sum();
    assert!(stored <= bytes.len() * 64, "no more than was said");
    assert!(peer.heard <= 20_000 + bytes.len() * 200, "{} bytes were told", peer.heard);
    stats
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_trzsz_has_them() {
        // Python: base64.b64encode(zlib.compress(b"a", 0)).
        assert_eq!(packed(b"a"), "eAEBAQD+/2EAYgBi");
    }
}
