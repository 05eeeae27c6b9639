//! One scenario with many seeds: intervals of confidence and the distribution of its times.

use crate::scenario::Outcome;
use crate::table::statistics::{mean_and_deviation, median};

/// Runs of one scenario that differ in their seeds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Repeats {
    /// Seconds of each that arrived, in ascending order.
    pub seconds: Vec<f64>,
    /// Their bytes per second, in the order of the seeds.
    pub rates: Vec<f64>,
    /// Runs that did not arrive.
    pub failed: u64,
}

/// A mean, and the interval that holds the true one in 95 of 100 such samples.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// The mean of the sample.
    pub mean: f64,
    /// The standard deviation of the sample.
    pub deviation: f64,
    /// The ends of the interval; both the mean if there is one value.
    pub low: f64,
    /// See [`Interval::low`].
    pub high: f64,
}

/// Student's t for 95 % on two sides, by degrees of freedom from 1.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// The same for more: 1.96 and a correction, right to a thousandth from 31 on.
fn student(freedom: usize) -> f64 {
    match freedom {
        0 => 0.0,
        _ => T.get(freedom - 1).copied().unwrap_or(1.960 + 2.4 / freedom as f64),
    }
}

impl Interval {
    /// Of these values; `None` of none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let (mean, deviation) = mean_and_deviation(values)?;
        let half = student(values.len() - 1) * deviation / (values.len() as f64).sqrt();
        Some(Self { mean, deviation, low: mean - half, high: mean + half })
    }
}

impl Repeats {
    /// The result of these runs.
    pub fn of<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Self {
        let mut repeats = Self::default();
        for outcome in outcomes {
            if outcome.is_done() {
                repeats.seconds.push(outcome.elapsed.as_secs_f64());
                repeats.rates.push(outcome.millicps() as f64 / 1000.0);
            } else {
                repeats.failed += 1;
            }
        }
        repeats.seconds.sort_by(f64::total_cmp);
        repeats
    }

    /// Of the seconds of those that arrived.
    pub fn time(&self) -> Option<Interval> {
        Interval::of(&self.seconds)
    }

    /// Of their bytes per second.
    pub fn rate(&self) -> Option<Interval> {
        Interval::of(&self.rates)
    }

    /// The middle of the seconds.
    pub fn median(&self) -> Option<f64> {
        median(&self.seconds)
    }

    /// The seconds within which this share of all runs has arrived, those that never do included; `None` if that
    /// many never do.
    pub fn within(&self, percent: u64) -> Option<f64> {
        let all = self.seconds.len() as u64 + self.failed;
        let rank = (all * percent).div_ceil(100).max(1) as usize;
        self.seconds.get(rank - 1).copied()
    }

    /// The distribution: seconds, and the share of all runs that had arrived by then.
    pub fn distribution(&self) -> Vec<(f64, f64)> {
        let all = self.seconds.len() as f64 + self.failed as f64;
        let steps = self.seconds.iter().enumerate();
        steps.map(|(index, seconds)| (*seconds, (index + 1) as f64 / all)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // Mean 5, deviation 2.138, n = 8: 2.365 x 2.138 / 2.828 = 1.788.
        let of = Interval::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).expect("values");
        assert!((of.mean - 5.0).abs() < 1e-12 && (of.high - 6.788).abs() < 1e-3, "{of:?}");
        assert_eq!(Interval::of(&[3.0]).map(|one| (one.low, one.high)), Some((3.0, 3.0)));
        assert_eq!(Interval::of(&[]), None);
        // The table's value for 40 is 2.021, for 120 1.980.
        assert!((student(40) - 2.021).abs() < 2e-3 && (student(120) - 1.980).abs() < 2e-3);
    }

    #[test]
    fn the_distribution_counts_runs_that_never_arrive() {
        let repeats = Repeats { seconds: vec![1.0, 2.0, 4.0], rates: vec![], failed: 1 };
        assert_eq!(repeats.distribution(), [(1.0, 0.25), (2.0, 0.5), (4.0, 0.75)]);
        assert_eq!(
            [25, 50, 75, 90].map(|p| repeats.within(p)),
            [Some(1.0), Some(2.0), Some(4.0), None]
        );
        assert_eq!(repeats.median(), Some(2.0));
    }
}
