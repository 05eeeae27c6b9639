//! The one setting that helps most, found by replaying the transfer with it changed.
//!
//! A run of the laboratory is replayed exactly. For one end of a real transfer a scenario is inferred: the
//! rate, half of the median round trip as delay in each direction, retransmitted packets as bit errors, the
//! settings, the negotiated parameters, and the file if it still exists. Anything unseen is missing from it:
//! bursts, a slow peer and a slow line look alike.

use super::advice::{Advice, Change, NoAdvice, Trial};
use super::budget::{Part, share};
use super::changes;
use super::line_advice;
use super::table;
use super::{Account, Ends};
use crate::scenario::{Load, Outcome, Protocol, Scenario};
use crate::trace::Recorder;
use std::fmt::Write as _;
use toml::{Table, Value};
use wetstring_proto::kermit;

/// Replays of one change where there is noise, whose median is its time.
const SEEDS: u64 = 5;
/// Replays per prediction; its range is their minimum to maximum, in which another replay lies in 19 of 21 cases.
const DRAWS: u64 = 20;

/// Files up to this length are replayed whole when the scenario was inferred; for longer ones the rest is
/// assumed to take the same rate as the second half of this many bytes.
const WHOLE_BYTES: u64 = 256 * 1024;

impl Account {
    /// Replays the transfer with one setting changed at a time. `load` returns the content of files named in
    /// the trace.
    pub fn advise(&self, load: Load<'_>) -> Result<Advice, NoAdvice> {
        let is_run = self.log.text("scenario").is_some();
        if self.file_bytes == 0 && !is_run {
            return Err(NoAdvice("no file data moved, so there is nothing to replay".to_owned()));
        }
        if let Some(text) = self.log.text("scenario") {
            let base: Table =
                text.parse().map_err(|error| NoAdvice(format!("the trace's scenario: {error}")))?;
            return self.replay(&base, load, false, false);
        }
        let base = self.inferred(load)?;
        let reliable = self.log.value("reliable") == Some(1);
        self.replay(&base, load, true, reliable)
    }

    /// The time of the transfer with a change, from that of a replay with it and that of one without, `now`; the
    /// extra start-up time is left as it is.
    pub(super) fn scaled(&self, time: u64, now: u64, excess: u64) -> u64 {
        let scaled = u128::from(self.elapsed_ns - excess) * u128::from(time);
        let scaled = scaled.checked_div(u128::from(now)).unwrap_or(0);
        excess.saturating_add(u64::try_from(scaled).unwrap_or(u64::MAX))
    }

    fn replay(
        &self,
        base: &Table,
        load: Load<'_>,
        inferred: bool,
        reliable: bool,
    ) -> Result<Advice, NoAdvice> {
        let say = |why: String| NoAdvice(format!("the transfer could not be replayed: {why}"));
        let (protocol, time) = self.time(base, load, inferred).map_err(say)?;
        let fails = time.is_none();
        if fails && inferred {
            return Err(say("it did not end well".to_owned()));
        }
        // A run that fails is compared with those that do not.
        let now = time.unwrap_or(self.elapsed_ns * 10);
        let measure = if inferred { Some(self.excess(base, load, now)) } else { None };
        let before_ns = if inferred || fails { self.elapsed_ns } else { now };
        let mut limited = base.clone();
        // Anything that takes much longer is not of interest.
        let limit = i64::try_from(now / 500_000_000 + 10).unwrap_or(i64::MAX);
        table::put(&mut limited, "limits.time", Value::Integer(limit));
        let all = match line_advice::network(&limited).filter(|_| moved_by(base, "ftp")) {
            Some(network) => line_advice::changes(&limited, &network),
            None if moved_by(base, "ncp") => {
                changes::of_family(&limited, Protocol::named("ncp").family(), reliable)
            }
            None => changes::of_protocol(&limited, protocol, reliable),
        };
        let trials: Vec<Trial> = all
            .iter()
            .map(|(change, table)| {
                // A change that the protocol does not support on this line does not work.
                let time = self.time(table, load, inferred).ok().and_then(|(_, time)| time);
                let scaled = |time| measure.map_or(time, |excess| self.scaled(time, now, excess));
                let elapsed_ns = time.map(scaled);
                Trial { change: change.clone(), elapsed_ns }
            })
            .collect();
        let best = fastest(&trials);
        let worth =
            |ns: u64| fails || share(before_ns.saturating_sub(ns), before_ns) >= Advice::WORTH;
        let mut best = best.filter(|(ns, _)| worth(*ns)).map(|(ns, change)| (change.clone(), ns));
        let mut range = None;
        if let (Some((change, ns)), true) = (&mut best, inferred && self.wrong_characters() > 0)
            && let Some((_, table)) = all.iter().find(|(other, _)| other == change)
            && let Some([low, middle, high]) = self.range(table, load, measure.unwrap_or(0))
        {
            *ns = middle;
            range = Some((low, high));
        }
        best = best.filter(|(_, ns)| worth(*ns));
        let shrunk_ns = measure.and_then(|excess| self.if_it_shrinks(base, load, now, excess));
        let (rate_source, scenario) = (self.rate_source, table::text(base));
        Ok(Advice {
            before_ns,
            best,
            range,
            replayed_ns: now,
            fails,
            trials,
            inferred,
            rate_source,
            shrunk_ns,
            scenario,
        })
    }

    /// The time of a scenario, and its protocol; no time if it fails.
    pub(super) fn time(
        &self,
        scenario: &Table,
        load: Load<'_>,
        inferred: bool,
    ) -> Result<(Protocol, Option<u64>), String> {
        let run = |bytes: Option<u64>| -> Result<(Protocol, Option<u64>), String> {
            let mut scenario = scenario.clone();
            if let Some(bytes) = bytes {
                let bytes = Value::Integer(i64::try_from(bytes).unwrap_or(i64::MAX));
                table::put(&mut scenario, "file.bytes", bytes);
            }
            let scenario = parse(&scenario, load)?;
            let outcome = scenario.run(&mut Recorder::off());
            Ok((scenario.protocol(), nanos(&outcome)))
        };
        if inferred && self.wrong_characters() > 0 {
            return self.median(scenario, load);
        }
        if !inferred || self.file_bytes <= WHOLE_BYTES {
            return run(None);
        }
        let (protocol, whole) = run(Some(WHOLE_BYTES))?;
        let (_, half) = run(Some(WHOLE_BYTES / 2))?;
        let (Some(whole), Some(half)) = (whole, half) else { return Ok((protocol, None)) };
        let rest = u128::from(whole.saturating_sub(half))
            * u128::from(self.file_bytes - WHOLE_BYTES)
            / u128::from(WHOLE_BYTES / 2);
        Ok((protocol, u64::try_from(u128::from(whole) + rest).ok()))
    }

    /// The median time of a scenario with noise, over some seeds.
    fn median(&self, scenario: &Table, load: Load<'_>) -> Result<(Protocol, Option<u64>), String> {
        let protocol = parse(scenario, load)?.protocol();
        let mut times: Vec<u64> = (1..=SEEDS)
            .map(|seed| self.once(scenario, load, seed, None).unwrap_or(u64::MAX))
            .collect();
        times.sort_unstable();
        let middle = times[times.len() / 2];
        Ok((protocol, Some(middle).filter(|ns| *ns < u64::MAX)))
    }

    /// The time of a scenario with this seed, and a line in place of its own.
    fn once(
        &self,
        scenario: &Table,
        load: Load<'_>,
        seed: u64,
        line: Option<String>,
    ) -> Option<u64> {
        let mut scenario = scenario.clone();
        table::put(&mut scenario, "seed", Value::Integer(i64::try_from(seed).ok()?));
        if let Some(line) = line {
            table::put(&mut scenario, "line", Value::String(line));
        }
        let bytes = self.file_bytes.min(WHOLE_BYTES);
        table::put(&mut scenario, "file.bytes", Value::Integer(i64::try_from(bytes).ok()?));
        let outcome = parse(&scenario, load).ok()?.run(&mut Recorder::off());
        let ns = u128::from(nanos(&outcome)?) * u128::from(self.file_bytes);
        u64::try_from(ns / u128::from(bytes.max(1))).ok()
    }

    /// The least, the median and the most time of a change where there is noise. Both chance and how often errors
    /// come differ from replay to replay: a count that was seen leaves open which one was due.
    fn range(&self, scenario: &Table, load: Load<'_>, excess: u64) -> Option<[u64; 3]> {
        let seen = self.wrong_characters() as f64;
        let draw = |index: u64| {
            let errors =
                (seen + normal((index as f64 + 0.5) / DRAWS as f64) * seen.sqrt()).max(0.3);
            // Errors and seeds are not in the same order.
            let seed = 100 + index * 7 % DRAWS;
            self.once(scenario, load, seed, Some(self.line(errors)))
        };
        let mut times: Vec<u64> = (0..DRAWS).filter_map(draw).collect();
        times.sort_unstable();
        let middle = *times.get(times.len() / 2)?;
        // As long as most of them end at all.
        let enough = times.len() as u64 >= DRAWS / 2;
        enough.then(|| [times[0], middle, times[times.len() - 1]].map(|ns| ns + excess))
    }

    /// Start-up time of the transfer that its replay does not have: one of the ends was started later.
    fn excess(&self, base: &Table, load: Load<'_>, now: u64) -> u64 {
        let mut recorder = Recorder::keep();
        let mut base = base.clone();
        let bytes = i64::try_from(self.file_bytes.min(WHOLE_BYTES)).unwrap_or(i64::MAX);
        table::put(&mut base, "file.bytes", Value::Integer(bytes));
        let Ok(scenario) = parse(&base, load) else { return 0 };
        scenario.run(&mut recorder);
        let lines = recorder.lines().iter().map(String::as_str);
        let start = Self::read(lines, self.millicps).map_or(0, |a| a.budget.of(Part::StartUp));
        let excess = self.budget.of(Part::StartUp).saturating_sub(start);
        // The rest must be comparable with the replay.
        if excess < self.elapsed_ns && now > 0 { excess } else { 0 }
    }

    /// A scenario that reproduces one end's view.
    fn inferred(&self, load: Load<'_>) -> Result<Table, NoAdvice> {
        let none = |why: &str| NoAdvice(format!("no scenario can be inferred: {why}"));
        if self.ends == Ends::Receiver {
            return Err(none("only the sender's end sees how long answers take; trace that end"));
        }
        let name = self.protocol.as_deref();
        let name = name.ok_or_else(|| none("the trace does not say which protocol it was"))?;
        let protocol = Protocol::of_bytes_by(name)
            .map_err(|names| none(&format!("expected one of {names}, got {name}")))?;
        let mut base = Table::new();
        table::put(&mut base, "protocol", Value::String(name.to_owned()));
        let line = self.line(self.wrong_characters() as f64);
        table::put(&mut base, "line", Value::String(line));
        self.content(&mut base, load);
        let prefix = protocol.family().prefix();
        for (_, text) in self.log.texts.iter().filter(|(name, _)| name == "set") {
            let text = String::from_utf8_lossy(text);
            let Some((name, value)) = text.split_once('=') else { continue };
            let key = name.strip_prefix(prefix).and_then(|name| name.strip_prefix('.'));
            if let Some(key) = key {
                table::put(&mut base, &format!("both.{key}"), Value::String(value.to_owned()));
            }
        }
        let agreed = [("window", "window"), ("packet", "receive-length")];
        for (told, key) in agreed.into_iter().filter(|_| protocol.is::<kermit::Config>()) {
            let value = self.value_of_sender(told);
            if let Some(value) = value.filter(|value| *value > 0) {
                table::put(&mut base, &format!("receiver.{key}"), Value::String(value.to_string()));
            }
        }
        if protocol.is::<kermit::Config>() {
            for name in ["streaming", "bundle", "compress"] {
                switch(&mut base, name, self.agreed(name));
            }
            // Traces without bundles do not mention it, but a replay may use bundles.
            if let Some(on) = self.value_of_sender("correction") {
                switch(&mut base, "correction", on == 1);
            }
        }
        Ok(base)
    }

    /// Whether the sender agreed on this with its peer.
    pub(super) fn agreed(&self, name: &str) -> bool {
        self.value_of_sender(name) == Some(1)
    }

    fn value_of_sender(&self, name: &str) -> Option<u64> {
        self.log.sender.as_ref().and_then(|side| side.value(name))
    }

    /// The inferred line, with this number of errors in the bytes that were sent.
    fn line(&self, errors: f64) -> String {
        let rate = self.millicps.map_or(0, |millicps| (millicps + 50) / 100);
        let mut line = format!("{rate},buffer=4096");
        if let Some(round_trip) = self.estimate.round_trip_ns.filter(|ns| *ns > 1) {
            let _ = write!(line, ",delay={}ns", round_trip / 2);
        }
        let bits = self.estimate.bytes.saturating_mul(10);
        if self.wrong_characters() > 0 && bits > 0 {
            // In units of 1e-12, which is exact enough for any real line.
            let chance = (errors * 1e12 / bits as f64) as u64;
            let _ = write!(line, ",ber={}e-12,dir=fwd", chance.clamp(1, 100_000_000_000));
        }
        line
    }
}

/// Switches a setting of both ends.
pub(super) fn switch(base: &mut Table, name: &str, on: bool) {
    let word = if on { "on" } else { "off" };
    table::put(base, &format!("both.{name}"), Value::String(word.to_owned()));
}

/// The trial that helps most, with its time.
fn fastest(trials: &[Trial]) -> Option<(u64, &Change)> {
    let fastest = |other_protocol: bool| {
        let all = trials.iter().filter_map(|trial| Some((trial.elapsed_ns?, &trial.change)));
        let kind = |change: &Change| (change.setting == "protocol") == other_protocol;
        // The first of equals.
        all.filter(|(_, change)| kind(change)).min_by_key(|(ns, _)| *ns)
    };
    // Changing the protocol is more than changing a setting, so it has to save more.
    match (fastest(false), fastest(true)) {
        (Some(setting), Some(protocol)) if protocol.0 < setting.0 / 10 * 9 => Some(protocol),
        (setting, protocol) => setting.or(protocol),
    }
}

/// Whether this protocol can transfer the file of a scenario.
fn moved_by(scenario: &Table, protocol: &str) -> bool {
    scenario.get("protocol").and_then(Value::as_str) == Some(protocol)
}

fn parse(table: &Table, load: Load<'_>) -> Result<Scenario, String> {
    Scenario::parse("replay", &table::text(table), load).map_err(|bad| bad.to_string())
}

/// The quantile of the normal distribution at this share, to about a hundredth [Abramowitz and Stegun 26.2.22].
fn normal(share: f64) -> f64 {
    let tail = share.min(1.0 - share).max(1e-9);
    let t = (-2.0 * tail.ln()).sqrt();
    let z = t - (2.30753 + 0.27061 * t) / (1.0 + 0.99229 * t + 0.04481 * t * t);
    if share < 0.5 { -z } else { z }
}

fn nanos(outcome: &Outcome) -> Option<u64> {
    let ns = u64::try_from(outcome.elapsed.as_nanos()).ok();
    ns.filter(|_| outcome.is_done())
}
