//! What a release is built for, as data, and the names of its files. `cargo xtask dist` makes them, `cargo xtask release` looks for them.

use std::collections::BTreeSet;

/// How the program is linked for a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Linker {
    /// `cargo build`, with a C compiler of Debian: the package that has it.
    Cargo(&'static str),
    /// `cargo zigbuild`: links for any system without its SDK.
    Zig,
}

/// A system that the program is built for.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) triple: &'static str,
    pub(crate) linker: Linker,
    /// The names of this architecture in a `.deb` and a `.rpm`, for systems that have them.
    pub(crate) linux: Option<Linux>,
    /// For the compiler when it links, which is to be cargo's.
    pub(crate) flags: &'static [&'static str],
    /// Whether the limits of size hold: nothing is released above them.
    pub(crate) limited: bool,
}

/// An architecture, as the kinds of packages name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linux {
    pub(crate) deb: &'static str,
    pub(crate) rpm: &'static str,
    /// The directory of its libraries on Debian.
    pub(crate) multiarch: &'static str,
}

const AMD64: Option<Linux> =
    Some(Linux { deb: "amd64", rpm: "x86_64", multiarch: "x86_64-linux-gnu" });
const ARM64: Option<Linux> =
    Some(Linux { deb: "arm64", rpm: "aarch64", multiarch: "aarch64-linux-gnu" });

/// What the whole-program LTO may inline: a tenth of LLVM's limit makes a program smaller by 6 %. Loops that move bytes are inlined when
/// their own crate is compiled, and are as fast (docs/decisions/110).
const INLINE: &str = "-Cllvm-args=-inline-threshold=15";
/// The linker that comes with Rust's compiler: the ones of GNU cannot fold functions.
pub(crate) const LLD: &str = "-Clink-arg=-fuse-ld=lld";
/// Relocations as a bitmap: a fortieth of the program less. Functions of the same code as one: a hundredth. No address of a function
/// is compared with another's, in Rust or in the C of its libraries.
const LINUX: &[&str] =
    &[INLINE, "-Clink-arg=-Wl,-z,pack-relative-relocs", LLD, "-Clink-arg=-Wl,--icf=all"];
/// Otherwise the program has the time of its linking in it.
const WINDOWS: &[&str] = &[INLINE, "-Clink-arg=-Wl,--no-insert-timestamp"];

/// Every target, the one that CI builds first.
pub(crate) const TARGETS: &[Target] = &[
    Target {
        triple: "x86_64-unknown-linux-musl",
        linker: Linker::Cargo("musl-tools"),
        linux: AMD64,
        flags: LINUX,
        limited: true,
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        linker: Linker::Zig,
        linux: ARM64,
        flags: &[],
        limited: false,
    },
    Target {
        triple: "x86_64-pc-windows-gnu",
        linker: Linker::Cargo("gcc-mingw-w64-x86-64"),
        linux: None,
        flags: WINDOWS,
        limited: true,
    },
    Target {
        triple: "aarch64-pc-windows-gnullvm",
        linker: Linker::Zig,
        linux: None,
        flags: &[],
        limited: false,
    },
    Target {
        triple: "x86_64-apple-darwin",
        linker: Linker::Zig,
        linux: None,
        flags: &[],
        limited: false,
    },
    Target {
        triple: "aarch64-apple-darwin",
        linker: Linker::Zig,
        linux: None,
        flags: &[],
        limited: false,
    },
];

/// Recipes of other package managers: sources, and file names. They are filled in when all their targets are built.
pub(crate) const RECIPES: &[(&str, &str)] = &[
    ("packaging/homebrew.rb", "wetstring.rb"),
    ("packaging/scoop.json", "wetstring.json"),
    ("packaging/PKGBUILD", "PKGBUILD"),
];

/// The names of the files of a release for all targets, in order; their digests are in `SHA256SUMS`.
pub(crate) fn files(version: &str) -> BTreeSet<String> {
    let own = TARGETS.iter().flat_map(|target| target.files(version));
    own.chain(RECIPES.iter().map(|(_, name)| (*name).to_owned())).collect()
}

impl Target {
    /// The names of the files for this target. Links to the program are the same for every architecture.
    pub(crate) fn files(&self, version: &str) -> Vec<String> {
        let name = format!("wetstring-{version}-{}", self.triple);
        let mut names = vec![format!("{name}.tar.xz"), format!("{name}.spdx.json")];
        if let Some(Linux { deb, rpm, .. }) = self.linux {
            names.push(format!("wetstring_{version}-1_{deb}.deb"));
            names.push(format!("wetstring-lrzsz_{version}-1_all.deb"));
            names.push(format!("libwetstring-dev_{version}-1_{deb}.deb"));
            names.push(format!("wetstring-{version}-1.{rpm}.rpm"));
            names.push(format!("wetstring-lrzsz-{version}-1.noarch.rpm"));
        }
        names
    }

    /// The target of this name.
    pub(crate) fn named(name: &str) -> Result<&'static Self, String> {
        TARGETS.iter().find(|target| target.triple == name).ok_or_else(|| {
            let all: Vec<&str> = TARGETS.iter().map(|target| target.triple).collect();
            format!("expected targets ({}), got {name}", all.join(", "))
        })
    }

    /// The file name of the program.
    pub(crate) fn program(&self) -> &'static str {
        if self.triple.contains("windows") { "wst.exe" } else { "wst" }
    }

    /// Whether this machine can run the program.
    pub(crate) fn runs_here(&self) -> bool {
        let os = match std::env::consts::OS {
            "macos" => "darwin",
            other => other,
        };
        self.triple.starts_with(std::env::consts::ARCH) && self.triple.contains(os)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_by_name() {
        assert_eq!(Target::named("x86_64-pc-windows-gnu").map(Target::program), Ok("wst.exe"));
        assert_eq!(Target::named("aarch64-apple-darwin").map(Target::program), Ok("wst"));
        let wrong = Target::named("vax").unwrap_err();
        assert!(wrong.starts_with("expected targets (x86_64-unknown-linux-musl,"), "{wrong}");
        assert!(wrong.ends_with("got vax"), "{wrong}");
    }

    #[test]
    fn every_name_stands_once() {
        for target in TARGETS {
            assert!(target.flags.is_empty() || target.linker != Linker::Zig, "{}", target.triple);
            let same = TARGETS.iter().filter(|other| other.triple == target.triple);
            assert_eq!(same.count(), 1, "{}", target.triple);
        }
    }
}
