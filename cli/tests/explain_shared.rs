//! `wst explain --anonymise`: nothing of the names is left, and the account is the same.

use crate::common;

use common::{Desk, Ran, Running, run, wst};
use rustix::process::Signal;

/// What no shared trace may have in it.
const SECRET: &str = "salaries";

fn text(ran: &Ran) -> &str {
    &ran.stdout
}

/// The trace of a trace's file without names, beside it.
fn shared(desk: &Desk, trace: &str) -> String {
    let ran = run(wst(["explain", "--anonymise", trace]));
    ran.expect(0);
    let path = desk.path("shared.trace");
    std::fs::write(&path, text(&ran)).expect("the shared trace");
    path
}

/// Both ends of a transfer over a bad line, traced at the sender.
#[test]
fn a_shared_trace_has_no_names_and_says_the_same() {
    let desk = Desk::new(3000);
    let (dir, trace) = (desk.path(SECRET), desk.path("t.trace"));
    std::fs::create_dir(&dir).expect("a directory");
    let file = format!("{dir}/{SECRET} 2026.txt");
    std::fs::write(&file, "a line of text\n".repeat(200)).expect("a file");
    let (a, b) = (desk.path("a"), desk.path("b"));
    let ends = [format!("pty:{a}"), format!("pty:{b}")];
    let line = Running::start(wst(["line", "19200,delay=50ms", "-a", &ends[0], "-b", &ends[1]]));
    line.says("line ");
    let receiver = Running::start(wst(["receive", &b, "-o", &desk.path("in")]));
    let to = format!("serial:{a}");
    run(wst(["send", &file, &to, "--window", "1", "--trace", &trace])).expect(0);
    receiver.end().expect(0);
    line.signal(Signal::INT);
    line.end();

    let before = std::fs::read_to_string(&trace).expect("the trace");
    assert!(before.contains(SECRET), "the trace names the file");
    let shared = shared(&desk, &trace);
    let after = std::fs::read_to_string(&shared).expect("the shared trace");
    let here = desk.dir.path().file_name().expect("its name").to_str().expect("UTF-8");
    for word in [SECRET, here, "/tmp", "serial:/"] {
        assert!(!after.contains(word), "{word} is left");
    }
    // Neither side may use the file: someone who is given only a trace does not have it.
    std::fs::remove_dir_all(&dir).expect("removed");
    let of = |path: &str| run(wst(["explain", path, "--json"])).expect(0).stdout.clone();
    assert_eq!(of(&trace), of(&shared));
    let page = run(wst(["explain", &shared]));
    assert!(page.stdout.contains("Bottleneck: ") && page.stdout.contains("What helps: "));
}

/// Of a failure the peer's words are not shared, and what is made of them is the same.
#[test]
fn a_peers_words_are_not_shared() {
    let desk = Desk::new(10);
    let line = |rest: &str| format!("1.000000000 A {rest}\n");
    let trace = [
        "0.000000000 run text way=send\n0.000000000 run text line=tcp://salaries:1\n".to_owned(),
        "0.000000000 run text protocol=kermit\n".to_owned(),
        line("sent S n=0 len=20 at=0"),
        line("got E n=0 len=30 at=30"),
        line("event kind=message text=salaries.txt: no space on /salaries/x"),
        line("settled outcome=failed blame=peer kind=peer-error"),
        line("stats file=0 encoded=0"),
    ];
    let path = desk.path("t.trace");
    std::fs::write(&path, trace.concat()).expect("the trace");
    let shared = shared(&desk, &path);
    assert!(!std::fs::read_to_string(&shared).expect("the trace").contains(SECRET));
    let of = |path: &str| {
        let page = run(wst(["explain", path, "--no-replay"])).expect(0).stdout.clone();
        // Pages are wrapped.
        let words: Vec<&str> = page.split_whitespace().collect();
        words.join(" ").replace("salaries.txt: no space on /salaries/x", "no space")
    };
    assert!(of(&shared).contains("the peer has no space"), "{}", of(&shared));
    assert_eq!(of(&path), of(&shared));
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let desk = Desk::new(10);
    let path = desk.path("t.trace");
    std::fs::write(&path, "1.000000000 A whisper salaries\n").expect("the trace");
    run(wst(["explain", "--anonymise", &path])).expect(2);
    run(wst(["explain", "--anonymise", "--json", &path])).expect(2);
    run(wst(["explain", "--anonymise", "--no-replay", &path])).expect(2);
}
