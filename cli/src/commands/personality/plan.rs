//! From the flags of `sz` and `rz` to settings of engines and store.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use wetstring_proto::{xymodem, zmodem};

use wetstring_drive::disk::{
    Collision, DiskStore, Numbering, PathRule, ReceiveOptions, Resume, SendOptions, Source,
};
use wetstring_drive::line::HostPort;
use wetstring_drive::os::files;
use wetstring_drive::{LineSpec, in_words};
use wetstring_proto::xymodem::{BlockLength, Variant};
use wetstring_proto::zmodem::Commands;
use wetstring_proto::zmodem::escape::Escaping;
use wetstring_proto::zmodem::info::Conversion;
use wetstring_proto::{FileKind, Span, Wish};

use super::options::{Given, number, read};
use super::{Personality, Stop, flags};
use crate::args::Common;
use crate::config::Settings;
use crate::config::protocol::Protocol;
use crate::transfer::direction::Direction;
use crate::transfer::filter::Filter;
use crate::transfer::gather::readable;
use crate::transfer::job::Job;
use crate::transfer::limits::{self, Limits};
use crate::transfer::outgoing::outbox;
use crate::transfer::speaks::Speaks;
use crate::transfer::store::FileStore;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::format::{escaped, shown};
use crate::ui::output::{Level, Output};

/// A parsed command line.
pub(super) struct Plan {
    name: String,
    direction: Direction,
    protocol: Protocol,
    all: Settings,
    files: Vec<OsString>,
    line: LineSpec,
    limits: Limits,
    filter: Filter,
    send: SendOptions,
    receive: ReceiveOptions,
    full_path: bool,
    dot_to_slash: bool,
    discard: bool,
    /// Maximum transmissions of a command.
    command_tries: u8,
    /// Number of -R flags, the environment included.
    restricted: u8,
    unrestrict: bool,
    /// Files skipped because of -R.
    outside: usize,
    pub(super) unlink: bool,
    /// Files may be skipped on request.
    pub(super) forgiving: bool,
    pub(super) delay: Duration,
    pub(super) verbose: u8,
    pub(super) quiet: bool,
    /// The original stdin, while the file comes from it.
    aside: Vec<wetstring_drive::os::fd::OwnedFd>,
    /// Notes about flags without effect.
    pub(super) notes: Vec<&'static str>,
}

/// Cancels every protocol of the family at the peer, and erases itself from a screen.
const CANCEL: &[u8] =
    b"\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x08\x08\x08\x08\x08\x08\x08\x08\x08\x08";

const HOUR: Span = Span::from_secs(3600);

impl Plan {
    /// Reads a command line.
    pub(super) fn read(who: &Personality, words: &[OsString]) -> Result<Self, Stop> {
        let (given, files) = read(&flags::specs(who.direction), words)?;
        let mut plan = Self::new(who, files);
        for one in &given {
            plan.take_both(one)?;
            match who.direction {
                Direction::Send => plan.take_send(one)?,
                Direction::Receive => plan.take_receive(one),
            }
        }
        plan.complete()?;
        Ok(plan)
    }

    fn new(who: &Personality, files: Vec<OsString>) -> Self {
        let mut all = Settings::default();
        // Without -b or -a the type stays unspecified.
        all.zmodem_mut().conversion = Conversion::Unsaid;
        all.xymodem_mut().records = true;
        let receive = ReceiveOptions {
            collision: Collision::Reject,
            paths: PathRule::Relative,
            numbering: Numbering::Dot,
            resume: Resume::Part,
            ..ReceiveOptions::default()
        };
        Self {
            name: who.name.clone(),
            direction: who.direction,
            protocol: who.protocol,
            all,
            files,
            line: LineSpec::Stdio,
            limits: Limits::default(),
            filter: Filter { lower_case: true, ..Filter::default() },
            send: SendOptions::default(),
            receive,
            full_path: false,
            dot_to_slash: false,
            discard: false,
            command_tries: 11,
            restricted: u8::from(std::env::var_os("ZMODEM_RESTRICTED").is_some()),
            unrestrict: false,
            outside: 0,
            unlink: false,
            forgiving: false,
            delay: Duration::ZERO,
            verbose: 0,
            quiet: false,
            aside: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Flags of both families.
    fn take_both(&mut self, given: &Given) -> Result<(), Stop> {
        let zmodem = self.all.zmodem_mut();
        let number = |low, high| number(given, low, high);
        match given.name {
            "help" => return Err(Stop::Help),
            "version" => return Err(Stop::Version),
            "ascii" => self.send.kind = FileKind::Text,
            "binary" => {
                self.send.kind = FileKind::Binary;
                zmodem.conversion = Conversion::Binary;
            }
            "delay-startup" => self.delay = Duration::from_secs(number(0, 86_400)?),
            "escape" => zmodem.escape = Escaping::Controls,
            "min-bps" => self.limits.min_bytes_per_s = number(0, u64::MAX)?,
            "min-bps-time" => self.limits.min_for = Duration::from_secs(number(1, 1_000_000)?),
            "stop-at" => {
                let text = given.value.to_string_lossy();
                let say = || {
                    format!(
                        "expected HH:MM or +N after --stop-at, got {}",
                        escaped(text.as_bytes())
                    )
                };
                self.limits.stop_in = Some(limits::until(&text).ok_or_else(say)?);
            }
            "disable-timeouts" => self.raise_timeouts(),
            "timeout" => {
                let tenths = number(1, 6000)?;
                self.all.set_timeouts(tenths.div_ceil(10));
            }
            "quiet" => self.quiet = true,
            "verbose" => self.verbose = self.verbose.saturating_add(1),
            "restricted" => self.restricted = self.restricted.saturating_add(1),
            "unrestrict" => self.unrestrict = true,
            "tcp-server" => {
                self.line = LineSpec::TcpListen(HostPort { host: "0.0.0.0".into(), port: 0 });
            }
            "tcp-client" => {
                let line = format!("tcp://{}", given.value.to_string_lossy());
                self.line = line.parse().map_err(|bad| format!("--tcp-client: {bad}"))?;
            }
            "windowsize" => {
                let bytes = number(0, 4_000_000)?;
                zmodem.window = bytes as u32;
                zmodem.receive_buffer = bytes.min(65_535) as u16;
            }
            name @ ("xmodem" | "ymodem" | "zmodem") => self.protocol = Protocol::named(name),
            _ => {}
        }
        Ok(())
    }

    fn raise_timeouts(&mut self) {
        let zmodem = self.all.zmodem_mut();
        zmodem.patience = HOUR;
        zmodem.retries = u8::MAX;
        let xymodem = self.all.xymodem_mut();
        xymodem.patience = HOUR;
        xymodem.answer_timeout = Span::from_secs(600);
        xymodem.retries = 94;
    }

    /// Flags of `sz`.
    fn take_send(&mut self, given: &Given) -> Result<(), Stop> {
        let number = |low, high| number(given, low, high);
        let zmodem = self.all.zmodem_mut();
        match given.name {
            "append" => zmodem.wish = Wish::Append,
            "overwrite" => zmodem.wish = Wish::Overwrite,
            "overwrite-or-skip" => {
                zmodem.wish = Wish::Overwrite;
                zmodem.skip_if_absent = true;
                self.forgiving = true;
            }
            "newer" | "newer-or-longer" | "protect" => {
                self.forgiving = true;
                zmodem.wish = match given.name {
                    "newer" => Wish::Newer,
                    "newer-or-longer" => Wish::NewerOrLonger,
                    _ => Wish::Protect,
                };
            }
            "rename" => zmodem.wish = Wish::Rename,
            "try-4k" | "start-4k" => zmodem.send_length = 4096,
            "try-8k" | "start-8k" => zmodem.send_length = 8192,
            "packetlen" => zmodem.send_length = number(32, 8192)? as u16,
            "framelen" => zmodem.window = number(32, 4_000_000)? as u32,
            "16-bit-crc" => zmodem.crc32 = false,
            "turbo" => zmodem.escape = Escaping::Turbo,
            "resume" => self.send.resume = true,
            "1k" => self.all.xymodem_mut().block = BlockLength::Long,
            "full-path" => self.full_path = true,
            "dot-to-slash" => {
                self.full_path = true;
                self.dot_to_slash = true;
            }
            "unlink" => self.unlink = true,
            "command" | "immediate-command" => {
                let immediate = given.name == "immediate-command";
                self.all.command = Some((given.value.clone().into_encoded_bytes(), immediate));
            }
            "command-tries" => self.command_tries = number(1, 255)? as u8,
            _ => {}
        }
        Ok(())
    }

    /// Flags of `rz`.
    fn take_receive(&mut self, given: &Given) {
        let receive = &mut self.receive;
        match given.name {
            "append" => receive.collision = Collision::Append,
            "overwrite" => receive.collision = Collision::Replace,
            "rename" => receive.collision = Collision::Rename,
            "protect" => {
                receive.collision = Collision::Reject;
                self.forgiving = true;
            }
            "resume" => {
                receive.resume = Resume::Existing;
                self.all.zmodem_mut().resume = true;
            }
            "junk-path" => receive.paths = PathRule::LastOnly,
            "o-sync" => receive.sync = true,
            "ascii" => {
                self.filter.text = Some(true);
                self.all.zmodem_mut().receive_binary = false;
            }
            "binary" => {
                self.filter.text = Some(false);
                self.all.zmodem_mut().receive_binary = true;
            }
            "null" => self.discard = true,
            "keep-uppercase" => self.filter.lower_case = false,
            "allow-remote-commands" | "allow-commands" => {
                self.all.zmodem_mut().commands = Commands::Run;
            }
            _ => {}
        }
        // Flags come in any order: -c belongs to XMODEM, which a later -X may select.
        if given.name == "with-crc" {
            self.all.xymodem_mut().variant = Variant::XmodemCrc;
        }
    }

    /// Checks and completes all flags together.
    fn complete(&mut self) -> Result<(), Stop> {
        let batch = self.protocol.is::<xymodem::Config>() && self.protocol.tells_names;
        self.filter.lower_case = batch && self.filter.lower_case;
        if self.unrestrict && !has_restricted_shell() {
            self.restricted = 0;
        }
        if has_restricted_shell() {
            self.restricted = self.restricted.max(1);
        }
        if !self.protocol.tells_names && self.all.xymodem().variant == Variant::XmodemCrc {
            self.protocol = Protocol::named("xmodem-crc");
        }
        if self.all.command.is_some() {
            return self.complete_command();
        }
        match (self.direction, self.files.len(), !self.protocol.tells_names) {
            (Direction::Send, 0, _) => Err("expected at least one file to send".to_owned())?,
            (Direction::Send, 2.., true) => {
                Err("expected one file with XMODEM, got several".to_owned())?;
            }
            (Direction::Receive, 1.., false) => {
                Err("expected no name: the sender sends the names".to_owned())?;
            }
            (Direction::Receive, count, true) if count != 1 => {
                Err("expected the name of the file, which XMODEM does not send".to_owned())?;
            }
            _ => {}
        }
        if self.direction == Direction::Receive && self.restricted > 0 {
            self.receive.paths = PathRule::LastOnly;
            self.filter.no_hidden = true;
            self.filter.no_directories = true;
            if self.all.zmodem().commands == Commands::Run {
                self.all.zmodem_mut().commands = Commands::Refuse;
                self.notes.push("commands from the peer are refused: -R is on");
            }
        }
        // XMODEM and YMODEM cannot announce text: their sender converts.
        self.filter.expand =
            self.send.kind == FileKind::Text && self.protocol.is::<xymodem::Config>();
        Ok(())
    }

    /// The same where a command is sent.
    fn complete_command(&mut self) -> Result<(), Stop> {
        if !self.protocol.is::<zmodem::Config>() {
            Err("expected ZMODEM with --command: no other protocol here has commands".to_owned())?;
        }
        if !self.files.is_empty() {
            Err("expected no files with --command".to_owned())?;
        }
        self.all.zmodem_mut().retries = self.command_tries;
        Ok(())
    }

    /// Runs the transfer.
    pub(super) fn run(mut self, ui: &Output, common: &Common) -> Result<Ending, Ending> {
        let speaks = match (self.direction, self.protocol.is::<zmodem::Config>()) {
            (Direction::Send, true) if self.all.command.is_none() => Speaks::ZmodemOrYmodem,
            (Direction::Receive, true) => Speaks::ZmodemThenYmodem,
            _ => Speaks::One(self.protocol),
        };
        let file_store = match self.direction {
            Direction::Send => self.outgoing(ui)?,
            Direction::Receive => self.incoming()?,
        };
        let unnamed = self.receive.name.clone().unwrap_or_default();
        let job = Job {
            ui,
            common,
            direction: self.direction,
            speaks,
            all: self.all,
            spec: self.line,
            file_store,
            filter: self.filter,
            limits: self.limits,
            unnamed,
            explain: false,
            pcap: None,
            looks_out: false,
        };
        let mut ending = job.run()?;
        if self.outside > 0 {
            ending.tally.unread += self.outside;
            if ending.exit == Exit::Done {
                ending.exit = Exit::Skipped;
            }
        }
        Ok(ending)
    }

    /// The files to send.
    fn outgoing(&mut self, ui: &Output) -> Result<FileStore, Ending> {
        let mut sources = Vec::new();
        let mut good = 0;
        for file in std::mem::take(&mut self.files) {
            let path = PathBuf::from(&file);
            if file == "-" && self.line == LineSpec::Stdio {
                sources.push(self.stdin_aside()?);
                good += 1;
                continue;
            }
            if self.restricted > 0 && leads_out(&path) {
                let name = escaped(file.as_encoded_bytes());
                ui.say(
                    Level::Error,
                    &format!("{}: {name}: outside this directory, and -R is on", self.name),
                );
                self.outside += 1;
                continue;
            }
            good += usize::from(readable(&path).is_ok());
            sources.push(match self.wire_name(&path) {
                Some(name) => Source::path(path).named(name),
                None => Source::path(path),
            });
        }
        if good == 0 && self.all.command.is_none() {
            for source in &sources {
                let wetstring_drive::disk::Origin::Path(path) = &source.from else { continue };
                if let Err(say) = readable(path) {
                    ui.say(Level::Error, &format!("{}: {say}", self.name));
                }
            }
            // The peer must not wait for a transfer that never starts.
            if self.line == LineSpec::Stdio {
                use std::io::Write as _;
                let _ = std::io::stdout().write_all(CANCEL);
            }
            return Err(Ending::early(Exit::Store, "no file can be sent"));
        }
        Ok(FileStore::Disk(Box::new(outbox(ui, sources, self.send.clone()))))
    }

    /// Stdin as the file: the terminal becomes the input of the line.
    fn stdin_aside(&mut self) -> Result<Source, Ending> {
        let failed = |what: &str, e: &dyn std::fmt::Display| {
            Ending::early(Exit::Line, format!("could not {what}: {}", in_words(&e)))
        };
        let (file, path) = files::stdin_aside().map_err(|e| {
            failed("receive from the peer, as stdin is the file and there is no terminal", &e)
        })?;
        self.aside.push(file);
        Ok(Source::path(path).named(stdin_name()))
    }

    /// The name on the wire, if it is not the last part of the path.
    fn wire_name(&self, path: &Path) -> Option<Vec<u8>> {
        if !self.full_path {
            return None;
        }
        let mut name = path.as_os_str().as_encoded_bytes().to_vec();
        if self.dot_to_slash {
            for byte in name.iter_mut().filter(|byte| **byte == b'.') {
                *byte = b'/';
            }
        }
        Some(name)
    }

    /// Where to receive into.
    fn incoming(&mut self) -> Result<FileStore, Ending> {
        if self.discard {
            return Ok(FileStore::Nowhere(wetstring_drive::SinkStore::new(std::io::sink())));
        }
        let mut directory = PathBuf::from(".");
        if !self.protocol.tells_names {
            // The user's own path, not the peer's: it may lead anywhere.
            let path = PathBuf::from(self.files.first().cloned().unwrap_or_default());
            let name = path.file_name().ok_or_else(|| {
                Ending::early(Exit::Usage, "expected the name of a file".to_owned())
            })?;
            self.receive.name = Some(name.to_owned().into_encoded_bytes());
            if let Some(parent) = path.parent().filter(|parent| *parent != Path::new("")) {
                parent.clone_into(&mut directory);
            }
            if self.receive.collision == Collision::Reject && !self.forgiving {
                // The user typed the name, so it is intended; but nothing is lost: an existing
                // file is renamed, unless it is empty.
                let empty = std::fs::metadata(&path).is_ok_and(|found| found.len() == 0);
                self.receive.collision = if empty { Collision::Replace } else { Collision::Backup };
                self.receive.numbering = Numbering::Tildes;
            }
        }
        let disk = DiskStore::receiving(&directory, self.receive.clone()).map_err(|e| {
            let name = shown(directory.as_os_str());
            Ending::early(Exit::Store, format!("could not receive into {name}: {}", in_words(&e)))
        })?;
        Ok(FileStore::Disk(Box::new(disk)))
    }
}

/// The name for data from stdin.
fn stdin_name() -> Vec<u8> {
    let told = std::env::var_os("ONAME").filter(|name| !name.is_empty());
    told.map_or_else(
        || format!("s{}.sz", std::process::id()).into_bytes(),
        OsString::into_encoded_bytes,
    )
}

/// Whether a path leaves this directory.
fn leads_out(path: &Path) -> bool {
    path.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Whether the user's shell is a restricted one.
fn has_restricted_shell() -> bool {
    std::env::var("SHELL").is_ok_and(|shell| {
        ["rsh", "rksh", "rbash"].iter().any(|restricted| shell.contains(restricted))
    })
}
