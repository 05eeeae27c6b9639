//! This machine: its files, its clock, its shell, and a line console. No connection; the program adds one.

use std::fs;
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wetstring_proto::settings::Setting;

use crate::os;
use crate::own_rows::OwnRows;
use crate::world::{
    Channel, Facts, Fault, Files, Kind, Mode, Moment, Question, Ran, Screen, World,
};

/// Maximum bytes kept of a command's output.
const MOST_OUTPUT: u64 = 64 << 20;

/// The files of this machine, with a current directory of its own.
#[derive(Clone, Debug)]
pub struct LocalFiles {
    directory: PathBuf,
}

impl LocalFiles {
    /// Starting in this directory.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// A name as a path: relative to the current directory, `~` is home.
    pub fn path(&self, name: &[u8]) -> PathBuf {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        match (name, home) {
            (b"~", Some(home)) => home,
            ([b'~', b'/', rest @ ..], Some(home)) => home.join(os::name(rest)),
            _ => self.directory.join(os::name(name)),
        }
    }
}

struct FileChannel(fs::File);

impl Channel for FileChannel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn seek(&mut self, offset: u64) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(offset)).map(drop)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    fn close(self: Box<Self>) -> io::Result<Option<i32>> {
        Ok(None)
    }
}

/// A command whose input or output is a file of a script.
struct PipeChannel(Child);

impl Channel for PipeChannel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.stdout.as_mut().map_or(Ok(0), |out| out.read(into))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let closed = || Err(io::Error::from(io::ErrorKind::BrokenPipe));
        self.0.stdin.as_mut().map_or_else(closed, |to| to.write_all(bytes))
    }

    fn seek(&mut self, _offset: u64) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::NotSeekable))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.stdin.as_mut().map_or(Ok(()), Write::flush)
    }

    fn close(mut self: Box<Self>) -> io::Result<Option<i32>> {
        drop(self.0.stdin.take());
        drop(self.0.stdout.take());
        let status = self.0.wait()?;
        Ok(Some(status.code().unwrap_or(1)))
    }
}

fn of_metadata(metadata: &fs::Metadata, path: &Path) -> Facts {
    let kind = if metadata.is_dir() {
        Kind::Directory
    } else if metadata.is_symlink() {
        Kind::Link
    } else if metadata.is_file() {
        Kind::File
    } else {
        Kind::Other
    };
    let modified = metadata.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
    let mode = os::mode(metadata);
    // Opening a pipe or a device to find out would affect it.
    let opens = |write: bool| match kind {
        Kind::File => fs::OpenOptions::new().read(!write).append(write).open(path).is_ok(),
        _ => mode & if write { 0o222 } else { 0o444 } != 0,
    };
    Facts {
        len: metadata.len(),
        modified_s: modified.map_or(0, |time| time.as_secs() as i64),
        kind,
        mode: mode & 0o777,
        readable: opens(false),
        writeable: opens(true),
    }
}

impl Files for LocalFiles {
    fn open(&mut self, name: &[u8], mode: Mode) -> Result<Box<dyn Channel>, Fault> {
        let path = self.path(name);
        if path.is_dir() {
            return Err(Fault::new("expected a file, got a directory"));
        }
        let mut options = fs::OpenOptions::new();
        let writes = mode.write || mode.append;
        options.read(mode.read).write(mode.write).append(mode.append).create(writes);
        options.truncate(mode.write && !mode.read && !mode.append);
        Ok(Box::new(FileChannel(options.open(path)?)))
    }

    fn facts(&mut self, name: &[u8], follow: bool) -> Option<Facts> {
        if name.is_empty() {
            return None;
        }
        let path = self.path(name);
        let metadata = if follow { fs::metadata(&path) } else { fs::symlink_metadata(&path) };
        metadata.ok().map(|metadata| of_metadata(&metadata, &path))
    }

    fn list(&mut self, directory: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        let entries = fs::read_dir(self.path(directory))?;
        Ok(entries.flatten().map(|entry| entry.file_name().into_encoded_bytes()).collect())
    }

    fn rename(&mut self, from: &[u8], to: &[u8]) -> Result<(), Fault> {
        Ok(fs::rename(self.path(from), self.path(to))?)
    }

    fn copy(&mut self, from: &[u8], to: &[u8]) -> Result<(), Fault> {
        Ok(fs::copy(self.path(from), self.path(to)).map(drop)?)
    }

    fn delete(&mut self, name: &[u8]) -> Result<(), Fault> {
        Ok(fs::remove_file(self.path(name))?)
    }

    fn make_directory(&mut self, name: &[u8]) -> Result<(), Fault> {
        Ok(fs::create_dir(self.path(name))?)
    }

    fn remove_directory(&mut self, name: &[u8]) -> Result<(), Fault> {
        Ok(fs::remove_dir(self.path(name))?)
    }

    fn directory(&mut self) -> Vec<u8> {
        self.directory.as_os_str().as_encoded_bytes().to_vec()
    }

    fn change_directory(&mut self, to: &[u8]) -> Result<(), Fault> {
        let path = fs::canonicalize(self.path(to))?;
        if !path.is_dir() {
            return Err(Fault::new("expected a directory, got a file"));
        }
        self.directory = path;
        Ok(())
    }
}

/// This machine, with stdin and stdout as the console.
#[derive(Debug)]
pub struct Local {
    files: LocalFiles,
    /// UTC offset in seconds at a time (seconds since 1970); the standard library has no time zones.
    offset: fn(i64) -> i32,
    random: u64,
    config: OwnRows,
    captured: Option<Vec<u8>>,
    /// Reads a line of stdin, with its end, of at most this many bytes.
    line: fn(u64) -> io::Result<Vec<u8>>,
}

/// A line of stdin, by the standard library.
fn line_of_stdin(longest: u64) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    io::stdin().lock().take(longest).read_until(b'\n', &mut line)?;
    Ok(line)
}

impl Local {
    /// Starting in a directory; `offset` returns the UTC offset at a time.
    pub fn new(directory: PathBuf, offset: fn(i64) -> i32) -> Self {
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            files: LocalFiles::new(directory),
            offset,
            random: seed.as_nanos() as u64 | 1,
            config: OwnRows::default(),
            captured: None,
            line: line_of_stdin,
        }
    }

    /// With another reader of stdin, for a program that reads it elsewhere too.
    pub fn reading(mut self, line: fn(u64) -> io::Result<Vec<u8>>) -> Self {
        self.line = line;
        self
    }

    /// Keeps the output instead of showing it.
    pub fn captured(mut self) -> Self {
        self.captured = Some(Vec::new());
        self
    }

    /// The output, in order, if it is kept.
    pub fn said(&self) -> &[u8] {
        self.captured.as_deref().unwrap_or_default()
    }

    /// A name as a path.
    pub fn path(&self, name: &[u8]) -> PathBuf {
        self.files.path(name)
    }

    fn shell(&self, command: &[u8]) -> Command {
        let mut shell = os::shell(command);
        shell.current_dir(&self.files.directory);
        shell
    }
}

impl World for Local {
    fn say(&mut self, to: Screen, text: &[u8]) {
        if let Some(captured) = &mut self.captured {
            captured.extend_from_slice(text);
            return;
        }
        // The reader has closed the pipe; there is no one to tell.
        drop(match to {
            Screen::Output => {
                let mut out = io::stdout().lock();
                let shown = os::shown(text, &out);
                out.write_all(&shown).and_then(|()| out.flush())
            }
            Screen::Error => {
                let mut out = io::stderr().lock();
                let shown = os::shown(text, &out);
                out.write_all(&shown)
            }
        });
    }

    fn ask(&mut self, question: &Question) -> Option<Vec<u8>> {
        self.say(Screen::Output, &question.prompt);
        let mut line = (self.line)(1 << 20).ok()?;
        let len = line.len();
        while line.ends_with(b"\n") || line.ends_with(b"\r") {
            line.pop();
        }
        (len > 0).then_some(line)
    }

    fn key(&mut self, wait: Option<Duration>) -> Option<u8> {
        if wait == Some(Duration::ZERO) {
            return None;
        }
        let mut key = [0];
        (io::stdin().lock().read(&mut key).ok()? == 1).then_some(key[0])
    }

    fn now(&mut self) -> Moment {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unix_ns = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
        Moment { unix_ns, offset_s: (self.offset)(since.as_secs() as i64) }
    }

    fn offset_at(&mut self, unix_s: i64) -> i32 {
        (self.offset)(unix_s)
    }

    fn pause(&mut self, time: Duration, _keys: bool) -> bool {
        std::thread::sleep(time);
        false
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn environment(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        if name.is_empty() || name.iter().any(|b| *b == b'=' || *b == 0) {
            return None;
        }
        std::env::var_os(os::name(name)).map(std::ffi::OsString::into_encoded_bytes)
    }

    fn fact(&mut self, name: &str) -> Option<Vec<u8>> {
        let with_slash = |mut name: Vec<u8>| {
            if !name.ends_with(b"/") {
                name.push(b'/');
            }
            name
        };
        Some(match name {
            "host" => {
                let name = fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
                crate::text::trim(&name).to_vec()
            }
            "userid" => {
                self.environment(b"USER").or(self.environment(b"LOGNAME")).unwrap_or_default()
            }
            "home" => with_slash(self.environment(b"HOME").unwrap_or_default()),
            "tmpdir" => with_slash(std::env::temp_dir().into_os_string().into_encoded_bytes()),
            "pid" => std::process::id().to_string().into_bytes(),
            "osname" | "platform" => {
                let mut name = std::env::consts::OS.as_bytes().to_vec();
                name[..1].make_ascii_uppercase();
                name
            }
            "system" => os::SYSTEM.to_vec(),
            "cpu" => std::env::consts::ARCH.as_bytes().to_vec(),
            "terminal" => self.environment(b"TERM").unwrap_or_default(),
            "line" => b"/dev/tty".to_vec(),
            "speed" => b"0".to_vec(),
            _ => return None,
        })
    }

    fn files(&mut self) -> &mut dyn Files {
        &mut self.files
    }

    fn run(&mut self, command: &[u8], capture: bool) -> Result<Ran, Fault> {
        if command.contains(&0) {
            return Err(Fault::new("expected a command, got a NUL in it"));
        }
        let mut shell = self.shell(command);
        let capture = if self.captured.is_some() && !capture {
            let ran = self.run(command, true)?;
            self.say(Screen::Output, &ran.output);
            return Ok(ran);
        } else {
            capture
        };
        if !capture {
            let status = shell.status()?;
            return Ok(Ran { status: status.code().unwrap_or(1), output: Vec::new() });
        }
        let mut child = shell.stdout(Stdio::piped()).spawn()?;
        let mut output = Vec::new();
        if let Some(out) = child.stdout.take() {
            out.take(MOST_OUTPUT).read_to_end(&mut output)?;
        }
        let status = child.wait()?;
        Ok(Ran { status: status.code().unwrap_or(1), output })
    }

    fn pipe(&mut self, command: &[u8], to: bool) -> Result<Box<dyn Channel>, Fault> {
        if command.contains(&0) {
            return Err(Fault::new("expected a command, got a NUL in it"));
        }
        let mut shell = self.shell(command);
        if to {
            shell.stdin(Stdio::piped());
        } else {
            shell.stdout(Stdio::piped());
        }
        Ok(Box::new(PipeChannel(shell.spawn()?)))
    }

    fn rows(&self) -> Vec<&'static Setting> {
        OwnRows::rows()
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        self.config.put(name, value)
    }

    fn shown(&mut self, name: &str) -> Option<String> {
        self.config.shown(name)
    }
}
