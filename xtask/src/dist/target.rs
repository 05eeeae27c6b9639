//! What is built: the targets, as data.

/// How the program is linked for a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Linker {
    /// `cargo build`, with a C compiler of Debian: the package that has it.
    Cargo(&'static str),
    /// `cargo zigbuild`: links for any system without its SDK.
    Zig,
}

/// A system that the program is built for.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) triple: &'static str,
    pub(super) linker: Linker,
    /// The names of this architecture in a `.deb` and a `.rpm`, for systems that have them.
    pub(super) linux: Option<Linux>,
    /// For the compiler when it links, which is to be cargo's.
    pub(super) flags: &'static [&'static str],
    /// Whether the limits of size hold: nothing is released above them.
    pub(super) limited: bool,
}

/// An architecture, as the kinds of packages name it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linux {
    pub(super) deb: &'static str,
    pub(super) rpm: &'static str,
}

const AMD64: Option<Linux> = Some(Linux { deb: "amd64", rpm: "x86_64" });
const ARM64: Option<Linux> = Some(Linux { deb: "arm64", rpm: "aarch64" });

/// What the whole-program LTO may inline: a tenth of LLVM's limit makes a program smaller by 6 %. Loops that move bytes are inlined when
/// their own crate is compiled, and are as fast (docs/decisions/110).
const INLINE: &str = "-Cllvm-args=-inline-threshold=15";
/// Relocations as a bitmap: a fortieth of the program less.
const LINUX: &[&str] = &[INLINE, "-Clink-arg=-Wl,-z,pack-relative-relocs"];
/// Otherwise the program has the time of its linking in it.
const WINDOWS: &[&str] = &[INLINE, "-Clink-arg=-Wl,--no-insert-timestamp"];

/// Every target, the one that CI builds first.
pub(super) const TARGETS: &[Target] = &[
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

impl Target {
    /// The target of this name.
    pub(super) fn named(name: &str) -> Result<&'static Self, String> {
        TARGETS.iter().find(|target| target.triple == name).ok_or_else(|| {
            let all: Vec<&str> = TARGETS.iter().map(|target| target.triple).collect();
            format!("expected targets ({}), got {name}", all.join(", "))
        })
    }

    /// The file name of the program.
    pub(super) fn program(&self) -> &'static str {
        if self.triple.contains("windows") { "wst.exe" } else { "wst" }
    }

    /// Whether this machine can run the program.
    pub(super) fn runs_here(&self) -> bool {
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
