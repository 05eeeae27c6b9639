//! The binary form: bytes as they are, but those that something on the way may act on.
//!
//! ```text
//! #DATA:5 LF  61 EE EE EE 31      a, EE, ~ by the table [["\xEE","\xEE\xEE"],["~","\xEE1"]]
//! ```
//!
//! `trz` makes the table, and has thirteen control characters more in it by `-e`; that of `tsz` is empty.

use serde_json::Value;

/// Bytes that go as two: a leader, and one that tells which.
#[derive(Debug)]
pub(super) struct Escapes {
    /// 0 for none: it is never sent.
    leader: u8,
    /// What follows the leader for a byte.
    codes: [Option<u8>; 256],
}

impl Default for Escapes {
    fn default() -> Self {
        Self { leader: 0, codes: [None; 256] }
    }
}

/// A character that stands for a byte.
fn byte(character: char) -> Option<u8> {
    u8::try_from(u32::from(character)).ok()
}

impl Escapes {
    /// A table of the peer, which has at most one leader; `None` if it says what cannot be undone.
    pub(super) fn of(table: &Value) -> Option<Self> {
        let mut all = Self::default();
        let pairs = match table {
            Value::Null => return Some(all),
            table => table.as_array()?,
        };
        let mut taken = [false; 256];
        for (number, pair) in pairs.iter().enumerate() {
            let [from, to] = pair.as_array()?.as_slice() else { return None };
            let mut from = from.as_str()?.chars();
            let mut to = to.as_str()?.chars();
            let what = byte(from.next()?)?;
            let leader = byte(to.next()?)?;
            let code = byte(to.next()?)?;
            let surplus = from.next().is_some() || to.next().is_some();
            let twice = std::mem::replace(&mut taken[usize::from(code)], true);
            if surplus || twice || number > 0 && leader != all.leader {
                return None;
            }
            all.leader = leader;
            if all.codes[usize::from(what)].replace(code).is_some() {
                return None;
            }
        }
        // A leader that is data would look like one that is not.
        let whole = pairs.is_empty() || all.codes[usize::from(all.leader)].is_some();
        whole.then_some(all)
    }

    /// Whether bytes go as they are.
    pub(super) fn is_empty(&self) -> bool {
        self.codes.iter().all(Option::is_none)
    }

    /// These bytes for the line.
    pub(super) fn write(&self, bytes: &[u8]) -> Vec<u8> {
        let mut line = Vec::with_capacity(bytes.len() + bytes.len() / 64);
        for byte in bytes {
            match self.codes[usize::from(*byte)] {
                Some(code) => line.extend([self.leader, code]),
                None => line.push(*byte),
            }
        }
        line
    }

    /// What bytes of the line mean. `open`: the last was a leader, and its second byte is to come.
    pub(super) fn read(
        &self,
        line: &[u8],
        open: &mut bool,
        into: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        if self.is_empty() {
            into.extend_from_slice(line);
            return Ok(());
        }
        for byte in line {
            if std::mem::take(open) {
                let meant = self.codes.iter().position(|code| *code == Some(*byte));
                into.push(meant.ok_or("an unknown escape")? as u8);
            } else if *byte == self.leader {
                *open = true;
            } else {
                into.push(*byte);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Those of `trz -b`, and the first and last that it adds by `-e`.
    fn table() -> Value {
        json!([
            ["\u{EE}", "\u{EE}\u{EE}"],
            ["~", "\u{EE}1"],
            ["\u{2}", "\u{EE}A"],
            ["\u{9D}", "\u{EE}M"]
        ])
    }

    #[test]
    fn all_bytes_pass_in_any_parts() {
        let all: Vec<u8> = (0..=255).chain([0xEE, 0xEE, b'~', 2]).collect();
        for (table, longer) in [(table(), 8), (json!([]), 0), (Value::Null, 0)] {
            let escapes = Escapes::of(&table).expect("a table");
            let line = escapes.write(&all);
            assert_eq!(line.len(), all.len() + longer);
            let gone = |byte: &u8| escapes.codes[usize::from(*byte)].is_some();
            assert!(!line.iter().any(|byte| gone(byte) && *byte != 0xEE));
            for len in [1, 2, 3, 300] {
                let (mut open, mut read) = (false, Vec::new());
                for part in line.chunks(len) {
                    escapes.read(part, &mut open, &mut read).expect("it is right");
                }
                assert!(!open && read == all, "{len}");
            }
        }
    }

    #[test]
    fn a_table_that_cannot_be_undone_is_none() {
        for table in [
            json!("x"),
            json!([["~"]]),
            json!([["~", "\u{EE}1"]]),
            json!([["\u{EE}", "\u{EE}\u{EE}"], ["~", "\u{EE}\u{EE}"]]),
            json!([["\u{EE}", "\u{EE}\u{EE}"], ["~", "\u{EF}1"]]),
            json!([["\u{EE}", "\u{EE}\u{EE}"], ["\u{EE}", "\u{EE}1"]]),
            json!([["\u{EE}", "\u{EE}\u{EE}"], ["~", "\u{EE}12"]]),
            json!([["\u{EE}", "\u{EE}\u{EE}"], ["~~", "\u{EE}1"]]),
            json!([["\u{1EE}", "\u{EE}\u{EE}"]]),
            json!([["", ""]]),
            json!([[1, 2]]),
        ] {
            assert!(Escapes::of(&table).is_none(), "{table}");
        }
        let escapes = Escapes::of(&table()).expect("a table");
        let read = escapes.read(b"a\xEEz", &mut false, &mut Vec::new());
        assert_eq!(read, Err("an unknown escape"));
    }
}
