//! Builds the program so that its bytes depend on its source and its tools, not on where or when it is built.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Release;
use crate::target::{LLD, Linker, Target};

/// Builds `wst` for a target, and says where it is.
pub(super) fn program(release: &Release, target: &Target) -> Result<PathBuf, String> {
    let mut cargo = crate::building::cargo();
    let (verb, hint) = match target.linker {
        Linker::Cargo(package) => ("rustc", format!("Debian's {package}")),
        Linker::Zig => ("zigbuild", "pip install cargo-zigbuild ziglang".to_owned()),
    };
    cargo.current_dir(&release.root).args([verb, "--locked", "-p", "wetstring", "--bin", "wst"]);
    cargo.args(["--profile", &release.profile, "--target", target.triple]);
    if !target.flags.is_empty() {
        cargo.arg("--").args(target.flags);
    }
    if target.flags.contains(&LLD) {
        let tools = printed("target-libdir")?;
        // Where the C compiler finds that linker, which is not on the path.
        cargo.arg(format!(
            "-Clink-arg=-B{}",
            Path::new(&tools).with_file_name("bin/gcc-ld").display()
        ));
    }
    as_anywhere(&mut cargo, release)?;
    println!("== {}: cargo {verb}, profile {}", target.triple, release.profile);
    let status = cargo.status().map_err(|e| format!("cargo: {e}"))?;
    if !status.success() {
        let triple = target.triple;
        return Err(format!(
            "{triple} is not built; it needs rustup target add {triple}, and {hint}"
        ));
    }
    // The profile of development has a folder of another name.
    let folder = if release.profile == "dev" { "debug" } else { &release.profile };
    Ok(release.build.join(target.triple).join(folder).join(target.program()))
}

/// What is built then has nothing in it of this machine, its settings and the time.
pub(super) fn as_anywhere(cargo: &mut Command, release: &Release) -> Result<(), String> {
    // Settings of profiles change what comes out.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let begins = ["CARGO_PROFILE_", "CARGO_ENCODED_"];
        if begins.iter().any(|begin| text.starts_with(begin)) {
            cargo.env_remove(&name);
        }
    }
    cargo.env("CARGO_TARGET_DIR", &release.build);
    cargo.env("CARGO_INCREMENTAL", "0");
    cargo.env("WETSTRING_COMMIT", &release.commit);
    cargo.env("SOURCE_DATE_EPOCH", release.epoch.to_string());
    let paths = paths(&release.root)?;
    let flags = |flag: &str, between: &str| -> String {
        let one = |(from, to): &(String, &str)| format!("{flag}={from}={to}");
        paths.iter().map(one).collect::<Vec<_>>().join(between)
    };
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags("--remap-path-prefix", "\u{1f}"));
    let unused = ["GREEDY", "LAZY", "LAZY2", "BTLAZY2"]
        .map(|name| format!(" -DZSTD_EXCLUDE_{name}_BLOCK_COMPRESSOR"));
    cargo.env("CFLAGS", flags("-ffile-prefix-map", " ") + &unused.concat());
    Ok(())
}

/// What the compiler says of itself.
fn printed(what: &str) -> Result<String, String> {
    let output = Command::new("rustc").args(["--print", what]).output();
    let output = output.map_err(|e| format!("rustc: {e}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Paths of this machine that compilers write into what they make, and what to write instead.
fn paths(root: &Path) -> Result<Vec<(String, &'static str)>, String> {
    let sysroot = printed("sysroot")?;
    let home = std::env::var("CARGO_HOME").ok().or_else(|| {
        let home = std::env::var("HOME").or_else(|_| std::env::var("USERPROFILE")).ok()?;
        Some(Path::new(&home).join(".cargo").display().to_string())
    });
    let mut paths = vec![(root.display().to_string(), "/wetstring")];
    paths.extend(home.map(|home| (home, "/cargo")));
    paths.push((sysroot, "/rust"));
    Ok(paths)
}
