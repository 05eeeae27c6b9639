//! SET: settings of the language, rows of the program's table, connections.

use super::settings::{
    Effect, Entry, Takes, entries, holds, is_switch_row, row_value as shown_value, row_words,
};
use crate::fields::Fields;
use crate::interp::Interp;
use crate::keywords::{Found, word_of};
use crate::text::{lossy, ungroup};
use crate::trouble::{Flow, Trouble};
use crate::world::{Connection, Speaks, Task, with_service};
use wetstring_proto::settings::{Range, Setting};

/// First words after SET that belong to the language itself, or open a connection.
pub(super) const OWN: &[&str] = &[
    "alarm",
    "case",
    "command",
    "compatibility",
    "control-character",
    "count",
    "exit",
    "flag",
    "function",
    "host",
    "input",
    "line",
    "macro",
    "network",
    "output",
    "port",
    "protocol",
    "quiet",
    "take",
    "telopt",
    "variable-evaluation",
];

/// Switches of SET HOST.
const SWITCHES: &[&str] = &[
    "/connect",
    "/default",
    "/network-type",
    "/no-telnet-init",
    "/none",
    "/nowait",
    "/password",
    "/pipe",
    "/pty",
    "/raw",
    "/raw-socket",
    "/server",
    "/ssl",
    "/telnet",
    "/timeout",
    "/tls",
    "/userid",
    "/wait",
];

impl Interp<'_> {
    fn keyword_field(&mut self, fields: &mut Fields<'_>, what: &str) -> Result<Vec<u8>, Trouble> {
        let missing = || Trouble::new(format!("expected {what}, got nothing"));
        let word = fields.field().ok_or_else(missing)?;
        self.expand(word.text)
    }

    /// One of these words.
    pub(crate) fn choice<'t>(
        &mut self,
        fields: &mut Fields<'_>,
        all: &[&'t str],
    ) -> Result<&'t str, Trouble> {
        let word = self.keyword_field(fields, &format!("one of {}", all.join(", ")))?;
        match word_of(all, &word) {
            Found::One(found) => Ok(found),
            Found::Several => Err(Trouble::new(format!("ambiguous keyword: {}", lossy(&word)))),
            Found::None => {
                let say = format!("expected one of {}, got {}", all.join(", "), lossy(&word));
                Err(Trouble::new(say))
            }
        }
    }

    /// ON or OFF; default ON.
    fn on_off(&mut self, fields: &mut Fields<'_>) -> Result<bool, Trouble> {
        if fields.is_over() {
            return Ok(true);
        }
        Ok(self.choice(fields, &["off", "on"])? == "on")
    }

    fn whole(&mut self, fields: &mut Fields<'_>, default: i64) -> Result<i64, Trouble> {
        match fields.field() {
            Some(word) => self.evaluated_number(word.text),
            None => Ok(default),
        }
    }

    pub(crate) fn set(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let word = self.keyword_field(fields, "a setting")?;
        // The syntax of older versions of C-Kermit.
        let old = word.eq_ignore_ascii_case(b"clearchannel");
        let word = if old { b"clear-channel".to_vec() } else { word };
        if word.contains(&b'.') {
            self.status = 0;
            let row = self.row_of(&word)?;
            return self.set_this(&Entry::of_row(row.name, row), fields);
        }
        let all = entries(&self.world.rows());
        let mut first: Vec<&str> = OWN.to_vec();
        first.extend(all.iter().filter_map(|entry| entry.word(0)));
        first.sort_unstable();
        first.dedup();
        let found = match word_of(&first, &word) {
            Found::One(found) => found,
            Found::Several => {
                return Err(Trouble::new(format!("ambiguous setting: {}", lossy(&word))));
            }
            // C-Kermit's words come before those of protocols.
            Found::None => {
                let rows = self.rows_of_family(&word)?;
                return self.set_of_family(&rows, fields);
            }
        };
        self.status = 0;
        match found {
            "protocol" => return self.set_named(&["transfer", "protocol"], fields),
            "host" | "network" => return self.set_host(fields),
            "line" | "port" => return self.set_line(fields),
            "control-character" => return self.set_control(fields),
            "alarm" => return self.alarm(fields),
            "compatibility" => return self.compatible(fields),
            "case" => self.settings.case = self.on_off(fields)?,
            "quiet" => self.settings.quiet = self.on_off(fields)?,
            "variable-evaluation" => {
                self.settings.recursive =
                    self.choice(fields, &["recursive", "simple"])? == "recursive";
            }
            "flag" => self.settings.flag = self.on_off(fields)?,
            "count" => {
                let count = self.whole(fields, 0)?;
                self.level().count = count;
            }
            "function" | "macro" | "take" | "input" | "output" | "command" => {
                return self.set_manner(found, fields);
            }
            "exit" => return self.set_exit(fields),
            "telopt" => return self.set_telopt(fields),
            _ => return self.set_entry(&all, found, fields),
        }
        Ok(Flow::Next)
    }

    /// The initial settings of other versions of C-Kermit.
    fn compatible(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let version = self.choice(fields, &["10", "11", "9", "default"])?;
        let older = matches!(version, "9" | "10");
        let settings: [&[u8]; 4] = if older {
            [
                b"file collision backup",
                b"transfer mode automatic",
                b"receive pathnames absolute",
                b"receive confirm off both",
            ]
        } else {
            [
                b"file collision discard",
                b"transfer mode manual",
                b"receive pathnames auto",
                b"receive confirm on",
            ]
        };
        for setting in settings {
            self.set(&mut Fields::new(setting))?;
        }
        let version = match version {
            "9" => 9,
            "10" => 10,
            _ => 11,
        };
        self.perform(&Task::AllowAsIn { version })
    }

    fn set_manner(&mut self, first: &str, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let all: &[&str] = match first {
            "function" => &["diagnostics", "error"],
            "macro" | "take" => &["echo", "error"],
            "output" => &["pacing", "special-escapes"],
            "input" => &[
                "autodownload",
                "buffer-length",
                "cancellation",
                "case",
                "default-timeout",
                "echo",
                "scale-factor",
                "silence",
                "timeout-action",
            ],
            _ => &[
                "autodownload",
                "bytesize",
                "error-display",
                "more-prompting",
                "quoting",
                "variable-evaluation",
            ],
        };
        let second = self.choice(fields, all)?;
        match (first, second) {
            ("function", "error") => self.settings.function_error = self.on_off(fields)?,
            ("function", _) => self.settings.diagnostics = self.on_off(fields)?,
            ("macro", "error") => self.settings.macro_error = self.on_off(fields)?,
            ("macro", _) => self.settings.macro_echo = self.on_off(fields)?,
            ("take", "error") => self.settings.take_error = self.on_off(fields)?,
            ("take", _) => self.settings.take_echo = self.on_off(fields)?,
            ("output", "pacing") => {
                let pacing = self.whole(fields, 0)?;
                self.settings.output_pacing_ms = u64::try_from(pacing).unwrap_or(0);
            }
            ("output", _) => self.settings.special_escapes = self.on_off(fields)?,
            ("input", "case") => {
                self.settings.input_case =
                    self.choice(fields, &["ignore", "observe"])? == "observe";
            }
            ("input", "echo") => self.settings.input_echo = self.on_off(fields)?,
            ("input", "silence") => {
                let silence = self.whole(fields, 0)?;
                self.settings.input_silence = u64::try_from(silence).unwrap_or(0);
            }
            ("input", "timeout-action") => {
                self.settings.input_quit = self.choice(fields, &["proceed", "quit"])? == "quit";
            }
            ("input", "buffer-length") => {
                let len = self.whole(fields, 4096)?;
                let len = usize::try_from(len).unwrap_or(1).clamp(1, self.limits.value);
                self.settings.input_buffer = len;
            }
            ("command", "quoting") => self.settings.quoting = self.on_off(fields)?,
            ("command", "variable-evaluation") => {
                let way = self.choice(fields, &["recursive", "simple"])?;
                self.settings.recursive = way == "recursive";
            }
            _ => return self.set_named(&[first, second], fields),
        }
        Ok(Flow::Next)
    }

    fn set_exit(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let all = ["hangup", "message", "on-disconnect", "status", "warning"];
        let second = self.choice(fields, &all)?;
        if second == "status" {
            let code = self.whole(fields, 0)?;
            self.exit_code = i32::try_from(code & 0xff).unwrap_or(0);
            return Ok(Flow::Next);
        }
        self.set_named(&["exit", second], fields)
    }

    /// `SET TELOPT [/CLIENT] [/SERVER] option REFUSED ...`: the offered options are not chosen here, but none
    /// is required of the peer, so nothing has to be done for those that may be missing.
    fn set_telopt(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        while fields.peek().is_some_and(|word| is_switch(word.text)) {
            self.choice(fields, &["/client", "/server"])?;
        }
        let option = self.keyword_field(fields, "the name of a Telnet option")?;
        while !fields.is_over() {
            let state = self.choice(fields, &["accepted", "refused", "requested", "required"])?;
            if state == "required" {
                let option = lossy(&option).to_uppercase();
                return Err(Trouble::new(format!(
                    "SET TELOPT {option} REQUIRED is not supported: no option is required of a peer"
                )));
            }
        }
        self.status = 0;
        Ok(Flow::Next)
    }

    /// The rows of a protocol or of the store, by its name or an abbreviation of it.
    pub(crate) fn rows_of_family(&self, word: &[u8]) -> Result<Vec<&'static Setting>, Trouble> {
        let families = self.world.families();
        let names: Vec<&str> = families.iter().map(|(name, _)| *name).collect();
        let name = match word_of(&names, word) {
            Found::One(name) => name,
            Found::Several => {
                return Err(Trouble::new(format!("ambiguous setting: {}", lossy(word))));
            }
            Found::None => return Err(Trouble::new(format!("no such setting: {}", lossy(word)))),
        };
        let is_in = |row: &&Setting| {
            families
                .iter()
                .any(|(own, prefix)| *own == name && row.name.split('.').next() == Some(*prefix))
        };
        Ok(self.world.rows().into_iter().filter(is_in).collect())
    }

    /// `SET ZMODEM WINDOW 4096`
    fn set_of_family(
        &mut self,
        rows: &[&'static Setting],
        fields: &mut Fields<'_>,
    ) -> Result<Flow, Trouble> {
        let names: Vec<&str> = rows.iter().map(|row| name_in_family(row)).collect();
        let name = self.choice(fields, &names)?;
        let row = rows.iter().find(|row| name_in_family(row) == name).expect("one of them");
        self.status = 0;
        self.set_this(&Entry::of_row(row.name, row), fields)
    }

    /// The row of this name, or of an abbreviation of it.
    pub(crate) fn row_of(&mut self, word: &[u8]) -> Result<&'static Setting, Trouble> {
        let rows = self.world.rows();
        let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
        match word_of(&names, word) {
            Found::One(name) => {
                let found = rows.into_iter().find(|row| row.name == name);
                Ok(found.expect("the name of a row"))
            }
            Found::Several => Err(Trouble::new(format!("ambiguous setting: {}", lossy(word)))),
            Found::None => Err(Trouble::new(format!("no such setting: {}", lossy(word)))),
        }
    }

    fn set_entry(
        &mut self,
        all: &[Entry],
        first: &str,
        fields: &mut Fields<'_>,
    ) -> Result<Flow, Trouble> {
        let mut left: Vec<&Entry> = all.iter().filter(|e| e.word(0) == Some(first)).collect();
        for index in 1.. {
            let mut next: Vec<&str> = left.iter().filter_map(|entry| entry.word(index)).collect();
            if next.is_empty() {
                break;
            }
            next.sort_unstable();
            next.dedup();
            let chosen = self.choice(fields, &next)?;
            left.retain(|entry| entry.word(index) == Some(chosen));
        }
        self.set_this(left.first().expect("chosen among them"), fields)
    }

    /// The entry of these words.
    fn set_named(&mut self, name: &[&str], fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let all = entries(&self.world.rows());
        let found = all.iter().find(|entry| entry.name.split(' ').eq(name.iter().copied()));
        self.set_this(found.expect("the words of a SET are in the table"), fields)
    }

    fn set_this(&mut self, entry: &Entry, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let value = self.entry_value(entry, fields)?;
        let name = entry.name;
        let big = name.to_uppercase();
        match entry.effect {
            Effect::Row(row) => {
                let set = self.world.set(row.name, &value);
                set.map_err(|fault| Trouble::new(format!("SET {big}: {fault}")))?;
                // A transfer asks which of these were set, by whichever name.
                for keyword in row.keywords {
                    let value = shown_value(row, &value).into_bytes();
                    self.kept.insert((*keyword).to_owned(), value);
                }
                return Ok(Flow::Next);
            }
            Effect::Program(_) => self.world.keep(name, value.as_bytes())?,
            Effect::Language(_) => self.check_language(name, &value)?,
            Effect::Fixed(values, why) if !holds(values, &value) => {
                let value = value.to_uppercase();
                return Err(Trouble::new(format!("SET {big} {value} is not supported: {why}")));
            }
            Effect::Fixed(..) => {}
        }
        self.kept.insert(name.to_owned(), value.into_bytes());
        Ok(Flow::Next)
    }

    /// Settings that the language itself acts on, read from the stored values.
    fn check_language(&mut self, name: &str, value: &str) -> Result<(), Trouble> {
        if name == "input scale-factor" {
            let factor = value.parse::<f64>().ok().filter(|factor| (0.0..=1000.0).contains(factor));
            let say = || Trouble::new(format!("expected a factor from 0 to 1000, got {value}"));
            self.settings.input_scale = factor.ok_or_else(say)?;
        }
        Ok(())
    }

    /// Whether a switch of the language is on.
    pub(crate) fn is_on(&self, name: &str, usual: bool) -> bool {
        self.kept.get(name).map_or(usual, |value| value == b"on")
    }

    /// The value given; of a row, in the notation of the table.
    fn entry_value(&mut self, entry: &Entry, fields: &mut Fields<'_>) -> Result<String, Trouble> {
        Ok(match entry.takes {
            Takes::Row(row) => return self.row_value(entry.name, row, fields),
            Takes::Switch => on_off_word(self.on_off(fields)?),
            Takes::Word(all) => self.choice(fields, all)?.to_owned(),
            Takes::Number(low, high) => {
                self.number_between(entry.name, low, high, fields)?.to_string()
            }
            Takes::Scoped(all) => {
                let chosen = self.choice(fields, all)?;
                let scope = if fields.is_over() {
                    "local"
                } else {
                    self.choice(fields, &["both", "local", "remote"])?
                };
                format!("{chosen} {scope}")
            }
            Takes::Text => lossy(&self.expand(ungroup(fields.rest()))?),
        })
    }

    /// The value of a row in the notation of the table. A value of one word may be quoted or come from a variable.
    fn row_value(
        &mut self,
        name: &str,
        row: &'static Setting,
        fields: &mut Fields<'_>,
    ) -> Result<String, Trouble> {
        let known = row_words(row);
        let all: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        let value_of = |chosen: &str| {
            let found = known.iter().find(|(word, _)| *word == chosen);
            found.map_or_else(String::new, |(_, value)| (*value).to_owned())
        };
        match row.range {
            Range::Word(_) if is_switch_row(row) => Ok(on_off_word(self.on_off(fields)?)),
            Range::Word(_) => Ok(value_of(self.choice(fields, &all)?)),
            Range::Number(low, high) => {
                if let Some(word) = fields.peek() {
                    let text = self.expand(word.text)?;
                    if let Found::One(chosen) = word_of(&all, &text)
                        && (!is_digits(chosen.as_bytes()) || chosen.as_bytes() == text)
                    {
                        fields.field();
                        return Ok(value_of(chosen));
                    }
                }
                let bound = |bound: u64| i64::try_from(bound).unwrap_or(i64::MAX);
                Ok(self.number_between(name, bound(low), bound(high), fields)?.to_string())
            }
            Range::Text => Ok(lossy(&self.expand(ungroup(fields.rest()))?)),
        }
    }

    fn number_between(
        &mut self,
        name: &str,
        low: i64,
        high: i64,
        fields: &mut Fields<'_>,
    ) -> Result<i64, Trouble> {
        let name = name.to_uppercase();
        let wanted =
            |got: &str| Trouble::new(format!("expected {low} to {high} for {name}, got {got}"));
        let word = fields.field().ok_or_else(|| wanted("nothing"))?;
        let value = self.evaluated_number(word.text)?;
        if !(low..=high).contains(&value) {
            return Err(wanted(&value.to_string()));
        }
        Ok(value)
    }

    /// `set control prefix 0 1 255`, `set control unprefix all`
    fn set_control(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let prefixed = self.choice(fields, &["prefixed", "unprefixed"])? == "prefixed";
        let mut codes = std::collections::BTreeSet::new();
        while let Some(word) = fields.field() {
            let text = self.expand(word.text)?;
            if text.eq_ignore_ascii_case(b"all") {
                codes.extend((0..32).chain(127..160).chain([255]));
                continue;
            }
            let code = self.number(&text)?;
            if !(0..32).contains(&code) && !(127..160).contains(&code) && code != 255 {
                let say = format!("expected the code of a control character or ALL, got {code}");
                return Err(Trouble::new(say));
            }
            codes.insert(code);
        }
        if codes.is_empty() {
            return Err(Trouble::new("expected codes of control characters or ALL, got nothing"));
        }
        let mut read = |row: &str| -> std::collections::BTreeSet<i64> {
            let text = self.world.shown(row).unwrap_or_default();
            text.split(',').filter_map(|code| code.parse().ok()).collect()
        };
        let (mut on, mut off) = (read("kermit.prefixed"), read("kermit.unprefixed"));
        for code in codes {
            let (to, from) = if prefixed { (&mut on, &mut off) } else { (&mut off, &mut on) };
            to.insert(code);
            from.remove(&code);
        }
        let list = |codes: &std::collections::BTreeSet<i64>| {
            codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        };
        let (on, off) = (list(&on), list(&off));
        self.world.set("kermit.prefixed", &on)?;
        self.world.set("kermit.unprefixed", &off)?;
        Ok(Flow::Next)
    }

    /// `set line /dev/ttyS0`; no argument closes the connection.
    pub(crate) fn set_line(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        while fields.peek().is_some_and(|w| !w.grouped && is_switch(w.text)) {
            fields.field();
        }
        let device = self.expand(ungroup(fields.rest()))?;
        if device.is_empty() {
            return self.hang_up();
        }
        self.kept.insert("line".to_owned(), device.clone());
        self.connect(&Connection::Line { device })
    }

    /// `set host name[:port] [port] [/raw /telnet /tls /server]`
    pub(crate) fn set_host(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let mut speaks = Speaks::Unsaid;
        let (mut server, mut talks, mut program) = (false, false, None);
        let mut arguments: Vec<Vec<u8>> = Vec::new();
        while let Some(word) = fields.field() {
            let text = self.expand(word.text)?;
            if word.grouped || !is_switch(&text) {
                arguments.push(text);
                continue;
            }
            let at = text.iter().position(|b| *b == b':').unwrap_or(text.len());
            let value = text.get(at + 1..).unwrap_or_default();
            match word_of(SWITCHES, &text[..at]) {
                Found::One("/raw" | "/raw-socket" | "/none" | "/no-telnet-init") => {
                    speaks = Speaks::Raw;
                }
                Found::One("/telnet") => speaks = Speaks::Telnet,
                Found::One("/tls" | "/ssl") => speaks = Speaks::Tls,
                Found::One("/server") => server = true,
                Found::One("/connect") => talks = true,
                Found::One("/pipe") => program = Some(false),
                Found::One("/pty") => program = Some(true),
                Found::One("/network-type") => match value.to_ascii_lowercase().as_slice() {
                    b"pipe" | b"command" => program = Some(false),
                    b"pty" | b"pseudoterminal" => program = Some(true),
                    _ => {}
                },
                Found::One(_) => {}
                _ => {
                    let say = format!("expected a switch of SET HOST, got {}", lossy(&text));
                    return Err(Trouble::new(say));
                }
            }
        }
        if let Some(terminal) = program {
            let command = arguments.join(&b' ');
            return self.connect(&Connection::Program { command, terminal });
        }
        let mut arguments = arguments.into_iter();
        match arguments.next() {
            Some(host) if !host.is_empty() => {
                let (host, port) = with_service(host, arguments.next());
                self.kept.insert("line".to_owned(), host.clone());
                self.connect(&Connection::Host { host, port, speaks, server })?;
                // The switches' actions once the connection is open.
                match (server, talks) {
                    (true, _) => self.perform(&Task::Serve),
                    (false, true) => self.perform(&Task::Terminal),
                    (false, false) => Ok(Flow::Next),
                }
            }
            _ => self.hang_up(),
        }
    }
}

/// The name of a row without its prefix: `window` of `zmodem.window`.
pub(super) fn name_in_family(row: &Setting) -> &'static str {
    row.name.split_once('.').map_or(row.name, |(_, name)| name)
}

/// `/raw` and others; `/dev/ttyS0` is not a switch.
fn is_switch(text: &[u8]) -> bool {
    text.len() > 1 && text[0] == b'/' && !text[1..].contains(&b'/')
}

fn is_digits(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_digit)
}

fn on_off_word(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}
