//! Encodes characters in a character set.

use super::{Form, LOST, Single, library};
use encoding_rs::EncoderResult;
use wetstring_proto::kermit::Charset;

/// Byte order mark.
const MARK: u16 = 0xFEFF;

/// Encodes characters that arrive in pieces.
pub(super) struct Encoder {
    by: By,
    lost: u64,
}

enum By {
    Table(&'static Single),
    Library(Box<encoding_rs::Encoder>),
    Utf8,
    Wide {
        wire: bool,
        /// Little endian.
        little: bool,
        /// The byte order mark has been written.
        begun: bool,
    },
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").field("lost", &self.lost).finish_non_exhaustive()
    }
}

impl Encoder {
    pub(super) fn new(form: Form) -> Self {
        let by = if let Some(table) = Single::of(form.set) {
            By::Table(table)
        } else if form.set == Charset::UCS2 {
            let little = form.ucs2.little && !form.wire;
            let begun = form.wire || !form.ucs2.mark;
            By::Wide { wire: form.wire, little, begun }
        } else {
            match library(form.set.name()) {
                Some(library) if form.set != Charset::UTF8 => {
                    By::Library(Box::new(library.new_encoder()))
                }
                _ => By::Utf8,
            }
        };
        Self { by, lost: 0 }
    }

    pub(super) fn is_single(&self) -> bool {
        matches!(self.by, By::Table(_))
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Appends the bytes of these characters. Characters lost before are not counted again.
    pub(super) fn encode(&mut self, text: &str, last: bool, out: &mut Vec<u8>) {
        match &mut self.by {
            By::Table(table) => {
                for character in text.chars() {
                    let byte = table.bytes.get(&character).copied();
                    self.lost += u64::from(byte.is_none() && character != LOST);
                    out.push(byte.unwrap_or(b'?'));
                }
            }
            By::Library(encoder) => self.lost += by_library(encoder, text, last, out),
            By::Utf8 => out.extend_from_slice(text.as_bytes()),
            By::Wide { wire, little, begun } => {
                let mut put = |unit: u16| {
                    out.extend(if *little { unit.to_le_bytes() } else { unit.to_be_bytes() });
                };
                if !std::mem::replace(begun, true) {
                    put(MARK);
                }
                for unit in text.encode_utf16() {
                    if *wire && unit == u16::from(b'\n') {
                        put(u16::from(b'\r'));
                    }
                    put(unit);
                }
            }
        }
    }
}

/// Number of characters missing in the set.
fn by_library(
    encoder: &mut encoding_rs::Encoder,
    mut text: &str,
    last: bool,
    out: &mut Vec<u8>,
) -> u64 {
    let mut missing = 0;
    loop {
        let most = encoder.max_buffer_length_from_utf8_without_replacement(text.len());
        out.reserve(most.unwrap_or(text.len() * 4));
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(text, out, last);
        text = &text[read..];
        match result {
            EncoderResult::InputEmpty => return missing,
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(character) => {
                missing += u64::from(character != LOST);
                // The library has returned to ASCII, for sets with shifts.
                out.push(b'?');
            }
        }
    }
}
