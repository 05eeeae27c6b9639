//! The book: every page of `docs/` is reached from its summary, and no link between pages leads nowhere.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::table::{MARK, WRITTEN};

/// The folders of the book, each of pages of one kind.
const FOLDERS: [&str; 7] =
    ["decisions", "explanation", "howto", "lessons", "moving", "protocols", "reference"];

/// Pages that stand beside the folders.
const BESIDE: [&str; 4] = ["GLOSSARY.md", "README.md", "SUMMARY.md", "stability.md"];

/// Where files of the repository are that the book does not have; what follows is a path from the root.
const OURS: &str = "https://github.com/wetstring/wetstring/blob/main/";

/// A how-to page is one task, on a screen and a half; these are overviews of several ways.
const MOST_LINES_OF_A_HOWTO: usize = 45;
const LONG_HOWTOS: [&str; 3] = ["boards", "install", "packages"];

/// Decisions are a page.
const MOST_LINES_OF_A_DECISION: usize = 60;

/// Pages of the book that `SUMMARY.md` does not name, as (path, sentence).
pub(super) fn unreached(root: &Path) -> Result<Vec<(String, String)>, String> {
    let docs = root.join("docs");
    let read =
        |path: &Path| std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let summary = read(&docs.join("SUMMARY.md"))?;
    let named: BTreeSet<String> = links(&summary).into_iter().map(|(_, to)| to).collect();
    let mut found = Vec::new();
    for page in pages(&docs, &docs)? {
        if page != "SUMMARY.md" && !named.contains(&page) {
            let say = "expected a line of docs/SUMMARY.md that leads to this page".to_owned();
            found.push((format!("docs/{page}"), say));
        }
    }
    Ok(found)
}

fn is_page(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|end| end == "md")
}

/// The pages in a folder, by their paths from the root of the book.
fn pages(book: &Path, folder: &Path) -> Result<Vec<String>, String> {
    let say = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(say)?.filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(pages(book, &path)?);
        } else if is_page(&path.to_string_lossy())
            && let Ok(relative) = path.strip_prefix(book)
        {
            found.push(relative.to_string_lossy().replace('\\', "/"));
        }
    }
    found.sort();
    Ok(found)
}

/// What a Markdown text links to, with the line. Code is no text.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut code = false;
    for (index, line) in text.lines().enumerate() {
        code ^= line.starts_with("```");
        if code {
            continue;
        }
        // What stands between back quotes is code, too.
        let plain: String = line.split('`').step_by(2).collect();
        for (at, mark) in plain.match_indices("](") {
            let rest = &plain[at + mark.len()..];
            found.extend(rest.find(')').map(|end| (index + 1, rest[..end].to_owned())));
        }
    }
    found
}

/// The headings of a page, as links name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut code = false;
    let headings = text.lines().filter(|line| {
        code ^= line.starts_with("```");
        !code && line.starts_with('#')
    });
    headings.map(anchor).collect()
}

/// How links name a heading.
pub(super) fn anchor(heading: &str) -> String {
    let title = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The links of the page at `path` that lead nowhere, as (line, sentence).
pub(super) fn broken_links(root: &Path, path: &str, text: &str) -> Vec<(usize, String)> {
    if !is_page(path) {
        return Vec::new();
    }
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let leads_nowhere = |(line, to): (usize, String)| {
        let ours = to.strip_prefix(OURS);
        if ours.is_none() && (to.contains("://") || to.starts_with("mailto:")) {
            return None;
        }
        let folder = if ours.is_some() { Path::new("") } else { folder };
        let to = ours.unwrap_or(&to);
        let (file, anchor) = to.split_once('#').unwrap_or((to, ""));
        let target = if file.is_empty() { PathBuf::from(path) } else { joined(folder, file)? };
        let whole = root.join(&target);
        if !whole.exists() {
            return Some((
                line,
                format!("expected a file, the link leads to {}", target.display()),
            ));
        }
        let text =
            if anchor.is_empty() { String::new() } else { std::fs::read_to_string(whole).ok()? };
        let there = anchor.is_empty() || anchors(&text).contains(anchor);
        (!there)
            .then(|| (line, format!("expected a heading of {}, got #{anchor}", target.display())))
    };
    links(text).into_iter().filter_map(leads_nowhere).collect()
}

/// A path beside a folder, without `..`.
fn joined(folder: &Path, file: &str) -> Option<PathBuf> {
    let mut whole = PathBuf::new();
    for part in folder.join(file).components() {
        match part {
            Component::ParentDir if !whole.pop() => return None,
            Component::Normal(name) => whole.push(name),
            _ => {}
        }
    }
    Some(whole)
}

/// Whether a decision is cited by its number.
fn cites_a_number(line: &str) -> bool {
    let mut after =
        ["docs/decisions/", "decision "].into_iter().flat_map(|word| line.split(word).skip(1));
    after.any(|rest| rest.bytes().take_while(u8::is_ascii_digit).count() == 3)
}

/// Whether users may see this line: a text of the program, not a comment, or of a published table.
fn is_shown(path: &str, line: &str) -> bool {
    let line = line.trim_start();
    match path.rsplit_once('.') {
        Some((path, "rs")) => {
            let of_users = !path.starts_with("xtask/") && path.contains("/src/");
            of_users && !line.starts_with("//") && line.contains('"')
        }
        Some((path, "toml")) => path.starts_with("lab/") && !line.starts_with('#'),
        _ => false,
    }
}

/// A page says that it is written from the code if it is, so that it is not edited by hand.
fn wrongly_marked(page: &str, text: &str) -> Option<String> {
    let written = page.strip_prefix("reference/").is_some_and(|name| WRITTEN.contains(&name));
    let says = text.lines().any(|line| line.trim_start_matches("<!-- ").starts_with(MARK));
    match (written, says) {
        (true, false) => Some(format!("expected a line that begins with {MARK}")),
        (false, true) => Some("expected this page in WRITTEN of xtask/src/table.rs".to_owned()),
        _ => None,
    }
}

/// What is wrong with a page by itself, as (line, sentence): a decision is short, and users get titles, not numbers.
pub(super) fn wrong(path: &str, text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let lines = text.lines().count();
    let is_list = path.ends_with("/README.md") || path.ends_with("/dependencies.md");
    if path.starts_with("docs/decisions/") && lines > MOST_LINES_OF_A_DECISION && !is_list {
        found.push((
            lines,
            format!("expected at most {MOST_LINES_OF_A_DECISION} lines, got {lines}"),
        ));
    }
    for (index, line) in text.lines().enumerate() {
        if is_shown(path, line) && cites_a_number(line) {
            let say = "users see this: give the reason in words, or a source of docs/reference/sources.md";
            found.push((index + 1, say.to_owned()));
        }
    }
    let inside = path.strip_prefix("docs/").filter(|_| is_page(path));
    if let Some(inside) = inside {
        let known = match inside.split_once('/') {
            Some((folder, _)) => FOLDERS.contains(&folder),
            None => BESIDE.contains(&inside),
        };
        if !known {
            found.push((1, format!("expected a folder of the book: {}", FOLDERS.join(", "))));
        }
    }
    if let Some(say) = inside.and_then(|page| wrongly_marked(page, text)) {
        found.push((1, say));
    }
    let howto = inside.and_then(|page| page.strip_prefix("howto/")?.strip_suffix(".md"));
    if howto.is_some_and(|name| !LONG_HOWTOS.contains(&name)) && lines > MOST_LINES_OF_A_HOWTO {
        let say = format!("expected a task in at most {MOST_LINES_OF_A_HOWTO} lines, got {lines}");
        found.push((lines, say));
    }
    let of_users = inside.is_some_and(|page| {
        !["decisions/", "protocols/", "GLOSSARY.md"].iter().any(|other| page.starts_with(other))
    });
    if of_users {
        for (index, line) in text.lines().enumerate() {
            if cites_a_number(line) {
                found.push((index + 1, "cite a decision by its title, with a link".to_owned()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_headings_are_read() {
        let text = "# A `b` c\n[x](y.md) and [z](w.md#v)\n```\n[no](no.md)\n```\n`[no](no.md)`\n";
        let found: Vec<String> =
            links(text).into_iter().map(|(line, to)| format!("{line} {to}")).collect();
        assert_eq!(found, ["2 y.md", "2 w.md#v"]);
        assert_eq!(anchors(text), BTreeSet::from(["a-b-c".to_owned()]));
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let root = crate::root();
        let broken = |text: &str| broken_links(&root, "docs/howto/slip.md", text).len();
        assert_eq!(
            broken("[a](netblt.md) [b](../GLOSSARY.md#glossary) [c](https://example.org)"),
            0
        );
        assert_eq!(
            broken(&format!("[a]({OURS}CHANGELOG.md) [b]({OURS}SECURITY.md#no-false-success)")),
            0
        );
        let ours = ["nothing.md", "SECURITY.md#nothing"].map(|to| format!("[a]({OURS}{to})"));
        let ours = ours.iter().map(String::as_str);
        let here = ["[a](nothing.md)", "[a](netblt.md#nothing)", "[a](#nothing)"];
        for text in here.into_iter().chain(ours) {
            assert_eq!(broken(text), 1, "{text}");
        }
    }

    #[test]
    fn a_page_without_a_line_of_the_summary_is_found() {
        let dir = std::env::temp_dir().join(format!("wetstring-book-{}", std::process::id()));
        let docs = dir.join("docs/howto");
        std::fs::create_dir_all(&docs).unwrap();
        std::fs::write(dir.join("docs/SUMMARY.md"), "- [A](howto/a.md)\n").unwrap();
        for name in ["a.md", "b.md"] {
            std::fs::write(docs.join(name), "").unwrap();
        }
        let found = unreached(&dir);
        std::fs::remove_dir_all(&dir).unwrap();
        let paths: Vec<String> = found.unwrap().into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["docs/howto/b.md"]);
    }

    #[test]
    fn pages_stand_in_known_folders_and_tasks_are_short() {
        for good in ["docs/moving/x.md", "docs/howto/x.md", "docs/stability.md", "docs/x.svg"] {
            assert!(wrong(good, "a\n").is_empty(), "{good}");
        }
        for bad in ["docs/guides/x.md", "docs/x.md"] {
            assert_eq!(wrong(bad, "a\n").len(), 1, "{bad}");
        }
        assert!(wrong("docs/howto/x.md", &"a\n".repeat(45)).is_empty());
        assert_eq!(wrong("docs/howto/x.md", &"a\n".repeat(46)).len(), 1);
        assert!(wrong("docs/howto/install.md", &"a\n".repeat(46)).is_empty());
        assert_eq!(wrong("docs/moving/x.md", concat!("see docs/decisions/", "053\n")).len(), 1);
    }

    #[test]
    fn pages_that_are_written_say_so() {
        let marked = format!("# A\n\n{MARK} from the code.\n");
        assert!(wrong("docs/reference/lines.md", &marked).is_empty());
        assert_eq!(wrong("docs/reference/lines.md", "# A\n").len(), 1);
        assert_eq!(wrong("docs/reference/terminal.md", &marked).len(), 1);
        let part = format!("# A\n\n<!-- {MARK}. -->\n");
        assert!(wrong("docs/reference/exit-codes.md", &part).is_empty());
    }

    #[test]
    fn decisions_have_an_end_and_pages_cite_titles() {
        assert!(wrong("docs/decisions/001-x.md", &"a\n".repeat(60)).is_empty());
        assert_eq!(wrong("docs/decisions/001-x.md", &"a\n".repeat(61)).len(), 1);
        assert_eq!(wrong("docs/howto/x.md", concat!("see docs/decisions/", "053\n")).len(), 1);
        let row = concat!("    \"docs/decisions/", "053\";\n");
        assert_eq!(wrong("proto/src/netblt/config.rs", row).len(), 1);
        assert_eq!(wrong("lab/tables/x.toml", concat!("a = \"decision ", "053\"\n")).len(), 1);
        assert!(wrong("proto/src/netblt/config.rs", &format!("// {row}")).is_empty());
        assert!(wrong("proto/tests/settings.rs", row).is_empty());
        assert!(
            wrong("docs/howto/x.md", "see [The rate](../decisions/053-netblt-rate.md)\n")
                .is_empty()
        );
    }
}
