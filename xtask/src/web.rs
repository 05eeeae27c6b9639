//! `cargo xtask web [build|test]`: the package for browsers and the page, and their tests in Chromium.
//!
//! Needs Node 20 with npm, and Chromium. The tests run the `wst` in `target/debug`, which has to have the page:
//! `cargo build -p wetstring --features web`, between the two. CI calls all three, in the step `web`.

use std::path::Path;

/// The page's limit after `gzip -9` is in `web/build.mjs`, beside what makes it.
const BUILD: &[&[&str]] = &[
    &["npm", "ci", "--no-progress", "--ignore-scripts"],
    &["cargo", "fmt", "--manifest-path", "wasm/Cargo.toml", "--check"],
    &["cargo", "fmt", "--manifest-path", "lab/Cargo.toml", "--check"],
    &["cargo", "fmt", "--manifest-path", "device/Cargo.toml", "--check"],
    &["npm", "run", "--silent", "build"],
];
const TEST: &[&[&str]] = &[&["npm", "test", "--silent"]];

pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let commands = match args.first().map(String::as_str) {
        Some("build") => BUILD,
        Some("test") => TEST,
        other => {
            return Err(format!("expected build or test, got {}", other.unwrap_or("nothing")));
        }
    };
    let web = root.join("web");
    let now = crate::commit::of(root);
    for words in commands {
        let mut command = crate::building::building(words[0]);
        command.args(&words[1..]).current_dir(&web);
        let status = command.status().map_err(|e| format!("{}: {e}", words[0]))?;
        if !status.success() {
            return Err(format!("{}: {status}", words.join(" ")));
        }
    }
    if commands == BUILD {
        // The package has only the files that package.json names: not this one.
        crate::commit::mark(now, &web.join("dist"))?;
    }
    Ok(())
}
