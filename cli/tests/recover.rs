//! `--recover`: what is continued is a copy, which takes the name when it is whole and has been compared.

use crate::common;

use std::fs;

use common::relay::Relay;
use common::{Desk, Running, noise, run, wst};

fn server(desk: &Desk, sets: &[&str]) -> (Running, String) {
    let root = desk.path("root");
    let mut words = vec!["serve", "tcp-listen://127.0.0.1:0", "--root", &root, "--allow", "write"];
    words.extend(sets);
    let server = Running::start(wst(words));
    let at = server.says("listening on ");
    (server, at)
}

fn desk() -> Desk {
    let desk = Desk::new(1);
    fs::create_dir(desk.path("root")).expect("a directory");
    desk
}

#[track_caller]
fn only(directory: &str, names: &[&str]) {
    let found = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut found: Vec<_> = found.map(|name| name.into_string().unwrap()).collect();
    found.sort();
    assert_eq!(found, names);
}

#[test]
fn a_beginning_is_continued_and_the_whole_compared() {
    let desk = desk();
    let (_server, at) = server(&desk, &[]);
    let line = format!("tcp://{at}");
    let bytes = noise(7, 50_000);
    for (from, to) in [("root", "in"), ("in", "root")] {
        fs::write(desk.path(&format!("{from}/f")), &bytes).unwrap();
        fs::write(desk.path(&format!("{to}/f")), &bytes[..20_000]).unwrap();
        let (there, here) = (desk.path("in"), desk.path("in/f"));
        let end = if from == "root" {
            run(wst(["get", "--recover", "f", &line, "-o", &there]))
        } else {
            run(wst(["put", "--recover", &here, &line]))
        };
        assert_eq!(end.code(), 0, "{}", end.stderr);
        // Also by the server, which sent only the rest.
        assert!(
            end.stderr.contains("verified") && !end.stderr.contains("not verified"),
            "{}",
            end.stderr
        );
        assert!(fs::read(desk.path(&format!("{to}/f"))).unwrap() == bytes);
        only(&desk.path(to), &["f"]);
        fs::remove_file(desk.path("in/f")).unwrap();
        fs::remove_file(desk.path("root/f")).unwrap();
    }
}

#[test]
fn a_mixture_of_two_files_is_none() {
    for policy in ["backup", "replace"] {
        let desk = desk();
        let set = format!("store.collision={policy}");
        let (_server, at) = server(&desk, &["--set", &set]);
        let line = format!("tcp://{at}");
        let (new, old) = (noise(7, 50_000), noise(8, 20_000));
        for (from, to) in [("root", "in"), ("in", "root")] {
            fs::write(desk.path(&format!("{from}/f")), &new).unwrap();
            fs::write(desk.path(&format!("{to}/f")), &old).unwrap();
            let (there, here) = (desk.path("in"), desk.path("in/f"));
            let end = if from == "root" {
                run(wst(["get", "--recover", "f", &line, "-o", &there, "--set", &set]))
            } else {
                run(wst(["put", "--recover", &here, &line]))
            };
            assert_eq!(end.code(), 6, "{}", end.stderr);
            assert!(fs::read(desk.path(&format!("{to}/f"))).unwrap() == old);
            // Nothing is left that would be continued the next time.
            only(&desk.path(to), &["f"]);
        }
    }
}

#[test]
fn a_server_that_rejects_what_exists_continues_nothing() {
    let desk = desk();
    let rules = ["--set", "store.collision=reject", "--disable", "delete", "--disable", "set"];
    let (_server, at) = server(&desk, &rules);
    fs::write(desk.path("root/f"), "abc").unwrap();
    fs::write(desk.path("in/f"), "abcdef").unwrap();
    let end = run(wst(["put", "--recover", &desk.path("in/f"), &format!("tcp://{at}")]));
    assert_eq!(end.code(), 1, "{}", end.stderr);
    assert_eq!(fs::read_to_string(desk.path("root/f")).unwrap(), "abc");
    only(&desk.path("root"), &["f"]);
}

#[test]
fn what_is_cut_short_has_not_touched_the_file() {
    let desk = desk();
    let (server, at) = server(&desk, &[]);
    let bytes = noise(9, 2_000_000);
    fs::write(desk.path("root/f"), &bytes[..1000]).unwrap();
    fs::write(desk.path("in/f"), &bytes).unwrap();
    // Far beyond what comes before the data, and far before their end.
    let relay = Relay::before(&at, 100_000);
    relay.cut();
    let end = run(wst(["put", "--recover", &desk.path("in/f"), &format!("tcp://{}", relay.at)]));
    assert_ne!(end.code(), 0, "{}", end.stderr);
    assert!(fs::read(desk.path("root/f")).unwrap() == bytes[..1000]);
    // It resumes from there.
    let end = run(wst(["put", "--recover", &desk.path("in/f"), &format!("tcp://{at}")]));
    assert_eq!(end.code(), 0, "{}", end.stderr);
    assert!(fs::read(desk.path("root/f")).unwrap() == bytes);
    drop(server);
}
