//! What SET and SHOW know: the words of C-Kermit, and the row of the program's table behind them.

/// What a setting takes after its words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Takes {
    /// ON or OFF, and what they are called in the table.
    Switch(&'static str, &'static str),
    /// One of these, and what each is called in the table.
    Word(&'static [(&'static str, &'static str)]),
    /// A whole number between the two; larger ones up to the third become the second.
    Number(i64, i64, i64),
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
    /// Rows of the program's table that it sets; none if only scripts see it.
    pub(crate) rows: &'static [&'static str],
}

const fn entry(
    words: &'static [&'static str],
    takes: Takes,
    rows: &'static [&'static str],
) -> Entry {
    Entry { words, takes, rows }
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
    entry(&["bell"], ON_OFF, &[]),
    entry(&["background"], ON_OFF, &[]),
    entry(&["buffers"], FREE, &[]),
    entry(
        &["carrier-watch"],
        Takes::Word(&[("automatic", "auto"), ("off", "off"), ("on", "on")]),
        &[],
    ),
    entry(&["cd"], FREE, &[]),
    entry(&["clear-channel"], THREE, &["kermit.clear-channel"]),
    entry(&["command", "autodownload"], ON_OFF, &[]),
    entry(&["command", "bytesize"], Takes::Number(7, 8, 8), &[]),
    entry(&["command", "more-prompting"], ON_OFF, &[]),
    entry(&["command", "error-display"], Takes::Number(0, 3, 3), &[]),
    entry(&["debug"], FREE, &[]),
    entry(&["delay"], Takes::Number(0, 999, 999), &[]),
    entry(&["dial"], FREE, &[]),
    entry(&["duplex"], Takes::Word(&[("full", "full"), ("half", "half")]), &[]),
    entry(&["escape-character"], FREE, &[]),
    entry(&["exit", "hangup"], ON_OFF, &[]),
    entry(&["exit", "on-disconnect"], ON_OFF, &[]),
    entry(
        &["exit", "warning"],
        Takes::Word(&[("always", "always"), ("off", "off"), ("on", "on")]),
        &[],
    ),
    entry(&["file", "bytesize"], Takes::Number(7, 8, 8), &[]),
    entry(&["file", "character-set"], FREE, &[]),
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
    entry(&["file", "default"], FREE, &[]),
    entry(&["file", "destination"], FREE, &[]),
    entry(
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
        &[],
    ),
    entry(&["file", "download-directory"], FREE, &[]),
    entry(&["file", "end-of-line"], FREE, &[]),
    entry(&["file", "eof"], FREE, &[]),
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
    entry(
        &["file", "patterns"],
        Takes::Word(&[("automatic", "auto"), ("off", "off"), ("on", "on")]),
        &[],
    ),
    entry(&["file", "scan"], FREE, &[]),
    entry(
        &["file", "type"],
        Takes::Word(&[("binary", "binary"), ("text", "text")]),
        &["kermit.receive-kind"],
    ),
    entry(
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
    entry(&["hints"], ON_OFF, &[]),
    entry(&["match"], FREE, &[]),
    entry(&["modem"], FREE, &[]),
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
    entry(&["prompt"], FREE, &[]),
    entry(&["receive", "end-of-packet"], CODE, &[]),
    entry(&["receive", "packet-length"], PACKET_LENGTH, &["kermit.receive-length"]),
    entry(&["receive", "padding"], Takes::Number(0, 94, 94), &["kermit.padding"]),
    entry(&["receive", "pathnames"], FREE, &[]),
    entry(&["receive", "pause"], Takes::Number(0, 60_000, 60_000), &[]),
    entry(&["receive", "start-of-packet"], CODE, &["kermit.mark"]),
    entry(&["receive", "timeout"], TIMEOUT, &[]),
    entry(&["reliable"], THREE, &["kermit.reliable"]),
    entry(&["repeat", "counts"], ON_OFF, &["kermit.repeat"]),
    entry(&["retry-limit"], Takes::Number(1, 94, 94), &["kermit.retries"]),
    entry(&["script"], FREE, &[]),
    entry(&["send", "end-of-packet"], CODE, &[]),
    entry(&["send", "packet-length"], PACKET_LENGTH, &["kermit.send-length"]),
    entry(&["send", "padding"], Takes::Number(0, 94, 94), &[]),
    entry(&["send", "pathnames"], FREE, &[]),
    entry(&["send", "pause"], Takes::Number(0, 60_000, 60_000), &[]),
    entry(&["send", "start-of-packet"], CODE, &["kermit.mark"]),
    entry(&["send", "timeout"], Takes::Number(1, 94, 94), &["kermit.timeout"]),
    entry(&["server", "cd-message"], ON_OFF, &[]),
    entry(&["server", "display"], ON_OFF, &[]),
    entry(&["server", "get-path"], FREE, &[]),
    entry(&["server", "idle-timeout"], Takes::Number(0, 86_400, 86_400), &[]),
    entry(&["server", "login"], FREE, &[]),
    entry(&["server", "timeout"], Takes::Number(0, 94, 94), &[]),
    entry(&["session-log"], FREE, &[]),
    entry(&["speed"], Takes::Number(50, 4_000_000, 4_000_000), &[]),
    entry(&["stop-bits"], Takes::Number(1, 2, 2), &[]),
    entry(&["streaming"], THREE, &["kermit.streaming"]),
    entry(&["tcp"], FREE, &[]),
    entry(&["telnet"], FREE, &[]),
    entry(&["temp-directory"], FREE, &[]),
    entry(&["terminal"], FREE, &[]),
    entry(&["transaction-log"], FREE, &[]),
    entry(&["transfer", "bell"], ON_OFF, &[]),
    entry(&["transfer", "cancellation"], FREE, &[]),
    entry(&["transfer", "character-set"], FREE, &[]),
    entry(&["transfer", "crc-calculation"], ON_OFF, &[]),
    entry(&["transfer", "display"], FREE, &[]),
    entry(&["transfer", "interruption"], ON_OFF, &[]),
    entry(
        &["transfer", "locking-shift"],
        Takes::Word(&[("forced", "forced"), ("off", "off"), ("on", "on")]),
        &["kermit.locking-shift"],
    ),
    entry(&["transfer", "mode"], Takes::Word(&[("automatic", "auto"), ("manual", "manual")]), &[]),
    entry(&["transfer", "protocol"], Takes::Word(&[("kermit", "kermit")]), &[]),
    entry(&["transfer", "slow-start"], ON_OFF, &["kermit.adapt-length"]),
    entry(&["transmit", "echo"], ON_OFF, &[]),
    entry(&["transmit", "eof"], FREE, &[]),
    entry(&["transmit", "fill"], FREE, &[]),
    entry(&["transmit", "linefeed"], ON_OFF, &[]),
    entry(&["transmit", "pause"], Takes::Number(0, 60_000, 60_000), &[]),
    entry(&["transmit", "prompt"], FREE, &[]),
    entry(&["transmit", "timeout"], Takes::Number(0, 86_400, 86_400), &[]),
    entry(&["unknown-char-set"], Takes::Word(&[("discard", "discard"), ("keep", "keep")]), &[]),
    entry(&["wildcard-expansion"], FREE, &[]),
    // C-Kermit takes 32, of which the protocol can use 31.
    entry(&["window-size"], Takes::Number(1, 31, 32), &["kermit.window"]),
];
