//! OPEN, READ, WRITE, CLOSE, and the commands that change the file system.

use crate::channels::Stream;
use crate::fields::Fields;
use crate::interp::Interp;
use crate::keywords::{Found, word_of};
use crate::pattern::matches;
use crate::text::{lossy, trim, ungroup};
use crate::trouble::{Flow, Trouble};
use crate::world::{Kind, Mode, Screen};

/// Maximum depth of a recursive search.
const DEPTH: usize = 64;
/// Maximum names of one pattern.
const MOST_NAMES: usize = 1_000_000;

impl Interp<'_> {
    fn name(&mut self, fields: &mut Fields<'_>) -> Result<Vec<u8>, Trouble> {
        let missing = || Trouble::new("expected the name of a file, got nothing");
        let word = fields.field().ok_or_else(missing)?;
        let name = self.expand(word.text)?;
        if name.is_empty() { Err(missing()) } else { Ok(name) }
    }

    pub(crate) fn open(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let missing = || Trouble::new("expected READ, WRITE or APPEND, got nothing");
        let how = fields.field().ok_or_else(missing)?.text;
        let all = ["!read", "!write", "append", "host", "line", "port", "read", "write"];
        let Found::One(how) = word_of(&all, how) else {
            let say = format!("expected READ, WRITE or APPEND, got {}", lossy(how));
            return Err(Trouble::new(say));
        };
        match how {
            "host" => return self.set_host(fields),
            "line" | "port" => return self.set_line(fields),
            _ => {}
        }
        let reads = how.ends_with("read");
        let other = if reads { &self.channels.reading } else { &self.channels.writing };
        if let Some(other) = other {
            let say = format!("{} is already open; CLOSE it first", lossy(&other.name));
            return Err(Trouble::new(say));
        }
        let mode = Mode { read: reads, write: how == "write", append: how == "append" };
        let stream = if how.starts_with('!') {
            let command = self.expand(ungroup(fields.rest()))?;
            Stream::new(self.world.pipe(&command, !reads)?, mode, command)
        } else {
            let name = self.name(fields)?;
            self.stream(&name, mode)?
        };
        if reads {
            self.channels.reading = Some(stream);
        } else {
            self.channels.writing = Some(stream);
        }
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn read(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let missing = || Trouble::new("expected a variable for the line, got nothing");
        let word = fields.field().ok_or_else(missing)?.text;
        let key = self.key(word)?;
        let most = self.limits.value;
        let closed = || Trouble::new("no file is open for reading");
        let line = self.channels.reading.as_mut().ok_or_else(closed)?.line(most)?;
        self.status = i64::from(line.is_none());
        self.assign(&key, line.as_deref())?;
        if line.is_none()
            && let Some(stream) = self.channels.reading.take()
        {
            stream.close()?;
        }
        Ok(Flow::Next)
    }

    pub(crate) fn write(
        &mut self,
        fields: &mut Fields<'_>,
        ends_line: bool,
    ) -> Result<Flow, Trouble> {
        let missing = || Trouble::new("expected a destination, got nothing");
        let to = fields.field().ok_or_else(missing)?.text;
        let all = [
            "debug-log",
            "error",
            "file",
            "packet-log",
            "screen",
            "session-log",
            "sys$output",
            "syslog",
            "transaction-log",
        ];
        let mut text = self.expand(ungroup(fields.rest()))?;
        if ends_line {
            text.push(b'\n');
        }
        self.status = 0;
        match word_of(&all, to) {
            Found::One("file") => {
                let closed = || Trouble::new("no file is open for writing");
                self.channels.writing.as_mut().ok_or_else(closed)?.write(&text)?;
            }
            Found::One("screen" | "sys$output") => self.world.say(Screen::Output, &text),
            Found::One("error") => self.world.say(Screen::Error, &text),
            Found::One(log) => {
                let say = || Trouble::new(format!("no {log} is open"));
                let name = self.kept.get(&format!("log.{log}")).cloned().ok_or_else(say)?;
                let mode = Mode { append: true, ..Mode::default() };
                let mut stream = self.stream(&name, mode)?;
                stream.write(&text)?;
                stream.close()?;
            }
            _ => {
                let say = format!("expected one of {}, got {}", all.join(", "), lossy(to));
                return Err(Trouble::new(say));
            }
        }
        Ok(Flow::Next)
    }

    pub(crate) fn close(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let what = fields.field().map(|word| word.text).unwrap_or_default();
        let all = [
            "append-file",
            "connection",
            "cx-log",
            "debug-log",
            "file",
            "host",
            "line",
            "packet-log",
            "port",
            "read-file",
            "session-log",
            "transaction-log",
            "write-file",
        ];
        self.status = 0;
        let stream = match word_of(&all, what) {
            Found::One("connection" | "host" | "line" | "port") => return self.hang_up(),
            Found::One("read-file") => self.channels.reading.take(),
            Found::One("append-file" | "write-file" | "file") => self.channels.writing.take(),
            Found::One(log) => return self.close_log(log),
            Found::None if what.is_empty() => return self.hang_up(),
            _ => {
                let say = format!("expected one of {}, got {}", all.join(", "), lossy(what));
                return Err(Trouble::new(say));
            }
        };
        if let Some(stream) = stream
            && let Some(status) = stream.close()?
        {
            self.shell_status = status;
            self.status = i64::from(status != 0);
        }
        Ok(Flow::Next)
    }

    pub(crate) fn change_directory(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let to = self.expand(ungroup(fields.rest()))?;
        let to = if to.is_empty() { b"~".to_vec() } else { to };
        let say = |fault| Trouble::new(format!("could not change to {}: {fault}", lossy(&to)));
        self.world.files().change_directory(&to).map_err(say)?;
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn print_directory(&mut self) -> Result<Flow, Trouble> {
        let mut name = self.world.files().directory();
        name.push(b'\n');
        self.world.say(Screen::Output, &name);
        self.status = 0;
        Ok(Flow::Next)
    }

    /// Switches of file commands, for verbosity; only errors are reported here.
    fn skip_switches(fields: &mut Fields<'_>) {
        while fields.peek().is_some_and(|w| !w.grouped && w.text.len() > 1 && w.text[0] == b'/') {
            let word = fields.peek().map(|w| w.text).unwrap_or_default();
            // An absolute name begins with a slash too, but contains another or is no switch.
            if word[1..].contains(&b'/') || !word[1..].iter().all(u8::is_ascii_alphabetic) {
                break;
            }
            fields.field();
        }
    }

    /// RENAME and COPY.
    pub(crate) fn two_names(
        &mut self,
        fields: &mut Fields<'_>,
        rename: bool,
    ) -> Result<Flow, Trouble> {
        Self::skip_switches(fields);
        let (from, to) = (self.name(fields)?, self.name(fields)?);
        let facts = self.world.files().facts(&to, true);
        let into = facts.is_some_and(|facts| facts.kind == Kind::Directory);
        let to = if into { [&to[..], b"/", last_part(&from)].concat() } else { to };
        let done = if rename {
            self.world.files().rename(&from, &to)
        } else {
            self.world.files().copy(&from, &to)
        };
        let verb = if rename { "rename" } else { "copy" };
        done.map_err(|fault| {
            let (from, to) = (lossy(&from), lossy(&to));
            Trouble::new(format!("could not {verb} {from} to {to}: {fault}"))
        })?;
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn delete(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        Self::skip_switches(fields);
        let mut count = 0;
        let first = self.name(fields)?;
        let mut patterns = vec![first];
        while !fields.is_over() {
            patterns.push(self.name(fields)?);
        }
        for pattern in &patterns {
            for name in self.matching(pattern, false)? {
                let say =
                    |fault| Trouble::new(format!("could not delete {}: {fault}", lossy(&name)));
                self.world.files().delete(&name).map_err(say)?;
                count += 1;
            }
        }
        if count == 0 {
            return Err(Trouble::new(format!("no such file: {}", lossy(&patterns[0]))));
        }
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn one_directory(
        &mut self,
        fields: &mut Fields<'_>,
        make: bool,
    ) -> Result<Flow, Trouble> {
        let name = self.name(fields)?;
        let files = self.world.files();
        let done = if make { files.make_directory(&name) } else { files.remove_directory(&name) };
        let verb = if make { "make" } else { "remove" };
        done.map_err(|fault| {
            Trouble::new(format!("could not {verb} the directory {}: {fault}", lossy(&name)))
        })?;
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn type_file(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        Self::skip_switches(fields);
        let name = self.name(fields)?;
        let mut stream = self.stream(&name, Mode { read: true, ..Mode::default() })?;
        loop {
            let part = stream.bytes(8192)?;
            if part.is_empty() {
                break;
            }
            self.world.say(Screen::Output, &part);
            if self.world.interrupted() {
                return Err(Trouble::fatal("interrupted"));
            }
        }
        stream.close()?;
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn touch(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let name = self.name(fields)?;
        self.stream(&name, Mode { append: true, ..Mode::default() })?.close()?;
        self.status = 0;
        Ok(Flow::Next)
    }

    /// The files of a name or a pattern, sorted; `recursive` searches subdirectories too.
    pub(crate) fn matching(
        &mut self,
        pattern: &[u8],
        recursive: bool,
    ) -> Result<Vec<Vec<u8>>, Trouble> {
        let mut names = if recursive { self.below(pattern)? } else { self.everything(pattern)? };
        names.retain(|name| {
            let facts = self.world.files().facts(name, true);
            facts.is_some_and(|facts| facts.kind != Kind::Directory)
        });
        Ok(names)
    }

    /// The directories of a name or a pattern.
    pub(crate) fn matching_directories(
        &mut self,
        pattern: &[u8],
        recursive: bool,
    ) -> Result<Vec<Vec<u8>>, Trouble> {
        let mut names = if recursive { self.below(pattern)? } else { self.everything(pattern)? };
        names.retain(|name| {
            let facts = self.world.files().facts(name, true);
            facts.is_some_and(|facts| facts.kind == Kind::Directory)
        });
        Ok(names)
    }

    /// All matches of a pattern, sorted. Patterns may be in every component of a path.
    pub(crate) fn everything(&mut self, pattern: &[u8]) -> Result<Vec<Vec<u8>>, Trouble> {
        if self.world.files().facts(pattern, false).is_some() {
            return Ok(vec![pattern.to_vec()]);
        }
        if !self.is_on("wildcard-expansion", true) {
            return Ok(Vec::new());
        }
        let dots = self.is_on("match dotfile", false);
        let mut found: Vec<Vec<u8>> = vec![Vec::new()];
        for (index, part) in pattern.split(|b| *b == b'/').enumerate() {
            if index > DEPTH {
                return Ok(Vec::new());
            }
            let wild = part.iter().any(|b| matches!(b, b'*' | b'?' | b'[' | b'{'));
            let mut next = Vec::new();
            for folder in &found {
                let glue: &[u8] = if index == 0 { b"" } else { b"/" };
                if !wild {
                    next.push([folder, glue, part].concat());
                    continue;
                }
                let place: &[u8] = if index == 0 { b"." } else { folder };
                let place = if place.is_empty() { b"/" } else { place };
                let Ok(names) = self.world.files().list(place) else { continue };
                for name in names {
                    let hidden = !dots && name.starts_with(b".") && !part.starts_with(b".");
                    if !hidden && matches(part, &name, true) {
                        next.push([folder, glue, &name].concat());
                    }
                }
                if next.len() > MOST_NAMES {
                    return Err(Trouble::new(format!("more than {MOST_NAMES} files match")));
                }
            }
            found = next;
        }
        found.retain(|name| self.world.files().facts(name, false).is_some());
        found.sort();
        Ok(found)
    }

    /// All files whose last component matches that of the pattern, in the pattern's directory and below;
    /// everything below it where the pattern is a directory.
    pub(crate) fn below(&mut self, pattern: &[u8]) -> Result<Vec<Vec<u8>>, Trouble> {
        let facts = self.world.files().facts(pattern, true);
        let whole = facts.is_some_and(|facts| facts.kind == Kind::Directory);
        let dots = whole || self.is_on("match dotfile", false);
        let last = if whole { b"*".to_vec() } else { last_part(pattern).to_vec() };
        let folder = match pattern {
            b"." | b"./" if whole => Vec::new(),
            _ if whole => [pattern.strip_suffix(b"/").unwrap_or(pattern), b"/"].concat(),
            _ => pattern[..pattern.len() - last.len()].to_vec(),
        };
        let mut found = Vec::new();
        let mut open: Vec<(Vec<u8>, usize)> = vec![(folder, 0)];
        while let Some((folder, depth)) = open.pop() {
            let place: &[u8] = if folder.is_empty() { b"." } else { &folder };
            let Ok(names) = self.world.files().list(place) else { continue };
            for name in names {
                let path = [&folder[..], &name].concat();
                let hidden = !dots && name.starts_with(b".") && !last.starts_with(b".");
                let facts = self.world.files().facts(&path, false);
                let is_directory = facts.is_some_and(|facts| facts.kind == Kind::Directory);
                if is_directory && !hidden && depth < DEPTH {
                    open.push(([&path[..], b"/"].concat(), depth + 1));
                }
                if !hidden && matches(&last, &name, true) {
                    found.push(path);
                }
            }
            if found.len() > MOST_NAMES || open.len() > MOST_NAMES {
                return Err(Trouble::new(format!("more than {MOST_NAMES} files match")));
            }
        }
        found.sort();
        Ok(found)
    }

    pub(crate) fn clear(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let what = fields.field().map_or(&b"both"[..], |word| word.text);
        let all = [
            "alarm",
            "both",
            "device-and-input",
            "device-buffer",
            "input-buffer",
            "keyboard-buffer",
            "screen",
            "send-list",
        ];
        let Found::One(what) = word_of(&all, trim(what)) else {
            let say = format!("expected one of {}, got {}", all.join(", "), lossy(what));
            return Err(Trouble::new(say));
        };
        if matches!(what, "both" | "device-and-input" | "input-buffer") {
            self.received = crate::received::Received::default();
        }
        if matches!(what, "both" | "device-and-input" | "device-buffer") {
            // Pending input, at most a megabyte.
            for _ in 0..1_000_000 {
                let heard = self.world.hear(std::time::Duration::ZERO);
                if !matches!(heard, crate::world::Heard::Byte(_)) {
                    break;
                }
            }
        }
        match what {
            "alarm" => self.settings.alarm_ns = None,
            "screen" => self.world.say(Screen::Output, b"\x1b[H\x1b[2J"),
            _ => {}
        }
        self.status = 0;
        Ok(Flow::Next)
    }
}

/// The part after the last slash.
pub(crate) fn last_part(name: &[u8]) -> &[u8] {
    let slash = name.iter().rposition(|b| *b == b'/');
    &name[slash.map_or(0, |at| at + 1)..]
}

/// In the format of `ls -l`.
pub(crate) fn permissions(kind: Kind, mode: u32) -> String {
    let mut text = String::from(match kind {
        Kind::Directory => "d",
        Kind::Link => "l",
        _ => "-",
    });
    for shift in [6, 3, 0] {
        for (bit, letter) in [(4, 'r'), (2, 'w'), (1, 'x')] {
            text.push(if mode >> shift & bit == 0 { '-' } else { letter });
        }
    }
    text
}
