//! Keys of a console as the bytes that a terminal sends for them.
//!
//! Windows 10 makes them by itself (`ENABLE_VIRTUAL_TERMINAL_INPUT`): then an event is a character of a sequence, and
//! passes. What it or another console leaves as a key without a character is made here, as xterm has it.

/// An event of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) down: bool,
    /// How often, while it is held.
    pub(super) repeat: u16,
    /// The number that it has on every keyboard.
    pub(super) code: u16,
    /// UTF-16, or 0.
    pub(super) unit: u16,
    pub(super) held: Held,
}

/// The keys that are held with it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    pub(super) shift: bool,
    pub(super) left_alt: bool,
    pub(super) right_alt: bool,
    pub(super) left_ctrl: bool,
    pub(super) right_ctrl: bool,
}

const BACKSPACE: u16 = 0x08;
const TAB: u16 = 0x09;
/// The Alt key.
const ALT: u16 = 0x12;
const ESCAPE: u16 = 0x1B;
const SPACE: u16 = 0x20;
/// The digit, which with Ctrl is NUL.
const TWO: u16 = 0x32;
const F1: u16 = 0x70;
const F12: u16 = 0x7B;

/// What events that came before mean for the next one.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// The first half of a character outside the basic plane.
    high: Option<u16>,
}

impl Held {
    /// AltGr is the right Alt with the left Ctrl: a character of it is plain.
    fn with(self, unit: u16) -> Self {
        if self.right_alt && self.left_ctrl && unit != 0 {
            return Self { shift: self.shift, ..Self::default() };
        }
        self
    }

    fn alt(self) -> bool {
        self.left_alt || self.right_alt
    }

    fn ctrl(self) -> bool {
        self.left_ctrl || self.right_ctrl
    }

    /// The parameter that xterm has for them, if any is held.
    fn parameter(self) -> Option<u8> {
        let sum = u8::from(self.shift) + 2 * u8::from(self.alt()) + 4 * u8::from(self.ctrl());
        (sum > 0).then_some(sum + 1)
    }
}

impl Keys {
    /// Adds the bytes of an event. `sequences`: those of keys without a character too.
    pub(super) fn pressed(&mut self, key: Key, sequences: bool, to: &mut Vec<u8>) {
        // A character by its number: Alt is held, digits are typed, and its release has the character.
        let by_number = !key.down && key.code == ALT && key.unit != 0;
        if !key.down && !by_number {
            return;
        }
        let mut once = Vec::new();
        let held = key.held.with(key.unit);
        match (key.code, key.unit) {
            (SPACE, 0 | 0x20) | (TWO, 0) if held.ctrl() => once.push(0),
            (ESCAPE, 0) => once.push(0x1B),
            (code, 0) if sequences => once.extend(sequence(code, held.parameter())),
            (_, 0) => {}
            (TAB, 0x09) if held.shift && sequences => once.extend(b"\x1b[Z"),
            (code, unit) => {
                if held.alt() && sequences && !by_number {
                    once.push(0x1B);
                }
                match (code, unit) {
                    // Terminals send Del for this key, and the other code with Ctrl.
                    (BACKSPACE, 0x08) => once.push(0x7F),
                    (BACKSPACE, 0x7F) => once.push(0x08),
                    _ => self.character(unit, &mut once),
                }
            }
        }
        for _ in 0..key.repeat.max(1) {
            to.extend_from_slice(&once);
        }
    }

    /// Adds a character, once it is whole.
    fn character(&mut self, unit: u16, to: &mut Vec<u8>) {
        let units = self.high.take().into_iter().chain([unit]);
        if (0xD800..0xDC00).contains(&unit) {
            self.high = Some(unit);
            return;
        }
        for char in char::decode_utf16(units) {
            let char = char.unwrap_or(char::REPLACEMENT_CHARACTER);
            to.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// The sequence of a key without a character; empty for one that has none, such as Shift.
fn sequence(code: u16, held: Option<u8>) -> Vec<u8> {
    let (number, last) = match code {
        0x26 => (1, 'A'),
        0x28 => (1, 'B'),
        0x27 => (1, 'C'),
        0x25 => (1, 'D'),
        0x24 => (1, 'H'),
        0x23 => (1, 'F'),
        0x2D => (2, '~'),
        0x2E => (3, '~'),
        0x21 => (5, '~'),
        0x22 => (6, '~'),
        F1..=F12 => {
            const NUMBERS: [u8; 12] = [1, 1, 1, 1, 15, 17, 18, 19, 20, 21, 23, 24];
            let at = usize::from(code - F1);
            (NUMBERS[at], b"PQRS".get(at).map_or('~', |letter| char::from(*letter)))
        }
        _ => return Vec::new(),
    };
    match (held, number, last) {
        (Some(held), ..) => format!("\x1b[{number};{held}{last}"),
        (None, 1, 'P'..='S') => format!("\x1bO{last}"),
        (None, 1, _) => format!("\x1b[{last}"),
        (None, ..) => format!("\x1b[{number}{last}"),
    }
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Held = Held {
        shift: false,
        left_alt: false,
        right_alt: false,
        left_ctrl: false,
        right_ctrl: false,
    };
    const SHIFT: Held = Held { shift: true, ..NONE };
    const ALT_LEFT: Held = Held { left_alt: true, ..NONE };
    const CTRL: Held = Held { left_ctrl: true, ..NONE };
    const ALT_GR: Held = Held { right_alt: true, left_ctrl: true, ..NONE };

    fn event(code: u16, unit: u16, held: Held) -> Key {
        Key { down: true, repeat: 1, code, unit, held }
    }

    fn bytes(keys: &[Key], sequences: bool) -> Vec<u8> {
        let (mut state, mut to) = (Keys::default(), Vec::new());
        for key in keys {
            state.pressed(*key, sequences, &mut to);
            // It is released, too.
            state.pressed(Key { down: false, ..*key }, sequences, &mut to);
        }
        to
    }

    #[test]
    fn keys_are_what_xterm_sends() {
        for (code, unit, held, want) in [
            (0x41, 0x61, NONE, &b"a"[..]),
            (0x41, 0x01, CTRL, b"\x01"),
            (0x43, 0x03, CTRL, b"\x03"),
            (0x5A, 0x1A, CTRL, b"\x1a"),
            (0x0D, 0x0D, NONE, b"\r"),
            (BACKSPACE, 0x08, NONE, b"\x7f"),
            (BACKSPACE, 0x7F, CTRL, b"\x08"),
            (0x48, 0x08, CTRL, b"\x08"),
            (TAB, 0x09, NONE, b"\t"),
            (TAB, 0x09, SHIFT, b"\x1b[Z"),
            (ESCAPE, 0, NONE, b"\x1b"),
            (ESCAPE, 0x1B, NONE, b"\x1b"),
            (SPACE, 0x20, CTRL, b"\0"),
            (TWO, 0, CTRL, b"\0"),
            (0x58, 0x78, ALT_LEFT, b"\x1bx"),
            (BACKSPACE, 0x08, ALT_LEFT, b"\x1b\x7f"),
            (0x51, 0x40, ALT_GR, b"@"),
            (0x26, 0, NONE, b"\x1b[A"),
            (0x25, 0, CTRL, b"\x1b[1;5D"),
            (0x26, 0, SHIFT, b"\x1b[1;2A"),
            (0x26, 0, ALT_LEFT, b"\x1b[1;3A"),
            (0x24, 0, NONE, b"\x1b[H"),
            (0x2E, 0, NONE, b"\x1b[3~"),
            (0x21, 0, CTRL, b"\x1b[5;5~"),
            (F1, 0, NONE, b"\x1bOP"),
            (F1, 0, SHIFT, b"\x1b[1;2P"),
            (0x74, 0, NONE, b"\x1b[15~"),
            (F12, 0, NONE, b"\x1b[24~"),
            (0x10, 0, SHIFT, b""),
            (0x11, 0, CTRL, b""),
        ] {
            let got = bytes(&[event(code, unit, held)], true);
            assert_eq!(
                got.escape_ascii().to_string(),
                want.escape_ascii().to_string(),
                "{code:#x}"
            );
        }
    }

    #[test]
    fn sequences_of_the_system_pass() {
        // Windows 10 sends each character of a sequence as an event of no key.
        let up: Vec<Key> = "\x1bOA\x7f".encode_utf16().map(|unit| event(0, unit, NONE)).collect();
        assert_eq!(bytes(&up, true), b"\x1bOA\x7f");
        // In a line there are none.
        assert_eq!(bytes(&[event(0x26, 0, NONE), event(0x41, 0x61, ALT_LEFT)], false), b"a");
    }

    #[test]
    fn characters_are_whole_and_repeat() {
        let units: Vec<Key> = "\u{1F600}\u{E9}".encode_utf16().map(|u| event(0, u, NONE)).collect();
        assert_eq!(bytes(&units, true), "\u{1F600}\u{E9}".as_bytes());
        assert_eq!(bytes(&[event(0, 0xDC00, NONE)], true), "\u{FFFD}".as_bytes());
        let held = Key { repeat: 3, ..event(0x41, 0x61, NONE) };
        assert_eq!(bytes(&[held], true), b"aaa");
        // Alt with 0233 at the keypad.
        let number = Key { down: false, ..event(ALT, 0xE9, NONE) };
        let mut to = Vec::new();
        Keys::default().pressed(number, true, &mut to);
        assert_eq!(to, "\u{E9}".as_bytes());
    }
}
