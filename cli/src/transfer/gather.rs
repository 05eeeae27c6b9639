//! The files below a directory, and which of them are sent.

use std::path::{Path, PathBuf};

use fast_glob::glob_match;
use wetstring_drive::disk::names::link_stays_inside;
use wetstring_drive::in_words;
use wetstring_drive::os::files;

use crate::args::selection::Selection;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::format::shown;

/// Which files are sent, and which are not.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) files: Vec<PathBuf>,
    /// Directories that are sent as such: those without a file in them, and those that the receiver would open to more
    /// users than they are here.
    pub(crate) directories: Vec<PathBuf>,
    /// Symbolic links that are sent as such.
    pub(crate) links_sent: Vec<PathBuf>,
    /// Such entries can be sent.
    has_entries: bool,
    /// Symbolic links, which are not followed; and those that lead out of the directory, with the first of them.
    links: u64,
    outside: u64,
    first_outside: Option<PathBuf>,
    /// Directories without a file in them.
    empty: u64,
    /// Files and directories that a pattern excludes.
    excluded: u64,
    /// Links to a directory that they are in.
    circles: u64,
    /// Pipes, sockets and devices: reading one may never end.
    special: u64,
}

impl Gathered {
    /// Nothing yet. `has_entries`: directories and links can be sent as such.
    pub(crate) fn new(has_entries: bool) -> Self {
        Self { has_entries, ..Self::default() }
    }

    /// A summary of what was skipped and what was excluded; `None` if nothing was.
    pub(crate) fn left_out(&self) -> Option<String> {
        let link = ["symbolic link", "symbolic links"];
        let first = self.first_outside.as_ref().map(|path| shown(path.as_os_str()));
        let first = first.unwrap_or_default();
        let outside = match self.outside {
            0 | 1 => format!("left out (pointing outside the directory): {first}"),
            _ => format!("left out (pointing outside the directory), the first is {first}"),
        };
        let kinds = [
            (self.excluded, ["name", "names"], "excluded"),
            (self.links, link, self.about_links()),
            (self.outside, link, &outside),
            (self.circles, link, "left out (pointing to a directory that it is in)"),
            (self.special, ["pipe, socket or device", "pipes, sockets and devices"], "left out"),
            (
                self.empty,
                ["empty directory", "empty directories"],
                "left out (only wst send by Kermit to another wst has them)",
            ),
        ];
        let said: Vec<String> = kinds
            .iter()
            .filter(|(n, ..)| *n > 0)
            .map(|(n, [one, many], why)| format!("{n} {} {why}", if *n == 1 { one } else { many }))
            .collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    fn about_links(&self) -> &'static str {
        if self.has_entries {
            "left out (--copy-links sends what they point to, --links sends them to another wst)"
        } else {
            "left out (--copy-links sends what they point to)"
        }
    }

    /// Adds a file, or all files below a directory; patterns see the path below `top`.
    ///
    /// # Errors
    ///
    /// A file or directory that cannot be read.
    pub(crate) fn add(&mut self, path: &Path, top: &Path, which: &Selection) -> Result<(), Ending> {
        self.walk(path, top, which, &mut Vec::new())
    }

    /// `above`: the directories on the way here, with all links resolved.
    fn walk(
        &mut self,
        path: &Path,
        top: &Path,
        which: &Selection,
        above: &mut Vec<PathBuf>,
    ) -> Result<(), Ending> {
        let is_directory = path.is_dir();
        if path != top && !which.takes(path.strip_prefix(top).unwrap_or(path), is_directory) {
            self.excluded += 1;
            return Ok(());
        }
        if path != top && !is_directory && path.exists() && !path.is_file() {
            self.special += 1;
            return Ok(());
        }
        if !is_directory {
            readable(path).map_err(|say| Ending::early(Exit::Store, say))?;
            self.files.push(path.to_owned());
            return Ok(());
        }
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if above.contains(&real) {
            self.circles += 1;
            return Ok(());
        }
        let inside = entries(path)?;
        if self.has_entries && (inside.is_empty() || is_private(path)) {
            self.directories.push(path.to_owned());
        } else if path != top {
            self.empty += u64::from(inside.is_empty());
        }
        above.push(real);
        for path in inside {
            if path.is_symlink() && !which.copy_links {
                self.link(path, top, which);
            } else {
                self.walk(&path, top, which, above)?;
            }
        }
        above.pop();
        Ok(())
    }

    /// A symbolic link that is not followed.
    fn link(&mut self, path: PathBuf, top: &Path, which: &Selection) {
        let below = path.strip_prefix(top).unwrap_or(&path).to_owned();
        if !which.takes(&below, false) {
            self.excluded += 1;
        } else if !which.links || !self.has_entries {
            self.links += 1;
        } else {
            let target = std::fs::read_link(&path).unwrap_or_default();
            // The name of the directory is in front of it at the receiver, and stays so here.
            let depth = below.components().count().saturating_sub(1);
            if link_stays_inside(target.as_os_str().as_encoded_bytes(), depth) {
                self.links_sent.push(path);
            } else {
                self.outside += 1;
                self.first_outside.get_or_insert(below);
            }
        }
    }
}

/// Whether a file can be read, as far as is known without reading it.
pub(crate) fn readable(path: &Path) -> Result<(), String> {
    let name = shown(path.as_os_str());
    let metadata =
        std::fs::metadata(path).map_err(|e| format!("could not read {name}: {}", in_words(&e)))?;
    let kind = metadata.file_type();
    if files::is_fifo(&metadata) {
        // Opening and closing a pipe would end its writer. It is opened once, when it is sent.
        return Ok(());
    }
    if !kind.is_file() {
        let what = if kind.is_dir() { "the directory" } else { "the device or socket" };
        return Err(format!("expected a file, got {what} {name}"));
    }
    std::fs::File::open(path)
        .map(drop)
        .map_err(|e| format!("could not read {name}: {}", in_words(&e)))
}

/// Whether the permissions of a directory let others do less than usual.
fn is_private(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| files::is_private(&found))
}

/// What is in a directory, in order.
fn entries(path: &Path) -> Result<Vec<PathBuf>, Ending> {
    let failed = |e| {
        let name = shown(path.as_os_str());
        Ending::early(Exit::Store, format!("could not read {name}: {}", in_words(&e)))
    };
    let entries = std::fs::read_dir(path).map_err(failed)?;
    let inside = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut inside = inside.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    inside.sort();
    Ok(inside)
}

impl Selection {
    /// Whether a file or directory of this path, below the directory that was named, is sent.
    pub(crate) fn takes(&self, below: &Path, is_directory: bool) -> bool {
        let path = below.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
        let fits = |pattern: &String| fits(pattern, &path, is_directory);
        !self.exclude.iter().any(fits) || self.include.iter().any(fits)
    }
}

/// Whether a pattern means this path.
fn fits(pattern: &str, path: &str, is_directory: bool) -> bool {
    let (pattern, directories) = match pattern.strip_suffix('/') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    if directories && !is_directory {
        return false;
    }
    match pattern.strip_prefix('/') {
        Some(pattern) => glob_match(pattern, path),
        None if pattern.contains('/') => {
            glob_match(pattern, path) || glob_match(format!("**/{pattern}"), path)
        }
        None => glob_match(pattern, path.rsplit('/').next().unwrap_or(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_names_paths_and_directories() {
        let cases = [
            ("*.o", "a/b.o", false, true),
            ("*.o", "a/b.c", false, false),
            ("build/", "x/build", true, true),
            ("build/", "x/build", false, false),
            ("/build", "build", true, true),
            ("/build", "x/build", true, false),
            ("src/*.c", "a/src/x.c", false, true),
            ("src/*.c", "a/src/b/x.c", false, false),
            ("src/**/x.c", "src/b/c/x.c", false, true),
            ("{a,b}.txt", "b.txt", false, true),
            ("[0-9]?", "7x", false, true),
            ("*", ".hidden", false, true),
        ];
        for (pattern, path, is_directory, wanted) in cases {
            assert_eq!(fits(pattern, path, is_directory), wanted, "{pattern} {path}");
        }
    }

    #[test]
    fn an_include_wins() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let which = Selection {
            exclude: words(&["*"]),
            include: words(&["*/", "*.c"]),
            ..Selection::default()
        };
        assert!(which.takes(Path::new("src"), true));
        assert!(which.takes(Path::new("src/a.c"), false));
        assert!(!which.takes(Path::new("src/a.o"), false));
        assert!(Selection::default().takes(Path::new("x"), false));
    }
}
