//! What SET and SHOW know: the words of C-Kermit, and the row of the program's table behind them.

use wetstring_proto::kermit::Charset;

/// What a setting takes after its words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Takes {
    /// ON or OFF, and what they are called in the table.
    Switch(&'static str, &'static str),
    /// One of these, and what each is called in the table.
    Word(&'static [(&'static str, &'static str)]),
    /// One of these, which are called the same in the table.
    Name(&'static [&'static str]),
    /// A whole number between the two; larger ones up to the third become the second.
    Number(i64, i64, i64),
    /// One of these, and for which end of the connection: LOCAL unless said.
    Scoped(&'static [&'static str]),
    /// Anything.
    Text,
}

/// One thing that can be set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The words behind SET.
    pub(crate) words: &'static [&'static str],
    /// What follows.
    pub(crate) takes: Takes,
    /// Rows of the program's table that it sets.
    pub(crate) rows: &'static [&'static str],
    /// Without rows: what happens anyway, where the world does not act on it. Other values are kept
    /// for SHOW, and that is said once.
    pub(crate) anyway: &'static [&'static str],
}

const fn entry(
    words: &'static [&'static str],
    takes: Takes,
    rows: &'static [&'static str],
) -> Entry {
    Entry { words, takes, rows, anyway: &[] }
}

/// A setting that is no row of the table.
const fn kept(
    words: &'static [&'static str],
    takes: Takes,
    anyway: &'static [&'static str],
) -> Entry {
    Entry { words, takes, rows: &[], anyway }
}

const ON_OFF: Takes = Takes::Switch("on", "off");
const THREE: Takes = Takes::Word(&[("automatic", "auto"), ("off", "off"), ("on", "on")]);
const PACKET_LENGTH: Takes = Takes::Number(10, 9024, 9024);
const TIMEOUT: Takes = Takes::Number(0, 94, 94);
const CODE: Takes = Takes::Number(0, 31, 127);
const FREE: Takes = Takes::Text;

/// All of them, by the order of their words. More than what is here is known to C-Kermit; most of that
/// belongs to modems, terminals and FTP.
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
    kept(&["bell"], ON_OFF, &["off"]),
    kept(&["background"], ON_OFF, &[]),
    kept(&["buffers"], FREE, &[]),
    kept(
        &["carrier-watch"],
        Takes::Word(&[("automatic", "auto"), ("off", "off"), ("on", "on")]),
        &["automatic", "off"],
    ),
    kept(&["cd"], FREE, &[]),
    entry(&["clear-channel"], THREE, &["kermit.clear-channel"]),
    kept(&["command", "autodownload"], ON_OFF, &["off"]),
    kept(&["command", "bytesize"], Takes::Number(7, 8, 8), &["8"]),
    kept(&["command", "more-prompting"], ON_OFF, &["off"]),
    kept(&["command", "error-display"], Takes::Number(0, 3, 3), &[]),
    kept(&["debug"], FREE, &["off"]),
    kept(&["delay"], Takes::Number(0, 999, 999), &[]),
    kept(&["dial"], FREE, &[]),
    kept(&["duplex"], Takes::Word(&[("full", "full"), ("half", "half")]), &[]),
    kept(&["escape-character"], FREE, &[]),
    kept(&["exit", "hangup"], ON_OFF, &["on"]),
    kept(&["exit", "on-disconnect"], ON_OFF, &["off"]),
    kept(
        &["exit", "warning"],
        Takes::Word(&[("always", "always"), ("off", "off"), ("on", "on")]),
        &["off"],
    ),
    kept(&["file", "bytesize"], Takes::Number(7, 8, 8), &["8"]),
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
    kept(&["file", "default"], FREE, &[]),
    kept(&["file", "destination"], FREE, &["disk"]),
    kept(
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
        &["brief", "crt", "fullscreen", "off", "on", "serial"],
    ),
    kept(&["file", "download-directory"], FREE, &[]),
    kept(&["file", "end-of-line"], Takes::Word(&[("crlf", "crlf"), ("lf", "lf")]), &["lf"]),
    kept(&["file", "eof"], FREE, &["off", "length"]),
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
    kept(
        &["file", "patterns"],
        Takes::Word(&[("automatic", "auto"), ("off", "off"), ("on", "on")]),
        &["off"],
    ),
    kept(&["file", "scan"], FREE, &["off"]),
    kept(&["file", "system-id"], FREE, &["U1"]),
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
    kept(
        &["flow-control"],
        Takes::Word(&[
            ("automatic", "auto"),
            ("keep", "keep"),
            ("none", "none"),
            ("rts/cts", "rtscts"),
            ("xon/xoff", "xonxoff"),
        ]),
        &[],
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
    kept(&["hints"], ON_OFF, &["off"]),
    kept(&["match"], FREE, &["dotfile off", "fifo off"]),
    kept(&["modem"], FREE, &["none", "type none"]),
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
    kept(&["prompt"], FREE, &[]),
    kept(&["receive", "character-set"], Takes::Name(&["automatic", "manual"]), &["automatic"]),
    kept(
        &["receive", "confirm"],
        Takes::Scoped(&["all", "off", "on"]),
        &["on", "off both", "off local", "off remote"],
    ),
    kept(&["receive", "end-of-packet"], CODE, &["13"]),
    entry(&["receive", "packet-length"], PACKET_LENGTH, &["kermit.receive-length"]),
    entry(&["receive", "padding"], Takes::Number(0, 94, 94), &["kermit.padding"]),
    kept(&["receive", "pathnames"], FREE, &["auto"]),
    kept(&["receive", "pause"], Takes::Number(0, 60_000, 60_000), &["0"]),
    entry(&["receive", "start-of-packet"], CODE, &["kermit.mark"]),
    kept(&["receive", "timeout"], TIMEOUT, &[]),
    entry(&["reliable"], THREE, &["kermit.reliable"]),
    entry(&["repeat", "counts"], ON_OFF, &["kermit.repeat"]),
    entry(&["retry-limit"], Takes::Number(1, 94, 94), &["kermit.retries"]),
    kept(&["script"], FREE, &[]),
    // What a file is in, FILE CHARACTER-SET says.
    kept(&["send", "character-set"], Takes::Word(&[("manual", "manual")]), &["manual"]),
    kept(&["send", "end-of-packet"], CODE, &["13"]),
    entry(&["send", "packet-length"], PACKET_LENGTH, &["kermit.send-length"]),
    kept(&["send", "padding"], Takes::Number(0, 94, 94), &["0"]),
    kept(&["send", "pathnames"], FREE, &[]),
    kept(&["send", "pause"], Takes::Number(0, 60_000, 60_000), &["0"]),
    entry(&["send", "start-of-packet"], CODE, &["kermit.mark"]),
    entry(&["send", "timeout"], Takes::Number(1, 94, 94), &["kermit.timeout"]),
    kept(&["server", "cd-message"], ON_OFF, &["off"]),
    kept(&["server", "display"], ON_OFF, &[]),
    kept(&["server", "get-path"], FREE, &[]),
    kept(&["server", "idle-timeout"], Takes::Number(0, 86_400, 86_400), &[]),
    kept(&["server", "login"], FREE, &[]),
    kept(&["server", "timeout"], Takes::Number(0, 94, 94), &["0"]),
    kept(&["session-log"], FREE, &[]),
    kept(&["speed"], Takes::Number(50, 4_000_000, 4_000_000), &[]),
    kept(&["stop-bits"], Takes::Number(1, 2, 2), &[]),
    entry(&["streaming"], THREE, &["kermit.streaming"]),
    kept(&["tcp"], FREE, &["reverse-dns-lookup off", "keepalive on", "nodelay on"]),
    kept(&["telnet"], FREE, &[]),
    kept(&["temp-directory"], FREE, &[]),
    kept(&["terminal"], FREE, &[]),
    kept(&["transaction-log"], FREE, &[]),
    kept(&["transfer", "bell"], ON_OFF, &["off"]),
    kept(&["transfer", "cancellation"], FREE, &[]),
    entry(
        &["transfer", "character-set"],
        Takes::Name(Charset::WIRE_NAMES),
        &["kermit.transfer-set"],
    ),
    kept(&["transfer", "crc-calculation"], ON_OFF, &["off"]),
    kept(&["transfer", "display"], FREE, &["brief", "crt", "fullscreen", "serial"]),
    kept(&["transfer", "interruption"], ON_OFF, &["on"]),
    entry(
        &["transfer", "locking-shift"],
        Takes::Word(&[("forced", "forced"), ("off", "off"), ("on", "on")]),
        &["kermit.locking-shift"],
    ),
    kept(
        &["transfer", "mode"],
        Takes::Word(&[("automatic", "auto"), ("manual", "manual")]),
        &["manual"],
    ),
    kept(&["transfer", "protocol"], Takes::Word(&[("kermit", "kermit")]), &["kermit"]),
    entry(&["transfer", "slow-start"], ON_OFF, &["kermit.adapt-length"]),
    kept(&["transfer", "translation"], ON_OFF, &["on"]),
    kept(&["transmit", "echo"], ON_OFF, &["off"]),
    kept(&["transmit", "eof"], FREE, &[]),
    kept(&["transmit", "fill"], FREE, &[]),
    kept(&["transmit", "linefeed"], ON_OFF, &["off"]),
    kept(&["transmit", "pause"], Takes::Number(0, 60_000, 60_000), &["0"]),
    kept(&["transmit", "prompt"], FREE, &[]),
    kept(&["transmit", "timeout"], Takes::Number(0, 86_400, 86_400), &[]),
    entry(&["unknown-char-set"], Takes::Name(&["discard", "keep"]), &["kermit.unknown-set"]),
    kept(&["wildcard-expansion"], FREE, &["on"]),
    // C-Kermit takes 32, of which the protocol can use 31.
    entry(&["window-size"], Takes::Number(1, 31, 32), &["kermit.window"]),
];
