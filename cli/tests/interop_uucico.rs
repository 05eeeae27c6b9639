//! Taylor UUCP's `uucico` and our UUCP: in a PTY, who calls and who sends in all four ways.
//!
//! uucico runs with a configuration, a spool and a public directory of its own (`-I`, and the copy of
//! the program is not set-user-id), on a port of the type `stdin`, without a chat. Started as root it
//! becomes the user `uucp`, so its directories are open to everybody.

use crate::peers;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use peers::{End, LIMIT, Scene, all, last_event, material, missing, same, same_bytes, wst};
use wetstring_testkit::{Within, within};

/// Its last line is written after our end is gone.
const LAST_LINE: std::time::Duration = std::time::Duration::from_secs(5);

/// Where Debian 12 has the programs, whatever the PATH is.
const UUCICO: &str = "/usr/lib/uucp/uucico";
const UUCP: &str = "/usr/bin/uucp";
const UUX: &str = "/usr/bin/uux";

fn is_there() -> bool {
    let there = Path::new(UUCICO).is_file() && Path::new(UUCP).is_file();
    if !there {
        missing("uucico is not installed (Debian package uucp)");
    }
    there
}

/// Everything in a directory is open to everybody.
fn open_all(path: &Path) {
    open(path);
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            open_all(&entry.path());
        } else {
            open(&entry.path());
        }
    }
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

    /// Queues a job of a kind that we do not do: `uucp` or `uux` with these words.
    fn job(&self, program: &str, words: &[&str]) -> Result<(), String> {
        let mut command = Command::new(program);
        command.arg("-I").arg(self.dir.join("config")).arg("-r").args(words);
        let done = command.stdin(std::process::Stdio::null()).output();
        let done = done.map_err(|e| e.to_string())?;
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        // What root has queued is uucico's, who is the user uucp.
        open_all(&self.dir.join("spool"));
        if done.status.success() { Ok(()) } else { Err(said) }
    }

    /// What stands in its queue for us: its jobs (`C.`), and the files that wait to be sent (`D.`).
    fn queued(&self) -> Vec<String> {
        let mut names = Vec::new();
        for folder in ["C.", "D.", "D.X"] {
            let folder = self.dir.join("spool/wetstring").join(folder);
            let entries = fs::read_dir(folder).into_iter().flatten();
            names.extend(entries.map(|e| e.expect("an entry").file_name().display().to_string()));
        }
        names.sort();
        names
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
        match within(LAST_LINE, || self.log().contains("Call complete")) {
            Within::Done => Ok(()),
            Within::Late => Err(format!("expected a complete call, got {}", self.log())),
        }
    }
}

/// Packets of both ends, and what uucico is told about its own.
type Job = (&'static [&'static str], &'static str);

const JOBS: &[Job] = &[
    (&[], ""),
    (&["--packet=64", "--window=3"], ""),
    // uucico keeps 16 KiB of what comes; see docs/reference/interop.md.
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
        let said = run(scene, job, theirs).expect_err("an unknown system");
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

/// One job of each kind that can be left where it is: a file, a request to fetch one, mail in one part
/// and in three.
fn one_job_of_each_kind(scene: &Scene, theirs: &Theirs) -> Result<PathBuf, String> {
    let file = scene.file("theirs/from.bin", &material::random(5000, 64));
    theirs.queue(&file, "~/for-us.bin")?;
    let to = theirs.public("got").display().to_string();
    theirs.job(UUCP, &["-W", "wetstring!~/ours.txt", &to])?;
    theirs.job(UUX, &["-", "wetstring!rmail", "(you)"])?;
    let attached = format!("!{}", file.display());
    theirs.job(UUX, &["-", "wetstring!rmail", "(you)", &attached])?;
    Ok(file)
}

/// Calls again while the uucico of the call before, which is about to end, still holds the lock of the system.
fn once_free(scene: &Scene, job: &[String]) -> Result<End, String> {
    let began = std::time::Instant::now();
    loop {
        let end = scene.start("wst", &mut wst(job))?.wait(LIMIT)?;
        if !end.said.contains("RLCK") || began.elapsed() > LIMIT {
            return Ok(end);
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

/// After our file the roles change, and uucico offers what it has for us. All of it stays in its queue, we
/// say so, and a receiver gets the file; the mail stays even then.
#[test]
fn what_uucico_has_for_us_stays_in_its_queue_until_it_is_taken() {
    meet(|scene, theirs| {
        let theirs_file = one_job_of_each_kind(scene, theirs)?;
        let before = theirs.queued();
        assert_eq!(before.len(), 4 + 4, "{before:?}");
        for (line, role) in [(theirs.called(), "call"), (theirs.calls(), "answer")] {
            let file = scene.file(&format!("from/{role}.txt"), b"hello\n");
            let role = format!("--role={role}");
            let said = run(scene, args("send", &[&role], &[shown(&file)], line), theirs)?;
            same(&file, &theirs.public(file.file_name().unwrap().to_str().unwrap()))?;
            assert_eq!(theirs.queued(), before, "{role}: {}", theirs.log());
            for word in ["has files for you", "mail or commands", "asks for files of yours"] {
                assert!(said.contains(word), "{role}: {word}: {said}");
            }
        }
        let into = scene.folder("in");
        let more = ["-o".to_owned(), shown(&into)];
        let job = args("receive", &["--role=call"], &more, theirs.called());
        let end = once_free(scene, &job)?;
        assert_eq!(end.code, 1, "mail was not taken: {end:?}");
        same(&theirs_file, &into.join("for-us.bin"))?;
        assert_eq!(theirs.queued().len(), before.len() - 2, "{:?}", theirs.queued());
        Ok(())
    });
}

/// The one job that no answer leaves in the queue: the call ends when it comes.
#[test]
fn a_request_by_a_pattern_stays_in_uucicos_queue() {
    meet(|scene, theirs| {
        theirs.job(UUCP, &["-W", "wetstring!~/ours*", &theirs.public("").display().to_string()])?;
        let before = theirs.queued();
        assert_eq!(before.len(), 1, "{before:?}");
        let file = scene.file("from/a.txt", b"hello\n");
        let said = run(scene, args("send", &[], &[shown(&file)], theirs.called()), theirs)?;
        same(&file, &theirs.public("a.txt"))?;
        assert!(said.contains("by a pattern") && said.contains("in its queue"), "{said}");
        // uucico ends after us.
        within(LAST_LINE, || theirs.log().contains("ERROR"));
        assert_eq!(theirs.queued(), before, "{}", theirs.log());
        Ok(())
    });
}

#[test]
fn a_call_goes_both_ways() {
    for calls in [false, true] {
        meet(|scene, theirs| {
            let (small, big) = (b"x", material::random(150_000, 65));
            let queue = [("small", &small[..]), ("big.bin", &big)];
            for (name, bytes) in queue {
                theirs.queue(&scene.file(&format!("theirs/{name}"), bytes), "~/")?;
            }
            let files = files(scene);
            let into = scene.folder("in");
            let mut more: Vec<String> = files.iter().map(|file| shown(file)).collect();
            more.extend(["-o".to_owned(), shown(&into)]);
            let (role, line) = if calls {
                ("--role=answer", theirs.calls())
            } else {
                ("--role=call", theirs.called())
            };
            let said = run(scene, args("send", &[role], &more, line), theirs)?;
            for file in &files {
                same(file, &theirs.public(file.file_name().unwrap().to_str().unwrap()))?;
            }
            for (name, bytes) in queue {
                let got = fs::read(into.join(name)).map_err(|e| format!("{name}: {e}"))?;
                same_bytes(bytes, &got)?;
            }
            assert!(said.contains("big.bin: received") && said.contains("all.bin: sent"), "{said}");
            assert_eq!(theirs.queued(), Vec::<String>::new());
            theirs.is_content()
        });
    }
}

#[test]
fn only_uucp_goes_both_ways() {
    let scene = Scene::new();
    let file = scene.file("a.txt", b"hello\n");
    let job =
        vec!["send".to_owned(), "-o".to_owned(), ".".to_owned(), shown(&file), "-".to_owned()];
    let end = scene.start("wst", &mut wst(job)).unwrap().wait(LIMIT).unwrap();
    assert_eq!(end.code, 2, "{end:?}");
    assert!(end.said.contains("expected -P uucp-g with --output"), "{end:?}");
}
