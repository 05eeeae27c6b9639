//! The manual page, completions, and writing to stdout.

use std::fmt::Write as _;
use std::io::Write as _;

use clap_complete::Shell;

use crate::args;
use crate::config::Everything;
use crate::exit::Exit;
use crate::protocol::Protocol;
use wetstring_drive::in_words;

/// Writes data to stdout. A reader that has seen enough (`head`) is no error.
pub(crate) fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Writes the completion script of a shell.
pub(crate) fn completions(shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::complete(), "wst", &mut script);
    print(&String::from_utf8_lossy(&script));
    Exit::Done
}

/// Writes the manual page: the program, then each verb.
pub(crate) fn man() -> Result<Exit, String> {
    let mut page = Vec::new();
    let say = |e: std::io::Error| in_words(&e);
    let mut command = args::command(Protocol::default());
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(say)?;
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let man = clap_mangen::Man::new(verb.clone());
        let title = format!(".SH \"WST {}\"\n", verb.get_name().to_uppercase());
        page.extend_from_slice(title.as_bytes());
        man.render_description_section(&mut page).map_err(say)?;
        man.render_synopsis_section(&mut page).map_err(say)?;
        man.render_options_section(&mut page).map_err(say)?;
    }
    page.extend_from_slice(settings().as_bytes());
    print(&String::from_utf8_lossy(&page));
    Ok(Exit::Done)
}

/// Every setting of every protocol, as a section of the manual.
fn settings() -> String {
    let plain = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    let mut section =
        ".SH SETTINGS\nWith \\fB\\-\\-set\\fR NAME=VALUE, or by a flag of the last part \
                       of its name when its protocol is chosen.\n"
            .to_owned();
    for row in Everything::rows() {
        let range = plain(&row.range.to_string());
        let (name, doc, default) = (plain(row.name), plain(row.doc), plain(row.default));
        // Writing to a string cannot fail.
        let _ = writeln!(section, ".TP\n\\fB{name}\\fR={range}\n{doc} [default: {default}]");
    }
    section
}
