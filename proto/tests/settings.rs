//! A setting is one row: what follows from it, for rows of each kind; and what must hold for the tables there are.

use wetstring_proto::settings::{AsText, BadSetting, Choice, Range, Setting, Settings};
use wetstring_proto::{BitRate, Span, choice, settings};

choice! {
    /// Who begins.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Role {
        /// This end.
        Call = "call",
        /// The peer.
        Answer = "answer",
    }
}

/// An even number of letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pairs(usize);

impl AsText for Pairs {
    fn parse(text: &str) -> Option<Self> {
        text.len().is_multiple_of(2).then_some(Self(text.len()))
    }

    fn show(&self, out: &mut dyn std::fmt::Write) -> std::fmt::Result {
        (0..self.0).try_for_each(|_| out.write_str("x"))
    }
}

fn is_even(number: u64) -> bool {
    number.is_multiple_of(2)
}

fn is_short(pairs: Pairs) -> bool {
    pairs.0 <= 4
}

settings! {
    /// A part of another.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub(crate) struct Part {
        "t.checksum" checksum: bool[word] = "on",
            "Checksums", "RFC 0";
    }
}

settings! {
    /// One row of each kind.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub(crate) struct Config {
        "t.role" role: Role[word] = "answer",
            "Who begins", "RFC 1";
        "t.window" window: u8[1..=94 "packets"] = 7,
            "Packets under way", "RFC 2", no_flag;
        "t.even" even: u16[0..=1000 if is_even] = 1000,
            "An even number", "RFC 3";
        "t.packet" packet: usize[32 | 64 | 1024 "bytes"] = 64,
            "Length of a packet", "RFC 4";
        "t.timeout" timeout: Span[1..=600 seconds] = 10,
            "Longest wait", "RFC 5";
        "t.pause" pause: Span[0..=60_000 milliseconds] = 1_500,
            "Pause", "RFC 6";
        "t.rate" rate: BitRate[0..=1_000_000_000_000 bits_per_second] = 9600,
            "Never faster", "RFC 7";
        "t.pairs" pairs: Pairs[text Range::Text, Pairs(2), if is_short] = "xx",
            "Pairs of letters", "RFC 8";
    }
    parts {
        /// Comes first.
        part: Part,
    }
    also {
        /// No setting.
        extra: u32 = 5,
    }
}

fn shown(config: &impl Settings, name: &str) -> String {
    let mut out = String::new();
    config.show(name, &mut out).unwrap();
    out
}

fn row(name: &str) -> &'static Setting {
    Setting::find(Config::TABLE, name).unwrap()
}

#[test]
fn a_field_has_the_default_of_its_row() {
    let expected = Config {
        part: Part { checksum: true },
        extra: 5,
        role: Role::Answer,
        window: 7,
        even: 1000,
        packet: 64,
        timeout: Span::from_secs(10),
        pause: Span::from_millis(1500),
        rate: BitRate::from_bps(9600),
        pairs: Pairs(2),
    };
    assert_eq!(Config::default(), expected);
}

#[test]
fn the_table_is_the_rows_after_those_of_the_parts() {
    let names: Vec<&str> =
        Config::TABLE.iter().map(|row| row.name.split_once('.').unwrap().1).collect();
    let expected =
        ["checksum", "role", "window", "even", "packet", "timeout", "pause", "rate", "pairs"];
    assert_eq!(names, expected);
    let pause = Setting {
        name: "t.pause",
        range: Range::Number(0, 60_000),
        default: "1500",
        unit: "milliseconds",
        doc: "Pause",
        source: "RFC 6",
        has_flag: true,
        keywords: &[],
        spellings: &[],
    };
    assert_eq!(*row("t.pause"), pause);
    assert!(!row("t.window").has_flag);
    assert_eq!((row("t.window").unit, row("t.rate").unit), ("packets", "bit/s"));
    assert_eq!(
        (row("t.packet").range.to_string(), row("t.packet").default),
        ("32|64|1024".into(), "64")
    );
    assert_eq!(row("t.role").range, Range::Word(Role::WORDS));
}

#[test]
fn what_is_set_is_shown() {
    let mut config = Config::default();
    for (name, value) in [
        ("t.checksum", "off"),
        ("t.role", "call"),
        ("t.window", "94"),
        ("t.even", "0"),
        ("t.packet", "1024"),
        ("t.timeout", "600"),
        ("t.pause", "0"),
        ("t.rate", "1000000000000"),
        ("t.pairs", "xxxx"),
    ] {
        config.set(name, value).unwrap();
        assert_eq!(shown(&config, name), value, "{name}");
    }
    let expected = Config {
        part: Part { checksum: false },
        extra: 5,
        role: Role::Call,
        window: 94,
        even: 0,
        packet: 1024,
        timeout: Span::from_secs(600),
        pause: Span::ZERO,
        rate: BitRate::from_bps(1_000_000_000_000),
        pairs: Pairs(4),
    };
    assert_eq!(config, expected);
}

#[test]
fn invalid_value_changes_nothing_and_is_named() {
    let mut config = Config::default();
    for (name, values) in [
        ("t.checksum", &["", "On", "true", "1"][..]),
        ("t.role", &["", "both", "Call"]),
        ("t.window", &["", "0", "95", "300", "-1", "7 ", "0x7", "7.0"]),
        ("t.even", &["7", "1001", "1002"]),
        ("t.packet", &["", "0", "33", "064", "2048"]),
        ("t.timeout", &["0", "601", "10s"]),
        ("t.pause", &["60001", "18446744073709551616"]),
        ("t.rate", &["1000000000001", "9600.5"]),
        ("t.pairs", &["xxx", "xxxxxx"]),
    ] {
        for value in values {
            assert_eq!(
                config.set(name, value),
                Err(BadSetting::Value(row(name))),
                "{name}={value}"
            );
        }
    }
    assert_eq!(config.set("t.nothing", "1"), Err(BadSetting::Unknown));
    assert_eq!(config.set("window", "1"), Err(BadSetting::Unknown));
    assert!(config.show("t.nothing", &mut String::new()).is_err());
    assert_eq!(config, Config::default());
    let say = |name, value| Config::default().set(name, value).unwrap_err().to_string();
    assert_eq!(say("t.role", "both"), "t.role takes call|answer");
    assert_eq!(say("t.timeout", "0"), "t.timeout takes 1..600");
}

#[test]
fn each_word_has_one_value() {
    assert_eq!(Role::WORDS, ["call", "answer"]);
    assert_eq!((Role::named("answer"), Role::Call.word()), (Some(Role::Answer), "call"));
    assert_eq!(Role::named("Answer"), None);
}

/// What must hold for every table: each default is what is shown and can be set, no name stands twice.
fn holds<C: Settings + Default + PartialEq + std::fmt::Debug>(table: &'static [Setting]) {
    for (index, row) in table.iter().enumerate() {
        let mut config = C::default();
        assert_eq!(shown(&config, row.name), row.default, "{}", row.name);
        config.set(row.name, row.default).unwrap();
        assert_eq!(config, C::default(), "{}", row.name);
        assert!(!row.doc.is_empty() && !row.source.is_empty(), "{}", row.name);
        assert!(table[..index].iter().all(|other| other.name != row.name), "{} twice", row.name);
        let (Range::Number(low, high), mut config) = (row.range, C::default()) else { continue };
        for value in [low.checked_sub(1), high.checked_add(1)].into_iter().flatten() {
            assert_eq!(config.set(row.name, &value.to_string()), Err(BadSetting::Value(row)));
        }
        for value in [low, high].map(|value| value.to_string()) {
            config.set(row.name, &value).unwrap();
            assert_eq!(shown(&config, row.name), value, "{}", row.name);
        }
    }
}

#[test]
fn every_protocol_keeps_its_table() {
    use wetstring_proto::{arpanet, kermit, netblt, uucp, xymodem, zmodem};
    holds::<kermit::Config>(kermit::Config::TABLE);
    holds::<xymodem::Config>(xymodem::Config::TABLE);
    holds::<zmodem::Config>(zmodem::Config::TABLE);
    holds::<netblt::Config>(netblt::Config::TABLE);
    holds::<uucp::Config>(uucp::Config::TABLE);
    holds::<arpanet::Config>(arpanet::Config::TABLE);
    holds::<Config>(Config::TABLE);
}
