//! `cargo xtask python [--release] [--ray]`: the wheel of `python/`, installed into an environment of its own, and its tests.
//!
//! Ray is not among what is installed, since it is 245 MB and may take minutes to get: `--ray` installs it, and requires its
//! test, which is run wherever Ray is.
//!
//! Everything is below `target/python`: the environment (`venv`), the wheels, and a directory that the tests are run in,
//! so that they find the wheel and not the source. The crates are built in the workspace's `target`, whose profile is the
//! same: what is there is not built again. Needs `python3` with `venv`, and pip's registry.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let (mut profile, mut ray) = ("dev", false);
    for arg in args {
        match arg.as_str() {
            "--release" => profile = "release",
            "--ray" => ray = true,
            _ => return Err(format!("expected --release or --ray, got {arg}")),
        }
    }
    let (home, source) = (root.join("target/python"), root.join("python"));
    let (wheels, scratch) = (home.join("wheels"), home.join("empty"));
    for empty in [&wheels, &scratch] {
        // What an earlier run left is of another build.
        let _ = std::fs::remove_dir_all(empty);
        std::fs::create_dir_all(empty).map_err(|e| format!("{}: {e}", empty.display()))?;
    }
    let environment = Environment::open(&home.join("venv"))?;
    environment.install(&["-r", &source.join("requirements.txt").display().to_string()])?;
    if ray {
        environment.install(&["ray==2.*"])?;
    }
    ended(
        environment
            .module("maturin")
            .args(["build", "--quiet", "--locked", "--profile", profile, "-i"])
            .arg(&environment.python)
            .arg("--out")
            .arg(&wheels)
            .current_dir(&source)
            .env("CARGO_TARGET_DIR", root.join("target")),
    )?;
    let wheel = wheel(&wheels)?.display().to_string();
    environment.install(&["--force-reinstall", "--no-deps", &wheel])?;
    // It reads the source, whose stubs are those of the wheel.
    ended(environment.module("mypy").arg("--no-incremental").current_dir(&source))?;
    let mut tests = environment.module("pytest");
    tests.args(["-q", "--durations=5"]).arg(source.join("tests"));
    tests.current_dir(&scratch).env("PYTHONDONTWRITEBYTECODE", "1");
    if ray {
        tests.env("WETSTRING_RAY", "1");
    }
    let wst = root.join("target/debug/wst");
    if wst.exists() {
        tests.env("WETSTRING_WST", wst);
    }
    ended(&mut tests)
}

/// A virtual environment of Python.
pub(crate) struct Environment {
    python: PathBuf,
}

impl Environment {
    /// The one in this directory, which is made if need be.
    pub(crate) fn open(venv: &Path) -> Result<Self, String> {
        let python = venv.join(if cfg!(windows) { "Scripts/python" } else { "bin/python" });
        if !python.exists() {
            ended(Command::new("python3").args(["-m", "venv"]).arg(venv))?;
        }
        Ok(Self { python })
    }

    /// Runs its interpreter, and lets what that runs find the environment's programs first.
    pub(crate) fn python(&self) -> Command {
        let mut command = crate::building::building(&self.python);
        let above = self.python.parent().map(Path::to_owned);
        let before = std::env::var_os("PATH").unwrap_or_default();
        let all = above.into_iter().chain(std::env::split_paths(&before));
        if let Ok(path) = std::env::join_paths(all) {
            command.env("PATH", path);
        }
        command
    }

    /// Runs a module as a program.
    pub(crate) fn module(&self, name: &str) -> Command {
        let mut command = self.python();
        command.args(["-m", name]);
        command
    }

    /// Lets pip install these.
    pub(crate) fn install(&self, words: &[&str]) -> Result<(), String> {
        let mut pip = self.module("pip");
        ended(pip.args(["--disable-pip-version-check", "install", "--quiet"]).args(words))
    }
}

/// The one wheel in a directory.
fn wheel(wheels: &Path) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(wheels).map_err(|e| format!("{}: {e}", wheels.display()))?;
    let mut found = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    found.next().ok_or_else(|| format!("expected a wheel in {}, there is none", wheels.display()))
}

/// Runs it to its end.
pub(crate) fn ended(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(e) => Err(format!("{command:?}: {e}")),
    }
}
