//! The face of the program: help, usage errors, JSON, settings, completions, the manual.

use crate::common;

use common::{Desk, run, snapshot, wst};

#[test]
fn help_matches_the_snapshots() {
    for (name, args) in [
        ("help", &["--help"][..]),
        ("help-send", &["send", "--help"]),
        ("first-send-h", &["send", "-h"]),
        ("first-receive-h", &["receive", "-h"]),
        ("first-get-h", &["get", "-h"]),
        ("help-receive", &["receive", "--help"]),
        ("help-line", &["line", "--help"]),
        ("help-kermit", &["kermit", "--help"]),
        ("help-demo", &["demo", "--help"]),
        ("help-lab-run", &["lab", "run", "--help"]),
        ("help-lab-table", &["lab", "table", "--help"]),
        ("help-lab-sweep", &["lab", "sweep", "--help"]),
        ("help-lab-swarm", &["lab", "swarm", "--help"]),
        ("help-lab-diff", &["lab", "diff", "--help"]),
        ("help-lab-report", &["lab", "report", "--help"]),
    ] {
        let ran = run(wst(args));
        ran.expect(0);
        snapshot(name, &ran.stdout);
        assert_eq!(ran.stderr, "");
    }
}

/// What a user sees of a verb at first fits a screen.
#[test]
fn the_short_help_is_one_screen() {
    for verb in ["send", "receive", "get", "put", "serve"] {
        let ran = run(wst([verb, "-h"]));
        ran.expect(0);
        let most = if verb == "serve" { 60 } else { 50 };
        assert!(ran.stdout.lines().count() <= most, "{verb}: {}", ran.stdout.lines().count());
    }
    // The long one has every protocol.
    for verb in ["send", "receive"] {
        let long = run(wst([verb, "--help"])).stdout;
        for heading in [
            "Kermit settings",
            "ZMODEM settings",
            "YMODEM settings",
            "NETBLT settings",
            "UUCP settings",
        ] {
            assert!(long.contains(heading), "{verb}: {heading}");
        }
    }
    let lab = run(wst(["lab", "run", "-h"])).stdout;
    assert!(lab.contains("telebit") && lab.contains("wet-string"), "{lab}");
}

#[test]
fn the_version_with_verbose_says_what_was_built() {
    let short = run(wst(["--version"]));
    short.expect(0);
    assert_eq!(short.stdout, format!("wst {}\n", env!("CARGO_PKG_VERSION")));
    for args in [["--version", "--verbose"], ["-v", "-V"]] {
        let ran = run(wst(args));
        ran.expect(0);
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(lines[0], short.stdout.trim_end());
        let target = lines[1].strip_prefix("target: ").expect("the target");
        assert!(target.starts_with(std::env::consts::ARCH), "{target}");
        let objects = if cfg!(feature = "objects") { "objects" } else { "none" };
        assert_eq!(lines[2], format!("features: {objects}"));
        assert!(lines[3].len() > "commit: ".len() && lines[3].starts_with("commit: "), "{lines:?}");
    }
}

#[test]
fn the_help_names_the_exit_codes() {
    let ran = run(wst(["--help"]));
    for line in ["0  all done", "7  timeout: nothing usable received", "130  interrupted"] {
        assert!(ran.stdout.contains(line), "{line}");
    }
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    for args in [
        &["frobnicate"][..],
        &["send"],
        &["send", "only-a-file"],
        &["receive"],
        &["send", "f", "-", "--window", "32"],
        &["send", "f", "-", "--check", "9"],
        &["send", "f", "-", "--set", "kermit.window"],
        &["send", "f", "-", "--set", "kermit.widow=3"],
        &["send", "f", "-", "--set", "kermit.window=0"],
        &["send", "f", "nonsense"],
        &["send", "f", "lab:wet"],
        &["send", "f", "tcp://host"],
        &["send", "a", "b", "-", "--as", "c"],
        &["send", "-", "exec:cat"],
        &["receive", "-", "-o", "-"],
        &["receive", "-", "--profile", "absent"],
        &["receive", "@absent"],
        &["connect", "-"],
        &["connect", "udp://127.0.0.1:9"],
        &["connect", "/dev/ttyS0", "--escape", "later"],
        &["connect", "/dev/ttyS0", "--until", "("],
        &["connect", "/dev/ttyS0", "--map", "crlf"],
        &["line", "fast"],
        &["demo", "--line", "0"],
        &["show", "kermit.widow"],
    ] {
        let ran = run(wst(args));
        assert_eq!(ran.code(), 2, "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{args:?}");
        assert!(!ran.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn a_verb_that_is_misspelt_gets_a_hint() {
    let wrong = run(wst(["sned"]));
    assert!(wrong.stderr.contains("send"), "{}", wrong.stderr);
}

#[test]
fn the_last_event_comes_once_even_on_a_usage_error() {
    let desk = Desk::new(10);
    let missing = desk.path("missing");
    for (code, args) in [
        (2, vec!["send", "--json"]),
        (2, vec!["--json", "frobnicate"]),
        (2, vec!["connect", "--json"]),
        (2, vec!["--json", "send", "f", "nonsense"]),
        (2, vec!["--json", "send", "f", "-", "--window", "99"]),
        (5, vec!["--json", "send", &missing, "tcp://127.0.0.1:1"]),
        (0, vec!["--json", "show"]),
        (0, vec!["--json", "ports"]),
    ] {
        let ran = run(wst(&args));
        ran.expect(code);
        let events = ran.events();
        let ends = events.iter().filter(|event| event["event"] == "end").count();
        assert_eq!(ends, 1, "{args:?}");
        let end = events.last().expect("an event");
        assert_eq!(end["event"], "end", "{args:?}");
        assert_eq!(end["exit"], code, "{args:?}");
        if code != 0 {
            assert!(end["message"].as_str().is_some_and(|m| !m.is_empty()), "{args:?}");
        }
    }
}

#[test]
fn the_message_of_a_usage_error_is_a_whole_sentence() {
    for (args, sentence) in [
        (
            &["send", "--json"][..],
            "the following required arguments were not provided: <FILE... LINE>...",
        ),
        (&["receive", "--json"], "the following required arguments were not provided: <LINE>"),
        (
            &["send", "f", "-", "--check", "9", "--json"],
            "invalid value '9' for '--check <WORD>' [possible values: 1, 2, 3, B, 5]",
        ),
    ] {
        let end = run(wst(args)).events().pop().expect("an event");
        assert_eq!(end["message"], sentence);
    }
}

#[test]
fn a_line_that_cannot_be_opened_ends_with_3() {
    let desk = Desk::new(10);
    let data = desk.path("data.bin");
    let ran = run(wst(["send", &data, "/dev/no-such-device"]));
    ran.expect(3);
    assert!(ran.stderr.contains("/dev/no-such-device"), "{}", ran.stderr);
    // A port without a listener: bound, and released.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let line = format!("tcp://{}", listener.local_addr().expect("its address"));
    drop(listener);
    run(wst(["send", &data, &line])).expect(3);
}

#[test]
fn a_file_that_cannot_be_read_ends_with_5_before_the_line_is_opened() {
    let desk = Desk::new(10);
    let ran = run(wst(["send", &desk.path("missing"), "/dev/no-such-device"]));
    ran.expect(5);
    assert!(ran.stderr.contains("could not read"), "{}", ran.stderr);
    let ran = run(wst(["send", "-P", "zmodem", &desk.path("in"), "/dev/no-such-device"]));
    ran.expect(5);
    assert!(
        ran.stderr
            .contains("expected a file, got directories without files, which only Kermit sends"),
        "{}",
        ran.stderr
    );
    let ran = run(wst(["send", "/dev/null", "/dev/no-such-device"]));
    ran.expect(5);
    assert!(ran.stderr.contains("got the device or socket /dev/null"), "{}", ran.stderr);
}

#[test]
fn settings_are_shown_with_their_ranges() {
    let ran = run(wst(["show", "window"]));
    ran.expect(0);
    assert!(ran.stdout.starts_with("kermit.window = 31 packets\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1..31, default 31"), "{}", ran.stdout);
    let all = run(wst(["show"]));
    assert!(all.stdout.contains("kermit.prefixing = auto"), "{}", all.stdout);
    assert!(all.stdout.contains("store.collision = backup"), "{}", all.stdout);
}

#[test]
fn the_configuration_file_and_its_profiles_apply() {
    let desk = Desk::new(10);
    std::fs::create_dir(desk.path("wetstring")).expect("a directory");
    let text = "[set]\nkermit.window = 4\n[profile.board]\nline = '/dev/no-such-device'\n\
                [profile.board.set]\nkermit.window = 2\n";
    std::fs::write(desk.path("wetstring/config.toml"), text).expect("the file");
    let show = |args: &[&str]| {
        let mut command = wst(args);
        command.env("XDG_CONFIG_HOME", desk.dir.path());
        run(command)
    };
    let plain = show(&["show", "window"]);
    assert!(plain.stdout.starts_with("kermit.window = 4 packets  (set)"), "{}", plain.stdout);
    let board = show(&["show", "window", "--profile", "board"]);
    assert!(board.stdout.starts_with("kermit.window = 2 packets  (set)"), "{}", board.stdout);
    // The line of a profile.
    let line = show(&["send", &desk.path("data.bin"), "@board"]);
    line.expect(3);
    assert!(line.stderr.contains("/dev/no-such-device"), "{}", line.stderr);
    std::fs::write(desk.path("wetstring/config.toml"), "[set]\nkermit.window = 99\n")
        .expect("the file");
    let bad = show(&["show"]);
    bad.expect(2);
    assert!(bad.stderr.contains("expected 1..31 for kermit.window, got 99"), "{}", bad.stderr);
}

#[test]
fn completions_and_the_manual_list_the_settings() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = run(wst(["completions", shell]));
        ran.expect(0);
        assert!(ran.stdout.contains("clear-channel"), "{shell}");
    }
    let man = run(wst(["man"]));
    man.expect(0);
    assert!(man.stdout.contains(".TH wst"), "{}", &man.stdout[..200]);
    for word in ["clear\\-channel", "wst\\-receive", "interrupted"] {
        assert!(man.stdout.contains(word), "{word}");
    }
}

/// One page for each verb, with what people look for in one, and nothing that troff complains of.
#[test]
fn every_verb_has_a_page_of_the_manual() {
    let desk = Desk::new(10);
    run(wst(["man", "--all", &desk.path("in")])).expect(0);
    let names = desk.names();
    for verb in ["send", "receive", "get", "lab", "serve", "kermit"] {
        assert!(names.contains(&format!("wst-{verb}.1")), "{verb}: {names:?}");
    }
    let has_groff = std::process::Command::new("groff").arg("--version").output().is_ok();
    for name in names {
        let path = desk.path(&format!("in/{name}"));
        let page = std::fs::read_to_string(&path).expect("the page");
        for section in ["NAME", "SYNOPSIS", "EXIT STATUS", "FILES", "ENVIRONMENT", "SEE ALSO"] {
            assert!(
                page.contains(&format!("\n.SH {section}\n"))
                    || page.contains(&format!("\n.SH \"{section}\"\n")),
                "{name}: {section}"
            );
        }
        if has_groff {
            let mut groff = std::process::Command::new("groff");
            groff.args(["-man", "-Tutf8", "-ww", "-z", &path]);
            let said = groff.output().expect("groff runs");
            let text = String::from_utf8_lossy(&said.stderr).into_owned();
            assert!(said.status.success() && text.is_empty(), "{name}: {text}");
        }
    }
    let one = run(wst(["man", "send"])).stdout;
    assert!(one.contains(".TH wst-send 1"), "{}", &one[..200]);
    run(wst(["man", "sned"])).expect(2);
}

/// What can be chosen is offered, not only the flags.
#[test]
fn completions_know_values() {
    let desk = Desk::new(10);
    std::fs::create_dir(desk.path("wetstring")).expect("a directory");
    std::fs::write(desk.path("wetstring/config.toml"), "[profile.bench7]\nline = '-'\n")
        .expect("the file");
    for shell in ["bash", "zsh", "fish"] {
        let mut command = wst(["completions", shell]);
        command.env("XDG_CONFIG_HOME", desk.dir.path());
        let said = run(command).stdout;
        let offers = |word: &str| assert!(said.contains(word), "{shell}: {word}");
        for word in ["kermit.window=", "bench7", "ymodem-g"] {
            offers(word);
        }
        // The generator for fish has no values of arguments, only of flags.
        if shell != "fish" {
            for word in ["zmodem.escape", "telebit", "kermit-news-3"] {
                offers(word);
            }
        }
    }
}

#[test]
fn the_demonstration_transfers_and_verifies_a_file() {
    let ran = run(wst(["demo", "--json", "--faster", "100000"]));
    ran.expect(0);
    let events = ran.events();
    let end = events.last().expect("an event");
    assert_eq!(end["event"], "end");
    assert_eq!(end["equal"], true);
    assert_eq!(end["sha256_sent"], end["sha256_received"]);
    let efficiency = end["efficiency"].as_f64().expect("a number");
    assert!((0.5..1.2).contains(&efficiency), "{efficiency}");
    let shares: f64 = ["data", "again", "frames", "idle"]
        .iter()
        .map(|what| end["shares"][what].as_f64().expect("a number"))
        .sum();
    assert!((0.99..1.01).contains(&shares), "{shares}");
    assert!(end["damaged_bytes"].as_u64().is_some_and(|n| n > 100), "{end}");
    assert!(ran.stderr.contains("Where the line's time went"), "{}", ran.stderr);
}
