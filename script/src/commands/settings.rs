//! The settings of SET and SHOW, and the effect of each: the rows of the program's table, and C-Kermit's words that are no rows.
//!
//! A setting takes effect, or a value that would have none is refused with the reason: nothing is only stored.

use wetstring_proto::settings::{Range, Setting};

/// The argument of a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Takes {
    /// What this row takes, in the words of the language.
    Row(&'static Setting),
    /// ON or OFF; nothing is ON.
    Switch,
    /// One of these.
    Word(&'static [&'static str]),
    /// An integer from the first to the second.
    Number(i64, i64),
    /// One of these, and for which end of the connection: default LOCAL.
    Scoped(&'static [&'static str]),
    /// Anything.
    Text,
}

/// The effect of a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// It sets this row of the program's table.
    Row(&'static Setting),
    /// The program implements it. The initial value.
    Program(&'static str),
    /// The language implements it. The initial value.
    Language(&'static str),
    /// Only these values are supported; others are refused, with the reason.
    Fixed(&'static [&'static str], &'static str),
}

/// A setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// The words after SET, with blanks between.
    pub(crate) name: &'static str,
    /// Its argument.
    pub(crate) takes: Takes,
    /// Its effect.
    pub(crate) effect: Effect,
    /// What it does, without a full stop; nothing where the effect says it.
    pub(crate) what: &'static str,
}

impl Entry {
    /// A row of the table under one of its keywords, or under its own name.
    pub(crate) fn of_row(name: &'static str, row: &'static Setting) -> Self {
        Self { name, takes: Takes::Row(row), effect: Effect::Row(row), what: row.doc }
    }

    /// The word of its name at this index.
    pub(crate) fn word(&self, index: usize) -> Option<&'static str> {
        self.name.split(' ').nth(index)
    }

    /// The row with the value, if it is in the table.
    pub(crate) fn row(&self) -> Option<&'static Setting> {
        match self.effect {
            Effect::Row(row) => Some(row),
            _ => None,
        }
    }

    /// The initial value, if it is not a row.
    pub(crate) fn usual(&self) -> &'static str {
        match self.effect {
            Effect::Row(_) => "",
            Effect::Program(usual) | Effect::Language(usual) => usual,
            Effect::Fixed(values, _) => values.first().copied().unwrap_or_default(),
        }
    }

    /// The argument's syntax, for HELP.
    pub(crate) fn syntax(&self) -> String {
        match self.takes {
            Takes::Row(row) => row_syntax(row),
            Takes::Switch => "{ ON, OFF }".to_owned(),
            Takes::Word(list) => one_of(list),
            Takes::Number(low, high) => format!("number from {low} to {high}"),
            Takes::Scoped(list) => format!("{} [ {{ LOCAL, REMOTE, BOTH }} ]", one_of(list)),
            Takes::Text => "text".to_owned(),
        }
    }
}

/// All settings with keywords: the rows of the table that have some, and [`ENTRIES`]; sorted.
pub(crate) fn entries(rows: &[&'static Setting]) -> Vec<Entry> {
    let named = |row: &&'static Setting| {
        let row = *row;
        row.keywords.iter().map(move |name| Entry::of_row(name, row))
    };
    let mut all: Vec<Entry> = rows.iter().flat_map(named).chain(ENTRIES.iter().copied()).collect();
    all.sort_by_key(|entry| entry.name);
    all
}

/// Whether a row takes ON and OFF only.
pub(crate) fn is_switch_row(row: &Setting) -> bool {
    matches!(row.range, Range::Word(words) if words.len() == 2 && words.contains(&"on") && words.contains(&"off"))
}

/// The words that a row takes in the language, each with its value in the table: the language's own first. `auto` is
/// `automatic` in all of C-Kermit's settings, and this has `auto` as its abbreviation.
pub(crate) fn row_words(row: &'static Setting) -> Vec<(&'static str, &'static str)> {
    let own = match row.range {
        Range::Word(words) => words,
        Range::Number(..) | Range::Text => &[],
    };
    let own = own.iter().map(|word| (if *word == "auto" { "automatic" } else { *word }, *word));
    row.spellings.iter().copied().chain(own).collect()
}

/// A value of a row, in the words of the language.
pub(crate) fn row_value(row: &'static Setting, value: &str) -> String {
    let says = |(word, own): &(&str, &str)| *own == value && !is_number(word);
    row_words(row).into_iter().find(says).map_or(value, |(word, _)| word).to_owned()
}

fn row_syntax(row: &'static Setting) -> String {
    let words: Vec<&str> = row_words(row).into_iter().map(|(word, _)| word).collect();
    match row.range {
        Range::Word(_) => one_of(&words),
        Range::Number(low, high) => {
            let number = format!("number from {low} to {high}");
            let words: Vec<&str> = words.into_iter().filter(|word| !is_number(word)).collect();
            if words.is_empty() { number } else { format!("{} or {number}", one_of(&words)) }
        }
        Range::Text => "text".to_owned(),
    }
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

fn one_of(words: &[&str]) -> String {
    format!("{{ {} }}", words.join(", ").to_uppercase())
}

/// Whether the words are these, or abbreviations of them.
pub(crate) fn holds(values: &[&str], value: &str) -> bool {
    if values == ANY {
        return true;
    }
    let given: Vec<String> = value.split_whitespace().map(str::to_lowercase).collect();
    values.iter().any(|value| {
        let words: Vec<&str> = value.split(' ').collect();
        let begins = |(given, word): (&String, &&str)| word.starts_with(given.as_str());
        words.len() == given.len() && given.iter().zip(&words).all(begins)
    })
}

/// A setting that is not in the table; the program implements it.
const fn program(
    name: &'static str,
    takes: Takes,
    usual: &'static str,
    what: &'static str,
) -> Entry {
    Entry { name, takes, effect: Effect::Program(usual), what }
}

/// A setting of the language itself.
const fn language(
    name: &'static str,
    takes: Takes,
    usual: &'static str,
    what: &'static str,
) -> Entry {
    Entry { name, takes, effect: Effect::Language(usual), what }
}

/// A setting of which only these values are supported, with the reason.
const fn fixed(
    name: &'static str,
    takes: Takes,
    values: &'static [&'static str],
    why: &'static str,
) -> Entry {
    Entry { name, takes, effect: Effect::Fixed(values, why), what: "" }
}

const ON_OFF: Takes = Takes::Switch;
const TIMEOUT: Takes = Takes::Number(0, 94);
const FREE: Takes = Takes::Text;
/// Any value is accepted.
pub(crate) const ANY: &[&str] = &["*"];

/// The settings that are no rows of the program's table. C-Kermit has more; most of those belong to modems, terminals and FTP.
pub(crate) const ENTRIES: &[Entry] = &[
    language("bell", ON_OFF, "on", "Whether BEEP sounds"),
    fixed(
        "background",
        ON_OFF,
        &["off"],
        "messages and questions go by whether there is a terminal",
    ),
    fixed("buffers", FREE, ANY, "memory is taken as the window and the packets need it"),
    fixed(
        "carrier-watch",
        Takes::Word(&["automatic", "off", "on"]),
        &["automatic", "off"],
        "the carrier signal is not looked at; a line that closes is noticed",
    ),
    fixed("cd", FREE, &[], "CD shows nothing, and goes home without a name"),
    fixed(
        "command autodownload",
        ON_OFF,
        &["off"],
        "transfers begin with RECEIVE or GET, or by `wst receive`",
    ),
    fixed("command bytesize", Takes::Number(7, 8), &["8"], "commands are UTF-8"),
    fixed(
        "command more-prompting",
        ON_OFF,
        &["off"],
        "what is shown is not stopped at each screen",
    ),
    fixed("command error-display", Takes::Number(0, 3), &["2"], "errors are shown in one way"),
    fixed("debug", FREE, &["off"], "use LOG DEBUG file"),
    program(
        "delay",
        Takes::Number(0, 999),
        "0",
        "Seconds before SEND begins on the line of this terminal",
    ),
    fixed("dial", FREE, &[], "no modem is dialled: use SET LINE, OUTPUT and INPUT"),
    program(
        "duplex",
        Takes::Word(&["full", "half"]),
        "full",
        "Whether CONNECT shows typed characters (HALF) or leaves that to the peer",
    ),
    program("escape-character", FREE, "28", "The key, or its code, that leads from CONNECT back"),
    fixed("exit hangup", ON_OFF, &["on"], "the connection ends with the program"),
    fixed("exit message", ON_OFF, &["on"], "EXIT says what is given with it"),
    fixed("exit on-disconnect", ON_OFF, &["off"], "use IF NOT CONNECTED EXIT"),
    fixed("exit warning", Takes::Word(&["always", "off", "on"]), &["off"], "EXIT asks nothing"),
    fixed("file bytesize", Takes::Number(7, 8), &["8"], "files are of 8-bit bytes"),
    fixed("file default", FREE, &[], "it belongs to systems with record files"),
    fixed(
        "file destination",
        FREE,
        &["disk"],
        "files go to the disk: use REMOTE TYPE, or RECEIVE and RUN",
    ),
    program(
        "file display",
        Takes::Word(&["brief", "crt", "fullscreen", "none", "off", "on", "quiet", "serial"]),
        "brief",
        "Whether transfers show their progress; NONE, OFF and QUIET show nothing",
    ),
    program("file download-directory", FREE, "", "The directory into which files are received"),
    program(
        "file end-of-line",
        Takes::Word(&["crlf", "lf"]),
        "lf",
        "How lines of text files end on this machine",
    ),
    fixed("file eof", FREE, &["length", "off"], "a file ends where it ends"),
    fixed(
        "file patterns",
        Takes::Word(&["automatic", "off", "on"]),
        &["off"],
        "in TRANSFER MODE AUTOMATIC what a file is goes by its content",
    ),
    program("file scan", ON_OFF, "on", "Whether TRANSFER MODE AUTOMATIC looks into files for text"),
    program(
        "file system-id",
        FREE,
        "U1",
        "The two characters that tell the peer which system this is",
    ),
    program(
        "flow-control",
        Takes::Word(&["automatic", "keep", "none", "rts/cts", "xon/xoff"]),
        "keep",
        "Flow control of a serial port",
    ),
    fixed("hints", ON_OFF, &["off"], "there are none"),
    fixed("input autodownload", ON_OFF, &["off"], "transfers begin with RECEIVE or GET"),
    fixed("input cancellation", ON_OFF, &["on"], "Ctrl-C ends INPUT"),
    fixed(
        "input default-timeout",
        Takes::Number(0, 86_400),
        &["1"],
        "INPUT is told how long it waits",
    ),
    language("input scale-factor", FREE, "1", "Factor for the seconds of INPUT"),
    language("match dotfile", ON_OFF, "off", "Whether patterns match names that begin with a dot"),
    fixed("match fifo", ON_OFF, &["off"], "only files and directories are matched"),
    fixed(
        "modem",
        FREE,
        &["none", "type none"],
        "no modem is dialled: use SET LINE, OUTPUT and INPUT",
    ),
    language("prompt", FREE, "", "The text before a command that is typed"),
    fixed(
        "receive character-set",
        Takes::Word(&["automatic", "manual"]),
        &["automatic"],
        "the sender says which set comes",
    ),
    program(
        "receive confirm",
        Takes::Scoped(&["all", "off", "on"]),
        "on",
        "Whether the user is asked before files are stored",
    ),
    fixed(
        "receive end-of-packet",
        Takes::Number(0, 127),
        &["13"],
        "packets end with a carriage return",
    ),
    program("receive pathnames", FREE, "auto", "Whether directories in received names are used"),
    fixed(
        "receive pause",
        Takes::Number(0, 60_000),
        &["0"],
        "the line is not slowed down: use SET SPEED or SET FLOW-CONTROL",
    ),
    fixed("receive timeout", TIMEOUT, &[], "both ends wait as long as SET SEND TIMEOUT says"),
    fixed("script", FREE, &[], "use OUTPUT and INPUT"),
    // FILE CHARACTER-SET sets the file's own.
    fixed(
        "send character-set",
        Takes::Word(&["manual"]),
        &["manual"],
        "what a file is in, SET FILE CHARACTER-SET says",
    ),
    fixed("send end-of-packet", Takes::Number(0, 127), &["13"], "packets end as the receiver asks"),
    fixed("send padding", Takes::Number(0, 94), &["0"], "padding goes as the receiver asks"),
    program(
        "send pathnames",
        FREE,
        "off",
        "How much of a file's path is sent: OFF, RELATIVE or ABSOLUTE",
    ),
    fixed(
        "send pause",
        Takes::Number(0, 60_000),
        &["0"],
        "the line is not slowed down: use SET SPEED or SET FLOW-CONTROL",
    ),
    fixed(
        "server cd-message",
        ON_OFF,
        &["off"],
        "clients are shown no file when they change the directory",
    ),
    program("server display", ON_OFF, "off", "Whether a server shows what its client asks for"),
    fixed("server get-path", FREE, &[], "files are looked for where the client is"),
    program(
        "server idle-timeout",
        Takes::Number(0, 86_400),
        "0",
        "Seconds of silence after which a server ends; 0 is no limit",
    ),
    program("server login", FREE, "", "The user and password that a client has to give"),
    fixed("server timeout", Takes::Number(0, 94), &["0"], "a server that waits says nothing"),
    fixed("session-log", FREE, &["binary"], "LOG SESSION writes what comes as it comes"),
    program("speed", Takes::Number(50, 4_000_000), "", "Rate of a serial port in bit/s"),
    program("stop-bits", Takes::Number(1, 2), "", "Stop bits of a serial port"),
    fixed(
        "tcp",
        FREE,
        &["reverse-dns-lookup off", "keepalive on", "nodelay on", "address-family auto"],
        "TCP is used as the system has it",
    ),
    fixed("telnet", FREE, &[], "Telnet options are agreed as the peer asks"),
    fixed("temp-directory", FREE, &[], "files that are not yet whole stand beside their names"),
    fixed(
        "terminal",
        FREE,
        &["autodownload off", "bytesize 8", "echo remote", "print off"],
        "CONNECT shows what comes as it comes; for local echo use SET DUPLEX HALF",
    ),
    fixed("transaction-log", FREE, &["verbose"], "LOG TRANSACTIONS writes in one way"),
    fixed("transfer bell", ON_OFF, &["off"], "use BEEP"),
    fixed("transfer cancellation", FREE, &["on"], "Ctrl-C ends a transfer"),
    fixed(
        "transfer crc-calculation",
        ON_OFF,
        &["off"],
        "between two of ours a digest of the whole file is compared",
    ),
    fixed(
        "transfer display",
        FREE,
        &["brief", "crt", "fullscreen", "serial"],
        "use SET FILE DISPLAY",
    ),
    fixed("transfer interruption", ON_OFF, &["on"], "Ctrl-C ends a transfer"),
    program(
        "transfer mode",
        Takes::Word(&["automatic", "manual"]),
        "manual",
        "Whether text and binary files are told apart, or SET FILE TYPE decides",
    ),
    program("transfer protocol", FREE, "kermit", "The protocol of SEND and RECEIVE"),
    fixed(
        "transfer report",
        ON_OFF,
        &["on"],
        "a receiver tells the sender under which name a file is stored",
    ),
    program(
        "transfer translation",
        ON_OFF,
        "on",
        "Whether the character sets of text are translated",
    ),
    fixed("transmit echo", ON_OFF, &["off"], "use LOG SESSION, or INPUT"),
    program("transmit eof", FREE, "", "A text that TRANSMIT sends after the file"),
    fixed("transmit fill", FREE, &[], "empty lines go as they are"),
    program(
        "transmit linefeed",
        ON_OFF,
        "off",
        "Whether TRANSMIT ends lines with CR and LF instead of CR",
    ),
    program(
        "transmit pause",
        Takes::Number(0, 60_000),
        "0",
        "Milliseconds that TRANSMIT waits after each line",
    ),
    fixed("transmit prompt", FREE, &["0"], "no answer is waited for: use SET TRANSMIT PAUSE"),
    fixed(
        "transmit timeout",
        Takes::Number(0, 86_400),
        &[],
        "no answer is waited for: use SET TRANSMIT PAUSE",
    ),
    language(
        "wildcard-expansion",
        Takes::Word(&["off", "on"]),
        "on",
        "Whether patterns in names of files match files",
    ),
];
