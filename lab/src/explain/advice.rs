//! The change that would help most, and the results of all changes tried.

use super::RateSource;
use super::bottleneck::percent;
use super::budget::{seconds, share};
use std::fmt::Write as _;

/// A setting and its proposed value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The setting by its name in `wst show`, or `protocol`.
    pub setting: &'static str,
    /// Another setting that must have the same value, or it would be the limit.
    pub also: Option<&'static str>,
    /// The old value.
    pub from: String,
    /// The new value, at both ends.
    pub to: String,
}

/// The result of one replay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trial {
    /// The change.
    pub change: Change,
    /// The predicted time of the transfer with it, in nanoseconds; `None` if it failed.
    pub elapsed_ns: Option<u64>,
}

/// What helps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Advice {
    /// The actual time of the transfer, in nanoseconds.
    pub before_ns: u64,
    /// The change that helps most, and the predicted time with it; `None` if none saves as much as
    /// [`Advice::WORTH`].
    pub best: Option<(Change, u64)>,
    /// The range of that time, in nanoseconds, where the line has noise.
    pub range: Option<(u64, u64)>,
    /// The time of its replay without changes, in nanoseconds. The closer to the transfer's own, the better the
    /// replay.
    pub replayed_ns: u64,
    /// The transfer failed; the best change is one with which it ends well.
    pub fails: bool,
    /// Everything that was tried, in order.
    pub trials: Vec<Trial>,
    /// The replay is of a scenario that was inferred from one end's view.
    pub inferred: bool,
    /// How the rate of the replayed line is known.
    pub rate_source: RateSource,
    /// The predicted time with Kermit's compression if the file shrinks as text does, in nanoseconds, where the file
    /// was not there to be replayed, and nothing was compressed.
    pub shrunk_ns: Option<u64>,
    /// The scenario that was replayed, as TOML.
    pub scenario: String,
}

/// Why there is no advice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoAdvice(pub String);

impl std::fmt::Display for NoAdvice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoAdvice {}

impl Advice {
    /// Thousandths of the time that a change has to save to be reported.
    pub const WORTH: u64 = 30;
    /// Thousandths by which a replay without changes may differ without a remark.
    const OFF: u64 = 150;

    /// The advice as a sentence.
    pub fn sentence(&self) -> String {
        let reserve = self.reserve();
        match &self.best {
            None if self.fails => format!(
                "no setting alone. With none of {} changes that were replayed does it end well.",
                self.trials.len()
            ),
            Some((change, after)) if self.fails => {
                let Change { setting, also, from, to } = change;
                let also = also.map_or_else(String::new, |also| format!(" and {also} = {to}"));
                format!(
                    "{setting} = {to}{also} at both ends, instead of {from}: replayed with it, the \
                     transfer ends well, in {} s.",
                    seconds(*after)
                )
            }
            None => format!(
                "nothing much. None of {} changes that were replayed saves more than {}.{reserve}",
                self.trials.len(),
                percent(Self::WORTH)
            ),
            Some((change, after)) => {
                let Change { setting, also, from, to } = change;
                let also = also.map_or_else(String::new, |also| format!(" and {also} = {to}"));
                let saved = share(self.before_ns.saturating_sub(*after), self.before_ns);
                format!(
                    "{setting} = {to}{also} at both ends, instead of {from}: {} s{} instead of {} s, {} \
                     less.{reserve}",
                    seconds(*after),
                    self.range.map_or_else(String::new, |(low, high)| format!(
                        " ({} to {} s by chance of the noise)",
                        seconds(low),
                        seconds(high)
                    )),
                    seconds(self.before_ns),
                    percent(saved),
                )
            }
        }
    }

    /// What is not known of an inferred scenario.
    fn reserve(&self) -> String {
        let mut reserve = String::new();
        if !self.inferred {
            return reserve;
        }
        reserve.push_str(" This replays one end's view; the peer must support it.");
        let off = self.replayed_ns.abs_diff(self.before_ns);
        if share(off, self.before_ns) > Self::OFF {
            let _ = write!(
                reserve,
                " Without changes it takes {} s, so not everything was seen.",
                seconds(self.replayed_ns)
            );
        }
        reserve.push_str(match self.rate_source {
            RateSource::Port => " The line's rate was not seen; the port's rate is assumed.",
            RateSource::Unknown => {
                " The line's rate is not known and its time taken for none: on a slow line \
                 less is saved."
            }
            _ => "",
        });
        let gains =
            |ns: &u64| share(self.before_ns.saturating_sub(*ns), self.before_ns) >= Self::WORTH;
        if let Some(shrunk) = self.shrunk_ns.filter(gains) {
            let _ = write!(
                reserve,
                " With kermit.compress = on and kermit.bundle = on it takes {} s if the file shrinks as \
                 text does, and gains nothing by it if it is packed already: the file was not there to be \
                 read.",
                seconds(shrunk)
            );
        }
        reserve
    }
}
