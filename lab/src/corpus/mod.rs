//! The files of the published measurements, regenerated from a seed.
//!
//! The sources print sizes, and for some files a property; the bytes themselves are lost. Each
//! corpus here has the published size exactly, the stated properties (2,814 lines, 80 % 8-bit
//! characters), and the properties that the tables imply for their kind. Those are two: how much
//! Kermit's prefixes and run counts change the length, and the ratio of a dictionary coder (V.42bis).
//! They were determined once per file, from these places, and from no other:
//!
//! | corpus | bytes | what it is | stated | implied, and where |
//! |---|---|---|---|---|
//! | `manual`, `manual-crlf` | 135087, 137901 | a manual in English, LF or CR LF | 2814 lines (Kermit News 5 (1993), line 67) | runs save 5 % (table 1, the two MS-DOS Kermits); V.42bis about 2 to 1 (table 3, ZMODEM) |
//! | `dos-exe` | 197928 | KERMIT.EXE | an MS-DOS executable (line 80) | Kermit sends 3 % less than its length (table 2); V.42bis 1.4 to 1 (table 3, ZMODEM) |
//! | `sparc-small` | 24576 | uuencode | a SunOS SPARC executable (line 79) | Kermit sends 30 % of its length (table 4; table 2 would allow 72 %, see there) |
//! | `zip` | 238584 | KERMIT.ZIP | precompressed (line 81) | all bytes equally likely |
//! | `russian` | 52046 | text in an 8-bit Cyrillic set | about 80 % 8-bit characters (line 125) | words between blanks |
//! | `japanese` | 29706 | text in pairs of 8-bit bytes | nearly 100 % (line 125) | |
//! | `c-source` | 77916 | C source code | "78K" (Kermit streaming (1998), line 655); the rates allow 77910 to 77923 | V.42bis 2 to 1 (trial 6) |
//! | `gzip` | 85153 | a compressed file | "85K" (line 656); the rates allow 85150 to 85157 | all bytes equally likely |
//! | `sparc` | 1048576 | C-Kermit 6.1 for SunOS | a SPARC executable (line 509) | as `sparc-small`, with more code |
//!
//! Longer files of Kermit streaming (1998) (4194304, 8192000 and 8388608 bytes) are repetitions of `sparc`, as
//! the first of them was; the shorter one (100000) is its beginning.
//!
//! Not modelled: meaning, and any structure that only a better compressor than those of 1993 would find.

mod executable;
mod letters;
mod text;

use crate::random::Random;
use crate::store::Content;

/// One of the files.
#[derive(Clone, Copy, Debug)]
pub struct Corpus {
    name: &'static str,
    len: usize,
    make: fn(&mut Random, usize) -> Vec<u8>,
    /// The random stream; two corpora of one stream have the same content.
    stream: &'static str,
}

const ALL: &[Corpus] = &[
    Corpus { name: "manual", len: 135_087, make: text::manual, stream: "manual" },
    Corpus { name: "manual-crlf", len: 137_901, make: text::manual_crlf, stream: "manual" },
    Corpus { name: "dos-exe", len: 197_928, make: executable::dos, stream: "dos-exe" },
    Corpus { name: "sparc-small", len: 24_576, make: executable::sparc_small, stream: "sparc" },
    Corpus { name: "zip", len: 238_584, make: packed, stream: "zip" },
    Corpus { name: "russian", len: 52_046, make: letters::russian, stream: "russian" },
    Corpus { name: "japanese", len: 29_706, make: letters::japanese, stream: "japanese" },
    Corpus { name: "c-source", len: 77_916, make: text::c_source, stream: "c-source" },
    Corpus { name: "gzip", len: 85_153, make: packed, stream: "gzip" },
    Corpus { name: "sparc", len: 1_048_576, make: executable::sparc, stream: "sparc" },
];

impl Corpus {
    /// The corpus of this name.
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|corpus| corpus.name == name).copied()
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|corpus| corpus.name)
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// False: none is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its bytes; always the same for a seed.
    pub fn bytes(&self, seed: u64) -> Vec<u8> {
        let mut random = Random::stream(seed, "corpus", self.stream);
        let bytes = (self.make)(&mut random, self.len);
        debug_assert_eq!(bytes.len(), self.len);
        bytes
    }
}

/// The output of a good compressor: nothing to find.
fn packed(random: &mut Random, len: usize) -> Vec<u8> {
    Content::Random(random.bits()).bytes(len)
}

/// An index below `count`, of which small ones are much more likely, as words of a language and instructions of
/// a machine are: each level draws below the previous level's value.
fn frequent(random: &mut Random, count: usize, levels: u32) -> usize {
    let mut index = count as u64;
    for _ in 0..levels {
        index = random.below(index) + 1;
    }
    index as usize - 1
}
