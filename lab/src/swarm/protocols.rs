//! What a seed picks of each protocol: the settings of both ends.
//!
//! The order of the picks is part of a seed's meaning. A new pick goes to the end of its list, so
//! that the seeds that are known to have shown something still show it.

use super::{Ends, Swarm, any_files, longer_files, noisy_line};
use crate::random::Random;
use crate::scenario::Protocol;
use crate::serial::LineModel;
use crate::store::MemoryFile;
use std::fmt::Write as _;
use std::rc::Rc;
use wetstring_proto::settings::{Range, Settings};
use wetstring_proto::{Duration, LineFacts, kermit, uucp, xymodem, zmodem};
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
        if protocol.is::<kermit::Config>() {
            swarm = Self::new(&noisy_kermit_ends, "").lines(&noisy_line);
        }
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
    match protocol.family().prefix() {
        "kermit" => kermit_ends(random, line),
        "xymodem" => xymodem_ends(protocol.name, random, line),
        "zmodem" => zmodem_ends(random, line),
        "uucp" => uucp_ends(random, line),
        _ => any_ends(protocol, random, line),
    }
}

/// The defaults, except for some enumerated settings.
fn any_ends(protocol: Protocol, random: &mut Random, line: &LineModel) -> Ends {
    let mut picked = String::new();
    let configs = [(), ()].map(|()| {
        let mut config = protocol.config();
        config.on_line(facts(random, line));
        for row in config.table() {
            let Range::Word(words) = row.range else { continue };
            // What makes the protocol the one of its name stays.
            if protocol.preset.iter().any(|(name, _)| *name == row.name) || !random.one_in(4) {
                continue;
            }
            let value = random.pick(words);
            config.set(row.name, value).expect("a word of the row");
            // Writing to a string does not fail.
            let _ = write!(picked, "{}={value} ", row.name);
        }
        config
    });
    let [ours, theirs] = configs;
    Ends {
        sender: ours.sender(),
        receiver: theirs.receiver(),
        description: picked.trim_end().to_owned(),
    }
}

/// Sets settings of some ends, and writes down which.
struct Picked(String);

impl Picked {
    fn set<C: Settings>(&mut self, configs: &mut [C], name: &str, value: &str) {
        for config in configs {
            config.set(name, value).expect("a setting of the table and a value in its range");
        }
        // Writing to a string does not fail.
        let _ = write!(self.0, "{name}={value} ");
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

fn kermit_ends(random: &mut Random, line: &LineModel) -> Ends {
    let mut picked = Picked(String::new());
    let mut configs = [(), ()].map(|()| kermit::Config {
        line: facts(random, line),
        buffer_len: random.pick(&[1024, 4096, 65_536]),
        ..kermit::Config::default()
    });
    let check = random.pick(&["3", "3", "5"]);
    picked.set(&mut configs, "kermit.check", check);
    for end in 0..2 {
        let of = &mut configs[end..=end];
        picked.set(of, "kermit.window", random.pick(&["1", "2", "7", "31", "4"]));
        let lengths = ["40", "94", "300", "1000", "9024"];
        picked.set(of, "kermit.receive-length", random.pick(&lengths));
        let prefixing = ["auto", "all", "minimal", "none"];
        picked.set(of, "kermit.prefixing", random.pick(&prefixing));
        picked.set(of, "kermit.attributes", random.pick(&["on", "on", "off"]));
        picked.set(of, "kermit.repeat", random.pick(&["on", "off"]));
        picked.set(of, "kermit.digest", random.pick(&["on", "off"]));
    }
    if random.one_in(3) {
        let parity = random.pick(&["even", "odd", "mark", "space"]);
        picked.set(&mut configs, "kermit.parity", parity);
    }
    if line.half_duplex.is_some() {
        picked.set(&mut configs, "kermit.window", "1");
    }
    let [ours, theirs] = configs;
    made(&ours, &theirs, &picked)
}

/// Every window and long packets, each end with its own; with digests of whole files, without which
/// one damaged packet in 65,536 is taken for a good one.
fn noisy_kermit_ends(random: &mut Random, line: &LineModel) -> Ends {
    let mut picked = Picked(String::new());
    let mut configs = [(), ()]
        .map(|()| kermit::Config { line: facts(random, line), ..kermit::Config::default() });
    let window = random.pick(&["1", "2", "4", "31"]);
    picked.set(&mut configs, "kermit.window", window);
    for end in 0..2 {
        let of = &mut configs[end..=end];
        let lengths = ["94", "1000", "9024", "9024"];
        picked.set(of, "kermit.receive-length", random.pick(&lengths));
        picked.set(of, "kermit.prefixing", random.pick(&["auto", "all", "minimal"]));
    }
    let [ours, theirs] = configs;
    made(&ours, &theirs, &picked)
}

fn xymodem_ends(variant: &str, random: &mut Random, line: &LineModel) -> Ends {
    let mut picked = Picked(format!("{variant} "));
    let mut configs = [(), ()].map(|()| xymodem::Config {
        line: facts(random, line),
        buffer_len: random.pick(&[128, 1024, 4096, 65_536]),
        ..xymodem::Config::default()
    });
    picked.set(&mut configs, "xymodem.variant", variant);
    // Only the 1K variants support 1024; the others cannot insist on it.
    let blocks: &[_] = match variant {
        "xmodem" | "xmodem-crc" => &["auto", "128", "128"],
        _ => &["auto", "128", "128", "1024"],
    };
    // A fall back to checksums is the checksum's swarm.
    picked.set(&mut configs, "xymodem.starts", "0");
    for end in 0..2 {
        let of = &mut configs[end..=end];
        picked.set(of, "xymodem.block", random.pick(blocks));
        picked.set(of, "xymodem.first-eot", random.pick(&["auto", "auto", "nak", "wait"]));
        picked.set(of, "xymodem.purge", random.pick(&["1000", "300"]));
        picked.set(of, "xymodem.pause", random.pick(&["0", "0", "5"]));
        picked.set(of, "xymodem.adapt-block", random.pick(&["on", "on", "off"]));
        picked.set(of, "xymodem.retries", random.pick(&["10", "30"]));
    }
    let [ours, theirs] = configs;
    made(&ours, &theirs, &picked)
}

fn zmodem_ends(random: &mut Random, line: &LineModel) -> Ends {
    let mut picked = Picked(String::new());
    let mut configs = [(), ()].map(|()| zmodem::Config {
        line: facts(random, line),
        buffer_len: random.pick(&[1024, 4096, 65_536]),
        ..zmodem::Config::default()
    });
    for end in 0..2 {
        let of = &mut configs[end..=end];
        picked.set(of, "zmodem.escape", random.pick(&["normal", "normal", "controls"]));
        picked.set(of, "zmodem.send-length", random.pick(&["0", "0", "32", "300", "1024", "8192"]));
        picked.set(of, "zmodem.window", random.pick(&["0", "0", "500", "4000"]));
        picked.set(of, "zmodem.receive-buffer", random.pick(&["0", "0", "0", "600"]));
        picked.set(of, "zmodem.rle", random.pick(&["on", "off"]));
        picked.set(of, "zmodem.variable-headers", random.pick(&["on", "off"]));
        picked.set(of, "zmodem.adapt-length", random.pick(&["on", "on", "off"]));
    }
    let [ours, theirs] = configs;
    made(&ours, &theirs, &picked)
}

fn uucp_ends(random: &mut Random, line: &LineModel) -> Ends {
    let mut picked = Picked(String::new());
    let caller = random.one_in(2);
    let configs = [caller, !caller].map(|calls| {
        let mut config = uucp::Config {
            line: facts(random, line),
            buffer_len: random.pick(&[4096, 65_536]),
            ..uucp::Config::default()
        };
        let of = std::slice::from_mut(&mut config);
        picked.set(of, "uucp.window", random.pick(&["1", "3", "7", "7"]));
        picked.set(of, "uucp.packet", random.pick(&["32", "64", "64", "256", "1024", "4096"]));
        picked.set(of, "uucp.retries", random.pick(&["10", "30"]));
        picked.set(of, "uucp.timeout", random.pick(&["10", "20"]));
        picked.set(of, "uucp.role", if calls { "call" } else { "answer" });
        config
    });
    let [ours, theirs] = configs;
    made(&ours, &theirs, &picked)
}

fn made(ours: &dyn Config, theirs: &dyn Config, picked: &Picked) -> Ends {
    Ends {
        sender: ours.sender(),
        receiver: theirs.receiver(),
        description: picked.0.trim_end().to_owned(),
    }
}
