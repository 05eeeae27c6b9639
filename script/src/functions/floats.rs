//! Floating-point functions, `\ffp...()`.

use super::{Arguments, FunctionError, Given};
use crate::interp::Interp;
use crate::text::float;

/// Digits shown, as in \v(math_precision).
const DIGITS: usize = 16;

impl Interp<'_> {
    pub(super) fn float_function(&mut self, name: &str, a: &Arguments) -> Given {
        let two = matches!(
            name,
            "add"
                | "subtract"
                | "multiply"
                | "divide"
                | "modulus"
                | "raise"
                | "maximum"
                | "minimum"
        );
        let value = |index: usize| {
            let text = a.needed(index)?;
            float(text).ok_or(FunctionError::ArgNotFloat)
        };
        let x = value(0)?;
        let y = if two { value(1)? } else { 0.0 };
        let places = self.argument(a, 1 + usize::from(two), Some(0))?;
        let result = match name {
            "add" => x + y,
            "subtract" => x - y,
            "multiply" => x * y,
            "divide" | "modulus" if y == 0.0 => return Err(FunctionError::DivideByZero),
            "divide" => x / y,
            "modulus" => x % y,
            "raise" => x.powf(y),
            "maximum" => x.max(y),
            "minimum" => x.min(y),
            "absolute" => x.abs(),
            "exp" => x.exp(),
            "sqrt" | "logn" | "log10" if x < 0.0 => return Err(FunctionError::ArgOutOfRange),
            "sqrt" => x.sqrt(),
            "logn" => x.ln(),
            "log10" => x.log10(),
            "sine" => x.sin(),
            "cosine" => x.cos(),
            "tangent" => x.tan(),
            "int" => return Ok(format!("{:.0}", x.trunc()).into_bytes()),
            "round" if places == 0 => return Ok(format!("{:.0}", x.round_ties_even()).into_bytes()),
            _ => x,
        };
        if !result.is_finite() {
            return Err(FunctionError::FloatingPointOverflow);
        }
        let places = usize::try_from(places).unwrap_or(0).min(DIGITS);
        Ok(shown(result, places).into_bytes())
    }
}

/// With this many places, or with as many of sixteen digits as are significant.
fn shown(value: f64, places: usize) -> String {
    if places > 0 {
        return format!("{value:.places$}");
    }
    let long = format!("{value:.DIGITS$}");
    let mut text = String::new();
    let mut count = 0;
    for letter in long.chars() {
        if letter.is_ascii_digit() {
            if count >= DIGITS && text.contains('.') {
                break;
            }
            count += 1;
        }
        text.push(letter);
    }
    let text = text.trim_end_matches('0');
    let zero = if text.ends_with('.') { "0" } else { "" };
    format!("{text}{zero}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_agree_with_c_kermit() {
        for (value, text) in [
            (3.75, "3.75"),
            (3.0, "3.0"),
            (1.0 / 3.0, "0.333333333333333"),
            (100.0 / 3.0, "33.33333333333333"),
            (1e6 / 7.0, "142857.1428571428"),
            (2f64.sqrt(), "1.414213562373095"),
            (123_456_789_000.0, "123456789000.0"),
            (1e-6, "0.000001"),
        ] {
            assert_eq!(shown(value, 0), text);
        }
        assert_eq!(shown(2.0 / 3.0, 4), "0.6667");
    }
}
