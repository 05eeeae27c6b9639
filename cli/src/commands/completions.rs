//! `wst completions`: the completion script of a shell.

use clap_complete::Shell;

use crate::args;
use crate::ui::exit::Exit;
use crate::ui::output::print;

/// Writes the completion script of a shell.
pub(crate) fn run(shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::complete(), "wst", &mut script);
    print(&String::from_utf8_lossy(&script));
    Exit::Done
}
