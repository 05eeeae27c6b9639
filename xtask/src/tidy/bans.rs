//! Words that may not stand in some files, and why.

use super::{Complain, PROSE, SOURCE};

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
        rule: "device-asks-no-machine",
        under: &["device/src/"],
        ends: SOURCE,
        not_tests: true,
        except: &[],
        words: &[
            "std::fs",
            "std::io",
            "std::thread",
            "std::env",
            "std::time::Instant",
            "SystemTime",
        ],
        why: "a conversation has no I/O and no clock; the program and the page run it",
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

pub(super) fn check(path: &str, text: &str, complain: &mut Complain<'_>) {
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

#[cfg(test)]
mod tests {
    use super::super::tests::{broken, rust};
    use super::*;

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
