//! `wst man`: the manual pages.

use std::fmt::Write as _;
use std::path::Path;

use crate::args;
use crate::config::Settings;
use crate::config::protocol::Protocol;
use crate::ui::exit::{self, Exit};
use crate::ui::output::print;
use wetstring_drive::in_words;

/// Files of the program, for the manual.
const FILES: &str = "\
.SH FILES
.TP
\\fI$XDG_CONFIG_HOME/wetstring/config.toml\\fR
Settings ([set]), and profiles ([profile.NAME]) with a line and settings of their own. Unless
XDG_CONFIG_HOME is set, in ~/.config.
.TP
\\fI$XDG_CONFIG_HOME/wetstring/\\fR
The key of this host, the keys that may send to it, and the hosts that it knows (\\fBwst key\\fR).
.TP
\\fINAME.part\\fR
An incomplete received file; \\fBsend \\-\\-resume\\fR resumes it.
.TP
\\fINAME.~1~\\fR
The previous file NAME, renamed when another of that name arrived, as in C\\-Kermit and GNU programs;
the highest number is the newest. \\fB\\-\\-collision\\fR changes this: rename gives the
other name to the new file.
";

/// Environment variables, for the manual.
const ENVIRONMENT: &str = "\
.SH ENVIRONMENT
.TP
\\fBWETSTRING_PASSWORD\\fR
The password for \\fB\\-\\-user\\fR; prompted for if not set.
.TP
\\fBWETSTRING_SECRET\\fR
The secret that both ends of a udp: or ip: line share, instead of \\fB\\-\\-secret\\-file\\fR.
.TP
\\fBXDG_CONFIG_HOME\\fR, \\fBHOME\\fR
Directory of the configuration.
.TP
\\fBNO_COLOR\\fR, \\fBTERM\\fR, \\fBCOLUMNS\\fR
Whether there are colours, what the terminal can do (dumb: nothing), and how wide it is.
";

/// Writes the manual page of the program, or of one of its verbs.
pub(crate) fn run(verb: Option<&str>) -> Result<Exit, String> {
    let pages = pages()?;
    let wanted = verb.map_or_else(|| "wst.1".to_owned(), |verb| format!("wst-{verb}.1"));
    let Some((_, page)) = pages.iter().find(|(name, _)| *name == wanted) else {
        return Err(format!("no such page: {wanted}; wst --help lists the verbs"));
    };
    print(page);
    Ok(Exit::Done)
}

/// Writes every page into a directory, in the layout of `man`.
pub(crate) fn write_all(directory: &Path) -> Result<Exit, String> {
    for (name, page) in pages()? {
        let path = directory.join(name);
        std::fs::write(&path, page)
            .map_err(|e| format!("could not write {}: {}", path.display(), in_words(&e)))?;
    }
    Ok(Exit::Done)
}

/// The names and texts of all pages: the program, and each verb.
fn pages() -> Result<Vec<(String, String)>, String> {
    let mut command = args::command(Protocol::default());
    command.build();
    let mut verbs = Vec::new();
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        verbs.push(verb.get_name().to_owned());
    }
    let mut pages = vec![("wst.1".to_owned(), page(&command, "wst", &verbs)?)];
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let title = format!("wst-{}", verb.get_name());
        pages.push((format!("{title}.1"), page(verb, &title, &verbs)?));
    }
    Ok(pages)
}

/// One page: the generated part, then the common sections.
fn page(command: &clap::Command, title: &str, verbs: &[String]) -> Result<String, String> {
    let mut page = Vec::new();
    let say = |e: std::io::Error| in_words(&e);
    let man = clap_mangen::Man::new(command.clone()).title(title).section("1").manual("Wetstring");
    man.render_title(&mut page).map_err(say)?;
    // Names and ranges are long words: no justification or hyphenation.
    page.extend_from_slice(b".ad l\n.nh\n");
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    page.extend_from_slice(
        format!(".SH NAME\n{} \\- {}\n", plain(title), plain(&about)).as_bytes(),
    );
    man.render_synopsis_section(&mut page).map_err(say)?;
    man.render_description_section(&mut page).map_err(say)?;
    man.render_options_section(&mut page).map_err(say)?;
    if title == "wst" {
        man.render_subcommands_section(&mut page).map_err(say)?;
    } else if command.get_subcommands().next().is_some() {
        for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
            let head =
                format!(".SH {}\n", plain(&format!("{title} {}", verb.get_name()).to_uppercase()));
            page.extend_from_slice(head.as_bytes());
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            page.extend_from_slice(format!("{}\n", plain(&about)).as_bytes());
            clap_mangen::Man::new(verb.clone()).render_options_section(&mut page).map_err(say)?;
        }
    }
    man.render_extra_section(&mut page).map_err(say)?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    if title == "wst" {
        page.push_str(&settings());
    }
    page.push_str(".SH EXIT STATUS\n.nf\n");
    for line in exit::TABLE.lines().skip(1) {
        page.push_str(&plain(line));
        page.push('\n');
    }
    page.push_str(".fi\n");
    page.push_str(FILES);
    page.push_str(ENVIRONMENT);
    let others = verbs.iter().map(|verb| format!("wst-{verb}")).chain(["wst".to_owned()]);
    let others: Vec<String> = others
        .filter(|other| other != title)
        .map(|other| format!("\\fB{}\\fR(1)", plain(&other)))
        .collect();
    page.extend([".SH SEE ALSO\n", &others.join(",\n"), "\n"]);
    Ok(page)
}

/// Text escaped for troff.
fn plain(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

/// Every setting of every protocol, as a section of the manual.
fn settings() -> String {
    let mut section =
        ".SH SETTINGS\nWith \\fB\\-\\-set\\fR NAME=VALUE, or by a flag of the last part \
                       of its name when its protocol is chosen.\n"
            .to_owned();
    for row in Settings::rows() {
        let range = plain(&row.range.to_string()).replace('|', "|\\:");
        let (name, doc, default) = (plain(row.name), plain(row.doc), plain(row.default));
        // Writing to a string cannot fail.
        let _ = writeln!(section, ".TP\n\\fB{name}\\fR={range}\n{doc} [default: {default}]");
    }
    section
}
