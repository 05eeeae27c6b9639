//! A small compressor in place of a real one: what an engine does must not depend on how well it works.

use std::collections::HashMap;
use wetstring_proto::{Reply, StoreError};

const LITERALS: u8 = 0;
const COPY: u8 = 1;
const END: u8 = 2;
/// The shortest copy: its token takes four bytes.
const SHORTEST: usize = 8;
/// How far back a copy may reach.
const FARTHEST: usize = 0xffff;

/// Frames of both directions.
#[derive(Debug, Default)]
pub struct Squeezer {
    packed: Vec<u8>,
    /// Where each sequence was last seen.
    seen: HashMap<[u8; SHORTEST], usize>,
    unpacked: Vec<u8>,
    /// How much of it was given away.
    given: usize,
    /// A token that is not complete.
    token: Vec<u8>,
    is_over: bool,
    /// How many frames were begun.
    pub frames: usize,
}

impl Squeezer {
    /// Answers `Request::Pack`.
    pub fn pack(
        &mut self,
        bytes: &[u8],
        into: &mut [u8],
        begin: bool,
        end: bool,
    ) -> Reply<'static> {
        if begin {
            self.packed.clear();
            self.seen.clear();
            self.frames += 1;
        }
        let mut at = self.packed.len();
        self.packed.extend_from_slice(bytes);
        let (mut out, mut literals) = (Vec::new(), at);
        while at < self.packed.len() {
            let key = self.packed.get(at..at + SHORTEST).and_then(|key| key.try_into().ok());
            let before = key.and_then(|key: [u8; SHORTEST]| self.seen.insert(key, at));
            let Some(before) = before.filter(|before| at - before <= FARTHEST) else {
                at += 1;
                continue;
            };
            let same = self.packed[before..].iter().zip(&self.packed[at..]);
            let len = same.take(255).take_while(|(a, b)| a == b).count();
            put_literals(&self.packed[literals..at], &mut out);
            let [low, high] = ((at - before) as u16).to_le_bytes();
            out.extend([COPY, len as u8, low, high]);
            at += len;
            literals = at;
        }
        put_literals(&self.packed[literals..], &mut out);
        if end {
            out.push(END);
        }
        into[..out.len()].copy_from_slice(&out);
        Reply::Packed(out.len())
    }

    /// Answers `Request::Unpack`. What is no frame fails.
    pub fn unpack(&mut self, bytes: &[u8], into: &mut [u8], begin: bool) -> Reply<'static> {
        if begin {
            *self = Self { frames: self.frames, ..Self::default() };
        }
        let mut used = 0;
        // As a real one, it does not take more before the room was enough for all.
        while used < bytes.len() && !self.is_over && self.unpacked.len() - self.given < into.len() {
            self.token.push(bytes[used]);
            used += 1;
            match self.token[..] {
                [END] => self.is_over = true,
                [LITERALS | COPY] | [COPY, _] | [COPY, _, _] => continue,
                [LITERALS, len, ref rest @ ..] if rest.len() < usize::from(len) => continue,
                [LITERALS, _, ref rest @ ..] => self.unpacked.extend_from_slice(rest),
                [COPY, len, low, high] => {
                    let back = usize::from(u16::from_le_bytes([low, high]));
                    let Some(from) = self.unpacked.len().checked_sub(back).filter(|_| back > 0)
                    else {
                        return Reply::Failed(StoreError::Io);
                    };
                    for at in from..from + usize::from(len) {
                        self.unpacked.push(self.unpacked[at]);
                    }
                }
                _ => return Reply::Failed(StoreError::Io),
            }
            self.token.clear();
        }
        let made = (self.unpacked.len() - self.given).min(into.len());
        into[..made].copy_from_slice(&self.unpacked[self.given..self.given + made]);
        self.given += made;
        let over = self.is_over && self.given == self.unpacked.len();
        Reply::Unpacked { used, made, over }
    }
}

fn put_literals(bytes: &[u8], out: &mut Vec<u8>) {
    for part in bytes.chunks(255) {
        out.extend([LITERALS, part.len() as u8]);
        out.extend_from_slice(part);
    }
}
