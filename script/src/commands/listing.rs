//! DIRECTORY and its switches.

use super::disk::{last_part, permissions};
use crate::fields::Fields;
use crate::interp::Interp;
use crate::keywords::{Found, word_of};
use crate::text::{lossy, ungroup};
use crate::trouble::{Flow, Trouble};
use crate::world::{Facts, Kind, Mode, Screen};

const SWITCHES: &[&str] = &[
    "/all",
    "/array",
    "/ascending",
    "/backupfiles",
    "/brief",
    "/directories",
    "/dotfiles",
    "/english",
    "/files",
    "/followlinks",
    "/heading",
    "/isodate",
    "/nobackupfiles",
    "/nodotfiles",
    "/nofollowlinks",
    "/noheading",
    "/nolinks",
    "/nosort",
    "/output",
    "/page",
    "/nopage",
    "/nosummary",
    "/recursive",
    "/reverse",
    "/sort",
    "/summary",
    "/verbose",
];

/// The values of the switches.
#[derive(Default)]
struct Wanted {
    array: Option<u8>,
    brief: bool,
    /// Only files, or only directories.
    only: Option<Kind>,
    dot_files: bool,
    no_backups: bool,
    no_links: bool,
    recursive: bool,
    sort: Option<&'static str>,
    reverse: bool,
    summary: bool,
    output: Option<Vec<u8>>,
}

impl Interp<'_> {
    fn listing_switches(&mut self, fields: &mut Fields<'_>) -> Result<Wanted, Trouble> {
        let mut wanted = Wanted::default();
        while let Some(word) = fields.peek().filter(|w| !w.grouped && w.text.starts_with(b"/")) {
            let at = word.text.iter().position(|b| *b == b':').unwrap_or(word.text.len());
            let Found::One(name) = word_of(SWITCHES, &word.text[..at]) else {
                // An absolute name begins with a slash too.
                if at == word.text.len() && self.world.files().facts(word.text, true).is_some() {
                    break;
                }
                if word.text[1..].contains(&b'/') {
                    break;
                }
                let say = format!("expected a switch of DIRECTORY, got {}", lossy(word.text));
                return Err(Trouble::new(say));
            };
            let value = word.text.get(at + 1..).unwrap_or_default();
            fields.field();
            match name {
                "/array" => {
                    let letter = value.strip_prefix(b"&").unwrap_or(value).first();
                    let letter = letter.filter(|byte| byte.is_ascii_alphabetic());
                    let say = || Trouble::new("expected an array such as &a for /ARRAY");
                    wanted.array = Some(*letter.ok_or_else(say)?);
                }
                "/brief" => wanted.brief = true,
                "/directories" => wanted.only = Some(Kind::Directory),
                "/files" => wanted.only = Some(Kind::File),
                "/dotfiles" => wanted.dot_files = true,
                "/nobackupfiles" => wanted.no_backups = true,
                "/nolinks" => wanted.no_links = true,
                "/recursive" => wanted.recursive = true,
                "/reverse" => wanted.reverse = true,
                "/summary" => wanted.summary = true,
                "/output" => wanted.output = Some(self.expand(ungroup(value))?),
                "/sort" => {
                    let Found::One(key) = word_of(&["date", "name", "size"], value) else {
                        let got = lossy(value);
                        let say = format!("expected DATE, NAME or SIZE for /SORT, got {got}");
                        return Err(Trouble::new(say));
                    };
                    wanted.sort = Some(key);
                }
                // The default.
                _ => {}
            }
        }
        Ok(wanted)
    }

    /// The names selected by a pattern and the switches, with their attributes, sorted.
    fn listed(
        &mut self,
        pattern: &[u8],
        wanted: &Wanted,
    ) -> Result<Vec<(Vec<u8>, Facts)>, Trouble> {
        let mut names = if wanted.recursive {
            self.below(pattern)?
        } else {
            let mut names = self.everything(pattern)?;
            if wanted.dot_files && last_part(pattern).first() == Some(&b'*') {
                let at = pattern.len() - last_part(pattern).len();
                let hidden = [&pattern[..at], b".", &pattern[at..]].concat();
                names.extend(self.everything(&hidden)?);
            }
            names
        };
        names.retain(|name| !matches!(last_part(name), b"." | b".."));
        let mut all = Vec::with_capacity(names.len());
        for name in names {
            let Some(facts) = self.world.files().facts(&name, false) else { continue };
            let backup = name.ends_with(b"~") && name.windows(2).any(|part| part == b".~");
            let is_directory = facts.kind == Kind::Directory;
            let kind = match wanted.only {
                Some(Kind::Directory) => is_directory,
                Some(_) => !is_directory,
                None => true,
            };
            let link = wanted.no_links && facts.kind == Kind::Link;
            if kind && !link && !(wanted.no_backups && backup) {
                all.push((name, facts));
            }
        }
        match wanted.sort {
            Some("size") => all.sort_by_key(|(_, facts)| facts.len),
            Some("date") => all.sort_by_key(|(_, facts)| facts.modified_s),
            _ => all.sort_by(|a, b| a.0.cmp(&b.0)),
        }
        if wanted.reverse {
            all.reverse();
        }
        Ok(all)
    }

    pub(crate) fn directory(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let wanted = self.listing_switches(fields)?;
        let pattern = self.expand(ungroup(fields.rest()))?;
        let pattern = if pattern.is_empty() { b"*".to_vec() } else { pattern };
        let facts = self.world.files().facts(&pattern, true);
        let inside = facts.is_some_and(|facts| facts.kind == Kind::Directory);
        let glued = inside && !wanted.recursive;
        let pattern = if glued { [&pattern[..], b"/*"].concat() } else { pattern };
        let all = self.listed(&pattern, &wanted)?;
        if all.is_empty() && !inside && pattern != b"*" {
            return Err(Trouble::new(format!("no such file: {}", lossy(&pattern))));
        }
        self.status = 0;
        if let Some(letter) = wanted.array {
            let count = all.len().to_string().into_bytes();
            let names = all.into_iter().map(|(name, _)| Some(name));
            let cells = std::iter::once(Some(count)).chain(names).collect();
            self.variables.fill(letter, cells)?;
            return Ok(Flow::Next);
        }
        let mut text = Vec::new();
        let (count, bytes) = (all.len(), all.iter().map(|(_, facts)| facts.len).sum::<u64>());
        for (name, facts) in all {
            if !wanted.brief {
                text.extend_from_slice(self.row(&facts).as_bytes());
            }
            text.extend_from_slice(&name);
            text.push(b'\n');
        }
        if wanted.summary {
            let files = if count == 1 { "file" } else { "files" };
            text.extend_from_slice(format!("{count} {files}, {bytes} bytes\n").as_bytes());
        }
        match &wanted.output {
            Some(file) => {
                let mut stream = self.stream(file, Mode { write: true, ..Mode::default() })?;
                stream.write(&text)?;
                stream.close()?;
            }
            None => self.world.say(Screen::Output, &text),
        }
        Ok(Flow::Next)
    }

    /// The columns before a name.
    fn row(&mut self, facts: &Facts) -> String {
        let offset = self.world.offset_at(facts.modified_s);
        let stamp = crate::calendar::Stamp::of_local(facts.modified_s + i64::from(offset));
        let mode = permissions(facts.kind, facts.mode);
        let (year, month, day) = (stamp.year, stamp.month, stamp.day);
        let time = stamp.time();
        format!("{mode} {:>10} {year:04}-{month:02}-{day:02} {time} ", facts.len)
    }
}
