//! Modems.
pub mod v42bis;
