//! The queue for the line: priority between classes, round robin between flows, and a limit on bytes.
//!
//! ```text
//! packet -> class, flow -> [interactive] o o o   flows take turns by bytes (deficit round robin)
//!                          [normal]      o o
//!                          [bulk]        o       -> one packet at a time, when the line is free
//! ```
//!
//! * **Priority** is strict, except for the starvation guard: a class that has seen [`QueueConfig::starvation`] bytes of
//!   more urgent ones go by gets one packet.
//! * **A flow stays together**: its packets never overtake each other. One that has more waiting than its
//!   class allows goes down a class as a whole, and starts again in its own class when it has nothing queued.
//! * **Memory** is blocks of [`BLOCK`] bytes. When they run out, packets are dropped from the front of the
//!   longest flow of the least urgent class; never for a packet of a less urgent one.
//! * At most [`FLOWS`] flows have turns of their own; beyond, they share, and only then can a packet overtake
//!   another of its flow.

pub use super::blocks::{BLOCK, BLOCK_DATA};
use super::blocks::{Blocks, NONE};
use super::class::{Class, Rules, Sorted, sort};
use super::frame::SHORTEST;
use crate::{Duration, Instant, Memory, MemoryTooSmall};
use core::fmt;

/// Flows with their own turns.
pub const FLOWS: usize = 64;

/// The configuration of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueConfig {
    /// Bytes of the longest packet.
    pub longest: u16,
    /// Bytes of more urgent classes after which a waiting class gets a packet.
    pub starvation: u32,
    /// Bytes that a flow of the class interactive, and of the class normal, may have queued before it is
    /// demoted.
    pub allowance: [u32; 2],
    /// The initial class of flows.
    pub rules: Rules,
    /// A plain FIFO without classes and flows, with drop from the front. For comparison.
    pub fifo: bool,
}

impl QueueConfig {
    /// Defaults for packets of this length: the guard gives 1/16 of the line, an interactive flow may have two
    /// packets waiting, a normal one eight.
    pub fn new(longest: u16) -> Self {
        let of = |packets| u32::from(longest) * packets;
        let rules = Rules::default();
        Self { longest, starvation: of(15), allowance: [of(2), of(8)], rules, fifo: false }
    }

    /// Memory in bytes that holds this many bytes of packets of the longest length.
    pub fn memory(&self, bytes: usize) -> usize {
        let longest = usize::from(self.longest).max(1);
        bytes.div_ceil(longest) * blocks_of(longest) * BLOCK
    }
}

/// Why a packet was not queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotQueued {
    /// It is longer than a packet may be, or shorter than [`SHORTEST`].
    Length {
        /// Most bytes.
        longest: u16,
        /// Bytes that were given.
        got: usize,
    },
    /// The memory is full of more urgent packets.
    Full,
}

impl fmt::Display for NotQueued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { longest, got } => {
                write!(f, "expected a packet of {SHORTEST} to {longest} bytes, got {got}")
            }
            Self::Full => f.write_str("the queue is full of more urgent packets"),
        }
    }
}

impl core::error::Error for NotQueued {}

/// Counters of a class. The class is the one that a packet left from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassStats {
    /// Queued packets.
    pub waiting: u32,
    /// Their bytes.
    pub waiting_bytes: u32,
    /// Packets sent.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets dropped for lack of memory, before or after queueing.
    pub dropped: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// Total queueing delay of the packets sent.
    pub delay: Duration,
    /// The longest queueing delay.
    pub longest_delay: Duration,
    /// Flows demoted to the next class.
    pub demoted: u64,
    /// Packets sent by the starvation guard.
    pub guarded: u64,
}

impl ClassStats {
    /// Mean queueing delay; zero if none was sent.
    pub fn mean_delay(&self) -> Duration {
        let nanos = self.delay.as_nanos().checked_div(u128::from(self.sent)).unwrap_or(0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// A packet that has been taken from a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Its bytes.
    pub len: usize,
    /// The class that it left from.
    pub class: Class,
    /// Its queueing delay.
    pub waited: Duration,
}

/// A flow with queued packets.
#[derive(Clone, Copy, Debug)]
struct Flow {
    key: u64,
    /// `None` if this entry is free.
    class: Option<Class>,
    /// First and last packet, by their first blocks.
    first: u16,
    last: u16,
    bytes: u32,
    blocks: u16,
    /// Deficit counter: bytes that it may still send in this turn, or left from the last.
    deficit: u32,
    /// The next flow of the class.
    next: u16,
}

impl Flow {
    const FREE: Self = Self {
        key: 0,
        class: None,
        first: NONE,
        last: NONE,
        bytes: 0,
        blocks: 0,
        deficit: 0,
        next: NONE,
    };
}

/// The flows of a class, in the order of their turns.
#[derive(Clone, Copy, Debug)]
struct Ring {
    first: u16,
    last: u16,
    /// The first flow has received its quantum.
    in_turn: bool,
    /// Bytes of more urgent classes sent while something was queued here.
    passed: u32,
}

impl Ring {
    const EMPTY: Self = Self { first: NONE, last: NONE, in_turn: false, passed: 0 };
}

/// Packets queued for the line, in memory that is passed in.
#[derive(Clone, Debug)]
pub struct Queue<M> {
    config: QueueConfig,
    blocks: Blocks<M>,
    flows: [Flow; FLOWS],
    rings: [Ring; 3],
    stats: [ClassStats; 3],
}

/// Blocks that a packet of this length takes.
const fn blocks_of(len: usize) -> usize {
    len.div_ceil(BLOCK_DATA)
}

impl<M: Memory> Queue<M> {
    /// An empty queue. Memory beyond 65,535 blocks is not used; less than for one packet is too little.
    pub fn new(config: QueueConfig, memory: M) -> Result<Self, MemoryTooSmall> {
        let (needed, given) = (config.memory(1), memory.as_ref().len());
        if given < needed {
            return Err(MemoryTooSmall { needed, given });
        }
        Ok(Self {
            config,
            blocks: Blocks::new(memory),
            flows: [Flow::FREE; FLOWS],
            rings: [Ring::EMPTY; 3],
            stats: [ClassStats::default(); 3],
        })
    }

    /// Counters of each class, in the order of [`Class::ALL`].
    pub fn stats(&self) -> &[ClassStats; 3] {
        &self.stats
    }

    /// The queue is empty.
    pub fn is_empty(&self) -> bool {
        self.stats.iter().all(|class| class.waiting == 0)
    }

    /// Drops everything, as after an outage of the line.
    pub fn clear(&mut self) {
        for stats in &mut self.stats {
            stats.dropped += u64::from(stats.waiting);
            stats.dropped_bytes += u64::from(stats.waiting_bytes);
            stats.waiting = 0;
            stats.waiting_bytes = 0;
        }
        self.flows = [Flow::FREE; FLOWS];
        self.rings = [Ring::EMPTY; 3];
        self.blocks.reset();
    }

    /// Queues a packet. For an urgent one, less urgent ones may be dropped.
    pub fn put(&mut self, now: Instant, packet: &[u8]) -> Result<(), NotQueued> {
        let longest = self.config.longest;
        // The peer treats a shorter frame as a line error, and tosses what follows.
        if packet.len() < SHORTEST || packet.len() > usize::from(longest) {
            return Err(NotQueued::Length { longest, got: packet.len() });
        }
        let sorted = if self.config.fifo {
            Sorted { class: Class::Bulk, flow: 0 }
        } else {
            sort(packet, &self.config.rules)
        };
        // A demoted flow stays there while it has something queued.
        let at_home =
            self.flows.iter().find(|flow| flow.class.is_some() && flow.key == sorted.flow);
        let class = at_home.and_then(|flow| flow.class).unwrap_or(sorted.class);
        if !self.make_room(blocks_of(packet.len()), class) {
            let stats = &mut self.stats[class as usize];
            stats.dropped += 1;
            stats.dropped_bytes += packet.len() as u64;
            return Err(NotQueued::Full);
        }
        // Room may have been made by dropping from the same flow.
        let index = self.place(sorted.flow, class);
        let block = self.blocks.write(now, packet);
        let flow = &mut self.flows[usize::from(index)];
        if flow.first == NONE {
            flow.first = block;
        } else {
            self.blocks.set_next_packet(flow.last, block);
        }
        flow.last = block;
        flow.bytes += packet.len() as u32;
        flow.blocks += blocks_of(packet.len()) as u16;
        let class = flow.class.unwrap_or(class);
        let stats = &mut self.stats[class as usize];
        stats.waiting += 1;
        stats.waiting_bytes += packet.len() as u32;
        self.demote(index);
        Ok(())
    }

    /// Takes the packet whose turn it is; `into` has room for the longest.
    pub fn take(&mut self, now: Instant, into: &mut [u8]) -> Option<Taken> {
        let class = self.next_class()?;
        let quantum = self.quantum(class);
        let index = loop {
            let ring = &mut self.rings[class as usize];
            let flow = self.flows.get_mut(usize::from(ring.first))?;
            if !ring.in_turn {
                ring.in_turn = true;
                flow.deficit += quantum;
            }
            let len = self.blocks.len(flow.first);
            if flow.deficit >= u32::from(len) {
                flow.deficit -= u32::from(len);
                break ring.first;
            }
            let first = ring.first;
            self.remove_from_ring(class, first);
            self.append_to_ring(class, first);
        };
        let (len, arrived) = self.pop(index, Some(into));
        let waited = now.since(arrived);
        let stats = &mut self.stats[class as usize];
        stats.sent += 1;
        stats.sent_bytes += len as u64;
        stats.delay += waited;
        stats.longest_delay = stats.longest_delay.max(waited);
        self.went_by(class, len as u32);
        Some(Taken { len, class, waited })
    }

    /// The quantum of a turn: small for urgent flows, so that many small flows do not wait for one.
    fn quantum(&self, class: Class) -> u32 {
        let longest = u32::from(self.config.longest);
        if class == Class::Interactive { longest.min(BLOCK as u32) } else { longest }
    }

    /// The most urgent class with queued packets, unless the guard selects another.
    fn next_class(&mut self) -> Option<Class> {
        let waits = |class: &Class| self.rings[*class as usize].first != NONE;
        let urgent = Class::ALL.into_iter().find(waits)?;
        let starved = Class::ALL.into_iter().find(|class| {
            let ring = &self.rings[*class as usize];
            *class > urgent && ring.first != NONE && ring.passed >= self.config.starvation
        });
        if let Some(class) = starved {
            self.stats[class as usize].guarded += 1;
        }
        Some(starved.unwrap_or(urgent))
    }

    /// This many bytes of the class were sent.
    fn went_by(&mut self, class: Class, len: u32) {
        self.rings[class as usize].passed = 0;
        for ring in self.rings.iter_mut().skip(class as usize + 1) {
            ring.passed = if ring.first == NONE { 0 } else { ring.passed.saturating_add(len) };
        }
    }

    /// Drops from the front of the longest flow of the least urgent class until this many blocks are free;
    /// whether they are. If that cannot be reached, nothing is dropped.
    fn make_room(&mut self, blocks: usize, class: Class) -> bool {
        let may_go = |flow: &&Flow| flow.class.is_some_and(|of| of >= class);
        let held = self.flows.iter().filter(may_go).map(|flow| usize::from(flow.blocks));
        if self.blocks.free_count() + held.sum::<usize>() < blocks {
            return false;
        }
        while self.blocks.free_count() < blocks {
            let victim = (0..FLOWS as u16)
                .filter(|index| self.flows[usize::from(*index)].class.is_some_and(|c| c >= class))
                .max_by_key(|index| {
                    let flow = &self.flows[usize::from(*index)];
                    (flow.class, flow.bytes)
                });
            let Some(victim) = victim else { return false };
            let Some(from) = self.flows[usize::from(victim)].class else { return false };
            let (len, _) = self.pop(victim, None);
            let stats = &mut self.stats[from as usize];
            stats.dropped += 1;
            stats.dropped_bytes += len as u64;
        }
        true
    }

    /// The entry of a flow, created if there is none. When all are taken it shares the one of its class with
    /// the least queued, or of any class.
    fn place(&mut self, key: u64, class: Class) -> u16 {
        let indices = 0..FLOWS as u16;
        let of = |index: u16| &self.flows[usize::from(index)];
        let mine =
            indices.clone().find(|index| of(*index).class.is_some() && of(*index).key == key);
        if let Some(index) = mine {
            return index;
        }
        if let Some(index) = indices.clone().find(|index| of(*index).class.is_none()) {
            self.flows[usize::from(index)] = Flow { key, class: Some(class), ..Flow::FREE };
            self.append_to_ring(class, index);
            return index;
        }
        let other = |index: &u16| (of(*index).class != Some(class), of(*index).bytes);
        indices.min_by_key(other).unwrap_or(0)
    }

    /// Demotes a flow if it has too much queued.
    fn demote(&mut self, index: u16) {
        let flow = self.flows[usize::from(index)];
        let Some(class) = flow.class else { return };
        let Some(below) = class.below() else { return };
        if flow.bytes <= self.config.allowance[class as usize] {
            return;
        }
        self.remove_from_ring(class, index);
        let flow = &mut self.flows[usize::from(index)];
        flow.class = Some(below);
        flow.deficit = 0;
        let (first, bytes) = (flow.first, flow.bytes);
        let packets = self.blocks.count_packets(first);
        self.append_to_ring(below, index);
        let stats = &mut self.stats[class as usize];
        stats.demoted += 1;
        stats.waiting -= packets;
        stats.waiting_bytes -= bytes;
        let stats = &mut self.stats[below as usize];
        stats.waiting += packets;
        stats.waiting_bytes += bytes;
        self.demote(index);
    }

    /// Takes the first packet of a flow, with its length and the time of its arrival.
    fn pop(&mut self, index: u16, into: Option<&mut [u8]>) -> (usize, Instant) {
        let flow = &mut self.flows[usize::from(index)];
        let first = flow.first;
        let len = usize::from(self.blocks.len(first));
        flow.first = self.blocks.next_packet(first);
        flow.bytes -= len as u32;
        flow.blocks -= blocks_of(len) as u16;
        let (empty, class) = (flow.first == NONE, flow.class);
        let arrived = self.blocks.arrived(first);
        self.blocks.release(first, into);
        if let Some(class) = class {
            let stats = &mut self.stats[class as usize];
            stats.waiting -= 1;
            stats.waiting_bytes -= len as u32;
            if empty {
                self.remove_from_ring(class, index);
                self.flows[usize::from(index)] = Flow::FREE;
            }
        }
        (len, arrived)
    }

    fn append_to_ring(&mut self, class: Class, index: u16) {
        let ring = &mut self.rings[class as usize];
        self.flows[usize::from(index)].next = NONE;
        if ring.first == NONE {
            ring.first = index;
        } else {
            self.flows[usize::from(ring.last)].next = index;
        }
        ring.last = index;
    }

    fn remove_from_ring(&mut self, class: Class, index: u16) {
        let ring = &mut self.rings[class as usize];
        let next = self.flows[usize::from(index)].next;
        if ring.first == index {
            ring.first = next;
            ring.in_turn = false;
            if next == NONE {
                ring.last = NONE;
                ring.passed = 0;
            }
            return;
        }
        let mut before = ring.first;
        while before != NONE {
            let flow = &mut self.flows[usize::from(before)];
            if flow.next == index {
                flow.next = next;
                if ring.last == index {
                    ring.last = before;
                }
                return;
            }
            before = flow.next;
        }
    }
}
