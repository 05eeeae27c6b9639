//! The settings of SET and SHOW: C-Kermit's words, and the effect of each.
//!
//! A setting takes effect, or a value that would have none is refused with the reason: nothing is only stored.

use wetstring_proto::kermit::Charset;

/// The argument of a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Takes {
    /// ON or OFF, and their names in the table.
    Switch(&'static str, &'static str),
    /// One of these, and its name in the table.
    Word(&'static [(&'static str, &'static str)]),
    /// One of these, with the same name in the table.
    Name(&'static [&'static str]),
    /// An integer between the two; larger ones up to the third become the second.
    Number(i64, i64, i64),
    /// One of these, and for which end of the connection: default LOCAL.
    Scoped(&'static [&'static str]),
    /// Anything.
    Text,
}

/// The effect of a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// It sets these rows of the program's table.
    Rows(&'static [&'static str]),
    /// The program implements it. The initial value.
    Program(&'static str),
    /// The language implements it. The initial value.
    Language(&'static str),
    /// Only these values are supported; others are refused, with the reason.
    Fixed(&'static [&'static str], &'static str),
}

/// A setting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The words after SET.
    pub(crate) words: &'static [&'static str],
    /// Its argument.
    pub(crate) takes: Takes,
    /// Its effect.
    pub(crate) effect: Effect,
}

impl Entry {
    /// The words, as a key.
    pub(crate) fn name(&self) -> String {
        self.words.join(" ")
    }

    /// The row with the value, if it is in the table.
    pub(crate) fn row(&self) -> Option<&'static str> {
        match self.effect {
            Effect::Rows(rows) => rows.first().copied(),
            _ => None,
        }
    }

    /// The initial value, if it is not a row.
    pub(crate) fn usual(&self) -> &'static str {
        match self.effect {
            Effect::Rows(_) => "",
            Effect::Program(usual) | Effect::Language(usual) => usual,
            Effect::Fixed(values, _) => values.first().copied().unwrap_or_default(),
        }
    }

    /// The argument's syntax, for HELP.
    pub(crate) fn syntax(&self) -> String {
        match self.takes {
            Takes::Switch(..) => "{ ON, OFF }".to_owned(),
            Takes::Word(list) => one_of(list.iter().map(|(word, _)| *word)),
            Takes::Name(list) => one_of(list.iter().copied()),
            Takes::Number(low, _, most) => format!("number from {low} to {most}"),
            Takes::Scoped(list) => {
                format!("{} [ {{ LOCAL, REMOTE, BOTH }} ]", one_of(list.iter().copied()))
            }
            Takes::Text => "text".to_owned(),
        }
    }
}

fn one_of<'t>(words: impl Iterator<Item = &'t str>) -> String {
    let words: Vec<String> = words.map(str::to_uppercase).collect();
    format!("{{ {} }}", words.join(", "))
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

const fn entry(
    words: &'static [&'static str],
    takes: Takes,
    rows: &'static [&'static str],
) -> Entry {
    Entry { words, takes, effect: Effect::Rows(rows) }
}

/// A setting that is not in the table; the program implements it.
const fn program(words: &'static [&'static str], takes: Takes, usual: &'static str) -> Entry {
    Entry { words, takes, effect: Effect::Program(usual) }
}

/// A setting of the language itself.
const fn language(words: &'static [&'static str], takes: Takes, usual: &'static str) -> Entry {
    Entry { words, takes, effect: Effect::Language(usual) }
}

/// A setting of which only these values are supported, with the reason.
const fn fixed(
    words: &'static [&'static str],
    takes: Takes,
    values: &'static [&'static str],
    why: &'static str,
) -> Entry {
    Entry { words, takes, effect: Effect::Fixed(values, why) }
}

const ON_OFF: Takes = Takes::Switch("on", "off");
const THREE: Takes = Takes::Word(&[("automatic", "auto"), ("off", "off"), ("on", "on")]);
const PACKET_LENGTH: Takes = Takes::Number(10, 9024, 9024);
const TIMEOUT: Takes = Takes::Number(0, 94, 94);
const CODE: Takes = Takes::Number(0, 31, 127);
const FREE: Takes = Takes::Text;
/// Any value is accepted.
pub(crate) const ANY: &[&str] = &["*"];

/// All settings, sorted by their words. C-Kermit has more; most of those belong to modems, terminals and FTP.
pub(crate) const ENTRIES: &[Entry] = &[
    entry(&["attributes"], ON_OFF, &["kermit.attributes"]),
    entry(
        &["block-check"],
        Takes::Word(&[
            ("1", "1"),
            ("2", "2"),
            ("3", "3"),
            ("4", "B"),
            ("5", "5"),
            ("blank-free-2", "B"),
        ]),
        &["kermit.check"],
    ),
    language(&["bell"], ON_OFF, "on"),
    fixed(
        &["background"],
        ON_OFF,
        &["off"],
        "messages and questions go by whether there is a terminal",
    ),
    fixed(&["buffers"], FREE, ANY, "memory is taken as the window and the packets need it"),
    fixed(
        &["carrier-watch"],
        Takes::Word(&[("automatic", "auto"), ("off", "off"), ("on", "on")]),
        &["automatic", "off"],
        "the carrier signal is not looked at; a line that closes is noticed",
    ),
    fixed(&["cd"], FREE, &[], "CD shows nothing, and goes home without a name"),
    entry(&["clear-channel"], THREE, &["kermit.clear-channel"]),
    fixed(
        &["command", "autodownload"],
        ON_OFF,
        &["off"],
        "transfers begin with RECEIVE or GET, or by `wst receive`",
    ),
    fixed(&["command", "bytesize"], Takes::Number(7, 8, 8), &["8"], "commands are UTF-8"),
    fixed(
        &["command", "more-prompting"],
        ON_OFF,
        &["off"],
        "what is shown is not stopped at each screen",
    ),
    fixed(
        &["command", "error-display"],
        Takes::Number(0, 3, 3),
        &["2"],
        "errors are shown in one way",
    ),
    fixed(&["debug"], FREE, &["off"], "use LOG DEBUG file"),
    program(&["delay"], Takes::Number(0, 999, 999), "0"),
    fixed(&["dial"], FREE, &[], "no modem is dialled: use SET LINE, OUTPUT and INPUT"),
    program(&["duplex"], Takes::Word(&[("full", "full"), ("half", "half")]), "full"),
    program(&["escape-character"], FREE, "28"),
    fixed(&["exit", "hangup"], ON_OFF, &["on"], "the connection ends with the program"),
    fixed(&["exit", "message"], ON_OFF, &["on"], "EXIT says what is given with it"),
    fixed(&["exit", "on-disconnect"], ON_OFF, &["off"], "use IF NOT CONNECTED EXIT"),
    fixed(
        &["exit", "warning"],
        Takes::Word(&[("always", "always"), ("off", "off"), ("on", "on")]),
        &["off"],
        "EXIT asks nothing",
    ),
    fixed(&["file", "bytesize"], Takes::Number(7, 8, 8), &["8"], "files are of 8-bit bytes"),
    entry(&["file", "character-set"], Takes::Name(Charset::NAMES), &["kermit.file-set"]),
    entry(
        &["file", "collision"],
        Takes::Word(&[
            ("append", "append"),
            ("backup", "backup"),
            ("discard", "reject"),
            ("overwrite", "replace"),
            ("reject", "reject"),
            ("rename", "rename"),
            ("replace", "replace"),
            ("update", "update"),
        ]),
        &["store.collision"],
    ),
    fixed(&["file", "default"], FREE, &[], "it belongs to systems with record files"),
    fixed(
        &["file", "destination"],
        FREE,
        &["disk"],
        "files go to the disk: use REMOTE TYPE, or RECEIVE and RUN",
    ),
    program(
        &["file", "display"],
        Takes::Word(&[
            ("brief", "brief"),
            ("crt", "crt"),
            ("fullscreen", "fullscreen"),
            ("none", "none"),
            ("off", "none"),
            ("on", "serial"),
            ("quiet", "none"),
            ("serial", "serial"),
        ]),
        "brief",
    ),
    program(&["file", "download-directory"], FREE, ""),
    program(&["file", "end-of-line"], Takes::Word(&[("crlf", "crlf"), ("lf", "lf")]), "lf"),
    fixed(&["file", "eof"], FREE, &["length", "off"], "a file ends where it ends"),
    entry(
        &["file", "incomplete"],
        Takes::Word(&[("automatic", "keep"), ("discard", "discard"), ("keep", "keep")]),
        &["store.incomplete"],
    ),
    entry(
        &["file", "names"],
        Takes::Word(&[("converted", "converted"), ("literal", "literal")]),
        &["kermit.names"],
    ),
    fixed(
        &["file", "patterns"],
        Takes::Word(&[("automatic", "auto"), ("off", "off"), ("on", "on")]),
        &["off"],
        "in TRANSFER MODE AUTOMATIC what a file is goes by its content",
    ),
    program(&["file", "scan"], ON_OFF, "on"),
    program(&["file", "system-id"], FREE, "U1"),
    entry(
        &["file", "type"],
        Takes::Word(&[("binary", "binary"), ("text", "text")]),
        &["kermit.receive-kind"],
    ),
    entry(&["file", "ucs", "bom"], ON_OFF, &["kermit.ucs2-mark"]),
    entry(
        &["file", "ucs", "byte-order"],
        Takes::Name(&["big-endian", "little-endian"]),
        &["kermit.ucs2-order"],
    ),
    program(
        &["flow-control"],
        Takes::Word(&[
            ("automatic", "auto"),
            ("keep", "keep"),
            ("none", "none"),
            ("rts/cts", "rtscts"),
            ("xon/xoff", "xonxoff"),
        ]),
        "keep",
    ),
    entry(
        &["handshake"],
        Takes::Word(&[
            ("bell", "7"),
            ("cr", "13"),
            ("esc", "27"),
            ("lf", "10"),
            ("none", "0"),
            ("xoff", "19"),
            ("xon", "17"),
        ]),
        &["kermit.handshake"],
    ),
    fixed(&["hints"], ON_OFF, &["off"], "there are none"),
    fixed(&["input", "autodownload"], ON_OFF, &["off"], "transfers begin with RECEIVE or GET"),
    fixed(&["input", "cancellation"], ON_OFF, &["on"], "Ctrl-C ends INPUT"),
    fixed(
        &["input", "default-timeout"],
        Takes::Number(0, 86_400, 86_400),
        &["1"],
        "INPUT is told how long it waits",
    ),
    language(&["input", "scale-factor"], FREE, "1"),
    language(&["match", "dotfile"], ON_OFF, "off"),
    fixed(&["match", "fifo"], ON_OFF, &["off"], "only files and directories are matched"),
    fixed(
        &["modem"],
        FREE,
        &["none", "type none"],
        "no modem is dialled: use SET LINE, OUTPUT and INPUT",
    ),
    entry(
        &["parity"],
        Takes::Word(&[
            ("even", "even"),
            ("mark", "mark"),
            ("none", "none"),
            ("odd", "odd"),
            ("space", "space"),
        ]),
        &["kermit.parity"],
    ),
    entry(
        &["prefixing"],
        Takes::Word(&[
            ("all", "all"),
            ("cautious", "cautious"),
            ("minimal", "minimal"),
            ("none", "none"),
        ]),
        &["kermit.prefixing"],
    ),
    language(&["prompt"], FREE, ""),
    fixed(
        &["receive", "character-set"],
        Takes::Name(&["automatic", "manual"]),
        &["automatic"],
        "the sender says which set comes",
    ),
    program(&["receive", "confirm"], Takes::Scoped(&["all", "off", "on"]), "on"),
    fixed(
        &["receive", "end-of-packet"],
        Takes::Number(0, 127, 127),
        &["13"],
        "packets end with a carriage return",
    ),
    entry(&["receive", "packet-length"], PACKET_LENGTH, &["kermit.receive-length"]),
    entry(&["receive", "padding"], Takes::Number(0, 94, 94), &["kermit.padding"]),
    program(&["receive", "pathnames"], FREE, "auto"),
    fixed(
        &["receive", "pause"],
        Takes::Number(0, 60_000, 60_000),
        &["0"],
        "the line is not slowed down: use SET SPEED or SET FLOW-CONTROL",
    ),
    entry(&["receive", "start-of-packet"], CODE, &["kermit.mark"]),
    fixed(&["receive", "timeout"], TIMEOUT, &[], "both ends wait as long as SET SEND TIMEOUT says"),
    entry(&["reliable"], THREE, &["kermit.reliable"]),
    entry(&["repeat", "counts"], ON_OFF, &["kermit.repeat"]),
    entry(&["retry-limit"], Takes::Number(1, 94, 94), &["kermit.retries"]),
    fixed(&["script"], FREE, &[], "use OUTPUT and INPUT"),
    // FILE CHARACTER-SET sets the file's own.
    fixed(
        &["send", "character-set"],
        Takes::Word(&[("manual", "manual")]),
        &["manual"],
        "what a file is in, SET FILE CHARACTER-SET says",
    ),
    fixed(
        &["send", "end-of-packet"],
        Takes::Number(0, 127, 127),
        &["13"],
        "packets end as the receiver asks",
    ),
    entry(&["send", "packet-length"], PACKET_LENGTH, &["kermit.send-length"]),
    fixed(
        &["send", "padding"],
        Takes::Number(0, 94, 94),
        &["0"],
        "padding goes as the receiver asks",
    ),
    program(&["send", "pathnames"], FREE, "off"),
    fixed(
        &["send", "pause"],
        Takes::Number(0, 60_000, 60_000),
        &["0"],
        "the line is not slowed down: use SET SPEED or SET FLOW-CONTROL",
    ),
    entry(&["send", "start-of-packet"], CODE, &["kermit.mark"]),
    entry(&["send", "timeout"], Takes::Number(1, 94, 94), &["kermit.timeout"]),
    fixed(
        &["server", "cd-message"],
        ON_OFF,
        &["off"],
        "clients are shown no file when they change the directory",
    ),
    program(&["server", "display"], ON_OFF, "off"),
    fixed(&["server", "get-path"], FREE, &[], "files are looked for where the client is"),
    program(&["server", "idle-timeout"], Takes::Number(0, 86_400, 86_400), "0"),
    program(&["server", "login"], FREE, ""),
    fixed(
        &["server", "timeout"],
        Takes::Number(0, 94, 94),
        &["0"],
        "a server that waits says nothing",
    ),
    fixed(&["session-log"], FREE, &["binary"], "LOG SESSION writes what comes as it comes"),
    program(&["speed"], Takes::Number(50, 4_000_000, 4_000_000), ""),
    program(&["stop-bits"], Takes::Number(1, 2, 2), ""),
    entry(&["streaming"], THREE, &["kermit.streaming"]),
    fixed(
        &["tcp"],
        FREE,
        &["reverse-dns-lookup off", "keepalive on", "nodelay on", "address-family auto"],
        "TCP is used as the system has it",
    ),
    fixed(&["telnet"], FREE, &[], "Telnet options are agreed as the peer asks"),
    fixed(&["temp-directory"], FREE, &[], "files that are not yet whole stand beside their names"),
    fixed(
        &["terminal"],
        FREE,
        &["autodownload off", "bytesize 8", "echo remote", "print off"],
        "CONNECT shows what comes as it comes; for local echo use SET DUPLEX HALF",
    ),
    fixed(&["transaction-log"], FREE, &["verbose"], "LOG TRANSACTIONS writes in one way"),
    fixed(&["transfer", "bell"], ON_OFF, &["off"], "use BEEP"),
    fixed(&["transfer", "cancellation"], FREE, &["on"], "Ctrl-C ends a transfer"),
    entry(
        &["transfer", "character-set"],
        Takes::Name(Charset::WIRE_NAMES),
        &["kermit.transfer-set"],
    ),
    fixed(
        &["transfer", "crc-calculation"],
        ON_OFF,
        &["off"],
        "between two of ours a digest of the whole file is compared",
    ),
    fixed(
        &["transfer", "display"],
        FREE,
        &["brief", "crt", "fullscreen", "serial"],
        "use SET FILE DISPLAY",
    ),
    fixed(&["transfer", "interruption"], ON_OFF, &["on"], "Ctrl-C ends a transfer"),
    entry(
        &["transfer", "locking-shift"],
        Takes::Word(&[("forced", "forced"), ("off", "off"), ("on", "on")]),
        &["kermit.locking-shift"],
    ),
    program(
        &["transfer", "mode"],
        Takes::Word(&[("automatic", "auto"), ("manual", "manual")]),
        "manual",
    ),
    fixed(
        &["transfer", "protocol"],
        Takes::Word(&[("kermit", "kermit")]),
        &["kermit"],
        "use `wst send -P`",
    ),
    fixed(
        &["transfer", "report"],
        ON_OFF,
        &["on"],
        "a receiver tells the sender under which name a file is stored",
    ),
    entry(&["transfer", "slow-start"], ON_OFF, &["kermit.adapt-length"]),
    program(&["transfer", "translation"], ON_OFF, "on"),
    fixed(&["transmit", "echo"], ON_OFF, &["off"], "use LOG SESSION, or INPUT"),
    program(&["transmit", "eof"], FREE, ""),
    fixed(&["transmit", "fill"], FREE, &[], "empty lines go as they are"),
    program(&["transmit", "linefeed"], ON_OFF, "off"),
    program(&["transmit", "pause"], Takes::Number(0, 60_000, 60_000), "0"),
    fixed(&["transmit", "prompt"], FREE, &["0"], "no answer is waited for: use SET TRANSMIT PAUSE"),
    fixed(
        &["transmit", "timeout"],
        Takes::Number(0, 86_400, 86_400),
        &[],
        "no answer is waited for: use SET TRANSMIT PAUSE",
    ),
    entry(&["unknown-char-set"], Takes::Name(&["discard", "keep"]), &["kermit.unknown-set"]),
    language(&["wildcard-expansion"], Takes::Name(&["off", "on"]), "on"),
    // C-Kermit accepts 32, of which the protocol can use 31.
    entry(&["window-size"], Takes::Number(1, 31, 32), &["kermit.window"]),
];
