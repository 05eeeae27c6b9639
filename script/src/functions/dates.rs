//! Date and time functions.

use super::{Arguments, FunctionError, Given, digits};
use crate::calendar::{DAYS, MONTHS, Stamp, clock, parse, time_of};
use crate::interp::Interp;
use crate::text::{integer, lossy, trim};

impl Interp<'_> {
    pub(super) fn date_function(&mut self, name: &str, a: &Arguments) -> Option<Given> {
        Some(match name {
            "cvtdate" => self.convert_date(a),
            "day" => self.stamp(a, 0).map(|s| DAYS[s.weekday()].as_bytes()[..3].to_vec()),
            "nday" => self.stamp(a, 0).and_then(|s| digits(s.weekday())),
            "dayname" => self.day_name(a),
            "monthname" => self.month_name(a),
            "doy" | "jdate" => {
                let stamp = self.stamp(a, 0);
                stamp.map(|s| format!("{:04}{:03}", s.year, s.day_of_year()).into_bytes())
            }
            "doy2date" => from_day_of_year(a),
            "mjd" => self.stamp(a, 0).and_then(|s| digits(s.mjd())),
            "mjd2date" => {
                let number = self.argument(a, 0, None);
                number
                    .map(|mjd| Stamp::of_mjd(mjd.clamp(-678_000, 2_973_000)).number().into_bytes())
            }
            "time" => self.stamp(a, 0).map(|s| s.time().into_bytes()),
            "ntime" => self.stamp(a, 0).and_then(|s| digits(s.second)),
            "tod2secs" => {
                let text = lossy(a.text(0));
                time_of(&text).ok_or(FunctionError::BadTime).and_then(digits)
            }
            "n2time" => self.argument(a, 0, None).map(|n| signed_clock(n).into_bytes()),
            "diffdates" => self.difference(a),
            "cmpdates" => self.compare_dates(a),
            "utcdate" => self.utc(a),
            "delta2secs" => delta(a.text(0)).ok_or(FunctionError::BadDeltaTime).and_then(digits),
            _ => return None,
        })
    }

    /// A date argument; now if it is missing.
    fn stamp(&mut self, a: &Arguments, index: usize) -> Result<Stamp, FunctionError> {
        let now = self.local();
        let text = String::from_utf8_lossy(a.text(index)).into_owned();
        // A delta may follow a date: 20010101 00:00:00 +2d.
        let (date, by) = match text.rsplit_once(['+', '-']) {
            Some((date, rest)) if rest.contains(['d', 'w']) && !rest.contains(' ') => {
                let sign = &text[date.len()..=date.len()];
                (date, delta(format!("{sign}{rest}").as_bytes()))
            }
            _ => (text.as_str(), Some(0)),
        };
        let stamp = parse(date, now).ok_or(FunctionError::BadDate)?;
        Ok(Stamp::of_local(stamp.local_s() + by.unwrap_or(0)))
    }

    fn convert_date(&mut self, a: &Arguments) -> Given {
        let stamp = self.stamp(a, 0)?;
        let format = self.argument(a, 1, Some(0))?;
        let Stamp { year, month, day, .. } = stamp;
        let (name, time) = (stamp.month_name(), stamp.time());
        Ok(match format {
            1 => format!("{year:04}-{name}-{day:02} {time}"),
            2 => format!("{day:02}-{name}-{year:04} {time}"),
            3 => format!("{}{}", stamp.number(), time.replace(':', "")),
            4 => {
                let weekday = &DAYS[stamp.weekday()][..3];
                format!("{weekday} {name} {day:2} {time} {year:04}")
            }
            5 => format!("{year:04}{month:02}{day:02}"),
            _ => stamp.full(),
        }
        .into_bytes())
    }

    fn day_name(&mut self, a: &Arguments) -> Given {
        let short = !a.is_missing(1) && trim(a.text(1)) != b"0";
        let index = match integer(a.text(0)) {
            Some(number) if (0..=6).contains(&number) => number as usize,
            _ => self.stamp(a, 0)?.weekday(),
        };
        Ok(if short { DAYS[index][..3].into() } else { DAYS[index].into() })
    }

    fn month_name(&mut self, a: &Arguments) -> Given {
        let short = !a.is_missing(1) && trim(a.text(1)) != b"0";
        let index = match integer(a.text(0)) {
            Some(number) if (1..=12).contains(&number) => number as usize - 1,
            _ => (self.stamp(a, 0)?.month - 1) as usize,
        };
        Ok(if short { MONTHS[index][..3].into() } else { MONTHS[index].into() })
    }

    fn difference(&mut self, a: &Arguments) -> Given {
        let seconds = self.stamp(a, 0)?.local_s() - self.stamp(a, 1)?.local_s();
        let sign = if seconds < 0 { '-' } else { '+' };
        let left = seconds.abs();
        let (days, hours, minutes) = (left / 86_400, left / 3600 % 24, left / 60 % 60);
        let date = if days > 0 { format!("{days}d") } else { String::new() };
        Ok(format!("{sign}{date}{hours}:{minutes:02}").into_bytes())
    }

    fn compare_dates(&mut self, a: &Arguments) -> Given {
        let order = self.stamp(a, 0)?.local_s().cmp(&self.stamp(a, 1)?.local_s());
        digits(order as i8)
    }

    fn utc(&mut self, a: &Arguments) -> Given {
        let local = self.stamp(a, 0)?.local_s();
        let offset = self.world.offset_at(local);
        let offset = self.world.offset_at(local - i64::from(offset));
        Ok(Stamp::of_local(local - i64::from(offset)).full().into_bytes())
    }
}

fn signed_clock(seconds: i64) -> String {
    let sign = if seconds < 0 { "-" } else { "" };
    format!("{sign}{}", clock(seconds.saturating_abs()))
}

/// Parses `yyyyddd`.
fn from_day_of_year(a: &Arguments) -> Given {
    let text = a.text(0);
    let at = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let number = integer(&text[..at]).ok_or(FunctionError::BadDate)?;
    let (year, day) = (number / 1000, number % 1000);
    let first = crate::calendar::days(year.clamp(1, 9999), 1, 1);
    let (y, month, d) = crate::calendar::date(first + day - 1);
    if y != year || day == 0 {
        return Err(FunctionError::BadDate);
    }
    Ok(Stamp { year: y, month, day: d, second: 0 }.number().into_bytes())
}

/// `+1d2:30`, `-3w`, `+12:00:00` in seconds.
fn delta(text: &[u8]) -> Option<i64> {
    let text = String::from_utf8_lossy(trim(text)).to_ascii_lowercase();
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(&text)),
    };
    let mut seconds = 0i64;
    for (unit, words) in [
        (365 * 86_400, ["years", "year", "y"]),
        (7 * 86_400, ["weeks", "week", "w"]),
        (86_400, ["days", "day", "d"]),
    ] {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let word = words.iter().find(|word| end > 0 && rest[end..].starts_with(**word));
        if let Some(word) = word {
            seconds = seconds.checked_add(rest[..end].parse::<i64>().ok()?.checked_mul(unit)?)?;
            rest = &rest[end + word.len()..];
        }
    }
    if !rest.is_empty() {
        let mut parts = rest.split(':').map(|part| part.parse::<i64>().ok());
        let hours = parts.next()??;
        let minutes = parts.next().unwrap_or(Some(0))?;
        let secs = parts.next().unwrap_or(Some(0))?;
        if parts.next().is_some() {
            return None;
        }
        let time = hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?;
        seconds = seconds.checked_add(time)?.checked_add(secs)?;
    }
    Some(sign * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_are_seconds() {
        assert_eq!(delta(b"+1d2:30"), Some(86_400 + 9000));
        assert_eq!(delta(b"-3w"), Some(-3 * 7 * 86_400));
        assert_eq!(delta(b"+12:00:01"), Some(43_201));
        assert_eq!(delta(b"+x"), None);
    }
}
