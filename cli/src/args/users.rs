//! The command line of `wst users`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `wst users`.
#[derive(Args, Debug)]
pub(crate) struct Users {
    /// The command
    #[command(subcommand)]
    pub(crate) what: UsersVerb,
}

/// The verbs of `wst users`.
#[derive(Subcommand, Debug)]
pub(crate) enum UsersVerb {
    /// Add a user, or change a password. The password is prompted for, or read as a line from
    /// stdin if that is not a terminal; the file stores its argon2id hash
    Add {
        /// The file, as for `wst serve --users`; created if there is none
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The name of the user
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Remove a user
    Remove {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The name of the user
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// List the names
    List {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}
