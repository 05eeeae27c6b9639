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

/// A pattern; an invalid one would match nothing.
fn pattern(text: &str) -> Result<String, String> {
    // What is matched is the pattern without the slashes that say where and what.
    let bare = text.strip_suffix('/').unwrap_or(text);
    let bare = bare.strip_prefix('/').unwrap_or(bare);
    match fast_glob::validate(bare) {
        Ok(()) => Ok(text.to_owned()),
        Err(bad) => Err(bad.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn invalid_patterns_are_refused() {
        for good in ["*.o", "[a-z]?", "[]x]", "[!]]", "{a,b}.txt", r"\[x", "a]", "x}", ""] {
            assert_eq!(pattern(good).as_deref(), Ok(good), "{good}");
        }
        for bad in ["[a", "[!]", "{a,b", "a\\", "a\\/", &"{a}{,}".repeat(11)] {
            assert!(pattern(bad).is_err(), "{bad}");
        }
    }
}
