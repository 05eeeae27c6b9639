//! The replay window: every nonce is accepted once, in any order.

/// Window size. At 1 Gb/s in packets of 1500 bytes it is 0.8 s of reordering; 8 KiB per session.
const WIDTH: u64 = 65_536;
const WORDS: usize = (WIDTH / 64) as usize;

/// The nonces seen.
#[derive(Clone, Debug)]
pub struct Window {
    /// One above the highest nonce seen.
    top: u64,
    seen: Box<[u64]>,
}

impl Default for Window {
    fn default() -> Self {
        Self { top: 0, seen: vec![0; WORDS].into_boxed_slice() }
    }
}

impl Window {
    /// Whether a nonce may be accepted: new, and within the window.
    pub fn is_new(&self, nonce: u64) -> bool {
        if nonce >= self.top {
            return nonce < u64::MAX;
        }
        self.top - nonce <= WIDTH && self.seen[Self::word(nonce)] & Self::bit(nonce) == 0
    }

    /// Marks an authentic nonce as used.
    pub fn note(&mut self, nonce: u64) {
        if nonce >= self.top {
            let next = nonce.saturating_add(1);
            if next - self.top >= WIDTH {
                self.seen.fill(0);
            } else {
                // Skipped nonces are unused. Whole words where possible.
                let mut at = self.top;
                while at < next {
                    if at.is_multiple_of(64) && next - at >= 64 {
                        self.seen[Self::word(at)] = 0;
                        at += 64;
                    } else {
                        self.seen[Self::word(at)] &= !Self::bit(at);
                        at += 1;
                    }
                }
            }
            self.top = next;
        }
        self.seen[Self::word(nonce)] |= Self::bit(nonce);
    }

    const fn word(nonce: u64) -> usize {
        ((nonce / 64) % WORDS as u64) as usize
    }

    const fn bit(nonce: u64) -> u64 {
        1 << (nonce % 64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn window_agrees_with_a_set() {
        let (mut window, mut set, mut top) = (Window::default(), BTreeSet::new(), 0_u64);
        let mut dice = wetstring_testkit::Dice(7);
        for _ in 0..300_000 {
            let draw = dice.next() >> 33;
            // Mostly near, sometimes far ahead or far behind.
            let nonce = match draw % 1000 {
                0 => top + draw % 200_000,
                1..20 => top.saturating_sub(draw % 100_000),
                _ => (top + 40).saturating_sub(draw % 80),
            };
            let old = top > nonce && top - nonce > WIDTH;
            let expected = !old && !set.contains(&nonce);
            assert_eq!(window.is_new(nonce), expected, "{nonce} at {top}");
            if expected {
                window.note(nonce);
                set.insert(nonce);
                top = top.max(nonce + 1);
            }
        }
    }

    #[test]
    fn the_last_nonce_is_never_accepted() {
        let window = Window::default();
        assert!(!window.is_new(u64::MAX) && window.is_new(u64::MAX - 1));
    }
}
