//! Local time: the dates of attributes are those of the sender's clock on the wall.

use core::fmt;

/// The local time of this end. A rule and not a number, since the offset of one file's date is
/// not that of another's where clocks change twice a year.
#[derive(Clone, Copy)]
pub struct Zone(
    /// Seconds east of UTC at this moment (in seconds since 1970 UTC).
    pub fn(i64) -> i32,
);

impl Zone {
    /// Local time is UTC.
    pub const UTC: Self = Self(|_| 0);

    /// What the clock on the wall shows at this moment.
    pub fn to_local(self, utc: i64) -> i64 {
        utc.saturating_add(i64::from((self.0)(utc)))
    }

    /// When the clock on the wall shows this. In the hour that comes twice, one of the two moments.
    pub fn to_utc(self, local: i64) -> i64 {
        // The first offset is that of a moment near by; the second is right unless the clock
        // changes in between.
        let near = local.saturating_sub(i64::from((self.0)(local)));
        local.saturating_sub(i64::from((self.0)(near)))
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Zone {}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Zone(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five hours west, four in a summer that begins at 1000 days and ends at 1200.
    fn west(utc: i64) -> i32 {
        if (86_400_000 + 7 * 3600..103_680_000 + 6 * 3600).contains(&utc) {
            -4 * 3600
        } else {
            -5 * 3600
        }
    }

    #[test]
    fn local_time_goes_there_and_back_around_the_change_of_clocks() {
        let zone = Zone(west);
        assert_eq!(zone.to_local(0), -18_000);
        for change in [86_400_000 + 7 * 3600, 103_680_000 + 6 * 3600] {
            for hours in -30..30 {
                // The hour before the clock is set back occurs twice.
                let utc = change + hours * 3600;
                let back = zone.to_utc(zone.to_local(utc));
                let twice = change > 100_000_000 && (-1..=0).contains(&hours);
                assert!(back == utc || (twice && (back - utc).abs() == 3600), "{hours}");
            }
        }
    }

    #[test]
    fn no_date_overflows() {
        for utc in [i64::MIN, i64::MAX] {
            let zone = Zone(west);
            let _ = (zone.to_local(utc), zone.to_utc(utc));
        }
        assert_eq!(Zone::UTC.to_utc(7), 7);
        assert_eq!(Zone::UTC.to_local(7), 7);
    }
}
