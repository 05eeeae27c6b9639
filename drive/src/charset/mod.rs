//! Character sets: text from one into another, through Unicode (kermit.md §12).
//!
//! ```text
//! file --decode--> characters --encode--> wire        at a sender
//! wire --decode--> characters --encode--> file        at a receiver
//! ```
//!
//! Tables come from a library where it has them, and stand in `tables` where it does not. A
//! character that the other set lacks becomes `?`, or U+FFFD in Unicode, as C-Kermit has it; how
//! many those were is counted. [`Translated`] does all this between an engine and a store.

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

/// What stands for a character that there is not, in Unicode.
const LOST: char = char::REPLACEMENT_CHARACTER;

/// Text in one set, and where it stands: Unicode of sixteen bits has another form on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// The set.
    pub set: Charset,
    /// On the wire; else in a file here.
    pub wire: bool,
    /// How a file has sixteen bits.
    pub ucs2: Ucs2,
}

/// Files of UCS-2: the order of their bytes, and whether a mark before them tells it. A mark that is
/// there when a file is read counts for more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ucs2 {
    /// The low byte comes first.
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
    /// From one form to another; `None` where bytes stay as they are.
    pub fn new(from: Form, to: Form) -> Option<Self> {
        let as_is = |form: Form| form.set == Charset::TRANSPARENT;
        let same = from.set == to.set && (from.set != Charset::UCS2 || from.wire == to.wire);
        if same || as_is(from) || as_is(to) {
            return None;
        }
        let (decoder, encoder) = (Decoder::new(from), Encoder::new(to));
        Some(Self { decoder, encoder, characters: String::new() })
    }

    /// The next bytes of the text, of which these are the `last`; what they become is added to
    /// `out`.
    pub fn translate(&mut self, bytes: &[u8], last: bool, out: &mut Vec<u8>) {
        self.characters.clear();
        self.decoder.decode(bytes, last, &mut self.characters);
        self.encoder.encode(&self.characters, last, out);
    }

    /// Characters so far that one of the sets does not have.
    pub fn lost(&self) -> u64 {
        self.decoder.lost() + self.encoder.lost()
    }

    /// Whether each byte becomes one byte.
    pub fn keeps_length(&self) -> bool {
        self.decoder.is_single() && self.encoder.is_single()
    }
}

/// A set of one byte to a character.
#[derive(Debug)]
struct Single {
    characters: Box<[char; 256]>,
    /// The bytes of the characters that are not ASCII in their own places.
    bytes: HashMap<char, u8>,
}

impl Single {
    fn new(characters: Box<[char; 256]>) -> Self {
        let mut bytes = HashMap::new();
        for (byte, character) in characters.iter().enumerate() {
            // Where two bytes are one character, the first is as good as the second.
            if *character != LOST {
                bytes.entry(*character).or_insert(byte as u8);
            }
        }
        Self { characters, bytes }
    }

    /// The table of a set; `None` if it has several bytes to a character.
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
        // What is not told is the control characters 80 to 9F.
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

/// What the library calls a set that it has.
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

    /// In pieces of all lengths, which must not matter.
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
    fn every_set_has_a_table_and_comes_back() {
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
    fn characters_are_where_their_standards_have_them() {
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
    fn what_a_set_lacks_is_counted() {
        let said = |to, text: &str| translated(file("utf8"), file(to), text.as_bytes());
        assert_eq!(said("ascii", "naïve €"), (b"na?ve ?".to_vec(), 2));
        assert_eq!(
            said("iso2022jp-kanji", "日☃本"),
            (b"\x1B$BF|\x1B(B?\x1B$BK\\\x1B(B".to_vec(), 1)
        );
        assert_eq!(said("shift-jis-kanji", "a☃"), (b"a?".to_vec(), 1));
        // A byte that is no character, and text that ends in the middle of one.
        assert_eq!(translated(file("ascii"), file("utf8"), b"\xE9"), ("\u{FFFD}".into(), 1));
        let cut = translated(file("utf8"), file("latin1-iso"), b"caf\xC3");
        assert_eq!(cut, (b"caf?".to_vec(), 1));
    }

    #[test]
    fn sixteen_bits_have_a_form_on_the_wire_and_one_in_files() {
        let out = |from, to, bytes| translated(from, to, bytes).0;
        let on_wire = out(file("utf8"), wire("ucs2"), "é\n𝄞".as_bytes());
        assert_eq!(on_wire, b"\x00\xE9\x00\x0D\x00\x0A\xD8\x34\xDD\x1E");
        assert_eq!(out(wire("ucs2"), file("utf8"), &on_wire), "é\n𝄞".as_bytes());
        assert_eq!(out(wire("ucs2"), file("latin1-iso"), b"\xFE\xFF\x00\xE9\x00\x0A"), b"\xE9\n");
        let in_file = out(file("utf8"), file("ucs2"), "é\n".as_bytes());
        assert_eq!(in_file, b"\xFF\xFE\xE9\x00\x0A\x00");
        assert_eq!(out(file("ucs2"), file("utf8"), &in_file), "é\n".as_bytes());
        assert_eq!(out(file("ucs2"), wire("ucs2"), &in_file), b"\x00\xE9\x00\x0D\x00\x0A");
        // Half a character is none.
        assert_eq!(translated(file("ucs2"), file("utf8"), b"x\0\0"), ("x\u{FFFD}".into(), 1));
        assert_eq!(out(file("ucs2"), file("utf8"), b""), b"");
        assert_eq!(out(file("utf8"), file("ucs2"), b""), b"\xFF\xFE");
    }

    #[test]
    fn files_of_sixteen_bits_have_the_order_and_the_mark_that_were_set() {
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
            // A mark counts for more than the setting.
            let read = out(of(!little, mark), file("utf8"), bytes);
            assert_eq!(read == text, mark, "{little} {mark}");
            // The wire has an order of its own.
            let on_wire = out(of(little, mark), wire("ucs2"), bytes);
            assert_eq!(on_wire, b"\x00\xE9\x00\x0D\x00\x0A");
            assert_eq!(out(wire("ucs2"), of(little, mark), &on_wire), bytes);
        }
    }

    #[test]
    fn nothing_is_done_where_nothing_is_to_be_done() {
        assert!(Translator::new(file("utf8"), wire("utf8")).is_none());
        assert!(Translator::new(file("transparent"), wire("utf8")).is_none());
        assert!(Translator::new(wire("latin1-iso"), file("transparent")).is_none());
        assert!(Translator::new(file("ucs2"), file("ucs2")).is_none());
        let keeps = |from, to| Translator::new(file(from), wire(to)).unwrap().keeps_length();
        assert!(keeps("cp437", "latin1-iso") && !keeps("utf8", "latin1-iso"));
    }
}
