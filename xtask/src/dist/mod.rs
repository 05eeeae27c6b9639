//! `cargo xtask dist [TARGET...]`: makes what a release consists of, in `target/dist`, the same bytes each time.
//!
//! For each target a `.tar.xz` and its SPDX list, for Linux also `.deb` and `.rpm`; recipes for Homebrew, Scoop and
//! Arch Linux where all their files are made; `SHA256SUMS` at the end. Times are those of the commit, paths of this machine
//! are replaced, and everything is in order. Why, and what is left to the builder: `docs/decisions/110-packages.md`.
//!
//! | flag | what it does |
//! |---|---|
//! | `--profile NAME` | builds by another profile than `dist` |
//! | `--twice` | builds again in another folder, and compares the bytes |
//! | `--bare DIR` | installs, runs and removes the Debian packages in the bare Debian at DIR ([`bare`]) |

mod archive;
mod bare;
mod compile;
mod deb;
mod graph;
mod library;
mod notices;
mod recipes;
mod rpm;
mod spdx;
mod tree;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

use crate::commit;
use crate::target::{RECIPES, TARGETS, Target};

use tree::{Parts, SHELLS, Tree};

/// Where the source and the files of a release are.
const REPOSITORY: &str = "https://github.com/wetstring/wetstring";

/// The most bytes of a program, and of its archive.
const MOST: (usize, usize) = (12_000_000, 5_000_000);

const SUMMARY: &str = "moves files over any line: Kermit, XMODEM, YMODEM, ZMODEM, NETBLT, UUCP";
const SUMMARY_OF_LINKS: &str = "sz, rz, sx, rx, sb and rb of Wetstring, instead of lrzsz";
const DESCRIPTION: &str = "\
wst copies files to and from machines that are reached only through a serial cable, a terminal
session or a bad network, with the transfer protocol that such a machine already has.";
const DESCRIPTION_OF_LINKS: &str = "\
The programs sz, rz, sx, rx, sb and rb, and the same with an l in front, as links to wst, which has
the flags and exit codes of lrzsz when it is called by one of these names.";

/// What all packages of a release share.
#[derive(Clone, Debug)]
struct Release {
    /// Of the repository.
    root: PathBuf,
    /// Where cargo builds.
    build: PathBuf,
    /// Where the packages go.
    out: PathBuf,
    version: String,
    /// The commit, and whether there are changes.
    commit: String,
    /// The time of the commit, in seconds since 1970.
    epoch: u64,
    profile: String,
    /// Version of the compiler, whose library is linked in.
    rustc: String,
}

/// What the arguments ask for.
struct Wanted {
    targets: Vec<&'static Target>,
    profile: String,
    twice: bool,
    bare: Option<PathBuf>,
}

impl Wanted {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut wanted =
            Self { targets: Vec::new(), profile: "dist".to_owned(), twice: false, bare: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("expected a word after {arg}"));
            match arg.as_str() {
                "--twice" => wanted.twice = true,
                "--profile" => value()?.clone_into(&mut wanted.profile),
                "--bare" => wanted.bare = Some(value()?.into()),
                name => wanted.targets.push(Target::named(name)?),
            }
        }
        if wanted.targets.is_empty() {
            wanted.targets = TARGETS.iter().collect();
        }
        Ok(wanted)
    }
}

/// Makes the packages.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let wanted = Wanted::parse(args)?;
    let release = Release::of(root, &wanted.profile)?;
    let sums = make(&release, &wanted.targets)?;
    if wanted.twice {
        let mut again = release.clone();
        again.build = root.join("target/dist-build-again");
        again.out = root.join("target/dist-again");
        let second = make(&again, &wanted.targets)?;
        if sums != second {
            return Err(format!("expected the same bytes twice, got\n{sums}and\n{second}"));
        }
        println!("dist: twice the same bytes");
    }
    if let Some(bare) = wanted.bare {
        let version = release.package_version();
        let file = |name: &str| release.out.join(format!("{name}_{version}_{}.deb", here()));
        let links = release.out.join(format!("wetstring-lrzsz_{version}_all.deb"));
        bare::run(&bare, &file("wetstring"), &links)?;
        if let Some(linux) =
            TARGETS.iter().find(|target| target.runs_here()).and_then(|of| of.linux)
        {
            library::attempt(&release, &file(library::NAME), linux)?;
        }
    }
    Ok(())
}

/// The name that Debian has for this machine's architecture.
fn here() -> &'static str {
    let linux = TARGETS.iter().find(|target| target.runs_here()).and_then(|target| target.linux);
    linux.map_or("amd64", |linux| linux.deb)
}

/// Makes the packages of these targets, and returns the text of `SHA256SUMS`.
fn make(release: &Release, targets: &[&'static Target]) -> Result<String, String> {
    let say = |e: std::io::Error| format!("{}: {e}", release.out.display());
    if release.out.exists() {
        std::fs::remove_dir_all(&release.out).map_err(say)?;
    }
    std::fs::create_dir_all(&release.out).map_err(say)?;
    let mut programs = Vec::new();
    let mut failed = Vec::new();
    for target in targets {
        match compile::program(release, target) {
            Ok(program) => programs.push((*target, program)),
            Err(why) => failed.push(why),
        }
    }
    let pages = release.pages(&programs)?;
    let (mut sums, mut digests) = (BTreeMap::new(), BTreeMap::new());
    let mut write = |name: &str, bytes: &[u8]| {
        let digest = hex(&Sha256::digest(bytes));
        sums.insert(name.to_owned(), digest.clone());
        std::fs::write(release.out.join(name), bytes).map_err(|e| format!("{name}: {e}"))?;
        Ok::<String, String>(digest)
    };
    for (target, program) in &programs {
        let parts = release.parts(target, program, &pages)?;
        let name = format!("wetstring-{}-{}", release.version, target.triple);
        let archive = archive::xz(&archive::tar(&parts.portable(&name), "", release.epoch)?)?;
        digests.insert(target.triple, write(&format!("{name}.tar.xz"), &archive)?);
        write(&format!("{name}.spdx.json"), &parts.spdx)?;
        measure(release, target, parts.program.len(), archive.len())?;
        for (name, bytes) in release.linux(target, &parts)? {
            write(&name, &bytes)?;
        }
    }
    for (from, to) in RECIPES {
        let text = read(&release.root.join(from))?;
        match recipes::filled(release, &String::from_utf8_lossy(&text), &digests) {
            Ok(text) => drop(write(to, text.as_bytes())?),
            Err(why) => println!("{to} is not made: it {why}"),
        }
    }
    write(commit::FILE, format!("{}\n", release.commit).as_bytes())?;
    let known = crate::target::files(&release.version);
    if let Some(name) = sums.keys().find(|name| !known.contains(*name) && *name != commit::FILE) {
        return Err(format!("expected a name of xtask/src/target.rs, got {name}"));
    }
    let lines: Vec<String> =
        sums.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect();
    std::fs::write(release.out.join("SHA256SUMS"), lines.concat()).map_err(say)?;
    print!("{}", lines.concat());
    if failed.is_empty() { Ok(lines.concat()) } else { Err(failed.join("\n")) }
}

/// Says how large program and archive are, and refuses those over the limit.
fn measure(
    release: &Release,
    target: &Target,
    program: usize,
    archive: usize,
) -> Result<(), String> {
    let triple = target.triple;
    println!("{triple}: program {program} bytes, .tar.xz {archive}");
    // Other profiles are for trying things out.
    if release.profile == "dist" && target.limited && (program > MOST.0 || archive > MOST.1) {
        return Err(format!("{triple}: expected at most {} and {} bytes", MOST.0, MOST.1));
    }
    Ok(())
}

/// Manual and completions, which are the same for every target.
struct Pages {
    manual: Vec<(String, Vec<u8>)>,
    completions: Vec<(String, Vec<u8>)>,
}

impl Release {
    /// The release that is checked out.
    fn of(root: &Path, profile: &str) -> Result<Self, String> {
        let manifest = String::from_utf8_lossy(&read(&root.join("Cargo.toml"))?).into_owned();
        let manifest: toml::Table = manifest.parse().map_err(|e| format!("Cargo.toml: {e}"))?;
        let version = manifest["workspace"]["package"]["version"].as_str();
        let git = |args: &[&str]| said(Command::new("git").args(args).current_dir(root));
        // An archive of the source has no git; then both are to be told.
        let told = |name: &str, args: &[&str]| match std::env::var(name) {
            Ok(text) => Ok(text),
            Err(_) => git(args).map_err(|e| format!("{e}; without git, set {name}")),
        };
        let commit = match std::env::var("WETSTRING_COMMIT") {
            Ok(text) => text,
            Err(_) => {
                commit::of(root).map_err(|e| format!("{e}; without git, set WETSTRING_COMMIT"))?
            }
        };
        if commit.contains(',') {
            println!("dist: some files are not as committed, and the program says so");
        }
        let epoch = told("SOURCE_DATE_EPOCH", &["log", "-1", "--format=%ct", "HEAD"])?;
        let rustc = said(Command::new("rustc").arg("--version"))?;
        Ok(Self {
            root: root.to_path_buf(),
            build: root.join("target/dist-build"),
            out: root.join("target/dist"),
            version: version.ok_or("Cargo.toml: expected a version")?.to_owned(),
            commit,
            epoch: epoch
                .parse()
                .map_err(|_| format!("expected seconds since 1970, got {epoch}"))?,
            profile: profile.to_owned(),
            rustc: rustc.split(' ').nth(1).unwrap_or_default().to_owned(),
        })
    }

    /// The commit alone.
    fn commit_id(&self) -> &str {
        self.commit.split(',').next().unwrap_or_default()
    }

    /// The version of a package of a distribution: the same version may be packed again.
    fn package_version(&self) -> String {
        format!("{}-1", self.version)
    }

    /// Manual and completions, by a program that runs here.
    fn pages(&self, programs: &[(&'static Target, PathBuf)]) -> Result<Pages, String> {
        let here = programs.iter().find(|(target, _)| target.runs_here());
        let program = if let Some((_, program)) = here {
            program.clone()
        } else {
            let mut cargo = crate::building::cargo();
            cargo.args(["build", "--locked", "-p", "wetstring"]).current_dir(&self.root);
            said(cargo.arg("--target-dir").arg(&self.build))?;
            self.build.join("debug/wst")
        };
        let folder = self.build.join("man");
        let say = |e: std::io::Error| format!("{}: {e}", folder.display());
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(say)?;
        }
        std::fs::create_dir_all(&folder).map_err(say)?;
        said(Command::new(&program).args(["man", "--all"]).arg(&folder))?;
        let mut manual = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(say)? {
            let path = entry.map_err(say)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            manual.push((name, read(&path)?));
        }
        let mut completions = Vec::new();
        for (shell, _) in SHELLS {
            let output = Command::new(&program).args(["completions", shell]).output();
            let output = output.map_err(|e| format!("{}: {e}", program.display()))?;
            completions.push(((*shell).to_owned(), output.stdout));
        }
        Ok(Pages { manual, completions })
    }

    /// What the packages of a target are made from.
    fn parts(&self, target: &Target, program: &Path, pages: &Pages) -> Result<Parts, String> {
        let crates = graph::crates(&self.root, target.triple)?;
        let program = read(program)?;
        let mut documents = Vec::new();
        for name in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            documents.push((name.to_owned(), read(&self.root.join(name))?));
        }
        let sysroot = said(Command::new("rustc").args(["--print", "sysroot"]))?;
        let library = Path::new(&sysroot).join("share/doc/rust/COPYRIGHT-library.html");
        let mut notices = vec![
            ("THIRD-PARTY.txt".to_owned(), notices::of_crates(&crates)?.into_bytes()),
            ("rust-library.html".to_owned(), read(&library)?),
        ];
        if target.triple.ends_with("-musl") {
            let text = read(&self.root.join("packaging/LICENSE-musl"))?;
            notices.push(("musl.txt".to_owned(), text));
        }
        let digest = hex(&Sha256::digest(&program));
        Ok(Parts {
            spdx: spdx::list(self, target.triple, &digest, &crates),
            program,
            name: target.program().to_owned(),
            manual: pages.manual.clone(),
            completions: pages.completions.clone(),
            documents,
            notices,
            unit: read(&self.root.join("packaging/wst-serve.service"))?,
            minis: self.minis()?,
        })
    }

    /// What `cargo xtask mini` has built: programs for shells of other processors, by path and in order. Without them,
    /// said, `wst put --shell` has one stage.
    fn minis(&self) -> Result<Vec<(String, Vec<u8>)>, String> {
        let share = self.root.join("target/mini/share");
        let mut minis = Vec::new();
        for processor in crate::mini::processors() {
            for name in ["wst-mini", "wst-mini-send"] {
                let path = format!("{processor}/{name}");
                if share.join(&path).is_file() {
                    minis.push((path.clone(), read(&share.join(&path))?));
                } else {
                    println!("{path} is not in the packages: cargo xtask mini builds it");
                }
            }
        }
        Ok(minis)
    }

    /// The packages of Linux distributions: file names and bytes.
    fn linux(&self, target: &Target, parts: &Parts) -> Result<Vec<(String, Vec<u8>)>, String> {
        let Some(linux) = target.linux else { return Ok(Vec::new()) };
        let control = |name: &str| {
            let text = read(&self.root.join("packaging").join(name))?;
            Ok::<String, String>(String::from_utf8_lossy(&text).into_owned())
        };
        let mut tree = parts.installed("vendor-completions", archive::gz);
        let copyright = read(&self.root.join("packaging/copyright"))?;
        tree.file("usr/share/doc/wetstring/copyright", copyright.clone());
        let mut links = tree::links();
        links.file("usr/share/doc/wetstring-lrzsz/copyright", copyright);
        let about = rpm::About {
            name: "wetstring",
            arch: linux.rpm,
            summary: SUMMARY,
            description: DESCRIPTION,
            instead_of: None,
            needs: None,
        };
        let about_links = rpm::About {
            name: "wetstring-lrzsz",
            arch: "noarch",
            summary: SUMMARY_OF_LINKS,
            description: DESCRIPTION_OF_LINKS,
            instead_of: Some("lrzsz"),
            needs: Some("wetstring"),
        };
        let links_of_rpm: Tree = tree::links();
        Ok(vec![
            deb::package(self, "wetstring", linux.deb, &control("wetstring.control")?, &tree)?,
            deb::package(
                self,
                "wetstring-lrzsz",
                "all",
                &control("wetstring-lrzsz.control")?,
                &links,
            )?,
            deb::package(
                self,
                library::NAME,
                linux.deb,
                &control("libwetstring-dev.control")?,
                &library::tree(self, target, linux)?,
            )?,
            rpm::package(self, &about, &parts.installed("site-functions", archive::gz))?,
            rpm::package(self, &about_links, &links_of_rpm)?,
        ])
    }

    #[cfg(test)]
    fn example() -> Self {
        Self {
            root: PathBuf::new(),
            build: PathBuf::new(),
            out: PathBuf::new(),
            version: "1.2.3".to_owned(),
            commit: "abc, with changes".to_owned(),
            epoch: 86_400,
            profile: "dist".to_owned(),
            rustc: "1.95.0".to_owned(),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// What a command writes to stdout, if it ends well.
fn said(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A time in seconds since 1970, as SPDX wants it.
fn iso(epoch: u64) -> String {
    let time = i64::try_from(epoch).ok().and_then(|epoch| jiff::Timestamp::from_second(epoch).ok());
    time.unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read() {
        let read = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            Wanted::parse(&words)
        };
        assert_eq!(read("").unwrap().targets.len(), TARGETS.len());
        let wanted = read("aarch64-apple-darwin --twice --profile dev --bare x").unwrap();
        assert_eq!(wanted.targets[0].triple, "aarch64-apple-darwin");
        assert_eq!((wanted.targets.len(), wanted.twice), (1, true));
        assert_eq!((wanted.profile.as_str(), wanted.bare), ("dev", Some("x".into())));
        assert!(read("vax").is_err_and(|e| e.ends_with("got vax")));
        assert!(read("--bare").is_err_and(|e| e == "expected a word after --bare"));
    }

    #[test]
    fn times_are_written_as_dates() {
        assert_eq!(iso(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(iso(1_798_761_599), "2026-12-31T23:59:59Z");
    }

    #[test]
    fn programs_over_the_limit_are_refused() {
        let limited = Target::named("x86_64-unknown-linux-musl").unwrap();
        let release = Release::example();
        assert_eq!(measure(&release, limited, MOST.0, MOST.1), Ok(()));
        assert!(measure(&release, limited, MOST.0 + 1, 1).is_err());
        assert!(measure(&release, limited, 1, MOST.1 + 1).is_err());
        let other = Target::named("aarch64-apple-darwin").unwrap();
        assert_eq!(measure(&release, other, MOST.0 + 1, 1), Ok(()));
    }
}
