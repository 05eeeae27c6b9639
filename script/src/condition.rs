//! Conditions of IF, XIF and WHILE.

use crate::fields::Fields;
use crate::interp::Interp;
use crate::keywords::{Found, verb, word_of};
use crate::pattern::matches;
use crate::text::{float, integer, lossy, lower, trim};
use crate::trouble::Trouble;
use crate::world::{Facts, Kind};

/// Maximum nesting of conditions.
const DEPTH: usize = 60;

const KEYWORDS: &[&str] = &[
    "absolute",
    "alarm",
    "available",
    "background",
    "binary",
    "c-kermit",
    "command",
    "count",
    "debug",
    "declared",
    "defined",
    "directory",
    "emulation",
    "eq",
    "equal",
    "error",
    "exist",
    "fail",
    "failure",
    "false",
    "flag",
    "float",
    "foreground",
    "function",
    "iksd",
    "integer",
    "kbhit",
    "kerbang",
    "lge",
    "lgt",
    "link",
    "lle",
    "llt",
    "local",
    "match",
    "ms-kermit",
    "neq",
    "newer",
    "not",
    "numeric",
    "ok",
    "open",
    "quiet",
    "readable",
    "remote-only",
    "success",
    "text",
    "true",
    "version",
    "wild",
    "writeable",
];

impl Interp<'_> {
    /// Parses and evaluates a condition. Every part of it is evaluated.
    pub(crate) fn condition(&mut self, fields: &mut Fields<'_>) -> Result<bool, Trouble> {
        self.alternatives(fields, 0, false)
    }

    fn alternatives(
        &mut self,
        fields: &mut Fields<'_>,
        depth: usize,
        inside: bool,
    ) -> Result<bool, Trouble> {
        if depth > DEPTH {
            return Err(Trouble::new(format!("more than {DEPTH} nested conditions")));
        }
        // AND binds tighter than OR.
        let mut any = false;
        let mut all = self.simple(fields, depth)?;
        loop {
            let joint = fields.peek().filter(|word| !word.grouped).map(|word| lower(word.text));
            match joint.as_deref() {
                Some(b"and" | b"&&") => {
                    fields.field();
                    let next = self.simple(fields, depth)?;
                    all = all && next;
                }
                Some(b"or" | b"||") => {
                    fields.field();
                    any |= all;
                    all = self.simple(fields, depth)?;
                }
                Some(b")") if inside => {
                    fields.field();
                    return Ok(any | all);
                }
                _ if inside => return Err(Trouble::new("expected ) in a condition")),
                _ => return Ok(any | all),
            }
        }
    }

    fn simple(&mut self, fields: &mut Fields<'_>, depth: usize) -> Result<bool, Trouble> {
        if fields.at(b'(') {
            fields.skip(1);
            return self.alternatives(fields, depth + 1, true);
        }
        let missing = || Trouble::new("expected a condition, got nothing");
        let word = fields.field().ok_or_else(missing)?;
        if word.text.len() > 1 && word.text[0] == b'!' && word.text[1] != b'=' {
            return Err(Trouble::new("expected a blank after !"));
        }
        match word.text {
            b"!" => return self.negated(fields, depth),
            b"=" | b"==" | b"!=" | b"<" | b"<=" | b">" | b">=" => {
                return self.compared(word.text, fields);
            }
            _ => {}
        }
        match word_of(KEYWORDS, word.text) {
            Found::One("not") => self.negated(fields, depth),
            Found::One(keyword) => self.keyword(keyword, fields),
            _ => {
                let text = self.expand(word.text)?;
                self.constant(&text)
            }
        }
    }

    fn negated(&mut self, fields: &mut Fields<'_>, depth: usize) -> Result<bool, Trouble> {
        if depth > DEPTH {
            return Err(Trouble::new(format!("more than {DEPTH} nested conditions")));
        }
        Ok(!self.simple(fields, depth + 1)?)
    }

    fn constant(&mut self, text: &[u8]) -> Result<bool, Trouble> {
        if let Some(value) = integer(text) {
            return Ok(value != 0);
        }
        let named = self.variables.text(&lower(trim(text))).cloned();
        if let Some(value) = named.as_deref().and_then(integer) {
            return Ok(value != 0);
        }
        let say = format!("expected a condition or a number, got {}", lossy(text));
        self.number(text).map(|value| value != 0).map_err(|_| Trouble::new(say))
    }

    fn compared(&mut self, operator: &[u8], fields: &mut Fields<'_>) -> Result<bool, Trouble> {
        let (a, b) = (self.operand(fields)?, self.operand(fields)?);
        let order = {
            if let (Ok(a), Ok(b)) = (self.arithmetic(&a), self.arithmetic(&b)) {
                a.cmp(&b)
            } else {
                let number = |text: &[u8]| {
                    let say = format!("expected a number, got {}", lossy(text));
                    float(text).ok_or_else(|| Trouble::new(say))
                };
                let value = |this: &mut Self, text: &[u8]| {
                    this.arithmetic(text).map_or_else(|_| number(text), |v| Ok(v as f64))
                };
                value(self, &a)?.total_cmp(&value(self, &b)?)
            }
        };
        Ok(match operator {
            b"=" | b"==" => order.is_eq(),
            b"!=" => order.is_ne(),
            b"<" => order.is_lt(),
            b"<=" => order.is_le(),
            b">" => order.is_gt(),
            _ => order.is_ge(),
        })
    }

    fn operand(&mut self, fields: &mut Fields<'_>) -> Result<Vec<u8>, Trouble> {
        let missing = || Trouble::new("expected another operand, got nothing");
        let word = fields.field().ok_or_else(missing)?;
        self.expand(word.text)
    }

    /// Text in the case used for comparison.
    fn folded(&self, text: Vec<u8>) -> Vec<u8> {
        if self.settings.case { text } else { lower(&text) }
    }

    fn keyword(&mut self, keyword: &str, fields: &mut Fields<'_>) -> Result<bool, Trouble> {
        Ok(match keyword {
            "eq" | "equal" | "neq" | "llt" | "lle" | "lgt" | "lge" => {
                let (a, b) = (self.operand(fields)?, self.operand(fields)?);
                let order = self.folded(a).cmp(&self.folded(b));
                match keyword {
                    "eq" | "equal" => order.is_eq(),
                    "neq" => order.is_ne(),
                    "llt" => order.is_lt(),
                    "lle" => order.is_le(),
                    "lgt" => order.is_gt(),
                    _ => order.is_ge(),
                }
            }
            "success" | "ok" => self.status == 0,
            "failure" | "fail" | "error" => self.status != 0,
            "true" | "foreground" | "c-kermit" => true,
            "false" | "background" | "debug" | "emulation" | "iksd" | "ms-kermit" | "kerbang"
            | "remote-only" => false,
            "flag" => self.settings.flag,
            "quiet" => self.settings.quiet,
            "local" => self.world.is_connected(),
            "kbhit" => self.world.key(Some(std::time::Duration::ZERO)).is_some(),
            "alarm" => {
                let now = self.world.now().unix_ns;
                self.settings.alarm_ns.is_some_and(|at| at <= now)
            }
            "count" => {
                let level = self.level();
                level.count = (level.count - 1).max(0);
                level.count > 0
            }
            "open" => self.is_open(fields)?,
            _ => return self.keyword_of_one(keyword, fields),
        })
    }

    fn keyword_of_one(&mut self, keyword: &str, fields: &mut Fields<'_>) -> Result<bool, Trouble> {
        let missing = || Trouble::new(format!("expected an argument of {keyword}, got nothing"));
        let raw = fields.field().ok_or_else(missing)?.text;
        if keyword == "defined" || keyword == "declared" {
            let key = self.key(raw)?;
            return Ok(self.value(&key).is_some());
        }
        let text = self.expand(raw)?;
        Ok(match keyword {
            "numeric" | "integer" => integer(&text).is_some(),
            "float" => float(&text).is_some(),
            "version" => self.number(&text)? <= 1_000_402,
            "command" => matches!(verb(&text), Found::One(_)),
            "function" => crate::functions::is_known(&text),
            "wild" => text.iter().any(|b| matches!(b, b'*' | b'?' | b'[' | b'{')),
            "absolute" => text.starts_with(b"/") || text.starts_with(b"~"),
            "match" => {
                let pattern = self.operand(fields)?;
                matches(&pattern, &text, self.settings.case)
            }
            "newer" => {
                let other = self.operand(fields)?;
                let time = |this: &mut Self, name: &[u8]| {
                    let facts = this.world.files().facts(name, true);
                    let say = format!("no such file: {}", lossy(name));
                    facts.map(|facts| facts.modified_s).ok_or_else(|| Trouble::new(say))
                };
                time(self, &text)? > time(self, &other)?
            }
            _ => self.file_condition(keyword, &text)?,
        })
    }

    fn file_condition(&mut self, keyword: &str, name: &[u8]) -> Result<bool, Trouble> {
        let is = |this: &mut Self, follow: bool, what: fn(&Facts) -> bool| {
            this.world.files().facts(name, follow).is_some_and(|facts| what(&facts))
        };
        Ok(match keyword {
            "exist" => is(self, true, |_| true) || !self.matching(name, false)?.is_empty(),
            "readable" => is(self, true, |facts| facts.readable),
            "writeable" => is(self, true, |facts| facts.writeable),
            "directory" => is(self, true, |facts| facts.kind == Kind::Directory),
            "link" => is(self, false, |facts| facts.kind == Kind::Link),
            "text" => is(self, true, |f| f.kind == Kind::File) && self.looks_like_text(name)?,
            "binary" => is(self, true, |f| f.kind == Kind::File) && !self.looks_like_text(name)?,
            _ => false,
        })
    }

    fn is_open(&mut self, fields: &mut Fields<'_>) -> Result<bool, Trouble> {
        let what = self.operand(fields)?;
        let known = [
            "append-file",
            "connection",
            "cx-log",
            "debug-log",
            "error",
            "packet-log",
            "read-file",
            "screen",
            "session-log",
            "transaction-log",
            "write-file",
        ];
        match word_of(&known, &what) {
            Found::One("connection") => Ok(self.world.is_connected()),
            Found::One("error" | "screen") => Ok(true),
            Found::One("read-file") => Ok(self.channels.reading.is_some()),
            Found::One("write-file" | "append-file") => Ok(self.channels.writing.is_some()),
            Found::One(log) => Ok(self.kept.contains_key(&format!("log.{log}"))),
            _ => {
                Err(Trouble::new(format!("expected READ-FILE or WRITE-FILE, got {}", lossy(&what))))
            }
        }
    }
}
