//! `capi/api.txt`: what `wetstring.h` declares, one item a line and without comments, as `proto/api.txt` has the interface of
//! the crate. A change of the interface for C changes it in the same commit.
//!
//! The listings of the other packages are made where their languages are read: `python/tests/test_interface.py` and
//! `web/test/interface.test.mjs`.

use std::path::Path;

const HEADER: &str = "capi/include/wetstring.h";

/// The listings: paths and what they should be.
pub(super) fn listings(root: &Path) -> Result<Vec<(String, String)>, String> {
    let header =
        std::fs::read_to_string(root.join(HEADER)).map_err(|e| format!("{HEADER}: {e}"))?;
    let lines = declarations(&header);
    if lines.is_empty() {
        return Err(format!("{HEADER}: expected declarations, there are none"));
    }
    Ok(vec![("capi/api.txt".to_owned(), lines.join("\n") + "\n")])
}

/// A text without what stands between `/*` and `*/`, and without lines of the preprocessor.
fn plain(header: &str) -> String {
    let mut text = String::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once("/*") {
        text.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    let lines = text.lines().filter(|line| !line.starts_with('#') && *line != "extern \"C\" {");
    lines.collect::<Vec<_>>().join(" ")
}

/// Every function, and every member of an enumeration or structure behind its name.
fn declarations(header: &str) -> Vec<String> {
    let text = plain(header);
    let (mut found, mut rest) = (Vec::new(), text.as_str());
    while let Some(at) = rest.find([';', '{']) {
        let head = words(&rest[..at]);
        if rest[at..].starts_with(';') {
            // What stands behind a closing brace is the second name of a structure.
            if head.contains('(') {
                found.push(head);
            }
            rest = &rest[at + 1..];
            continue;
        }
        let (body, after) = rest[at + 1..].split_once('}').unwrap_or((&rest[at + 1..], ""));
        let name = head.trim_start_matches('}').trim().trim_start_matches("typedef ");
        let between = if name.starts_with("enum") { ',' } else { ';' };
        let members = body.split(between).map(words).filter(|member| !member.is_empty());
        found.extend(members.map(|member| format!("{name}: {member}")));
        rest = after;
    }
    found
}

/// The words of a text, with one blank between them.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_functions_are_listed_without_comments() {
        let header = "#ifdef X\nextern \"C\" {\n#endif\n/* Kinds; all. */\nenum kind { A = 0, /* a; b */\n B = 1 };\n\
                      typedef struct port {\n  void *context; /* x */\n  int (*read)(void *context,\n  size_t len);\n} port;\n\
                      int move(const port *port);\n#ifdef X\n}\n#endif\n";
        let wanted = [
            "enum kind: A = 0",
            "enum kind: B = 1",
            "struct port: void *context",
            "struct port: int (*read)(void *context, size_t len)",
            "int move(const port *port)",
        ];
        assert_eq!(declarations(header), wanted);
    }
}
