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
const MOST_BYTES: usize = 60_000;

/// Name for qemu, target, and flags.
const TARGETS: [(&str, &str, &str); 6] = [
    ("x86_64", "x86_64-unknown-none", ""),
    ("aarch64", "aarch64-unknown-none", ""),
    ("arm", "armv7a-none-eabi", "-Ctarget-feature=+thumb-mode"),
    ("riscv64", "riscv64gc-unknown-none-elf", ""),
    ("mipsel", "mipsel-unknown-none", ""),
    // Rust has none of this name: `mini/mips-unknown-none.json` describes it.
    ("mips", "mips-unknown-none", ""),
];

/// The compiler: what it is asked for here is not stable, and is tried with this one; `.ci/run` installs it.
pub(crate) const TOOLCHAIN: &str = "+nightly-2026-05-20";

/// Linked for a fixed address, so that nothing is relocated; a panic has no text.
const FLAGS: &str = "-Crelocation-model=static -Zunstable-options -Cpanic=immediate-abort \
     -Zlocation-detail=none -Zfmt-debug=none";

/// Name, protocol, and bytes beyond those of a receiver: a sender has more to decide.
const PROGRAMS: [(&str, &str, usize); 3] =
    [("wst-mini", "kermit", 0), ("wst-mini-send", "kermit", 15_000), ("wst-mini-xy", "ymodem", 0)];
/// What a sender has beyond that with MIPS, whose instructions have one length here.
const LONG_INSTRUCTIONS: usize = 20_000;

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
        let described = format!("{target}.json");
        if root.join("mini").join(&described).is_file() {
            cargo.args([&described, "-Zjson-target-spec"]);
        } else {
            cargo.arg(target);
        }
        ended(&mut cargo)?;
        for (program, protocol, more) in PROGRAMS {
            let linked = built.join(target).join("release").join(program);
            let bytes = fs::read(&linked).map_err(|e| format!("{}: {e}", linked.display()))?;
            let bytes =
                loaded_part(bytes).ok_or_else(|| format!("{}: expected ELF", linked.display()))?;
            let is_long = more > 0 && target.starts_with("mips");
            let more = if is_long { more + LONG_INSTRUCTIONS } else { more };
            let (len, most) = (bytes.len(), MOST_BYTES + more);
            println!("{target} {program}: {len} bytes");
            if len > most {
                return Err(format!("expected at most {most} bytes, {program} has {len}"));
            }
            let share = built.join("share").join(name);
            let path = share.join(program);
            let copied = fs::create_dir_all(&share)
                .and_then(|()| fs::copy(&linked, &path))
                .and_then(|_| fs::write(&path, &bytes));
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

/// An ELF program without what is not loaded: the sections of linkers and debuggers, which `strip` leaves in part.
fn loaded_part(mut program: Vec<u8>) -> Option<Vec<u8>> {
    const LOAD: u64 = 1;
    let (wide, big) = match program.get(..6)? {
        [0x7F, b'E', b'L', b'F', class @ 1..=2, order @ 1..=2] => (*class == 2, *order == 2),
        _ => return None,
    };
    // Of the ELF header: where the program headers are, how long each is and how many; where sections are.
    let (headers, sections, entry) = if wide { (32, 40, 54) } else { (28, 32, 42) };
    let word = if wide { 8 } else { 4 };
    let number = |program: &[u8], at: usize, len: usize| {
        let bytes = program.get(at..at + len)?;
        let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(if big { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) })
    };
    let first = usize::try_from(number(&program, headers, word)?).ok()?;
    let (size, count) =
        (number(&program, entry, 2)? as usize, number(&program, entry + 2, 2)? as usize);
    let mut end = first + size * count;
    for at in (0..count).map(|index| first + index * size) {
        // Offset and length in the file.
        let (offset, len) = if wide { (at + 8, at + 32) } else { (at + 4, at + 16) };
        if number(&program, at, 4)? == LOAD {
            let last = number(&program, offset, word)? + number(&program, len, word)?;
            end = end.max(usize::try_from(last).ok()?);
        }
    }
    program.get_mut(sections..sections + word)?.fill(0);
    // How many sections there are, and which one has their names.
    program.get_mut(entry + 6..entry + 10)?.fill(0);
    program.truncate(end);
    Some(program)
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
