//! The Kermit command language, in C-Kermit's dialect.
//!
//! ```text
//! lines of a file or of a user
//!   -> lines     comments, continuation, blocks: logical lines with their numbers
//!   -> interp    lists of commands, macros and files at levels, how a run ends
//!   -> commands  each command from its fields to what it does
//!   -> expand    \%a \m() \v() \f...() put in place, functions/ what functions give
//!   -> world     files, console, clock, connection, transfers, settings: a trait
//! ```
//!
//! Start with [`Interp`], which runs a file or a line in a [`World`]. [`Memory`] is a world with files in
//! memory and a manual clock, which records its calls; [`Local`] has the files and the clock of this machine.
//!
//! The language accesses clock, file system and network only through the world, and every run is bounded by
//! [`Limits`]: a variable defined as itself, a macro that calls itself and a file without an end are errors
//! that say so.
//!
//! Not supported: FTP, HTTP, SSH, DIAL and modem commands, the terminal emulator, S-expressions beyond
//! arithmetic. Such a command prints that, and fails.

#![forbid(unsafe_code)]
#![allow(
    clippy::unnecessary_wraps,
    reason = "every command and every function has the same signature"
)]
#![allow(
    clippy::format_push_string,
    reason = "what SHOW says is short, and writing to a String cannot fail"
)]
#![allow(clippy::naive_bytecount, reason = "lines are counted in short texts")]

mod arith;
mod builtin;
mod calendar;
mod channels;
mod commands;
mod condition;
mod control;
mod expand;
mod fields;
mod files;
mod functions;
mod input;
mod interp;
mod keywords;
mod lines;
mod local;
mod memory;
mod names;
mod os;
mod own_rows;
mod pattern;
mod received;
mod sexpr;
mod text;
mod trouble;
mod variables;
pub mod world;

pub use interp::Interp;
pub use lines::{Lines, Logical};
pub use local::{Local, LocalFiles};
pub use memory::{Call, Memory, TransferHandler};
pub use trouble::{End, Limits};
pub use world::World;

use wetstring_proto::settings::Setting;

/// The text of VERSION.
pub(crate) const VERSION_LINE: &str = concat!(
    "Wetstring ",
    env!("CARGO_PKG_VERSION"),
    ", with the command language of C-Kermit 10\n"
);

/// Whether a name matches a pattern of the language: `*`, `?`, `[a-z]`, `{this,that}`.
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    pattern::matches(pattern, name, true)
}

/// Completions where a word of a command begins: commands, and the keywords of SET, SHOW and REMOTE. `before`
/// is the line up to the word, and `rows` are those of the program's table of settings.
pub fn completions(rows: &[&'static Setting], before: &str, begin: &str) -> Vec<String> {
    let before = before.trim().to_ascii_lowercase();
    let small = begin.to_ascii_lowercase();
    let words: Vec<&str> = if before.is_empty() {
        keywords::verbs_with(small.as_bytes()).collect()
    } else if small.contains('.') {
        commands::rows_after(rows, &before)
    } else {
        commands::words_after(rows, &before)
    };
    words.into_iter().filter(|word| word.starts_with(&small)).map(str::to_owned).collect()
}
