//! The file receiver.

use crate::machine::{Machine, WithMemory, engine};
use crate::memory::{Memory, MemoryTooSmall};
use crate::uucp::config::{Config, Role};
use crate::uucp::session::{Core, Purpose};

/// Receives files by UUCP. See [`Engine`](crate::Engine) for how to turn it.
///
/// It is called, or calls and asks whether the peer has anything to do. A file of the public
/// directory (`~/sub/name`) keeps its path, of any other path the last part is the name; spooled
/// files, which mean mail and commands, and requests to fetch or to run something are deferred, as far
/// as the protocol allows ([`Event::Declined`](crate::Event::Declined)).
/// [`Command::CancelFile`](crate::Command::CancelFile) and
/// [`Command::CancelBatch`](crate::Command::CancelBatch) do what
/// [`Command::Abort`](crate::Command::Abort) does.
#[derive(Debug)]
pub struct Receiver<M>(WithMemory<Core, M>);

engine!(Receiver);

impl<M: Memory> Receiver<M> {
    /// A receiver in `memory`, which takes at least [`Config::receiver_memory`] bytes.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let lengths = config.receiver_lengths();
        let packets = (config.reply_slots(), config.reply_len());
        let duty = Purpose { sends: false, takes: true, caller: config.role == Role::Call };
        WithMemory::new(Core::new(config, duty, packets, lengths[0]), lengths, memory).map(Self)
    }
}
