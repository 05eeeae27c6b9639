//! Dates of the proleptic Gregorian calendar, and their text forms in scripts.

/// A local date and time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stamp {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    /// Seconds since midnight.
    pub(crate) second: i64,
}

pub(crate) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Days from the epoch of modified Julian dates to 1 January 1970.
const MJD_OF_1970: i64 = 40_587;

/// Days since 1970 of a date. Years are counted from March, so that leap days come last.
pub(crate) fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a day since 1970.
pub(crate) fn date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let civil = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(civil <= 2), civil, day)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Stamp {
    /// From seconds since 1970, in local time.
    pub(crate) fn of_local(seconds: i64) -> Self {
        let (year, month, day) = date(seconds.div_euclid(86_400));
        Self { year, month, day, second: seconds.rem_euclid(86_400) }
    }

    /// Seconds since 1970 in its own zone.
    pub(crate) fn local_s(&self) -> i64 {
        self.day_number() * 86_400 + self.second
    }

    pub(crate) fn day_number(&self) -> i64 {
        days(self.year, self.month, self.day)
    }

    pub(crate) fn mjd(&self) -> i64 {
        self.day_number() + MJD_OF_1970
    }

    pub(crate) fn of_mjd(mjd: i64) -> Self {
        let (year, month, day) = date(mjd.saturating_sub(MJD_OF_1970));
        Self { year, month, day, second: 0 }
    }

    /// 0 is Sunday.
    pub(crate) fn weekday(&self) -> usize {
        (self.day_number() + 4).rem_euclid(7) as usize
    }

    pub(crate) fn day_of_year(&self) -> i64 {
        self.day_number() - days(self.year, 1, 1) + 1
    }

    /// `yyyymmdd`
    pub(crate) fn number(&self) -> String {
        format!("{:04}{:02}{:02}", self.year, self.month, self.day)
    }

    /// `hh:mm:ss`
    pub(crate) fn time(&self) -> String {
        clock(self.second)
    }

    /// `yyyymmdd hh:mm:ss`
    pub(crate) fn full(&self) -> String {
        format!("{} {}", self.number(), self.time())
    }

    /// `3 Feb 2001`
    pub(crate) fn worded(&self) -> String {
        format!("{} {} {}", self.day, self.month_name(), self.year)
    }

    /// `Feb`
    pub(crate) fn month_name(&self) -> &'static str {
        &MONTHS[(self.month.clamp(1, 12) - 1) as usize][..3]
    }
}

/// Seconds as `hh:mm:ss`.
pub(crate) fn clock(seconds: i64) -> String {
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// `hh:mm:ss`, `hh:mm`, with am or pm appended; seconds since midnight.
pub(crate) fn time_of(text: &str) -> Option<i64> {
    let text = text.trim().to_ascii_lowercase();
    let text = text.strip_suffix('m').unwrap_or(&text);
    let (text, half) = match (text.strip_suffix('a'), text.strip_suffix('p')) {
        (Some(rest), _) => (rest.trim(), Some(0)),
        (_, Some(rest)) => (rest.trim(), Some(12)),
        _ => (text, None),
    };
    let mut parts = text.split(':').map(|part| part.split('.').next()?.parse::<i64>().ok());
    let hour = parts.next()??;
    let minute = parts.next().unwrap_or(Some(0))?;
    let second = parts.next().unwrap_or(Some(0))?;
    let hour = half.map_or(hour, |half| hour % 12 + half);
    let good = parts.next().is_none() && (0..60).contains(&minute) && (0..60).contains(&second);
    (good && (0..=24).contains(&hour)).then_some(hour * 3600 + minute * 60 + second)
}

/// A date with an optional time, in usual forms: `20010203 04:05:06`, `2001-02-03`, `3 Feb 2001`, `Feb 3,
/// 2001`, `2001/02/03`, `3-Feb-2001`, `today`, `tomorrow`, `yesterday`, `now`, or a time alone.
pub(crate) fn parse(text: &str, now: Stamp) -> Option<Stamp> {
    let text = text.trim();
    let small = text.to_ascii_lowercase();
    let (word, rest) = small.split_once(' ').unwrap_or((&small, ""));
    let by_word = match word {
        "now" => return Some(now),
        "today" => Some(0),
        "tomorrow" => Some(1),
        "yesterday" => Some(-1),
        _ => None,
    };
    if let Some(by) = by_word {
        let day = Stamp::of_mjd(now.mjd() + by);
        let second = if rest.is_empty() { 0 } else { time_of(rest)? };
        return Some(Stamp { second, ..day });
    }
    if text.is_empty() {
        return Some(now);
    }
    let mut numbers: Vec<i64> = Vec::new();
    let mut lengths = Vec::new();
    let mut named = None;
    let mut second = None;
    let day_end = |c: char| matches!(c, ' ' | ',' | '/' | '-' | 'T' | 't' | '_');
    let mut pieces: Vec<&str> = Vec::new();
    for piece in text.split(' ') {
        if piece.contains(':') && !piece.contains(day_end) {
            pieces.push(piece);
        } else {
            pieces.extend(piece.split([',', '/', '-', '_']));
        }
    }
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        if piece.contains(':') {
            second = Some(time_of(piece)?);
        } else if let Ok(number) = piece.parse::<i64>() {
            numbers.push(number);
            lengths.push(piece.len());
        } else if let Some(at) = month_of(piece) {
            named = Some((at, numbers.len()));
        } else if !is_day_name(piece) {
            return None;
        }
    }
    let (year, month, day) = match (numbers.as_slice(), named) {
        ([one], None) if lengths[0] == 8 => (one / 10_000, one / 100 % 100, one % 100),
        ([], None) if second.is_some() => (now.year, now.month, now.day),
        ([y, m, d], None) if lengths[0] == 4 => (*y, *m, *d),
        ([a, b], Some((month, at))) => match (lengths[0], at) {
            (4, _) => (*a, month, *b),
            _ => (*b, month, *a),
        },
        _ => return None,
    };
    let year = match year {
        0..50 => year + 2000,
        50..100 => year + 1900,
        _ => year,
    };
    let good = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day);
    good.then_some(Stamp { year, month, day, second: second.unwrap_or(0) })
}

fn month_of(word: &str) -> Option<i64> {
    let small = word.trim_end_matches('.').to_ascii_lowercase();
    if small.len() < 3 {
        return None;
    }
    let at = MONTHS.iter().position(|name| name.to_ascii_lowercase().starts_with(&small))?;
    Some(at as i64 + 1)
}

fn is_day_name(word: &str) -> bool {
    let small = word.to_ascii_lowercase();
    small.len() >= 3 && DAYS.iter().any(|name| name.to_ascii_lowercase().starts_with(&small))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Stamp = Stamp { year: 2026, month: 11, day: 21, second: 3600 };

    #[test]
    fn days_round_trip() {
        for day in (-800_000..800_000).step_by(97) {
            let (y, m, d) = date(day);
            assert_eq!(days(y, m, d), day);
        }
        assert_eq!(Stamp { year: 2000, month: 1, day: 1, second: 0 }.mjd(), 51_544);
        assert_eq!(Stamp { year: 2000, month: 1, day: 1, second: 0 }.weekday(), 6);
    }

    #[test]
    fn dates_parse_in_all_forms() {
        let third = Stamp { year: 2001, month: 2, day: 3, second: 14_706 };
        for text in [
            "20010203 4:5:6",
            "2001-02-03 04:05:06",
            "3 Feb 2001 04:05:06",
            "3-Feb-2001 4:05:06am",
            "Feb 3, 2001 04:05:06",
            "Sat Feb 3 2001 04:05:06",
            "2001/02/03 04:05:06",
        ] {
            assert_eq!(parse(text, NOW), Some(third), "{text}");
        }
        assert_eq!(parse("tomorrow", NOW).map(|s| s.number()), Some("20261122".into()));
        assert_eq!(parse("12:00", NOW).map(|s| s.full()), Some("20261121 12:00:00".into()));
        for text in ["20010230", "32 Feb 2001", "nonsense", "1 2", "25:00"] {
            assert_eq!(parse(text, NOW), None, "{text}");
        }
    }
}
