//! The normalised digest of a run: what went over the wire and when, and how it ended.
//!
//! It covers the bytes that each end put on the wire, with the virtual time of each, and the outcomes. It
//! does not cover how the bytes were cut into writes, in which order the two ends were served at one
//! moment, trace lines, or the wording of any message. A change that claims to leave a protocol's
//! behaviour alone must leave this digest alone; `lab/tests/digests.rs` has those of the swarm.

use crate::element::{Element, End, Unit};
use std::ops::DerefMut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wetstring_proto::engine::{Blame, Failure, FailureKind, Outcome};
use wetstring_proto::{Cx, Instant};
use xxhash_rust::xxh3::Xxh3;

/// What one end has put on the wire so far.
#[derive(Clone, Default)]
struct Sent {
    hash: Xxh3,
    /// The moment of the bytes that came last, and how many there were at it.
    at: Option<Instant>,
    len: u64,
}

impl Sent {
    fn bytes(&mut self, at: Instant, bytes: &[u8], datagram: bool) {
        // Bytes of one moment are one piece, however they were cut; a datagram always is one.
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
    /// A run that the swarm has caught in a panic has a digest, too.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The line took these bytes from `end`.
    pub fn sent(&self, at: Instant, end: End, bytes: &[u8], unit: Unit) {
        if !bytes.is_empty() {
            self.state().sent[end.index()].bytes(at, bytes, unit == Unit::Datagrams);
        }
    }

    /// An engine came to this outcome at this time; `index` says which of those of the run.
    pub fn settled(&self, at: Instant, index: usize, outcome: Outcome) {
        let hash = &mut self.state().outcomes;
        hash.update(&[index as u8]);
        hash.update(&at.as_nanos().to_le_bytes());
        hash.update(code(outcome).as_bytes());
    }

    /// Something else that is part of the outcome.
    pub fn note(&self, what: &str) {
        let hash = &mut self.state().outcomes;
        hash.update(what.as_bytes());
        hash.update(b"\n");
    }

    /// The digest of all that was collected.
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

/// An outcome in a word of this module, so that nothing depends on what a user is told.
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

/// An element, with a digest of what is put into it. `E` is a reference to the element, or its box.
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
