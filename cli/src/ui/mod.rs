//! What is shown and asked: messages, events, progress, numbers, questions, and how the program ends.
//!
//! This floor knows nothing of commands, of settings, or of how files move.

pub(crate) mod ending;
pub(crate) mod exit;
pub(crate) mod format;
pub(crate) mod keyboard;
pub(crate) mod output;
pub(crate) mod password;
pub(crate) mod progress;
pub(crate) mod prompt;
