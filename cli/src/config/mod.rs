//! What can be set: the settings of every protocol, the configuration file with its profiles, device
//! profiles, and keys.

pub(crate) mod device;
mod file;
pub(crate) mod keys;
mod line;
pub(crate) mod protocol;
pub(crate) mod remembered;
mod settings;
mod state;

pub(crate) use file::File;
pub(crate) use settings::{Settings, no_setting};
pub(crate) use state::state_directory;
