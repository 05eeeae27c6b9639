//! The description of a protocol, from which all layers above the engines list it.
//!
//! The configuration of a protocol implements [`Registered`], in the protocol's own folder. With that, and one
//! line in the list of the crate `wetstring-protocols`, it can be chosen by its name, set, shown and documented,
//! run on a real port and in the laboratory, and tried by the swarm.

mod advice;
mod remedies;
mod swarm;

pub(crate) use advice::trial;
pub use advice::{Advised, InForce, Trial};
pub use remedies::{Numbers, Remedies, Remedy, StopKeys, Values};
pub use swarm::{Pick, Picks, Step};

use crate::engine::Engine;
use crate::line::LineFacts;
use crate::memory::{Memory, MemoryTooSmall};
use crate::settings::Settings;
use crate::states::Diagram;
use core::fmt;

/// What carries the packets of a protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// A stream of bytes: a serial line, a pipe, a connection.
    Bytes,
    /// Datagrams, each of which is one packet.
    Datagrams,
    /// The subnet of the ARPANET, from host to host. Implied by the line, so the protocol is not chosen.
    Hosts,
}

/// The check of a packet or block that damage may pass, where no digest of the whole file is compared.
#[derive(Clone, Copy, Debug)]
pub struct WeakCheck {
    /// The check of these bytes.
    pub of: fn(&[u8]) -> u16,
    /// Bytes that it takes on the line, 1 or 2.
    pub len: usize,
    /// Usual lengths of the data it covers.
    pub blocks: &'static [usize],
    /// Answers are single bytes without a check.
    pub bare_answers: bool,
}

/// One name by which a protocol is chosen, and what it can do by that name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What `-P` and a scenario take.
    pub name: &'static str,
    /// Its display name.
    pub title: &'static str,
    /// The display name with its article.
    pub a_title: &'static str,
    /// The usual commands at the peer to receive with it, and to send.
    pub peer_commands: [&'static str; 2],
    /// The settings that make a configuration the one of this name.
    pub preset: &'static [(&'static str, &'static str)],
    /// What carries it.
    pub carrier: Carrier,
    /// It works on a 7-bit line.
    pub passes_7_bits: bool,
    /// It works on a line that removes XON and XOFF.
    pub passes_xon_xoff: bool,
    /// An interrupted transfer can be resumed.
    pub resumes: bool,
    /// It transmits the file's name and length. Without them the padding of the last block remains.
    pub tells_names: bool,
    /// The weak check; `None` if undetected damage is practically impossible.
    pub weak_check: Option<WeakCheck>,
    /// What a seed of the swarm picks; [`Picks::ROWS`] picks from the rows of the settings.
    pub picks: Picks,
    /// Whether `wst explain` proposes it instead of another protocol.
    pub advised: Advised,
    /// What to do about failures.
    pub remedies: Remedies,
    /// How an engine is stopped from the keyboard.
    pub stops_by: StopKeys,
    /// Its place among the protocols that a user in a session is offered, from 0 on; `None` if it is not.
    pub offered: Option<u8>,
    /// How packets are numbered.
    pub numbers: Numbers,
    /// The sender sends a block only once the one before is acknowledged.
    pub stop_and_wait: bool,
    /// The setting of the longest packet to send, where the peer may ask for shorter ones.
    pub length_setting: Option<&'static str>,
    /// The switches with which files are compressed on the way, without their prefix.
    pub compression: &'static [&'static str],
}

/// A configuration from which both engines of a protocol are made.
pub trait Registered: Settings + Clone + Default + fmt::Debug + Send + Sync + 'static {
    /// The heading of its settings.
    const HEADING: &'static str;
    /// The prefix of its settings' names: `kermit` of `kermit.window`.
    const FAMILY: &'static str;
    /// The names by which it is chosen, in display order.
    const ENTRIES: &'static [Entry];
    /// The state tables, each with its owner: `sender`, `receiver`, `either end`, ...
    const STATES: &'static [(&'static str, Diagram)] = &[];
    /// What `wst explain` tries with a transfer. `None`: values from the ranges of all rows that have a flag.
    const TRIALS: Option<&'static [Trial]> = None;
    /// The engine that sends.
    type Sender<M: Memory>: Engine;
    /// The engine that receives.
    type Receiver<M: Memory>: Engine;

    /// Sets what is known of the line. A datagram protocol ignores it.
    fn on_line(&mut self, line: LineFacts) {
        let _ = line;
    }
    /// Bytes of memory that a sender needs.
    fn sender_memory(&self) -> usize;
    /// Bytes of memory that a receiver needs.
    fn receiver_memory(&self) -> usize;
    /// A sender in this memory.
    ///
    /// # Errors
    ///
    /// If the memory is less than [`Registered::sender_memory`].
    fn sender<M: Memory>(self, memory: M) -> Result<Self::Sender<M>, MemoryTooSmall>;
    /// A receiver in this memory.
    ///
    /// # Errors
    ///
    /// If the memory is less than [`Registered::receiver_memory`].
    fn receiver<M: Memory>(self, memory: M) -> Result<Self::Receiver<M>, MemoryTooSmall>;
}

/// The engines of a protocol whose folder has `Sender`, `Receiver` and a `Config` with `sender_memory` and
/// `receiver_memory`.
macro_rules! engines {
    () => {
        type Sender<M: $crate::Memory> = Sender<M>;
        type Receiver<M: $crate::Memory> = Receiver<M>;

        fn sender_memory(&self) -> usize {
            self.sender_memory()
        }

        fn receiver_memory(&self) -> usize {
            self.receiver_memory()
        }

        fn sender<M: $crate::Memory>(self, memory: M) -> Result<Sender<M>, $crate::MemoryTooSmall> {
            Sender::new(self, memory)
        }

        fn receiver<M: $crate::Memory>(
            self,
            memory: M,
        ) -> Result<Receiver<M>, $crate::MemoryTooSmall> {
            Receiver::new(self, memory)
        }
    };
}
pub(crate) use engines;
