//! Modems.

mod direct;
pub mod hdlc;
pub mod lapm;
mod line;
mod link;
mod model;
pub mod modulation;
mod pair;
pub mod v42bis;
pub(crate) mod words;

pub use model::ModemModel;
pub use pair::{ModemPair, ModemStats};
pub use words::BadWord;
