//! Character sets of text by name. The host has the tables; an engine only exchanges names.

/// A character set of a text file.
///
/// C-Kermit's names. Those with a [designator](Self::designator) may also be the transfer set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Charset(u8);

/// The character set of a file's text on the wire, as its sender announces it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Encoding {
    /// Unspecified, or untranslated.
    #[default]
    Unsaid,
    /// This set.
    Known(Charset),
    /// An unknown set.
    Unknown,
}

/// Names, and what registers them (ISO registrations).
const SETS: &[(&str, Option<&str>)] = &[
    ("transparent", Some("")),
    ("ascii", Some("")),
    ("latin1-iso", Some("I6/100")),
    ("latin2-iso", Some("I6/101")),
    ("cyrillic-iso", Some("I6/144")),
    ("hebrew-iso", Some("I6/138")),
    ("greek-iso", Some("I6/126")),
    ("latin9-iso", Some("I6/203")),
    ("euc-jp", Some("I14/87/13")),
    ("ucs2", Some("I162")),
    ("utf8", Some("I190")),
    ("british", None),
    ("bulgaria-pc", None),
    ("canadian-french", None),
    ("cp437", None),
    ("cp850", None),
    ("cp852", None),
    ("cp855", None),
    ("cp858", None),
    ("cp862", None),
    ("cp866", None),
    ("cp869", None),
    ("cp1250", None),
    ("cp1251", None),
    ("cp1252", None),
    ("danish", None),
    ("dec-kanji", None),
    ("dec-multinational", None),
    ("dg-international", None),
    ("dutch", None),
    ("elot927-greek", None),
    ("finnish", None),
    ("french", None),
    ("german", None),
    ("hebrew-7", None),
    ("hp-roman8", None),
    ("hungarian", None),
    ("iso2022jp-kanji", None),
    ("italian", None),
    ("jis7-kanji", None),
    ("koi8", None),
    ("koi8r", None),
    ("koi8u", None),
    ("macintosh-latin", None),
    ("mazovia-pc", None),
    ("next-multinational", None),
    ("norwegian", None),
    ("portuguese", None),
    ("shift-jis-kanji", None),
    ("short-koi", None),
    ("spanish", None),
    ("swedish", None),
    ("swiss", None),
];

/// The first N of them may be on the wire.
const ON_WIRE: usize = 11;

const fn names<const N: usize>() -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = SETS[at].0;
        at += 1;
    }
    names
}

/// What other programs call some of the designators: MS-DOS Kermit's of Japanese, and two that
/// C-Kermit takes too.
const OTHERS: &[(&str, &str)] = &[("I14/87E", "I14/87/13"), ("I196", "I190"), ("I6/204", "I6/100")];

impl Charset {
    /// Bytes as they are.
    pub const TRANSPARENT: Self = Self(0);
    /// US ASCII.
    pub const ASCII: Self = Self(1);
    /// Sixteen bits to a character; on the wire with the high byte first and without a mark.
    pub const UCS2: Self = Self(9);
    /// Unicode in one to four bytes.
    pub const UTF8: Self = Self(10);
    /// The names of all.
    pub const NAMES: &'static [&'static str] = &names::<{ SETS.len() }>();
    /// The names of those that may be on the wire.
    pub const WIRE_NAMES: &'static [&'static str] = &names::<ON_WIRE>();

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..SETS.len()).map(|at| Self(at as u8))
    }

    /// The set of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|set| set.name().eq_ignore_ascii_case(name))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        SETS[usize::from(self.0)].0
    }

    /// Its registration as ISO 2022 writes it; empty if it needs none. `None` if it is a set of files only.
    pub fn designator(self) -> Option<&'static str> {
        SETS[usize::from(self.0)].1
    }

    /// The set that a designator stands for.
    pub fn designated(text: &[u8]) -> Option<Self> {
        let other = OTHERS.iter().find(|(other, _)| other.as_bytes() == text);
        let text = other.map_or(text, |(_, ours)| ours.as_bytes());
        let is = |set: &Self| set.designator().is_some_and(|own| own.as_bytes() == text);
        Self::all().find(is).filter(|_| !text.is_empty())
    }
}

impl Encoding {
    /// Whether a line end is more than the bytes CR and LF, so that the converter of the set must
    /// handle it.
    pub(crate) fn is_wide(self) -> bool {
        self == Self::Known(Charset::UCS2)
    }
}
