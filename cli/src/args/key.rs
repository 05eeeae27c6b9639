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
    /// Show the key of this host and user; it is made when there is none
    Show,
    /// List the hosts that are known, and the keys that may send to listeners here
    List,
    /// Let a key send to listeners here
    Trust {
        /// The key, as wst key show writes it at the other end
        #[arg(value_name = "KEY")]
        key: String,
        /// Whose it is, for the list
        #[arg(value_name = "NAME", default_value = "")]
        name: String,
    },
    /// Let a key in no more
    Revoke {
        /// The key, as wst key list writes it
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Forget the key of a host that has changed it on purpose
    Forget {
        /// The line by which it was dialled, such as udp://box:998
        #[arg(value_name = "LINE")]
        host: String,
    },
    /// Write a new secret for --secret-file to stdout
    Secret,
}
