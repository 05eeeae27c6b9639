//! `wst lab diff`: tables, sweeps, runs and traces.

use crate::common;

use common::{Desk, run, wst};

fn write(desk: &Desk, name: &str, text: &str) -> String {
    let path = desk.path(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn two_sweeps_are_compared_by_the_values_of_their_ranges() {
    let desk = Desk::new(10);
    let text = "[base]\nline = '9600,delay=50ms'\nfile.bytes = 2000\n[[range]]\nkey = 'both.window'\n\
                name = 'window'\nvalues = [1, 2]\n";
    let sweep = write(&desk, "s.toml", text);
    let (a, same) = (desk.path("a.csv"), desk.path("same.ndjson"));
    run(wst(["lab", "sweep", &sweep, "-o", &a, "-o", &same])).expect(0);
    let ran = run(wst(["lab", "diff", &a, &same]));
    ran.expect(0);
    assert_eq!(ran.stdout, "0 changed, 2 are the same, 0 only in A, 0 only in B\n");
    let other = text.replace("50ms", "60ms").replace("[1, 2]", "[4, 2]");
    let other = write(&desk, "other.toml", &other);
    let b = desk.path("b.ndjson");
    run(wst(["lab", "sweep", &other, "-o", &b])).expect(0);
    let ran = run(wst(["lab", "diff", &a, &b]));
    ran.expect(1);
    assert!(ran.stdout.starts_with("window=2: elapsed_ns "), "{}", ran.stdout);
    assert!(ran.stdout.contains("only in A: window=1\nonly in B: window=4\n"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("1 changed, 0 are the same, 1 only in A, 1 only in B\n"));
    let events = run(wst(["lab", "diff", &a, &b, "--json"])).events();
    assert_eq!((&events[0]["event"], &events[0]["of"]), (&"change".into(), &"window=2".into()));
    assert!(events[0]["changes"]["cps"]["a"].is_string());
    assert_eq!((&events[3]["exit"], &events[3]["outcome"]), (&1.into(), &"different".into()));
}

#[test]
fn cells_of_tables_are_compared_by_their_places() {
    let desk = Desk::new(10);
    let cells = run(wst(["lab", "table", "kermit-news-1", "--json"]));
    let a = write(&desk, "a.json", &cells.stdout);
    run(wst(["lab", "diff", &a, &a])).expect(0);
    let changed = cells.stdout.replacen("\"published\":119", "\"published\":238", 1);
    assert_ne!(changed, cells.stdout);
    let b = write(&desk, "b.json", &changed);
    let ran = run(wst(["lab", "diff", &a, &b]));
    ran.expect(1);
    let wanted = "table=kermit-news-1 row=MTEZ col=Kermit secs: published 119 -> 238 (+100.0 %)\n";
    assert!(ran.stdout.starts_with(wanted), "{}", ran.stdout);
    // As an array, as other programs write it.
    let array = cells.stdout.lines().collect::<Vec<_>>().join(",");
    let array = write(&desk, "array.json", &format!("[{array}]"));
    run(wst(["lab", "diff", &a, &array])).expect(0);
}

#[test]
fn traces_are_compared_line_by_line() {
    let desk = Desk::new(10);
    let scenario = write(&desk, "s.toml", "line = '9600,burst=4@1s'\nfile.bytes = 4000\n");
    let trace = |name: &str, seed: &str| {
        let path = desk.path(name);
        run(wst(["lab", "run", &scenario, "--seed", seed, "--trace", &path])).expect(0);
        path
    };
    let (a, again, b) = (trace("a", "1"), trace("again", "1"), trace("b", "2"));
    let ran = run(wst(["lab", "diff", &a, &again]));
    ran.expect(0);
    assert!(ran.stdout.starts_with("the same "), "{}", ran.stdout);
    let ran = run(wst(["lab", "diff", &a, &b]));
    ran.expect(1);
    assert!(ran.stdout.starts_with("the traces diverge at line "), "{}", ran.stdout);
    let marks = ran.stdout.lines().filter(|line| line.starts_with(['-', '+'])).count();
    assert_eq!(marks, 6, "{}", ran.stdout);
    // A trace that ends early parts where it ends.
    let text = std::fs::read_to_string(&a).unwrap();
    let half: String = text.split_inclusive('\n').take(10).collect();
    let half = write(&desk, "half", &half);
    let ran = run(wst(["lab", "diff", &a, &half]));
    ran.expect(1);
    assert!(ran.stdout.starts_with("the traces diverge at line 11:\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n+ the end\n"), "{}", ran.stdout);
    let results = write(&desk, "r.csv", "sweep,point,window,done\nx,0,1,true\n");
    let ran = run(wst(["lab", "diff", &a, &results]));
    ran.expect(2);
    assert!(ran.stderr.contains("expected two files of one kind"), "{}", ran.stderr);
}

#[test]
fn what_is_no_result_is_an_error() {
    let desk = Desk::new(10);
    let prose = write(&desk, "prose.txt", "It was a dark and stormy night\n");
    let broken = write(&desk, "broken.json", "{\"table\":\"x\",\n");
    for (code, path, wanted) in [
        (2, prose.as_str(), "expected the JSON of a table"),
        (2, broken.as_str(), "broken.json: line 1: "),
        (5, "nowhere.csv", "could not read nowhere.csv"),
    ] {
        let ran = run(wst(["lab", "diff", path, path]));
        ran.expect(code);
        assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
    }
}
