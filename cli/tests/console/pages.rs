//! The pages, and the blocks and prompts in them.

use std::fs;
use std::path::{Path, PathBuf};

/// Fences of files that pages show, and the names of those files in commands.
const FILES: [(&str, &str); 2] = [("toml", "mine.toml"), ("yaml", "ser2net.yaml")];

/// How a block is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// By itself, without a terminal.
    Alone,
    /// By a user at terminals; such blocks of a page are one session, in order.
    Terminal,
    /// The same, with U-Boot behind the device.
    Board,
    /// Not, for this reason.
    Norun(String),
}

/// A block of a page.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) page: String,
    pub(super) line: usize,
    pub(super) kind: Kind,
    /// The files that the page shows before, by the names that commands have for them; the last of each name.
    pub(super) files: Vec<(&'static str, String)>,
    pub(super) lines: Vec<String>,
}

/// A command, and what is shown of its output.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// "" is a board.
    pub(super) host: String,
    pub(super) command: String,
    pub(super) shown: Vec<String>,
}

/// The root of the repository.
pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root")
}

/// The pages: README and everything under `docs/`.
pub(super) fn pages() -> Vec<(String, String)> {
    let root = root();
    let mut pages = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("docs").filter_map(Result::ok) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    let name =
        |path: &PathBuf| path.strip_prefix(root).expect("below the root").display().to_string();
    pages.iter().map(|path| (name(path), fs::read_to_string(path).expect("a page"))).collect()
}

/// The console blocks of a page.
pub(super) fn blocks(page: &str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut files: Vec<(&'static str, String)> = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let inner = lines.by_ref().map(|(_, line)| line.to_owned());
        let inner: Vec<String> = inner.take_while(|line| line != "```").collect();
        if let Some((_, name)) = FILES.iter().find(|(fence, _)| *fence == info) {
            files.retain(|(known, _)| known != name);
            files.push((*name, inner.join("\n")));
        }
        let Some(rest) = info.strip_prefix("console") else { continue };
        let kind = match rest {
            "" => Kind::Alone,
            ",terminal" => Kind::Terminal,
            ",board" => Kind::Board,
            _ => {
                let why = rest.strip_prefix(",norun");
                Kind::Norun(
                    why.unwrap_or_else(|| panic!("{page}:{}: {info}", at + 1)).trim().into(),
                )
            }
        };
        let (page, files) = (page.to_owned(), files.clone());
        blocks.push(Block { page, line: at + 1, kind, files, lines: inner });
    }
    blocks
}

/// The host and the command of a line, if it has a prompt. A board has no name.
pub(super) fn prompt(line: &str) -> Option<(&str, &str)> {
    if let Some(command) = line.strip_prefix("=>") {
        return Some(("", command.trim()));
    }
    let (host, command) = match line.strip_suffix('$') {
        Some(host) => (host, ""),
        None => line.split_once("$ ")?,
    };
    let is_name = host.chars().all(|c| c.is_ascii_alphanumeric());
    let command = command.split("   # ").next().unwrap_or_default().trim_end();
    is_name.then_some((if host.is_empty() { "here" } else { host }, command))
}

impl Block {
    /// Where it stands.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }

    /// The files that the page shows for a command.
    pub(super) fn files_for<'a>(
        &'a self,
        command: &'a str,
    ) -> impl Iterator<Item = &'a (&'static str, String)> {
        self.files.iter().filter(move |(name, _)| command.contains(name))
    }

    /// Its commands, each with its output.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for line in &self.lines {
            match (prompt(line), steps.last_mut()) {
                (Some((_, "")), _) => {}
                (Some((host, command)), _) => {
                    let (host, command) = (host.to_owned(), command.to_owned());
                    steps.push(Step { host, command, shown: Vec::new() });
                }
                (None, Some(step)) => step.shown.push(line.clone()),
                (None, None) => panic!("{}: expected a prompt, got {line}", self.place()),
            }
        }
        assert!(!steps.is_empty(), "{}: expected a command, with a prompt", self.place());
        steps
    }
}

#[test]
fn blocks_and_prompts_are_read() {
    let text = "a\n```console\n$ wst x   # why\nthere$ y &\nout\n```\n```console,norun no board\n=> z\n```\n```console,terminal\nbox$\n```\n";
    let found = blocks("p", text);
    assert_eq!(found.len(), 3, "{found:?}");
    let prompts: Vec<_> = found[0].lines.iter().map(|line| prompt(line)).collect();
    assert_eq!(prompts, [Some(("here", "wst x")), Some(("there", "y &")), None]);
    assert_eq!(found[0].steps()[1].shown, ["out"]);
    assert_eq!(found[1].kind, Kind::Norun("no board".to_owned()));
    assert_eq!(prompt(&found[1].lines[0]), Some(("", "z")));
    assert_eq!(found[2].kind, Kind::Terminal);
    assert_eq!(prompt(&found[2].lines[0]), Some(("box", "")));
}
