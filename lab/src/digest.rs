//! The normalised digest of a run: the bytes on the wire with their times, and the outcomes.
//!
//! It covers the bytes that each end put on the wire, with the virtual time of each, and the outcomes. It does
//! not cover how the bytes were split into writes, the order in which the ends were served at one time, trace
//! lines, or the wording of messages. A change that claims not to affect a protocol's behaviour must not change
//! this digest; `lab/tests/digests.rs` has those of the swarm.

use crate::element::{Element, End, Unit};
use std::ops::DerefMut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wetstring_proto::engine::{Blame, Failure, FailureKind, Outcome};
use wetstring_proto::{Cx, Instant};
use xxhash_rust::xxh3::Xxh3;

/// The bytes that one end has put on the wire so far.
#[derive(Clone, Default)]
struct Sent {
    hash: Xxh3,
    /// The time of the last bytes, and how many there were at it.
    at: Option<Instant>,
    len: u64,
}

impl Sent {
    fn bytes(&mut self, at: Instant, bytes: &[u8], datagram: bool) {
        // Bytes of one time are one piece, however they were split; a datagram always is one.
        if datagram || self.at != Some(at) {
            self.hash.update(&self.len.to_le_bytes());
            self.hash.update(&at.as_nanos().to_le_bytes());
            self.at = Some(at);
            self.len = 0;
        }
        self.hash.update(bytes);
        self.len += bytes.len() as u64;
    }

    fn digest(&self) -> u64 {
        let mut hash = self.hash.clone();
        hash.update(&self.len.to_le_bytes());
        hash.digest()
    }
}

#[derive(Clone, Default)]
struct State {
    sent: [Sent; 2],
    outcomes: Xxh3,
}

/// Collects the digest of one run. Clones collect into the same.
#[derive(Clone, Default)]
pub struct Wire(Arc<Mutex<State>>);

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Wire").field(&format_args!("{:016x}", self.digest())).finish()
    }
}

impl Wire {
    /// A run in which the swarm has caught a panic has a digest, too.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The line accepted these bytes at `end`.
    pub fn sent(&self, at: Instant, end: End, bytes: &[u8], unit: Unit) {
        if !bytes.is_empty() {
            self.state().sent[end.index()].bytes(at, bytes, unit == Unit::Datagrams);
        }
    }

    /// An engine's outcome at this time; `index` is its number in the run.
    pub fn settled(&self, at: Instant, index: usize, outcome: Outcome) {
        let hash = &mut self.state().outcomes;
        hash.update(&[index as u8]);
        hash.update(&at.as_nanos().to_le_bytes());
        hash.update(code(outcome).as_bytes());
    }

    /// Another part of the outcome.
    pub fn note(&self, what: &str) {
        let hash = &mut self.state().outcomes;
        hash.update(what.as_bytes());
        hash.update(b"\n");
    }

    /// The digest of everything collected.
    pub fn digest(&self) -> u64 {
        let state = self.state();
        let mut all = Xxh3::new();
        for sent in &state.sent {
            all.update(&sent.digest().to_le_bytes());
        }
        all.update(&state.outcomes.digest().to_le_bytes());
        all.digest()
    }
}

/// An outcome as a word of this module, so that nothing depends on user-visible texts.
fn code(outcome: Outcome) -> String {
    let Outcome::Failed(Failure { blame, kind }) = outcome else { return "done;".to_owned() };
    let blame = match blame {
        Blame::Peer => "peer",
        Blame::Line => "line",
        Blame::Store => "store",
        Blame::Local => "local",
    };
    let kind = match kind {
        FailureKind::Silence => "silence",
        FailureKind::TooManyRetries => "retries",
        FailureKind::NotReliable => "not-reliable",
        FailureKind::PeerError => "peer-error",
        FailureKind::Violation => "violation",
        FailureKind::Unsupported => "unsupported",
        FailureKind::CannotResume => "cannot-resume",
        FailureKind::NoProtocol => "no-protocol",
        FailureKind::NotAServer => "not-a-server",
        FailureKind::WrongPeer => "wrong-peer",
        FailureKind::DigestDiffers => "digest",
        FailureKind::LengthDiffers => "length",
        FailureKind::Store(_) => "store",
        FailureKind::Refused => "refused",
        FailureKind::Aborted => "aborted",
        FailureKind::Closed => "closed",
        _ => "other",
    };
    format!("{blame}:{kind};")
}

/// An element, with a digest of its input. `E` is a reference to the element, or its box.
pub struct Tap<E> {
    inner: E,
    wire: Wire,
}

impl<E> std::fmt::Debug for Tap<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tap").field("wire", &self.wire).finish_non_exhaustive()
    }
}

impl<E: DerefMut<Target: Element>> Tap<E> {
    /// Collects into `wire`.
    pub fn new(inner: E, wire: Wire) -> Self {
        Self { inner, wire }
    }
}

impl<E: DerefMut<Target: Element>> Element for Tap<E> {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        let taken = self.inner.offer(cx, end, bytes);
        self.wire.sent(cx.now, end, &bytes[..taken], self.inner.unit());
        taken
    }

    crate::forward_element!(inner);

    fn calm(&mut self) {
        self.inner.calm();
    }
}
