//! Integer expressions, tightest binding first: primaries; prefix `-`, `~`, `!` and postfix `!` (factorial);
//! `^` right-associative; `* / % &`; `+ - | # < > @`, where `|` is or, `#` exclusive or, `<` and `>` shift, and
//! `@` is the greatest common divisor.

/// Why an expression has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bad {
    /// Empty.
    Empty,
    /// Not a number or operator.
    NotNumeric,
    /// Division by zero.
    ByZero,
    /// Overflow of 64 bits.
    TooLarge,
}

/// Looks up a name in an expression.
pub(crate) type Names<'a> = dyn FnMut(&[u8]) -> Option<i64> + 'a;

/// Maximum nesting of parentheses and signs.
const DEPTH: usize = 100;

struct Parser<'a, 'n> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    names: &'n mut Names<'n>,
}

/// The value of an expression.
pub(crate) fn evaluate(text: &[u8], names: &mut Names<'_>) -> Result<i64, Bad> {
    if let Some(value) = crate::text::integer(text) {
        return Ok(value);
    }
    // Names are borrowed for the parser's lifetime.
    let mut look = |name: &[u8]| names(name);
    let mut parser = Parser { text, at: 0, depth: 0, names: &mut look };
    if parser.peek().is_none() {
        return Err(Bad::Empty);
    }
    let value = parser.sum()?;
    if parser.peek().is_some() { Err(Bad::NotNumeric) } else { Ok(value) }
}

impl Parser<'_, '_> {
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(|b| crate::text::is_blank(*b)) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn sum(&mut self) -> Result<i64, Bad> {
        let mut left = self.product()?;
        while let Some(op) = self.peek().filter(|b| b"+-|#<>@".contains(b)) {
            self.at += 1;
            let right = self.product()?;
            left = match op {
                b'+' => left.checked_add(right),
                b'-' => left.checked_sub(right),
                b'|' => Some(left | right),
                b'#' => Some(left ^ right),
                b'<' => Some(shift(left, right)),
                b'>' => Some(shift(left, right.saturating_neg())),
                _ => Some(divisor(left, right)),
            }
            .ok_or(Bad::TooLarge)?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<i64, Bad> {
        let mut left = self.power()?;
        while let Some(op) = self.peek().filter(|b| b"*/%&".contains(b)) {
            self.at += 1;
            let right = self.power()?;
            left = match op {
                b'*' => left.checked_mul(right),
                b'&' => Some(left & right),
                _ if right == 0 => return Err(Bad::ByZero),
                b'/' => left.checked_div(right),
                _ => left.checked_rem(right),
            }
            .ok_or(Bad::TooLarge)?;
        }
        Ok(left)
    }

    fn power(&mut self) -> Result<i64, Bad> {
        let left = self.unary()?;
        if self.peek() != Some(b'^') {
            return Ok(left);
        }
        self.at += 1;
        self.deeper()?;
        let right = self.power()?;
        self.depth -= 1;
        if right < 0 {
            return Ok(0);
        }
        let exponent = u32::try_from(right).map_err(|_| Bad::TooLarge);
        match left {
            0 | 1 if right > 0 => Ok(left),
            -1 => Ok(if right % 2 == 0 { 1 } else { -1 }),
            _ => left.checked_pow(exponent?).ok_or(Bad::TooLarge),
        }
    }

    fn deeper(&mut self) -> Result<(), Bad> {
        self.depth += 1;
        if self.depth > DEPTH { Err(Bad::NotNumeric) } else { Ok(()) }
    }

    fn unary(&mut self) -> Result<i64, Bad> {
        let Some(sign) = self.peek().filter(|b| b"-~!+".contains(b)) else { return self.postfix() };
        self.at += 1;
        self.deeper()?;
        let value = self.unary()?;
        self.depth -= 1;
        match sign {
            b'-' => value.checked_neg().ok_or(Bad::TooLarge),
            b'~' => Ok(!value),
            b'!' => Ok(i64::from(value == 0)),
            _ => Ok(value),
        }
    }

    fn postfix(&mut self) -> Result<i64, Bad> {
        let mut value = self.primary()?;
        while self.peek() == Some(b'!') {
            self.at += 1;
            if value < 0 {
                return Err(Bad::NotNumeric);
            }
            // 21! overflows, so the loop is short.
            value = (1..=value).try_fold(1i64, i64::checked_mul).ok_or(Bad::TooLarge)?;
        }
        Ok(value)
    }

    fn primary(&mut self) -> Result<i64, Bad> {
        let first = self.peek().ok_or(Bad::NotNumeric)?;
        if first == b'(' {
            self.at += 1;
            self.deeper()?;
            let value = self.sum()?;
            self.depth -= 1;
            if self.peek() != Some(b')') {
                return Err(Bad::NotNumeric);
            }
            self.at += 1;
            return Ok(value);
        }
        let rest = &self.text[self.at..];
        let name =
            |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$') || *b > 127;
        let len = rest.iter().position(|b| !name(b)).unwrap_or(rest.len());
        let word = &rest[..len];
        self.at += len;
        if word.is_empty() {
            return Err(Bad::NotNumeric);
        }
        if first.is_ascii_digit() {
            return crate::text::integer(word).ok_or(Bad::NotNumeric);
        }
        (self.names)(word).ok_or(Bad::NotNumeric)
    }
}

fn shift(value: i64, by: i64) -> i64 {
    match by {
        0..=63 => value << by,
        64.. => 0,
        -63..0 => value >> -by,
        _ => value >> 63,
    }
}

fn divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        let rest = a % b;
        a = b;
        b = rest;
    }
    i64::try_from(a).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i64, Bad> {
        evaluate(text.as_bytes(), &mut |name| (name == b"y").then_some(4))
    }

    #[test]
    fn operators_have_the_right_precedence() {
        for (text, expected) in [
            ("2+3*4", 14),
            ("-7/2", -3),
            ("-7%3", -1),
            ("2^3^2", 512),
            ("2^-1", 0),
            ("5!", 120),
            ("!5", 0),
            ("~0", -1),
            ("(1+2)*y", 12),
            ("12@18", 6),
            ("1<4|1", 17),
            ("6#3", 5),
            ("7&3", 3),
            ("007", 7),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn bad_expressions_are_rejected() {
        assert_eq!(value(""), Err(Bad::Empty));
        assert_eq!(value("1/0"), Err(Bad::ByZero));
        assert_eq!(value("1+"), Err(Bad::NotNumeric));
        assert_eq!(value("1 2"), Err(Bad::NotNumeric));
        assert_eq!(value("z"), Err(Bad::NotNumeric));
        assert_eq!(value("9223372036854775807+1"), Err(Bad::TooLarge));
        assert_eq!(value("999999!"), Err(Bad::TooLarge));
        assert_eq!(value(&"(".repeat(100_000)), Err(Bad::NotNumeric));
        assert_eq!(value(&"-".repeat(100_000)), Err(Bad::NotNumeric));
    }
}
