//! Sweeps: points, shards, results as CSV and NDJSON, and errors that name file, line and key.

use wetstring_lab::Recorder;
use wetstring_lab::scenario::{Scenario, no_files};
use wetstring_lab::sweep::{Format, Kind, Row, Sweep, merge};

const TEXT: &str = "title = 'small'\n\
                    [base]\n\
                    line = '9600,delay=100ms'\n\
                    file = { bytes = 2000 }\n\
                    both = { streaming = 'off' }\n\
                    [[range]]\n\
                    key = 'both.window'\n\
                    name = 'window'\n\
                    values = [1, 4]\n\
                    [[range]]\n\
                    key = ['both.send-length', 'both.receive-length']\n\
                    name = 'length'\n\
                    from = 94\n\
                    to = 400\n\
                    factor = 2\n";

fn sweep(text: &str) -> Sweep {
    Sweep::parse("small", "small.toml", text, &no_files).unwrap_or_else(|bad| panic!("{bad}"))
}

fn run(sweep: &Sweep, points: impl Iterator<Item = usize>) -> Vec<Row> {
    let row = |point| {
        let scenario = sweep.scenario(point, &no_files).unwrap();
        sweep.row(point, &scenario.run(&mut Recorder::off()))
    };
    points.map(row).collect()
}

fn column(sweep: &Sweep, row: &Row, name: &str) -> String {
    let at = sweep.columns().iter().position(|column| column.name == name);
    row.values[at.unwrap_or_else(|| panic!("no column {name}"))].clone()
}

#[test]
fn the_last_range_turns_fastest_and_each_point_is_its_scenario() {
    let sweep = sweep(TEXT);
    assert_eq!(sweep.count(), 6);
    let values: Vec<_> = (0..6).map(|point| sweep.values(point).join(" ")).collect();
    assert_eq!(values, ["1 94", "1 188", "1 376", "4 94", "4 188", "4 376"]);
    // The same by hand.
    let by_hand = "line = '9600,delay=100ms'\nfile = { bytes = 2000 }\n[both]\nstreaming = 'off'\n\
                   window = 4\nsend-length = 188\nreceive-length = 188\n";
    let outcome = Scenario::parse("x", by_hand, &no_files).unwrap().run(&mut Recorder::off());
    assert!(outcome.is_done());
    let row = &run(&sweep, 4..5)[0];
    assert_eq!(column(&sweep, row, "elapsed_ns"), outcome.elapsed.as_nanos().to_string());
    assert_eq!(column(&sweep, row, "bytes"), "2000");
    assert_eq!(column(&sweep, row, "done"), "true");
    let wire = outcome.report.sides[0].usage.bytes_in;
    assert_eq!(column(&sweep, row, "wire_bytes"), wire.to_string());
    assert!(wire > 2000);
    // A window and long packets help over a delay.
    let rows = run(&sweep, 0..6);
    let cps = |row: &Row| column(&sweep, row, "cps").parse::<f64>().unwrap();
    assert!(cps(&rows[1]) > cps(&rows[0]) * 1.2, "{rows:?}");
    assert!(cps(&rows[3]) > cps(&rows[0]) * 1.5, "{rows:?}");
}

#[test]
fn shards_are_all_points_once_and_merge_to_the_whole() {
    let sweep = sweep(TEXT);
    let whole = run(&sweep, 0..6);
    for of in 1..=8 {
        let shards: Vec<(String, Vec<Row>)> = (1..=of)
            .map(|index| {
                let points: Vec<usize> = sweep.shard(index, of).collect();
                let rows = points.iter().map(|point| whole[*point].clone()).collect();
                (format!("{index} of {of}"), rows)
            })
            .collect();
        let count: usize = shards.iter().map(|(_, rows)| rows.len()).sum();
        assert_eq!(count, 6);
        assert_eq!(merge(&sweep, &shards).unwrap(), whole);
        if of > 1 {
            let bad = merge(&sweep, &shards[1..]).unwrap_err().to_string();
            assert!(bad.starts_with("expected results of 6 points, got "), "{bad}");
            assert!(bad.ends_with(" missing"), "{bad}");
        }
    }
    // The same point twice is good if both say the same, and only then.
    let mut twice = vec![("a".to_owned(), whole.clone()), ("b".to_owned(), whole[2..3].to_vec())];
    assert_eq!(merge(&sweep, &twice).unwrap(), whole);
    twice[1].1[0].values[5] = "other".to_owned();
    let bad = merge(&sweep, &twice).unwrap_err().to_string();
    assert_eq!(bad, "point 2 differs in a and b");
}

#[test]
fn csv_and_ndjson_say_the_same_and_are_read_back() {
    let sweep = sweep(TEXT);
    let (rows, columns) = (run(&sweep, 0..6), sweep.columns());
    for format in [Format::Csv, Format::Ndjson] {
        let page = format.page(&columns, &rows);
        let records = format.read(&page).unwrap();
        assert_eq!(records.whole_bytes, page.len());
        assert_eq!(records.of_sweep(&sweep).unwrap(), rows);
        // A machine stopped in the middle of a line: what is before it counts.
        let cut = format.read(&page[..page.len() - 7]).unwrap();
        assert_eq!(cut.of_sweep(&sweep).unwrap(), rows[..5]);
        assert!(page[..cut.whole_bytes].ends_with('\n'));
        assert!(page.len() - cut.whole_bytes > 7);
    }
    let line = Format::Ndjson.line(&columns, &rows[1]);
    assert!(
        line.contains(r#""point":1,"window":1,"length":188,"done":true,"ending":"done""#),
        "{line}"
    );
    assert!(columns.iter().any(|column| column.name == "cps" && column.kind == Kind::Number));
}

#[test]
fn texts_with_commas_and_failures_survive() {
    let text = "[base]\nfile.bytes = 3000\nprotocol = 'ymodem-g'\n[[range]]\nkey = 'line'\n\
                values = ['9600', '9600,burst=8@500ms', '9600,drop=1e-2']\n";
    let sweep = sweep(text);
    let (rows, columns) = (run(&sweep, 0..3), sweep.columns());
    for format in [Format::Csv, Format::Ndjson] {
        let read = format.read(&format.page(&columns, &rows)).unwrap();
        assert_eq!(read.of_sweep(&sweep).unwrap(), rows);
    }
    assert_eq!(column(&sweep, &rows[1], "line"), "9600,burst=8@500ms");
    assert_eq!(column(&sweep, &rows[1], "done"), "false");
    assert_eq!(column(&sweep, &rows[1], "cps"), "", "a transfer that failed has no rate");
    assert!(column(&sweep, &rows[1], "ending").contains("failed"));
    let line = Format::Ndjson.line(&columns, &rows[1]);
    assert!(line.contains(r#""cps":null"#), "{line}");
}

#[test]
fn results_of_another_sweep_are_told_apart() {
    let sweep_a = sweep(TEXT);
    let page = Format::Csv.page(&sweep_a.columns(), &run(&sweep_a, 0..2));
    let of =
        |text: &str| Format::Csv.read(&page).unwrap().of_sweep(&sweep(text)).map(|rows| rows.len());
    assert_eq!(of(TEXT), Ok(2));
    // What does not change a run does not change the sweep.
    assert_eq!(of(&TEXT.replace("'small'", "'another title'")), Ok(2));
    assert_eq!(of(&TEXT.replace("[base]", "# a comment\n[base]")), Ok(2));
    for (old, new) in [("100ms", "101ms"), ("2000", "2001"), ("values = [1, 4]", "values = [1, 5]")]
    {
        let bad = of(&TEXT.replace(old, new)).unwrap_err().to_string();
        assert!(bad.contains("expected results of sweep "), "{bad}");
    }
    let bad = of(&TEXT.replace("name = 'window'", "name = 'slots'")).unwrap_err().to_string();
    assert!(bad.contains("expected the columns sweep, point, slots"), "{bad}");
}

#[test]
fn a_scenario_file_is_the_lowest_layer_and_counts() {
    let text = "scenario = 'low.toml'\n[base]\nfile.bytes = 100\n[[range]]\nkey = 'seed'\nfrom = 1\nto = 3\n";
    let load = |low: &'static str| {
        move |path: &str| {
            if path == "low.toml" { Ok(low.into()) } else { Err(format!("{path}: not found")) }
        }
    };
    let low = "line = '9600'\nprotocol = 'xmodem'\n[file]\nbytes = 50\n";
    let sweep = Sweep::parse("s", "s.toml", text, &load(low)).unwrap();
    let scenario = sweep.scenario(2, &load(low)).unwrap();
    assert_eq!((scenario.seed(), scenario.file().bytes.len()), (3, 100));
    assert_eq!(scenario.protocol().name, "xmodem");
    let other = "line = '9600'\nprotocol = 'ymodem'\n[file]\nbytes = 50\n";
    let other = Sweep::parse("s", "s.toml", text, &load(other)).unwrap();
    assert_ne!(sweep.digest(), other.digest());
    let bad = Sweep::parse("s", "s.toml", &text.replace("low", "no"), &load(low)).unwrap_err();
    assert_eq!(bad.to_string(), "s.toml:1: scenario: no.toml: not found");
}

#[test]
fn bad_sweeps_name_file_line_and_key() {
    for (old, new, wanted) in [
        (
            "both.window",
            "both.widow",
            "small.toml:7: both.widow: unknown setting, expected host or",
        ),
        ("both.window", "bath.window", "small.toml:7: bath.window: unknown field `bath`"),
        ("streaming", "steaming", "small.toml:5: both.steaming: unknown setting"),
        ("[1, 4]", "[1, 99]", "small.toml:9: both.window: kermit.window takes 1..31, got 99"),
        ("[1, 4]", "[]", "small.toml:9: range.values: expected a list with values in it, got none"),
        ("[1, 4]", "[4, 4]", "small.toml:9: range.values: expected each value once, got 4 twice"),
        (
            "to = 400",
            "to = 93",
            "small.toml:14: range.to: expected a range with values in it, got none from 94 to 93",
        ),
        ("to = 400\n", "", "small.toml:10: range.values: expected values = [...], or from, to"),
        (
            "factor = 2",
            "factor = 1",
            "small.toml:15: range.factor: expected a factor of at least 2",
        ),
        ("factor = 2", "step = 0", "small.toml:15: range.step: expected a step that is not 0"),
        ("factor = 2", "stop = 2", "small.toml:15: range.stop: unknown field `stop`"),
        (
            "'window'",
            "'cps'",
            "small.toml:8: range.name: expected a name that no other column has, got cps",
        ),
        (
            "'length'",
            "'window'",
            "small.toml:12: range.name: expected a name that no other column has",
        ),
        (
            "both.send-length",
            "both.window",
            "small.toml:11: range.key: expected one range for both.window, got two",
        ),
        ("'9600,delay=100ms'", "'-9600'", "small.toml:3: line: "),
        ("title", "titel", "small.toml:1: titel: unknown field `titel`"),
        ("both.window", "protocol", "small.toml:9: protocol: expected one of kermit, "),
    ] {
        let text = TEXT.replacen(old, new, 1);
        let bad = Sweep::parse("small", "small.toml", &text, &no_files).expect_err(new).to_string();
        assert!(bad.starts_with(wanted), "{new}: expected {wanted}, got {bad}");
    }
    let negative = "[[range]]\nkey = 'line'\nvalues = ['9600', '-300,delay=1s']\n";
    let bad = Sweep::parse("n", "n.toml", negative, &no_files).unwrap_err().to_string();
    assert!(bad.starts_with("n.toml:3: line: ") && bad.contains("-300"), "{bad}");
    let none = "[base]\nline = '9600'\n";
    let bad = Sweep::parse("n", "n.toml", none, &no_files).unwrap_err().to_string();
    assert_eq!(bad, "n.toml: range: expected at least one [[range]]");
}

/// Window is a setting of Kermit and ZMODEM only: the second value of the first range is bad with
/// every value of the second, the third value is good with some.
#[test]
fn each_combination_is_checked_before_anything_runs() {
    let text = "[base]\nline = '9600'\n[[range]]\nkey = 'both.check'\nvalues = ['3']\n\
                [[range]]\nkey = 'protocol'\nvalues = ['kermit', 'zmodem']\n";
    let bad = Sweep::parse("c", "c.toml", text, &no_files).unwrap_err().to_string();
    assert!(bad.starts_with("c.toml:4: both.check: unknown setting"), "{bad}");
    let text = "[base]\nline = '9600'\n[[range]]\nkey = 'both.window'\nvalues = [1, 4000]\n\
                [[range]]\nkey = 'protocol'\nvalues = ['zmodem', 'kermit']\n";
    let bad = Sweep::parse("c", "c.toml", text, &no_files).unwrap_err().to_string();
    assert!(bad.starts_with("c.toml:5: both.window: ") && bad.contains("4000"), "{bad}");
}

#[test]
fn a_range_counts_down_and_formats() {
    let text = "[base]\nfile.bytes = 10\n[[range]]\nkey = 'line'\nname = 'delay'\n\
                format = '9600,delay={}ms'\nfrom = 500\nto = 0\nstep = -250\n";
    let sweep = sweep(text);
    let lines: Vec<String> =
        (0..3).map(|point| sweep.scenario(point, &no_files).unwrap().line()[0].clone()).collect();
    assert_eq!(lines, ["9600,delay=500ms", "9600,delay=250ms", "9600,delay=0ms"]);
    let bad = text.replace("{}", "x");
    let bad = Sweep::parse("f", "f.toml", &bad, &no_files).unwrap_err().to_string();
    assert!(bad.starts_with("f.toml:6: range.format: expected a text with {} in it"), "{bad}");
}

#[test]
fn the_sweeps_of_the_laboratory_are_good() {
    assert!(Sweep::names().count() >= 3);
    for name in Sweep::names() {
        let sweep = Sweep::named(name).unwrap().unwrap_or_else(|bad| panic!("{bad}"));
        assert!(sweep.count() >= 20, "{name}");
        assert_eq!(sweep.name(), name);
        assert_ne!(sweep.title(), name);
    }
    assert!(Sweep::named("nothing").is_none());
}
