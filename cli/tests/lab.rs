//! `wst lab`: scenarios and published tables, from the command line.

use crate::common;

use common::{Desk, run, wst};
use serde_json::Value;

const SCENARIO: &str = "protocol = 'zmodem'\nline = '9600,delay=250ms,burst=8@2s'\n\
                        [file]\nmade = 'random'\nbytes = 20000\n";

fn events(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
}

#[test]
fn a_scenario_runs_twice_with_one_trace() {
    let desk = Desk::new(30);
    let scenario = desk.path("noisy.toml");
    std::fs::write(&scenario, SCENARIO).unwrap();
    let mut traces = Vec::new();
    for name in ["first", "second"] {
        let trace = desk.path(name);
        let ran = run(wst(["lab", "run", &scenario, "--trace", &trace, "--seed", "5"]));
        ran.expect(0);
        assert!(ran.stdout.contains("zmodem over 9600,delay=250ms"), "{}", ran.stdout);
        assert!(ran.stdout.contains("of seed 5"), "{}", ran.stdout);
        traces.push(std::fs::read(&trace).unwrap());
    }
    assert!(traces[0].len() > 1000);
    assert!(traces[0] == traces[1], "the same scenario gives the same trace");
    let trace = desk.path("other");
    run(wst(["lab", "run", &scenario, "--trace", &trace, "--seed", "6"])).expect(0);
    assert!(std::fs::read(&trace).unwrap() != traces[0], "another seed gives another one");
}

#[test]
fn a_scenario_of_the_laboratory_needs_no_file() {
    let ran = run(wst(["lab", "run", "clean", "--set", "protocol=zmodem"]));
    ran.expect(0);
    assert!(ran.stdout.contains("zmodem over 115200"), "{}", ran.stdout);
    let ran = run(wst(["lab", "run", "clear"]));
    ran.expect(2);
    let wanted = "expected a scenario (clean, mainframe, multics, sz-1993, telebit, wet-string) or a TOML file, got clear";
    assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
}

/// A file over SLIP while somebody types: what the bytes were, how long echoes took, where the time went.
#[test]
fn a_slip_line_says_what_its_bytes_were_and_how_long_echoes_took() {
    let ran = run(wst(["lab", "run", "telebit", "--explain", "--set", "file.bytes=30000"]));
    ran.expect(0);
    for wanted in [
        "ftp over tcp:mss=256,window=4096 over slip:vj,mtu=296 over pep:",
        " of data, ",
        " acknowledgements of ",
        " keys, ",
        "turns of the other side",
        "modem packets not full",
        "What helps: ",
    ] {
        assert!(ran.stdout.contains(wanted), "{wanted}\n{}", ran.stdout);
    }
    let ran = run(wst(["--json", "lab", "run", "telebit", "--set", "file.bytes=30000"]));
    ran.expect(0);
    let result = &events(&ran.stdout)[0];
    assert!(result["echoes"]["median_ms"].as_f64().is_some_and(|ms| ms > 100.0), "{result}");
    assert!(result["slip"]["from_receiver"]["acks"].as_u64().is_some_and(|acks| acks > 100));
    let bad = run(wst(["lab", "run", "telebit", "--set", "line=9600"]));
    bad.expect(2);
    assert!(bad.stderr.contains("typing: expected protocol = \"ftp\""), "{}", bad.stderr);
}

#[test]
fn a_result_is_an_event_and_settings_override() {
    let desk = Desk::new(30);
    let scenario = desk.path("noisy.toml");
    std::fs::write(&scenario, SCENARIO).unwrap();
    let sets = ["--set", "line=9600", "--set", "file.bytes=960", "--set", "protocol=xmodem"];
    let ran = run(wst(["--json", "lab", "run", &scenario].into_iter().chain(sets)));
    ran.expect(0);
    let events = events(&ran.stdout);
    assert_eq!(events.len(), 2);
    assert_eq!((&events[0]["event"], &events[1]["event"]), (&"result".into(), &"end".into()));
    assert_eq!(events[0]["protocol"], "xmodem");
    assert_eq!(events[0]["bytes"], 960);
    let (cps, limit) =
        (events[0]["cps"].as_f64().unwrap(), events[0]["limit_cps"].as_f64().unwrap());
    let efficiency = events[0]["efficiency"].as_f64().unwrap();
    assert!((cps / limit * 100.0 - efficiency).abs() < 0.01, "{cps} of {limit}: {efficiency}");
}

#[test]
fn a_run_that_fails_says_so_in_its_code() {
    let desk = Desk::new(30);
    let scenario = desk.path("noisy.toml");
    std::fs::write(&scenario, SCENARIO).unwrap();
    let ran = run(wst(["lab", "run", &scenario, "--set", "protocol=ymodem-g"]));
    ran.expect(3);
    assert!(ran.stderr.contains("the receiver failed"), "{}", ran.stderr);
    let ran = run(wst(["lab", "run", &scenario, "--set", "limits.time=2"]));
    ran.expect(7);
}

#[test]
fn bad_input_names_file_line_and_key() {
    let desk = Desk::new(30);
    let (scenario, table) = (desk.path("bad.toml"), desk.path("table.toml"));
    std::fs::write(&scenario, "line = '9600'\n[both]\nwidow = 3\n").unwrap();
    std::fs::write(&table, "title = 'x'\nclass = 'physics'\nrows = 3\n").unwrap();
    let latin = desk.path("latin.toml");
    std::fs::write(&latin, b"line = '9600'\n# \xe9t\xe9\n").unwrap();
    for (code, args, wanted) in [
        (2, vec!["lab", "run", &scenario], "bad.toml:3: both.widow: unknown setting"),
        (2, vec!["lab", "run", &latin], "latin.toml:2: expected UTF-8, got byte 0xe9"),
        (2, vec!["lab", "table", &latin], "latin.toml:2: expected UTF-8, got byte 0xe9"),
        (2, vec!["lab", "sweep", &latin], "latin.toml:2: expected UTF-8, got byte 0xe9"),
        (
            2,
            vec!["lab", "run", &scenario, "--set", "line=serial:9600"],
            "--set line=serial:9600: line: `serial:9600`: expected a line such as 9600",
        ),
        (2, vec!["lab", "run", &scenario, "--set", "both.window"], "--set both.window: expected"),
        (5, vec!["lab", "run", "nowhere.toml"], "could not read the scenario nowhere.toml"),
        (2, vec!["lab", "table", &table], "table.toml:3: rows: unknown field `rows`"),
        (5, vec!["lab", "table", "nowhere.toml"], "could not read the table nowhere.toml"),
        (2, vec!["lab", "table", "kermit-news-0"], "expected a table (kermit-news-1, "),
        (2, vec!["lab", "table"], "required"),
        (2, vec!["lab"], "run"),
    ] {
        let ran = run(wst(args.clone()));
        ran.expect(code);
        assert!(ran.stderr.contains(wanted), "{args:?}\n{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn a_table_is_cells_with_verdicts() {
    let ran = run(wst(["lab", "table", "kermit-news-1", "--json"]));
    ran.expect(0);
    let events = events(&ran.stdout);
    // 21 cells, two lines of the scoreboard, and the end.
    assert_eq!(events.len(), 24);
    let scores: Vec<_> = events.iter().filter(|event| event["event"] == "score").collect();
    assert_eq!(scores.len(), 2);
    // Of seven transfers three are one run to us: programs with the same printed settings.
    assert!(scores.iter().all(|score| score["fitted"] == true && score["ratios"] == 5));
    let first = &events[0];
    for key in ["table", "row", "col", "published", "ours", "unit", "ratio", "verdict", "reason"] {
        assert!(first.get(key).is_some(), "{key} is missing in {first}");
    }
    assert_eq!((&first["row"], &first["col"]), (&"Telix".into(), &"Kermit secs".into()));
    assert_eq!((&first["published"], &first["unit"]), (&131.into(), &"s".into()));
    for cell in &events[..21] {
        let (verdict, reason) = (cell["verdict"].as_str().unwrap(), &cell["reason"]);
        assert_eq!(verdict == "differs", reason != "", "{cell}");
    }
    let text = run(wst(["lab", "table", "kermit-news-1"]));
    text.expect(0);
    assert!(text.stdout.contains("21 cells: 9 reproduced, 12 differ"), "{}", text.stdout);
}

#[test]
fn a_cell_that_differs_without_a_reason_is_an_error() {
    let desk = Desk::new(30);
    let table = desk.path("mine.toml");
    let text = "title = 'mine'\nclass = 'physics'\ncommon = { line = '9600', file.bytes = 9600 }\n\
                [[column]]\nname = 'X'\n[[row]]\nname = 'r'\ncells = [{ column = 'X', secs = 99 }]\n";
    std::fs::write(&table, text).unwrap();
    let ran = run(wst(["lab", "table", &table]));
    ran.expect(6);
    assert!(ran.stdout.contains("unexplained"), "{}", ran.stdout);
    let reasoned = text.replace("secs = 99", "secs = 99, reason = 'a slow day'");
    std::fs::write(&table, reasoned).unwrap();
    run(wst(["lab", "table", &table])).expect(0);
}

#[test]
fn the_list_names_every_table() {
    let ran = run(wst(["lab", "table", "--list"]));
    ran.expect(0);
    for name in ["kermit-news-1", "kermit-news-2", "compare"] {
        assert!(ran.stdout.contains(name), "{name}");
    }
}

#[test]
fn a_scenario_is_repeated_and_a_network_measured() {
    let desk = Desk::new(30);
    let scenario = desk.path("noisy.toml");
    std::fs::write(&scenario, SCENARIO).unwrap();
    let ran = run(wst(["lab", "repeat", &scenario, "--runs", "20", "--json"]));
    ran.expect(0);
    let event = events(&ran.stdout).into_iter().find(|event| event["event"] == "repeats").unwrap();
    let [low, mean, high] =
        ["low", "mean", "high"].map(|key| event["seconds"][key].as_f64().unwrap());
    assert!(low < mean && mean < high && low > 20.0, "{event}");
    let steps = event["distribution"].as_array().unwrap();
    assert_eq!((steps.len(), steps[19]["share"].as_f64()), (20, Some(1.0)));
    let ran = run(wst(["lab", "bench", "path:10M,delay=5ms,queue=1p", "--trial", "1"]));
    ran.expect(0);
    let row = ran.stdout.lines().find(|line| line.trim_start().starts_with("1500 ")).unwrap();
    assert!(row.contains(" 6.200 ms "), "{row}");
    run(wst(["lab", "bench", "tcp: over path:10M"])).expect(2);
}
