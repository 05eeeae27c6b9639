//! `wst lab sweep`: files, shards, interrupts, and the same bytes wherever they were made.

use crate::common;

use common::{Desk, Running, run, wst};
use rustix::process::Signal;
use std::time::{Duration, Instant};

const SWEEP: &str = "[base]\nline = '9600,delay=100ms'\nfile = { bytes = 3000 }\n\
                     both = { streaming = 'off' }\n[[range]]\nkey = 'both.window'\n\
                     name = 'window'\nvalues = [1, 2, 4]\n[[range]]\nkey = 'both.send-length'\n\
                     name = 'length'\nvalues = [94, 200, 400, 1000]\n";

fn desk(text: &str) -> (Desk, String) {
    let desk = Desk::new(10);
    let path = desk.path("small.toml");
    std::fs::write(&path, text).unwrap();
    (desk, path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn a_sweep_is_a_line_for_each_point_in_order() {
    let (desk, sweep) = desk(SWEEP);
    let (csv, ndjson) = (desk.path("out.csv"), desk.path("out.ndjson"));
    let ran = run(wst(["lab", "sweep", &sweep, "-o", &csv, "-o", &ndjson]));
    ran.expect(0);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("12 points in "), "{}", ran.stderr);
    let lines: Vec<String> = read(&csv).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 13);
    assert!(lines[0].starts_with("sweep,point,window,length,done,ending,bytes,"), "{}", lines[0]);
    let point = |line: &str| line.split(',').nth(1).unwrap().parse::<usize>().unwrap();
    assert!(lines[1..].iter().map(|line| point(line)).eq(0..12));
    assert_eq!(read(&ndjson).lines().count(), 12);
    // The same to stdout, and again as events.
    let ran = run(wst(["lab", "sweep", &sweep, "-o", "-"]));
    ran.expect(0);
    assert_eq!(ran.stdout, read(&csv));
    let ran = run(wst(["lab", "sweep", &sweep, "-o", "-", "--json"]));
    let events = ran.events();
    assert_eq!(events.len(), 13);
    assert_eq!((&events[5]["point"], &events[5]["window"]), (&5.into(), &2.into()));
    assert_eq!((&events[12]["points"], &events[12]["failed"]), (&12.into(), &0.into()));
}

#[test]
fn shards_merge_to_the_whole() {
    let (desk, sweep) = desk(SWEEP);
    let whole = desk.path("whole.csv");
    run(wst(["lab", "sweep", &sweep, "-o", &whole])).expect(0);
    let parts: Vec<String> =
        (1..=3).map(|index| desk.path(&format!("part{index}.ndjson"))).collect();
    for (index, part) in parts.iter().enumerate() {
        let shard = format!("{}/3", index + 1);
        run(wst(["lab", "sweep", &sweep, "--shard", &shard, "-o", part])).expect(0);
        assert_eq!(read(part).lines().count(), 4);
    }
    let joined = desk.path("joined.csv");
    let merge = |files: &[String]| {
        let mut args = vec!["lab", "sweep", &sweep, "-o", &joined, "--merge"];
        args.extend(files.iter().map(String::as_str));
        run(wst(args))
    };
    let ran = merge(&parts[..2]);
    ran.expect(1);
    assert!(
        ran.stderr.contains("expected results of 12 points, got 8: 2, 5, 8, 11 missing"),
        "{}",
        ran.stderr
    );
    assert!(!std::path::Path::new(&joined).exists(), "what was refused leaves nothing");
    merge(&parts).expect(0);
    assert_eq!(read(&joined), read(&whole));
    // A shard of another sweep.
    std::fs::write(&sweep, SWEEP.replace("100ms", "110ms")).unwrap();
    let ran = merge(&parts);
    ran.expect(2);
    assert!(ran.stderr.contains("expected results of sweep "), "{}", ran.stderr);
    for bad in ["0/3", "4/3", "x", "1"] {
        let ran = run(wst(["lab", "sweep", &sweep, "--shard", bad]));
        ran.expect(2);
        assert!(ran.stderr.contains("expected I/N with I from 1 to N"), "{}", ran.stderr);
    }
}

/// A sweep that takes long is interrupted, keeps its results, and continues; then it is the same as
/// one that was never interrupted.
#[test]
fn an_interrupt_keeps_what_is_there_and_the_same_command_continues() {
    let text = SWEEP.replace("3000", "120000").replace("[1, 2, 4]", "[1, 2, 3, 4, 5, 6, 7, 8]");
    let (desk, sweep) = desk(&text);
    let (csv, whole) = (desk.path("out.csv"), desk.path("whole.csv"));
    let lines = || std::fs::read_to_string(&csv).map_or(0, |text| text.lines().count());
    let running = Running::start(wst(["lab", "sweep", &sweep, "-o", &csv]));
    let began = Instant::now();
    while lines() < 3 && began.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(5));
    }
    running.signal(Signal::INT);
    let ran = running.end();
    ran.expect(130);
    assert!(ran.stderr.contains("the same command runs the rest"), "{}", ran.stderr);
    let kept = read(&csv);
    let count = kept.lines().count() - 1;
    assert!((2..32).contains(&count), "{count} of 32 points before the interrupt");
    // As if the machine had stopped in the middle of a line.
    std::fs::write(&csv, format!("{kept}0123456789abcdef,3")).unwrap();
    let ran = run(wst(["lab", "sweep", &sweep, "-o", &csv]));
    ran.expect(0);
    assert!(
        ran.stderr.contains(&format!("{count} of 32 points are done already")),
        "{}",
        ran.stderr
    );
    run(wst(["lab", "sweep", &sweep, "-o", &whole])).expect(0);
    assert_eq!(read(&csv), read(&whole));
    // A third time nothing is left to do.
    let ran = run(wst(["lab", "sweep", &sweep, "-o", &csv]));
    ran.expect(0);
    assert!(ran.stderr.contains("32 of 32 points are done already"), "{}", ran.stderr);
    assert_eq!(read(&csv), read(&whole));
}

#[test]
fn results_of_something_else_are_not_touched() {
    let (desk, sweep) = desk(SWEEP);
    let other = desk.path("other.csv");
    std::fs::write(&other, "name,age\nAda,36\n").unwrap();
    let ran = run(wst(["lab", "sweep", &sweep, "-o", &other]));
    ran.expect(2);
    assert!(ran.stderr.contains("expected the columns sweep, point, window"), "{}", ran.stderr);
    assert_eq!(read(&other), "name,age\nAda,36\n");
    // An invalid value in a column is an error.
    let mine = desk.path("mine.csv");
    run(wst(["lab", "sweep", &sweep, "-o", &mine])).expect(0);
    let whole = read(&mine);
    let broken = whole.replacen(",true,", ",perhaps,", 1);
    std::fs::write(&mine, &broken).unwrap();
    let ran = run(wst(["lab", "sweep", &sweep, "-o", &mine]));
    ran.expect(2);
    assert!(
        ran.stderr.contains("result 1: done: expected true or false, got perhaps"),
        "{}",
        ran.stderr
    );
    assert_eq!(read(&mine), broken);
    let ran = run(wst(["lab", "sweep", &sweep, "-o", "results.txt"]));
    ran.expect(2);
    assert!(ran.stderr.contains("expected a file of .csv or .ndjson"), "{}", ran.stderr);
}

#[test]
fn bad_sweeps_name_file_line_and_key() {
    let (_desk, sweep) = desk(&SWEEP.replace("both.window", "both.widow"));
    for (code, path, wanted) in [
        (2, sweep.as_str(), "small.toml:6: both.widow: unknown setting"),
        (5, "nowhere.toml", "could not read the sweep nowhere.toml"),
        (2, "nowhere", "expected a sweep (window-length, "),
    ] {
        let ran = run(wst(["lab", "sweep", path, "-o", "-"]));
        ran.expect(code);
        assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn a_transfer_that_fails_is_a_result() {
    let (_desk, sweep) = desk(
        "[base]\nfile.bytes = 3000\nprotocol = 'ymodem-g'\n[[range]]\nkey = 'line'\n\
         values = ['9600', '9600,burst=8@500ms']\n",
    );
    let ran = run(wst(["lab", "sweep", &sweep, "-o", "-"]));
    ran.expect(0);
    assert!(ran.stderr.contains("; 1 transfer failed, see"), "{}", ran.stderr);
    assert!(ran.stdout.contains("\"9600,burst=8@500ms\",false,"), "{}", ran.stdout);
}

#[test]
fn the_list_names_every_sweep() {
    let ran = run(wst(["lab", "sweep", "--list"]));
    ran.expect(0);
    assert!(ran.stdout.contains("window-length       Kermit at 9600 bit/s"), "{}", ran.stdout);
}
