//! `cargo xtask wheels [TARGET...]`: a wheel for each system, built here, in `target/wheels`.
//!
//! Zig compiles and links what is for another system, as for the packages of the program. A wheel counts only if
//! `abi3audit` finds nothing in it beyond the stable interface of Python 3.10, if pip takes it for its system and refuses
//! it for another, and, where it is for this machine, if an environment that has nothing else sends a file with it.
//! Needs `python3` with `venv`, pip's registry, and the targets (`rustup target add`).

use std::path::{Path, PathBuf};

use crate::commit;
use crate::python::{Environment, ended};

/// A system that a wheel is for.
struct Target {
    triple: &'static str,
    /// The least that it runs on, as wheels name it.
    platform: &'static str,
}

const TARGETS: [Target; 7] = [
    Target { triple: "x86_64-unknown-linux-gnu", platform: "manylinux2014_x86_64" },
    Target { triple: "aarch64-unknown-linux-gnu", platform: "manylinux2014_aarch64" },
    Target { triple: "x86_64-unknown-linux-musl", platform: "musllinux_1_2_x86_64" },
    Target { triple: "aarch64-unknown-linux-musl", platform: "musllinux_1_2_aarch64" },
    Target { triple: "x86_64-apple-darwin", platform: "macosx_11_0_x86_64" },
    Target { triple: "aarch64-apple-darwin", platform: "macosx_11_0_arm64" },
    Target { triple: "x86_64-pc-windows-gnu", platform: "win_amd64" },
];

/// What builds and checks wheels.
const TOOLS: &[&str] = &["maturin==1.*", "ziglang==0.15.*", "abi3audit==0.0.*"];

/// Sends a file of 100,000 bytes through the package to itself.
const TRIAL: &str = "\
import pathlib, socket, threading, wetstring
data = bytes(range(256)) * 391
pathlib.Path('sent.bin').write_bytes(data)
pathlib.Path('got').mkdir(exist_ok=True)
one, other = socket.socketpair()
receiver = threading.Thread(target=wetstring.receive, args=(other, 'got'))
receiver.start()
wetstring.send(one, ['sent.bin'])
receiver.join()
assert pathlib.Path('got/sent.bin').read_bytes() == data
print('wetstring', wetstring.__version__, 'sent', len(data), 'bytes')
";

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let wanted = wanted(args)?;
    let out = root.join("target/wheels");
    // Those of another commit are not of one release with what is built now.
    let now = commit::of(root);
    let same = now.as_ref().is_ok_and(|now| commit::check(now, &out).is_ok());
    if !same {
        remove_wheels(&out)?;
    }
    let tools = Environment::open(&out.join("tools"))?;
    tools.install(TOOLS)?;
    for target in wanted {
        let wheel = build(root, &tools, &out.join("of").join(target.triple), target)?;
        audit(&tools, &wheel)?;
        choice(&tools, &wheel, target)?;
        if target.triple.starts_with(std::env::consts::ARCH)
            && target.triple.ends_with("-linux-gnu")
        {
            trial(&out.join("trial"), &wheel)?;
        }
        let name = wheel.file_name().unwrap_or_default();
        let len = std::fs::copy(&wheel, out.join(name)).map_err(|e| said(&wheel, &e))?;
        println!("{:9} bytes  {}", len, name.to_string_lossy());
    }
    commit::mark(now, &out)
}

/// The systems for which there is no wheel of this version among these files.
pub(crate) fn missing(names: &[String], version: &str) -> Vec<&'static str> {
    let begin = format!("wetstring-{version}-");
    let is_wheel = |name: &&String| Path::new(name).extension().is_some_and(|end| end == "whl");
    let wheels: Vec<&String> =
        names.iter().filter(|name| name.starts_with(&begin)).filter(is_wheel).collect();
    let is_there = |target: &&Target| wheels.iter().any(|name| name.contains(target.platform));
    TARGETS.iter().filter(|target| !is_there(target)).map(|target| target.platform).collect()
}

/// Removes the wheels of a folder, which may not be there.
fn remove_wheels(out: &Path) -> Result<(), String> {
    let Ok(entries) = std::fs::read_dir(out) else { return Ok(()) };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_some_and(|end| end == "whl") {
            std::fs::remove_file(&path).map_err(|e| said(&path, &e))?;
        }
    }
    Ok(())
}

/// The targets of these names, or all.
fn wanted(args: &[String]) -> Result<Vec<&'static Target>, String> {
    if args.is_empty() {
        return Ok(TARGETS.iter().collect());
    }
    let find = |name: &String| {
        TARGETS.iter().find(|target| target.triple == *name).ok_or_else(|| {
            let all: Vec<&str> = TARGETS.iter().map(|target| target.triple).collect();
            format!("expected targets ({}), got {name}", all.join(", "))
        })
    };
    args.iter().map(find).collect()
}

/// Builds the wheel for a target into an empty directory, and says where it is.
fn build(root: &Path, tools: &Environment, out: &Path, target: &Target) -> Result<PathBuf, String> {
    // What an earlier run left is of another build.
    let _ = std::fs::remove_dir_all(out);
    std::fs::create_dir_all(out).map_err(|e| said(out, &e))?;
    println!("== {}", target.triple);
    let mut maturin = tools.module("maturin");
    maturin.args(["build", "--quiet", "--locked", "--release", "--strip", "-i", "python3.10"]);
    maturin.args(["--target", target.triple, "--out"]).arg(out);
    if target.platform.contains("linux") {
        let platform =
            target.platform.rsplit_once("_x86_64").or(target.platform.rsplit_once("_aarch64"));
        maturin.args(["--compatibility", platform.map_or(target.platform, |(name, _)| name)]);
    }
    // By itself maturin takes 10.12 for the older processor.
    if target.triple.contains("apple") {
        maturin.env("MACOSX_DEPLOYMENT_TARGET", "11.0");
    }
    if !target.triple.contains("windows") {
        maturin.arg("--zig");
    }
    maturin
        .current_dir(root.join("python"))
        .env("CARGO_TARGET_DIR", root.join("target/wheels/build"));
    ended(&mut maturin)?;
    let entries = std::fs::read_dir(out).map_err(|e| said(out, &e))?;
    let wheels: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    match wheels.as_slice() {
        // manylinux2014 has a second name.
        [wheel] if wheel.to_string_lossy().contains(target.platform) => Ok(wheel.clone()),
        other => Err(format!("expected one wheel of {}, got {other:?}", target.platform)),
    }
}

/// Whether the wheel keeps to the interface of Python that it is named after.
fn audit(tools: &Environment, wheel: &Path) -> Result<(), String> {
    // It does not know the wheels of musl's systems, whose library is the same but for what it is linked with.
    if wheel.to_string_lossy().contains("musllinux") {
        return Ok(());
    }
    ended(tools.module("abi3audit").args(["--strict"]).arg(wheel))
}

/// Whether pip takes the wheel for its system, and not for another.
fn choice(tools: &Environment, wheel: &Path, target: &Target) -> Result<(), String> {
    let directory = wheel.parent().unwrap_or(Path::new("."));
    let asked = |platform: &str| {
        let mut pip = tools.module("pip");
        pip.args(["download", "--quiet", "--no-deps", "--no-index", "--only-binary", ":all:"]);
        pip.args(["--platform", platform, "--python-version", "3.12", "--abi", "abi3"]);
        pip.arg("--find-links").arg(directory).arg("--dest").arg(directory.join("taken"));
        pip.arg("wetstring").output().map_err(|e| format!("pip: {e}"))
    };
    let own = asked(target.platform)?;
    if !own.status.success() {
        let why = String::from_utf8_lossy(&own.stderr).trim().to_owned();
        return Err(format!(
            "pip does not take {} for {}: {why}",
            wheel.display(),
            target.platform
        ));
    }
    let other = TARGETS.iter().find(|other| other.platform != target.platform);
    let other = other.map_or("any", |other| other.platform);
    if asked(other)?.status.success() {
        return Err(format!("pip takes {} for {other}", wheel.display()));
    }
    Ok(())
}

/// Uses the wheel where nothing else is installed.
fn trial(at: &Path, wheel: &Path) -> Result<(), String> {
    let _ = std::fs::remove_dir_all(at);
    let bare = Environment::open(&at.join("venv"))?;
    bare.install(&["--no-index", "--no-deps", &wheel.display().to_string()])?;
    ended(bare.python().args(["-c", TRIAL]).current_dir(at))
}

fn said(path: &Path, e: &std::io::Error) -> String {
    format!("{}: {e}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_without_a_wheel_are_named() {
        let name = |platform: &str| format!("wetstring-1.2.3-cp310-abi3-{platform}.whl");
        let all: Vec<String> = TARGETS.iter().map(|target| name(target.platform)).collect();
        assert!(missing(&all, "1.2.3").is_empty());
        assert_eq!(missing(&all, "1.2.4").len(), TARGETS.len());
        assert_eq!(missing(&all[1..], "1.2.3"), ["manylinux2014_x86_64"]);
    }

    #[test]
    fn targets_are_found_by_name() {
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            wanted(&words)
                .map(|found| found.iter().map(|target| target.platform).collect::<Vec<_>>())
        };
        assert_eq!(names(&["aarch64-apple-darwin"]), Ok(vec!["macosx_11_0_arm64"]));
        assert_eq!(names(&[]).map(|all| all.len()), Ok(TARGETS.len()));
        let wrong = names(&["vax"]).unwrap_err();
        assert!(wrong.starts_with("expected targets (x86_64-unknown-linux-gnu,"), "{wrong}");
    }
}
