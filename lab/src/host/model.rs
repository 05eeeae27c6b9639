//! Description of a host.

use crate::net::parse::{BadNet, Cost, Param, Shown, ShownSize, time, words};
use std::fmt;
use std::str::FromStr;
use wetstring_proto::Duration;

/// Costs of a host. See the [module](super).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostModel {
    /// Processor time per packet to the network.
    pub send: Cost,
    /// The last part of `send`: loading the card, which has the packet from the start of that on.
    pub load: Cost,
    /// Processor time per packet from the network.
    pub receive: Cost,
    /// The processor takes a packet off its card itself: not while it is busy.
    pub unload: bool,
    /// Processor time per write call.
    pub write: Cost,
    /// Processor time per read call.
    pub read: Cost,
    /// Bytes/s of the disk; 0 if it takes no time.
    pub disk_bytes_per_s: u64,
    /// Maximum bytes of one call.
    pub block_bytes: u64,
    /// The character that begins a new write call.
    pub mark: Option<u8>,
    /// Delay until a sleeping process runs.
    pub wake: Duration,
    /// Timers expire at multiples of this; zero if they are exact.
    pub tick: Duration,
    /// A read returns with this many characters, or this long after the first.
    pub gather: Option<(u64, Duration)>,
}

impl Default for HostModel {
    /// A host that takes no time.
    fn default() -> Self {
        Self {
            send: Cost::NONE,
            load: Cost::NONE,
            receive: Cost::NONE,
            unload: false,
            write: Cost::NONE,
            read: Cost::NONE,
            disk_bytes_per_s: 0,
            block_bytes: 1 << 30,
            mark: None,
            wake: Duration::ZERO,
            tick: Duration::ZERO,
            gather: None,
        }
    }
}

const NAME: &str = "host";
const KEYS: &str =
    "one of send, load, receive, unload, write, read, disk, block, mark, wake, tick, gather";

impl FromStr for HostModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        let mut model = Self::default();
        for word in words(NAME, text, None)? {
            model.set(&word)?;
        }
        Ok(model)
    }
}

impl HostModel {
    fn set(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        match word.key {
            "send" => self.send = word.cost()?,
            "load" => self.load = word.cost()?,
            "receive" => self.receive = word.cost()?,
            "unload" => self.unload = word.flag()?,
            "write" => self.write = word.cost()?,
            "read" => self.read = word.cost()?,
            "disk" => self.disk_bytes_per_s = word.size(1, 1 << 30)?,
            "block" => self.block_bytes = word.size(1, 1 << 30)?,
            "mark" => {
                self.mark = Some(word.number("the code of a character, 0 to 255", 0, 255)? as u8);
            }
            "wake" => self.wake = word.time()?,
            "tick" => {
                self.tick = word.time()?;
                let whole = self.tick.as_nanos().is_multiple_of(1000);
                if self.tick > Duration::from_secs(10) || !whole {
                    return Err(word.bad("whole microseconds up to 10s, such as 10ms"));
                }
            }
            "gather" => {
                const GATHER: &str = "COUNT@TIME such as 60@30ms";
                let parts = word.value().split_once('@').and_then(|(count, after)| {
                    let count = count.parse().ok().filter(|n| (1..=1 << 20).contains(n))?;
                    Some((count, time(after)?))
                });
                self.gather = Some(parts.ok_or_else(|| word.bad(GATHER))?);
            }
            _ => return Err(word.unknown(KEYS)),
        }
        Ok(())
    }
}

impl fmt::Display for HostModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        f.write_str("host:")?;
        let mut gap = "";
        if self.unload {
            f.write_str("unload")?;
            gap = ",";
        }
        let mut word = |key: &str, value: &dyn fmt::Display| {
            write!(f, "{gap}{key}={value}")?;
            gap = ",";
            Ok(())
        };
        let costs = [
            ("send", self.send),
            ("load", self.load),
            ("receive", self.receive),
            ("write", self.write),
            ("read", self.read),
        ];
        for (key, cost) in costs.iter().filter(|(_, cost)| *cost != Cost::NONE) {
            word(key, cost)?;
        }
        if self.disk_bytes_per_s != usual.disk_bytes_per_s {
            word("disk", &ShownSize(self.disk_bytes_per_s))?;
        }
        if self.block_bytes != usual.block_bytes {
            word("block", &ShownSize(self.block_bytes))?;
        }
        if let Some(mark) = self.mark {
            word("mark", &mark)?;
        }
        if self.wake != usual.wake {
            word("wake", &Shown(self.wake))?;
        }
        if self.tick != usual.tick {
            word("tick", &Shown(self.tick))?;
        }
        if let Some((count, after)) = self.gather {
            word("gather", &format_args!("{count}@{}", Shown(after)))?;
        }
        Ok(())
    }
}
