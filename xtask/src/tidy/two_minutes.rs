//! A task is done two minutes after its first word is read: each page of `docs/howto/`, and each of the tasks of the README.
//!
//! Counted is what a reader has to do, not what the program then takes. Prose and tables are read at 240 words a minute, the
//! speed of adults who read in silence what is no novel, and so is code in other languages, which is copied. Commands are typed at
//! 40 words of five characters a minute, the speed of those who have not learned to type. Output that is shown is skimmed at 400
//! words a minute, since it is compared with what came. A picture takes the time of its description. What a page expects to be
//! there, such as the program itself, is a task of another page.
//!
//! All of a page is read, although most readers are done after its first commands: no rule can know at which sentence
//! one stops, and a page does not get shorter because its second half is said to be unneeded. Of alternatives, though, one is read.
//! So where a page has headings of the second level, each of them is a task, with all that stands before the first
//! of them: a reader finds his own by its heading. Steps of one task stand under one heading. In the README the same
//! is true of the tasks, which have headings of the third level: read before one of them are the beginning of the page,
//! which leads to each of them by a link, and what stands above the first of them in its section.

use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

/// 240 words a minute.
const READ: Duration = Duration::from_millis(250);
/// 400 words a minute.
const SKIM: Duration = Duration::from_millis(150);
/// 200 characters a minute.
const TYPE: Duration = Duration::from_millis(300);

/// What is longer, such as an address or a key, is read as several words.
const LONGEST_WORD: usize = 12;

/// The tasks of the README, and how many there are.
const TASKS: &str = "## Five tasks";
const TASKS_COUNT: usize = 5;

/// A part of a page: the line of its heading, the heading, and its lines with that of the heading.
struct Part<'a> {
    line: usize,
    title: &'a str,
    lines: Vec<&'a str>,
}

/// The tasks of the page at `path` that take longer than they may, as (line, sentence).
pub(super) fn slow(path: &str, text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    if path == "README.md" {
        found.extend(missing(text));
    }
    let too_slow = times(path, text).into_iter().filter(|(_, _, time)| *time > LIMIT);
    found.extend(too_slow.map(|(line, title, time)| {
        let (limit, time) = (LIMIT.as_secs(), time.as_secs_f64());
        (
            line,
            format!("expected at most {limit} s of reading and typing, {title} takes {time:.1} s"),
        )
    }));
    found
}

/// The tasks of a page, each with its line, its heading and its time.
fn times<'a>(path: &str, text: &'a str) -> Vec<(usize, &'a str, Duration)> {
    let lines: Vec<&str> = text.lines().collect();
    let is_howto = path.starts_with("docs/howto/") && path.strip_suffix(".md").is_some();
    if path == "README.md" {
        let (beginning, sections) = split(&lines, "## ");
        let tasks = sections.iter().filter(|section| section.title == TASKS);
        tasks.flat_map(|section| each(&beginning, section.line, &section.lines, "### ")).collect()
    } else if is_howto {
        each(&[], 1, &lines, "## ")
    } else {
        Vec::new()
    }
}

/// The times of the parts of `lines`, the first of which is line `first` of its page: each after `before` and the beginning.
fn each<'a>(
    before: &[&str],
    first: usize,
    lines: &[&'a str],
    heading: &str,
) -> Vec<(usize, &'a str, Duration)> {
    let (beginning, parts) = split(lines, heading);
    let before = time(before) + time(&beginning);
    if parts.is_empty() {
        let title = lines.first().copied().unwrap_or_default();
        return vec![(first, title, before)];
    }
    let of = |part: &Part<'a>| (first + part.line - 1, part.title, before + time(&part.lines));
    parts.iter().map(of).collect()
}

/// What stands before the first heading that begins so, and the parts below the headings.
fn split<'a>(lines: &[&'a str], heading: &str) -> (Vec<&'a str>, Vec<Part<'a>>) {
    let mut beginning = Vec::new();
    let mut parts: Vec<Part<'a>> = Vec::new();
    let mut code = false;
    for (index, line) in lines.iter().copied().enumerate() {
        code ^= line.starts_with("```");
        if !code && line.starts_with(heading) {
            parts.push(Part { line: index + 1, title: line, lines: Vec::new() });
        }
        match parts.last_mut() {
            Some(part) => part.lines.push(line),
            None => beginning.push(line),
        }
    }
    (beginning, parts)
}

/// What it takes to read these lines, and to type the commands among them.
fn time(lines: &[&str]) -> Duration {
    let mut sum = Duration::ZERO;
    let mut fence: Option<&str> = None;
    for line in lines {
        if let Some(info) = line.strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(info) };
            continue;
        }
        sum += match fence {
            None => READ * words(&shown(line)),
            Some(info) if info.starts_with("console") => match typed(line) {
                Some((command, remark)) => {
                    let len = u32::try_from(command.chars().count()).unwrap_or(u32::MAX);
                    TYPE * len + READ * words(remark)
                }
                None => SKIM * words(line),
            },
            Some(_) => READ * words(line),
        };
    }
    sum
}

/// The command behind a prompt (`$`, `there$`, `=>`), and the remark behind it.
fn typed(line: &str) -> Option<(&str, &str)> {
    let name_len = line.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let command = line.strip_prefix("=>").or_else(|| line[name_len..].strip_prefix('$'))?;
    let (command, remark) = command.split_once("   # ").unwrap_or((command, ""));
    Some((command.trim(), remark))
}

/// A line of Markdown without what its reader does not see: where links lead, and comments.
fn shown(line: &str) -> String {
    let mut shown = line.replace('|', " ");
    for (begin, end) in [("](", ")"), ("<!--", "-->")] {
        while let Some(at) = shown.find(begin)
            && let Some(len) = shown[at..].find(end)
        {
            shown.replace_range(at..at + len + end.len(), "");
        }
    }
    shown
}

/// How many words a text has; signs by themselves are none.
fn words(text: &str) -> u32 {
    let words = text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric));
    let counted = words.map(|word| word.chars().count().div_ceil(LONGEST_WORD)).sum::<usize>();
    u32::try_from(counted).unwrap_or(u32::MAX)
}

/// What the README lacks for a reader to find his task: the tasks, each with a link above the first section.
fn missing(text: &str) -> Vec<(usize, String)> {
    let tasks = times("README.md", text);
    if tasks.len() != TASKS_COUNT {
        let say = format!("expected {TASKS_COUNT} headings ### below {TASKS}, got {}", tasks.len());
        return vec![(1, say)];
    }
    let (beginning, _) = split(&text.lines().collect::<Vec<_>>(), "## ");
    let beginning = beginning.join("\n");
    let unreached = tasks.into_iter().filter(|(_, title, _)| {
        let anchor = super::book::anchor(title);
        !beginning.contains(&format!("](#{anchor})"))
    });
    let say = "expected a link to this task above the first section";
    unreached.map(|(line, _, _)| (line, say.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "docs/howto/x.md";

    fn taken(text: &str) -> Duration {
        time(&text.lines().collect::<Vec<_>>())
    }

    #[test]
    fn reading_and_typing_are_counted() {
        assert_eq!(taken("# One two\n\n* three `four`, [five](six-seven.md)\n"), READ * 5);
        assert_eq!(taken("| a | b |\n|---|---|\n| c | |\n<!-- not seen -->\n"), READ * 3);
        assert_eq!(taken("https://example.org/a/long/one\n"), READ * 3);
        assert_eq!(taken("```toml\na = 1\n```\n"), READ * 2);
        let console =
            "```console\n$ wst x   # why so\nthere$ ab &\n=> y\nas shown here\n...\n```\n";
        assert_eq!(taken(console), TYPE * (5 + 4 + 1) + READ * 2 + SKIM * 3);
    }

    #[test]
    fn a_slow_page_is_found() {
        let page = |words: usize| format!("# {}\n", "a ".repeat(words));
        assert!(slow(PAGE, &page(480)).is_empty());
        assert_eq!(slow(PAGE, &page(481)).len(), 1);
        assert!(slow("docs/reference/x.md", &page(481)).is_empty());
        let typing = |len: usize| format!("```console\n$ {}\n```\n", "a".repeat(len));
        assert!(slow(PAGE, &typing(400)).is_empty());
        assert_eq!(slow(PAGE, &typing(401)).len(), 1);
    }

    #[test]
    fn alternatives_are_read_one_at_a_time() {
        let page = |first: usize, second: usize| {
            let [first, second] = [first, second].map(|words| "a ".repeat(words));
            format!(
                "# X\n{}\n## Y\n{first}\n```console\n## z\n```\n## W\n{second}\n",
                "a ".repeat(99)
            )
        };
        assert!(slow(PAGE, &page(300, 300)).is_empty());
        let [(line, say)] = &slow(PAGE, &page(300, 400))[..] else { panic!("expected one") };
        assert_eq!(*line, 8);
        assert!(say.contains("## W takes 125"), "{say}");
    }

    #[test]
    fn tasks_of_the_readme_are_five_and_linked() {
        let readme = |count: usize, length: usize, link: &str| {
            let mut text =
                format!("# X\n\n{}[a]({link})\n\n## Other\n", "[a](#task) ".repeat(count));
            text += &"a ".repeat(1_000);
            text += "\n## Five tasks\n";
            text += &format!("### Task\n{}\n", "a ".repeat(length)).repeat(count);
            text + "## Last\n"
        };
        assert!(slow("README.md", &readme(5, 460, "#task")).is_empty());
        assert_eq!(slow("README.md", &readme(5, 480, "#task")).len(), 5);
        assert_eq!(slow("README.md", &readme(4, 9, "#task")).len(), 1);
        let unlinked = readme(5, 9, "#task").replace("#task", "#other");
        assert_eq!(slow("README.md", &unlinked).len(), 5);
    }

    /// Shown by `--nocapture`, to those who write a page.
    #[test]
    fn every_task_has_a_time() {
        let root = crate::root();
        let mut all = Vec::new();
        super::super::walk(&root, &root, &mut |path, text| {
            for (_, title, time) in times(path, text) {
                all.push((time, path.to_owned(), title.to_owned()));
            }
        })
        .expect("a repository that can be read");
        all.sort();
        for (time, path, title) in &all {
            println!("{:6.1} s  {path}  {title}", time.as_secs_f64());
        }
        let tasks =
            |folder: &str| all.iter().filter(|(_, path, _)| path.starts_with(folder)).count();
        assert_eq!(tasks("README.md"), TASKS_COUNT);
        assert!(tasks("docs/howto/") >= 60, "only {} tasks were found", tasks("docs/howto/"));
        assert!(all.iter().all(|(time, _, _)| *time > Duration::from_secs(1)));
    }
}
