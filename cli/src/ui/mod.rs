//! The user interface: messages, events, progress, numbers, questions, and how the program ends.
//!
//! This layer knows nothing about commands, settings or transfers.

pub(crate) mod ending;
pub(crate) mod exit;
pub(crate) mod format;
pub(crate) mod keyboard;
pub(crate) mod output;
pub(crate) mod password;
pub(crate) mod progress;
pub(crate) mod prompt;
