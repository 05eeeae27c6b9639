//! Fuzz bodies: each takes arbitrary bytes and panics if an invariant is violated.
//!
//! A body is a plain function, so it runs in three ways: with seeded bytes in the ordinary tests
//! (`tests/seeded.rs`), with every file of `corpus/` in the same tests, and under libFuzzer, which
//! finds those files (`targets/`, a workspace of its own, since it needs the nightly compiler):
//!
//! ```text
//! cargo xtask fuzz                                 a minute of each body
//! cargo xtask fuzz netblt-engine --seconds 600     ten of one
//! ```
//!
//! | body | what it gets | what must hold |
//! |---|---|---|
//! | [`netblt::packet`] | a datagram | what is read can be written and read again; every list of messages ends |
//! | [`netblt::engine`] | a script: datagrams, right and wrong ones, time, answers of a store, a user's commands | no panic, what is lent stays, packets fit, an abort ends it, no endless talk |
//! | [`slip::link`] | a script: packets to one end of a SLIP line, what the line does to their bytes | no panic, a good line gives what was given, what is lent stays, nothing too long |
//! | [`talk::session`] | a script: what a path does to two engines in a session, and what is forged | no panic, nothing whole or verified that is not, both end |
//! | [`script::lines`] | lines of a script | logical lines in order, nothing held at the end |
//! | [`script::run`] | a script in the Kermit language | no panic, every bound holds, the next script runs |
//! | [`arpanet::leader`] | a message | what is read can be written and read again |
//! | [`arpanet::ncp`] | a script: messages, right and wrong ones, RFNMs, time, a process | no panic, messages fit, no endless talk, all timers end |
//! | [`arpanet::reply`] | a server's lines | numbers are numbers, texts are in their lines |
//! | [`kermit::command`] | the words of a client | what is read can be written and read again |
//! | [`kermit::server`] | a script: packets to a server, time, answers of a store | no panic, no endless requests, an abort ends it |
//! | [`bundle::receiver`] | a script: packets with records of every kind to a receiver, time | no panic, the order of requests, no endless requests, an abort ends it |
//! | [`pair::kermit`], [`pair::xymodem`], [`pair::zmodem`], [`pair::uucp`] | a script: what a wire does to a sender and a receiver, and packets put between | no panic, the order of requests, no endless talk, nothing whole that is not, both end |
//! | [`names::names`] | names and lists of names of a peer | what is taken stays below the directory, and stays as it is; patterns end |
//! | [`telnet::talk`] | a script: bytes of a peer, data, requests | no reply without a request, owed replies are bounded |
//! | [`trzsz::talk`] | a script: lines of `trz` or `tsz`, right and wrong ones, in each form | no panic, nothing whole that is not, short reasons, bounded memory |
//! | [`session::gate`] | a script: datagrams to a listener, some of a true peer's, changed | no amplification, bounded memory, no access without the secret |
//! | [`session::dialler`] | datagrams to one who dials | nothing but the listener's own answer makes a session |
//! | [`session::gate_by_code`], [`session::dialler_by_code`] | the same, where the ends have a code phrase | the same, and no more guesses than are allowed |

#![forbid(unsafe_code)]

pub mod arpanet;
pub mod bundle;
pub mod kermit;
pub mod names;
pub mod netblt;
pub mod pair;
pub mod script;
pub mod session;
pub mod slip;
pub mod talk;
pub mod telnet;
pub mod trzsz;

/// Bytes that are taken from the front; zeros when they are used up.
#[derive(Clone, Debug)]
pub struct Script<'a> {
    rest: &'a [u8],
}

impl<'a> Script<'a> {
    /// All of these.
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    /// Whether all have been taken.
    pub fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    /// One chance in `n`, decided by the next byte.
    pub fn one_in(&mut self, count: u8) -> bool {
        self.byte().is_multiple_of(count)
    }

    /// The next two, big endian.
    pub fn short(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    /// The next four, big endian.
    pub fn word(&mut self) -> u32 {
        u32::from(self.short()) << 16 | u32::from(self.short())
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()]
    }

    /// As many as the value of the next byte.
    pub fn bytes(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte()).min(self.rest.len());
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest;
        taken
    }
}
