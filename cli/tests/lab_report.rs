//! `wst lab report`: one page, the same wherever it is made.

use crate::common;

use common::{Desk, run, wst};

#[test]
fn the_page_has_what_was_asked_for_and_is_the_same_twice() {
    let desk = Desk::new(10);
    let sweep = desk.path("small.toml");
    let text = "title = 'small'\n[base]\nline = '9600'\nfile.bytes = 500\n[[range]]\nkey = 'both.window'\n\
                values = [1, 2]\n[[range]]\nkey = 'both.send-length'\nvalues = [40, 94]\n";
    std::fs::write(&sweep, text).unwrap();
    let mut pages = Vec::new();
    for name in ["first", "second/below"] {
        let directory = desk.path(name);
        let args = ["lab", "report", &directory, "--table", "kermit-news-1", "--sweep", &sweep];
        let ran = run(wst(args));
        ran.expect(0);
        assert_eq!(ran.stdout, "");
        assert!(
            ran.stderr.contains("index.html: 1 tables with 21 values, 1 sweeps"),
            "{}",
            ran.stderr
        );
        pages.push(std::fs::read_to_string(format!("{directory}/index.html")).unwrap());
        let files = std::fs::read_dir(&directory).unwrap().count();
        assert_eq!(files, 1, "one file is all");
    }
    assert!(pages[0].starts_with("<!DOCTYPE html>"));
    assert!(pages[0].contains("id=\"kermit-news-1\"") && pages[0].contains("id=\"sweep-small\""));
    assert!(!pages[0].contains("id=\"kermit-news-2\""));
    // Everything but the path of a sweep of one's own, which was the same.
    assert!(pages[0] == pages[1]);
}

#[test]
fn what_is_wrong_is_said() {
    let desk = Desk::new(10);
    let inside = format!("{}/data.bin/report", desk.path("."));
    for (code, args, wanted) in [
        (2, vec!["lab", "report"], "DIR"),
        (2, vec!["lab", "report", "x", "--table", "kermit-news-0"], "expected a table ("),
        (2, vec!["lab", "report", "x", "--sweep", "nothing"], "expected a sweep ("),
        (
            5,
            vec!["lab", "report", &inside, "--table", "kermit-news-1"],
            "could not write the report",
        ),
    ] {
        let ran = run(wst(args));
        ran.expect(code);
        assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
    }
}
