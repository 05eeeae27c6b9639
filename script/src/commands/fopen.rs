//! FOPEN, FREAD, FWRITE, FSEEK, FCLOSE and the other channel commands; FILE OPEN is FOPEN.

use crate::channels::{EOF, NOT_FOR_THIS, NOT_OPEN, error_text};
use crate::fields::Fields;
use crate::interp::Interp;
use crate::keywords::{Found, word_of};
use crate::pattern;
use crate::text::{lossy, trim, trim_end, ungroup};
use crate::trouble::{Flow, Trouble};
use crate::world::{Mode, Screen};

/// A switch with its value: `/size:10`.
type Switch = (&'static str, Vec<u8>);

impl Interp<'_> {
    pub(crate) fn file_command(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let all = [
            "close", "count", "flush", "list", "open", "read", "rewind", "seek", "status", "write",
        ];
        let word = fields.field().map(|word| word.text).unwrap_or_default();
        match word_of(&all, word) {
            Found::One("close") => self.fclose(fields),
            Found::One("count") => self.fcount(fields),
            Found::One("flush") => self.fflush(fields),
            Found::One("list") => self.flist(),
            Found::One("open") => self.fopen(fields),
            Found::One("read") => self.fread(fields),
            Found::One("rewind") => self.frewind(fields),
            Found::One("seek") => self.fseek(fields),
            Found::One("status") => self.fstatus(fields),
            Found::One("write") => self.fwrite(fields),
            _ => {
                let say = format!("expected one of {}, got {}", all.join(", "), lossy(word));
                Err(Trouble::new(say))
            }
        }
    }

    fn switches(
        &mut self,
        fields: &mut Fields<'_>,
        all: &[&'static str],
    ) -> Result<Vec<Switch>, Trouble> {
        let mut found = Vec::new();
        while let Some(word) = fields.peek().filter(|w| !w.grouped && w.text.starts_with(b"/")) {
            let at = word.text.iter().position(|b| *b == b':').unwrap_or(word.text.len());
            match word_of(all, &word.text[..at]) {
                Found::One(name) => {
                    let mut value = word.text.get(at + 1..).unwrap_or_default();
                    if value.starts_with(b"{") {
                        // It may contain blanks.
                        fields.skip(at + 1);
                        value = fields.field().map(|word| word.text).unwrap_or_default();
                    } else {
                        fields.field();
                    }
                    found.push((name, self.expand(ungroup(value))?));
                }
                _ if word.text[1..].contains(&b'/') => break,
                _ => {
                    let say =
                        format!("expected one of {}, got {}", all.join(" "), lossy(word.text));
                    return Err(Trouble::new(say));
                }
            }
        }
        Ok(found)
    }

    pub(crate) fn fopen(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let switches = self.switches(fields, &["/append", "/binary", "/read", "/write"])?;
        let is = |name: &str| switches.iter().any(|(switch, _)| *switch == name);
        let mut mode = Mode { read: is("/read"), write: is("/write"), append: is("/append") };
        if mode == Mode::default() {
            mode.read = true;
        }
        let missing = || Trouble::new("expected a variable and the name of a file, got nothing");
        let variable = fields.field().ok_or_else(missing)?.text;
        let key = self.key(variable)?;
        let name = fields.field().ok_or_else(missing)?.text;
        let name = self.expand(name)?;
        match self.stream(&name, mode) {
            Ok(stream) => {
                let number = self.channels.keep(stream)?;
                self.channels.error = 0;
                self.set_number(&key, number)?;
                self.status = 0;
                Ok(Flow::Next)
            }
            Err(trouble) => {
                self.channels.error = crate::channels::FAILED;
                self.assign(&key, Some(b"-1"))?;
                Err(trouble)
            }
        }
    }

    /// A channel number.
    fn channel(&mut self, fields: &mut Fields<'_>) -> Result<i64, Trouble> {
        let missing = || Trouble::new("expected a channel, got nothing");
        let word = fields.field().ok_or_else(missing)?.text;
        self.evaluated_number(word)
    }

    fn channel_failed(&mut self, number: i64, error: i64) -> Trouble {
        self.channels.error = error;
        Trouble::new(format!("channel {number}: {}", error_text(error).to_lowercase()))
    }

    pub(crate) fn fclose(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let all = fields.peek().is_some_and(|word| word.text.eq_ignore_ascii_case(b"all"));
        let numbers = if all { self.channels.numbers() } else { vec![self.channel(fields)?] };
        for number in numbers {
            match self.channels.remove(number) {
                Some(stream) => drop(stream.close()?),
                None => return Err(self.channel_failed(number, NOT_OPEN)),
            }
        }
        self.channels.error = 0;
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn fread(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let all =
            ["/character", "/line", "/lpad", "/quiet", "/rpad", "/size", "/trim", "/untabify"];
        let switches = self.switches(fields, &all)?;
        let find = |name: &str| switches.iter().find(|(switch, _)| *switch == name);
        let number = self.channel(fields)?;
        let variable = fields.field().map(|word| word.text);
        let key = variable.map(|name| self.key(name)).transpose()?;
        let count = match find("/size") {
            Some((_, size)) => Some(self.number(size)?),
            None => find("/character").map(|_| 1),
        };
        let most = self.limits.value;
        let Some(stream) = self.channels.numbered(number) else {
            return Err(self.channel_failed(number, NOT_OPEN));
        };
        if !stream.mode.read {
            return Err(self.channel_failed(number, NOT_FOR_THIS));
        }
        let got = match count {
            Some(count) => {
                let count = usize::try_from(count).unwrap_or(0).min(most);
                Some(stream.bytes(count)?).filter(|bytes| !bytes.is_empty())
            }
            None => stream.line(most)?,
        };
        self.status = i64::from(got.is_none());
        if got.is_none() {
            self.channels.error = EOF;
        }
        let mut got = got.unwrap_or_default();
        if find("/trim").is_some() {
            got = trim_end(&got).to_vec();
        }
        match key {
            Some(key) => self.assign(&key, Some(&got))?,
            None => self.world.say(Screen::Output, &[&got[..], b"\n"].concat()),
        }
        Ok(Flow::Next)
    }

    pub(crate) fn fwrite(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let all = ["/character", "/line", "/lpad", "/quiet", "/rpad", "/size", "/string"];
        let switches = self.switches(fields, &all)?;
        let find = |name: &str| switches.iter().find(|(switch, _)| *switch == name);
        let number = self.channel(fields)?;
        let mut text = self.expand(ungroup(fields.rest()))?;
        if let Some((_, size)) = find("/size") {
            let size = usize::try_from(self.number(size)?).unwrap_or(0);
            self.check_len(size)?;
            let pad = |name: &str| find(name).map(|(_, c)| c.first().copied().unwrap_or(b' '));
            if text.len() < size {
                let missing = size - text.len();
                match pad("/lpad") {
                    Some(byte) => drop(text.splice(0..0, std::iter::repeat_n(byte, missing))),
                    None => text.resize(size, pad("/rpad").unwrap_or(b' ')),
                }
            }
            text.truncate(size);
        } else if find("/character").is_some() {
            text.truncate(1);
        } else if find("/string").is_none() {
            text.push(b'\n');
        }
        let Some(stream) = self.channels.numbered(number) else {
            return Err(self.channel_failed(number, NOT_OPEN));
        };
        if !stream.mode.write && !stream.mode.append {
            return Err(self.channel_failed(number, NOT_FOR_THIS));
        }
        stream.write(&text)?;
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn fseek(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let switches =
            self.switches(fields, &["/absolute", "/byte", "/find", "/line", "/relative"])?;
        let is = |name: &str| switches.iter().any(|(switch, _)| *switch == name);
        let find = switches.iter().find(|(switch, _)| *switch == "/find").map(|(_, text)| text);
        if find.is_some_and(Vec::is_empty) {
            return Err(Trouble::new("This switch requires an argument: /FIND"));
        }
        let number = self.channel(fields)?;
        let target = self.expand(ungroup(fields.rest()))?;
        let target = trim(&target).to_vec();
        let most = self.limits.value;
        let signed = target.starts_with(b"+") || target.starts_with(b"-");
        let relative = is("/relative") || (signed && !is("/absolute"));
        // From the current line, or from one after it.
        let by_line = is("/line") || (find.is_some() && signed && !is("/byte"));
        let last = target.eq_ignore_ascii_case(b"last");
        let to_end = last || target.eq_ignore_ascii_case(b"eof");
        let value = if to_end { 0 } else { self.number(&target)? };
        let Some(name) = self.channels.numbered(number).map(|stream| stream.name.clone()) else {
            return Err(self.channel_failed(number, NOT_OPEN));
        };
        let len = self.world.files().facts(&name, true).map_or(0, |facts| facts.len);
        let Some(stream) = self.channels.numbered(number) else {
            return Err(self.channel_failed(number, NOT_OPEN));
        };
        match (by_line, to_end) {
            // Before the last byte, or after it.
            (false, true) => stream.seek(len.saturating_sub(u64::from(last)))?,
            (false, false) => {
                let base = if relative { stream.offset } else { 0 };
                stream.seek(base.saturating_add_signed(value))?;
            }
            (true, true) => {
                stream.seek_line(u64::MAX, most)?;
                if last {
                    stream.seek_line(stream.lines.saturating_sub(1), most)?;
                }
            }
            (true, false) => {
                let base = if relative { stream.lines } else { 0 };
                stream.seek_line(base.saturating_add_signed(value), most)?;
            }
        }
        self.status = 0;
        find.map_or(Ok(Flow::Next), |pattern| self.find_line(number, pattern))
    }

    /// Seeks to the next line that contains a match of the pattern.
    fn find_line(&mut self, number: i64, pattern: &[u8]) -> Result<Flow, Trouble> {
        let (most, case) = (self.limits.value, self.settings.case);
        loop {
            let Some(stream) = self.channels.numbered(number) else {
                return Err(self.channel_failed(number, NOT_OPEN));
            };
            let (offset, lines) = (stream.offset, stream.lines);
            let Some(line) = stream.line(most)? else {
                self.status = 1;
                self.channels.error = EOF;
                return Ok(Flow::Next);
            };
            if pattern::search(pattern, &line, 0, case).is_some() {
                stream.seek(offset)?;
                stream.lines = lines;
                return Ok(Flow::Next);
            }
        }
    }

    pub(crate) fn frewind(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let number = self.channel(fields)?;
        let Some(stream) = self.channels.numbered(number) else {
            return Err(self.channel_failed(number, NOT_OPEN));
        };
        stream.seek(0)?;
        stream.lines = 0;
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn fflush(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let number = self.channel(fields)?;
        let Some(stream) = self.channels.numbered(number) else {
            return Err(self.channel_failed(number, NOT_OPEN));
        };
        stream.flush()?;
        self.status = 0;
        Ok(Flow::Next)
    }

    /// FCOUNT: the number of bytes or lines of a file.
    pub(crate) fn fcount(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let switches = self.switches(fields, &["/byte", "/line", "/list", "/nolist", "/quiet"])?;
        let is = |name: &str| switches.iter().any(|(switch, _)| *switch == name);
        let number = self.channel(fields)?;
        let variable = fields.field().map(|word| word.text);
        let key = variable.map(|name| self.key(name)).transpose()?;
        let Some(name) = self.channels.numbered(number).map(|stream| stream.name.clone()) else {
            return Err(self.channel_failed(number, NOT_OPEN));
        };
        let count = if is("/line") {
            let mut stream = self.stream(&name, Mode { read: true, ..Mode::default() })?;
            let mut count = 0;
            while stream.line(self.limits.value)?.is_some() {
                count += 1;
            }
            stream.close()?;
            count
        } else {
            let facts = self.world.files().facts(&name, true);
            facts.map_or(0, |facts| i64::try_from(facts.len).unwrap_or(i64::MAX))
        };
        match key {
            Some(key) => self.set_number(&key, count)?,
            None => self.world.say(Screen::Output, format!(" {count}\n").as_bytes()),
        }
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn fstatus(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let number = self.channel(fields)?;
        let text = match self.channels.numbered(number) {
            Some(stream) => format!("{number}. {} at {}\n", lossy(&stream.name), stream.offset),
            None => format!("{number}. not open\n"),
        };
        self.world.say(Screen::Output, text.as_bytes());
        self.status = 0;
        Ok(Flow::Next)
    }

    fn flist(&mut self) -> Result<Flow, Trouble> {
        for number in self.channels.numbers() {
            let digits = number.to_string();
            let mut fields = Fields::new(digits.as_bytes());
            self.fstatus(&mut fields)?;
        }
        self.status = 0;
        Ok(Flow::Next)
    }
}
