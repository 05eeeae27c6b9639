//! Which files below directories are sent.

use clap::Args;

/// Which of the named files, and of those below named directories, are sent.
#[derive(Args, Clone, Default, Debug)]
pub(crate) struct Selection {
    /// Leave out files and directories that match: * and ? within a name, ** across directories, [a-z], {a,b}. Without
    /// a slash the name alone has to, with one the path below the directory; one at the end: directories only
    #[arg(long, value_name = "PATTERN", value_parser = pattern, hide_short_help = true)]
    pub(crate) exclude: Vec<String>,
    /// Send what matches, although --exclude does, too
    #[arg(long, value_name = "PATTERN", value_parser = pattern, requires = "exclude", hide_short_help = true)]
    pub(crate) include: Vec<String>,
    /// Send what symbolic links below directories point to; otherwise they are left out
    #[arg(short = 'L', long, hide_short_help = true)]
    pub(crate) copy_links: bool,
    /// Send symbolic links below directories as links, which a wst receive --links inside makes
    #[arg(long, conflicts_with = "copy_links", hide_short_help = true)]
    pub(crate) links: bool,
    /// Print what would be sent, and do nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
}

/// A pattern; one with an open bracket would match nothing.
fn pattern(text: &str) -> Result<String, String> {
    let (mut set, mut braces, mut escaped) = (None, 0_usize, false);
    for (at, c) in text.char_indices() {
        match (c, set) {
            _ if escaped => escaped = false,
            ('\\', _) => escaped = true,
            // A bracket that comes first in a set is one of its characters.
            (']', Some(begin)) if at > begin => set = None,
            (_, Some(_)) => {}
            ('[', None) => {
                let negated = text[at + 1..].starts_with(['!', '^']);
                set = Some(at + 1 + usize::from(negated));
            }
            ('{', None) => braces += 1,
            ('}', None) => braces = braces.saturating_sub(1),
            _ => {}
        }
    }
    match (set, braces, escaped) {
        (Some(_), ..) => Err("expected a ] for its [".to_owned()),
        (None, 1.., _) => Err("expected a } for its {".to_owned()),
        (None, 0, true) => Err("expected a character after its last \\".to_owned()),
        (None, 0, false) => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn open_brackets_are_refused() {
        for good in ["*.o", "[a-z]?", "[]x]", "[!]]", "{a,b}.txt", r"\[x", "a]", "x}", ""] {
            assert_eq!(pattern(good).as_deref(), Ok(good), "{good}");
        }
        for (bad, missing) in [("[a", "]"), ("[!]", "]"), ("{a,b", "}"), ("a\\", "character")] {
            assert!(pattern(bad).unwrap_err().contains(missing), "{bad}");
        }
    }
}
