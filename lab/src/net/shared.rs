//! One path, or one link of opportunities, that several connections share.
//!
//! ```text
//! flow 0 -> \                                          / -> flow 0
//! flow 1 ->  >-- queue -- bottleneck -- loss, delay --<  -> flow 1
//! flow 2 -> /                                          \ -> flow 2
//! ```
//!
//! Each flow has an element of its own, and all of them are the same path: its queue, its bottleneck
//! and its chance. A packet carries the number of its flow, which takes no room on the path.

use super::path::{Path, PathModel};
use super::trace::{TraceLink, TraceModel};
use crate::element::{Element, End, Unit, Usage};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use wetstring_proto::{Cx, Instant};

/// The element of one flow. See the [module](self).
pub struct Shared {
    inner: Rc<RefCell<Inner>>,
    flow: u8,
    usage: [Usage; 2],
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("flow", &self.flow).finish_non_exhaustive()
    }
}

/// The path, and its output that was not taken yet.
struct Inner {
    path: Box<dyn Element>,
    came: Vec<[VecDeque<Vec<u8>>; 2]>,
    packet: Vec<u8>,
    into: Vec<u8>,
}

impl Inner {
    /// Distributes the path's output up to now.
    fn sort(&mut self, cx: &mut Cx<'_>, end: End) {
        loop {
            let len = self.path.emit(cx, end, &mut self.into);
            let Some((flow, packet)) = self.into[..len].split_last() else { return };
            self.came[usize::from(*flow)][end.index()].push_back(packet.to_vec());
        }
    }
}

impl Shared {
    /// This many flows over a path of this model.
    pub fn flows(model: &PathModel, count: u8) -> Vec<Self> {
        Self::over(Box::new(Path::new(model).tagged()), count)
    }

    /// This many flows over a link of this model; with `aqm=fq` each has a queue of its own.
    pub fn over_trace(model: &TraceModel, count: u8) -> Vec<Self> {
        Self::over(Box::new(TraceLink::named(model, "trace").tagged()), count)
    }

    /// This many flows over an element that takes a tag behind each packet for no room.
    fn over(path: Box<dyn Element>, count: u8) -> Vec<Self> {
        let inner = Inner {
            path,
            came: (0..count).map(|_| Default::default()).collect(),
            packet: Vec::new(),
            into: vec![0; super::DATAGRAM_MAX + 1],
        };
        let inner = Rc::new(RefCell::new(inner));
        let flow = |flow| Self { inner: Rc::clone(&inner), flow, usage: [Usage::default(); 2] };
        (0..count).map(flow).collect()
    }
}

impl Element for Shared {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        let Inner { path, packet, .. } = &mut *self.inner.borrow_mut();
        packet.clear();
        packet.extend_from_slice(bytes);
        packet.push(self.flow);
        if path.offer(cx, end, packet) == 0 {
            return 0;
        }
        self.usage[end.index()].bytes_in += bytes.len() as u64;
        bytes.len()
    }

    fn next(&self, end: End) -> Option<Instant> {
        let inner = self.inner.borrow();
        if inner.came[usize::from(self.flow)][end.index()].is_empty() {
            return inner.path.next(end);
        }
        Some(Instant::ZERO)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        let mut inner = self.inner.borrow_mut();
        inner.sort(cx, end);
        let Some(packet) = inner.came[usize::from(self.flow)][end.index()].pop_front() else {
            return 0;
        };
        // One that is too long for the buffer is lost.
        let Some(place) = into.get_mut(..packet.len()) else { return 0 };
        place.copy_from_slice(&packet);
        self.usage[end.other().index()].bytes_out += packet.len() as u64;
        packet.len()
    }

    fn room(&self, _: End) -> Option<Instant> {
        None
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        self.usage[end.index()]
    }

    fn calm(&mut self) {
        self.inner.borrow_mut().path.calm();
    }
}
