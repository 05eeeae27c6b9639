//! The command line of `wst key`.

use clap::{Args, Subcommand};

/// `wst key`.
#[derive(Args, Debug)]
pub(crate) struct Key {
    /// What to do
    #[command(subcommand)]
    pub(crate) what: KeyVerb,
}

/// The verbs of `wst key`.
#[derive(Subcommand, Debug)]
pub(crate) enum KeyVerb {
    /// Show the key of this host and user; create it if there is none
    Show,
    /// List the known hosts, and the keys that may send to listeners here
    List,
    /// Allow a key to send to listeners here
    Trust {
        /// The key, as `wst key show` prints it at the peer
        #[arg(value_name = "KEY")]
        key: String,
        /// The owner, for the list
        #[arg(value_name = "NAME", default_value = "")]
        name: String,
    },
    /// Revoke a key
    Revoke {
        /// The key, as `wst key list` prints it
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Forget the key of a host whose key has changed intentionally
    Forget {
        /// The line by which it was dialled, such as udp://box:9980
        #[arg(value_name = "LINE")]
        host: String,
    },
    /// Write a new secret for --secret-file to stdout
    Secret,
}
