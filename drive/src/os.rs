//! What differs between systems, and nothing else does: `unix` here.

mod unix;

pub use unix::Source;
pub(crate) use unix::wait;
