//! Reading a command line as `getopt_long` does: bundles (`-vvb`), values joined or apart (`-w8192`,
//! `-w 8192`), long options with `=` or without, cut to any length that is not ambiguous, operands
//! between options, and `--`.

use std::ffi::OsString;
use wetstring_drive::os::files;

/// Whether an option has a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Takes {
    /// None.
    Nothing,
    /// One.
    Value,
    /// One, after `=` only.
    Maybe,
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec {
    /// One letter or sign; 0 if there is none.
    pub(super) short: u8,
    /// Its long name, which also identifies it in the code.
    pub(super) long: &'static str,
    /// Whether it has a value.
    pub(super) takes: Takes,
    /// Its help; empty if hidden.
    pub(super) help: &'static str,
}

/// An option that was given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Given {
    /// The long name.
    pub(super) name: &'static str,
    /// Its value, or empty.
    pub(super) value: OsString,
}

/// Reads the words after the program's name: options in their order, and the operands.
pub(super) fn read(
    specs: &[Spec],
    words: &[OsString],
) -> Result<(Vec<Given>, Vec<OsString>), String> {
    let (mut given, mut operands) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_encoded_bytes() {
            b"--" => {
                operands.extend(words.by_ref().cloned());
            }
            [b'-', b'-', long @ ..] => given.push(read_long(specs, long, &mut words)?),
            [b'-', shorts @ ..] if !shorts.is_empty() => {
                read_shorts(specs, shorts, &mut words, &mut given)?;
            }
            _ => operands.push(word.clone()),
        }
    }
    Ok((given, operands))
}

fn text(bytes: &[u8]) -> String {
    crate::ui::format::escaped(bytes)
}

fn read_long<'w>(
    specs: &[Spec],
    word: &[u8],
    words: &mut impl Iterator<Item = &'w OsString>,
) -> Result<Given, String> {
    let split = word.iter().position(|byte| *byte == b'=');
    let (name, value) = split.map_or((word, None), |at| (&word[..at], Some(&word[at + 1..])));
    let whole = specs.iter().find(|spec| spec.long.as_bytes() == name);
    let mut begun = specs.iter().filter(|spec| spec.long.as_bytes().starts_with(name));
    let spec = match (whole, begun.next(), begun.next()) {
        (Some(spec), ..) | (None, Some(spec), None) => spec,
        (None, None, _) => return Err(format!("no such option: --{}", text(name))),
        (None, Some(_), Some(_)) => return Err(format!("--{} is ambiguous", text(name))),
    };
    let value = match (spec.takes, value) {
        (Takes::Nothing, Some(_)) => return Err(format!("--{} takes no value", spec.long)),
        (Takes::Value, None) => words
            .next()
            .cloned()
            .ok_or_else(|| format!("expected a value after --{}", spec.long))?,
        (_, value) => files::owned_name(value.unwrap_or_default().to_vec()),
    };
    Ok(Given { name: spec.long, value })
}

fn read_shorts<'w>(
    specs: &[Spec],
    mut shorts: &[u8],
    words: &mut impl Iterator<Item = &'w OsString>,
    given: &mut Vec<Given>,
) -> Result<(), String> {
    while let [short, rest @ ..] = shorts {
        let spec = specs.iter().find(|spec| spec.short == *short && spec.short != 0);
        let spec = spec.ok_or_else(|| format!("no such option: -{}", text(&[*short])))?;
        let mut value = OsString::new();
        shorts = rest;
        if spec.takes == Takes::Value {
            value = if rest.is_empty() {
                let next = words.next().cloned();
                next.ok_or_else(|| format!("expected a value after -{}", text(&[*short])))?
            } else {
                files::owned_name(rest.to_vec())
            };
            shorts = &[];
        }
        given.push(Given { name: spec.long, value });
    }
    Ok(())
}

/// A number as a value, within bounds.
pub(super) fn number(given: &Given, low: u64, high: u64) -> Result<u64, String> {
    let value = given.value.to_str().and_then(|value| value.parse().ok());
    value.filter(|value| (low..=high).contains(value)).ok_or_else(|| {
        let got = text(given.value.as_encoded_bytes());
        format!("expected a number from {low} to {high} after --{}, got {got}", given.name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn spec(short: u8, long: &'static str, takes: Takes) -> Spec {
        Spec { short, long, takes, help: "" }
    }

    /// Options with their values, and operands.
    type Lines = (Vec<(&'static str, String)>, Vec<String>);

    const SPECS: &[Spec] = &[
        spec(b'v', "verbose", Takes::Nothing),
        spec(b'w', "windowsize", Takes::Value),
        spec(b'm', "min-bps", Takes::Value),
        spec(b'M', "min-bps-time", Takes::Value),
        spec(b'+', "append", Takes::Nothing),
        spec(0, "syslog", Takes::Maybe),
        spec(0, "version", Takes::Nothing),
    ];

    fn read_line(line: &str) -> Result<Lines, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let (given, operands) = read(SPECS, &words)?;
        let plain = |text: OsString| text.into_string().unwrap();
        let given = given.into_iter().map(|g| (g.name, plain(g.value))).collect();
        Ok((given, operands.into_iter().map(plain).collect()))
    }

    #[test]
    fn options_are_read_as_getopt_does() {
        let (given, operands) = read_line("-vv a -+w 8192 --min-bps=5 b --min-bps-time 7").unwrap();
        let names: Vec<&str> = given.iter().map(|(name, _)| *name).collect();
        let wanted = ["verbose", "verbose", "append", "windowsize", "min-bps", "min-bps-time"];
        assert_eq!(names, wanted);
        assert_eq!((&*given[3].1, &*given[4].1, &*given[5].1), ("8192", "5", "7"));
        assert_eq!(operands, ["a", "b"]);
        let (given, operands) = read_line("-w512 --verb --syslog=off --syslog -- -v -").unwrap();
        assert_eq!(given[0], ("windowsize", "512".to_owned()));
        assert_eq!(given[1].0, "verbose");
        assert_eq!((&*given[2].1, &*given[3].1), ("off", ""));
        assert_eq!(operands, ["-v", "-"]);
        assert_eq!(read_line("- x").unwrap().1, ["-", "x"]);
    }

    #[test]
    fn bad_options_are_reported() {
        for (line, say) in [
            ("-k", "no such option: -k"),
            ("--nosuch", "no such option: --nosuch"),
            ("--ver", "--ver is ambiguous"),
            ("--verbose=2", "--verbose takes no value"),
            ("-w", "expected a value after -w"),
            ("--windowsize", "expected a value after --windowsize"),
        ] {
            assert_eq!(read_line(line).unwrap_err(), say, "{line}");
        }
    }

    #[test]
    fn numbers_have_bounds() {
        let given = |value: &str| Given { name: "windowsize", value: value.into() };
        assert_eq!(number(&given("32"), 32, 64), Ok(32));
        assert!(number(&given("31"), 32, 64).is_err());
        assert!(number(&given("x"), 32, 64).is_err());
    }
}
