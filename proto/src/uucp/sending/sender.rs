//! The file sender.

use crate::machine::{Machine, WithMemory, engine};
use crate::memory::{Memory, MemoryTooSmall};
use crate::uucp::config::{Config, Role};
use crate::uucp::session::{Core, Purpose};

/// Sends files by UUCP. See [`Engine`](crate::Engine) for how to turn it.
///
/// It calls, or is called and takes its turn when the caller has nothing more to do. A file goes to
/// the public directory of the other system (`~/name`). `g` cannot cancel a file, so
/// [`Command::CancelFile`](crate::Command::CancelFile) and
/// [`Command::CancelBatch`](crate::Command::CancelBatch) do what
/// [`Command::Abort`](crate::Command::Abort) does.
///
/// With [`Config::takes`] it receives the peer's files when the peer is master, and its store gets
/// a receiver's requests. Without, they are deferred and stay in the peer's queue
/// ([`Event::Declined`](crate::Event::Declined)).
#[derive(Debug)]
pub struct Sender<M>(WithMemory<Core, M>);

engine!(Sender);

impl<M: Memory> Sender<M> {
    /// A sender in `memory`, which takes at least [`Config::sender_memory`] bytes.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let lengths = config.sender_lengths();
        let packets = (usize::from(config.window), config.packet);
        let caller = config.role != Role::Answer;
        let duty = Purpose { sends: true, takes: config.takes, caller };
        WithMemory::new(Core::new(config, duty, packets, lengths[0]), lengths, memory).map(Self)
    }
}
