//! `wst put --shell` and `wst get --shell` as a user runs them. The conversation itself is tested in `drive`.

use crate::common::{Desk, run, wst};

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
    run(wst(["put", "--as", "x", &file, "exec:cat"])).expect(2);
    run(wst(["put", "--shell", "--resume", &file, "exec:cat"])).expect(2);
    run(wst(["put", "--shell", &file, "udp://127.0.0.1:9"])).expect(2);
}
