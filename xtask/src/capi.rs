//! `cargo xtask capi`: the library for C in `target/capi`, and programs in C that move files with it.
//!
//! `target/capi/usr` is what a package has: the header, both libraries, the file of pkg-config. The two programs of
//! `capi/tests` are built from an empty directory with what pkg-config says, under the sanitizers of gcc for addresses
//! and undefined behaviour, and again with the shared library. Each moves a file to and from lrzsz, C-Kermit and `wst`.
//! A third, `fuzz.c`, plays damaged transfers to both ends of every protocol under the sanitizers.

use std::fs;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const CFLAGS: &str = "-std=gnu11 -g -Wall -Wextra -Werror";
const SANITIZERS: &str = "-fsanitize=address,undefined -fno-sanitize-recover=all";
/// Number of a protocol, and the peer that sends, or that receives.
const SENDERS: [(u32, &str); 6] = [
    (5, "sz -q -b data.bin"),
    (3, "sb -q -b data.bin"),
    (1, "sx -q data.bin"),
    (2, "sx -q -k data.bin"),
    (6, "WST send -q -P kermit data.bin -"),
    (5, "WST send -q -P zmodem data.bin -"),
];
const RECEIVERS: [(u32, &str); 5] = [
    (5, "rz -q -b"),
    (3, "rb -q -b"),
    (2, "rx -q -c data.bin"),
    (6, "WST receive -q -P kermit -"),
    (5, "WST receive -q -P zmodem -"),
];
const KERMIT: u32 = 6;
/// Damaged transfers of each protocol that are played to the library.
const FUZZED: u32 = 5000;
const LEN: usize = 200_003;

/// Where things are.
struct Place {
    root: PathBuf,
    /// An empty directory.
    here: PathBuf,
    usr: PathBuf,
    data: Vec<u8>,
}

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let home = root.join("target/capi");
    let (here, usr) = (home.join("empty"), home.join("usr"));
    for directory in [&here, &usr] {
        // What an earlier run left is of another build.
        let _ = fs::remove_dir_all(directory);
        said(fs::create_dir_all(directory))?;
    }
    let data = wetstring_testkit::noise(7, LEN);
    said(fs::write(here.join("data.bin"), &data))?;
    let place = Place { root: root.to_owned(), here, usr, data };
    for (features, kept) in [("--no-default-features", false), ("--all-features", true)] {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(root.join("capi")).env("CARGO_TARGET_DIR", &home);
        ended(cargo.args(["build", "--quiet", "--release", "--locked", features]))?;
        if kept {
            place.install(&home.join("release"))?;
        }
    }
    let mut count = 0;
    for (kind, flags) in [("sanitized", SANITIZERS), ("shared", "")] {
        let [receive, send] =
            ["receive", "send"].map(|name| place.compile(name, kind, flags, flags.is_empty()));
        let (receive, send) = (receive?, send?);
        for (number, peer) in SENDERS {
            place.receives(&receive, number, peer)?;
            count += 1;
        }
        place.receives_from_c_kermit(&receive)?;
        for (number, peer) in RECEIVERS {
            place.sends(&send, number, peer)?;
            count += 1;
        }
    }
    println!("capi: {} transfers of {LEN} bytes, each the same at both ends", count + 2);
    let fuzz = place.compile("fuzz", "sanitized", SANITIZERS, false)?;
    ended(Command::new(fuzz).arg(FUZZED.to_string()))
}

impl Place {
    /// Puts the files where a package has them.
    fn install(&self, built: &Path) -> Result<(), String> {
        let (include, lib) = (self.usr.join("include"), self.usr.join("lib"));
        for directory in [&include, &lib.join("pkgconfig")] {
            said(fs::create_dir_all(directory))?;
        }
        let source = self.root.join("capi");
        said(fs::copy(source.join("include/wetstring.h"), include.join("wetstring.h")))?;
        for name in ["libwetstring.a", "libwetstring.so"] {
            let len = said(fs::copy(built.join(name), lib.join(name)))?;
            println!("{name}: {len} bytes");
        }
        let text = said(fs::read_to_string(source.join("wetstring.pc.in")))?;
        let text = text.replace("@PREFIX@", &self.usr.display().to_string());
        said(fs::write(lib.join("pkgconfig/wetstring.pc"), text))
    }

    /// Builds a program in the empty directory.
    fn compile(
        &self,
        name: &str,
        kind: &str,
        flags: &str,
        shared: bool,
    ) -> Result<PathBuf, String> {
        let lib = self.usr.join("lib");
        let mut asked = Command::new("pkg-config");
        asked
            .args(["--cflags", "--libs", "wetstring"])
            .env("PKG_CONFIG_PATH", lib.join("pkgconfig"));
        let told = asked.output().map_err(|e| format!("pkg-config: {e}"))?;
        let mut told = String::from_utf8_lossy(&told.stdout).into_owned();
        if !shared {
            let library = lib.join("libwetstring.a").display().to_string();
            told = told.replace("-lwetstring", &library);
        }
        let program = self.here.join(format!("{name}-{kind}"));
        let mut gcc = Command::new("gcc");
        gcc.current_dir(&self.here).args(CFLAGS.split(' ')).args(flags.split_whitespace());
        gcc.arg(self.root.join("capi/tests").join(name).with_extension("c"));
        gcc.args(told.split_whitespace()).arg("-o").arg(&program);
        if shared {
            gcc.arg(format!("-Wl,-rpath,{}", lib.display()));
        }
        ended(&mut gcc)?;
        Ok(program)
    }

    /// A command of these words, in a directory.
    fn command(&self, words: &str, directory: &Path) -> Command {
        let mut words = words.split(' ');
        let name = words.next().unwrap_or_default();
        let wst = self.root.join("target/debug/wst");
        let mut command = if name == "WST" { Command::new(wst) } else { Command::new(name) };
        command.args(words).current_dir(directory).stderr(Stdio::null());
        command
    }

    fn program(&self, path: &Path, file: &str, number: u32) -> Command {
        let mut command = Command::new(path);
        command.arg(file).arg(number.to_string()).current_dir(&self.here);
        command
    }

    fn receives(&self, program: &Path, number: u32, peer: &str) -> Result<(), String> {
        let [ours, theirs] = said(UnixStream::pair()).map(|(a, b)| [OwnedFd::from(a), b.into()])?;
        let receiver = on(&mut self.program(program, "got.bin", number), ours)?;
        let sender = on(&mut self.command(peer, &self.here), theirs)?;
        both(receiver, sender, peer)?;
        self.same(&self.here.join("got.bin"), number, peer)
    }

    /// It wants a terminal or a network.
    fn receives_from_c_kermit(&self, program: &Path) -> Result<(), String> {
        let listener = said(TcpListener::bind("127.0.0.1:0"))?;
        let port = said(listener.local_addr())?.port();
        let script =
            format!("set host 127.0.0.1 {port} /raw, set file type binary, send data.bin, exit");
        let mut kermit = self.command("kermit -H -Y -Q -C", &self.here);
        let kermit = said(kermit.arg(script).stdout(Stdio::null()).stdin(Stdio::null()).spawn())?;
        let (stream, _) = said(listener.accept())?;
        let receiver = on(&mut self.program(program, "got.bin", KERMIT), stream.into())?;
        both(receiver, kermit, "kermit")?;
        self.same(&self.here.join("got.bin"), KERMIT, "kermit")
    }

    fn sends(&self, program: &Path, number: u32, peer: &str) -> Result<(), String> {
        let into = self.here.join("into");
        let _ = fs::remove_dir_all(&into);
        said(fs::create_dir(&into))?;
        let [ours, theirs] = said(UnixStream::pair()).map(|(a, b)| [OwnedFd::from(a), b.into()])?;
        let receiver = on(&mut self.command(peer, &into), theirs)?;
        let sender = on(&mut self.program(program, "data.bin", number), ours)?;
        both(sender, receiver, peer)?;
        self.same(&into.join("data.bin"), number, peer)
    }

    /// Compares a file with the one that was sent; XMODEM may have filled up its last block.
    fn same(&self, path: &Path, number: u32, peer: &str) -> Result<(), String> {
        let got = said(fs::read(path))?;
        let most = if number < 3 { 1023 } else { 0 };
        let padded = got.get(LEN..).is_some_and(|pad| pad.len() <= most);
        if padded && got[..LEN] == self.data[..] {
            return Ok(());
        }
        Err(format!(
            "protocol {number}, {peer}: expected {LEN} bytes as sent, got {} bytes",
            got.len()
        ))
    }
}

/// Starts a command on a socket.
fn on(command: &mut Command, socket: OwnedFd) -> Result<Child, String> {
    let other = said(socket.try_clone())?;
    let child = said(command.stdin(socket).stdout(other).spawn())?;
    // The command holds its end.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Ok(child)
}

/// Waits for our program and its peer, both of which succeed.
fn both(mut ours: Child, mut peer: Child, name: &str) -> Result<(), String> {
    let (ours, peer) = (said(ours.wait())?, said(peer.wait())?);
    if ours.success() && peer.success() {
        return Ok(());
    }
    Err(format!("with {name}: our program: {ours}, the peer: {peer}"))
}

fn said<T>(result: std::io::Result<T>) -> Result<T, String> {
    result.map_err(|e| e.to_string())
}

fn ended(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(e) => Err(format!("{command:?}: {e}")),
    }
}
