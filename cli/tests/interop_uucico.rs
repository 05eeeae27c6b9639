//! Taylor UUCP's `uucico` and our UUCP: in a PTY, who calls and who sends in all four ways.
//!
//! uucico runs with a configuration, a spool and a public directory of its own (`-I`, and the copy of
//! the program is not set-user-id), on a port of the type `stdin`, without a chat. Started as root it
//! becomes the user `uucp`, so its directories are open to everybody.

mod peers;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use peers::{LIMIT, Scene, all, last_event, material, missing, same, same_bytes, wst};

/// Where Debian 12 has the programs, whatever the PATH is.
const UUCICO: &str = "/usr/lib/uucp/uucico";
const UUCP: &str = "/usr/bin/uucp";

fn is_there() -> bool {
    let there = Path::new(UUCICO).is_file() && Path::new(UUCP).is_file();
    if !there {
        missing("uucico is not installed (Debian package uucp)");
    }
    there
}

/// The other system.
struct Theirs {
    dir: PathBuf,
}

fn open(path: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o777)).expect("a mode");
}

impl Theirs {
    /// `parameters` are lines for its `port` file.
    fn new(scene: &Scene, parameters: &str) -> Self {
        let dir = scene.folder("theirs");
        open(&scene.path(""));
        open(&dir);
        for name in ["spool", "pub", "log"] {
            open(&scene.folder(&format!("theirs/{name}")));
        }
        for program in [UUCICO, UUCP] {
            let copy = dir.join(Path::new(program).file_name().unwrap_or_default());
            // By another process: a descriptor of ours that writes could be open in a child that a
            // thread beside this one has just forked, and the copy could not be run (ETXTBSY).
            let copied = Command::new("cp").arg(program).arg(&copy).status();
            assert!(copied.is_ok_and(|status| status.success()), "a copy of {program}");
            fs::set_permissions(&copy, Permissions::from_mode(0o755)).expect("a mode");
        }
        let at = dir.display();
        let config = format!(
            "nodename theirs\nspool {at}/spool\npubdir {at}/pub\nlockdir {at}\nlogfile {at}/log/Log\n\
             statfile {at}/log/Stats\ndebugfile {at}/log/Debug\nsysfile {at}/sys\n\
             portfile {at}/port\ndialfile {at}/none\ncallfile {at}/none\npasswdfile {at}/none\n"
        );
        scene.file("theirs/config", config.as_bytes());
        scene.file("theirs/none", b"");
        let system = "system wetstring\ncall-login *\ncall-password *\ntime any\nport p\nchat \"\"\n\
                      protocol g\nlocal-send /\nremote-send /\nlocal-receive /\nremote-receive ~\n";
        scene.file("theirs/sys", system.as_bytes());
        let port = format!("port p\ntype stdin\n{parameters}");
        scene.file("theirs/port", port.as_bytes());
        Self { dir }
    }

    /// The line on which it is called.
    fn called(&self) -> String {
        format!("exec-pty:{0}/uucico -I {0}/config -p p", self.dir.display())
    }

    /// The line on which it calls.
    fn calls(&self) -> String {
        format!("exec-pty:{0}/uucico -I {0}/config -p p -r1 -s wetstring", self.dir.display())
    }

    /// Queues a file for us.
    fn queue(&self, file: &Path, to: &str) -> Result<(), String> {
        let config = self.dir.join("config");
        let mut command = Command::new(self.dir.join("uucp"));
        command.arg("-I").arg(config).args(["-r", "-C", "-W"]).arg(file);
        let done = command.arg(format!("wetstring!{to}")).output().map_err(|e| e.to_string())?;
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        if done.status.success() { Ok(()) } else { Err(said) }
    }

    fn public(&self, name: &str) -> PathBuf {
        self.dir.join("pub").join(name)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log/Log")).unwrap_or_default()
    }

    /// It says that the call went well.
    fn is_content(&self) -> Result<(), String> {
        // It writes the line when our end may be gone.
        for _ in 0..100 {
            if self.log().contains("Call complete") {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Err(format!("expected a complete call, got {}", self.log()))
    }
}

/// Packets of both ends, and what uucico is told about its own.
type Job = (&'static [&'static str], &'static str);

const JOBS: &[Job] = &[
    (&[], ""),
    (&["--packet=64", "--window=3"], ""),
    // uucico keeps 16 KiB of what comes; see docs/interop.md.
    (&["--packet=4096", "--window=3"], "protocol-parameter g packet-size 4096\n"),
    (&["--packet=2048", "--window=7"], "protocol-parameter g packet-size 4096\n"),
    (&["--packet=32", "--window=1"], "protocol-parameter g packet-size 32\n"),
    (&[], "protocol-parameter g window 1\nprotocol-parameter g packet-size 2048\n"),
];

fn files(scene: &Scene) -> Vec<PathBuf> {
    let mut bytes = material::every_byte();
    // Packets within a packet.
    bytes.extend([0x10, 9, 0xA2, 0xAA, 8, 9].repeat(50));
    bytes.extend(material::random(40_000, 61));
    vec![
        scene.file("from/all.bin", &bytes),
        scene.file("from/empty.bin", b""),
        scene.file("from/one.bin", b"\xff"),
        scene.file("from/full.bin", &material::random(8192, 62)),
    ]
}

fn run(scene: &Scene, args: Vec<String>, theirs: &Theirs) -> Result<String, String> {
    let end = scene.start("wst", &mut wst(args))?.wait(LIMIT)?;
    if end.code == 0 { Ok(end.said) } else { Err(format!("{end:?}; {}", theirs.log())) }
}

fn args(verb: &str, flags: &[&str], more: &[String], line: String) -> Vec<String> {
    let mut args: Vec<String> = [verb, "-P", "uucp-g"].map(str::to_owned).to_vec();
    args.extend(flags.iter().map(|flag| (*flag).to_owned()));
    args.extend(more.iter().cloned());
    args.push(line);
    args
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Every job, each with files and an uucico of its own; `job` moves the files, which then are to be alike
/// where it says that they are.
fn every(
    roles: &[&str],
    job: impl Fn(&Scene, &Theirs, &[&str], &[PathBuf]) -> Result<PathBuf, String> + Sync,
) {
    if !is_there() {
        return;
    }
    all(JOBS, 3, |(flags, parameters)| {
        let scene = Scene::new();
        let theirs = Theirs::new(&scene, parameters);
        let files = files(&scene);
        let into = job(&scene, &theirs, &[flags, roles].concat(), &files)?;
        for file in &files {
            let arrived = into.join(file.file_name().unwrap_or_default());
            same(file, &arrived).map_err(|e| format!("{e}; {}", theirs.log()))?;
        }
        theirs.is_content()
    });
}

fn sends(roles: &[&str], line: fn(&Theirs) -> String) {
    every(roles, |scene, theirs, flags, files| {
        let more: Vec<String> = files.iter().map(|file| shown(file)).collect();
        run(scene, args("send", flags, &more, line(theirs)), theirs)?;
        Ok(theirs.public(""))
    });
}

fn receives(roles: &[&str], line: fn(&Theirs) -> String) {
    every(roles, |scene, theirs, flags, files| {
        for file in files {
            theirs.queue(file, "~/")?;
        }
        let into = scene.folder("in");
        let more = ["-o".to_owned(), shown(&into)];
        run(scene, args("receive", flags, &more, line(theirs)), theirs)?;
        Ok(into)
    });
}

#[test]
fn wst_calls_and_sends_to_uucico() {
    sends(&[], Theirs::called);
}

#[test]
fn wst_is_called_and_sends_to_uucico() {
    sends(&["--role=answer"], Theirs::calls);
}

#[test]
fn uucico_calls_and_sends_to_wst() {
    receives(&[], Theirs::calls);
}

#[test]
fn uucico_is_called_and_sends_to_wst() {
    receives(&["--role=call"], Theirs::called);
}

/// One meeting with an uucico that is told nothing in particular.
fn meet(job: impl FnOnce(&Scene, &Theirs) -> Result<(), String>) {
    if is_there() {
        let scene = Scene::new();
        let theirs = Theirs::new(&scene, "");
        job(&scene, &theirs).unwrap_or_else(|why| panic!("{why}"));
    }
}

/// The option q, by which Taylor UUCP 1.07 says and takes names with blanks.
#[test]
fn a_name_with_blanks_arrives_as_it_is() {
    meet(|scene, theirs| {
        let file = scene.file("from/two words\\.txt", b"hello\n");
        run(scene, args("send", &[], &[shown(&file)], theirs.called()), theirs)?;
        same(&file, &theirs.public("two words\\.txt"))
    });
}

#[test]
fn what_uucico_may_not_take_is_refused_and_said() {
    meet(|scene, theirs| {
        let sys = fs::read_to_string(scene.path("theirs/sys")).expect("it was written");
        let sys = sys.replace("remote-receive ~", "remote-receive ~/no");
        scene.file("theirs/sys", sys.as_bytes());
        let file = scene.file("from/a.txt", b"hello\n");
        let job = args("send", &["--json"], &[shown(&file)], theirs.called());
        let end = scene.start("wst", &mut wst(job))?.wait(LIMIT)?;
        assert_ne!(end.code, 0, "a file was refused: {end:?}");
        assert_eq!(last_event(&end)?["stats"]["files_skipped"], 1, "{end:?}");
        assert!(!theirs.public("a.txt").exists());
        Ok(())
    });
}

#[test]
fn a_caller_that_uucico_does_not_know_is_told_so() {
    meet(|scene, theirs| {
        let file = scene.file("from/a.txt", b"hello\n");
        let job = args("send", &["--name=stranger"], &[shown(&file)], theirs.called());
        let said = run(scene, job, theirs).expect_err("nobody knows us");
        assert!(said.contains("You are unknown to me"), "{said}");
        Ok(())
    });
}

#[test]
fn a_mebibyte_each_way() {
    meet(|scene, theirs| {
        let bytes = material::random(1 << 20, 63);
        let file = scene.file("from/big.bin", &bytes);
        run(scene, args("send", &[], &[shown(&file)], theirs.called()), theirs)?;
        let arrived = theirs.public("big.bin");
        same(&file, &arrived)?;
        theirs.queue(&arrived, "~/back.bin")?;
        let more = ["-o".to_owned(), shown(&scene.folder("in"))];
        run(scene, args("receive", &[], &more, theirs.calls()), theirs)?;
        let back = fs::read(scene.path("in/back.bin")).expect("it came back");
        same_bytes(&bytes, &back)
    });
}
