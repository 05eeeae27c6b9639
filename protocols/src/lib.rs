//! The one list of protocols.
//!
//! The program, the laboratory, the swarm and the settings pages iterate over [`FAMILIES`]; none of them has its
//! own list. A new protocol is its folder in `wetstring-proto`, with [`Registered`] for its configuration,
//! and one line here.
//!
//! ```
//! use wetstring_protocols::Protocol;
//!
//! let protocol = Protocol::of("ymodem-g").expect("it is in the list");
//! let mut config = protocol.config();
//! config.set("xymodem.retries", "30").expect("a setting of the table");
//! let receiver = config.receiver();
//! assert!(receiver.deadline().is_none());
//! ```
#![forbid(unsafe_code)]

mod config;
pub mod start;

pub use config::{Config, Configs};

use std::fmt;
use wetstring_proto::registry::{Carrier, Entry, Registered, Trial};
use wetstring_proto::settings::Setting;
use wetstring_proto::states::Diagram;
use wetstring_proto::{arpanet, kermit, netblt, uucp, xymodem, zmodem};

/// All protocols, in display order.
pub static FAMILIES: &[Family] = &[
    Family::of::<kermit::Config>(),
    Family::of::<xymodem::Config>(),
    Family::of::<zmodem::Config>(),
    Family::of::<netblt::Config>(),
    Family::of::<uucp::Config>(),
    Family::of::<arpanet::Config>(),
];

/// Protocols that share engines and settings, such as XMODEM and YMODEM.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    heading: &'static str,
    prefix: &'static str,
    entries: &'static [Entry],
    states: &'static [(&'static str, Diagram)],
    table: fn() -> &'static [Setting],
    trials: Option<&'static [Trial]>,
    default: fn() -> Box<dyn Config>,
}

impl Family {
    /// The family of a configuration.
    pub const fn of<C: Registered>() -> Self {
        Self {
            heading: C::HEADING,
            prefix: C::FAMILY,
            entries: C::ENTRIES,
            states: C::STATES,
            table: C::table,
            trials: C::TRIALS,
            default: || Box::new(C::default()),
        }
    }

    /// Its display name.
    pub fn title(&self) -> &'static str {
        self.heading.trim_end_matches(" settings")
    }

    /// The state tables of its engines, each with its owner.
    pub const fn states(&self) -> &'static [(&'static str, Diagram)] {
        self.states
    }

    /// The heading of its settings.
    pub const fn heading(&self) -> &'static str {
        self.heading
    }

    /// The prefix of its settings' names.
    pub const fn prefix(&self) -> &'static str {
        self.prefix
    }

    /// The rows of its settings.
    pub fn table(&self) -> &'static [Setting] {
        (self.table)()
    }

    /// What `wst explain` tries with a transfer; `None` if that follows from the rows.
    pub const fn trials(&self) -> Option<&'static [Trial]> {
        self.trials
    }

    /// Its protocols.
    pub fn protocols(&'static self) -> impl Iterator<Item = Protocol> {
        self.entries.iter().map(move |entry| Protocol { entry, family: self })
    }

    /// The protocol of this name in the family.
    pub fn named(&'static self, name: &str) -> Option<Protocol> {
        self.protocols().find(|protocol| protocol.name == name)
    }
}

/// A protocol by one of its names. The fields of its [`Entry`] are fields of it.
#[derive(Clone, Copy)]
pub struct Protocol {
    entry: &'static Entry,
    family: &'static Family,
}

impl Protocol {
    /// All there are.
    pub fn all() -> impl Iterator<Item = Self> {
        FAMILIES.iter().flat_map(Family::protocols)
    }

    /// Those that are chosen by name.
    pub fn chosen() -> impl Iterator<Item = Self> {
        Self::all().filter(|protocol| protocol.carrier != Carrier::Hosts)
    }

    /// Those that run over a byte stream.
    pub fn of_bytes() -> impl Iterator<Item = Self> {
        Self::all().filter(|protocol| protocol.carrier == Carrier::Bytes)
    }

    /// The one of this name that a stream of bytes carries.
    ///
    /// # Errors
    ///
    /// The names of all there are, if it is none of them.
    pub fn of_bytes_by(name: &str) -> Result<Self, String> {
        Self::of_bytes().find(|protocol| protocol.name == name).ok_or_else(|| {
            let names: Vec<_> = Self::of_bytes().map(|protocol| protocol.name).collect();
            names.join(", ")
        })
    }

    /// The protocol of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::all().find(|protocol| protocol.name == name)
    }

    /// The protocol of a name in the code.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn named(name: &str) -> Self {
        Self::of(name).unwrap_or_else(|| panic!("no protocol is called {name}"))
    }

    /// The family that it belongs to.
    pub const fn family(self) -> &'static Family {
        self.family
    }

    /// Whether it belongs to the family of this configuration.
    pub fn is<C: Registered>(self) -> bool {
        self.family.prefix == C::FAMILY
    }

    /// Its defaults.
    pub fn config(self) -> Box<dyn Config> {
        let mut config = (self.family.default)();
        self.preset(&mut *config);
        config
    }

    /// Applies the presets of this name to a configuration of the family.
    pub fn preset(self, config: &mut dyn Config) {
        for (name, value) in self.entry.preset {
            config.set(name, value).expect("a preset that is in the range of its setting");
        }
    }
}

/// Kermit, which works on the most lines.
impl Default for Protocol {
    fn default() -> Self {
        Self::named("kermit")
    }
}

impl std::ops::Deref for Protocol {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        self.entry
    }
}

/// Names are unique.
impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.prefix == other.prefix
    }
}

/// Names are unique.
impl PartialEq for Protocol {
    fn eq(&self, other: &Self) -> bool {
        self.entry.name == other.entry.name
    }
}

impl Eq for Protocol {}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_and_every_setting_is_there_once() {
        let names: Vec<_> = Protocol::all().map(|protocol| protocol.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        for name in names {
            assert_eq!(Protocol::of(name).map(|protocol| protocol.name), Some(name));
        }
        let rows: Vec<_> = FAMILIES.iter().flat_map(Family::table).map(|row| row.name).collect();
        assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), rows.len());
        for family in FAMILIES {
            for row in family.table() {
                assert_eq!(row.name.split('.').next(), Some(family.prefix()), "{}", row.name);
            }
        }
    }

    #[test]
    fn a_preset_is_what_the_name_says() {
        for protocol in Protocol::all() {
            let config = protocol.config();
            for (name, value) in protocol.preset {
                let mut shown = String::new();
                config.show(name, &mut shown).expect("writing to a string");
                assert_eq!(shown, *value, "{protocol:?}");
            }
        }
    }
}
