//! The report: well-formed, self-contained, complete, and the same bytes twice.

use html5ever::tendril::TendrilSink;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use std::collections::BTreeSet;
use wetstring_lab::Recorder;
use wetstring_lab::report::{BudgetJob, Report, TimeBudget};
use wetstring_lab::scenario::{Scenario, no_files};
use wetstring_lab::sweep::{Row, Sweep};
use wetstring_lab::table::{self, Table, Verdict};

const TABLE: &str = "title = 'Files & <b>lines</b>'\n\
    source = { seed = '001', line = 7 }\n\
    class = 'physics'\n\
    assumed = ['nothing is \"certain\"']\n\
    inconsistent = ['1 < 2 & 2 > 3']\n\
    [[parameter]]\n\
    of = ['serial: 9600']\n\
    fitted = [{ row = 'R', column = 'X' }]\n\
    why = 'it is slow'\n\
    [common]\n\
    line = '9600'\n\
    file = { bytes = 9600 }\n\
    [[column]]\n\
    name = 'X'\n\
    [[row]]\n\
    name = 'R'\n\
    cells = [{ column = 'X', secs = 99, cps = 97, reason = 'they were <slow>' }]\n\
    [[row]]\n\
    name = 'S'\n\
    cells = [{ column = 'X', secs = 11 }]\n";

const OWN: &str = "title = 'own'\nclass = 'physics'\nown = true\ncommon = { line = '9600', file.bytes = 960 }\n\
    [[column]]\nname = 'X'\n[[row]]\nname = 'one'\n[[row]]\nname = 'two'\n";

const SWEEP: &str = "title = 'windows'\n[base]\nline = '9600,delay=100ms'\nfile.bytes = 2000\n\
    both.streaming = 'off'\n\
    [[range]]\nkey = 'both.window'\nname = 'window'\nvalues = [1, 4, 16]\n\
    [[range]]\nkey = 'both.send-length'\nname = 'length'\nvalues = [94, 900]\n";

fn run(scenario: &Scenario) -> wetstring_lab::scenario::Outcome {
    scenario.run(&mut Recorder::off())
}

fn judged(name: &str, text: &str) -> table::Report {
    let table = Table::parse(name, "t.toml", text, &no_files).unwrap_or_else(|bad| panic!("{bad}"));
    let outcomes: Vec<_> = table.jobs().iter().map(run).collect();
    table.judge(&outcomes)
}

fn swept() -> (Sweep, Vec<Row>) {
    let sweep = Sweep::parse("w", "w.toml", SWEEP, &no_files).unwrap_or_else(|bad| panic!("{bad}"));
    let row = |point| sweep.row(point, &run(&sweep.scenario(point, &no_files).unwrap()));
    let rows = (0..sweep.count()).map(row).collect();
    (sweep, rows)
}

fn page() -> String {
    let tables = [judged("mine", TABLE), judged("own", OWN)];
    let budget = |name: &str, wait| TimeBudget {
        group: "a line".to_owned(),
        name: name.to_owned(),
        command: format!("wst lab run {name}.toml"),
        parts: vec![("data".into(), 6_000_000_000), ("waiting".into(), wait)],
    };
    let budgets = [budget("short & sweet", 2_000_000_000), budget("long", 14_000_000_000)];
    Report { tables: &tables, sweeps: &[swept()], budgets: &budgets }.page()
}

/// Takes an element's name, its attributes and the text in it.
type See<'a> = dyn FnMut(&str, &[(String, String)], &str) + 'a;

/// Every element of the page with its attributes and the text in it.
fn walk(node: &Handle, see: &mut See<'_>) {
    if let NodeData::Element { name, attrs, .. } = &node.data {
        let attrs: Vec<(String, String)> = attrs
            .borrow()
            .iter()
            .map(|attr| (attr.name.local.to_string(), attr.value.to_string()))
            .collect();
        see(&name.local, &attrs, &text(node));
    }
    for child in node.children.borrow().iter() {
        walk(child, see);
    }
}

fn text(node: &Handle) -> String {
    match &node.data {
        NodeData::Text { contents } => contents.borrow().to_string(),
        _ => node.children.borrow().iter().map(text).collect(),
    }
}

fn parse(page: &str) -> RcDom {
    parse_document(RcDom::default(), ParseOpts::default()).one(page)
}

#[test]
fn the_page_is_well_formed_as_a_browser_reads_it() {
    let page = page();
    let errors = parse(&page).errors.borrow().clone();
    assert!(errors.is_empty(), "{errors:?}");
    // The reader does find what is wrong.
    for (old, new) in
        [("</h1>", ""), ("</svg>", ""), ("<tbody>", "<tbody><p>"), ("<svg ", "<svg a=\"\" a=\"\" ")]
    {
        assert!(page.contains(old), "{old}");
        let broken = page.replacen(old, new, 1);
        assert!(!parse(&broken).errors.borrow().is_empty(), "{old}");
    }
}

#[test]
fn the_page_needs_nothing_from_anywhere() {
    let page = page();
    for word in
        ["http:", "https:", "//", "url(", "@import", "<script", "<img", "<link", "src=", "<iframe"]
    {
        assert!(!page.contains(word), "{word}");
    }
    let (mut ids, mut wanted) = (BTreeSet::new(), BTreeSet::new());
    walk(&parse(&page).document, &mut |name, attrs, _| {
        for (key, value) in attrs {
            assert!(!key.starts_with("on"), "{key} of {name}");
            match key.as_str() {
                "id" => assert!(ids.insert(value.clone()), "{value} is there twice"),
                "href" => {
                    let id =
                        value.strip_prefix('#').unwrap_or_else(|| panic!("{value} is elsewhere"));
                    wanted.insert(id.to_owned());
                }
                _ => {}
            }
        }
    });
    assert!(wanted.len() >= 4);
    assert!(wanted.is_subset(&ids), "{wanted:?} in {ids:?}");
}

#[test]
fn the_same_results_are_the_same_bytes() {
    let (first, second) = (page(), page());
    assert!(first == second);
}

#[test]
fn every_value_reason_and_command_is_there() {
    let report = judged("mine", TABLE);
    assert_eq!((report.cells.len(), report.count(Verdict::Differs)), (3, 2));
    let page = page();
    let dom = parse(&page);
    let (mut cells, mut commands, mut titles, mut plots) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut items = Vec::new();
    walk(&dom.document, &mut |name, attrs, text| match name {
        "td" => cells.push(text.to_owned()),
        "code" => commands.push(text.to_owned()),
        "h2" => titles.push(text.to_owned()),
        "li" => items.push(text.to_owned()),
        "svg" => {
            let label = attrs.iter().find(|(key, _)| key == "aria-label");
            plots.push(label.map(|(_, label)| label.clone()).expect("a label"));
        }
        _ => {}
    });
    for cell in &report.cells {
        for value in [&cell.published, &cell.ours, &cell.defaults] {
            let shown = format!("{value}\u{a0}{}", cell.unit);
            assert!(cells.contains(&shown), "{shown} of {}", cell.col);
        }
        assert!(cells.contains(&cell.ratio()), "{}", cell.ratio());
    }
    // What looks like HTML in a table's words is words.
    assert!(titles.contains(&"Files & <b>lines</b>".to_owned()), "{titles:?}");
    for wanted in ["they were <slow>", "nothing is \"certain\"", "1 < 2 & 2 > 3"] {
        assert!(items.iter().any(|item| item == wanted), "{wanted}: {items:?}");
    }
    assert!(items.iter().any(|item| item == "serial: 9600, to R, X: it is slow"));
    for wanted in [
        "$ wst lab report DIR",
        "$ wst lab table mine.toml",
        "$ wst lab sweep w.toml",
        "$ wst lab run short & sweet.toml",
    ] {
        assert!(commands.iter().any(|command| command == wanted), "{wanted}: {commands:?}");
    }
    assert_eq!(plots.len(), 5, "{plots:?}");
    // A sweep's numbers stand beside its lines, a budget's beside its bars.
    let (sweep, rows) = swept();
    let at = sweep.columns().iter().position(|column| column.name == "efficiency").unwrap();
    for row in &rows {
        let short = format!("{:.1}", row.values[at].parse::<f64>().unwrap());
        assert!(cells.contains(&short), "{short}");
    }
    assert!(cells.contains(&"14.0\u{a0}s".to_owned()) && cells.contains(&"70.0\u{a0}%".to_owned()));
}

/// Bars are as long as their values say.
#[test]
fn plots_are_to_scale() {
    let page = page();
    let mut widths = Vec::new();
    let mut inside = false;
    walk(&parse(&page).document, &mut |name, attrs, _| {
        let find =
            |key: &str| attrs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
        match name {
            "svg" => {
                inside =
                    find("aria-label").is_some_and(|label| label.starts_with("a line: the time"));
            }
            "rect" if inside => widths.push(find("width").unwrap().parse::<u32>().unwrap()),
            _ => {}
        }
    });
    // 6 + 2 s and 6 + 14 s, of which 20 s are the whole width of 720.
    assert_eq!(widths, [216, 72, 216, 504]);
}

/// The transfers of the report's budgets end well, and their parts add up to the elapsed time.
#[test]
fn budgets_add_up() {
    let jobs = BudgetJob::all();
    assert!(jobs.len() >= 8);
    for job in jobs {
        let budget = job.run().unwrap_or_else(|bad| panic!("{bad}"));
        let whole: u64 = budget.parts.iter().map(|part| part.1).sum();
        assert!(whole > 1_000_000_000, "{budget:?}");
        assert!(budget.parts.len() >= 3, "{budget:?}");
        // The file itself takes what the line takes for it, and is most of a good transfer.
        let data = budget.parts.iter().find(|(name, _)| name == "file data on the line");
        let data = data.map_or(0, |part| part.1);
        assert!(data > 0 && data < whole, "{budget:?}");
        if budget.command.contains("wet-string") {
            let line: u64 = 65_536 * 10 * 1_000_000_000 / 9600;
            assert!(data <= line && data > line / 10 * 9, "{budget:?}");
        }
    }
}

const TRIAL: &str = "title = 'Trial'\nclass = 'statistical'\nsource = { seed = '000', line = 1 }\n\
    [common]\nline = '9600'\nfile = { made = 'random', bytes = 9000 }\n\
    [[trial]]\nname = 'by day'\n[[trial.axis]]\nname = 'packet'\nkey = 'send-length'\nfrom = 90\n\
    to = 810\nstep = 180\n[[trial.series]]\nname = 'wide'\nera.both = { window = '4' }\n\
    [[trial.series]]\nname = 'narrow'\nera.both = { window = '1' }\n";

/// Every transfer of a trial is a point of the plot over each axis, and is counted in the histogram.
#[test]
fn a_trial_is_drawn_over_its_axes_and_as_a_histogram() {
    let tables = [judged("trial", TRIAL)];
    assert_eq!(tables[0].samples.len(), 10);
    let page = Report { tables: &tables, sweeps: &[], budgets: &[] }.page();
    let dom = parse(&page);
    assert!(dom.errors.borrow().is_empty(), "{:?}", dom.errors.borrow());
    let mut dots = std::collections::BTreeMap::new();
    let (mut label, mut legends) = (String::new(), Vec::new());
    walk(&dom.document, &mut |name, attrs, text| match name {
        "svg" => {
            let found = attrs.iter().find(|(key, _)| key == "aria-label");
            label = found.map(|(_, label)| label.clone()).expect("a label");
            dots.entry(label.clone()).or_insert(0);
        }
        "circle" => *dots.entry(label.clone()).or_insert(0) += 1,
        "li" => legends.push(text.to_owned()),
        _ => {}
    });
    assert_eq!(dots["trial: by day: characters per second by packet"], 10, "{dots:?}");
    assert_eq!(dots["trial: by day: transfers by characters per second"], 0, "{dots:?}");
    for series in ["wide", "narrow"] {
        let times = legends.iter().filter(|entry| *entry == series).count();
        assert_eq!(times, 2, "{series} in {legends:?}");
    }
}
