//! S-expressions: `(setq x 5)`, `(+ 1 (* 2 3))`, as commands and in \fsexpression().

use crate::interp::Interp;
use crate::text::{closing, float, integer, lossy, lower, trim};
use crate::trouble::{Flow, Trouble};
use crate::variables::Key;
use crate::world::Screen;

/// Maximum nesting of expressions.
const DEPTH: usize = 60;

impl Interp<'_> {
    /// An S-expression as a command: shows its value, unless it was an assignment.
    pub(crate) fn s_expression(&mut self, text: &[u8]) -> Result<Flow, Trouble> {
        let text = self.expand(text)?;
        let value = self.s_value(&text).map_err(Trouble::new)?;
        self.status = 0;
        if !value.is_empty() && self.levels.len() == 1 {
            self.world.say(Screen::Output, &[&value[..], b"\n"].concat());
        }
        Ok(Flow::Next)
    }

    /// The value of an S-expression whose backslashes are already expanded.
    pub(crate) fn s_value(&mut self, text: &[u8]) -> Result<Vec<u8>, String> {
        let text = trim(text);
        // A function's parentheses are those of the expression.
        if text.first() == Some(&b'(') || !text.iter().any(|b| crate::text::is_blank(*b)) {
            return self.s_at(text, 0);
        }
        self.s_at(&[b"(", text, b")"].concat(), 0)
    }

    fn s_at(&mut self, text: &[u8], depth: usize) -> Result<Vec<u8>, String> {
        if depth > DEPTH {
            return Err(format!("more than {DEPTH} nested expressions"));
        }
        let text = trim(text);
        let Some(b'(') = text.first() else { return self.s_atom(text) };
        let end = closing(text, 0).ok_or("expected ) in an expression")?;
        if end + 1 != text.len() {
            return Err(format!("expected nothing after ), got {}", lossy(&text[end + 1..])));
        }
        let fields = s_fields(&text[1..end])?;
        let Some((name, rest)) = fields.split_first() else { return Ok(Vec::new()) };
        let name = String::from_utf8_lossy(&lower(name)).into_owned();
        match name.as_str() {
            "quote" => return Ok(rest.join(&b' ')),
            "setq" => return self.s_set(rest, depth),
            "if" => {
                let condition = self.s_at(rest.first().copied().unwrap_or_default(), depth + 1)?;
                let held = integer(&condition).is_some_and(|v| v != 0);
                let chosen = rest.get(if held { 1 } else { 2 }).copied().unwrap_or_default();
                return self.s_at(chosen, depth + 1);
            }
            _ => {}
        }
        let mut values = Vec::new();
        for field in rest {
            values.push(self.s_at(field, depth + 1)?);
        }
        match s_apply(&name, &values)? {
            Some(value) => Ok(value),
            None => self.s_macro(&name, values),
        }
    }

    fn s_set(&mut self, fields: &[&[u8]], depth: usize) -> Result<Vec<u8>, String> {
        let mut last = Vec::new();
        for pair in fields.chunks(2) {
            let key = Key::Macro(lower(pair[0]));
            let value = match pair.get(1) {
                Some(value) => self.s_at(value, depth + 1)?,
                None => Vec::new(),
            };
            self.assign(&key, Some(&value)).map_err(|trouble| trouble.text)?;
            last = value;
        }
        Ok(last)
    }

    fn s_atom(&mut self, text: &[u8]) -> Result<Vec<u8>, String> {
        if integer(text).is_some() || float(text).is_some() {
            return Ok(text.to_vec());
        }
        if let [b'\'' | b'"' | b'{', inner @ ..] = text {
            let inner = inner.strip_suffix(b"\"").or(inner.strip_suffix(b"}"));
            return Ok(inner.unwrap_or(&text[1..]).to_vec());
        }
        match text {
            b"t" => return Ok(b"1".to_vec()),
            b"nil" | b"" => return Ok(Vec::new()),
            _ => {}
        }
        let value = self.variables.text(&lower(text)).map(|value| value.to_vec());
        value.ok_or_else(|| format!("no such variable: {}", lossy(text)))
    }

    /// A macro called as a function.
    fn s_macro(&mut self, name: &str, values: Vec<Vec<u8>>) -> Result<Vec<u8>, String> {
        if self.variables.text(name.as_bytes()).is_none() {
            return Err(format!("no such function: {name}"));
        }
        let nested = std::mem::take(&mut self.nested);
        self.returned.clear();
        let flow = self.call(name.as_bytes(), values);
        self.nested = nested;
        flow.map_err(|trouble| trouble.text)?;
        Ok(self.returned.clone())
    }
}

/// Splits at blanks, keeping parentheses, braces and quotes whole.
fn s_fields(text: &[u8]) -> Result<Vec<&[u8]>, String> {
    let mut fields = Vec::new();
    let mut rest = trim(text);
    while let Some(first) = rest.first() {
        let len = match first {
            b'(' | b'{' => closing(rest, 0).ok_or("expected ) in an expression")? + 1,
            b'"' => {
                let end = rest[1..].iter().position(|b| *b == b'"');
                end.ok_or("expected \" in an expression")? + 2
            }
            _ => {
                let end = |b: &u8| crate::text::is_blank(*b) || *b == b'(';
                rest.iter().skip(1).position(end).map_or(rest.len(), |at| at + 1)
            }
        };
        fields.push(&rest[..len]);
        rest = trim(&rest[len..]);
    }
    Ok(fields)
}

/// A built-in operator; nothing if there is none of this name.
fn s_apply(name: &str, values: &[Vec<u8>]) -> Result<Option<Vec<u8>>, String> {
    let wholes: Option<Vec<i64>> = values.iter().map(|value| integer(value)).collect();
    let numbers = || -> Result<Vec<f64>, String> {
        let number = |value: &Vec<u8>| {
            float(value).ok_or_else(|| format!("expected a number, got {}", lossy(value)))
        };
        values.iter().map(number).collect()
    };
    if name == "round" {
        return rounded(&numbers()?).map(Some);
    }
    let known =
        ["+", "-", "*", "/", "mod", "max", "min", "abs", "^", "<", ">", "<=", ">=", "=", "=="];
    let known =
        known.contains(&name) || ["!=", "not", "and", "or", "1+", "1-", "++", "--"].contains(&name);
    if !known {
        return Ok(None);
    }
    if let Some(wholes) = wholes
        && !wholes.is_empty()
    {
        return whole(name, &wholes).map(|value| Some(value.to_string().into_bytes()));
    }
    let numbers = numbers()?;
    let Some((first, rest)) = numbers.split_first() else {
        return Err(format!("expected numbers after {name}, got nothing"));
    };
    let all = |held: fn(&f64, &f64) -> bool| {
        f64::from(u8::from(numbers.windows(2).all(|pair| held(&pair[0], &pair[1]))))
    };
    let value = match name {
        "+" => numbers.iter().sum(),
        "-" if rest.is_empty() => -first,
        "-" => rest.iter().fold(*first, |a, b| a - b),
        "*" => numbers.iter().product(),
        "/" if rest.contains(&0.0) => return Err("divide by zero".to_owned()),
        "/" => rest.iter().fold(*first, |a, b| a / b),
        "max" => numbers.iter().copied().fold(*first, f64::max),
        "min" => numbers.iter().copied().fold(*first, f64::min),
        "abs" => first.abs(),
        "^" => rest.iter().fold(*first, |a, b| a.powf(*b)),
        "<" => all(|a, b| a < b),
        ">" => all(|a, b| a > b),
        "<=" => all(|a, b| a <= b),
        ">=" => all(|a, b| a >= b),
        "=" | "==" => all(|a, b| a.total_cmp(b).is_eq()),
        _ => return Err(format!("expected whole numbers after {name}")),
    };
    Ok(Some(value.to_string().into_bytes()))
}

/// A number with this many decimal places; none without a second value.
fn rounded(numbers: &[f64]) -> Result<Vec<u8>, String> {
    let (value, places) = match numbers {
        [value] => (*value, 0.0),
        [value, places] => (*value, *places),
        _ => return Err(format!("expected one or two numbers after round, got {}", numbers.len())),
    };
    if !(0.0..=15.0).contains(&places) {
        return Err(format!("expected 0 to 15 places after round, got {places}"));
    }
    let scale = 10_f64.powf(places.trunc());
    let scaled = value * scale;
    // Past 2^53 a float has no fraction left to round.
    let value = if scaled.abs() < 9e15 { scaled.round() / scale } else { value };
    Ok(value.to_string().into_bytes())
}

fn whole(name: &str, values: &[i64]) -> Result<i64, String> {
    let large = || "the value does not fit into 64 bits".to_owned();
    let (first, rest) = (values[0], &values[1..]);
    let fold = |by: fn(i64, i64) -> Option<i64>| {
        rest.iter().try_fold(first, |a, b| by(a, *b)).ok_or_else(large)
    };
    let all = |held: fn(i64, i64) -> bool| {
        i64::from(values.windows(2).all(|pair| held(pair[0], pair[1])))
    };
    Ok(match name {
        "+" => fold(i64::checked_add)?,
        "-" if rest.is_empty() => first.checked_neg().ok_or_else(large)?,
        "-" => fold(i64::checked_sub)?,
        "*" => fold(i64::checked_mul)?,
        "/" | "mod" if rest.contains(&0) => return Err("divide by zero".to_owned()),
        "/" => fold(i64::checked_div)?,
        "mod" => fold(i64::checked_rem)?,
        "^" => fold(|a, b| a.checked_pow(u32::try_from(b).ok()?))?,
        "max" => values.iter().copied().max().unwrap_or(first),
        "min" => values.iter().copied().min().unwrap_or(first),
        "abs" => first.saturating_abs(),
        "1+" | "++" => first.checked_add(1).ok_or_else(large)?,
        "1-" | "--" => first.checked_sub(1).ok_or_else(large)?,
        "<" => all(|a, b| a < b),
        ">" => all(|a, b| a > b),
        "<=" => all(|a, b| a <= b),
        ">=" => all(|a, b| a >= b),
        "=" | "==" => all(|a, b| a == b),
        "!=" => all(|a, b| a != b),
        "not" => i64::from(first == 0),
        "and" => i64::from(values.iter().all(|v| *v != 0)),
        _ => i64::from(values.iter().any(|v| *v != 0)),
    })
}
