//! `wst put --shell` and `wst get --shell` as a user runs them. The conversation itself is tested in `drive`.

use crate::common::{Desk, run, wst};
use crate::peers;

fn line(desk: &Desk) -> String {
    std::fs::create_dir_all(desk.path("there")).expect("a directory");
    format!("exec-pty:stty sane; cd {}; exec sh -i", desk.path("there"))
}

#[test]
fn a_file_goes_to_a_shell_and_comes_back() {
    let desk = Desk::new(20_000);
    let (line, file) = (line(&desk), desk.path("sent.bin"));
    std::fs::write(&file, &desk.bytes).expect("a file");
    let put = run(wst(["put", "--shell", &file, &line]));
    put.expect(0);
    assert!(put.stderr.contains("verified"), "{}", put.stderr);
    let there = std::fs::read(desk.path("there/sent.bin")).expect("the file");
    assert!(there == desk.bytes);
    let again = run(wst(["put", "--shell", &file, &line]));
    again.expect(1);
    assert!(again.stderr.contains("--overwrite replaces it"), "{}", again.stderr);
    run(wst(["put", "--shell", "--overwrite", "--as", "other name", &file, &line])).expect(0);
    let got = run(wst(["get", "--shell", "other name", &line, "-o", &desk.path("got")]));
    got.expect(0);
    assert!(std::fs::read(desk.path("got/other name")).expect("the file") == desk.bytes);
    let missing = run(wst(["get", "--shell", "nothing", &line, "-o", &desk.path("got")]));
    missing.expect(1);
    assert!(missing.stderr.contains("nothing cannot be read at the shell"), "{}", missing.stderr);
}

#[test]
fn what_is_no_shell_is_told() {
    let desk = Desk::new(10);
    let file = desk.path("sent.bin");
    std::fs::write(&file, &desk.bytes).expect("a file");
    let none = run(wst(["put", "--shell", &file, "exec-pty:echo login:; exit 0"]));
    none.expect(3);
    assert!(none.stderr.contains("the line closed, after it wrote \"login:\""), "{}", none.stderr);
    let ended = run(wst(["send", &file, "exec-pty:echo no such container; exit 4"]));
    ended.expect(3);
    let said = "its command ended with status 4, after it wrote \"no such container\"";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    let ended = run(wst(["send", &file, "exec:echo no such container >&2; exit 4"]));
    ended.expect(3);
    let said = "wst: line: the line closed; its command ended with status 4; not sent";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    run(wst(["put", "--as", "x", &file, "exec:cat"])).expect(2);
    run(wst(["put", "--shell", "--resume", &file, "exec:cat"])).expect(2);
    run(wst(["put", "--shell", &file, "udp://127.0.0.1:9"])).expect(2);
}

/// Before it is given up.
#[test]
fn a_silent_shell_is_told_about() {
    let desk = Desk::new(10);
    let put = run(wst(["put", "--shell", &desk.path("data.bin"), "exec:sleep 7"]));
    put.expect(3);
    assert_eq!(put.stderr.matches("no answer for 5 s").count(), 1, "{}", put.stderr);
}

/// `wst-mini` goes first, up and down; what is missing is named.
#[test]
fn a_program_goes_to_the_shell_first() {
    let desk = Desk::new(400_000);
    let (line, file) = (line(&desk), desk.path("sent.bin"));
    std::fs::write(&file, &desk.bytes).expect("a file");
    let none = desk.path("none");
    let two = ["--shell", "--stages", "two", "--mini"];
    let missing = run(wst(["put"].iter().chain(&two).chain(&[none.as_str(), &file, &line])));
    missing.expect(4);
    let said = format!("no wst-mini for {} in {none}", std::env::consts::ARCH);
    assert!(missing.stderr.contains(&said), "{}", missing.stderr);
    let minis = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/mini/share");
    if !std::path::Path::new(minis).join(std::env::consts::ARCH).is_dir() {
        peers::missing("wst-mini is not built (cargo xtask mini)");
        return;
    }
    let two: Vec<&str> = two.iter().copied().chain([minis, "-v"]).collect();
    let put = run(wst(["put"].iter().chain(&two).chain(&[file.as_str(), &line])));
    put.expect(0);
    for said in ["wst-mini runs at the shell; Kermit finds", "sent 400.0 kB", "verified"] {
        assert!(put.stderr.contains(said), "{}", put.stderr);
    }
    let there = std::fs::read(desk.path("there/sent.bin")).expect("the file");
    assert!(there == desk.bytes);
    let got = desk.path("got");
    let get = run(wst(["get"].iter().chain(&two).chain(&["sent.bin", &line, "-o", &got])));
    get.expect(0);
    assert!(get.stderr.contains("wst-mini runs at the shell"), "{}", get.stderr);
    assert!(std::fs::read(desk.path("got/sent.bin")).expect("the file") == desk.bytes);
    let left = std::fs::read_dir(desk.path("there")).expect("the folder").count();
    assert_eq!(left, 1, "nothing else is there");
}
