//! The paths that stand in a source file: as much of the grammar as imports need.

use crate::tidy::tokens::{Token, is_word, tokens};
use std::collections::BTreeSet;

/// A path to something in the same crate.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// The inline modules that it stands in.
    pub(super) inside: Vec<String>,
    /// Its parts as written, such as `super`, `wire`, `Packet`.
    pub(super) parts: Vec<String>,
    /// The name by which a `use` makes it known; `*` for all names; nothing if it only stands in code.
    pub(super) name: Option<String>,
    pub(super) line: usize,
}

/// What is known of a file.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) paths: Vec<Path>,
    /// The names of items that stand in it.
    pub(super) items: BTreeSet<String>,
    /// Every word of it.
    pub(super) words: BTreeSet<String>,
}

/// Reads a file.
pub(super) fn read(text: &str) -> Source {
    let tokens = tokens(text);
    let mut source = Source::default();
    let mut reader = Reader { tokens: &tokens, at: 0 };
    // Inline modules that are open, each with the depth of its braces.
    let mut open: Vec<(String, usize)> = Vec::new();
    let mut depth = 0;
    while let Some(token) = reader.next() {
        source.words.insert(token.text.clone());
        let inside = || open.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                open.retain(|(_, at)| *at <= depth);
            }
            "#" if reader.follows(&["[", "cfg", "(", "test", ")", "]"]) => reader.skip_item(),
            "use" => {
                let leaves = reader.tree(&[]);
                source.paths.extend(leaves.into_iter().map(|(parts, name)| Path {
                    inside: inside(),
                    parts,
                    name: Some(name),
                    line: token.line,
                }));
            }
            "mod" => {
                let name = reader.next().map_or(String::new(), |name| name.text.clone());
                if reader.follows(&["{"]) {
                    open.push((name, depth + 1));
                } else {
                    source.items.insert(name);
                }
            }
            "struct" | "enum" | "trait" | "fn" | "type" | "const" | "static" | "macro_rules" => {
                let name = reader.tokens[reader.at..].iter().find(|next| next.text != "!");
                source.items.extend(name.map(|name| name.text.clone()));
            }
            _ if is_word(token.text.as_bytes()[0]) && reader.follows(&["::"]) => {
                let parts = reader.path(token);
                source.words.extend(parts.iter().cloned());
                source.paths.push(Path { inside: inside(), parts, name: None, line: token.line });
            }
            _ => {}
        }
    }
    source
}

struct Reader<'t> {
    tokens: &'t [Token],
    at: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Option<&'t Token> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        Some(token)
    }

    /// Whether these words come next.
    fn follows(&self, words: &[&str]) -> bool {
        let next = self.tokens[self.at..].iter().map(|token| token.text.as_str());
        next.take(words.len()).eq(words.iter().copied())
    }

    /// Passes over an attribute and the item behind it, up to `;` or the brace that closes it.
    fn skip_item(&mut self) {
        let mut depth = 0;
        while let Some(token) = self.next() {
            match token.text.as_str() {
                "{" => depth += 1,
                "}" if depth == 1 => return,
                "}" => depth -= 1,
                ";" if depth == 0 => return,
                _ => {}
            }
        }
    }

    /// A path that stands in code, of which the first part is read.
    fn path(&mut self, first: &Token) -> Vec<String> {
        let mut parts = vec![first.text.clone()];
        while self.follows(&["::"]) {
            let Some(next) = self.tokens.get(self.at + 1) else { break };
            if !is_word(next.text.as_bytes()[0]) {
                break;
            }
            parts.push(next.text.clone());
            self.at += 2;
        }
        parts
    }

    /// The leaves of a tree of `use`, each with the name it gets.
    fn tree(&mut self, before: &[String]) -> Vec<(Vec<String>, String)> {
        let mut parts = before.to_vec();
        while let Some(token) = self.next() {
            match token.text.as_str() {
                "::" => {}
                "{" => {
                    let mut leaves = Vec::new();
                    while !self.follows(&["}"]) && self.at < self.tokens.len() {
                        leaves.extend(self.tree(&parts));
                        if self.follows(&[","]) {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return leaves;
                }
                "*" => return vec![(parts, "*".to_owned())],
                "self" if !parts.is_empty() => {}
                "as" => {
                    let name = self.next().map_or(String::new(), |name| name.text.clone());
                    return vec![(parts, name)];
                }
                _ => parts.push(token.text.clone()),
            }
            if self.follows(&[","]) || self.follows(&["}"]) || self.follows(&[";"]) {
                break;
            }
        }
        let name = parts.last().cloned().unwrap_or_default();
        vec![(parts, name)]
    }
}
