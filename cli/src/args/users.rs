//! The command line of `wst users`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `wst users`.
#[derive(Args, Debug)]
pub(crate) struct Users {
    /// What to do
    #[command(subcommand)]
    pub(crate) what: UsersVerb,
}

/// The verbs of `wst users`.
#[derive(Subcommand, Debug)]
pub(crate) enum UsersVerb {
    /// Add a user, or give one another password. The password is asked for, or read as a line from
    /// stdin where that is no terminal; the file keeps an argon2id hash of it
    Add {
        /// The file, as for wst serve --users; it is made when there is none
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
