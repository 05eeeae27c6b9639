//! One SLIP line that two connections share: that of the file, and that of who types.

use super::SlipLine;
use super::ledger::is_typing;
use crate::element::{Element, End, Unit, Usage};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use wetstring_proto::{Cx, Instant};

/// The line, and its output per connection that was not taken yet.
struct Shared {
    line: SlipLine,
    /// By connection (0: the file, 1: typing), then by end.
    came: [[VecDeque<Vec<u8>>; 2]; 2],
    into: Vec<u8>,
}

impl Shared {
    /// Distributes the line's output up to now, by its ports.
    fn sort(&mut self, cx: &mut Cx<'_>, end: End) {
        loop {
            let len = self.line.emit(cx, end, &mut self.into);
            let packet = &self.into[..len];
            if len == 0 {
                return;
            }
            let flow = usize::from(is_typing(packet));
            self.came[flow][end.index()].push_back(packet.to_vec());
        }
    }
}

/// The line as one of the two connections has it.
pub struct Wire {
    shared: Rc<RefCell<Shared>>,
    flow: usize,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").field("flow", &self.flow).finish_non_exhaustive()
    }
}

impl Wire {
    /// The line for the file and for typing.
    pub fn both(line: SlipLine) -> [Self; 2] {
        let into = vec![0; crate::net::DATAGRAM_MAX];
        let shared = Shared { line, came: Default::default(), into };
        let shared = Rc::new(RefCell::new(shared));
        [0, 1].map(|flow| Self { shared: Rc::clone(&shared), flow })
    }

    /// Asks the line for something.
    pub(super) fn ask<T>(&self, ask: impl FnOnce(&SlipLine) -> T) -> T {
        ask(&self.shared.borrow().line)
    }

    /// Another hand on the same connection.
    pub(super) fn again(&self) -> Self {
        Self { shared: Rc::clone(&self.shared), flow: self.flow }
    }
}

impl Element for Wire {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.shared.borrow_mut().line.offer(cx, end, bytes)
    }

    fn next(&self, end: End) -> Option<Instant> {
        let shared = self.shared.borrow();
        if shared.came[self.flow][end.index()].is_empty() {
            return shared.line.next(end);
        }
        Some(Instant::ZERO)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        let mut shared = self.shared.borrow_mut();
        shared.sort(cx, end);
        let Some(packet) = shared.came[self.flow][end.index()].pop_front() else { return 0 };
        // One that is too long for the buffer is lost.
        let Some(place) = into.get_mut(..packet.len()) else { return 0 };
        place.copy_from_slice(&packet);
        packet.len()
    }

    fn room(&self, _: End) -> Option<Instant> {
        None
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        self.shared.borrow().line.usage(end)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.shared.borrow().line.counters()
    }

    fn calm(&mut self) {
        self.shared.borrow_mut().line.calm();
    }
}
