//! A world in memory: files, a manual clock, a user with prepared answers, and a list of all calls. The
//! laboratory and the tests run scripts in it.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use wetstring_proto::kermit;
use wetstring_proto::settings::Setting;

use crate::own_rows::OwnRows;
use crate::world::{
    Channel, Connection, Done, Facts, Fault, Files, Heard, Kept, Kind, Mode, Moment, Question,
    Screen, Signal, Task, World,
};

/// A call to the world.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Call {
    /// A row of the table was set.
    Set(String, String),
    /// A connection was opened.
    Connect(Connection),
    /// The connection was closed.
    HangUp,
    /// Bytes were sent.
    Transmit(Vec<u8>),
    /// BREAK was sent.
    Signal(Signal),
    /// Files were transferred, or a server was asked.
    Perform(Task),
}

/// Transfers files: gets the task, the settings and the time, and returns the result.
pub type TransferHandler = Box<dyn FnMut(&Task, &kermit::Config) -> Result<Done, Fault>>;

type Disk = Rc<RefCell<BTreeMap<Vec<u8>, Vec<u8>>>>;

/// Maximum bytes of all files in memory.
const MOST: usize = 64 << 20;

/// The world in memory.
pub struct Memory {
    /// Output.
    pub screen: Vec<u8>,
    /// Errors.
    pub errors: Vec<u8>,
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// The user's answers.
    pub answers: VecDeque<Vec<u8>>,
    /// Input of the connection: the delay after the previous byte, and the byte.
    pub incoming: VecDeque<(Duration, u8)>,
    /// Nanoseconds since 1970.
    pub now_ns: i64,
    /// Settings, changed by SET.
    config: OwnRows,
    /// Transfers files.
    pub transfer_handler: Option<TransferHandler>,
    /// Output beyond this many bytes is dropped.
    pub most_output: usize,
    connected: bool,
    random: u64,
    files: MemoryFiles,
}

/// Files in memory. Directories exist where files are, and where they were created.
#[derive(Clone, Debug)]
struct MemoryFiles {
    disk: Disk,
    directories: Vec<Vec<u8>>,
    directory: Vec<u8>,
}

/// An open file in memory.
struct MemoryChannel {
    disk: Disk,
    path: Vec<u8>,
    at: usize,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            screen: Vec::new(),
            errors: Vec::new(),
            calls: Vec::new(),
            answers: VecDeque::new(),
            incoming: VecDeque::new(),
            now_ns: 1_000_000_000_000_000_000,
            config: OwnRows::default(),
            transfer_handler: None,
            most_output: 1 << 20,
            connected: false,
            random: 0x9E37_79B9_7F4A_7C15,
            files: MemoryFiles {
                disk: Rc::default(),
                directories: vec![b"/".to_vec()],
                directory: b"/".to_vec(),
            },
        }
    }
}

impl Memory {
    /// Creates a file.
    pub fn put(&mut self, name: &str, contents: &[u8]) {
        let path = self.files.path(name.as_bytes());
        self.files.disk.borrow_mut().insert(path, contents.to_vec());
    }

    /// The contents of a file.
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        self.files.disk.borrow().get(&self.files.path(name.as_bytes())).cloned()
    }

    /// Names of all files, absolute.
    pub fn names(&self) -> Vec<String> {
        let disk = self.files.disk.borrow();
        disk.keys().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }
}

impl MemoryFiles {
    fn path(&self, name: &[u8]) -> Vec<u8> {
        let mut parts: Vec<&[u8]> = Vec::new();
        let base: &[u8] = if name.starts_with(b"/") { b"" } else { &self.directory };
        for part in base.split(|b| *b == b'/').chain(name.split(|b| *b == b'/')) {
            match part {
                b"" | b"." => {}
                b".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        [b"/", parts.join(&b'/').as_slice()].concat()
    }

    fn is_directory(&self, path: &[u8]) -> bool {
        let below = if path == b"/" { path.to_vec() } else { [path, b"/"].concat() };
        self.directories.iter().any(|known| known == path)
            || self.disk.borrow().keys().any(|name| name.starts_with(&below))
    }
}

impl Channel for MemoryChannel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let disk = self.disk.borrow();
        let Some(bytes) = disk.get(&self.path) else { return Ok(0) };
        let rest = bytes.get(self.at..).unwrap_or_default();
        let len = rest.len().min(into.len());
        into[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.disk.borrow_mut();
        let used: usize = disk.values().map(Vec::len).sum();
        if used + bytes.len() > MOST {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let file = disk.entry(self.path.clone()).or_default();
        let end = self.at + bytes.len();
        if file.len() < end {
            file.resize(end.min(MOST), 0);
        }
        file[self.at..end].copy_from_slice(bytes);
        self.at = end;
        Ok(())
    }

    fn seek(&mut self, offset: u64) -> io::Result<()> {
        let len = self.disk.borrow().get(&self.path).map_or(0, Vec::len);
        self.at = usize::try_from(offset).unwrap_or(usize::MAX).min(len);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<Option<i32>> {
        Ok(None)
    }
}

fn missing() -> Fault {
    Fault::new("no such file or directory")
}

impl Files for MemoryFiles {
    fn open(&mut self, name: &[u8], mode: Mode) -> Result<Box<dyn Channel>, Fault> {
        let path = self.path(name);
        if self.is_directory(&path) {
            return Err(Fault::new("expected a file, got a directory"));
        }
        let mut disk = self.disk.borrow_mut();
        if mode.write && !mode.read {
            disk.insert(path.clone(), Vec::new());
        } else if mode.append || mode.write {
            disk.entry(path.clone()).or_default();
        }
        let len = disk.get(&path).map(Vec::len).ok_or_else(missing)?;
        let at = if mode.append { len } else { 0 };
        Ok(Box::new(MemoryChannel { disk: Rc::clone(&self.disk), path, at }))
    }

    fn facts(&mut self, name: &[u8], _follow: bool) -> Option<Facts> {
        let path = self.path(name);
        let len = self.disk.borrow().get(&path).map(Vec::len);
        let kind = match len {
            Some(_) => Kind::File,
            None if self.is_directory(&path) => Kind::Directory,
            None => return None,
        };
        Some(Facts {
            len: len.unwrap_or(0) as u64,
            modified_s: 1_000_000_000,
            kind,
            mode: 0o644,
            readable: true,
            writeable: true,
        })
    }

    fn list(&mut self, directory: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        let path = self.path(directory);
        let below = if path == b"/" { path } else { [&path[..], b"/"].concat() };
        let disk = self.disk.borrow();
        let all =
            disk.keys().chain(&self.directories).filter_map(|name| name.strip_prefix(&below[..]));
        let mut names: Vec<Vec<u8>> = all
            .filter_map(|rest| rest.split(|b| *b == b'/').next())
            .filter(|name| !name.is_empty())
            .map(<[u8]>::to_vec)
            .collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn rename(&mut self, from: &[u8], to: &[u8]) -> Result<(), Fault> {
        let (from, to) = (self.path(from), self.path(to));
        let bytes = self.disk.borrow_mut().remove(&from).ok_or_else(missing)?;
        self.disk.borrow_mut().insert(to, bytes);
        Ok(())
    }

    fn copy(&mut self, from: &[u8], to: &[u8]) -> Result<(), Fault> {
        let bytes = self.disk.borrow().get(&self.path(from)).cloned().ok_or_else(missing)?;
        let to = self.path(to);
        self.disk.borrow_mut().insert(to, bytes);
        Ok(())
    }

    fn delete(&mut self, name: &[u8]) -> Result<(), Fault> {
        let path = self.path(name);
        self.disk.borrow_mut().remove(&path).map(drop).ok_or_else(missing)
    }

    fn make_directory(&mut self, name: &[u8]) -> Result<(), Fault> {
        let path = self.path(name);
        if self.is_directory(&path) || self.disk.borrow().contains_key(&path) {
            return Err(Fault::new("it is there already"));
        }
        self.directories.push(path);
        Ok(())
    }

    fn remove_directory(&mut self, name: &[u8]) -> Result<(), Fault> {
        let path = self.path(name);
        if !self.list(name)?.is_empty() {
            return Err(Fault::new("the directory is not empty"));
        }
        let at = self.directories.iter().position(|known| *known == path).ok_or_else(missing)?;
        self.directories.remove(at);
        Ok(())
    }

    fn directory(&mut self) -> Vec<u8> {
        self.directory.clone()
    }

    fn change_directory(&mut self, to: &[u8]) -> Result<(), Fault> {
        let path = if to == b"~" { b"/".to_vec() } else { self.path(to) };
        if !self.is_directory(&path) {
            return Err(missing());
        }
        self.directory = path;
        Ok(())
    }
}

impl World for Memory {
    fn say(&mut self, to: Screen, text: &[u8]) {
        let most = self.most_output;
        let kept = match to {
            Screen::Output => &mut self.screen,
            Screen::Error => &mut self.errors,
        };
        kept.extend_from_slice(&text[..text.len().min(most.saturating_sub(kept.len()))]);
    }

    fn ask(&mut self, question: &Question) -> Option<Vec<u8>> {
        self.say(Screen::Output, &question.prompt);
        self.answers.pop_front()
    }

    fn key(&mut self, wait: Option<Duration>) -> Option<u8> {
        self.now_ns = self.now_ns.saturating_add(wait.unwrap_or_default().as_nanos() as i64);
        None
    }

    fn now(&mut self) -> Moment {
        Moment { unix_ns: self.now_ns, offset_s: 0 }
    }

    fn pause(&mut self, time: Duration, _keys: bool) -> bool {
        self.now_ns =
            self.now_ns.saturating_add(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX));
        false
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn environment(&mut self, _name: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn fact(&mut self, name: &str) -> Option<Vec<u8>> {
        let text = match name {
            "host" => "memory",
            "userid" | "osname" | "platform" | "system" | "cpu" | "terminal" | "line" => "none",
            "home" | "tmpdir" => "/",
            "pid" | "speed" => "0",
            _ => return None,
        };
        Some(text.as_bytes().to_vec())
    }

    fn files(&mut self) -> &mut dyn Files {
        &mut self.files
    }

    fn connect(&mut self, to: &Connection) -> Result<(), Fault> {
        self.connected = true;
        self.calls.push(Call::Connect(to.clone()));
        Ok(())
    }

    fn hang_up(&mut self) -> Result<(), Fault> {
        self.connected = false;
        self.calls.push(Call::HangUp);
        Ok(())
    }

    fn is_connected(&mut self) -> bool {
        self.connected
    }

    fn transmit(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.calls.push(Call::Transmit(bytes.to_vec()));
        Ok(())
    }

    fn signal(&mut self, signal: Signal) -> Result<(), Fault> {
        self.calls.push(Call::Signal(signal));
        Ok(())
    }

    fn hear(&mut self, wait: Duration) -> Heard {
        match self.incoming.front_mut() {
            Some((after, byte)) if *after <= wait => {
                let (after, byte) = (*after, *byte);
                self.incoming.pop_front();
                self.pause(after, false);
                Heard::Byte(byte)
            }
            Some((after, _)) => {
                *after -= wait;
                self.pause(wait, false);
                Heard::Silence
            }
            None if self.connected => {
                self.pause(wait, false);
                Heard::Silence
            }
            None => Heard::Lost,
        }
    }

    fn perform(&mut self, task: &Task, _kept: &Kept) -> Result<Done, Fault> {
        self.calls.push(Call::Perform(task.clone()));
        match &mut self.transfer_handler {
            Some(transfer_handler) => transfer_handler(task, &self.config.kermit),
            None => Ok(Done::default()),
        }
    }

    fn rows(&self) -> Vec<&'static Setting> {
        OwnRows::rows()
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        self.config.put(name, value)?;
        self.calls.push(Call::Set(name.to_owned(), value.to_owned()));
        Ok(())
    }

    fn shown(&mut self, name: &str) -> Option<String> {
        self.config.shown(name)
    }
}
