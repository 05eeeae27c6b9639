//! The one setting that helps most, found by replaying the transfer with it changed.
//!
//! A run of the laboratory is replayed exactly. For one end of a real transfer a scenario is inferred: the
//! rate, half of the median round trip as delay in each direction, retransmitted packets as bit errors, the
//! settings, the negotiated parameters, and the file if it still exists. Anything unseen is missing from it:
//! bursts, a slow peer and a slow line look alike.

use super::advice::{Advice, At, Change, NoAdvice, Trial};
use super::budget::{Part, share};
use super::changes::{self, Circumstances};
use super::line_advice;
use super::table;
use super::{Account, Ends};
use crate::scenario::{Load, Outcome, Protocol, Scenario};
use crate::trace::Recorder;
use std::fmt::Write as _;
use toml::{Table, Value};
use wetstring_proto::settings::Setting;
use wetstring_proto::{kermit, zmodem};

/// Replays of one change where there is noise, whose median is its time.
const SEEDS: u64 = 5;
/// Replays per prediction; its range is their minimum to maximum, in which another replay lies in 19 of 21 cases.
const DRAWS: u64 = 20;

/// Changes that are looked at more closely, one after the other, until one of them helps.
const CANDIDATES: usize = 3;

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
            return self.replay(&base, load, false, Circumstances::default());
        }
        let base = self.inferred(load)?;
        let reliable = self.log.value("reliable") == Some(1);
        let has_substitute = table::get(&base, "file.made").is_some();
        let known = Circumstances { reliable, has_stranger: self.has_stranger(), has_substitute };
        self.replay(&base, load, true, known)
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
        known: Circumstances,
    ) -> Result<Advice, NoAdvice> {
        let say = |why: String| NoAdvice(format!("the transfer could not be replayed: {why}"));
        let (protocol, time) = self.time(base, load, inferred).map_err(say)?;
        let fails = time.is_none();
        if fails && inferred {
            return Err(say("it did not end well".to_owned()));
        }
        // A run that fails is compared with those that do not.
        let now = time.unwrap_or(self.elapsed_ns * 10);
        let excess = if inferred { Some(self.excess(base, load, now)) } else { None };
        let before_ns = if inferred || fails { self.elapsed_ns } else { now };
        let mut limited = base.clone();
        // Anything that takes much longer is not of interest.
        let limit = i64::try_from(now / 500_000_000 + 10).unwrap_or(i64::MAX);
        table::put(&mut limited, "limits.time", Value::Integer(limit));
        let unchanged = Unchanged { base: limited, load, now, excess, before_ns, fails };
        let all = changed(&unchanged.base, protocol, known);
        // A change that the protocol does not support on this line does not work.
        let time = |table: &Table| self.time(table, load, inferred).ok().and_then(|(_, time)| time);
        let times: Vec<Option<u64>> = all.iter().map(|(_, table)| time(table)).collect();
        let scaled =
            |time: u64, now: u64| excess.map_or(time, |excess| self.scaled(time, now, excess));
        let trials: Vec<Trial> = all
            .iter()
            .zip(&times)
            .map(|((change, _), time)| {
                let elapsed_ns = time.map(|time| scaled(time, now));
                Trial { change: change.clone(), elapsed_ns }
            })
            .collect();
        let best = self.best(&unchanged, &all, &trials, &times);
        let prefix = protocol.family().prefix();
        let switches: Vec<String> =
            protocol.compression.iter().map(|name| format!("{prefix}.{name} = on")).collect();
        let shrunk_ns = excess
            .filter(|_| !known.has_stranger)
            .and_then(|excess| self.if_it_shrinks(base, load, now, excess));
        let range = best.as_ref().and_then(|best| {
            let (low, high) = best.range?;
            Some((scaled(low, best.without), scaled(high, best.without)))
        });
        Ok(Advice {
            before_ns,
            range,
            replayed_ns: best.as_ref().map_or(now, |best| best.without),
            changed_ns: best.as_ref().map(|best| (best.with, best.range)),
            best: best.map(|best| (best.change, scaled(best.with, best.without))),
            fails,
            trials,
            inferred,
            is_recording: self.is_recording(),
            rate_source: self.rate_source,
            shrunk_ns,
            shrunk_by: switches.join(" and "),
            scenario: table::text(base),
        })
    }

    /// The change that saves most, at the fewest ends.
    fn best(
        &self,
        unchanged: &Unchanged<'_>,
        all: &[(Change, Table)],
        trials: &[Trial],
        times: &[Option<u64>],
    ) -> Option<Best> {
        let Unchanged { load, now, excess, before_ns, fails, .. } = *unchanged;
        let worth = |best: &Best| {
            let scaled = |excess| self.scaled(best.with, best.without, excess);
            let ns = excess.map_or(best.with, scaled);
            fails || share(before_ns.saturating_sub(ns), before_ns) >= Advice::WORTH
        };
        let mut left = trials.to_vec();
        let mut drawn = None;
        // What saves most by few replays may not do so by more.
        for _ in 0..CANDIDATES {
            let (_, change) = fastest(&left)?;
            let index = all.iter().position(|(other, _)| other == change)?;
            let (change, table) = all[index].clone();
            let best = Best { change, table, without: now, with: times[index]?, range: None };
            let mut best = Some(best).filter(worth)?;
            self.at_fewest_ends(unchanged, &mut best);
            if excess.is_some() && self.wrong_characters() > 0 {
                let without = *drawn.get_or_insert_with(|| self.range(&unchanged.base, load));
                let with = self.range(&best.table, load);
                if let (Some([_, without, _]), Some([low, with, high])) = (without, with) {
                    best = Best { without, with, range: Some((low, high)), ..best };
                }
            }
            if worth(&best) {
                return Some(best);
            }
            left[index].elapsed_ns = None;
        }
        None
    }

    /// Makes the change at one end alone, if that is enough.
    fn at_fewest_ends(&self, unchanged: &Unchanged<'_>, best: &mut Best) {
        let inferred = unchanged.excess.is_some();
        if best.change.at != At::Both || best.change.setting == "protocol" {
            return;
        }
        if inferred && !self.is_recording() && self.limits_itself(&best.change) {
            best.change.at = At::Sender;
            // What the receiver takes is not the sender's to set.
            best.change.also = best.change.also.filter(|also| !also.ends_with(".receive-length"));
            return;
        }
        for (end, at) in [("sender", At::Sender), ("receiver", At::Receiver)] {
            if at == At::Receiver && self.is_recording() {
                continue;
            }
            let table = changes::at_one_end(&unchanged.base, &best.change, end);
            let time = self.time(&table, unchanged.load, inferred);
            let Some(with) = time.ok().and_then(|(_, time)| time) else { continue };
            if with <= best.with + best.with / 100 {
                best.change.at = at;
                best.table = table;
                best.with = with;
                return;
            }
        }
    }

    /// Whether this end asked for no more than what was agreed: its peer may well have had more to offer.
    fn limits_itself(&self, change: &Change) -> bool {
        let own = |setting: &str| {
            let set = self.log.texts.iter().filter(|(name, _)| name == "set");
            let set = set.filter_map(|(_, text)| std::str::from_utf8(text).ok()?.split_once('='));
            let set = set.rev().find(|(name, _)| *name == setting);
            let mut rows = Protocol::of_bytes().map(|protocol| protocol.family().table());
            let row = rows.find_map(|table| Setting::find(table, setting));
            set.map(|(_, value)| value).or_else(|| Some(row?.default)).unwrap_or_default()
        };
        let of_length = |setting: &str| {
            let told = if setting == "kermit.window" { "window" } else { "packet" };
            let agreed = self.value_of_sender(told);
            own(setting).parse::<u64>().is_ok_and(|own| agreed.is_some_and(|agreed| own <= agreed))
        };
        match change.setting {
            "kermit.window" | "kermit.send-length" => of_length(change.setting),
            "zmodem.compress" => own(change.setting) == "off",
            "kermit.streaming" | "kermit.bundle" | "kermit.correction" | "kermit.compress"
            | "kermit.difference" => {
                let all = [Some(change.setting), change.also];
                // The others are there in bundles only.
                let is_off = |setting: &str| own(setting) == "off";
                let unused =
                    |setting: &str| setting != "kermit.streaming" && is_off("kermit.bundle");
                all.into_iter().flatten().all(|setting| is_off(setting) || unused(setting))
            }
            _ => false,
        }
    }

    /// Whether the trace was made of a recording, which any program may have left.
    fn is_recording(&self) -> bool {
        self.log.value("recorded") == Some(1)
    }

    /// Whether an end is not ours: it was recorded, or did not agree to what was offered and all of ours have.
    fn has_stranger(&self) -> bool {
        let off = |(name, text): &(String, Vec<u8>)| name == "set" && text == b"kermit.bundle=off";
        let agreed = self.agreed("bundle") || self.agreed("compress");
        let protocol = self.protocol.as_deref().and_then(Protocol::of);
        let refused = if protocol.is_some_and(Protocol::is::<zmodem::Config>) {
            // What is said of another of ours only.
            self.value_of_sender("compress").is_none()
        } else {
            self.value_of_sender("window").is_some() && !agreed
        };
        self.is_recording() || refused && !self.log.texts.iter().any(off)
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
    fn range(&self, scenario: &Table, load: Load<'_>) -> Option<[u64; 3]> {
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
        enough.then(|| [times[0], middle, times[times.len() - 1]])
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
        if protocol.is::<zmodem::Config>() {
            switch(&mut base, "compress", self.agreed("compress"));
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

/// A replay without changes.
struct Unchanged<'a> {
    base: Table,
    load: Load<'a>,
    /// Its time.
    now: u64,
    /// Start-up time of the transfer that it does not have, if its scenario was inferred.
    excess: Option<u64>,
    /// What is compared: the time of the transfer, or of its replay if that is exact.
    before_ns: u64,
    fails: bool,
}

/// The change that helps most.
struct Best {
    change: Change,
    table: Table,
    /// The times of a replay without it and of one with it.
    without: u64,
    with: u64,
    /// The range of the latter.
    range: Option<(u64, u64)>,
}

/// All changes that are tried.
fn changed(base: &Table, protocol: Protocol, known: Circumstances) -> Vec<(Change, Table)> {
    match line_advice::network(base).filter(|_| moved_by(base, "ftp")) {
        Some(network) => line_advice::changes(base, &network),
        None if moved_by(base, "ncp") => {
            changes::of_family(base, Protocol::named("ncp").family(), known)
        }
        None => changes::of_protocol(base, protocol, known),
    }
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
