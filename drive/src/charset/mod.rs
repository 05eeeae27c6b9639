//! Character sets: translation of text through Unicode (kermit.md §12).
//!
//! ```text
//! file --decode--> characters --encode--> wire        at a sender
//! wire --decode--> characters --encode--> file        at a receiver
//! ```
//!
//! Tables come from a library where it has them, else from `tables`. A character that the other set lacks
//! becomes `?`, or U+FFFD in Unicode, as in C-Kermit; they are counted. [`Translated`] does all this between an
//! engine and a store.

mod decode;
mod encode;
mod store;
mod tables;

pub use store::{Sets, SharedSets, Translated};

use decode::Decoder;
use encode::Encoder;
use std::collections::HashMap;
use std::sync::OnceLock;
use wetstring_proto::kermit::Charset;

/// The replacement character in Unicode.
const LOST: char = char::REPLACEMENT_CHARACTER;

/// A character set, and where the text is: sixteen-bit Unicode has another form on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// The set.
    pub set: Charset,
    /// On the wire; else in a local file.
    pub wire: bool,
    /// The form of sixteen-bit files.
    pub ucs2: Ucs2,
}

/// Form of UCS-2 files: their byte order, and whether they begin with a byte order mark. A mark in a file that
/// is read takes precedence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ucs2 {
    /// Little endian.
    pub little: bool,
    /// A mark is written.
    pub mark: bool,
}

impl Default for Ucs2 {
    fn default() -> Self {
        Self { little: true, mark: true }
    }
}

/// Translates a text piece by piece.
#[derive(Debug)]
pub struct Translator {
    decoder: Decoder,
    encoder: Encoder,
    characters: String,
}

impl Translator {
    /// From one form to another; `None` where bytes are unchanged.
    pub fn new(from: Form, to: Form) -> Option<Self> {
        let as_is = |form: Form| form.set == Charset::TRANSPARENT;
        let same = from.set == to.set && (from.set != Charset::UCS2 || from.wire == to.wire);
        if same || as_is(from) || as_is(to) {
            return None;
        }
        let (decoder, encoder) = (Decoder::new(from), Encoder::new(to));
        Some(Self { decoder, encoder, characters: String::new() })
    }

    /// Translates the next bytes of the text, which are the `last` ones or not; the result is appended to
    /// `out`.
    pub fn translate(&mut self, bytes: &[u8], last: bool, out: &mut Vec<u8>) {
        self.characters.clear();
        self.decoder.decode(bytes, last, &mut self.characters);
        self.encoder.encode(&self.characters, last, out);
    }

    /// Number of characters so far that one of the sets lacks.
    pub fn lost(&self) -> u64 {
        self.decoder.lost() + self.encoder.lost()
    }

    /// Whether each byte becomes one byte.
    pub fn keeps_length(&self) -> bool {
        self.decoder.is_single() && self.encoder.is_single()
    }
}

/// A single-byte set.
#[derive(Debug)]
struct Single {
    characters: Box<[char; 256]>,
    /// The bytes of characters that are not at their ASCII position.
    bytes: HashMap<char, u8>,
}

impl Single {
    fn new(characters: Box<[char; 256]>) -> Self {
        let mut bytes = HashMap::new();
        for (byte, character) in characters.iter().enumerate() {
            // Where two bytes are one character, the first is used.
            if *character != LOST {
                bytes.entry(*character).or_insert(byte as u8);
            }
        }
        Self { characters, bytes }
    }

    /// The table of a set; `None` for a multi-byte set.
    fn of(set: Charset) -> Option<&'static Self> {
        static ALL: OnceLock<HashMap<&'static str, Single>> = OnceLock::new();
        let all = ALL.get_or_init(|| {
            let made = Charset::all().filter_map(|set| Some((set.name(), make(set)?)));
            made.map(|(name, characters)| (name, Self::new(characters))).collect()
        });
        all.get(set.name())
    }
}

fn make(set: Charset) -> Option<Box<[char; 256]>> {
    let name = set.name();
    let mut characters = Box::new([LOST; 256]);
    for byte in 0..0x80_u8 {
        characters[usize::from(byte)] = char::from(byte);
    }
    if let Some((_, upper)) = tables::UPPER.iter().find(|(own, _)| *own == name) {
        // Unlisted bytes are the control characters 80 to 9F.
        let told = upper.chars().count();
        for byte in 0x80..=255_u8 {
            characters[usize::from(byte)] = char::from(byte);
        }
        for (place, character) in characters[256 - told..].iter_mut().zip(upper.chars()) {
            *place = character;
        }
        return Some(characters);
    }
    if let Some((_, taken, by)) = tables::SEVEN.iter().find(|(own, _, _)| *own == name) {
        for (byte, character) in taken.iter().zip(by.chars()) {
            characters[usize::from(*byte)] = character;
        }
        return Some(characters);
    }
    match name {
        "ascii" => return Some(characters),
        "latin1-iso" => {
            for (place, byte) in characters.iter_mut().zip(0..=255_u8) {
                *place = char::from(byte);
            }
            return Some(characters);
        }
        _ => {}
    }
    let library = library(name).filter(|encoding| encoding.is_single_byte())?;
    for byte in 0x80..=255_u8 {
        let (text, _) = library.decode_without_bom_handling(std::slice::from_ref(&byte));
        characters[usize::from(byte)] = text.chars().next().unwrap_or(LOST);
    }
    Some(characters)
}

/// The library's name of a set.
fn library(name: &str) -> Option<&'static encoding_rs::Encoding> {
    use encoding_rs as library;
    Some(match name {
        "latin2-iso" => library::ISO_8859_2,
        "cyrillic-iso" => library::ISO_8859_5,
        "greek-iso" => library::ISO_8859_7,
        "hebrew-iso" => library::ISO_8859_8,
        "latin9-iso" => library::ISO_8859_15,
        "koi8r" => library::KOI8_R,
        "koi8u" => library::KOI8_U,
        "cp866" => library::IBM866,
        "cp1250" => library::WINDOWS_1250,
        "cp1251" => library::WINDOWS_1251,
        "cp1252" => library::WINDOWS_1252,
        "macintosh-latin" => library::MACINTOSH,
        "shift-jis-kanji" => library::SHIFT_JIS,
        "euc-jp" | "dec-kanji" => library::EUC_JP,
        "iso2022jp-kanji" | "jis7-kanji" => library::ISO_2022_JP,
        "utf8" => library::UTF_8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str) -> Charset {
        Charset::named(name).unwrap()
    }

    fn file(name: &str) -> Form {
        Form { set: set(name), wire: false, ucs2: Ucs2::default() }
    }

    fn wire(name: &str) -> Form {
        Form { set: set(name), wire: true, ucs2: Ucs2::default() }
    }

    /// In pieces of all lengths; the result must be the same.
    fn translated(from: Form, to: Form, bytes: &[u8]) -> (Vec<u8>, u64) {
        let mut results = Vec::new();
        for piece in 1..=bytes.len().clamp(1, 7) {
            let (mut out, mut by) = (Vec::new(), Translator::new(from, to).unwrap());
            for piece in bytes.chunks(piece) {
                by.translate(piece, false, &mut out);
            }
            by.translate(&[], true, &mut out);
            results.push((out, by.lost()));
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{from:?} {to:?} {results:?}");
        results.remove(0)
    }

    fn unicode(from: &str, bytes: &[u8]) -> String {
        String::from_utf8(translated(file(from), file("utf8"), bytes).0).unwrap()
    }

    #[test]
    fn every_set_has_a_table_and_round_trips() {
        for set in Charset::all().filter(|set| *set != Charset::TRANSPARENT) {
            let several = ["ucs2", "utf8", "euc-jp", "dec-kanji", "iso2022jp-kanji", "jis7-kanji"];
            let is_several = several.contains(&set.name()) || set.name() == "shift-jis-kanji";
            let Some(single) = Single::of(set) else {
                assert!(is_several, "{}", set.name());
                continue;
            };
            assert!(!is_several, "{}", set.name());
            for character in single.bytes.keys() {
                let text = character.to_string();
                let own = Form { set, wire: false, ucs2: Ucs2::default() };
                let (bytes, lost) = translated(file("utf8"), own, text.as_bytes());
                assert_eq!((bytes.len(), lost), (1, 0), "{character} in {}", set.name());
                let (back, lost) = translated(own, file("utf8"), &bytes);
                assert_eq!((back, lost), (text.into_bytes(), 0), "{}", set.name());
            }
        }
    }

    #[test]
    fn known_characters_have_their_standard_codes() {
        assert_eq!(unicode("latin1-iso", b"caf\xE9 \x85"), "café \u{85}");
        assert_eq!(unicode("latin9-iso", b"\xA4"), "€");
        assert_eq!(unicode("cp437", b"\x80\xE1\xFE"), "Çß■");
        assert_eq!(unicode("koi8r", b"\xEB\xCF\xC4"), "Код");
        assert_eq!(unicode("dec-multinational", b"\x85\xD7\xFD"), "\u{85}Œÿ");
        assert_eq!(unicode("german", b"[\\]{|}~@x"), "ÄÖÜäöüß§x");
        assert_eq!(unicode("short-koi", b"MOSKWA moskwa"), "MOSKWA МОСКВА");
        assert_eq!(unicode("shift-jis-kanji", b"\x93\xFA\x96{ \xB1"), "日本 ｱ");
        assert_eq!(unicode("iso2022jp-kanji", b"\x1B$BF|K\\\x1B(B!"), "日本!");
    }

    #[test]
    fn missing_characters_are_counted() {
        let said = |to, text: &str| translated(file("utf8"), file(to), text.as_bytes());
        assert_eq!(said("ascii", "naïve €"), (b"na?ve ?".to_vec(), 2));
        assert_eq!(
            said("iso2022jp-kanji", "日☃本"),
            (b"\x1B$BF|\x1B(B?\x1B$BK\\\x1B(B".to_vec(), 1)
        );
        assert_eq!(said("shift-jis-kanji", "a☃"), (b"a?".to_vec(), 1));
        // An invalid byte, and text that ends inside a character.
        assert_eq!(translated(file("ascii"), file("utf8"), b"\xE9"), ("\u{FFFD}".into(), 1));
        let cut = translated(file("utf8"), file("latin1-iso"), b"caf\xC3");
        assert_eq!(cut, (b"caf?".to_vec(), 1));
    }

    #[test]
    fn ucs2_differs_on_the_wire_and_in_files() {
        let out = |from, to, bytes| translated(from, to, bytes).0;
        let on_wire = out(file("utf8"), wire("ucs2"), "é\n𝄞".as_bytes());
        assert_eq!(on_wire, b"\x00\xE9\x00\x0D\x00\x0A\xD8\x34\xDD\x1E");
        assert_eq!(out(wire("ucs2"), file("utf8"), &on_wire), "é\n𝄞".as_bytes());
        assert_eq!(out(wire("ucs2"), file("latin1-iso"), b"\xFE\xFF\x00\xE9\x00\x0A"), b"\xE9\n");
        let in_file = out(file("utf8"), file("ucs2"), "é\n".as_bytes());
        assert_eq!(in_file, b"\xFF\xFE\xE9\x00\x0A\x00");
        assert_eq!(out(file("ucs2"), file("utf8"), &in_file), "é\n".as_bytes());
        assert_eq!(out(file("ucs2"), wire("ucs2"), &in_file), b"\x00\xE9\x00\x0D\x00\x0A");
        // An incomplete character is invalid.
        assert_eq!(translated(file("ucs2"), file("utf8"), b"x\0\0"), ("x\u{FFFD}".into(), 1));
        assert_eq!(out(file("ucs2"), file("utf8"), b""), b"");
        assert_eq!(out(file("utf8"), file("ucs2"), b""), b"\xFF\xFE");
    }

    #[test]
    fn ucs2_files_have_the_configured_order_and_mark() {
        let out = |from, to, bytes: &[u8]| translated(from, to, bytes).0;
        let of = |little, mark| Form { ucs2: Ucs2 { little, mark }, ..file("ucs2") };
        let text = "é\n".as_bytes();
        for (little, mark, bytes) in [
            (true, true, &b"\xFF\xFE\xE9\x00\x0A\x00"[..]),
            (true, false, b"\xE9\x00\x0A\x00"),
            (false, true, b"\xFE\xFF\x00\xE9\x00\x0A"),
            (false, false, b"\x00\xE9\x00\x0A"),
        ] {
            assert_eq!(out(file("utf8"), of(little, mark), text), bytes);
            assert_eq!(out(of(little, mark), file("utf8"), bytes), text);
            // A mark takes precedence over the setting.
            let read = out(of(!little, mark), file("utf8"), bytes);
            assert_eq!(read == text, mark, "{little} {mark}");
            // The wire has its own byte order.
            let on_wire = out(of(little, mark), wire("ucs2"), bytes);
            assert_eq!(on_wire, b"\x00\xE9\x00\x0D\x00\x0A");
            assert_eq!(out(wire("ucs2"), of(little, mark), &on_wire), bytes);
        }
    }

    #[test]
    fn equal_sets_need_no_translation() {
        assert!(Translator::new(file("utf8"), wire("utf8")).is_none());
        assert!(Translator::new(file("transparent"), wire("utf8")).is_none());
        assert!(Translator::new(wire("latin1-iso"), file("transparent")).is_none());
        assert!(Translator::new(file("ucs2"), file("ucs2")).is_none());
        let keeps = |from, to| Translator::new(file(from), wire(to)).unwrap().keeps_length();
        assert!(keeps("cp437", "latin1-iso") && !keeps("utf8", "latin1-iso"));
    }
}
