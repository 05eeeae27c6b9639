//! Which files below a directory are sent: patterns, links, what is left out, and what would be sent.

use crate::common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use common::{Desk, Ran, Running, run, wst};

/// A tree of sources, things built from them, links, and a directory without files.
fn desk() -> Desk {
    let desk = Desk::new(1);
    for name in
        ["t/a.c", "t/a.o", "t/build/x.c", "t/src/b.c", "t/src/build/keep.c", "t/.git/config"]
    {
        fs::create_dir_all(desk.path(name.rsplit_once('/').unwrap().0)).unwrap();
        fs::write(desk.path(name), name.repeat(20)).unwrap();
    }
    fs::create_dir(desk.path("t/empty")).unwrap();
    fs::write(desk.path("outside.c"), "outside").unwrap();
    symlink("../outside.c", desk.path("t/link.c")).unwrap();
    symlink("..", desk.path("t/src/up")).unwrap();
    desk
}

/// The files below a directory.
fn tree(at: &Path) -> Vec<String> {
    fn walk(at: &Path, top: &Path, into: &mut Vec<String>) {
        for entry in fs::read_dir(at).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, top, into);
            } else {
                into.push(path.strip_prefix(top).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    let mut all = Vec::new();
    walk(at, at, &mut all);
    all.sort();
    all
}

/// Runs the program where the tree is.
fn here(desk: &Desk, args: &[&str]) -> Ran {
    let mut command = wst(args);
    command.current_dir(desk.dir.path());
    run(command)
}

/// Sends `t` with these flags over TCP; what was said, and what arrived.
fn sent(desk: &Desk, flags: &[&str], receiver: &[&str]) -> (Ran, Vec<String>) {
    let into = desk.path("in");
    let mut args = vec!["receive", "-r", "tcp-listen://127.0.0.1:0", "-o", &into];
    args.extend(receiver);
    let receiver = Running::start(wst(args));
    let to = format!("tcp://{}", receiver.says("listening on "));
    let mut args = vec!["send", "t", &to];
    args.extend(flags);
    let output = here(desk, &args);
    output.expect(0);
    receiver.end().expect(0);
    let came = tree(Path::new(&into));
    (output, came)
}

#[test]
fn patterns_leave_out_and_what_is_left_out_is_said() {
    let (output, came) = sent(&desk(), &[], &[]);
    let all = ["t/.git/config", "t/a.c", "t/a.o", "t/build/x.c", "t/src/b.c", "t/src/build/keep.c"];
    assert_eq!(came, all);
    let said = "t: 2 symbolic links left out (--copy-links sends what they point to, --links";
    assert!(output.stderr.contains(said), "{}", output.stderr);

    let flags = ["--exclude", "*.o", "--exclude", "/build/", "--exclude", ".git"];
    let (output, came) = sent(&desk(), &flags, &[]);
    assert_eq!(came, ["t/a.c", "t/src/b.c", "t/src/build/keep.c"]);
    assert!(output.stderr.contains("t: 3 names excluded; "), "{}", output.stderr);

    let flags = ["--exclude", "*", "--include", "*/", "--include", "src/**/*.c"];
    let (_, came) = sent(&desk(), &flags, &[]);
    assert_eq!(came, ["t/src/b.c", "t/src/build/keep.c"]);
}

/// Empty directories arrive, and links as what they are if both ends say so.
#[test]
fn directories_and_links_arrive() {
    for streaming in ["on", "off"] {
        let desk = desk();
        symlink("../a.c", desk.path("t/src/up.c")).unwrap();
        let set = format!("kermit.streaming={streaming}");
        let receiver = ["--set", &set, "--links", "inside"];
        let (output, came) = sent(&desk, &["--links", "--set", &set], &receiver);
        assert!(came.contains(&"t/src/up.c".to_owned()), "{came:?}");
        assert_eq!(fs::read_link(desk.path("in/t/src/up.c")).unwrap(), Path::new("../a.c"));
        // `..` of t/src is inside, and a link to what is beside t is not.
        assert_eq!(fs::read_link(desk.path("in/t/src/up")).unwrap(), Path::new(".."));
        assert!(fs::symlink_metadata(desk.path("in/t/link.c")).is_err());
        let said = "t: 1 symbolic link left out (pointing outside the directory)";
        assert!(output.stderr.contains(said), "{}", output.stderr);
        assert!(desk.dir.path().join("in/t/empty").is_dir(), "{streaming}");
    }
}

/// More files than may be on their way at once, and acknowledged many at a time.
#[test]
fn every_file_of_many_is_told_of() {
    let desk = Desk::new(10);
    for index in 0..300 {
        let name = desk.path(&format!("many/file-with-a-rather-long-name-{index:04}"));
        fs::create_dir_all(desk.path("many")).unwrap();
        fs::write(name, vec![index as u8; 1000]).unwrap();
    }
    let into = desk.path("in");
    let receiver = Running::start(wst(["receive", "-r", "tcp-listen://127.0.0.1:0", "-o", &into]));
    let to = format!("tcp://{}", receiver.says("listening on "));
    let output = here(&desk, &["send", "--json", "many", &to]);
    assert_eq!(output.code(), 0, "{}", output.stderr);
    receiver.end();
    for event in ["file-started", "file-done"] {
        let said = format!("\"event\":\"{event}\"");
        assert_eq!(
            output.stdout.lines().filter(|line| line.contains(&said)).count(),
            300,
            "{event}"
        );
    }
}

/// A receiver that has none of it gets the files, and the sender says what was left out.
#[test]
fn a_receiver_without_them_gets_the_files() {
    let desk = desk();
    let set = ["--set", "kermit.attributes=off"];
    let pipe = desk.path("t/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (output, came) = sent(&desk, &["--exclude", ".git"], &set);
    let said = "t: 1 name excluded; 2 symbolic links left out (--copy-links sends what they point to, --links sends \
                them to another wst); 1 pipe, socket or device left out";
    assert!(output.stderr.contains(said), "{}", output.stderr);
    assert_eq!(came, ["t/a.c", "t/a.o", "t/build/x.c", "t/src/b.c", "t/src/build/keep.c"]);
    let said = "directories and links were left out (1): the receiver takes none";
    assert!(output.stderr.contains(said), "{}", output.stderr);
    assert!(!desk.dir.path().join("in/t/empty").exists());

    // One that takes links only where it is told to refuses them, and everything else arrives.
    let desk = self::desk();
    symlink("a.c", desk.path("t/b.c")).unwrap();
    let into = desk.path("in");
    let receiver = Running::start(wst(["receive", "-r", "tcp-listen://127.0.0.1:0", "-o", &into]));
    let to = format!("tcp://{}", receiver.says("listening on "));
    let output = here(&desk, &["send", "--links", "t", &to]);
    assert_eq!(output.code(), 1, "{}", output.stderr);
    let end = receiver.end();
    let said = "t/b.c: refused, a symbolic link; receive -r --links inside takes";
    assert!(end.stderr.contains(said), "{}", end.stderr);
    let said = "symbolic links were not taken (2): wst receive -r --links inside takes";
    assert!(output.stderr.contains(said), "{}", output.stderr);
    assert!(fs::symlink_metadata(desk.path("in/t/b.c")).is_err());
    assert!(fs::read(desk.path("in/t/a.c")).unwrap() == fs::read(desk.path("t/a.c")).unwrap());
}

/// A tree may have no file at all, and a directory that is closed to others stays so.
#[test]
fn directories_come_with_what_is_in_them_or_without() {
    let desk = desk();
    fs::create_dir_all(desk.path("t/private/deep")).unwrap();
    fs::write(desk.path("t/private/deep/s.txt"), "secret").unwrap();
    fs::set_permissions(desk.path("t/private"), fs::Permissions::from_mode(0o700)).unwrap();
    let (_, came) = sent(&desk, &["--exclude", ".git"], &[]);
    assert!(came.contains(&"t/private/deep/s.txt".to_owned()), "{came:?}");
    assert_eq!(fs::metadata(desk.path("in/t/private")).unwrap().mode() & 0o777, 0o700);

    let into = desk.path("alone");
    let receiver = Running::start(wst(["receive", "-r", "tcp-listen://127.0.0.1:0", "-o", &into]));
    let to = format!("tcp://{}", receiver.says("listening on "));
    let output = here(&desk, &["send", "t/empty", &to]);
    assert_eq!(output.code(), 0, "{}", output.stderr);
    receiver.end();
    assert!(desk.dir.path().join("alone/empty").is_dir());
}

/// C-Kermit knows nothing of them.
#[test]
fn ckermit_gets_the_files() {
    let Some(kermit) = crate::peers::ckermit() else { return };
    let desk = desk();
    let into = desk.path("in");
    let script = desk.path("take.ksc");
    let commands = format!("cd {into}\nset receive pathnames relative\nreceive\nexit 0\n");
    fs::write(&script, commands).unwrap();
    let line = format!("exec-pty:{} {script} -Y", kermit.display());
    let output = here(&desk, &["send", "t", &line]);
    assert_eq!(output.code(), 0, "{}", output.stderr);
    let came = tree(Path::new(&into));
    assert!(came.len() == 6, "{came:?}");
    let said = "directories and links were left out (1): the receiver takes none";
    assert!(output.stderr.contains(said), "{}", output.stderr);

    // A directory alone is nothing that it takes.
    fs::write(&script, format!("cd {into}\nreceive\nexit 0\n")).unwrap();
    let output = here(&desk, &["send", "t/empty", &line]);
    assert_eq!(output.code(), 1, "{}", output.stderr);
    assert!(output.stderr.contains("wst: nothing was sent"), "{}", output.stderr);
}

#[test]
fn links_are_followed_if_asked_for_and_never_in_a_circle() {
    let (output, came) = sent(&desk(), &["-L", "--exclude", ".git", "--exclude", "build"], &[]);
    assert_eq!(came, ["t/a.c", "t/a.o", "t/link.c", "t/src/b.c"]);
    let said = "1 symbolic link left out (pointing to a directory that it is in)";
    assert!(output.stderr.contains(said), "{}", output.stderr);
}

#[test]
fn a_dry_run_opens_no_line() {
    let desk = desk();
    // A port that is not there.
    let args = ["send", "-n", "--exclude", "build", "t", "outside.c", "/dev/ttyNONE9"];
    let output = here(&desk, &args);
    output.expect(0);
    assert_eq!(
        output.stdout,
        "t/empty: directory\nt/.git/config: 260 B\nt/a.c: 100 B\nt/a.o: 100 B\nt/src/b.c: 180 B\noutside.c: 7 B\n"
    );
    assert!(
        output.stderr.ends_with("would send 5 files, 1 directory, 647 B; nothing was sent\n"),
        "{}",
        output.stderr
    );

    let args = ["send", "-n", "--json", "--paths", "outside.c", "/dev/ttyNONE9"];
    let output = here(&desk, &args);
    output.expect(0);
    let first: serde_json::Value =
        serde_json::from_str(output.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(first["event"], "planned");
    assert_eq!((&first["name"], &first["size"]), (&"outside.c".into(), &7.into()));

    let args = ["send", "-n", "--exclude", "*", "t", "/dev/ttyNONE9"];
    let output = here(&desk, &args);
    assert!(output.stderr.contains("expected a file, all are excluded"), "{}", output.stderr);
    assert_ne!(output.code(), 0);
}

#[test]
fn zeros_become_holes_if_asked_for() {
    let desk = desk();
    let mut image = vec![0; 3_000_000];
    image[1_500_000..1_500_100].fill(1);
    image[2_999_999] = 2;
    fs::write(desk.path("t/disk.img"), &image).unwrap();
    let came = |receiver: &[&str]| {
        let _ = fs::remove_dir_all(desk.path("in"));
        sent(&desk, &["--exclude", "*.[co]"], receiver);
        let path = desk.path("in/t/disk.img");
        assert!(fs::read(&path).unwrap() == image);
        fs::metadata(path).unwrap().blocks() * 512
    };
    let (whole, with_holes) = (came(&[]), came(&["--set", "store.holes=zeros"]));
    assert!(whole >= 3_000_000, "{whole}");
    // Not every file system has holes; the one of a test machine does.
    assert!(with_holes < 100_000, "{with_holes}");
}
