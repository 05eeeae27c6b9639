//! An element the other way round.

use crate::element::{Element, End, Unit, Usage};
use wetstring_proto::{Cx, Instant};

/// An element whose ends have changed places.
pub(super) struct Flipped(pub(super) Box<dyn Element>);

impl Element for Flipped {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.0.offer(cx, end.other(), bytes)
    }

    fn next(&self, end: End) -> Option<Instant> {
        self.0.next(end.other())
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.0.emit(cx, end.other(), into)
    }

    fn room(&self, end: End) -> Option<Instant> {
        self.0.room(end.other())
    }

    fn unit(&self) -> Unit {
        self.0.unit()
    }

    fn usage(&self, end: End) -> Usage {
        self.0.usage(end.other())
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        // The directions have changed places, and so would their names.
        Vec::new()
    }

    fn calm(&mut self) {
        self.0.calm();
    }
}
