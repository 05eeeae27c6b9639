//! Bytes as lines of printable ASCII, and the tools of a shell that turn them back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The longest line that every terminal takes in canonical mode: POSIX's least MAX_CANON, its newline included.
pub(super) const LONGEST_LINE: usize = 255;

/// A form of bytes in lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lines {
    /// Base64 with this number of bytes in a line.
    Base64(usize),
    /// uuencode's, with a header and an end around each block.
    Uu,
    /// Two digits for each byte.
    Hex,
    /// A format of printf: itself what is printable, and the rest in octal.
    Printf,
}

impl Lines {
    /// Bytes in a line.
    const fn bytes(self) -> usize {
        match self {
            Self::Base64(bytes) => bytes,
            Self::Uu => 45,
            Self::Hex => 30,
            // Four characters for a byte at worst.
            Self::Printf => 60,
        }
    }

    /// The part of a line that it fills with bytes of a file, roughly.
    pub(super) const fn share(self) -> f64 {
        match self {
            Self::Base64(_) => 0.74,
            Self::Uu => 0.70,
            Self::Hex => 0.49,
            Self::Printf => 0.34,
        }
    }

    /// Bytes whose lines take about this many characters.
    pub(super) fn bytes_in(self, characters: usize) -> usize {
        let (bytes, line) = match self {
            Self::Base64(bytes) => (bytes, bytes.div_ceil(3) * 4 + 1),
            Self::Uu => (45, 62),
            Self::Hex => (30, 61),
            Self::Printf => (60, 241),
        };
        (characters / line).max(1) * bytes
    }

    /// The lines for these bytes, each without its end.
    pub fn write(self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let lines = bytes.chunks(self.bytes()).map(|bytes| match self {
            Self::Base64(_) => STANDARD.encode(bytes).into_bytes(),
            Self::Uu => uu(bytes),
            Self::Hex => bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect(),
            Self::Printf => printf(bytes),
        });
        if self != Self::Uu {
            return lines.collect();
        }
        let (begin, end) = (b"begin 644 x".to_vec(), [b"`".to_vec(), b"end".to_vec()]);
        std::iter::once(begin).chain(lines).chain(end).collect()
    }

    /// Appends the bytes of a line that a tool has printed; `None` if it is no such line.
    pub fn read(self, line: &[u8], into: &mut Vec<u8>) -> Option<()> {
        let line: Vec<u8> =
            line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        if self == Self::Hex {
            let digit = |byte: u8| (byte as char).to_digit(16);
            if !line.len().is_multiple_of(2) {
                return None;
            }
            for pair in line.chunks(2) {
                into.push((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
            }
            return Some(());
        }
        if line.starts_with(b"begin-base64") || line == b"====" {
            return Some(());
        }
        STANDARD.decode_vec(&line, into).ok()
    }
}

/// A line of uuencode, with ` for 0: blanks at the end of lines get lost.
fn uu(bytes: &[u8]) -> Vec<u8> {
    let letter = |bits: u32| match bits & 0x3F {
        0 => b'`',
        six => six as u8 + b' ',
    };
    let mut line = vec![letter(bytes.len() as u32)];
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let all = byte(0) << 16 | byte(1) << 8 | byte(2);
        line.extend([18, 12, 6, 0].map(|by| letter(all >> by)));
    }
    line
}

fn printf(bytes: &[u8]) -> Vec<u8> {
    let mut line = Vec::new();
    for byte in bytes {
        match byte {
            b'\\' => line.extend_from_slice(b"\\\\"),
            b'%' => line.extend_from_slice(b"%%"),
            // An option, at the start of a line; blanks at its end get lost.
            b'-' if line.is_empty() => line.extend_from_slice(b"\\055"),
            b'!'..=b'~' => line.push(*byte),
            _ => line.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
    line
}

/// A program at the shell that decodes stdin to stdout, as the function `d`.
pub struct Decoder {
    /// Its name for messages.
    pub name: &'static str,
    /// Commands that define `d`, each short enough for any terminal.
    pub(super) setup: &'static [&'static str],
    /// What it decodes.
    pub lines: Lines,
}

/// A program at the shell that encodes stdin to stdout, as the function `e`.
pub struct Encoder {
    /// Its name for messages.
    pub name: &'static str,
    /// Commands that define `e`.
    pub(super) setup: &'static [&'static str],
    /// What it encodes to.
    pub lines: Lines,
}

/// Lines of 252 characters.
const LONG: Lines = Lines::Base64(189);
/// Lines of 76 characters, as MIME has them: openssl takes no longer ones, and perl's unpack counts in one letter.
const MIME: Lines = Lines::Base64(57);

/// The alphabet of awk's decoder comes in two parts, for its length.
const AWK: &[&str] = &[
    "p='BEGIN{t=\"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\"}'",
    "p=$p'{o=\"\";v=0;k=0;for(i=1;i<=length($0);i++){c=index(t,substr($0,i,1))-1;if(c<0)continue;'",
    "p=$p'v=v*64+c;k+=6;if(k>=8){k-=8;x=int(v/2^k);v-=x*2^k;o=o sprintf(\"\\\\%03o\",x)}}print o}'",
    "d(){ awk \"$p\"|while IFS= read -r l;do printf \"$l\";done;}",
];

/// What is looked for, the fastest on a line first.
pub(super) const DECODERS: &[Decoder] = &[
    Decoder { name: "base64", setup: &["d(){ base64 -d;}"], lines: LONG },
    Decoder { name: "openssl", setup: &["d(){ openssl base64 -d;}"], lines: MIME },
    Decoder { name: "python3", setup: &[PYTHON, "d(){ python3 -c \"$p\";}"], lines: LONG },
    Decoder { name: "python", setup: &[PYTHON, "d(){ python -c \"$p\";}"], lines: LONG },
    Decoder {
        name: "perl",
        setup: &[
            "p='tr#A-Za-z0-9+/##cd;tr#A-Za-z0-9+/# -_#;print unpack\"u\",pack(\"c\",32+.75*length).$_'",
            "d(){ perl -ne \"$p\";}",
        ],
        lines: MIME,
    },
    Decoder { name: "uudecode", setup: &["d(){ uudecode -o /dev/stdout|cat;}"], lines: Lines::Uu },
    Decoder { name: "awk", setup: AWK, lines: MIME },
    Decoder { name: "xxd", setup: &["d(){ xxd -r -p;}"], lines: Lines::Hex },
    Decoder {
        name: "printf",
        setup: &["d(){ while IFS= read -r l;do printf \"$l\";done;}"],
        lines: Lines::Printf,
    },
];

/// Of both versions of Python.
const PYTHON: &str = "p='import sys,binascii as b;o=getattr(sys.stdout,\"buffer\",sys.stdout);\
o.write(b.a2b_base64(sys.stdin.read()))'";

const PYTHON_BACK: &str = "p='import sys,binascii as b;i=getattr(sys.stdin,\"buffer\",sys.stdin);\
[sys.stdout.write(b.b2a_base64(r).decode())for r in iter(lambda:i.read(57),b\"\")]'";

/// What is looked for, the fastest on a line first; od is part of every POSIX system.
pub(super) const ENCODERS: &[Encoder] = &[
    Encoder { name: "base64", setup: &["e(){ base64;}"], lines: MIME },
    Encoder { name: "openssl", setup: &["e(){ openssl base64 -e;}"], lines: MIME },
    Encoder { name: "uuencode", setup: &["e(){ uuencode -m x;}"], lines: MIME },
    Encoder { name: "python3", setup: &[PYTHON_BACK, "e(){ python3 -c \"$p\";}"], lines: MIME },
    Encoder { name: "python", setup: &[PYTHON_BACK, "e(){ python -c \"$p\";}"], lines: MIME },
    Encoder {
        name: "perl",
        setup: &[
            "p='while(read STDIN,$b,45){$n=(3-length($b)%3)%3;$_=substr(pack(\"u\",$b),1,-1);'",
            "p=$p'tr#` -_#AA-Za-z0-9+/#;substr($_,-$n)=\"=\"x$n if$n;print\"$_\\n\"}'",
            "e(){ perl -e \"$p\";}",
        ],
        lines: MIME,
    },
    Encoder { name: "xxd", setup: &["e(){ xxd -p;}"], lines: Lines::Hex },
    Encoder { name: "od", setup: &["e(){ od -An -v -tx1;}"], lines: Lines::Hex },
    Encoder {
        name: "hexdump",
        setup: &["e(){ hexdump -ve '30/1 \"%02x\" \"\\n\"';}"],
        lines: Lines::Hex,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_fits_any_terminal_and_no_terminal_acts_on_it() {
        let every: Vec<u8> = (0..=255).cycle().take(5000).collect();
        for decoder in DECODERS {
            for setup in decoder.setup {
                assert!(setup.len() + 10 < LONGEST_LINE, "{}: {setup}", decoder.name);
            }
            for line in decoder.lines.write(&every) {
                assert!(line.len() < LONGEST_LINE, "{}", decoder.name);
                assert!(line.iter().all(|byte| (b' '..=b'~').contains(byte)), "{}", decoder.name);
            }
        }
        for encoder in ENCODERS {
            for setup in encoder.setup {
                assert!(setup.len() + 10 < LONGEST_LINE, "{}: {setup}", encoder.name);
            }
        }
    }

    #[test]
    fn what_tools_print_is_read_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        for lines in [LONG, MIME, Lines::Hex] {
            let mut back = Vec::new();
            for line in lines.write(&bytes) {
                lines.read(&line, &mut back).expect("a line");
            }
            assert_eq!(back, bytes);
        }
        let mut back = Vec::new();
        Lines::Hex.read(b" 68 69 0a", &mut back).expect("of od");
        for line in [&b"begin-base64 644 x"[..], b"aGk=", b"===="] {
            MIME.read(line, &mut back).expect("of uuencode");
        }
        assert_eq!(back, b"hi\nhi");
        for bad in [&b"6"[..], b"6g"] {
            assert!(Lines::Hex.read(bad, &mut back).is_none());
        }
        assert!(MIME.read(b"aGk", &mut back).is_none() && MIME.read(b"-", &mut back).is_none());
        assert_eq!(uu(b"hi\n"), b"#:&D*");
        assert_eq!(printf(b"-5%\\ a\0"), b"\\0555%%\\\\\\040a\\000");
    }
}
