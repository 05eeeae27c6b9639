//! Datagram elements in a row: a card, a cable, a satellite hop, a cable, a card.

use crate::element::{Element, End, Inside, Unit, Usage};
use std::cell::Cell;
use std::collections::VecDeque;
use wetstring_proto::{Cx, Instant};

/// The longest datagram, in bytes: that of IP.
pub const DATAGRAM_MAX: usize = 65_535;

/// Elements that carry datagrams, in series, forming one element. The B end of each is connected to the A end
/// of the next. A joint holds one datagram per direction, which waits while the element behind it has no room.
///
/// A late call makes no difference: events between the elements happen at their own times. Nothing but the chain may
/// change its elements.
pub struct NetChain {
    elements: Vec<Box<dyn Element>>,
    /// By joint, then by the end from which the datagrams come.
    joints: Vec<[VecDeque<u8>; 2]>,
    buffer: Vec<u8>,
    inside: Cell<NextInside>,
}

/// The next internal event of a chain.
#[derive(Clone, Copy)]
enum NextInside {
    /// Something has changed since it was found.
    Unknown,
    /// `None`: there is none.
    Known(Option<Instant>),
}

impl std::fmt::Debug for NetChain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NetChain").field("elements", &self.elements.len()).finish_non_exhaustive()
    }
}

impl NetChain {
    /// A row of these.
    ///
    /// # Panics
    ///
    /// If there is none, or if one of them carries bytes.
    pub fn new(elements: Vec<Box<dyn Element>>) -> Self {
        assert!(!elements.is_empty(), "expected at least one element in a chain");
        let datagrams = elements.iter().all(|element| element.unit() == Unit::Datagrams);
        assert!(datagrams, "expected a chain of elements that carry datagrams");
        let joints = (1..elements.len()).map(|_| [VecDeque::new(), VecDeque::new()]).collect();
        Self {
            elements,
            joints,
            buffer: vec![0; DATAGRAM_MAX],
            inside: Cell::new(NextInside::Unknown),
        }
    }

    /// The element that has this end of the row.
    fn at(&self, end: End) -> usize {
        match end {
            End::A => 0,
            End::B => self.elements.len() - 1,
        }
    }

    /// The elements before and after a joint, in the direction from `from`.
    const fn sides(joint: usize, from: End) -> (usize, usize) {
        match from {
            End::A => (joint, joint + 1),
            End::B => (joint + 1, joint),
        }
    }

    /// Moves a datagram over one joint in the direction that begins at `from`.
    fn cross(&mut self, cx: &mut Cx<'_>, joint: usize, from: End) -> bool {
        let (source, target) = Self::sides(joint, from);
        let held = &mut self.joints[joint][from.index()];
        let mut moved = false;
        if held.is_empty() {
            if self.elements[source].next(from.other()).is_none_or(|at| at > cx.now) {
                return false;
            }
            let len = self.elements[source].emit(cx, from.other(), &mut self.buffer);
            if len == 0 {
                return false;
            }
            if self.elements[target].offer(cx, from, &self.buffer[..len]) > 0 {
                return true;
            }
            held.extend(&self.buffer[..len]);
            moved = true;
        }
        if self.elements[target].offer(cx, from, held.make_contiguous()) > 0 {
            held.clear();
            moved = true;
        }
        moved
    }
}

impl Inside for NetChain {
    fn next_inside(&self) -> Option<Instant> {
        if let NextInside::Known(known) = self.inside.get() {
            return known;
        }
        let mut soonest: Option<Instant> = None;
        for joint in 0..self.joints.len() {
            for from in End::BOTH {
                let (source, target) = Self::sides(joint, from);
                let next = if self.joints[joint][from.index()].is_empty() {
                    self.elements[source].next(from.other())
                } else {
                    self.elements[target].room(from)
                };
                if let Some(next) = next {
                    soonest = Some(soonest.map_or(next, |soonest| soonest.min(next)));
                }
            }
        }
        self.inside.set(NextInside::Known(soonest));
        soonest
    }

    fn settle(&mut self, cx: &mut Cx<'_>) -> bool {
        self.inside.set(NextInside::Unknown);
        let mut moved = false;
        loop {
            let mut again = false;
            for joint in 0..self.joints.len() {
                for from in End::BOTH {
                    again |= self.cross(cx, joint, from);
                }
            }
            moved |= again;
            if !again {
                return moved;
            }
        }
    }
}

impl Element for NetChain {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx);
        let at = self.at(end);
        let taken = self.elements[at].offer(cx, end, bytes);
        self.settle(cx);
        taken
    }

    fn next(&self, end: End) -> Option<Instant> {
        let last = self.elements[self.at(end)].next(end);
        last.into_iter().chain(self.next_inside()).min()
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx);
        let at = self.at(end);
        if self.elements[at].next(end).is_none_or(|next| next > cx.now) {
            return 0;
        }
        self.inside.set(NextInside::Unknown);
        self.elements[at].emit(cx, end, into)
    }

    fn room(&self, end: End) -> Option<Instant> {
        self.elements[self.at(end)].room(end)
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        // The first element counts what was taken, the last what was delivered, and every element its losses.
        let mut usage = self.elements[self.at(end)].usage(end);
        usage.bytes_out = self.elements[self.at(end.other())].usage(end).bytes_out;
        let all = || self.elements.iter().map(|element| element.usage(end));
        usage.dropped_bytes = all().map(|usage| usage.dropped_bytes).sum();
        usage.duplicated_bytes = all().map(|usage| usage.duplicated_bytes).sum();
        usage.busy_ns = all().map(|usage| usage.busy_ns).max().unwrap_or(0);
        usage
    }

    fn calm(&mut self) {
        self.inside.set(NextInside::Unknown);
        for element in &mut self.elements {
            element.calm();
        }
    }
}
