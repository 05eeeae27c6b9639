//! The character set of a file's text in attribute `*` (kermit.md §12).

pub(super) use crate::charset::{Charset, Encoding};

impl Encoding {
    /// The value of the attribute; `None` if it is omitted, as for ASCII.
    pub(crate) fn put(self, into: &mut [u8; 16]) -> Option<&[u8]> {
        let designator = match self {
            Self::Known(Charset::ASCII) => return None,
            Self::Known(set) => set.designator().unwrap_or_default(),
            Self::Unsaid | Self::Unknown => "",
        };
        if designator.is_empty() {
            return Some(b"A");
        }
        into[0] = b'C';
        let room = into.get_mut(1..=designator.len())?;
        room.copy_from_slice(designator.as_bytes());
        Some(&into[..=designator.len()])
    }

    /// The meaning of the attribute's value.
    pub(crate) fn of(value: &[u8]) -> Self {
        match value {
            [b'A', ..] => Self::Unsaid,
            [b'C', designator @ ..] => {
                Charset::designated(designator).map_or(Self::Unknown, Self::Known)
            }
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_read() {
        let mut room = [0; 16];
        for name in Charset::WIRE_NAMES {
            let set = Charset::named(name).unwrap();
            match Encoding::Known(set).put(&mut room) {
                None => assert_eq!(set, Charset::ASCII),
                Some(b"A") => assert_eq!(set, Charset::TRANSPARENT),
                Some(value) => assert_eq!(Encoding::of(value), Encoding::Known(set), "{name}"),
            }
        }
        assert_eq!(Encoding::Unsaid.put(&mut room), Some(&b"A"[..]));
        assert!(
            Charset::all().skip(Charset::WIRE_NAMES.len()).all(|set| set.designator().is_none())
        );
        assert_eq!(Charset::named("UTF8"), Some(Charset::UTF8));
        assert_eq!(Charset::named("ucs2"), Some(Charset::UCS2));
    }

    #[test]
    fn other_programs_have_other_names_and_some_are_not_known() {
        let known = |name| Encoding::Known(Charset::named(name).unwrap());
        assert_eq!(Encoding::of(b"CI14/87E"), known("euc-jp"));
        assert_eq!(Encoding::of(b"CI196"), known("utf8"));
        assert_eq!(Encoding::of(b"CI6/204"), known("latin1-iso"));
        for unknown in [&b"CI6/999"[..], b"C", b"E", b""] {
            assert_eq!(Encoding::of(unknown), Encoding::Unknown, "{unknown:?}");
        }
    }
}
