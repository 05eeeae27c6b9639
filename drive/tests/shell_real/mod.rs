//! The shells of this machine at a terminal with `stty sane`, and no tools but those of each case.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use wetstring_drive::run::{NoWatch, Watch};
use wetstring_drive::shell::{Broken, Pace, PortWire, PutOptions, Talk, get, nonce, put};
use wetstring_drive::{LineSpec, Signals, open};
use wetstring_proto::engine::Event;
use wetstring_proto::stats::Stats;
use wetstring_testkit::noise;
use wetstring_testkit::{File, Sink, Source};

const SIZES: [usize; 5] = [0, 1, 255, 4096, 100_000];

/// Notes which tools are used.
#[derive(Default)]
struct Noting(String);

impl Watch for Noting {
    fn event(&mut self, event: &Event<'_>, _: &Stats) {
        if let Event::Negotiated(text) = event {
            (*text).clone_into(&mut self.0);
        }
    }
}

/// A shell with only these tools.
pub(crate) struct Host {
    dir: tempfile::TempDir,
    shell: String,
}

impl Host {
    /// `None`, and a line that says so, if this machine lacks one of them.
    pub(crate) fn new(shell: &str, tools: &[&str]) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a directory");
        let (bin, home) = (dir.path().join("bin"), dir.path().join("home"));
        for dir in [&bin, &home, &dir.path().join("tmp")] {
            std::fs::create_dir(dir).expect("directories");
        }
        let busybox = shell.starts_with("busybox");
        for tool in tools {
            // Debian's busybox has neither cksum nor sum.
            let tool = if busybox && matches!(*tool, "cksum" | "sum") { "md5sum" } else { tool };
            let from = if busybox { found("busybox") } else { found(tool) };
            let Some(from) = from.filter(|from| !busybox || has_applet(from, tool)) else {
                lacking(tool);
                return None;
            };
            symlink(from, bin.join(tool)).expect("a link");
        }
        let mut words = shell.split(' ');
        let Some(program) = words.next().and_then(found) else {
            lacking(shell);
            return None;
        };
        let rest: Vec<&str> = words.collect();
        let shell = format!("{} {}", program.display(), rest.join(" "));
        Some(Self { dir, shell })
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    fn line(&self) -> LineSpec {
        let (root, shell) = (self.dir.path().display(), &self.shell);
        LineSpec::ExecPty(format!(
            "stty sane; cd {root}/home; exec env -i PATH={root}/bin HOME={root}/home TMPDIR={root}/tmp \
             TERM=dumb {shell}"
        ))
    }

    /// What is left of programs.
    pub(crate) fn temporary(&self) -> usize {
        std::fs::read_dir(self.dir.path().join("tmp")).expect("the directory").count()
    }

    /// A conversation.
    fn with<T>(&self, what: impl FnOnce(&mut Talk<'_>) -> Result<T, Broken>) -> Result<T, Broken> {
        self.paced(Pace::default(), what)
    }

    /// A conversation at a pace.
    pub(crate) fn paced<T>(
        &self,
        pace: Pace,
        what: impl FnOnce(&mut Talk<'_>) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        let signals = Signals::detached().expect("signals");
        let mut port = open(&self.line(), Some(&signals), &mut |_| {}).expect("a terminal");
        let mut wire = PortWire::new(&mut *port, Some(&signals), b"");
        let mut talk = Talk::begin(&mut wire, pace, &nonce())?;
        let done = what(&mut talk);
        match &done {
            Ok(_) => assert!(talk.end().is_ok(), "{}: the shell is as before", self.shell),
            Err(broken) => {
                assert!(talk.leave().is_some(), "{}: the shell is as before: {broken}", self.shell);
            }
        }
        done
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let all = std::fs::read_dir(self.home()).expect("the directory");
        let mut names: Vec<String> = all
            .map(|one| one.expect("an entry").file_name().into_string().expect("a name"))
            .collect();
        names.retain(|name| name != ".bash_history");
        names.sort();
        names
    }
}

/// A tool of the system: what stands before it in PATH may be a script that needs others.
fn found(name: &str) -> Option<PathBuf> {
    ["/usr/bin", "/bin"].iter().map(|dir| Path::new(dir).join(name)).find(|path| path.is_file())
}

fn has_applet(busybox: &Path, name: &str) -> bool {
    let all = Command::new(busybox).arg("--list").output().expect("busybox runs").stdout;
    all.split(|byte| *byte == b'\n').any(|line| line == name.as_bytes())
}

pub(crate) fn lacking(what: &str) {
    assert!(
        std::env::var_os("WETSTRING_REQUIRE_PEERS").is_none(),
        "expected {what} on this machine"
    );
    eprintln!("skipped: {what} is not on this machine");
}

pub(crate) const SHELLS: [&str; 3] = ["bash --norc -i", "dash -i", "busybox sh -i"];
/// Without these no file gets a name and no terminal its settings.
pub(crate) const ALWAYS: [&str; 4] = ["stty", "mv", "rm", "chmod"];

/// The tools of a case, and the name that they are reported by.
fn up_and_down() -> BTreeMap<&'static str, &'static [&'static str]> {
    BTreeMap::from([
        ("base64", &["base64", "head", "sha256sum"][..]),
        ("openssl", &["openssl", "head"]),
        ("python3", &["python3", "md5sum"]),
        ("perl", &["perl", "cksum"]),
        ("uudecode", &["uudecode", "cat", "head", "sum"]),
        ("awk", &["awk", "head", "cksum"]),
        ("xxd", &["xxd", "head", "cksum"]),
        ("printf", &["cksum"]),
    ])
}

fn files() -> Vec<File> {
    let file = |len: &usize| File::new(&format!("{len}.bin"), &noise(*len as u64 + 1, *len));
    SIZES.iter().map(file).collect()
}

/// Up by one coding.
fn goes_up(shell: &str, coding: &str) {
    let tools = up_and_down()[coding];
    let Some(host) = Host::new(shell, &[&ALWAYS[..], tools].concat()) else { return };
    let (mut store, mut stats, mut watch) =
        (Source::new(files()), Stats::default(), Noting::default());
    let done =
        host.with(|talk| put(talk, &mut store, (&mut watch, &mut stats), &PutOptions::default()));
    assert_eq!(done, Ok(()), "{shell}, {coding}");
    assert!(watch.0.starts_with(&format!("shell: {coding}, ")), "{}", watch.0);
    assert!(!watch.0.contains("no digest"), "{shell}: {}", watch.0);
    for file in files() {
        let name = host.home().join(std::str::from_utf8(&file.name).expect("a name"));
        assert!(std::fs::read(name).expect("the file") == file.bytes, "{shell}, {coding}");
    }
    assert_eq!(host.names().len(), SIZES.len(), "nothing else is there: {:?}", host.names());
}

/// Down by one coding.
fn comes_down(shell: &str, coding: &str, tools: &[&str]) {
    let Some(host) = Host::new(shell, &[&ALWAYS[..], &["wc"], tools].concat()) else { return };
    for file in files() {
        let name = std::str::from_utf8(&file.name).expect("a name").to_owned();
        std::fs::write(host.home().join(name), &file.bytes).expect("a file");
    }
    let (mut store, mut stats, mut watch) = (Sink::new(), Stats::default(), Noting::default());
    let names: Vec<Vec<u8>> = files().into_iter().map(|file| file.name).collect();
    let done = host.with(|talk| get(talk, &mut store, (&mut watch, &mut stats), &names, None));
    assert_eq!(done, Ok(()), "{shell}, {coding}");
    assert!(watch.0.starts_with(&format!("shell: {coding}, ")), "{}", watch.0);
    for (got, file) in store.files.iter().zip(files()) {
        assert!(got.complete && got.bytes == file.bytes, "{shell}, {coding}");
    }
    assert_eq!(store.files.len(), SIZES.len());
}

macro_rules! each {
    ($($name:ident: $coding:literal, $up:literal, $down:expr;)*) => {$(
        #[test]
        fn $name() {
            for shell in SHELLS {
                // busybox has tools of its own, whatever PATH has, and base64 is the first that is looked for.
                if shell.starts_with("busybox") && $coding != "base64" {
                    continue;
                }
                if $up {
                    goes_up(shell, $coding);
                }
                let down: Option<&[&str]> = $down;
                if let Some(tools) = down {
                    comes_down(shell, $coding, tools);
                }
            }
        }
    )*};
}

each! {
    base64: "base64", true, Some(&["base64", "sha256sum"]);
    openssl: "openssl", true, Some(&["openssl"]);
    python: "python3", true, Some(&["python3", "md5sum"]);
    perl: "perl", true, Some(&["perl", "cksum"]);
    uudecode: "uudecode", true, None;
    uuencode: "uuencode", false, Some(&["uuencode", "sum"]);
    awk: "awk", true, None;
    xxd: "xxd", true, Some(&["xxd", "cksum"]);
    printf: "printf", true, None;
    od: "od", false, Some(&["od", "cksum"]);
    hexdump: "hexdump", false, Some(&["hexdump", "cksum"]);
}

/// Names that a shell or its terminal would act on.
#[test]
fn names_arrive_as_they_are() {
    let names = [
        "a b",
        "-rf",
        "it's",
        "$(touch x)`y`",
        "two\nlines\n",
        "tab\there",
        "\u{3}\u{4}\u{1a}",
        "grün*?",
    ];
    for shell in SHELLS {
        let Some(host) = Host::new(shell, &[&ALWAYS[..], &["base64", "head", "wc"]].concat())
        else {
            return;
        };
        let files: Vec<File> = names.iter().map(|name| File::new(name, name.as_bytes())).collect();
        let (mut store, mut stats) = (Source::new(files), Stats::default());
        let done = host
            .with(|talk| put(talk, &mut store, (&mut NoWatch, &mut stats), &PutOptions::default()));
        assert_eq!(done, Ok(()), "{shell}");
        let mut expected: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        expected.sort();
        assert_eq!(host.names(), expected, "{shell}");
        let (mut store, mut stats) = (Sink::new(), Stats::default());
        let asked: Vec<Vec<u8>> = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        let done =
            host.with(|talk| get(talk, &mut store, (&mut NoWatch, &mut stats), &asked, None));
        assert_eq!(done, Ok(()), "{shell}");
        for (file, name) in store.files.iter().zip(names) {
            assert_eq!((&file.name[..], &file.bytes[..]), (name.as_bytes(), name.as_bytes()));
        }
    }
}

/// As routers have it: no stty, so that the terminal echoes. What comes back from there could not be told from the echo.
#[test]
fn without_stty_files_go_there_and_none_comes() {
    // Busybox of this machine has all of its tools in the shell.
    for shell in SHELLS.into_iter().filter(|shell| !shell.starts_with("busybox")) {
        let tools = ["mv", "rm", "chmod", "base64", "head", "sha256sum"];
        let Some(host) = Host::new(shell, &tools) else { return };
        let bytes = noise(3, 60_000);
        let (mut store, mut stats) =
            (Source::new(vec![File::new("a.bin", &bytes)]), Stats::default());
        let done = host
            .with(|talk| put(talk, &mut store, (&mut NoWatch, &mut stats), &PutOptions::default()));
        assert_eq!(done, Ok(()), "{shell}");
        assert!(std::fs::read(host.home().join("a.bin")).expect("it") == bytes, "{shell}");
        assert_eq!(store.closed, [(true, true)], "{shell}");
        assert_eq!(host.names(), ["a.bin"], "{shell}");
        let (mut store, mut stats) = (Sink::new(), Stats::default());
        let asked = [b"a.bin".to_vec()];
        let got = host.with(|talk| get(talk, &mut store, (&mut NoWatch, &mut stats), &asked, None));
        let said = got.expect_err("an echo").to_string();
        assert!(said.starts_with("expected stty at the shell"), "{shell}: {said}");
        // What is wrong is told, and not the echo.
        let (mut store, mut stats) =
            (Source::new(vec![File::new("a.bin", b"1")]), Stats::default());
        let done = host
            .with(|talk| put(talk, &mut store, (&mut NoWatch, &mut stats), &PutOptions::default()));
        let said = done.expect_err("it is there").to_string();
        assert_eq!(said, "./a.bin is at the shell already; --overwrite replaces it", "{shell}");
        let (mut store, mut stats) = (Source::new(vec![File::new("no/b", b"1")]), Stats::default());
        let done = host
            .with(|talk| put(talk, &mut store, (&mut NoWatch, &mut stats), &PutOptions::default()));
        let said = done.expect_err("no such directory").to_string();
        assert!(said.starts_with("expected a temporary file at the shell, got '"), "{said}");
        assert!(!said.contains("set -C"), "{shell}: {said}");
    }
}

/// A file that is there stays unless told otherwise, and a directory in any case; a failure leaves nothing.
#[test]
fn nothing_is_replaced_unasked_and_nothing_is_left() {
    for shell in SHELLS {
        let tools = [&ALWAYS[..], &["base64", "head", "cksum"]].concat();
        let Some(host) = Host::new(shell, &tools) else { return };
        std::fs::write(host.home().join("a.bin"), "old").expect("a file");
        std::fs::create_dir(host.home().join("d")).expect("a directory");
        let send = |name: &str, overwrites: bool, fail_read_at: Option<u64>| {
            let mut store = Source::new(vec![File::new(name, &noise(1, 9000))]);
            store.fail_read_at = fail_read_at;
            let (options, mut stats) =
                (PutOptions { overwrites, ..PutOptions::default() }, Stats::default());
            host.with(|talk| put(talk, &mut store, (&mut NoWatch, &mut stats), &options))
        };
        let said = send("a.bin", false, None).expect_err("it is there").to_string();
        assert_eq!(said, "./a.bin is at the shell already; --overwrite replaces it");
        assert!(matches!(send("d", true, None), Err(Broken::Refused(_))), "a directory");
        let said = send("no/b", false, None).expect_err("no such directory").to_string();
        assert!(said.starts_with("expected a temporary file at the shell, got '"), "{said}");
        // Our own disk fails while blocks are on their way.
        assert!(matches!(send("b.bin", false, Some(5000)), Err(Broken::Store(_))));
        assert_eq!(host.names(), ["a.bin", "d"], "{shell}");
        assert_eq!(std::fs::read(host.home().join("a.bin")).expect("it"), b"old");
        assert_eq!(send("a.bin", true, None), Ok(()), "{shell}");
        assert_eq!(std::fs::read(host.home().join("a.bin")).expect("it"), noise(1, 9000));
        assert_eq!(host.names(), ["a.bin", "d"], "{shell}");
    }
}
