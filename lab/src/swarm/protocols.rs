//! The settings of both ends, picked by a seed as the protocol's entry in the registry says.

use super::{Ends, Swarm, any_files, longer_files, noisy_line};
use crate::random::Random;
use crate::scenario::Protocol;
use crate::serial::LineModel;
use crate::store::MemoryFile;
use std::fmt::Write as _;
use std::rc::Rc;
use wetstring_proto::registry::{Pick, Step};
use wetstring_proto::settings::Range;
use wetstring_proto::{Duration, LineFacts};
use wetstring_protocols::Config;

impl Swarm<'static> {
    /// The swarm of a protocol. `wst lab swarm` runs the same seeds.
    pub fn of(protocol: Protocol) -> Self {
        let replay =
            format!("wst lab swarm --protocol {} --seed {{seed}} --trace FILE", protocol.name);
        let build = move |random: &mut Random, line: &LineModel| ends(protocol, random, line);
        let swarm = Self::of_made(Rc::new(build), replay.into());
        let bare = protocol.weak_check.is_some_and(|check| check.bare_answers);
        let swarm = if bare { swarm.bare_answers() } else { swarm };
        if protocol.tells_names { swarm } else { swarm.files(&one_file).same(same_but_for_padding) }
    }

    /// The swarm of a protocol on lines of bit errors up to one in 1,000, which do not end while there is
    /// anything to send. `WETSTRING_SEED=N cargo test noisy` runs one seed.
    pub fn noisy(protocol: Protocol) -> Self {
        let mut swarm = Self::of(protocol).lines(&noisy_line);
        swarm.build = Rc::new(move |random: &mut Random, line: &LineModel| {
            made(protocol, protocol.picks.noisy, random, line)
        });
        if protocol.tells_names {
            swarm = swarm.files(&longer_files);
        }
        swarm
            .replayed_by(concat!(
                "WETSTRING_SEED={seed} cargo test -p wetstring-lab PROTOCOL_swarm::noisy ",
                "-- --nocapture"
            ))
            .times(Duration::from_secs(50_000), Duration::from_secs(100_000))
    }
}

/// XMODEM has one file, and its receiver keeps the padding of the last block.
fn one_file(random: &mut Random) -> Vec<MemoryFile> {
    let mut files = any_files(random);
    files.truncate(1);
    files
}

fn same_but_for_padding(source: &[u8], received: &[u8]) -> bool {
    let (file, rest) = received.split_at(source.len().min(received.len()));
    file == source && rest.len() < 1024 && rest.iter().all(|byte| *byte == 0x1a)
}

/// Two engines with settings that the random stream picks, which differ where ends may differ.
pub fn ends(protocol: Protocol, random: &mut Random, line: &LineModel) -> Ends {
    made(protocol, protocol.picks.usual, random, line)
}

fn made(protocol: Protocol, steps: &[Step], random: &mut Random, line: &LineModel) -> Ends {
    let mut ends = Picking {
        protocol,
        line,
        configs: [(); 2].map(|()| protocol.config()),
        picked: String::new(),
    };
    for step in steps {
        match step {
            Step::Both(picks) => picks.iter().for_each(|pick| ends.pick(pick, &[0, 1], random)),
            Step::Each(picks) => {
                for end in 0..2 {
                    picks.iter().for_each(|pick| ends.pick(pick, &[end], random));
                }
            }
        }
    }
    let [ours, theirs] = &ends.configs;
    Ends {
        sender: ours.sender(),
        receiver: theirs.receiver(),
        description: ends.picked.trim_end().to_owned(),
    }
}

/// Two ends whose settings are being picked.
struct Picking<'a> {
    protocol: Protocol,
    line: &'a LineModel,
    configs: [Box<dyn Config>; 2],
    /// What has been picked, as text.
    picked: String,
}

impl Picking<'_> {
    /// One pick for these ends.
    fn pick(&mut self, pick: &Pick, ends: &[usize], random: &mut Random) {
        match *pick {
            Pick::Line => {
                let facts = facts(random, self.line);
                for end in ends {
                    self.configs[*end].on_line(facts);
                }
            }
            Pick::Of(name, values) => self.set(ends, name, random.pick(values)),
            Pick::Set(name, value) => self.set(ends, name, value),
            Pick::OneIn(seeds, name, values) => {
                if random.one_in(seeds) {
                    self.set(ends, name, random.pick(values));
                }
            }
            Pick::Opposite(name, [one, other]) => {
                let [first, second] = if random.one_in(2) { [one, other] } else { [other, one] };
                self.set(&[0], name, first);
                self.set(&[1], name, second);
            }
            Pick::HalfDuplex(name, value) => {
                if self.line.half_duplex.is_some() {
                    self.set(ends, name, value);
                }
            }
            Pick::Rows => self.pick_rows(ends, random),
        }
    }

    /// Sometimes a value of a row's range: any word, and of numbers the ends of the range and some between.
    fn pick_rows(&mut self, ends: &[usize], random: &mut Random) {
        let protocol = self.protocol;
        // What makes the protocol the one of its name stays.
        let is_preset = |name| protocol.preset.iter().any(|(preset, _)| *preset == name);
        for row in protocol.family().table().iter().filter(|row| !is_preset(row.name)) {
            if !random.one_in(4) {
                continue;
            }
            match row.range {
                Range::Word(words) => self.set(ends, row.name, random.pick(words)),
                Range::Number(low, high) => {
                    let between = random.between(low, high);
                    // A check of the row may refuse a number within its range.
                    let value = random.pick(&[low, high, between]).to_string();
                    if self.configs[0].boxed().set(row.name, &value).is_ok() {
                        self.set(ends, row.name, &value);
                    }
                }
                Range::Text => {}
            }
        }
    }

    fn set(&mut self, ends: &[usize], name: &str, value: &str) {
        for end in ends {
            let set = self.configs[*end].set(name, value);
            set.expect("a setting of the table and a value in its range");
        }
        // Writing to a string does not fail.
        let _ = write!(self.picked, "{name}={value} ");
    }
}

/// The rate given to an end: sometimes none.
fn facts(random: &mut Random, line: &LineModel) -> LineFacts {
    let rate = u32::try_from(line.rate_bps).unwrap_or(0);
    LineFacts {
        reliable: Some(false),
        rate_bps: if random.one_in(4) { 0 } else { rate },
        ..LineFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pick_is_a_value_of_a_row() {
        for protocol in Protocol::all() {
            let picks = protocol.picks;
            for step in picks.usual.iter().chain(picks.noisy) {
                let (Step::Both(picks) | Step::Each(picks)) = step;
                for pick in *picks {
                    let (name, values): (_, &[_]) = match pick {
                        Pick::Line | Pick::Rows => continue,
                        Pick::Of(name, values) | Pick::OneIn(_, name, values) => (name, values),
                        Pick::Opposite(name, values) => (name, values),
                        Pick::Set(name, value) | Pick::HalfDuplex(name, value) => {
                            (name, std::slice::from_ref(value))
                        }
                    };
                    for value in values {
                        let set = protocol.config().set(name, value);
                        assert!(set.is_ok(), "{protocol:?}: {name}={value}");
                    }
                }
            }
        }
    }
}
