//! `wst explain TRACE --html FILE`: a page for every protocol, and of traces of one end.

use crate::common;

use common::{Desk, run, wst};

/// What every page has, and what none has: scripts, and anything from elsewhere.
fn is_whole(page: &str) {
    for needed in
        ["<!DOCTYPE html>", "<svg", "Packets over time", "Throughput", "Where the time went"]
    {
        assert!(page.contains(needed), "{needed} in\n{page}");
    }
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("@media print"));
    for foreign in ["<script", "http://", "https://", "<img", "<link", "url("] {
        assert!(!page.contains(foreign), "{foreign} in\n{page}");
    }
}

#[test]
fn a_transfer_of_every_protocol_is_drawn() {
    let desk = Desk::new(1);
    let (scenario, trace, html) = (desk.path("s.toml"), desk.path("t.trace"), desk.path("t.html"));
    let all =
        ["kermit", "xmodem", "xmodem-crc", "xmodem-1k", "ymodem", "ymodem-g", "zmodem", "uucp-g"];
    for protocol in all {
        let noise = if protocol == "ymodem-g" { "" } else { ",burst=8@3s,dir=fwd" };
        let text = format!(
            "protocol = '{protocol}'\nline = '9600,delay=20ms{noise}'\n[file]\nbytes = 12000\n"
        );
        std::fs::write(&scenario, text).expect("the scenario");
        run(wst(["lab", "run", &scenario, "--trace", &trace])).expect(0);
        let lines = std::fs::read_to_string(&trace).expect("the trace");
        for who in ["A", "B", ""] {
            let of = |line: &&str| who.is_empty() || line.split(' ').nth(1) == Some(who);
            let part = lines.lines().filter(of).collect::<Vec<_>>().join("\n");
            std::fs::write(&trace, part).expect("the trace");
            let ran = run(wst(["explain", &trace, "--no-replay", "--html", &html, "--json"]));
            let event = ran.expect(0).events().into_iter().find(|e| e["event"] == "explained");
            assert!(event.is_some(), "{}", ran.stdout);
            let page = std::fs::read_to_string(&html).expect("the page");
            is_whole(&page);
            let again = noise.is_empty() || page.contains("again") || page.contains("duplicate");
            assert!(again, "{protocol} {who}: what was sent again is drawn");
        }
    }
}

#[test]
fn a_page_that_cannot_be_written_is_an_error() {
    let desk = Desk::new(3000);
    let (data, trace) = (desk.path("data.bin"), desk.path("trace"));
    let line = format!("exec:{} receive - -o {}", common::WST, desk.path("in"));
    run(wst(["send", "--trace", &trace, &data, &line])).expect(0);
    let nowhere = desk.path("nothing/page.html");
    let ran = run(wst(["explain", &trace, "--html", &nowhere]));
    assert!(ran.expect(5).stderr.contains("could not write"), "{}", ran.stderr);
    let html = desk.path("page.html");
    run(wst(["explain", &trace, "--html", &html])).expect(0);
    is_whole(&std::fs::read_to_string(&html).expect("the page"));
}
