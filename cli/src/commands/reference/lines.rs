//! `docs/reference/lines.md`: every form of a LINE and its options.

use std::fmt::Write as _;

use wetstring_drive::line::{FORMS, Form};

use super::{cell, code};

const HEAD: &str = "# Lines: where the peer is\n
Written by `cargo xtask table --write` from the forms in the code; a test keeps the two equal. LINE is the last argument of `wst send`, `get` and `put`,
and the first of `remote`. An IPv6 address is written in brackets, `tcp://[::1]:1649`. A shell takes `?`, `&` and blanks for its own: put quotes around a line that has some.\n";

/// What the program adds to the forms.
const PROFILES: &str = "
## Profiles and devices

| line | meaning |
|---|---|
| `@PROFILE` | The line and the settings of a profile, `[profile.PROFILE]`, in the configuration file, `~/.config/wetstring/config.toml` |
| `@DEVICE:LINE` | A device on a line, into which `wst send` brings a file; see [the devices](device-profiles.md) |
";

/// The page as it should be.
pub(super) fn page() -> String {
    let mut page = HEAD.to_owned();
    for (title, forms) in FORMS {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "\n## {title}\n\n| line | meaning | example |\n|---|---|---|");
        for form in *forms {
            let list = |texts: &[&str]| -> String {
                texts.iter().map(|text| code(text)).collect::<Vec<_>>().join(", ")
            };
            let (written, examples) = (list(form.written), list(form.examples));
            let _ = writeln!(page, "| {written} | {} | {examples} |", cell(form.meaning));
        }
        options(&mut page, forms);
    }
    page.push_str(PROFILES);
    page
}

/// The options, once for all forms that have the same.
fn options(page: &mut String, forms: &'static [Form]) {
    let names = |form: &Form| form.options.iter().map(|option| option.name).collect::<Vec<_>>();
    let mut done: Vec<Vec<&str>> = vec![Vec::new()];
    for form in forms {
        let own = names(form);
        if done.contains(&own) {
            continue;
        }
        let same = forms.iter().filter(|other| names(other) == own);
        let lines: Vec<String> =
            same.flat_map(|form| form.written).map(|text| code(text)).collect();
        let _ = writeln!(
            page,
            "\nOptions of {}, behind a `?` and joined with `&`:\n\n| option | values | default | meaning |\n|---|---|---|---|",
            lines.join(", ")
        );
        for option in form.options {
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {} |",
                option.name,
                cell(option.values),
                cell(option.default),
                cell(option.meaning)
            );
        }
        done.push(own);
    }
}

/// The help of the program has every form, but for those that only experiments need.
#[test]
fn the_help_names_every_form() {
    use clap::CommandFactory as _;
    let help = crate::args::Cli::command().render_help().to_string();
    let forms = FORMS.iter().flat_map(|(_, forms)| *forms);
    for written in forms.flat_map(|form| form.written) {
        let begins = written.find("://").map_or(*written, |at| &written[..at + 3]);
        let begins = begins.split_inclusive(':').next().unwrap_or(begins);
        let of_experiments = ["ncp:", "tun:", "stdio:", "DEVICE"];
        assert!(of_experiments.contains(&begins) || help.contains(begins), "{written}");
    }
}
