//! What can be set: the settings of every protocol, the configuration file with its profiles, device
//! profiles, and keys.

pub(crate) mod device;
mod file;
pub(crate) mod keys;
pub(crate) mod protocol;
mod settings;

pub(crate) use file::File;
pub(crate) use settings::{Settings, no_setting};
