//! The files of a package, in memory and in order, and what a package of each kind has.

use std::collections::{BTreeMap, BTreeSet};

/// What stands at a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A file that can be run.
    Program(Vec<u8>),
    /// Any other file.
    File(Vec<u8>),
    /// A symbolic link, and what it says.
    Link(String),
}

/// The files of a package by their paths, which have no `/` in front.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Tree(BTreeMap<String, Kind>);

impl Tree {
    pub(super) fn add(&mut self, path: impl Into<String>, kind: Kind) {
        self.0.insert(path.into(), kind);
    }

    pub(super) fn file(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.add(path, Kind::File(bytes.into()));
    }

    /// Files and links, in the order of their paths.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &Kind)> {
        self.0.iter().map(|(path, kind)| (path.as_str(), kind))
    }

    /// Every directory that the files need, a directory before what it has.
    pub(super) fn directories(&self) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        for path in self.0.keys() {
            found.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
        }
        found
    }

    /// Bytes of all files.
    pub(super) fn size(&self) -> u64 {
        let len = |kind: &Kind| match kind {
            Kind::Program(bytes) | Kind::File(bytes) => bytes.len() as u64,
            Kind::Link(_) => 0,
        };
        self.0.values().map(len).sum()
    }
}

/// What every package is made from.
#[derive(Clone, Default, Debug)]
pub(super) struct Parts {
    pub(super) program: Vec<u8>,
    /// The file name of the program.
    pub(super) name: String,
    /// Name and text of each page of the manual.
    pub(super) manual: Vec<(String, Vec<u8>)>,
    /// Shell and script.
    pub(super) completions: Vec<(String, Vec<u8>)>,
    /// Name and text of README, changelog and licences.
    pub(super) documents: Vec<(String, Vec<u8>)>,
    /// Name and text of the licences of what is linked in.
    pub(super) notices: Vec<(String, Vec<u8>)>,
    /// The SPDX list.
    pub(super) spdx: Vec<u8>,
    pub(super) unit: Vec<u8>,
    /// Path and program for shells of each processor, such as `arm/wst-mini`.
    pub(super) minis: Vec<(String, Vec<u8>)>,
}

/// The shells that have completions, and the file name that each wants.
pub(super) const SHELLS: &[(&str, &str)] = &[
    ("bash", "wst.bash"),
    ("elvish", "wst.elv"),
    ("fish", "wst.fish"),
    ("powershell", "_wst.ps1"),
    ("zsh", "_wst"),
];

/// The names of lrzsz's programs, and the same with an `l`, as `wst install-links` makes them.
pub(super) const LRZSZ: [&str; 12] =
    ["sz", "rz", "sx", "rx", "sb", "rb", "lsz", "lrz", "lsx", "lrx", "lsb", "lrb"];

impl Parts {
    /// An archive to unpack anywhere: all below one directory.
    pub(super) fn portable(&self, directory: &str) -> Tree {
        let mut tree = Tree::default();
        let at = |path: &str| format!("{directory}/{path}");
        tree.add(at(&self.name), Kind::Program(self.program.clone()));
        for (name, text) in &self.manual {
            tree.file(at(&format!("man/man1/{name}")), text.clone());
        }
        for (shell, script) in &self.completions {
            tree.file(at(&format!("completions/{}", file_of(shell))), script.clone());
        }
        for (name, text) in &self.documents {
            tree.file(at(name), text.clone());
        }
        for (name, text) in &self.notices {
            tree.file(at(&format!("licences/{name}")), text.clone());
        }
        for (path, program) in &self.minis {
            tree.file(at(&format!("mini/{path}")), program.clone());
        }
        tree.file(at("wetstring.spdx.json"), self.spdx.clone());
        if self.name == "wst" {
            tree.file(at("wst-serve.service"), self.unit.clone());
        }
        tree
    }

    /// The files of a Linux distribution's package, with its directory for zsh. `gzip` compresses what is customarily
    /// compressed there.
    pub(super) fn installed(&self, zsh: &str, gzip: impl Fn(&[u8]) -> Vec<u8>) -> Tree {
        let mut tree = Tree::default();
        tree.add("usr/bin/wst", Kind::Program(self.program.clone()));
        for (name, text) in &self.manual {
            tree.file(format!("usr/share/man/man1/{name}.gz"), gzip(text));
        }
        for (shell, script) in &self.completions {
            let path = match shell.as_str() {
                "bash" => "usr/share/bash-completion/completions/wst".to_owned(),
                "fish" => "usr/share/fish/vendor_completions.d/wst.fish".to_owned(),
                "zsh" => format!("usr/share/zsh/{zsh}/_wst"),
                _ => continue,
            };
            tree.file(path, script.clone());
        }
        for (path, program) in &self.minis {
            // They are data here: most of them are for other processors.
            tree.file(format!("usr/share/wetstring/mini/{path}"), program.clone());
        }
        let doc = |name: &str| format!("usr/share/doc/wetstring/{name}");
        for (name, text) in &self.documents {
            match name.as_str() {
                "CHANGELOG.md" => tree.file(doc("CHANGELOG.md.gz"), gzip(text)),
                _ => tree.file(doc(name), text.clone()),
            }
        }
        for (name, text) in &self.notices {
            tree.file(doc(&format!("licences/{name}.gz")), gzip(text));
        }
        tree.file(doc("wetstring.spdx.json.gz"), gzip(&self.spdx));
        let unit =
            String::from_utf8_lossy(&self.unit).replace("/usr/local/bin/wst", "/usr/bin/wst");
        tree.file(doc("examples/wst-serve.service"), unit);
        tree
    }
}

/// The names of lrzsz as links to the program beside them.
pub(super) fn links() -> Tree {
    let mut tree = Tree::default();
    for name in LRZSZ {
        tree.add(format!("usr/bin/{name}"), Kind::Link("wst".to_owned()));
    }
    tree
}

fn file_of(shell: &str) -> &str {
    SHELLS.iter().find(|(name, _)| *name == shell).map_or(shell, |(_, file)| file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Parts {
        let one = |name: &str| vec![(name.to_owned(), b"text".to_vec())];
        Parts {
            program: vec![7; 1000],
            name: "wst".to_owned(),
            manual: one("wst.1"),
            completions: SHELLS.iter().map(|(shell, _)| ((*shell).to_owned(), vec![])).collect(),
            documents: one("LICENSE-MIT"),
            notices: one("THIRD-PARTY.txt"),
            spdx: b"{}".to_vec(),
            unit: b"ExecStart=/usr/local/bin/wst".to_vec(),
            minis: one("arm/wst-mini"),
        }
    }

    #[test]
    fn an_archive_has_one_directory() {
        let tree = parts().portable("wetstring-1");
        assert!(tree.entries().all(|(path, _)| path.starts_with("wetstring-1/")));
        let paths: Vec<&str> = tree.entries().map(|(path, _)| path).collect();
        for wanted in [
            "wst",
            "man/man1/wst.1",
            "completions/_wst",
            "licences/THIRD-PARTY.txt",
            "mini/arm/wst-mini",
        ] {
            assert!(paths.contains(&format!("wetstring-1/{wanted}").as_str()), "{wanted}");
        }
        assert!(tree.directories().contains("wetstring-1/man"));
    }

    #[test]
    fn a_distribution_has_the_program_where_its_unit_says() {
        let tree = parts().installed("site-functions", <[u8]>::to_vec);
        let unit = tree.entries().find(|(path, _)| path.ends_with(".service"));
        let wanted = Kind::File(b"ExecStart=/usr/bin/wst".to_vec());
        assert_eq!(unit.map(|(_, kind)| kind), Some(&wanted));
        assert!(tree.size() > 1000);
        let mini =
            tree.entries().find(|(path, _)| *path == "usr/share/wetstring/mini/arm/wst-mini");
        assert!(mini.is_some_and(|(_, kind)| matches!(kind, Kind::File(_))));
    }

    /// What the program itself would link.
    #[test]
    fn the_names_are_those_of_the_program() {
        let page =
            std::fs::read_to_string(crate::root().join("cli/src/commands/personality/mod.rs"))
                .unwrap();
        let list: Vec<String> = LRZSZ.iter().map(|name| format!("\"{name}\"")).collect();
        assert!(page.contains(&format!("[{}]", list.join(", "))));
    }
}
