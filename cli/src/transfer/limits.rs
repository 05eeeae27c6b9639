//! Limits at which a transfer ends: too slow, or too late (`sz -m -M -s`).

use std::time::{Duration, Instant, SystemTime};

use wetstring_drive::zone::offset_at;

/// The user's limits.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Minimum bytes per second; 0 is none.
    pub(crate) min_bytes_per_s: u64,
    /// For how long the rate may be lower.
    pub(crate) min_for: Duration,
    /// Maximum duration.
    pub(crate) stop_in: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { min_bytes_per_s: 0, min_for: Duration::from_secs(120), stop_in: None }
    }
}

/// Checks the limits.
pub(crate) struct Guard {
    limits: Limits,
    began: Instant,
    /// The last time at which the rate was sufficient, and the bytes until then.
    good: (Instant, u64),
}

impl Guard {
    /// Starts now.
    pub(crate) fn new(limits: Limits) -> Self {
        let now = Instant::now();
        Self { limits, began: now, good: (now, 0) }
    }

    /// Why it must end now, with this many file bytes transferred, if it must.
    pub(crate) fn verdict(&mut self, bytes: u64) -> Option<&'static str> {
        self.verdict_at(Instant::now(), bytes)
    }

    fn verdict_at(&mut self, now: Instant, bytes: u64) -> Option<&'static str> {
        if self.limits.stop_in.is_some_and(|stop| now.duration_since(self.began) >= stop) {
            return Some("the stop time is reached");
        }
        if self.limits.min_bytes_per_s == 0 {
            return None;
        }
        let (since, before) = self.good;
        let elapsed = now.duration_since(since);
        if elapsed < Duration::from_secs(1) {
            return None;
        }
        let moved = u128::from(bytes.saturating_sub(before));
        if moved * 1000 >= u128::from(self.limits.min_bytes_per_s) * elapsed.as_millis() {
            self.good = (now, bytes);
            return None;
        }
        (elapsed >= self.limits.min_for).then_some("the rate is below --min-bps")
    }
}

/// Time until `+N` seconds or `HH:MM` of local time, today or tomorrow.
pub(crate) fn until(text: &str) -> Option<Duration> {
    if let Some(seconds) = text.strip_prefix('+') {
        return seconds.parse().ok().map(Duration::from_secs);
    }
    let (hour, minute) = text.split_once(':')?;
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    if hour > 23 || minute > 59 {
        return None;
    }
    let utc = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs() as i64;
    let now = (utc + i64::from(offset_at(utc))).rem_euclid(DAY_S);
    let then = i64::from(hour * 3600 + minute * 60);
    Some(Duration::from_secs((then - now).rem_euclid(DAY_S) as u64))
}

/// Seconds of a day without a clock change.
const DAY_S: i64 = 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_rate_for_too_long_ends_the_transfer() {
        let limits =
            Limits { min_bytes_per_s: 100, min_for: Duration::from_secs(10), stop_in: None };
        let mut guard = Guard::new(limits);
        let at = |s| Duration::from_secs(s);
        let began = guard.began;
        assert_eq!(guard.verdict_at(began + at(5), 1000), None);
        assert_eq!(guard.verdict_at(began + at(14), 1100), None);
        // A sufficient average rate resets the limit.
        assert_eq!(guard.verdict_at(began + at(14), 1900), None);
        assert_eq!(guard.verdict_at(began + at(23), 2000), None);
        assert!(guard.verdict_at(began + at(24), 2000).is_some());
    }

    #[test]
    fn stop_times_are_parsed() {
        let mut guard = Guard::new(Limits { stop_in: until("+3"), ..Limits::default() });
        let began = guard.began;
        assert_eq!(guard.verdict_at(began + Duration::from_secs(2), 0), None);
        assert!(guard.verdict_at(began + Duration::from_secs(3), 0).is_some());
        let day = Duration::from_secs(25 * 3600);
        assert!(until("23:59").is_some_and(|wait| wait <= day));
        for wrong in ["", "+", "24:00", "12", "12:60", "+x"] {
            assert_eq!(until(wrong), None, "{wrong}");
        }
    }
}
