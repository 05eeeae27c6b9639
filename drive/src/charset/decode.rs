//! Decodes the bytes of a character set.

use super::{Form, LOST, Single, library};
use encoding_rs::{DecoderResult, UTF_16BE, UTF_16LE};
use wetstring_proto::kermit::Charset;

/// Decodes bytes that arrive in pieces.
pub(super) struct Decoder {
    by: By,
    lost: u64,
}

enum By {
    /// Single-byte.
    Table(&'static Single),
    /// Multi-byte.
    Library(Box<encoding_rs::Decoder>),
    /// Sixteen-bit.
    Wide(Wide),
}

struct Wide {
    wire: bool,
    /// The byte order if there is no byte order mark.
    little: bool,
    /// Bytes of an incomplete character.
    begin: Vec<u8>,
    /// Whether the byte order is known.
    decoder: Option<Box<encoding_rs::Decoder>>,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").field("lost", &self.lost).finish_non_exhaustive()
    }
}

impl Decoder {
    pub(super) fn new(form: Form) -> Self {
        let by = if let Some(table) = Single::of(form.set) {
            By::Table(table)
        } else if form.set == Charset::UCS2 {
            // On the wire the high byte comes first, with or without a mark.
            let little = form.ucs2.little && !form.wire;
            By::Wide(Wide { wire: form.wire, little, begin: Vec::new(), decoder: None })
        } else {
            let library = library(form.set.name()).unwrap_or(encoding_rs::UTF_8);
            By::Library(Box::new(library.new_decoder_with_bom_removal()))
        };
        Self { by, lost: 0 }
    }

    pub(super) fn is_single(&self) -> bool {
        matches!(self.by, By::Table(_))
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Appends the characters of these bytes.
    pub(super) fn decode(&mut self, bytes: &[u8], last: bool, out: &mut String) {
        match &mut self.by {
            By::Table(table) => {
                for byte in bytes {
                    let character = table.characters[usize::from(*byte)];
                    self.lost += u64::from(character == LOST);
                    out.push(character);
                }
            }
            By::Library(decoder) => self.lost += by_library(decoder, bytes, last, out),
            By::Wide(wide) => self.lost += wide.decode(bytes, last, out),
        }
    }
}

/// Number of undecodable bytes.
fn by_library(
    decoder: &mut encoding_rs::Decoder,
    mut bytes: &[u8],
    last: bool,
    out: &mut String,
) -> u64 {
    let mut missing = 0;
    loop {
        out.reserve(decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len() * 4));
        let (result, read) = decoder.decode_to_string_without_replacement(bytes, out, last);
        bytes = &bytes[read..];
        match result {
            DecoderResult::InputEmpty => return missing,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(_, _) => {
                missing += 1;
                out.push(LOST);
            }
        }
    }
}

impl Wide {
    fn decode(&mut self, mut bytes: &[u8], last: bool, out: &mut String) -> u64 {
        // Line ends on the wire are CR LF, or LF alone; here they are LF.
        let before = out.len();
        while self.decoder.is_none() && self.begin.len() < 2 {
            match bytes.split_first() {
                Some((first, rest)) => {
                    self.begin.push(*first);
                    bytes = rest;
                }
                None if last => break,
                None => return 0,
            }
        }
        let mut missing = 0;
        let decoder = self.decoder.get_or_insert_with(|| {
            let little = match self.begin[..] {
                [0xFF, 0xFE] => true,
                [0xFE, 0xFF] => false,
                _ => self.little,
            };
            let order = if little { UTF_16LE } else { UTF_16BE };
            Box::new(order.new_decoder_with_bom_removal())
        });
        let begin = std::mem::take(&mut self.begin);
        // A decoder is not called again after the end.
        missing += by_library(decoder, &begin, last && bytes.is_empty(), out);
        if !bytes.is_empty() {
            missing += by_library(decoder, bytes, last, out);
        }
        if self.wire && out[before..].contains('\r') {
            let text = out[before..].replace('\r', "");
            out.truncate(before);
            out.push_str(&text);
        }
        missing
    }
}
