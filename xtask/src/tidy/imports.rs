//! Which file imports which.
//!
//! - The program stands in floors: a file of `cli/src` imports only from its own floor and those below.
//! - No crate has a circle of files. A module and what is above or below it in the tree may know each other: a
//!   folder's `mod.rs` names its children, which use what stands there. A name that a child takes from its
//!   parent, but that the parent only re-exports, counts as taken from the sibling that has it.
//!
//! Test modules are let off: a test may use whatever it needs.

mod graph;
mod source;

use graph::{Crate, Import};
use std::fmt::Write as _;

/// The floors of the program, from the ground. `main.rs` stands on all of them.
const FLOORS: [&str; 6] = ["ui", "config", "args", "transfer", "terminal", "commands"];

/// The crate that has floors.
const HAS_FLOORS: &str = "cli";

/// A broken rule: its name, the file, the line, and a sentence.
pub(super) type Broken = (&'static str, String, usize, String);

/// What breaks the rules among these files, by path and text.
pub(super) fn broken(files: &[(String, String)]) -> Vec<Broken> {
    let mut found = Vec::new();
    for house in Crate::all(files) {
        let imports = house.imports();
        if house.name == HAS_FLOORS {
            found.extend(imports.iter().filter_map(|import| too_high(&house, import)));
        }
        found.extend(circles(&house, &imports));
    }
    found
}

/// How high a file of the program stands.
fn floor_of(module: &[String]) -> Option<usize> {
    let Some(first) = module.first() else { return Some(FLOORS.len()) };
    FLOORS.iter().position(|floor| floor == first)
}

/// An import of a file that stands higher.
fn too_high(house: &Crate<'_>, import: &Import) -> Option<Broken> {
    let [from, to] = [import.from, import.to].map(|file| &house.files[file]);
    let path = from.path.to_owned();
    let Some(own) = floor_of(&from.module) else {
        let say = format!("expected a file in one of the floors {}", FLOORS.join(", "));
        return Some(("floors", path, 1, say));
    };
    let other = floor_of(&to.module)?;
    if other <= own {
        return None;
    }
    let allowed = FLOORS[..=own.min(FLOORS.len() - 1)].join(", ");
    let got = to.path;
    Some(("floors", path, import.line, format!("expected imports of {allowed} here, got {got}")))
}

/// The circles of a crate, each reported once.
fn circles(house: &Crate<'_>, imports: &[Import]) -> Vec<Broken> {
    let kin = |a: usize, b: usize| {
        let [a, b] = [a, b].map(|file| &house.files[file].module);
        a.starts_with(b) || b.starts_with(a)
    };
    let kept = imports.iter().filter(|import| !kin(import.from, import.to));
    let kept: Vec<&Import> = kept.collect();
    let mut told = vec![false; house.files.len()];
    let mut found = Vec::new();
    for start in 0..house.files.len() {
        if told[start] {
            continue;
        }
        let Some(round) = graph::way_back(start, &kept) else { continue };
        let reached = graph::reached_from(start, &kept);
        let back = |file: &usize| graph::reached_from(*file, &kept).contains(&start);
        let members: Vec<usize> = reached.into_iter().filter(back).collect();
        for file in &members {
            told[*file] = true;
        }
        let mut say = format!("circle of {} files: {}", members.len(), house.files[start].path);
        for import in &round {
            // Writing to a string cannot fail.
            let _ = write!(say, " -> {} (line {})", house.files[import.to].path, import.line);
        }
        found.push(("no-circles", house.files[start].path.to_owned(), round[0].line, say));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let line = |(rule, path, line, say): Broken| format!("{path}:{line}: {say} ({rule})");
        broken(&files).into_iter().map(line).collect()
    }

    #[test]
    fn a_higher_floor_may_not_be_imported() {
        let files = [
            ("cli/src/main.rs", "mod ui;\nmod args;\nuse ui::show;\nfn main() {}\n"),
            ("cli/src/ui/mod.rs", "pub(crate) mod pager;\n"),
            ("cli/src/ui/pager.rs", "use std::fmt;\n\nuse crate::args::Common;\n"),
            ("cli/src/args/mod.rs", "pub struct Common;\nfn f() { crate::ui::pager::show(); }\n"),
        ];
        let want =
            "cli/src/ui/pager.rs:3: expected imports of ui here, got cli/src/args/mod.rs (floors)";
        assert_eq!(said(&files)[..1], [want]);
        let main = [files[0], ("cli/src/ui/mod.rs", "fn f() { crate::main() }\n")];
        assert_eq!(
            said(&main),
            ["cli/src/ui/mod.rs:1: expected imports of ui here, got cli/src/main.rs (floors)"]
        );
        let nowhere = [("cli/src/hint.rs", "use crate::ui::show;\n"), files[1]];
        assert!(said(&nowhere)[0].contains("one of the floors"), "{:?}", said(&nowhere));
    }

    #[test]
    fn lower_floors_may_be_imported() {
        let files = [
            ("cli/src/main.rs", "use crate::commands::send;\n"),
            (
                "cli/src/commands/send.rs",
                "use crate::args::Common;\nuse crate::ui::{self, show};\n",
            ),
            ("cli/src/args/mod.rs", "pub struct Common;\n"),
            ("cli/src/ui/mod.rs", "pub fn show() {}\n"),
        ];
        assert_eq!(said(&files), [""; 0]);
    }

    #[test]
    fn a_circle_of_files_is_found() {
        let files = [
            ("lab/src/lib.rs", "mod a;\nmod b;\nmod c;\n"),
            ("lab/src/a.rs", "use crate::b::B;\n"),
            ("lab/src/b.rs", "fn f() {\n    let x: super::c::C;\n}\n"),
            ("lab/src/c.rs", "use crate::{a::A, c};\n"),
        ];
        let want = "lab/src/a.rs:1: circle of 3 files: lab/src/a.rs -> lab/src/b.rs (line 1) \
                    -> lab/src/c.rs (line 2) -> lab/src/a.rs (line 1) (no-circles)";
        assert_eq!(said(&files), [want]);
        assert_eq!(said(&files[..3]), [""; 0], "no file goes back");
    }

    #[test]
    fn a_sibling_through_the_parent_is_the_sibling() {
        let files = [
            ("lab/src/a/mod.rs", "mod x;\nmod y;\npub use x::One;\npub struct Own;\n"),
            ("lab/src/a/x.rs", "use super::y::Two;\n"),
            ("lab/src/a/y.rs", "use super::One;\n"),
        ];
        assert_eq!(said(&files).len(), 1, "{:?}", said(&files));
        let own = [files[0], files[1], ("lab/src/a/y.rs", "use super::Own;\n")];
        assert_eq!(said(&own), [""; 0]);
        let glob = [files[0], files[1], ("lab/src/a/y.rs", "use super::*;\nfn f(_: One) {}\n")];
        assert_eq!(said(&glob).len(), 1);
        let outside = [
            ("lab/src/a/mod.rs", "mod x;\npub use x::*;\n"),
            ("lab/src/a/x.rs", "use crate::b::B;\npub struct One;\n"),
            ("lab/src/b.rs", "use crate::a::One;\n"),
        ];
        assert_eq!(said(&outside).len(), 1);
    }

    #[test]
    fn tests_comments_and_strings_import_nothing() {
        let files = [
            ("lab/src/a.rs", "use crate::b::B;\n"),
            (
                "lab/src/b.rs",
                "// crate::a::A\nconst C: &str = \"crate::a\";\nconst R: &str = r#\"\"crate::a\"#;\n\
                 fn f<'a>(_: &'a str) -> char { '\"' }\n\
                 #[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
            ),
        ];
        assert_eq!(said(&files), [""; 0]);
    }

    #[test]
    fn the_files_of_the_house_are_read() {
        let mut files = Vec::new();
        let root = crate::root();
        let see = &mut |path: &str, text: &str| files.push((path.to_owned(), text.to_owned()));
        super::super::walk(&root, &root.join("cli/src"), see).unwrap();
        let houses = Crate::all(&files);
        let [program] = &houses[..] else { panic!("expected the program alone") };
        let has = |from: &str, to: &str| {
            let is = |file: usize, path: &str| program.files[file].path == path;
            program.imports().iter().any(|import| is(import.from, from) && is(import.to, to))
        };
        assert!(has("cli/src/commands/send.rs", "cli/src/transfer/job.rs"));
        // By way of what `config/mod.rs` re-exports.
        assert!(has("cli/src/transfer/setup.rs", "cli/src/config/file.rs"));
        assert!(!has("cli/src/ui/output.rs", "cli/src/args/mod.rs"));
    }
}
