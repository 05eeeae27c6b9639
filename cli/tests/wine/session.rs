//! Wine as this machine's Windows: made once for all tests, in the folder of the build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::peers::{End, LIMIT, Running, Scene, wst};

/// Where links to terminals stand, of which Wine makes COM ports.
pub(crate) const PORTS: [&str; 2] = ["COM5", "COM17"];

/// Windows, with the program in it.
#[derive(Debug)]
pub(crate) struct Wine {
    prefix: PathBuf,
    program: PathBuf,
}

/// The machine; `None` if it is not asked for, which is said.
pub(crate) fn wine() -> Option<&'static Wine> {
    static MADE: OnceLock<Option<Wine>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        if std::env::var_os("WETSTRING_WINE").is_none_or(|value| value != "1") {
            eprintln!("NOT TESTED: Windows (WETSTRING_WINE=1 tests it, CONTRIBUTING.md says how)");
            return None;
        }
        Some(Wine::make().expect("Wine with the program"))
    });
    made.as_ref()
}

fn done(command: &mut Command) -> Result<(), String> {
    let out = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if out.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&out.stderr)))
}

impl Wine {
    fn make() -> Result<Self, String> {
        let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let target = temporary.parent().ok_or("a target folder")?;
        let built = target.join("x86_64-pc-windows-gnu/debug/wst.exe");
        let home = temporary.join("wine");
        fs::create_dir_all(&home).map_err(|e| e.to_string())?;
        let program = home.join("wst.exe");
        fs::copy(&built, &program).map_err(|e| format!("{}: {e}", built.display()))?;
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wine");
        let compile = |source: &str, flags: &[&str], made: &str| {
            let mut compiler = Command::new("x86_64-w64-mingw32-gcc");
            compiler.arg(sources.join(source)).args(flags).arg("-o").arg(home.join(made));
            done(&mut compiler)
        };
        compile("bcryptprimitives.c", &["-shared", "-ladvapi32"], "bcryptprimitives.dll")?;
        compile("modes.c", &[], "modes.exe")?;
        let made = Self { prefix: home.join("prefix"), program };
        for port in PORTS {
            let mut add = made.command("reg");
            add.args(["add", r"HKLM\Software\Wine\Ports", "/f", "/v", port, "/d"]);
            done(add.arg(made.device(port)))?;
        }
        // The ports are those that the registry had at the start of the system. It may have ended by itself.
        for how in ["-k", "-w"] {
            let mut server = Command::new("wineserver");
            server.arg(how).env("WINEPREFIX", &made.prefix).status().map_err(|e| e.to_string())?;
        }
        done(made.command(&made.program).arg("--version"))?;
        Ok(made)
    }

    /// Puts the certificate of an authority, of this SHA-1, into the system's store.
    pub(crate) fn trust(&self, sha1: &str, certificate: &[u8]) -> Result<(), String> {
        // Properties in the registry: number, 1, length, bytes. 32 is the certificate itself.
        let words = [32, 1, certificate.len() as u32].map(u32::to_le_bytes);
        let blob = [words.as_flattened(), certificate].concat();
        let digits: Vec<String> = blob.iter().map(|byte| format!("{byte:02x}")).collect();
        let key = format!(r"HKLM\Software\Microsoft\SystemCertificates\Root\Certificates\{sha1}");
        let mut add = self.command("reg");
        done(add.args([
            "add",
            &key,
            "/f",
            "/v",
            "Blob",
            "/t",
            "REG_BINARY",
            "/d",
            &digits.concat(),
        ]))
    }

    /// The path that a COM port stands for.
    pub(crate) fn device(&self, port: &str) -> PathBuf {
        self.prefix.with_file_name(port.to_lowercase())
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut wine = Command::new("wine");
        wine.arg(program).env("WINEPREFIX", &self.prefix).env("WINEDEBUG", "-all");
        // The authorities of this system are not those of Windows.
        wine.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
        wine.env("DISPLAY", "").stdin(std::process::Stdio::null());
        wine
    }

    /// The program of Windows with these arguments.
    pub(crate) fn wst<S: AsRef<std::ffi::OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = self.command(&self.program);
        command.args(args);
        command
    }

    /// The program at a console, below one that says the modes of the console before and after.
    pub(crate) fn at_console(&self, args: &[&str]) -> Command {
        let mut command = self.command(self.program.with_file_name("modes.exe"));
        command.arg(&self.program).args(args);
        command
    }

    /// The program, as Windows names it.
    pub(crate) fn windows_program(&self) -> String {
        format!("Z:{}", self.program.display()).replace('/', r"\")
    }

    /// The command line of the program, for a shell of this system.
    pub(crate) fn line(&self, args: &str) -> String {
        let (prefix, program) = (self.prefix.display(), self.program.display());
        format!("WINEPREFIX={prefix} WINEDEBUG=-all wine {program} {args}")
    }
}

/// Which end is the Windows program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Windows {
    Sends,
    Receives,
}

impl Windows {
    pub(crate) const BOTH: [Self; 2] = [Self::Sends, Self::Receives];
}

/// A transfer of a file between both programs, of which the receiver listens by `scheme`; the end of the receiver.
pub(crate) fn between(
    wine: &Wine,
    scene: &Scene,
    who: Windows,
    scheme: &str,
    flags: &[&str],
    file: &Path,
) -> Result<End, String> {
    between_at(wine, scene, who, (scheme, ["", ""]), flags, file)
}

/// The same, with what follows the address at the listener and at the other program.
pub(crate) fn between_at(
    wine: &Wine,
    scene: &Scene,
    who: Windows,
    (scheme, [listens, calls]): (&str, [&str; 2]),
    flags: &[&str],
    file: &Path,
) -> Result<End, String> {
    let (mut receiver, at) = listening_at(wine, scene, who, (scheme, listens), flags)?;
    let to = format!("{scheme}://{at}{calls}");
    let mut args = vec!["send".to_owned(), file.display().to_string(), to];
    args.extend(flags.iter().map(|flag| (*flag).to_owned()));
    let sender = if who == Windows::Sends { wine.wst(&args) } else { wst(&args) };
    let mut sender = sender;
    let sent = scene.start("send", &mut sender)?.wait(LIMIT)?;
    let got = receiver.wait(LIMIT)?;
    if (sent.code, got.code) == (0, 0) { Ok(got) } else { Err(format!("{sent:?}, {got:?}")) }
}

/// A receiver that listens, and where.
pub(crate) fn listening(
    wine: &Wine,
    scene: &Scene,
    who: Windows,
    scheme: &str,
    flags: &[&str],
) -> Result<(Running, String), String> {
    listening_at(wine, scene, who, (scheme, ""), flags)
}

fn listening_at(
    wine: &Wine,
    scene: &Scene,
    who: Windows,
    (scheme, query): (&str, &str),
    flags: &[&str],
) -> Result<(Running, String), String> {
    let into = scene.folder("in").display().to_string();
    let at = format!("{scheme}-listen://127.0.0.1:0{query}");
    let args = [&["receive", "--json", "-o", &into, &at], flags].concat();
    let mut command = if who == Windows::Receives { wine.wst(&args) } else { wst(&args) };
    let mut receiver = scene.start("receive", &mut command)?;
    let line = receiver.line_after("listening on ")?;
    let at = line.split(['"', ' ']).next().unwrap_or_default().to_owned();
    Ok((receiver, at))
}
