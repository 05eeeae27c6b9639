//! The rules of the house, as data and a few small functions.
//!
//! A rule that is not checked rots. Each one here has its reason, and has a test below which
//! shows that it can fail.

mod book;
mod citations;
mod imports;
mod paths;
mod programs;
mod settings;
mod words;

use std::fmt;
use std::path::Path;

/// Words that may not stand in some files.
struct Ban {
    /// Name of the rule.
    rule: &'static str,
    /// Files it is for: the beginning of the path, from the root. Empty is every file.
    under: &'static [&'static str],
    /// Kinds of file it is for: the end of the path.
    ends: &'static [&'static str],
    /// Test code is let off.
    not_tests: bool,
    /// Files that are let off, and folders (with a slash at the end), each for a reason that its own module gives.
    except: &'static [&'static str],
    /// What may not stand there. `concat!` keeps this file from breaking its own rules.
    words: &'static [&'static str],
    /// Why.
    why: &'static str,
}

const SOURCE: &[&str] = &[".rs"];
const PROSE: &[&str] = &[".rs", ".md", ".toml", ".txt", ".sh", ".yml", ".ci/run"];

const BANS: &[Ban] = &[
    // testkit and xtask run where this is developed, on Linux; tests of files make links.
    Ban {
        rule: "systems-below-os",
        under: &["drive/src/", "cli/src/", "script/src/", "objects/src/", "lab/src/"],
        ends: SOURCE,
        not_tests: true,
        except: &["drive/src/os.rs", "drive/src/os/", "script/src/os.rs", "script/src/os/"],
        words: &[
            concat!("cfg(", "unix"),
            concat!("cfg(", "windows"),
            concat!("cfg!(", "unix"),
            concat!("cfg!(", "windows"),
            "target_os",
            "target_vendor",
            "target_family",
            "std::os::",
            "rustix::",
            "nix::",
            "libc::",
            "signal_hook",
            "pty_process",
            "landlock::",
            "tun_rs",
            "winapi_util",
            "ctrlc::",
        ],
        why: "what differs between systems stands below os/ (docs/decisions/111)",
    },
    Ban {
        rule: "proto-is-no-std",
        under: &["proto/src/"],
        ends: SOURCE,
        not_tests: true,
        except: &["proto/src/blocking/stream.rs", "proto/src/asynchronous/"],
        words: &["std::"],
        why: "an engine runs on bare metal; use core",
    },
    Ban {
        rule: "proto-depends-on-nothing",
        under: &["proto/src/"],
        ends: SOURCE,
        not_tests: false,
        except: &[],
        words: &["wetstring_lab", "wetstring_drive", "wetstring_script"],
        why: "proto depends on nothing",
    },
    Ban {
        rule: "lab-asks-no-machine",
        under: &["lab/src/"],
        ends: SOURCE,
        not_tests: true,
        // The QUIC library takes this type, and no value of it can be made otherwise.
        except: &["lab/src/quic/clock.rs"],
        words: &[
            "std::net",
            "std::fs",
            "std::process",
            "std::thread",
            "std::env",
            "std::os",
            "std::time::Instant",
            "std::time::SystemTime",
            "SystemTime",
        ],
        why: "a run of the laboratory is the same on every machine and every day",
    },
    Ban {
        rule: "lab-keeps-order",
        under: &["lab/src/", "proto/src/"],
        ends: SOURCE,
        not_tests: false,
        except: &[],
        words: &["HashMap", "HashSet"],
        why: "the order of a hash map differs from run to run; use a BTreeMap",
    },
    Ban {
        rule: "lab-knows-only-proto",
        under: &["lab/src/"],
        ends: SOURCE,
        not_tests: false,
        except: &[],
        words: &["wetstring_drive", "wetstring_script"],
        why: "lab depends on proto only",
    },
    Ban {
        rule: "script-asks-the-world",
        under: &["script/src/"],
        ends: SOURCE,
        not_tests: true,
        // The world that is this machine.
        except: &["script/src/local.rs", "script/src/os/"],
        words: &["std::net", "std::fs", "std::process", "std::thread", "std::env", "SystemTime"],
        why: "a script runs in the laboratory as on a machine; ask the World",
    },
    Ban {
        rule: "drive-knows-no-program",
        under: &["drive/src/"],
        ends: SOURCE,
        not_tests: false,
        except: &[],
        words: &["wetstring_script", "clap::", "indicatif"],
        why: "drive depends on proto, lab and the OS; talking to a user is the program's work",
    },
    Ban {
        rule: "errors-in-words",
        under: &["cli/src/", "drive/src/", "objects/src/"],
        ends: SOURCE,
        not_tests: true,
        // The function itself.
        except: &["drive/src/os_error.rs"],
        words: &[
            "{e}",
            "{error}",
            "{err}",
            "(e.to_string()",
            " e.to_string()",
            "error.to_string()",
            "err.to_string()",
            "io::Error::to_string",
            "error.as_ref().map(ToString::to_string)",
        ],
        why: "in_words says an error of the system, without \"(os error 2)\"; our own are called bad",
    },
    Ban {
        rule: "finished",
        under: &[],
        ends: SOURCE,
        not_tests: false,
        except: &[],
        words: &[
            concat!("todo", "!("),
            concat!("unimplemented", "!("),
            concat!("FIX", "ME"),
            concat!("#[", "ignore"),
            concat!("dbg", "!("),
        ],
        why: "what is not finished is not committed; say what is missing in the documentation",
    },
    Ban {
        rule: "no-machine",
        under: &[],
        ends: PROSE,
        not_tests: false,
        except: &[],
        words: &[
            concat!("/ro", "ot/"),
            concat!("/wo", "rk/"),
            concat!("/ho", "me/"),
            concat!("/Us", "ers/"),
            concat!("index.", "crates.io"),
            concat!("static.", "crates.io"),
        ],
        why: "paths and mirrors of one machine mean nothing on another",
    },
    Ban {
        rule: "citations-resolve",
        under: &[],
        ends: PROSE,
        not_tests: false,
        except: &[],
        words: &[
            concat!("dig", "est §"),
            concat!("seed ", "000"),
            concat!("seed ", "001"),
            concat!("seed ", "003"),
        ],
        why: "cite a document of docs/reference/sources.md by its name, or a page of docs/protocols",
    },
    Ban {
        rule: "tests-share-the-kit",
        under: &[
            "proto/",
            "protocols/",
            "drive/",
            "lab/",
            "objects/",
            "script/",
            "cli/",
            "fuzz/",
            "xtask/",
        ],
        ends: SOURCE,
        not_tests: false,
        // A port; a generated file of any offset.
        except: &["drive/src/os/unix/port/pty.rs", "cli/src/commands/kermit/confirm.rs"],
        words: &[
            concat!("6_364_136_223", "_846_793_005"),
            concat!("0x2545_f491", "_4f6c_dd1d"),
            concat!("0x2545_F491", "_4F6C_DD1D"),
            concat!("0xbf58_476d", "_1ce4_e5b9"),
            concat!("0xBF58_476D", "_1CE4_E5B9"),
            concat!("grantpt", "("),
        ],
        why: "dice, bytes and terminals of tests are in testkit/",
    },
    Ban {
        rule: "no-tabs",
        under: &[],
        ends: PROSE,
        not_tests: false,
        except: &[],
        words: &["\t"],
        why: "blanks look the same everywhere",
    },
];

/// Names that say nothing about what is in a file.
const EMPTY_NAMES: &[&str] = &["utils", "util", "helpers", "helper", "misc", "manager", "common"];

/// Which crates of the house each crate may name in its manifest.
const MAY_DEPEND: &[(&str, &[&str])] = &[
    ("proto", &[]),
    ("protocols", &["wetstring-proto"]),
    ("events", &[]),
    ("lab", &["wetstring-proto", "wetstring-protocols"]),
    ("drive", &["wetstring-proto", "wetstring-lab"]),
    ("script", &["wetstring-proto"]),
    ("testkit", &["wetstring-proto"]),
];

/// Shared by tests: no crate but this one, which is for them, may need it to be built.
const OF_TESTS: &str = "wetstring-testkit";

const MOST_LINES_OF_A_FILE: usize = 600;
const MOST_LINES_OF_A_FUNCTION: usize = 70;

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
struct Complaint {
    rule: &'static str,
    path: String,
    line: usize,
    say: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} ({})", self.path, self.line, self.say, self.rule)
    }
}

/// Checks the repository at `root`.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let mut complaints = Vec::new();
    let mut count = 0;
    let page = std::fs::read_to_string(root.join(settings::PAGE)).unwrap_or_default();
    let mut sources = Vec::new();
    walk(root, root, &mut |path, text| {
        count += 1;
        if path.contains("/src/") && SOURCE.iter().any(|end| path.ends_with(end)) {
            sources.push((path.to_owned(), text.to_owned()));
        }
        complaints.extend(check(path, text));
        let mut complain = |rule, found: Vec<(usize, String)>| {
            complaints.extend(found.into_iter().map(|(line, say)| Complaint {
                rule,
                path: path.to_owned(),
                line,
                say,
            }));
        };
        complain("settings-are-listed", settings::unlisted(&page, path, text));
        if Path::new(path).extension().is_some_and(|end| end == "md") && path != "CHANGELOG.md" {
            complain("paths-are-there", paths::gone(root, text));
        }
        complain("citations-resolve", citations::broken(root, text));
        complain("links-lead-somewhere", book::broken_links(root, path, text));
        complain("pages", book::wrong(path, text));
        complain("words", words::broken(path, text));
    })?;
    complaints.extend(book::unreached(root)?.into_iter().map(|(path, say)| Complaint {
        rule: "pages-are-reached",
        path,
        line: 1,
        say,
    }));
    complaints.extend(words::unneeded(root).into_iter().map(|(path, say)| Complaint {
        rule: "words",
        path,
        line: 1,
        say,
    }));
    complaints.extend(programs::forgotten(root)?.into_iter().map(|path| Complaint {
        rule: "tests-run",
        path,
        line: 1,
        say: "expected a line `mod NAME;` in tests/all.rs; nothing runs this file".to_owned(),
    }));
    let imports = imports::broken(&sources).into_iter();
    complaints.extend(imports.map(|(rule, path, line, say)| Complaint { rule, path, line, say }));
    if complaints.is_empty() {
        println!("tidy: {count} files are in order");
        return Ok(());
    }
    let lines: Vec<String> = complaints.iter().map(ToString::to_string).collect();
    Err(format!("the house is not tidy\n{}", lines.join("\n")))
}

/// Shows every text file of the repository to `see`, in the order of their names.
fn walk(root: &Path, dir: &Path, see: &mut dyn FnMut(&str, &str)) -> Result<(), String> {
    let say = |e: std::io::Error| format!("{}: {e}", dir.display());
    let mut entries: Vec<_> = std::fs::read_dir(dir).map_err(say)?.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            // What is built, and what npm fetches.
            if name != ".git" && name != "target" && name != "node_modules" {
                walk(root, &path, see)?;
            }
        } else if kind.is_file()
            && let Ok(text) = std::fs::read_to_string(&path)
            && let Ok(relative) = path.strip_prefix(root)
        {
            see(&relative.to_string_lossy().replace('\\', "/"), &text);
        }
    }
    Ok(())
}

/// Everything that is wrong with one file. `path` is relative to the root, with slashes.
fn check(path: &str, text: &str) -> Vec<Complaint> {
    let mut found = Vec::new();
    let mut complain = |rule, line, say: String| {
        found.push(Complaint { rule, path: path.to_owned(), line, say });
    };
    check_bans(path, text, &mut complain);
    if PROSE.iter().any(|end| path.ends_with(end)) && !path.contains("/snapshots/") {
        for (index, line) in text.lines().enumerate() {
            if line.ends_with([' ', '\t']) && !path.starts_with("vectors/") {
                complain("no-trailing-blanks", index + 1, "the line ends with a blank".into());
            }
        }
    }
    if SOURCE.iter().any(|end| path.ends_with(end)) {
        check_rust(path, text, &mut complain);
    }
    if let Some(name) = path.strip_suffix("/Cargo.toml") {
        check_manifest(name, text, &mut complain);
    }
    found
}

/// Takes a rule, a line number and a sentence.
type Complain<'a> = dyn FnMut(&'static str, usize, String) + 'a;

fn check_bans(path: &str, text: &str, complain: &mut Complain<'_>) {
    for ban in BANS {
        let here = ban.under.is_empty() || ban.under.iter().any(|under| path.starts_with(under));
        let let_off =
            |except: &&str| *except == path || (except.ends_with('/') && path.starts_with(*except));
        if !here
            || ban.except.iter().any(let_off)
            || !ban.ends.iter().any(|end| path.ends_with(end))
        {
            continue;
        }
        let last = if ban.not_tests { lines_before_tests(text) } else { usize::MAX };
        for (index, line) in text.lines().enumerate().take(last) {
            let comment = line.trim_start().starts_with("//");
            for word in ban.words {
                if line.contains(word) && !(comment && ban.ends == SOURCE) {
                    complain(ban.rule, index + 1, format!("found {word:?}: {}", ban.why));
                }
            }
        }
    }
}

/// How many lines stand before the test module at the end of a file.
fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let tests = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ");
    lines.windows(2).position(tests).unwrap_or(lines.len())
}

fn check_rust(path: &str, text: &str, complain: &mut Complain<'_>) {
    let count = text.lines().count();
    if count > MOST_LINES_OF_A_FILE {
        let say = format!("expected at most {MOST_LINES_OF_A_FILE} lines, got {count}");
        complain("short-files", count, say);
    }
    if !text.starts_with("//!") {
        complain("module-doc", 1, "expected the file to begin with what it is for (//!)".into());
    }
    let stem = path.rsplit('/').next().and_then(|name| name.strip_suffix(".rs")).unwrap_or("");
    // A folder of test helpers is called `common` because cargo wants it so.
    if EMPTY_NAMES.contains(&stem) && !path.contains("/tests/") {
        complain("names-that-say", 1, format!("{stem:?} says nothing about what is in it"));
    }
    for (line, len) in long_functions(text) {
        let say = format!("expected at most {MOST_LINES_OF_A_FUNCTION} lines, got {len}");
        complain("short-functions", line, say);
    }
}

/// Line number and length of every function that is too long. rustfmt puts the closing brace at
/// the indentation of the `fn`, which is all that this needs to know of the grammar.
fn long_functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let words = ["pub ", "pub(crate) ", "pub(super) ", "const ", "async ", "unsafe "];
        let mut head = code;
        while let Some(rest) = words.iter().find_map(|word| head.strip_prefix(word)) {
            head = rest;
        }
        if !head.starts_with("fn ") {
            continue;
        }
        let close = format!("{}}}", " ".repeat(line.len() - code.len()));
        // A signature in a trait ends with a semicolon before any brace opens.
        let body = lines[index..].iter().position(|l| l.ends_with(['{', '}', ';']));
        if body.is_none_or(|at| lines[index + at].ends_with([';', '}'])) {
            continue;
        }
        if let Some(len) = lines[index..].iter().position(|l| *l == close)
            && len + 1 > MOST_LINES_OF_A_FUNCTION
        {
            found.push((index + 1, len + 1));
        }
    }
    found
}

fn check_manifest(name: &str, text: &str, complain: &mut Complain<'_>) {
    let Ok(table) = text.parse::<toml::Table>() else {
        return complain("manifest", 1, "expected a manifest in TOML".into());
    };
    let Some(dependencies) = table.get("dependencies").and_then(toml::Value::as_table) else {
        return;
    };
    if name != "xtask" && dependencies.contains_key(OF_TESTS) {
        complain("who-may-depend", 1, format!("{OF_TESTS} belongs in [dev-dependencies]"));
    }
    let Some((_, allowed)) = MAY_DEPEND.iter().find(|(of, _)| *of == name) else { return };
    for (dependency, of) in dependencies.iter().filter(|(of, _)| *of != OF_TESTS) {
        let ours = dependency.starts_with("wetstring");
        // An optional one is there for whoever asks for its feature.
        let foreign = !ours && of.get("optional").and_then(toml::Value::as_bool) != Some(true);
        if (ours && !allowed.contains(&dependency.as_str())) || (foreign && name == "proto") {
            complain("who-may-depend", 1, format!("{name} may not depend on {dependency}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_tidy() {
        if let Err(message) = run(&crate::root()) {
            panic!("{message}");
        }
    }

    /// The rules that a file breaks.
    fn broken(path: &str, text: &str) -> Vec<&'static str> {
        check(path, text).into_iter().map(|complaint| complaint.rule).collect()
    }

    fn rust(code: &str) -> String {
        format!("//! A file.\n\n{code}\n")
    }

    #[test]
    fn a_good_file_breaks_nothing() {
        assert!(broken("proto/src/x.rs", &rust("use core::fmt;")).is_empty());
        assert!(broken("lab/src/x.rs", &rust("use std::collections::BTreeMap;")).is_empty());
    }

    #[test]
    fn every_ban_can_fail() {
        for ban in BANS {
            let folder = ban.under.first().copied().unwrap_or("cli/src/");
            for word in ban.words {
                let found = broken(&format!("{folder}x.rs"), &rust(&format!("a{word}b")));
                assert!(found.contains(&ban.rule), "{} lets {word:?} pass", ban.rule);
            }
        }
    }

    #[test]
    fn a_ban_holds_only_in_its_rooms() {
        assert!(broken("drive/src/x.rs", &rust("use std::fs;")).is_empty());
        assert_eq!(broken("lab/src/x.rs", &rust("use std::fs;")), ["lab-asks-no-machine"]);
    }

    #[test]
    fn systems_differ_below_os_only() {
        let code = rust("use std::os::fd::OwnedFd;");
        assert_eq!(broken("drive/src/port/x.rs", &code), ["systems-below-os"]);
        assert!(broken("drive/src/os/unix/x.rs", &code).is_empty());
    }

    #[test]
    fn tests_inside_a_file_may_use_what_its_code_may_not() {
        let tests = "#[cfg(test)]\nmod tests {\n    use std::vec::Vec;\n}";
        assert!(broken("proto/src/x.rs", &rust(tests)).is_empty());
        let code = format!("use std::vec::Vec;\n{tests}");
        assert_eq!(broken("proto/src/x.rs", &rust(&code)), ["proto-is-no-std"]);
    }

    #[test]
    fn blanks_at_the_end_are_found() {
        assert_eq!(broken("docs/x.md", "a \n"), ["no-trailing-blanks"]);
        assert!(broken("vectors/x.txt", "a \n").is_empty());
    }

    #[test]
    fn files_have_a_purpose_a_name_and_an_end() {
        assert_eq!(broken("cli/src/x.rs", "fn main() {}\n"), ["module-doc"]);
        assert_eq!(broken("cli/src/utils.rs", &rust("")), ["names-that-say"]);
        assert!(broken("cli/tests/common/mod.rs", &rust("")).is_empty());
        assert_eq!(broken("cli/src/x.rs", &rust(&"\n".repeat(599))), ["short-files"]);
        assert!(broken("cli/src/x.rs", &rust(&"\n".repeat(597))).is_empty());
    }

    #[test]
    fn functions_have_an_end() {
        let function = |len: usize| {
            let body = "        a();\n".repeat(len - 2);
            rust(&format!("impl X {{\n    pub const fn f(\n    ) {{\n{body}    }}\n}}"))
        };
        assert!(broken("cli/src/x.rs", &function(69)).is_empty());
        assert_eq!(broken("cli/src/x.rs", &function(71)), ["short-functions"]);
        let signature = format!("trait X {{\n    fn f();\n{}    }}\n", "    a();\n".repeat(90));
        assert!(broken("cli/src/x.rs", &rust(&signature)).is_empty());
    }

    #[test]
    fn who_may_depend_on_whom() {
        let needs = |name: &str| format!("[dependencies]\n{name} = \"1\"\n");
        assert_eq!(broken("proto/Cargo.toml", &needs("libm")), ["who-may-depend"]);
        let optional = "[dependencies]\ntokio = { version = \"1\", optional = true }\n";
        assert!(broken("proto/Cargo.toml", optional).is_empty());
        assert_eq!(broken("lab/Cargo.toml", &needs("wetstring-drive")), ["who-may-depend"]);
        assert!(broken("lab/Cargo.toml", &needs("serde")).is_empty());
        assert!(broken("drive/Cargo.toml", &needs("wetstring-lab")).is_empty());
        assert_eq!(broken("drive/Cargo.toml", "{"), ["manifest"]);
        let kit = needs(OF_TESTS);
        assert_eq!(broken("cli/Cargo.toml", &kit), ["who-may-depend"]);
        assert_eq!(broken("drive/Cargo.toml", &kit), ["who-may-depend"]);
        assert!(broken("cli/Cargo.toml", &kit.replace("[dep", "[dev-dep")).is_empty());
        assert_eq!(broken("testkit/Cargo.toml", &needs("wetstring-lab")), ["who-may-depend"]);
    }

    #[test]
    fn generators_and_terminals_of_tests_stand_in_the_kit() {
        let dice = rust(concat!("let x = y * 6_364_136_223", "_846_793_005;"));
        let terminal = rust(concat!("grantpt", "(&fd);"));
        for path in ["drive/tests/x.rs", "proto/src/x.rs", "cli/tests/peers/x.rs"] {
            assert_eq!(broken(path, &dice), ["tests-share-the-kit"], "{path}");
            assert_eq!(broken(path, &terminal), ["tests-share-the-kit"], "{path}");
        }
        assert!(broken("testkit/src/dice.rs", &dice).is_empty());
    }
}
