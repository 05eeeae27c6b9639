//! SHOW and STATISTICS.

use super::set::name_in_family;
use super::settings::{entries, row_value};
use crate::fields::Fields;
use crate::interp::Interp;
use crate::keywords::{Found, word_of};
use crate::lines::split_list;
use crate::text::{lossy, lower, trim};
use crate::trouble::{Flow, Trouble};
use crate::world::Screen;
use wetstring_proto::settings::Setting;

pub(super) const TOPICS: &[&str] = &[
    "arguments",
    "arrays",
    "communications",
    "connection",
    "control-prefixing",
    "count",
    "exit",
    "file",
    "functions",
    "globals",
    "input",
    "logs",
    "macros",
    "parity",
    "protocol",
    "scripts",
    "server",
    "stack",
    "status",
    "streaming",
    "tcp",
    "terminal",
    "transfer",
    "transmit",
    "variables",
    "versions",
];

/// Shown by SHOW PROTOCOL besides the settings of those words.
const OF_PROTOCOL: &[&str] = &[
    "attributes",
    "block-check",
    "clear-channel",
    "control",
    "handshake",
    "parity",
    "prefixing",
    "receive",
    "reliable",
    "repeat",
    "retry-limit",
    "send",
    "streaming",
    "window-size",
];

/// Rows of SHOW FILE: C-Kermit's labels, and the setting.
const OF_FILE: [(&str, &str); 14] = [
    ("Transfer mode", "transfer mode"),
    ("File type", "file type"),
    ("File names", "file names"),
    ("Send pathnames", "send pathnames"),
    ("Receive pathnames", "receive pathnames"),
    ("Receive confirm", "receive confirm"),
    ("File collision", "file collision"),
    ("File destination", "file destination"),
    ("File incomplete", "file incomplete"),
    ("File bytesize", "file bytesize"),
    ("File character-set", "file character-set"),
    ("File end-of-line", "file end-of-line"),
    ("File eof", "file eof"),
    ("File download-directory", "file download-directory"),
];

/// Rows of SHOW TRANSFER, and the setting.
const OF_TRANSFER: [(&str, &str); 14] = [
    ("Transfer Bell", "transfer bell"),
    ("Transfer Interruption", "transfer interruption"),
    ("Transfer Cancellation", "transfer cancellation"),
    ("Transfer Translation", "transfer translation"),
    ("Transfer Character-set", "transfer character-set"),
    ("Transfer CRC-calculation", "transfer crc-calculation"),
    ("Transfer Display", "file display"),
    ("Transfer Message", "transfer message"),
    ("Transfer Locking-shift", "transfer locking-shift"),
    ("Transfer Mode", "transfer mode"),
    ("Transfer Pipes", "transfer pipes"),
    ("Transfer Protocol", "transfer protocol"),
    ("Transfer Report", "transfer report"),
    ("Transfer Slow-start", "transfer slow-start"),
];

/// Rows of SHOW TRANSMIT, and the setting.
const OF_TRANSMIT: [(&str, &str); 8] = [
    ("File type", "file type"),
    ("File character-set", "file character-set"),
    ("Transmit EOF", "transmit eof"),
    ("Transmit Fill", "transmit fill"),
    ("Transmit Linefeed", "transmit linefeed"),
    ("Transmit Prompt", "transmit prompt"),
    ("Transmit Echo", "transmit echo"),
    ("Transmit Pause", "transmit pause"),
];

impl Interp<'_> {
    pub(crate) fn show(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let topic = fields.field().map_or(&b"status"[..], |word| word.text);
        if topic.contains(&b'.') {
            return self.show_rows(topic);
        }
        let topic = match word_of(TOPICS, topic) {
            Found::One(topic) => topic,
            Found::None if let Ok(rows) = self.rows_of_family(topic) => {
                let name = self.expand(trim(fields.rest()))?;
                return self.show_of_family(&rows, &name);
            }
            _ => {
                let say = format!("expected one of {}, got {}", TOPICS.join(", "), lossy(topic));
                return Err(Trouble::new(say));
            }
        };
        let argument = self.expand(trim(fields.rest()))?;
        let text = match topic {
            "arguments" => self.show_arguments(),
            "arrays" => self.show_arrays(),
            "count" => format!("count {}\n", self.level().count),
            "functions" => show_columns("\\f", crate::functions::names()),
            "globals" => self.show_globals(),
            "macros" => self.show_macros(&argument),
            "stack" => self.show_stack(),
            "status" => {
                let word = if self.status == 0 { "SUCCESS" } else { "FAILURE" };
                format!("{word}, {}\n", self.status)
            }
            "streaming" => self.show_streaming(),
            "variables" => self.show_variables(&argument),
            "versions" => crate::VERSION_LINE.to_owned(),
            "communications" | "connection" => self.show_connection(),
            "protocol" => self.show_settings(OF_PROTOCOL),
            "control-prefixing" => self.show_settings(&["control", "prefixing"]),
            "scripts" => self.show_manners(),
            "logs" => self.show_logs(),
            "file" => self.show_file(),
            "transfer" => self.show_transfer(),
            "transmit" => self.show_transmit(),
            "terminal" => self.show_terminal(),
            "server" => {
                let functions = self.world.shown("server functions").unwrap_or_default();
                functions + &self.show_settings(&["server"])
            }
            other => self.show_settings(&[other]),
        };
        self.world.say(Screen::Output, text.as_bytes());
        self.status = 0;
        Ok(Flow::Next)
    }

    fn show_arguments(&mut self) -> String {
        let arguments = self.level().arguments.clone();
        let rows = arguments.iter().enumerate();
        let rows = rows.map(|(index, value)| format!(" \\%{index} = {}\n", lossy(value)));
        rows.collect::<Vec<_>>().concat()
    }

    fn show_arrays(&mut self) -> String {
        let rows = self.variables.arrays().map(|letter| {
            let count = self.variables.cells(letter).map_or(0, <[_]>::len);
            format!(" \\&{}[{}]\n", char::from(letter), count.saturating_sub(1))
        });
        let rows: String = rows.collect();
        if rows.is_empty() { " no arrays\n".to_owned() } else { rows }
    }

    fn show_globals(&mut self) -> String {
        let rows = (b'a'..=b'z').filter_map(|letter| {
            let value = self.variables.letter(letter)?;
            Some(format!(" \\%{} = {}\n", char::from(letter), lossy(value)))
        });
        let rows: String = rows.collect();
        if rows.is_empty() { " no variables\n".to_owned() } else { rows }
    }

    fn show_macros(&mut self, begin: &[u8]) -> String {
        let small = lower(begin);
        let mut text = String::new();
        for (name, value) in self.variables.texts(&small) {
            let commands = split_list(value);
            let shown: Vec<_> = commands.iter().map(|(_, c)| String::from_utf8_lossy(c)).collect();
            text += &format!("{} = {}\n", lossy(name), shown.join(",-\n "));
        }
        if text.is_empty() { " no such macros\n".to_owned() } else { text }
    }

    fn show_stack(&mut self) -> String {
        let mut text = String::new();
        for (index, level) in self.levels.iter().enumerate().rev() {
            let what = match &level.name {
                Some(name) => format!("macro {}", lossy(name)),
                None if level.file.is_empty() => "the user".to_owned(),
                None => format!("file {} line {}", level.file, level.line),
            };
            text += &format!("{index:3}. {what}\n");
        }
        text
    }

    /// SHOW STREAMING: both settings, when streaming is used, and whether it was.
    fn show_streaming(&mut self) -> String {
        let value = |this: &mut Self, row: &str| {
            this.world.shown(row).unwrap_or_else(|| "unknown".to_owned())
        };
        let streaming = value(self, "kermit.streaming");
        let reliable = value(self, "kermit.reliable");
        let channel = value(self, "kermit.clear-channel");
        let line = self.world.fact("reliable").map_or("none", |fact| match &fact[..] {
            b"yes" => "reliable",
            b"no" => "not reliable",
            _ => "of unknown kind",
        });
        let when = match (streaming.as_str(), reliable.as_str()) {
            ("off", _) => "Streaming is not offered.",
            ("on", _) => "Streaming is offered on every connection.",
            (_, "on") => "Streaming is offered, since the connection is set to reliable.",
            (_, "off") => "Streaming is not offered, since the connection is set to not reliable.",
            _ => {
                "Streaming is offered where the connection is reliable from end to end\n \
                 (TCP, a pipe to a program, but not a serial line or a modem), and where this is the\n \
                 remote Kermit, which leaves it to the other one to know."
            }
        };
        let last = match &self.report {
            None => "There has been no file transfer yet.".to_owned(),
            Some(report) if report.streamed => {
                "Streaming was used in the last transfer.".to_owned()
            }
            Some(_) => "Streaming was not used in the last transfer.".to_owned(),
        };
        format!(
            " Streaming:     {streaming}\n Reliable:      {reliable}\n Clear-channel: {channel}\n \
             Connection:    {line}\n\n \
             {when}\n It is done only if the other Kermit offers it too. Then packets are not\n \
             acknowledged one by one, the window is not a bound, and a damaged packet ends the\n \
             transfer.\n {last}\n"
        )
    }

    fn show_variables(&mut self, begin: &[u8]) -> String {
        let small = String::from_utf8_lossy(&lower(begin)).into_owned();
        let mut text = String::new();
        for name in crate::names::BUILTINS.iter().filter(|name| name.starts_with(&small)) {
            let mut value = Vec::new();
            if self.builtin(name.as_bytes(), &mut value) {
                text += &format!(" \\v({name}) = {}\n", lossy(&value).escape_debug());
            }
        }
        text
    }

    fn show_connection(&mut self) -> String {
        let line = self.kept.get("line").map(|name| lossy(name)).unwrap_or_default();
        let state = if self.world.is_connected() { "open" } else { "none" };
        let settings = self.show_settings(&[
            "carrier-watch",
            "duplex",
            "flow-control",
            "handshake",
            "parity",
            "speed",
            "stop-bits",
        ]);
        format!(" connection: {state} {line}\n{settings}")
    }

    fn show_logs(&mut self) -> String {
        let rows = self.kept.iter().filter_map(|(name, value)| {
            Some(format!(" {:<18} {}\n", name.strip_prefix("log.")?, lossy(value)))
        });
        let rows: String = rows.collect();
        if rows.is_empty() { " no logs\n".to_owned() } else { rows }
    }

    /// SHOW FILE in C-Kermit's format: scripts parse it.
    fn show_file(&mut self) -> String {
        let row = |(label, name)| format!(" {:<24} {}\n", format!("{label}:"), self.value_of(name));
        OF_FILE.map(row).concat()
    }

    /// SHOW TRANSFER in C-Kermit's format.
    fn show_transfer(&mut self) -> String {
        let row = |(label, name)| {
            let value = match (name, self.value_of(name).as_str()) {
                ("transfer locking-shift", "on") => "enabled, not used".to_owned(),
                ("transfer locking-shift", "off") => "disabled".to_owned(),
                ("transfer protocol", "kermit") => "Kermit".to_owned(),
                ("transfer protocol", other) => other.to_uppercase(),
                ("transfer message", "") => "(none)".to_owned(),
                (_, value) => value.to_owned(),
            };
            format!(" {label}: {value}\n")
        };
        OF_TRANSFER.map(row).concat()
    }

    /// SHOW TRANSMIT in C-Kermit's format.
    fn show_transmit(&mut self) -> String {
        let row = |(label, name)| {
            let value = match (name, self.value_of(name)) {
                ("transmit pause", value) => format!("{value} (milliseconds)"),
                (_, value) if value.is_empty() => "(none)".to_owned(),
                (_, value) => value,
            };
            format!(" {:<32} {value}\n", format!("{label}:"))
        };
        OF_TRANSMIT.map(row).concat()
    }

    fn show_terminal(&mut self) -> String {
        let echo = if self.value_of("duplex") == "half" { "local" } else { "remote" };
        let code = self.value_of("escape-character");
        format!(
            "Terminal parameters:\n Bytesize: 8\n Echo: {echo}\n Autodownload: off\n \
             Escape character: {code}\n"
        )
    }

    /// A setting's value in the syntax of SET; empty if there is none.
    fn value_of(&mut self, name: &str) -> String {
        let entry = entries(&self.world.rows()).into_iter().find(|entry| entry.name == name);
        // The table has its own words.
        let row = entry.and_then(|entry| entry.row());
        let row = row.and_then(|row| Some(row_value(row, &self.world.shown(row.name)?)));
        let kept = self.kept.get(name).map(|value| lossy(value));
        let usual = entry.map(|entry| entry.usual().to_owned());
        row.or(kept).or(usual).unwrap_or_default()
    }

    /// SHOW with the name of a row of the table, or the beginning of some: `show kermit.`
    fn show_rows(&mut self, begin: &[u8]) -> Result<Flow, Trouble> {
        let begin = lossy(&self.expand(begin)?).to_lowercase();
        let mut rows = self.world.rows();
        if rows.iter().any(|row| row.name == begin) {
            rows.retain(|row| row.name == begin);
        }
        rows.retain(|row| row.name.starts_with(&begin));
        if rows.is_empty() {
            return Err(Trouble::new(format!("no such setting: {begin}")));
        }
        self.show_values(&rows)
    }

    /// `SHOW ZMODEM`, `SHOW ZMODEM WINDOW`
    fn show_of_family(&mut self, rows: &[&'static Setting], begin: &[u8]) -> Result<Flow, Trouble> {
        let begin = lossy(begin).to_lowercase();
        let is_whole = rows.iter().any(|row| name_in_family(row) == begin);
        let fits = |row: &&'static Setting| {
            let name = name_in_family(row);
            if is_whole { name == begin } else { name.starts_with(&begin) }
        };
        let shown: Vec<_> = rows.iter().copied().filter(fits).collect();
        if shown.is_empty() {
            return Err(Trouble::new(format!("no such setting: {begin}")));
        }
        self.show_values(&shown)
    }

    fn show_values(&mut self, rows: &[&'static Setting]) -> Result<Flow, Trouble> {
        for row in rows {
            let value = self.world.shown(row.name).unwrap_or_default();
            let line = format!(" {:<28} {value}", row.name);
            self.world.say(Screen::Output, format!("{}\n", line.trim_end()).as_bytes());
        }
        self.status = 0;
        Ok(Flow::Next)
    }

    fn show_manners(&mut self) -> String {
        let m = &self.settings;
        let on = |on: bool| if on { "on" } else { "off" };
        let case = if m.input_case { "observe" } else { "ignore" };
        let action = if m.input_quit { "quit" } else { "proceed" };
        format!(
            " case {}\n take error {}\n macro error {}\n function error {}\n function diagnostics {}\n \
             command quoting {}\n input case {case}\n input echo {}\n input buffer-length {}\n \
             input silence {}\n input timeout-action {action}\n output pacing {}\n \
             output special-escapes {}\n",
            on(m.case),
            on(m.take_error),
            on(m.macro_error),
            on(m.function_error),
            on(m.diagnostics),
            on(m.quoting),
            on(m.input_echo),
            m.input_buffer,
            m.input_silence,
            m.output_pacing_ms,
            on(m.special_escapes),
        )
    }

    /// The settings whose first word is one of these.
    fn show_settings(&mut self, first: &[&str]) -> String {
        let mut text = String::new();
        let shown = |word: &'static str| first.contains(&word);
        for entry in entries(&self.world.rows()).iter().filter(|e| e.word(0).is_some_and(shown)) {
            let name = entry.name;
            let row = entry.row().and_then(|row| self.world.shown(row.name));
            let kept = self.kept.get(name).map(|value| lossy(value));
            let value = row.or(kept).unwrap_or_else(|| entry.usual().to_owned());
            text += &format!("{}\n", format!(" {name:<28} {value}").trim_end());
        }
        if first.contains(&"control") {
            for row in ["kermit.prefixed", "kermit.unprefixed"] {
                let value = self.world.shown(row).unwrap_or_default();
                let name = row.trim_start_matches("kermit.");
                text += &format!(" {:<28} {value}\n", format!("control {name}"));
            }
        }
        text
    }

    pub(crate) fn statistics(&mut self) -> Result<Flow, Trouble> {
        let text = match &self.report {
            None => " no transfer yet\n".to_owned(),
            Some(r) => format!(
                " files: {}, bytes: {}, time: {}.{:03} s, cps: {}\n damaged packets: {}, timeouts: {}, \
                 sent again: {}\n window: {}, packet length: {}, streaming: {}\n {}\n",
                r.files,
                r.bytes,
                r.elapsed.as_secs(),
                r.elapsed.subsec_millis(),
                r.cps(),
                r.damaged,
                r.timeouts,
                r.repeated,
                r.window,
                r.packet_len,
                if r.streamed { "yes" } else { "no" },
                if r.done { "all arrived" } else { r.message.as_str() },
            ),
        };
        self.world.say(Screen::Output, text.as_bytes());
        self.status = 0;
        Ok(Flow::Next)
    }
}

fn show_columns(before: &str, names: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<&str> = names.collect();
    let mut text = String::new();
    for row in names.chunks(4) {
        for name in row {
            text += &format!(" {:<18}", format!("{before}{name}()"));
        }
        text = text.trim_end().to_owned() + "\n";
    }
    text
}
