//! Which edges of the engines' state tables a test takes.

use std::cell::RefCell;
use std::collections::BTreeSet;
use wetstring_proto::states::Diagram;
use wetstring_proto::{Instant, Trace, TraceEvent};

mod elsewhere;

pub use elsewhere::{ELSEWHERE, Elsewhere};

/// An edge as a trace has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Taken {
    /// The state before.
    pub from: String,
    /// What happened.
    pub input: String,
    /// The state after.
    pub to: String,
    /// Who took it, if the test says so: `sender` or `receiver`.
    pub by: Option<&'static str>,
}

impl Taken {
    /// Its index in the table; the trace spells states as the table does, but for capitals.
    pub fn position(&self, table: &Diagram) -> Option<usize> {
        if !table.states.iter().any(|(name, _)| *name == self.from) {
            return None;
        }
        let is_from = |names: &str| {
            names == "_" || names.split(" | ").any(|name| name.eq_ignore_ascii_case(&self.from))
        };
        table.edges.iter().position(|edge| {
            edge.input == self.input && edge.to.eq_ignore_ascii_case(&self.to) && is_from(edge.from)
        })
    }
}

thread_local! {
    static TAKEN: RefCell<Option<BTreeSet<Taken>>> = const { RefCell::new(None) };
}

/// The trace of engines that are driven by hand: it has the edges that are taken inside [`taken`], and nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edges {
    by: Option<&'static str>,
}

impl Edges {
    /// Of an engine whose table shows from its states.
    pub const fn new() -> Self {
        Self { by: None }
    }

    /// Of a sender, or of a receiver.
    pub const fn of(is_sender: bool) -> Self {
        Self { by: Some(if is_sender { "sender" } else { "receiver" }) }
    }
}

impl Trace for Edges {
    fn record(&mut self, _: Instant, event: &TraceEvent<'_>) {
        let TraceEvent::State { from, to, input } = *event else { return };
        let [from, input, to] = [from, input, to].map(str::to_owned);
        let edge = Taken { from, input, to, by: self.by };
        TAKEN.with_borrow_mut(|all| {
            if let Some(all) = all {
                all.insert(edge);
            }
        });
    }

    fn enabled(&self) -> bool {
        TAKEN.with_borrow(Option::is_some)
    }
}

/// The edges that the engines of this thread with an [`Edges`] take while this runs.
pub fn taken(run: impl FnOnce()) -> BTreeSet<Taken> {
    TAKEN.set(Some(BTreeSet::new()));
    run();
    TAKEN.take().unwrap_or_default()
}
