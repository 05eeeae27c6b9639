//! Functions, `\fname(arguments)`.
//!
//! Arguments are separated by commas outside braces and parentheses. Braces around one hold its blanks and
//! commas. Each is evaluated before the function is called.

mod code;
mod dates;
mod disk;
mod error;
mod floats;
mod lists;
mod numbers;
mod strings;

use crate::arith::Bad;
use crate::interp::Interp;
use crate::keywords::{Found, lookup};
use crate::text::{closing, lossy, trim};
use crate::trouble::Trouble;
pub(crate) use error::FunctionError;

/// The result of a function: its value, or its error.
pub(crate) type Given = Result<Vec<u8>, FunctionError>;

/// A value, an error of the function, or a fatal error.
type Applied = Result<Result<Vec<u8>, String>, Trouble>;

/// The names, sorted. Synonyms have the same second part.
const NAMES: &[(&str, &str)] = &[
    ("_eof", "_eof"),
    ("_errmsg", "_errmsg"),
    ("_getblock", "_getblock"),
    ("_getchar", "_getchar"),
    ("_getline", "_getline"),
    ("_handle", "_handle"),
    ("_line", "_line"),
    ("_pos", "_pos"),
    ("_putblock", "_putblock"),
    ("_putchar", "_putchar"),
    ("_putline", "_putline"),
    ("_status", "_status"),
    ("absolute", "absolute"),
    ("arraylook", "arraylook"),
    ("b64decode", "b64decode"),
    ("b64encode", "b64encode"),
    ("basename", "basename"),
    ("break", "break"),
    ("capitalize", "capitalize"),
    ("character", "character"),
    ("checksum", "checksum"),
    ("cmdstack", "cmdstack"),
    ("cmpdates", "cmpdates"),
    ("code", "code"),
    ("command", "command"),
    ("contents", "contents"),
    ("count", "count"),
    ("crc16", "crc16"),
    ("cvtdate", "cvtdate"),
    ("date", "date"),
    ("day", "day"),
    ("dayname", "dayname"),
    ("dayofyear", "doy"),
    ("decodehex", "decodehex"),
    ("definition", "definition"),
    ("delta2secs", "delta2secs"),
    ("diffdates", "diffdates"),
    ("dimension", "dimension"),
    ("directories", "directories"),
    ("dirname", "dirname"),
    ("dos2unixpath", "dos2unixpath"),
    ("dostounixpath", "dos2unixpath"),
    ("doy", "doy"),
    ("doy2date", "doy2date"),
    ("emailaddress", "emailaddress"),
    ("errstring", "errstring"),
    ("evaluate", "evaluate"),
    ("execute", "execute"),
    ("filecompare", "filecompare"),
    ("fileinfo", "fileinfo"),
    ("files", "files"),
    ("fpabsolute", "fpabsolute"),
    ("fpadd", "fpadd"),
    ("fpcosine", "fpcosine"),
    ("fpdivide", "fpdivide"),
    ("fpexp", "fpexp"),
    ("fpint", "fpint"),
    ("fplog10", "fplog10"),
    ("fplogn", "fplogn"),
    ("fpmaximum", "fpmaximum"),
    ("fpminimum", "fpminimum"),
    ("fpmodulus", "fpmodulus"),
    ("fpmultiply", "fpmultiply"),
    ("fpraise", "fpraise"),
    ("fpround", "fpround"),
    ("fpsine", "fpsine"),
    ("fpsqrt", "fpsqrt"),
    ("fpsubtract", "fpsubtract"),
    ("fptangent", "fptangent"),
    ("function", "function"),
    ("hex2ip", "hex2ip"),
    ("hex2n", "hex2n"),
    ("hexify", "hexify"),
    ("index", "index"),
    ("ip2hex", "ip2hex"),
    ("ipaddress", "ipaddress"),
    ("jdate", "jdate"),
    ("join", "join"),
    ("keywordvalue", "keywordvalue"),
    ("left", "left"),
    ("length", "length"),
    ("literal", "literal"),
    ("lop", "lop"),
    ("lopx", "lopx"),
    ("lower", "lower"),
    ("lpad", "lpad"),
    ("ltrim", "ltrim"),
    ("maximum", "maximum"),
    ("minimum", "minimum"),
    ("mjd", "mjd"),
    ("mjd2date", "mjd2date"),
    ("mjdtodate", "mjd2date"),
    ("modulus", "modulus"),
    ("monthname", "monthname"),
    ("msleep", "msleep"),
    ("n2hex", "n2hex"),
    ("n2octal", "n2octal"),
    ("n2time", "n2time"),
    ("nday", "nday"),
    ("nextfile", "nextfile"),
    ("ntime", "ntime"),
    ("oct2n", "oct2n"),
    ("pathname", "pathname"),
    ("pattern", "pattern"),
    ("permissions", "permissions"),
    ("radix", "radix"),
    ("random", "random"),
    ("rawcommand", "rawcommand"),
    ("rdirectories", "rdirectories"),
    ("recurse", "recurse"),
    ("repeat", "repeat"),
    ("replace", "replace"),
    ("reverse", "reverse"),
    ("rfiles", "rfiles"),
    ("right", "right"),
    ("rindex", "rindex"),
    ("rpad", "rpad"),
    ("rsearch", "rsearch"),
    ("search", "search"),
    ("sexpression", "sexpression"),
    ("size", "size"),
    ("sleep", "sleep"),
    ("span", "span"),
    ("split", "split"),
    ("squeeze", "squeeze"),
    ("strcmp", "strcmp"),
    ("stringtype", "stringtype"),
    ("stripb", "stripb"),
    ("stripn", "stripn"),
    ("stripx", "stripx"),
    ("substitute", "substitute"),
    ("substring", "substring"),
    ("tablelook", "tablelook"),
    ("time", "time"),
    ("tod2secs", "tod2secs"),
    ("trim", "trim"),
    ("unhexify", "unhexify"),
    ("unix2dospath", "unix2dospath"),
    ("unixtodospath", "unix2dospath"),
    ("untabify", "untabify"),
    ("upper", "upper"),
    ("utcdate", "utcdate"),
    ("verify", "verify"),
    ("word", "word"),
];

/// Customary abbreviations with a fixed meaning.
const CUSTOM: &[(&str, &str)] = &[
    ("com", "command"),
    ("con", "contents"),
    ("cou", "count"),
    ("dim", "dimension"),
    ("exe", "execute"),
    ("exec", "execute"),
    ("file", "files"),
    ("mod", "modulus"),
    ("rep", "repeat"),
    ("sub", "substring"),
    ("subs", "substring"),
    ("verif", "verify"),
];

/// Names of functions, sorted.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, _)| *name)
}

fn find(name: &[u8]) -> Option<&'static str> {
    let small = name.to_ascii_lowercase();
    let custom = CUSTOM.iter().find(|(short, _)| short.as_bytes() == small.as_slice());
    if let Some((_, whole)) = custom {
        return Some(whole);
    }
    match lookup(NAMES, &small) {
        Found::One(name) => Some(name),
        _ => None,
    }
}

/// Whether a function of this name exists.
pub(crate) fn is_known(name: &[u8]) -> bool {
    find(name.strip_prefix(b"\\f").unwrap_or(name)).is_some()
}

/// Arguments of a function.
pub(crate) struct Arguments {
    /// Evaluated.
    values: Vec<Vec<u8>>,
}

impl Arguments {
    pub(crate) fn text(&self, index: usize) -> &[u8] {
        self.values.get(index).map_or(&[], Vec::as_slice)
    }

    /// A required argument.
    pub(crate) fn needed(&self, index: usize) -> Result<&[u8], FunctionError> {
        let text = self.text(index);
        if text.is_empty() { Err(FunctionError::MissingArg) } else { Ok(text) }
    }

    pub(crate) fn is_missing(&self, index: usize) -> bool {
        trim(self.text(index)).is_empty()
    }
}

impl Interp<'_> {
    /// A number argument, or its default.
    pub(crate) fn argument(
        &mut self,
        arguments: &Arguments,
        index: usize,
        default: Option<i64>,
    ) -> Result<i64, FunctionError> {
        if arguments.is_missing(index) {
            return default.ok_or(FunctionError::MissingArg);
        }
        self.arithmetic(arguments.text(index)).map_err(arith_error)
    }

    /// Calls a function; `raw` is the text in its parentheses.
    pub(crate) fn apply(&mut self, name: &[u8], raw: &[u8]) -> Applied {
        let Some(name) = find(name) else {
            return Ok(Err(format!("<ERROR:NO_SUCH_FUNCTION:\\f{}()>", lossy(name))));
        };
        match name {
            "literal" => return Ok(Ok(raw.to_vec())),
            "contents" => {
                let key = self.key(trim(raw))?;
                return Ok(Ok(self.value(&key).unwrap_or_default()));
            }
            "definition" => {
                let name = self.expand(trim(raw))?;
                let key = self.key(&name)?;
                return Ok(Ok(self.value(&key).unwrap_or_default()));
            }
            "execute" => return self.execute(raw),
            "sexpression" => {
                let text = self.expand(raw)?;
                return Ok(self.s_value(&text).map_err(|error| {
                    format!("<ERROR:{}:\\fsexpression()>", error.to_uppercase().replace(' ', "_"))
                }));
            }
            _ => {}
        }
        let mut values = Vec::new();
        for field in split(raw) {
            let field = trim(field);
            let field = match field {
                [b'{', inner @ .., b'}'] => inner,
                other => other,
            };
            let whole_array = field.starts_with(b"\\&") && field.ends_with(b"[]");
            values.push(if whole_array { field.to_vec() } else { self.expand(field)? });
        }
        let given = self.dispatch(name, &Arguments { values });
        match given {
            Ok(value) => {
                self.check_len(value.len())?;
                Ok(Ok(value))
            }
            Err(FunctionError::TooLong) => Err(Trouble::new(format!(
                "\\f{name}() would give more than {} bytes",
                self.limits.value
            ))),
            Err(error) => Ok(Err(format!("<ERROR:{}:\\f{name}()>", error.name()))),
        }
    }

    fn dispatch(&mut self, name: &str, a: &Arguments) -> Given {
        if let Some(given) = self.string_function(name, a) {
            return given;
        }
        if let Some(given) = self.number_function(name, a) {
            return given;
        }
        if let Some(given) = self.list_function(name, a) {
            return given;
        }
        if let Some(given) = self.date_function(name, a) {
            return given;
        }
        if let Some(given) = self.code_function(name, a) {
            return given;
        }
        if let Some(name) = name.strip_prefix("fp") {
            return self.float_function(name, a);
        }
        self.disk_function(name, a).unwrap_or(Err(FunctionError::NoSuchFunction))
    }

    /// `\fexecute(macro arguments)` or `\fexecute(macro,arguments)`
    fn execute(&mut self, raw: &[u8]) -> Applied {
        let mut fields = Vec::new();
        for field in split(raw) {
            fields.push(field);
        }
        let mut all = Vec::new();
        for field in fields {
            all.extend(self.macro_arguments(field)?);
        }
        if all.is_empty() {
            return Ok(Err("<ERROR:MISSING_ARG:\\fexecute()>".to_owned()));
        }
        let name = all.remove(0);
        if self.variables.text(&crate::text::lower(&name)).is_none() {
            return Ok(Err(format!("<ERROR:NO_SUCH_MACRO:\\fexecute({})>", lossy(&name))));
        }
        // The caller's evaluation is not finished; the macro's own evaluations are counted from zero, and macro
        // levels are bounded.
        let nested = std::mem::take(&mut self.nested);
        self.returned.clear();
        let flow = self.call(&name, all);
        self.nested = nested;
        match flow? {
            crate::trouble::Flow::Stop | crate::trouble::Flow::Exit(_) => {
                Err(Trouble::fatal(format!("macro {} stopped the script", lossy(&name))))
            }
            _ => Ok(Ok(self.returned.clone())),
        }
    }
}

/// Fields between commas.
fn split(raw: &[u8]) -> Vec<&[u8]> {
    let mut fields = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while at < raw.len() {
        match raw[at] {
            b'\\' => at += 1,
            b'{' | b'(' => at = closing(raw, at).unwrap_or(at),
            b',' => {
                fields.push(&raw[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    fields.push(&raw[begin.min(raw.len())..]);
    fields
}

pub(crate) fn arith_error(bad: Bad) -> FunctionError {
    match bad {
        Bad::Empty => FunctionError::MissingArg,
        Bad::NotNumeric => FunctionError::ArgNotNumeric,
        Bad::ByZero => FunctionError::DivideByZero,
        Bad::TooLarge => FunctionError::ArgOutOfRange,
    }
}

/// A number as text.
pub(crate) fn digits<T: ToString + Copy>(value: T) -> Given {
    Ok(value.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_found() {
        assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (short, whole) in [
            ("len", "length"),
            ("sub", "substring"),
            ("exec", "execute"),
            ("lpad", "lpad"),
            ("fpadd", "fpadd"),
            ("rev", "reverse"),
            ("eval", "evaluate"),
        ] {
            assert_eq!(find(short.as_bytes()), Some(whole));
        }
        assert_eq!(find(b"fp"), None);
    }

    #[test]
    fn fields_are_split_outside_braces() {
        assert_eq!(split(b"a,{b,c},(d,e)"), [&b"a"[..], b"{b,c}", b"(d,e)"]);
        assert_eq!(split(b""), [b""]);
        assert_eq!(split(b"a\\,b"), [b"a\\,b"]);
        assert_eq!(split(b"a\\"), [b"a\\"]);
    }
}
