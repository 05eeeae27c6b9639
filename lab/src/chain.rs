//! Elements in series: a line behind a modem behind a line.

use crate::element::{Element, End, Usage};
use std::collections::VecDeque;
use wetstring_proto::{Cx, Instant};

/// Maximum bytes between two elements of a chain, per direction.
const JOINT_BYTES: usize = 64;

/// Elements in series, forming one element. The B end of each is connected to the A end of the next. Only for
/// elements that carry bytes.
pub struct Chain {
    elements: Vec<Box<dyn Element>>,
    /// By joint, then by the end that the bytes come from.
    joints: Vec<[VecDeque<u8>; 2]>,
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chain").field("elements", &self.elements.len()).finish_non_exhaustive()
    }
}

impl Chain {
    /// A chain of these.
    ///
    /// # Panics
    ///
    /// If there is none, or if one of them carries datagrams.
    pub fn new(elements: Vec<Box<dyn Element>>) -> Self {
        assert!(!elements.is_empty(), "expected at least one element in a chain");
        let bytes = elements.iter().all(|element| element.unit() == crate::element::Unit::Bytes);
        assert!(bytes, "expected a chain of elements that carry bytes");
        let joints = (1..elements.len()).map(|_| [VecDeque::new(), VecDeque::new()]).collect();
        Self { elements, joints }
    }

    /// The element at this end of the chain.
    fn at(&self, end: End) -> usize {
        match end {
            End::A => 0,
            End::B => self.elements.len() - 1,
        }
    }

    /// Moves bytes from element to element until none can move.
    fn settle(&mut self, cx: &mut Cx<'_>) {
        let mut moved = true;
        while moved {
            moved = false;
            for joint in 0..self.joints.len() {
                for from in End::BOTH {
                    moved |= self.cross(cx, joint, from);
                }
            }
        }
    }

    /// Moves bytes over one joint in the direction that begins at `from`.
    fn cross(&mut self, cx: &mut Cx<'_>, joint: usize, from: End) -> bool {
        let (source, target) = match from {
            End::A => (joint, joint + 1),
            End::B => (joint + 1, joint),
        };
        let queue = &mut self.joints[joint][from.index()];
        let mut buffer = [0; JOINT_BYTES];
        let room = JOINT_BYTES - queue.len();
        let len = self.elements[source].emit(cx, from.other(), &mut buffer[..room]);
        queue.extend(&buffer[..len]);
        let offered = queue.make_contiguous();
        let taken =
            if offered.is_empty() { 0 } else { self.elements[target].offer(cx, from, offered) };
        queue.drain(..taken);
        len + taken > 0
    }
}

impl Element for Chain {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.settle(cx);
        let at = self.at(end);
        let taken = self.elements[at].offer(cx, end, bytes);
        self.settle(cx);
        taken
    }

    fn next(&self, end: End) -> Option<Instant> {
        let from = end.other();
        let last = self.elements[self.at(end)].next(end);
        let inside = (0..self.joints.len()).filter_map(|joint| {
            let (source, target) = match from {
                End::A => (joint, joint + 1),
                End::B => (joint + 1, joint),
            };
            let queue = &self.joints[joint][from.index()];
            // A full joint moves when the element behind it has room, not before.
            let emits = self.elements[source].next(end).filter(|_| queue.len() < JOINT_BYTES);
            let takes = self.elements[target].room(from).filter(|_| !queue.is_empty());
            emits.into_iter().chain(takes).min()
        });
        last.into_iter().chain(inside).min()
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.settle(cx);
        let at = self.at(end);
        let len = self.elements[at].emit(cx, end, into);
        self.settle(cx);
        len
    }

    fn room(&self, end: End) -> Option<Instant> {
        self.elements[self.at(end)].room(end)
    }

    fn usage(&self, end: End) -> Usage {
        // End A counts what was taken, end B what was delivered.
        let mut usage = self.elements[self.at(end)].usage(end);
        usage.bytes_out = self.elements[self.at(end.other())].usage(end).bytes_out;
        usage
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.elements.iter().flat_map(|element| element.counters()).collect()
    }

    fn calm(&mut self) {
        for element in &mut self.elements {
            element.calm();
        }
    }
}
