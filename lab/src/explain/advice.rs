//! The change that would help most, and the results of all changes tried.

use super::RateSource;
use super::bottleneck::percent;
use super::budget::{seconds, share};
use super::failure::flags;
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
    /// The new value.
    pub to: String,
    /// Where.
    pub at: At,
}

/// Where a change has to be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// At both ends.
    Both,
    /// At the sender alone.
    Sender,
    /// At the receiver alone.
    Receiver,
    /// It is a parameter of the line.
    Line,
}

impl At {
    /// As a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Line => "line",
        }
    }
}

impl Change {
    /// The flags that make it, of `wst send` and `wst receive`, or of `wst lab run` if that made the trace.
    pub fn flags(&self, is_run: bool) -> Vec<String> {
        if self.at == At::Line {
            return Vec::new();
        }
        let settings = [Some(self.setting), self.also];
        let settings = settings.into_iter().flatten();
        let to = &*self.to;
        match (self.setting, is_run) {
            ("protocol", true) => vec!["--set".to_owned(), format!("protocol={to}")],
            ("protocol", false) => flags(Some(to), &[]),
            (_, true) => settings
                .filter_map(|setting| setting.split_once('.'))
                .flat_map(|(_, key)| {
                    ["--set".to_owned(), format!("{}.{key}={to}", self.at.as_str())]
                })
                .collect(),
            (_, false) => flags(None, &settings.map(|setting| (setting, to)).collect::<Vec<_>>()),
        }
    }
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
    /// The time of the replay with the best change, in nanoseconds, and its range where the line has noise.
    pub changed_ns: Option<(u64, Option<(u64, u64)>)>,
    /// The transfer failed; the best change is one with which it ends well.
    pub fails: bool,
    /// Everything that was tried, in order.
    pub trials: Vec<Trial>,
    /// The replay is of a scenario that was inferred from one end's view.
    pub inferred: bool,
    /// What was recorded is not known to be of ours, so that our flags do not apply to it.
    pub is_recording: bool,
    /// How the rate of the replayed line is known.
    pub rate_source: RateSource,
    /// The predicted time with the protocol's compression if the file shrinks as text does, in nanoseconds, where the file
    /// was not there to be replayed, and nothing was compressed.
    pub shrunk_ns: Option<u64>,
    /// The settings by which it would be compressed, as a sentence has them.
    pub shrunk_by: String,
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
                format!(
                    "{}: replayed with it, the transfer ends well, in {} s.",
                    self.change(change),
                    seconds(*after)
                )
            }
            None => format!(
                "nothing much. None of {} changes that were replayed saves more than {}.{reserve}",
                self.trials.len(),
                percent(Self::WORTH)
            ),
            Some((change, after)) => {
                // Times of one replay are compared with those of another; where they are far from the transfer's own
                // they are not scaled to it.
                let ((without, with), range) = match self.changed_ns.filter(|_| self.is_off()) {
                    Some((with, range)) => ((self.replayed_ns, with), range),
                    None => ((self.before_ns, *after), self.range),
                };
                format!(
                    "{}: {}{} s{} instead of {} s, {} less.{reserve}",
                    self.change(change),
                    if self.is_off() { "replayed, " } else { "" },
                    seconds(with),
                    range.map_or_else(String::new, |(low, high)| format!(
                        " ({} to {} s by chance of the noise)",
                        seconds(low),
                        seconds(high)
                    )),
                    seconds(without),
                    percent(share(without.saturating_sub(with), without)),
                )
            }
        }
    }

    /// The flags of the best change; none if there is none, or if it was not our program.
    pub fn flags(&self) -> Vec<String> {
        let best = self.best.as_ref().filter(|_| !self.is_recording);
        best.map_or_else(Vec::new, |(change, _)| change.flags(!self.inferred))
    }

    /// The change, where it is made and how.
    fn change(&self, change: &Change) -> String {
        let Change { setting, also, from, to, at } = change;
        let also = also.map_or_else(String::new, |also| format!(" and {also} = {to}"));
        let place = match (at, self.inferred) {
            (At::Both, _) => " at both ends",
            // A scenario is only inferred from the sender's view.
            (At::Sender, true) => " at this end",
            (At::Sender, false) => " at the sender",
            (At::Receiver, true) => " at the peer",
            (At::Receiver, false) => " at the receiver",
            (At::Line, _) => "",
        };
        let flags = self.flags().join(" ");
        let typed = match (flags.is_empty(), at, self.inferred) {
            (true, ..) => String::new(),
            (false, At::Receiver, true) => format!(" (of wst: {flags})"),
            (false, ..) => format!(" ({flags})"),
        };
        format!("{setting} = {to}{also}{place}{typed}, instead of {from}")
    }

    /// The replay without changes took clearly another time than the transfer.
    fn is_off(&self) -> bool {
        let off = self.replayed_ns.abs_diff(self.before_ns);
        self.inferred && share(off, self.before_ns) > Self::OFF
    }

    /// What is not known of an inferred scenario.
    fn reserve(&self) -> String {
        let mut reserve = String::new();
        if !self.inferred {
            return reserve;
        }
        reserve.push_str(" This replays one end's view; the peer must support it.");
        if self.is_off() {
            let _ = write!(
                reserve,
                " Replayed without changes it takes {} s, and it took {} s, so not everything was seen.",
                seconds(self.replayed_ns),
                seconds(self.before_ns)
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
            let takes = if self.is_off() {
                percent(share(self.before_ns.saturating_sub(shrunk), self.before_ns)) + " less time"
            } else {
                seconds(shrunk) + " s"
            };
            let _ = write!(
                reserve,
                " With {} it takes {takes} if the file shrinks as text does, and gains nothing by it if it is \
                 packed already: the file was not there to be read.",
                self.shrunk_by
            );
        }
        reserve
    }
}
