//! Published tables: the fast ones in full, what their files must not say, and the comparison.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use wetstring_lab::Recorder;
use wetstring_lab::scenario::{Outcome, Scenario, no_files};
use wetstring_lab::table::{Report, Table, Verdict};

/// What became of all jobs of a table, on two threads.
fn judged(table: &Table) -> Report {
    let jobs: &[Scenario] = table.jobs();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Outcome>>> = Mutex::new(vec![None; jobs.len()]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { break };
                    let outcome = job.run(&mut Recorder::off());
                    done.lock().unwrap()[index] = Some(outcome);
                }
            });
        }
    });
    let outcomes: Option<Vec<Outcome>> = done.into_inner().unwrap().into_iter().collect();
    table.judge(&outcomes.unwrap())
}

fn named(name: &str) -> Table {
    Table::named(name).unwrap_or_else(|| panic!("{name}")).unwrap_or_else(|bad| panic!("{bad}"))
}

#[test]
fn fast_tables_are_reproduced_or_explained() {
    for (name, least) in [
        ("kermit-news-1", 9),
        ("kermit-news-2", 43),
        ("kermit-news-7", 14),
        ("telebit", 11),
        ("rfc662", 8),
        ("arpanet-1970s", 135),
    ] {
        let report = judged(&named(name));
        assert!(report.is_good(), "{}", report.text());
        assert!(report.count(Verdict::Reproduced) >= least, "{}", report.text());
    }
}

#[test]
fn the_assumptions_of_rfc_662_hold() {
    let report = judged(&named("rfc662"));
    let [curve] = &report.curves[..] else { panic!("expected one curve") };
    let [(_, transit), (_, rfnm)] = &curve.lines[..] else { panic!("expected two lines") };
    assert!(transit.len() == 8 && rfnm.len() == 8);
    // Its length changes nothing of a RFNM's time, and each further packet takes as long as the one before.
    assert!(rfnm.iter().all(|point| point.1 == rfnm[0].1 && point.1 > 0), "{rfnm:?}");
    let steps: Vec<u64> = transit.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    assert!(steps.iter().all(|step| step.abs_diff(steps[0]) * 100 < steps[0]), "{steps:?}");
    assert!(report.text().contains(&curve.title));
}

/// A small table around this cell.
fn table(cell: &str) -> Result<Table, String> {
    let text = format!(
        "title = 'small'\nclass = 'physics'\n[common]\nline = '9600'\nfile.bytes = 9600\n\
         [[column]]\nname = 'X'\nscenario.protocol = 'xmodem-crc'\n\
         [[row]]\nname = 'r'\ncells = [{{ {cell} }}]\n"
    );
    Table::parse("small", "small.toml", &text, &no_files).map_err(|bad| bad.to_string())
}

#[test]
fn verdicts_follow_the_published_value() {
    // 75 blocks of 133 characters and their answers: 10.5 s.
    for (cell, verdict) in [
        ("column = 'X', secs = 10", Verdict::Reproduced),
        ("column = 'X', secs = 11", Verdict::Reproduced),
        ("column = 'X', secs = 12", Verdict::Unexplained),
        ("column = 'X', secs = 12, class = 'assumptions'", Verdict::Reproduced),
        ("column = 'X', secs = 12, reason = 'a slow day'", Verdict::Differs),
        ("column = 'X', secs = 10, reason = 'a slow day'", Verdict::Needless),
        ("column = 'X', cps = 915", Verdict::Reproduced),
        ("column = 'X', cps = 800", Verdict::Unexplained),
        ("column = 'X', eff = 95", Verdict::Reproduced),
        ("column = 'X', eff = 95.3", Verdict::Reproduced),
        ("column = 'X', eff = 99", Verdict::Unexplained),
        ("column = 'X', outcome = 'fail'", Verdict::Unexplained),
        ("column = 'X', outcome = 'fail', reason = 'ours is better'", Verdict::Differs),
        (
            "column = 'X', secs = 1, scenario.protocol = 'ymodem-g', scenario.line = '9600,burst=8@1s'",
            Verdict::Unexplained,
        ),
        (
            "column = 'X', outcome = 'fail', scenario.protocol = 'ymodem-g', scenario.line = '9600,burst=8@1s'",
            Verdict::Reproduced,
        ),
    ] {
        let report = judged(&table(cell).unwrap_or_else(|bad| panic!("{bad}")));
        assert_eq!(report.cells[0].verdict, verdict, "{cell}\n{}", report.text());
        assert_eq!(report.is_good(), verdict.is_good());
    }
}

/// What a source says in words is as good as the transfer that it compares with.
#[test]
fn words_hold_if_ours_is_better_by_enough() {
    // 10.5 s, and half of that at twice the rate.
    let without = "without.line = '19200'";
    for (cell, verdict, ours) in [
        ("better = 'slower', of = 'secs', without.line = '4800'", Verdict::Reproduced, "11"),
        ("better = 'faster', of = 'cps', without.line = '4800'", Verdict::Reproduced, "906"),
        (&format!("better = 'faster', of = 'cps', {without}"), Verdict::Unexplained, "906"),
        (
            &format!("better = 'faster', of = 'cps', reason = 'a typo', {without}"),
            Verdict::Differs,
            "906",
        ),
        (
            "better = 'a bit', of = 'cps', by = 90, without.line = '4800'",
            Verdict::Reproduced,
            "906",
        ),
        (
            "better = 'a lot', of = 'cps', by = 150, without.line = '4800'",
            Verdict::Unexplained,
            "906",
        ),
        (
            "better = 'a bit', of = 'cps', reason = 'none', without.line = '4800'",
            Verdict::Needless,
            "906",
        ),
    ] {
        let report = judged(&table(&format!("column = 'X', {cell}")).unwrap());
        let [only] = &report.cells[..] else { panic!("one cell of {cell}") };
        assert_eq!(only.verdict, verdict, "{cell}\n{}", report.text());
        assert!(only.ours.starts_with(ours) && only.ours.contains(" against "), "{}", only.ours);
    }
    let report = judged(&table("column = 'X', secs = 10, also = ['cps']").unwrap());
    let verdicts: Vec<Verdict> = report.cells.iter().map(|cell| cell.verdict).collect();
    assert_eq!(verdicts, [Verdict::Reproduced, Verdict::Own]);
    let rate: u64 = report.cells[1].ours.parse().unwrap();
    // By whole seconds: 10 or 11 of them.
    assert!(report.cells[1].published.is_empty() && [872, 960].contains(&rate), "{rate}");
}

#[test]
fn a_count_is_within_chance_if_a_run_of_ours_could_have_it() {
    let verdict = |cell: &str| {
        let text = format!(
            "title = 'small'\nclass = 'physics'\nseeds = 7\n[common]\nprotocol = 'netblt'\n\
             line = 'udp over path:10M,rtt=10ms,loss=2%'\nfile = {{ made = 'pattern', bytes = 3000000 }}\n\
             [[column]]\nname = 'X'\n[[row]]\nname = 'r'\ncells = [{{ column = 'X', {cell} }}]\n"
        );
        let table = Table::parse("small", "small.toml", &text, &no_files);
        let report = judged(&table.unwrap_or_else(|bad| panic!("{bad}")));
        let cell = &report.cells[0];
        let ends = cell.range.split_once(" to ").map(|(least, most)| (least.parse(), most.parse()));
        let Some((Ok(least), Ok(most))) = ends else { panic!("{}", report.text()) };
        let (least, most): (u64, u64) = (least, most);
        (cell.verdict, cell.ours.parse::<u64>().expect("a count"), least, most)
    };
    let (_, median, least, most) = verdict("lost = 1000, reason = 'x'");
    assert!(least < median && median < most, "{least} {median} {most}");
    assert_eq!(verdict(&format!("lost = {median}")).0, Verdict::Reproduced);
    assert_eq!(verdict(&format!("lost = {most}")).0, Verdict::Chance);
    assert_eq!(verdict(&format!("lost = {least}")).0, Verdict::Chance);
    assert_eq!(verdict(&format!("lost = {}", most + 2)).0, Verdict::Unexplained);
    assert_eq!(verdict(&format!("lost = {most}, reason = 'noise'")).0, Verdict::Needless);
}

#[test]
fn a_reason_for_one_value_does_not_cover_the_others() {
    let cell = "column = 'X', secs = 10, eff = 50, reasons = { eff = 'misprinted' }";
    let report = judged(&table(cell).unwrap());
    let verdicts: Vec<Verdict> = report.cells.iter().map(|cell| cell.verdict).collect();
    assert_eq!(verdicts, [Verdict::Reproduced, Verdict::Differs]);
    let cell = "column = 'X', secs = 20, eff = 50, reasons = { eff = 'misprinted' }";
    assert!(!judged(&table(cell).unwrap()).is_good());
}

#[test]
fn a_wrong_place_is_named_by_file_line_and_key() {
    for (cell, wanted) in [
        (
            "column = 'Y', secs = 1",
            "small.toml:11: row.cells.column: expected one of the columns X",
        ),
        ("column = 'X', sex = 1", "small.toml:11: row.sex: unknown field `sex`"),
        ("column = 'X', secs = -1", "small.toml:11: secs: expected a number"),
        ("column = 'X', secs = -0.5", "small.toml:11: secs: expected a number"),
        ("column = 'X', scenario.line = '-1'", "small.toml:11: line: `-1`"),
        ("column = 'X', scenario.both.widow = 1", "small.toml:11: both.widow: unknown setting"),
        ("column = 'X', saved = [5, 2], without.seed = 2", "small.toml:11: saved: expected two"),
        ("column = 'X', saved = [2, 5]", "small.toml:11: saved: expected two percentages"),
        ("column = 'X', corpora = ['zip']", "small.toml:11: saved: expected saved = "),
        (
            "column = 'X', saved = [2, 5], without.seed = 2, corpora = ['bible']",
            "small.toml:11: row.cells.corpora: expected one of manual, ",
        ),
        ("column = 'X', better = 'much', of = 'cps'", "small.toml:11: better: expected better = "),
        (
            "column = 'X', better = 'much', without.seed = 2",
            "small.toml:11: better: expected better = ",
        ),
        ("column = 'X', also = ['speed']", "small.toml:11: row.cells: unknown variant `speed`"),
        ("column = 'X', class = 'lenient'", "small.toml:11: row.class: unknown variant"),
    ] {
        match table(cell) {
            Ok(_) => panic!("expected a refusal of {cell}"),
            Err(said) => assert!(said.starts_with(wanted), "expected {wanted}\n got {said}"),
        }
    }
}

/// The page in the documentation is what the laboratory says today.
#[test]
fn the_comparison_in_the_documentation_is_true() {
    let report = judged(&named("compare"));
    let page = report.markdown();
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/protocols-compared.md");
    if std::env::var_os("WETSTRING_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/reference/protocols-compared.md is no longer true; it would be:\n{page}"
    );
}

/// A row alone has the same values as in the whole table, and only its own transfers are made.
#[test]
fn a_row_can_be_reproduced_alone() {
    for name in ["kermit-news-2", "streaming-7"] {
        let whole = judged(&named(name));
        let rows: std::collections::BTreeSet<&str> =
            whole.cells.iter().map(|cell| cell.row.as_str()).collect();
        for row in rows {
            let alone = named(name).only(row).unwrap();
            assert!(alone.jobs().len() < named(name).jobs().len(), "{row}");
            let alone = judged(&alone);
            let of = |report: &Report| -> Vec<String> {
                let own = report.cells.iter().filter(|cell| cell.row == row);
                own.map(|cell| format!("{cell:?}")).collect()
            };
            assert!(!of(&alone).is_empty(), "{row}");
            assert_eq!(of(&alone), of(&whole), "{name}: {row}");
        }
    }
    let said = named("kermit-news-2").only("Binary").unwrap_err();
    assert!(said.starts_with("expected one of the rows "), "{said}");
    assert!(said.ends_with(", got Binary"), "{said}");
    let said = named("streaming-0").only("by noon").unwrap_err();
    assert!(said.contains("by day: streaming against nonstreaming, "), "{said}");
    let trial = named("streaming-0").only("by night: streaming").unwrap();
    assert_eq!(trial.jobs().len(), 18 * 31 * 2 + 5);
}

/// Whatever a report prints as the name of a row can be asked for, and is what the table names.
#[test]
fn every_row_of_every_report_can_be_selected() {
    let tiny = "line = '0'\nfile.bytes = 100\n";
    let outcome = Scenario::parse("tiny.toml", tiny, &no_files).unwrap().run(&mut Recorder::off());
    for name in Table::names() {
        let table = named(name);
        let report = table.judge(&vec![outcome; table.jobs().len()]);
        let printed: std::collections::BTreeSet<String> =
            report.cells.iter().map(|cell| cell.row.clone()).collect();
        assert_eq!(printed, table.rows().into_iter().collect(), "{name}");
        for row in printed {
            let alone = table.clone().only(&row).unwrap_or_else(|say| panic!("{name}: {say}"));
            assert!(!alone.jobs().is_empty(), "{name}: {row}");
            let report = alone.judge(&vec![outcome; alone.jobs().len()]);
            assert!(report.cells.iter().any(|cell| cell.row == row), "{name}: {row}");
        }
    }
}

/// A small table of a Kermit with settings of its own; more of the cell.
fn kermit(era: &str, cell: &str) -> Report {
    let text = format!(
        "title = 'small'\nclass = 'physics'\n[common]\nline = '9600'\nfile.made = 'runs'\nfile.bytes = 20000\n\
         [[column]]\nname = 'K'\nera.both = {{ {era} }}\n\
         [[row]]\nname = 'r'\ncells = [{{ column = 'K', {cell} }}]\n"
    );
    judged(&Table::parse("small", "small.toml", &text, &no_files).unwrap_or_else(|b| panic!("{b}")))
}

/// Where our defaults are slower a reason has to stand, and nowhere else.
#[test]
fn slower_defaults_need_a_reason() {
    let fast = "prefixing = 'none', unprefixed = '255'";
    let slow = "window = 1, receive-length = 60";
    let why = "reason = 'x', defaults-reason = 'prefixes'";
    let of = |era, cell: &str| kermit(era, cell).cells[0].clone();
    assert_eq!(of(slow, "secs = 9999, reason = 'x'").verdict, Verdict::Differs);
    assert_eq!(of(slow, &format!("secs = 9999, {why}")).verdict, Verdict::Needless);
    // Ramp: every byte in turn, a quarter of them control characters.
    let ramp = "scenario.file.made = 'ramp', secs = 9999";
    assert_eq!(of(fast, &format!("{ramp}, reason = 'x'")).verdict, Verdict::Slower);
    let good = of(fast, &format!("{ramp}, {why}"));
    assert_eq!((good.verdict, &*good.slower), (Verdict::Differs, "prefixes"));
}

#[test]
fn time_saved_is_against_the_same_transfer_without() {
    let runs = "without.both = { repeat = 'off' }";
    let of = |cell: &str| kermit("window = 5", cell).cells[0].clone();
    let ours: f64 = of(&format!("saved = [0, 100], {runs}")).ours.parse().unwrap();
    assert!((20.0..100.0).contains(&ours), "{ours}");
    assert_eq!(of(&format!("saved = [0, 3], {runs}")).verdict, Verdict::Unexplained);
    assert_eq!(of(&format!("saved = [0, 3], {runs}, reason = 'x'")).verdict, Verdict::Differs);
    assert_eq!(of(&format!("saved = [0, 100], {runs}, reason = 'x'")).verdict, Verdict::Needless);
    // In a file without runs there is nothing to save, and the mean is half of it.
    let none = of(&format!("saved = [0, 100], {runs}, corpora = ['zip']"));
    let none: f64 = none.ours.parse().unwrap();
    assert!(none.abs() < 1.0, "{none}");
    let two = of(&format!("saved = [0, 100], {runs}, corpora = ['sparc-small', 'zip']"));
    let one = of(&format!("saved = [0, 100], {runs}, corpora = ['sparc-small']"));
    let [one, two] = [one, two].map(|cell| cell.ours.parse::<f64>().unwrap());
    assert!((two - f64::midpoint(one, none)).abs() < 0.2, "{one} {two} {none}");
}
