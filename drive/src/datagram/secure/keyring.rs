//! The keys of one direction of a session, generation after generation.
//!
//! A key carries the packets of [`Span::PACKETS`] nonces and no more; then Noise's REKEY (revision 34, section
//! 4.2) derives the next from it, and the old one is dropped. The nonce says which key a datagram is under, so
//! nothing has to be negotiated, and no such message can be lost or reordered. A receiver has the key of the
//! newest generation it has seen, the previous one for reordered packets, and the next one for the first packet
//! of its generation.

use super::Suite;
use snow::types::Cipher;

/// Bytes in a key.
pub(super) const KEY: usize = 32;
const TAG: usize = super::TAG;
/// Maximum forgeries per key: ChaCha20-Poly1305 allows 2^36 (RFC 9001, 6.6), GCM many more.
const FORGERIES: u64 = 1 << 36;

/// Nonces of one generation: two to the power of this many bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span(pub(super) u32);

impl Span {
    /// 2^20 packets. With the longest packets those are 2^32 blocks, sixteen times fewer than AES-GCM may
    /// encrypt with an advantage of 2^-57; and sixteen replay windows, so that a late packet is never two
    /// generations old.
    pub(super) const PACKETS: Self = Self(20);

    /// The generation that a nonce belongs to.
    pub(super) const fn of(self, nonce: u64) -> u64 {
        nonce >> self.0
    }
}

/// A cipher with this key.
fn keyed(suite: Suite, key: &[u8; KEY]) -> Result<Box<dyn Cipher>, snow::Error> {
    let mut cipher = suite.cipher()?;
    cipher.set(key);
    Ok(cipher)
}

/// A cipher with the next key: Noise's REKEY, which leaves this one unchanged.
fn after(suite: Suite, cipher: &dyn Cipher) -> Result<Box<dyn Cipher>, snow::Error> {
    let mut sealed = [0; KEY + TAG];
    cipher.encrypt(u64::MAX, &[], &[0; KEY], &mut sealed);
    let mut key = [0; KEY];
    key.copy_from_slice(&sealed[..KEY]);
    keyed(suite, &key)
}

/// The key that packets are sealed with.
pub(super) struct Sealing {
    suite: Suite,
    generation: u64,
    now: Box<dyn Cipher>,
}

impl Sealing {
    pub(super) fn new(suite: Suite, key: &[u8; KEY]) -> Result<Self, snow::Error> {
        Ok(Self { suite, generation: 0, now: keyed(suite, key)? })
    }

    /// Seals under a nonce of this generation, which is never below the last. `None` if there is no room.
    pub(super) fn seal(
        &mut self,
        generation: u64,
        nonce: u64,
        plain: &[u8],
        into: &mut [u8],
    ) -> Option<usize> {
        while self.generation < generation {
            self.now = after(self.suite, &*self.now).ok()?;
            self.generation += 1;
        }
        let room = into.len() >= plain.len() + TAG && self.generation == generation;
        room.then(|| self.now.encrypt(nonce, &[], plain, into))
    }
}

/// The keys that packets are opened with.
pub(super) struct Opening {
    suite: Suite,
    /// The generation of `now`.
    generation: u64,
    before: Option<Box<dyn Cipher>>,
    now: Box<dyn Cipher>,
    next: Box<dyn Cipher>,
    forged: u64,
}

impl Opening {
    pub(super) fn new(suite: Suite, key: &[u8; KEY]) -> Result<Self, snow::Error> {
        let now = keyed(suite, key)?;
        let next = after(suite, &*now)?;
        Ok(Self { suite, generation: 0, before: None, now, next, forged: 0 })
    }

    /// Opens what is sealed under a nonce of this generation; returns its length. `None` if it is forged, or
    /// its key is not available: dropped, or too far ahead to be plausible.
    pub(super) fn open(
        &mut self,
        generation: u64,
        nonce: u64,
        sealed: &[u8],
        into: &mut [u8],
    ) -> Option<usize> {
        if self.forged >= FORGERIES || sealed.len() < TAG || into.len() < sealed.len() - TAG {
            return None;
        }
        let ahead = generation.wrapping_sub(self.generation);
        let cipher = match ahead {
            0 => &self.now,
            1 => &self.next,
            u64::MAX => self.before.as_ref()?,
            _ => return None,
        };
        let Ok(len) = cipher.decrypt(nonce, &[], sealed, into) else {
            self.forged += 1;
            return None;
        };
        // Only authentic packets advance the keys.
        if ahead == 1 {
            let next = after(self.suite, &*self.next).ok()?;
            let now = std::mem::replace(&mut self.next, next);
            self.before = Some(std::mem::replace(&mut self.now, now));
            self.generation = generation;
            self.forged = 0;
        }
        Some(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(suite: Suite) -> (Sealing, Opening) {
        let key = [7; KEY];
        (Sealing::new(suite, &key).unwrap(), Opening::new(suite, &key).unwrap())
    }

    #[test]
    fn the_next_key_is_noises_rekey() {
        for suite in [Suite::AesGcm, Suite::ChaChaPoly] {
            let mut theirs = suite.cipher().unwrap();
            theirs.set(&[7; KEY]);
            let mut ours = keyed(suite, &[7; KEY]).unwrap();
            for nonce in 0..5 {
                let (mut a, mut b) = ([0; 20], [0; 20]);
                theirs.encrypt(nonce, &[], b"word", &mut a);
                ours.encrypt(nonce, &[], b"word", &mut b);
                assert_eq!(a, b);
                theirs.rekey();
                ours = after(suite, &*ours).unwrap();
            }
        }
    }

    #[test]
    fn keys_reach_one_generation_back_and_one_ahead() {
        let (mut seal, mut open) = pair(Suite::ChaChaPoly);
        let mut sealed = Vec::new();
        for generation in 0..6 {
            let mut bytes = vec![0; 20];
            assert_eq!(seal.seal(generation, generation * 10, b"word", &mut bytes), Some(20));
            sealed.push(bytes);
        }
        let mut into = [0; 4];
        let mut opens = |open: &mut Opening, at: u64| {
            open.open(at, at * 10, &sealed[at as usize], &mut into).is_some()
        };
        // Two generations ahead is rejected; after that the keys follow authentic packets.
        assert!(!opens(&mut open, 2) && opens(&mut open, 0) && opens(&mut open, 1));
        assert!(opens(&mut open, 0) && opens(&mut open, 2) && opens(&mut open, 1));
        assert!(!opens(&mut open, 0), "its key is forgotten");
        assert!(opens(&mut open, 3) && !opens(&mut open, 5) && opens(&mut open, 4));
    }

    #[test]
    fn forgeries_do_not_advance_keys() {
        let (mut seal, mut open) = pair(Suite::AesGcm);
        let mut bytes = [0; 20];
        seal.seal(0, 3, b"word", &mut bytes).unwrap();
        let mut into = [0; 4];
        for generation in [1, 1, 1, 2, u64::MAX] {
            assert_eq!(open.open(generation, 9, &bytes, &mut into), None);
        }
        assert_eq!(open.open(0, 3, &bytes, &mut into), Some(4));
        assert_eq!(open.open(0, 3, &bytes[..15], &mut into), None);
        open.forged = FORGERIES;
        assert_eq!(open.open(0, 3, &bytes, &mut into), None);
    }
}
