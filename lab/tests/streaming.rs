//! The streaming trials of 1998: the fast ones in full, what explains the others, and how trials
//! are read and judged.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use wetstring_lab::Recorder;
use wetstring_lab::scenario::{Outcome, Scenario, no_files};
use wetstring_lab::table::{Report, Table, Verdict};

fn outcomes(table: &Table) -> Vec<Outcome> {
    let jobs: &[Scenario] = table.jobs();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Outcome>>> = Mutex::new(vec![None; jobs.len()]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((index, job)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    jobs.get(index).map(|job| (index, job))
                } {
                    let outcome = job.run(&mut Recorder::off());
                    done.lock().unwrap()[index] = Some(outcome);
                }
            });
        }
    });
    done.into_inner().unwrap().into_iter().map(Option::unwrap).collect()
}

fn judged(table: &Table) -> Report {
    table.judge(&outcomes(table))
}

fn named(name: &str) -> Table {
    Table::named(name).unwrap_or_else(|| panic!("{name}")).unwrap_or_else(|bad| panic!("{bad}"))
}

#[test]
fn the_fast_trials_are_reproduced_or_explained() {
    // One cell of trial 7 is 28 s where the one beside it is 27, and ours 24.8.
    for (name, least) in [("streaming-3", 9), ("streaming-6", 8), ("streaming-7", 7)] {
        let report = judged(&named(name));
        assert!(report.is_good(), "{}", report.text());
        assert!(report.count(Verdict::Reproduced) >= least, "{}", report.text());
    }
}

/// Trial 0 has as many transfers as the source, by day and by night.
#[test]
fn trial_0_is_complete() {
    let table = named("streaming-0");
    // FTP 20 times more.
    assert_eq!(table.jobs().len(), 2 * (18 * 31 * 2 + 5) + 20 + 5);
    let seeds: std::collections::BTreeSet<u64> =
        table.jobs()[..1116].iter().map(Scenario::seed).collect();
    assert_eq!(seeds.len(), 1116);
}

/// `-0.43 (???)`: a packet of two segments waits for a delayed acknowledgement, one of one segment
/// does not. Without either of the two rules the longer packet is the faster one.
#[test]
fn nagle_and_delayed_acknowledgements_explain_trial_4() {
    let cps = |tcp: &str, length: u64| {
        let text = format!(
            "line = 'tcp:mss=1460,{tcp} over ethernet:10M'\nport = 4096\n\
             file = {{ corpus = 'sparc', bytes = 300000 }}\n\
             [both]\nstreaming = 'off'\nwindow = 1\nreceive-length = {length}\ncheck = '3'\n\
             prefixing = 'none'\nclear-channel = 'off'\n\
             [sender]\nhost = 'write=250us+1us,mark=1'\n[receiver]\nhost = 'read=250us,mark=1'\n"
        );
        let scenario = Scenario::parse("trial-4.toml", &text, &no_files).unwrap();
        let outcome = scenario.run(&mut Recorder::off());
        assert!(outcome.is_done(), "{}", outcome.ending);
        outcome.millicps() / 1000
    };
    let (one, two) = (cps("nagle,delack=100ms", 1344), cps("nagle,delack=100ms", 1920));
    assert!(one > 8 * two, "{one} {two}");
    for without in ["nodelay,delack=100ms", "nagle,delack=off"] {
        let (one, two) = (cps(without, 1344), cps(without, 1920));
        assert!(one < two, "{without}: {one} {two}");
    }
}

/// A trial of 13 lengths over a clean line, with and without windows.
fn trial(more: &str) -> Result<Table, String> {
    let text = format!(
        "title = 'small'\nclass = 'statistical'\n\
         common = {{ line = '9600,delay=100ms', file.bytes = 30000, both.check = '1' }}\n\
         [[trial]]\nname = ''\nera.both = {{ prefixing = 'none', streaming = 'off' }}\n\
         [[trial.axis]]\nname = 'packet'\nkey = 'receive-length'\nfrom = 90\nto = 810\nstep = 60\n\
         [[trial.series]]\nname = 'wide'\nera.both = {{ window = 10 }}\n\
         {more}\n\
         [[trial.series]]\nname = 'narrow'\nera.both = {{ window = 1 }}\n\
         [trial.between]\nwins = 13\nties = 0\nlosses = 0\n"
    );
    Table::parse("small", "small.toml", &text, &no_files).map_err(|bad| bad.to_string())
}

#[test]
fn verdicts_of_a_trial() {
    for (more, col, verdict) in [
        ("mean = 890\ndefaults-reason = 'shorter packets'", "mean", Verdict::Reproduced),
        ("mean = 890", "mean", Verdict::Slower),
        ("mean = 2000", "mean", Verdict::Unexplained),
        (
            "mean = 2000\ndefaults-reason = 'x'\nreasons.mean = 'a slow day'",
            "mean",
            Verdict::Differs,
        ),
        ("mean = 890\nreasons.mean = 'a slow day'", "mean", Verdict::Needless),
        ("max = 960", "max", Verdict::Reproduced),
        ("max = 960\nmax-count = 90", "max-count", Verdict::Unexplained),
        ("r.packet = 0.8", "r packet", Verdict::Reproduced),
        ("r.packet = -0.8", "r packet", Verdict::Unexplained),
        ("r.packet = -0.01", "r packet", Verdict::Unexplained),
        ("r.packet = 0.0", "r packet", Verdict::Unexplained),
        ("max = 960\nmax-count = 1", "max-count", Verdict::Reproduced),
        ("", "wins, ties, losses", Verdict::Reproduced),
    ] {
        let report = judged(&trial(more).unwrap_or_else(|bad| panic!("{bad}")));
        let cell = report.cells.iter().find(|cell| cell.col == col);
        let cell = cell.unwrap_or_else(|| panic!("{col}: {}", report.text()));
        assert_eq!(cell.verdict, verdict, "{more}\n{}", report.text());
    }
}

#[test]
fn samples_have_the_axes_and_the_rates_of_the_statistics() {
    let table = trial("mean = 900").unwrap();
    let samples = table.judge(&outcomes(&table)).samples;
    assert_eq!(samples.len(), 26);
    assert_eq!(samples[0].axes, [("packet".to_owned(), 90)]);
    assert_eq!(samples[12].axes, [("packet".to_owned(), 810)]);
    assert!(samples.iter().all(|sample| sample.cps.is_some_and(|cps| cps > 0)));
    assert_eq!(samples[25].series, "narrow");
}

#[test]
fn a_wrong_place_of_a_trial_is_named() {
    for (more, wanted) in [
        ("mean = 'much'", "small.toml:16: "),
        ("meen = 1", "small.toml:16: "),
        ("r.width = 0.5", "small.toml: trial.series.r: expected an axis or the product, got width"),
        ("mean = 9\nreasons.max = 'x'", "small.toml:17: reasons: expected one of the cells"),
        ("era.both.widow = 5", "small.toml"),
    ] {
        match trial(more) {
            Ok(_) => panic!("expected a refusal of {more}"),
            Err(said) => assert!(said.starts_with(wanted), "expected {wanted}\n got {said}"),
        }
    }
}

#[test]
fn ftp_has_the_rate_of_its_window() {
    let text = "protocol = 'ftp'\nline = 'tcp:window=4K,sendbuf=4K,delack=200ms over path:rate=10M,delay=34ms'\n\
                file = { made = 'random', bytes = 200000 }\n";
    let scenario = Scenario::parse("ftp.toml", text, &no_files).unwrap();
    let outcome = scenario.run(&mut Recorder::off());
    assert!(outcome.is_done());
    // 4096 bytes, less a segment's worth, in each 70 ms; 4096 would be 58 KB/s.
    let rate = outcome.millicps() / 1000;
    assert!((36_000..60_000).contains(&rate), "{rate}");
    let bad = Scenario::parse("ftp.toml", &format!("{text}both.window = 5\n"), &no_files);
    let said = bad.expect_err("ftp has no window").to_string();
    assert_eq!(said, "ftp.toml:4: both.window: unknown setting, expected host: ftp has no others");
}

/// Correlations that the same test tells apart in the source come in its order; others have none.
#[test]
fn correlations_that_differ_have_an_order() {
    let text = |r: &str| {
        format!(
            "title = 'small'\nclass = 'statistical'\n\
             common = {{ line = '9600,delay=300ms', file.bytes = 20000 }}\n\
             [[trial]]\nname = ''\nera.both = {{ streaming = 'off', adapt-length = 'off' }}\n\
             [[trial.axis]]\nname = 'window'\nkey = 'window'\nvalues = [1, 2, 3]\n\
             [[trial.axis]]\nname = 'packet'\nkey = 'receive-length'\nvalues = [300, 320, 340]\n\
             [[trial.series]]\nname = 'all'\nr = {{ {r} }}\n"
        )
    };
    for (r, verdict) in [
        ("window = 0.95, packet = -0.5", Some(Verdict::Reproduced)),
        ("window = -0.5, packet = 0.95", Some(Verdict::Unexplained)),
        ("window = 0.01, packet = 0.02", None),
    ] {
        let table = Table::parse("small", "small.toml", &text(r), &no_files).unwrap();
        let report = judged(&table);
        let cell = report.cells.iter().find(|cell| cell.col == "order of r");
        assert_eq!(cell.map(|cell| cell.verdict), verdict, "{r}\n{}", report.text());
    }
}
