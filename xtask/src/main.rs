//! Chores of the house: `cargo xtask CHORE`.
//!
//! | chore | what it does |
//! |---|---|
//! | `tidy` | checks the rules of the house ([`tidy`]) and the pages written from engines and events; also ordinary tests |
//! | `fuzz [BODY...] [--seconds N]` | runs the fuzz bodies under libFuzzer ([`fuzz`]) |
//! | `kill [--kills N] [--seed S] [--only PROTOCOL]` | kills transfers and starts them again: nothing may be lost ([`mod@kill`]) |
//! | `deny` | checks licences, bans and sources against `deny.toml` ([`deny`]) |
//! | `table [--write]` | checks, or writes, the pages of `docs/reference` that come from the code ([`table`]) |
//! | `book` | makes the book of `docs/` in `target/book`, by mdBook |
//! | `dist [TARGET...]` | makes packages of a release (`xtask/src/dist/mod.rs`) |
//! | `docs [--check \| --record] [--wst PATH]` | makes the pictures of README and book ([`docs`]) |
//! | `release --dry-run [--quick]` | walks through what a release needs, and says what is missing ([`release`]) |
//! | `ci [STEP...]` | runs what CI runs, or these steps of it ([`ci`]) |
//! | `audit [FILE] [--write]` | recomputes the laboratory's scoreboard from its cells, and checks or writes its page ([`audit`]) |
//! | `explain [--case N] [--wst PATH]` | whether what `wst explain` predicts comes true, live ([`explain`]) |
//! | `api [--write]` | compares the public interface of `wetstring-proto` with its listing (`xtask/src/api.rs`), and C's header with the library (`xtask/src/header.rs`) |
//! | `boot [--write]` | runs the boot loaders in QEMU, and prints what they take ([`boot`]) |
//! | `capi` | builds the library for C, and tests it with programs in C ([`capi`]) |
//! | `python [--release] [--ray]` | builds the package for Python, and tests it ([`python`]) |
//! | `wheels [TARGET...]` | builds the package for Python for every system ([`wheels`]) |
//! | `peers` | measures `wst` beside the programs people have ([`peers`]) |

#![forbid(unsafe_code)]

#[cfg(feature = "api")]
mod api;
mod audit;
mod book;
mod boot;
mod building;
mod capi;
mod ci;
mod commit;
mod deny;
#[cfg(feature = "packages")]
mod dist;
mod docs;
mod explain;
mod fuzz;
#[cfg(feature = "api")]
mod header;
mod kill;
mod mini;
mod peers;
mod python;
mod release;
mod states;
mod table;
#[cfg_attr(
    not(feature = "packages"),
    allow(dead_code, reason = "the chore that builds needs them all")
)]
mod target;
mod tidy;
mod web;
mod wheels;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_path_buf()
}

/// Makes the packages of a release.
#[cfg(feature = "packages")]
fn dist(args: &[String]) -> Result<(), String> {
    dist::run(&root(), args)
}

#[cfg(not(feature = "packages"))]
fn dist(args: &[String]) -> Result<(), String> {
    with_feature("packages", "dist", args)
}

/// Compares the public interface with its listing, and the header of C with the library.
#[cfg(feature = "api")]
fn api(args: &[String]) -> Result<(), String> {
    let write = match args {
        [] => false,
        [word] if word == "--write" => true,
        other => return Err(format!("expected --write or nothing, got {}", other.join(" "))),
    };
    header::run(&root(), write)?;
    api::run(&root(), write)
}

#[cfg(not(feature = "api"))]
fn api(args: &[String]) -> Result<(), String> {
    with_feature("api", "api", args)
}

/// Does a chore by a build of this program that has what only this one needs.
#[cfg(not(all(feature = "api", feature = "packages")))]
fn with_feature(feature: &str, chore: &str, args: &[String]) -> Result<(), String> {
    let mut cargo = building::cargo();
    cargo.args(["run", "--quiet", "--locked", "-p", "xtask", "--features", feature, "--", chore]);
    let status = cargo.args(args).current_dir(root()).status();
    if status.map_err(|e| format!("cargo: {e}"))?.success() {
        return Ok(());
    }
    Err(format!("{chore} failed"))
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    let result = match args.first().map(String::as_str) {
        Some("tidy") => tidy::run(&root()).and(table::pages(&root(), false)),
        Some("deny") => deny::run(&root()),
        Some("table") => table::run(&root(), rest.iter().any(|arg| arg == "--write")),
        Some("book") => book::run(&root()),
        Some("dist") => dist(rest),
        Some("docs") => docs::run(&root(), rest),
        Some("release") => release::run(&root(), rest),
        Some("ci") => ci::run(&root(), rest),
        Some("fuzz") => fuzz::run(&root(), rest),
        Some("kill") => kill::chore(rest),
        Some("mini") => mini::run(&root(), rest),
        Some("web") => web::run(&root(), rest),
        Some("audit") => audit::run(&root(), rest),
        Some("peers") => peers::run(rest),
        Some("api") => api(rest),
        Some("boot") => boot::run(&root(), rest),
        Some("capi") => capi::run(&root()),
        Some("python") => python::run(&root(), rest),
        Some("wheels") => wheels::run(&root(), rest),
        Some("explain") => explain::run(rest),
        other => Err(format!(
            "expected a chore (tidy, deny, fuzz, kill, table [--write], book, dist, docs [--check | --record], release --dry-run [--quick], ci [STEP...], audit, mini [--run], peers, api [--write], boot [--write], capi, python, wheels [TARGET...], explain, web build|test), got {}",
            other.unwrap_or("nothing")
        )),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
