//! File and shell functions.

use super::{Arguments, FunctionError, Given, digits};
use crate::channels::{EOF, NOT_FOR_THIS, NOT_OPEN, error_text};
use crate::interp::Interp;
use crate::text::{integer, trim_end};
use crate::world::{Facts, Kind, Mode};

impl Interp<'_> {
    pub(super) fn disk_function(&mut self, name: &str, a: &Arguments) -> Option<Given> {
        if let Some(name) = name.strip_prefix('_') {
            return Some(self.channel_function(name, a));
        }
        Some(match name {
            "size" => self.facts(a).and_then(|facts| digits(facts.len)),
            "date" => self.file_date(a),
            "permissions" => self
                .facts(a)
                .map(|facts| crate::commands::permissions(facts.kind, facts.mode).into_bytes()),
            "pathname" => Ok(self.path_name(a.text(0))),
            "basename" => Ok(base_name(a)),
            "dirname" => Ok(dir_name(a.text(0))),
            "files" | "rfiles" | "directories" | "rdirectories" => self.names(name, a),
            "nextfile" => {
                let next = (!self.found.is_empty()).then(|| self.found.remove(0));
                Ok(next.unwrap_or_default())
            }
            "fileinfo" => self.file_info(a),
            "filecompare" => self.file_compare(a),
            "recurse" => Ok(a.text(0).to_vec()),
            "command" | "rawcommand" => self.shell(a, name == "command"),
            "dos2unixpath" => Ok(replaced(a.text(0), b'\\', b'/')),
            "unix2dospath" => Ok(replaced(a.text(0), b'/', b'\\')),
            "cmdstack" => self.stack(a),
            _ => return None,
        })
    }

    fn facts(&mut self, a: &Arguments) -> Result<Facts, FunctionError> {
        let name = a.needed(0)?;
        self.world.files().facts(name, true).ok_or(FunctionError::FileNotFound)
    }

    fn file_date(&mut self, a: &Arguments) -> Given {
        let facts = self.facts(a)?;
        let offset = self.world.offset_at(facts.modified_s);
        let stamp = crate::calendar::Stamp::of_local(facts.modified_s + i64::from(offset));
        Ok(stamp.full().into_bytes())
    }

    /// The absolute name.
    fn path_name(&mut self, name: &[u8]) -> Vec<u8> {
        let mut path =
            if name.starts_with(b"/") { Vec::new() } else { self.world.files().directory() };
        for part in name.split(|b| *b == b'/') {
            match part {
                b"" | b"." => {}
                b".." => {
                    let slash = path.iter().rposition(|b| *b == b'/');
                    path.truncate(slash.unwrap_or(0));
                }
                part => {
                    if !path.ends_with(b"/") {
                        path.push(b'/');
                    }
                    path.extend_from_slice(part);
                }
            }
        }
        let facts = self.world.files().facts(&path, true);
        let folder = facts.is_some_and(|facts| facts.kind == Kind::Directory);
        if path.is_empty() || (folder && !path.ends_with(b"/")) {
            path.push(b'/');
        }
        path
    }

    /// `files(pattern,&a)`: returns the number; the names go into the array, or to nextfile().
    fn names(&mut self, name: &str, a: &Arguments) -> Given {
        let pattern = a.needed(0)?;
        let recursive = name.starts_with('r');
        let found = if name.ends_with("files") {
            self.matching(pattern, recursive)
        } else {
            self.matching_directories(pattern, recursive)
        };
        let found = found.map_err(|_| FunctionError::TooManyFiles)?;
        if !a.is_missing(1) {
            return self.fill_array(a.text(1), found);
        }
        self.found = found;
        digits(self.found.len())
    }

    /// Stores name, directory, size, date, permissions, kind in an array; returns how many.
    fn file_info(&mut self, a: &Arguments) -> Given {
        let facts = self.facts(a)?;
        let whole = self.path_name(a.text(0));
        let date = self.file_date(a)?;
        let kind = match facts.kind {
            Kind::File => ("regular", 0o100_000),
            Kind::Directory => ("directory", 0o040_000),
            Kind::Link => ("link", 0o120_000),
            Kind::Other => ("other", 0),
        };
        let (kind, bits) = kind;
        let mode = crate::commands::permissions(facts.kind, facts.mode).into_bytes();
        let fields = vec![
            crate::commands::last_part(&whole).to_vec(),
            dir_name(&whole),
            date,
            mode,
            format!("{:o}", facts.mode | bits).into_bytes(),
            facts.len.to_string().into_bytes(),
            kind.as_bytes().to_vec(),
            Vec::new(),
            Vec::new(),
        ];
        self.fill_array(a.needed(1)?, fields)
    }

    /// 0 if they have the same bytes, 1 if not.
    fn file_compare(&mut self, a: &Arguments) -> Given {
        let mode = Mode { read: true, ..Mode::default() };
        let (one, two) = (a.needed(0)?, a.needed(1)?);
        let (Ok(mut one), Ok(mut two)) = (self.stream(one, mode), self.stream(two, mode)) else {
            return Err(FunctionError::FileNotReadable);
        };
        loop {
            let parts = (one.bytes(65_536), two.bytes(65_536));
            let (Ok(x), Ok(y)) = parts else { return Err(FunctionError::FileNotReadable) };
            if x != y {
                return digits(1);
            }
            if x.is_empty() {
                return digits(0);
            }
        }
    }

    fn shell(&mut self, a: &Arguments, trimmed: bool) -> Given {
        let command = a.needed(0)?.to_vec();
        let ran = self.world.run(&command, true).map_err(|_| FunctionError::CommandFailed)?;
        self.shell_status = ran.status;
        if ran.output.len() > self.limits.value {
            return Err(FunctionError::TooLong);
        }
        Ok(if trimmed { trim_end(&ran.output).to_vec() } else { ran.output })
    }

    fn stack(&mut self, a: &Arguments) -> Given {
        let by = self.argument(a, 0, Some(0))?;
        let index = (self.levels.len() as i64 - 1).checked_sub(by).unwrap_or(-1);
        let level = usize::try_from(index).ok().and_then(|index| self.levels.get(index));
        Ok(match level {
            Some(level) => match &level.name {
                Some(name) => name.clone(),
                None if index == 0 => b"(prompt)".to_vec(),
                None => level.file.as_bytes().to_vec(),
            },
            None => Vec::new(),
        })
    }

    fn channel_function(&mut self, name: &str, a: &Arguments) -> Given {
        if name == "errmsg" {
            let error =
                if a.is_missing(0) { Some(self.channels.error) } else { integer(a.text(0)) };
            return Ok(error_text(error.unwrap_or(0)).as_bytes().to_vec());
        }
        let number = self.argument(a, 0, None)?;
        let most = self.limits.value;
        if name == "status" {
            self.channels.numbered(number);
            return digits(self.channels.error);
        }
        let Some(stream) = self.channels.numbered(number) else {
            self.channels.error = NOT_OPEN;
            return if name == "eof" { digits(1) } else { Err(FunctionError::FileNotOpen) };
        };
        let reads = name.starts_with("get");
        let writes = name.starts_with("put");
        if (reads && !stream.mode.read) || (writes && !stream.mode.write && !stream.mode.append) {
            self.channels.error = NOT_FOR_THIS;
            return Err(FunctionError::FileNotOpen);
        }
        let size = a.text(1);
        let got = match name {
            "eof" => return digits(i32::from(stream.eof)),
            "pos" => return digits(stream.offset),
            "line" => return digits(stream.lines),
            "handle" => return digits(number),
            "getline" => stream.line(most).map_err(|_| FunctionError::FileError)?,
            "getchar" => Some(stream.bytes(1).map_err(|_| FunctionError::FileError)?),
            "getblock" => {
                let size = integer(size).and_then(|size| usize::try_from(size).ok());
                Some(
                    stream
                        .bytes(size.unwrap_or(0).min(most))
                        .map_err(|_| FunctionError::FileError)?,
                )
            }
            "putline" => {
                let line = [size, b"\n"].concat();
                stream.write(&line).map_err(|_| FunctionError::FileError)?;
                return digits(line.len());
            }
            "putchar" => {
                stream.write(&size[..size.len().min(1)]).map_err(|_| FunctionError::FileError)?;
                return digits(size.len().min(1));
            }
            _ => {
                stream.write(size).map_err(|_| FunctionError::FileError)?;
                return digits(size.len());
            }
        };
        let got = got.filter(|got| reads && (name == "getline" || !got.is_empty()));
        if got.is_none() {
            self.channels.error = EOF;
        }
        Ok(got.unwrap_or_default())
    }
}

fn replaced(text: &[u8], from: u8, to: u8) -> Vec<u8> {
    text.iter().map(|b| if *b == from { to } else { *b }).collect()
}

fn base_name(a: &Arguments) -> Vec<u8> {
    let last = crate::commands::last_part(a.text(0));
    last.strip_suffix(a.text(1)).filter(|_| !a.text(1).is_empty()).unwrap_or(last).to_vec()
}

/// The directory of a name, with its slash.
fn dir_name(name: &[u8]) -> Vec<u8> {
    let last = crate::commands::last_part(name);
    let folder = &name[..name.len() - last.len()];
    if folder.is_empty() { b"./".to_vec() } else { folder.to_vec() }
}
