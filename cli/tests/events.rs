//! Every JSON event is one of the schema, and every line of a trace one of the table of records.

use std::collections::BTreeSet;

use crate::common::{Desk, LIMIT, Running, run, schema, wst};
use serde_json::json;
use wetstring_proto::trace::{self, RECORDS};

/// What these commands tell, all of it checked, by name.
fn told(desk: &Desk, commands: &[&[&str]]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for words in commands {
        let mut command = wst(*words);
        command.arg("--json").current_dir(desk.dir.path()).env("XDG_CONFIG_HOME", desk.dir.path());
        let ran = run(command);
        // `events` checks each against the schema.
        let events = ran.events();
        let last = events.last().unwrap_or_else(|| panic!("{words:?}: {}", ran.stderr));
        assert_eq!(last["event"], "end", "{words:?}");
        assert_eq!(last["exit"], ran.code(), "{words:?}");
        names.extend(events.iter().filter_map(|event| event["event"].as_str()).map(str::to_owned));
    }
    names
}

#[test]
fn commands_emit_events_of_the_schema() {
    let desk = Desk::new(3000);
    std::fs::write(desk.path("sweep.toml"), SWEEP).expect("the sweep");
    std::fs::write(desk.path("users.txt"), "").expect("the users");
    let receive = format!("exec:{} receive - -o in", crate::common::WST);
    let keep = format!("{receive} --collision reject");
    let names = told(
        &desk,
        &[
            &["send", "data.bin", &receive],
            &["send", "data.bin", &keep],
            &["send", "absent.bin", &receive],
            &["send", "data.bin", "tcp://127.0.0.1:1"],
            &["send", "data.bin", &receive, "--trace", "t", "--explain"],
            &["explain", "t"],
            &["show", "kermit.window"],
            &["ports"],
            &["users", "list", "users.txt"],
            &["key", "show"],
            &["key", "secret"],
            &["install-links", "in"],
            &["lab", "run", "clean", "--trace", "a"],
            &["lab", "run", "clean", "--seed", "7", "--trace", "b"],
            &["lab", "run", "telebit", "--set", "file.bytes=3000"],
            &["lab", "diff", "a", "b"],
            &["lab", "diff", "a", "a"],
            &["lab", "table", "--list"],
            &["lab", "table", "telebit"],
            &["lab", "sweep", "--list"],
            &["lab", "sweep", "sweep.toml", "-o", "one.csv"],
            &["lab", "swarm", "--seeds", "3"],
            &["no-such-verb"],
        ],
    );
    let wanted = [
        "opened",
        "negotiated",
        "file-started",
        "file-done",
        "file-refused",
        "explained",
        "setting",
        "users",
        "key",
        "secret",
        "installed",
        "result",
        "parting",
        "table",
        "cell",
        "score",
        "sweep",
        "row",
        "protocol",
        "end",
    ];
    let wanted: BTreeSet<String> = wanted.into_iter().map(str::to_owned).collect();
    assert!(names.is_superset(&wanted), "not told: {:?}", wanted.difference(&names));
    assert!(names.is_subset(&schema::names()), "{names:?}");
}

const SWEEP: &str = "title = 'Windows'\n[base]\nprotocol = 'kermit'\nline = '9600'\n\
                     [base.file]\nmade = 'random'\nbytes = 500\n\
                     [[range]]\nkey = 'both.window'\nvalues = [1, 4]\n";

/// A server and its client, and a line that is taken down.
#[test]
fn long_running_commands_emit_events_of_the_schema() {
    let desk = Desk::new(300);
    let mut serve = wst(["serve", "tcp-listen://127.0.0.1:0", "--root", "in", "--json"]);
    serve.current_dir(desk.dir.path());
    let server = Running::start(serve);
    let line = format!("tcp://{}", server.says("listening on "));
    let names = told(&desk, &[&["remote", &line, "directory"], &["get", "absent", &line]]);
    assert!(names.contains("reply"), "{names:?}");
    server.signal(rustix::process::Signal::INT);
    assert!(!server.end().events().is_empty());
    let ends = [format!("pty:{}", desk.path("a")), format!("pty:{}", desk.path("b"))];
    let up = Running::start(wst(["line", "9600", "-a", &ends[0], "-b", &ends[1], "--json"]));
    up.says("line 9600");
    up.signal(rustix::process::Signal::INT);
    let events = up.end().events();
    let last = events.last().expect("a last event");
    assert!(last["a_to_b"]["bytes_in"].is_u64(), "{last}");
    assert!(LIMIT.as_secs() > 0);
}

#[test]
fn the_schema_rejects_invalid_events() {
    let good = json!({"v": 1, "event": "wrong-peer", "text": "a"});
    assert_eq!(schema::of_event(&good), Ok(()));
    for bad in [
        json!({"v": 1, "event": "wrong-pear", "text": "a"}),
        json!({"v": 2, "event": "wrong-peer", "text": "a"}),
        json!({"v": 1, "event": "wrong-peer", "text": 3}),
        json!({"v": 1, "event": "wrong-peer"}),
        json!({"v": 1, "event": "wrong-peer", "text": "a", "more": 1}),
        json!({"v": 1, "event": "end", "exit": 0, "outcome": "done", "message": "", "more": 1}),
        json!({"v": 1, "event": "end", "exit": 300, "outcome": "done", "message": ""}),
    ] {
        assert!(schema::of_event(&bad).is_err(), "{bad}");
    }
}

/// The lines of real traces, of both programs and of the laboratory, and of every protocol there.
#[test]
fn every_line_of_a_trace_is_a_record() {
    let desk = Desk::new(3000);
    let receive = format!("exec:{} receive - -o {}", crate::common::WST, desk.path("in"));
    let mut traces = vec![desk.path("live")];
    let (data, live) = (desk.path("data.bin"), traces[0].as_str());
    run(wst(["send", &data, &receive, "--trace", live])).expect(0);
    let mut scenarios = vec![("wet-string", Vec::new()), ("multics", Vec::new())];
    scenarios.push(("telebit", vec!["--set", "file.bytes=3000"]));
    for protocol in ["xmodem", "ymodem", "zmodem", "kermit", "uucp-g"] {
        let set =
            ["--set", protocol].map(|word| word.replace(protocol, &format!("protocol={protocol}")));
        traces.push(desk.path(protocol));
        let ran =
            wst(["lab", "run", "wet-string", &set[0], &set[1], "--trace", &desk.path(protocol)]);
        run(ran);
    }
    for (scenario, more) in scenarios {
        traces.push(desk.path(scenario));
        let words = ["lab", "run", scenario, "--trace", &desk.path(scenario)];
        run(wst(words.into_iter().chain(more)));
    }
    let mut seen = BTreeSet::new();
    for path in traces {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|bad| panic!("{path}: {bad}"));
        for line in text.lines() {
            let what = line.splitn(3, ' ').nth(2).unwrap_or_default();
            assert_eq!(trace::check(what), Ok(()), "{path}: {line}");
            seen.extend(what.split(' ').next().map(str::to_owned));
        }
    }
    let all: BTreeSet<String> = RECORDS.iter().map(|record| record.word.to_owned()).collect();
    let rare: BTreeSet<String> = ["act", "duplicate"].map(str::to_owned).into();
    assert!(seen.is_superset(&(&all - &rare)), "no trace had {:?}", &all - &seen);
}
