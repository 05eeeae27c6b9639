//! `cargo xtask mini [--run]`: builds `wst-mini` and `wst-mini-xy` for each processor, into `target/mini`.
//!
//! Needs the nightly compiler with `rust-src`: `core` is built for size, and for processors for which it is not
//! delivered. `--run` receives a file with each program under qemu-user, from the `wst` in `target/debug`.

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

/// Linked for a fixed address, so that nothing is relocated; a panic has no text.
const FLAGS: &str = "-Crelocation-model=static -Zunstable-options -Cpanic=immediate-abort \
     -Zlocation-detail=none -Zfmt-debug=none";

const PROGRAMS: [(&str, &str); 2] = [("wst-mini", "kermit"), ("wst-mini-xy", "ymodem")];

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let runs = match args {
        [] => false,
        [one] if one == "--run" => true,
        _ => return Err(format!("expected --run or nothing, got {}", args.join(" "))),
    };
    let built = root.join("target/mini");
    for (name, target, flags) in TARGETS {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(root.join("mini")).env("CARGO_TARGET_DIR", &built);
        cargo.env("RUSTFLAGS", format!("{FLAGS} {flags}"));
        cargo.args(["+nightly", "build", "--release", "--locked", "-Zbuild-std=core", "--target"]);
        ended(cargo.arg(target))?;
        let most = if name == "mipsel" { MOST_BYTES_MIPS } else { MOST_BYTES };
        for (program, protocol) in PROGRAMS {
            let path = built.join(target).join("release").join(program);
            let len = fs::metadata(&path).map_err(|e| format!("{}: {e}", path.display()))?.len();
            println!("{target} {program}: {len} bytes");
            if len > most {
                return Err(format!("expected at most {most} bytes, {program} has {len}"));
            }
            if runs {
                receives(root, name, &path, protocol)?;
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

fn ended(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(e) => Err(format!("{command:?}: {e}")),
    }
}
