//! The chassis of an engine: what every protocol that moves files needs, and no protocol defines.
//!
//! ```text
//! port  <- Outbox (lend, acknowledge), Port (when it last moved)
//! store <- PendingRequest (the one request that is open)
//! clock <- Timers (one array, next_timeout), Rtt and AnswerTimeout (how long an answer takes), ErrorRate (of the line)
//! user  <- EventQueue  (bounded queue of events), Text (fixed memory for words)
//! end   <- Ending (running, last packets, lingering, over)
//! state <- states! (state, input -> state; nothing else moves an engine)
//! ```
//!
//! A protocol's `link` holds these parts beside its own state, and does not duplicate them.
//! Frames, packets, windows, and when to send what are the protocol's (docs/decisions/095).

mod answer_timeout;
mod ending;
mod error_rate;
mod event_queue;
#[cfg(any(feature = "kermit", feature = "zmodem"))]
mod line_rate;
mod outbox;
mod pending_request;
mod rtt;
pub mod states;
#[cfg(test)]
mod tests;
mod text;
mod timers;
mod trace_lines;

pub(crate) use answer_timeout::AnswerTimeout;
pub(crate) use ending::Ending;
pub(crate) use error_rate::{ErrorRate, Prior, believed};
pub(crate) use event_queue::{EventQueue, EventTexts, QueuedEvent};
#[cfg(any(feature = "kermit", feature = "zmodem"))]
pub(crate) use line_rate::{FAST, LineRate};
pub(crate) use outbox::{Outbox, Port};
pub(crate) use pending_request::PendingRequest;
pub(crate) use rtt::Rtt;
pub(crate) use states::{State, enter, states};
pub(crate) use text::{Text, TextWriter};
pub(crate) use timers::{FewTimers, Timer, Timers};
pub(crate) use trace_lines::{InputTrace, WaitTrace, trace_duplicate};
