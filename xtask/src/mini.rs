//! `cargo xtask mini [--run] [PROCESSOR...]`: builds `wst-mini`, `wst-mini-send` and `wst-mini-xy` for each processor.
//!
//! They are put into `target/mini/share/PROCESSOR`, a folder for `--mini` of `wst put --shell`, from which
//! `cargo xtask dist` takes them. Needs the nightly compiler with `rust-src`: `core` is built for size, and for
//! processors for which it is not delivered. `--run` receives and sends a file with each program under qemu-user, by
//! the `wst` in `target/debug`.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What a program may take: it is sent over slow lines.
const MOST_BYTES: u64 = 60_000;
/// MIPS has no short form of instructions here.
const MOST_BYTES_MIPS: u64 = 110_000;

/// Name for qemu, target, and flags.
const TARGETS: [(&str, &str, &str); 5] = [
    ("x86_64", "x86_64-unknown-none", ""),
    ("aarch64", "aarch64-unknown-none", ""),
    ("arm", "armv7a-none-eabi", "-Ctarget-feature=+thumb-mode"),
    ("riscv64", "riscv64gc-unknown-none-elf", ""),
    ("mipsel", "mipsel-unknown-none", ""),
];

/// The compiler: what it is asked for here is not stable, and is tried with this one; `.ci/run` installs it.
pub(crate) const TOOLCHAIN: &str = "+nightly-2026-05-20";

/// Linked for a fixed address, so that nothing is relocated; a panic has no text.
const FLAGS: &str = "-Crelocation-model=static -Zunstable-options -Cpanic=immediate-abort \
     -Zlocation-detail=none -Zfmt-debug=none";

/// Name, protocol, and bytes beyond those of a receiver: a sender has more to decide.
const PROGRAMS: [(&str, &str, u64); 3] =
    [("wst-mini", "kermit", 0), ("wst-mini-send", "kermit", 15_000), ("wst-mini-xy", "ymodem", 0)];

/// The processors, as the folders of their programs are named.
#[cfg(feature = "packages")]
pub(crate) fn processors() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().map(|(name, ..)| *name)
}

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let runs = args.iter().any(|arg| arg == "--run");
    let names: Vec<&str> = args.iter().map(String::as_str).filter(|arg| *arg != "--run").collect();
    let known = |name: &str| TARGETS.iter().any(|(known, ..)| *known == name);
    if let Some(wrong) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = TARGETS.iter().map(|(name, ..)| *name).collect();
        return Err(format!("expected --run or processors ({}), got {wrong}", all.join(", ")));
    }
    let built = root.join("target/mini");
    for (name, target, flags) in TARGETS {
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let mut cargo = Command::new("cargo");
        cargo.current_dir(root.join("mini")).env("CARGO_TARGET_DIR", &built);
        cargo.env("RUSTFLAGS", format!("{FLAGS} {flags}"));
        cargo.args([TOOLCHAIN, "build", "--release", "--locked", "-Zbuild-std=core", "--target"]);
        ended(cargo.arg(target))?;
        let most = if name == "mipsel" { MOST_BYTES_MIPS } else { MOST_BYTES };
        for (program, protocol, more) in PROGRAMS {
            let path = built.join(target).join("release").join(program);
            let len = fs::metadata(&path).map_err(|e| format!("{}: {e}", path.display()))?.len();
            println!("{target} {program}: {len} bytes");
            if len > most + more {
                return Err(format!("expected at most {} bytes, {program} has {len}", most + more));
            }
            let share = built.join("share").join(name);
            let copied =
                fs::create_dir_all(&share).and_then(|()| fs::copy(&path, share.join(program)));
            copied.map_err(|e| format!("{}: {e}", share.display()))?;
            match program {
                _ if !runs => {}
                "wst-mini-send" => sends(root, name, &path)?,
                _ => receives(root, name, &path, protocol)?,
            }
        }
    }
    Ok(())
}

/// A file through the program under qemu-user.
fn receives(root: &Path, name: &str, program: &Path, protocol: &str) -> Result<(), String> {
    let say = |e: std::io::Error| e.to_string();
    let (file, got) = (root.join("target/mini/sent"), root.join("target/mini/received"));
    let bytes = wetstring_testkit::noise(7, 300_000);
    fs::write(&file, &bytes).map_err(say)?;
    fs::write(&got, b"").map_err(say)?;
    let (shown, into) = (program.display(), got.display());
    let line = format!("exec:qemu-{name}-static {shown} 3>{into}");
    let mut wst = Command::new(root.join("target/debug/wst"));
    ended(wst.args(["send", "-q", "-P", protocol]).arg(&file).arg(line))?;
    if fs::read(&got).map_err(say)? == bytes {
        return Ok(());
    }
    Err(format!("{shown}: the file differs"))
}

/// A file from the program under qemu-user, with and without prefixes of control characters.
fn sends(root: &Path, name: &str, program: &Path) -> Result<(), String> {
    let say = |e: std::io::Error| e.to_string();
    let (file, folder) = (root.join("target/mini/sent"), root.join("target/mini/got"));
    let bytes = wetstring_testkit::noise(8, 300_000);
    fs::write(&file, &bytes).map_err(say)?;
    for argument in ["", " n"] {
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(say)?;
        }
        let (shown, from) = (program.display(), file.display());
        let line = format!("exec:qemu-{name}-static {shown}{argument} 3<{from}");
        let mut wst = Command::new(root.join("target/debug/wst"));
        wst.args(["receive", "-q", "-P", "kermit", "-o"]).arg(&folder);
        ended(wst.arg(line))?;
        if fs::read(folder.join("f")).map_err(say)? != bytes {
            return Err(format!("{shown}{argument}: the file differs"));
        }
    }
    Ok(())
}

fn ended(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(e) => Err(format!("{command:?}: {e}")),
    }
}
