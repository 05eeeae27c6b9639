//! `cargo xtask fuzz [BODY...] [--seconds N]`: each body under libFuzzer, a minute each by default.
//!
//! What it finds stands in `fuzz/corpus/BODY`, and the ordinary tests run it from then on. Needs the nightly
//! compiler and a C++ compiler.

use std::fs;
use std::path::Path;
use std::process::Command;

const SECONDS: u64 = 60;
/// A longer input is not tried.
const LONGEST: usize = 4000;
/// What libFuzzer needs of the compiler to see which branches an input takes.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1";

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let targets = root.join("fuzz/targets");
    let all = bodies(&targets)?;
    let (mut wanted, mut seconds) = (Vec::new(), SECONDS);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if arg == "--seconds" {
            let number = rest.next().and_then(|text| text.parse().ok());
            seconds = number.ok_or("expected --seconds N")?;
        } else if all.contains(arg) {
            wanted.push(arg.clone());
        } else {
            return Err(format!("expected a body ({}) or --seconds N, got {arg}", all.join(", ")));
        }
    }
    let wanted = if wanted.is_empty() { all } else { wanted };
    let host = host()?;
    let mut found = Vec::new();
    for body in &wanted {
        println!("== {body}, {seconds} s");
        if !one(&targets, &host, body, seconds)? {
            found.push(body.as_str());
        }
    }
    match found.as_slice() {
        [] => Ok(()),
        some => Err(format!("{} found something; it stands in fuzz/corpus", some.join(", "))),
    }
}

/// Whether nothing was found.
fn one(targets: &Path, host: &str, body: &str, seconds: u64) -> Result<bool, String> {
    let kept = targets.join("../corpus").join(body);
    // What was tried is many files; only what fails is kept in the repository.
    let build = targets.join("../../target/fuzz");
    let tried = build.join("tried").join(body);
    for folder in [&kept, &tried] {
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let mut run = Command::new("cargo");
    run.current_dir(targets).env("RUSTFLAGS", COVERAGE).env("CARGO_TARGET_DIR", &build);
    run.args(["+nightly", "run", "--quiet", "--release", "--target", host, "--bin", body, "--"]);
    run.args([format!("-max_total_time={seconds}"), format!("-max_len={LONGEST}")]);
    run.args(["-timeout=20", "-print_final_stats=1", "-verbosity=0"]);
    run.arg(format!("-artifact_prefix={}/", kept.display())).arg(&tried).arg(&kept);
    let status = run.status().map_err(|e| format!("cargo +nightly: {e}"))?;
    // A folder that stays empty is none of the repository's.
    let _ = fs::remove_dir(&kept);
    Ok(status.success())
}

fn bodies(targets: &Path) -> Result<Vec<String>, String> {
    let path = targets.join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let names = text.split("[[bin]]").skip(1);
    let names = names.filter_map(|bin| bin.split("name = \"").nth(1)?.split('"').next());
    Ok(names.map(str::to_owned).collect())
}

fn host() -> Result<String, String> {
    let said = Command::new("rustc").arg("-vV").output().map_err(|e| format!("rustc: {e}"))?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "expected a host from rustc -vV".to_owned())
}
