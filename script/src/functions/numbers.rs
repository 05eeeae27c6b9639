//! Integer functions.

use super::{Arguments, FunctionError, Given, arith_error, digits};
use crate::interp::Interp;
use crate::text::{integer, trim};

impl Interp<'_> {
    pub(super) fn number_function(&mut self, name: &str, a: &Arguments) -> Option<Given> {
        Some(match name {
            "evaluate" => self.arithmetic(a.text(0)).map_err(arith_error).and_then(digits),
            "absolute" => self.argument(a, 0, None).and_then(|v| digits(v.unsigned_abs())),
            "maximum" | "minimum" => self.extreme(a, name == "maximum"),
            "modulus" => self.modulus(a),
            "random" => self.any(a),
            "n2hex" => self.argument(a, 0, None).map(|value| {
                let text = format!("{value:x}");
                // Whole bytes.
                let odd = if text.len() % 2 == 1 { "0" } else { "" };
                format!("{odd}{text}").into_bytes()
            }),
            "n2octal" => self.argument(a, 0, None).map(|value| format!("{value:o}").into_bytes()),
            "hex2n" => from_radix(a.text(0), 16).and_then(digits),
            "oct2n" => from_radix(a.text(0), 8).and_then(digits),
            "radix" => self.radix(a),
            "sleep" | "msleep" => self.asleep(a, name == "sleep"),
            _ => return None,
        })
    }

    fn extreme(&mut self, a: &Arguments, most: bool) -> Given {
        let (x, y) = (self.argument(a, 0, None)?, self.argument(a, 1, None)?);
        digits(if most { x.max(y) } else { x.min(y) })
    }

    fn modulus(&mut self, a: &Arguments) -> Given {
        let (x, y) = (self.argument(a, 0, None)?, self.argument(a, 1, None)?);
        if y == 0 {
            return Err(FunctionError::DivideByZero);
        }
        digits(x.checked_rem(y).unwrap_or(0))
    }

    fn any(&mut self, a: &Arguments) -> Given {
        let most = self.argument(a, 0, Some(i64::from(i32::MAX)))?;
        let any = self.world.random();
        if most <= 0 {
            return digits(0);
        }
        digits(any % most.unsigned_abs())
    }

    fn radix(&mut self, a: &Arguments) -> Given {
        let from = u32::try_from(self.argument(a, 1, Some(10))?).unwrap_or(0);
        let to = u32::try_from(self.argument(a, 2, Some(10))?).unwrap_or(0);
        if !(2..=36).contains(&from) || !(2..=36).contains(&to) {
            return Err(FunctionError::ArgOutOfRange);
        }
        let value = from_radix(a.needed(0)?, from)?;
        let mut rest = value.unsigned_abs();
        let mut out = Vec::new();
        loop {
            let digit = char::from_digit((rest % u64::from(to)) as u32, to).unwrap_or('0');
            out.push(digit.to_ascii_uppercase() as u8);
            rest /= u64::from(to);
            if rest == 0 {
                break;
            }
        }
        if value < 0 {
            out.push(b'-');
        }
        out.reverse();
        Ok(out)
    }

    fn asleep(&mut self, a: &Arguments, seconds: bool) -> Given {
        let time = integer(a.text(0)).and_then(|t| u64::try_from(t).ok()).unwrap_or(0);
        let ms = if seconds { time.saturating_mul(1000) } else { time };
        self.world.pause(std::time::Duration::from_millis(ms), false);
        Ok(Vec::new())
    }
}

fn from_radix(text: &[u8], radix: u32) -> Result<i64, FunctionError> {
    let text = std::str::from_utf8(trim(text)).map_err(|_| FunctionError::ArgNotNumeric)?;
    if text.is_empty() {
        return Err(FunctionError::MissingArg);
    }
    let text = if radix == 16 { text.trim_start_matches("0x") } else { text };
    i64::from_str_radix(text, radix).map_err(|_| FunctionError::ArgNotNumeric)
}
