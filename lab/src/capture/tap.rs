//! An element that is listened to.

use super::Capture;
use crate::element::{Element, End, Unit, Usage};
use wetstring_proto::{Cx, Instant};

/// Records what is offered to an element and what comes out of it.
pub struct Tap {
    element: Box<dyn Element>,
    capture: Capture,
}

impl std::fmt::Debug for Tap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tap").field("capture", &self.capture.count()).finish_non_exhaustive()
    }
}

impl Tap {
    /// A tap at both ends of this element.
    pub fn new(element: Box<dyn Element>, capture: Capture) -> Self {
        Self { element, capture }
    }
}

impl Element for Tap {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        let taken = self.element.offer(cx, end, bytes);
        if taken > 0 {
            self.capture.note(cx.now.as_nanos(), end, true, &bytes[..taken]);
        }
        taken
    }

    fn next(&self, end: End) -> Option<Instant> {
        self.element.next(end)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        let len = self.element.emit(cx, end, into);
        if len > 0 {
            self.capture.note(cx.now.as_nanos(), end, false, &into[..len]);
        }
        len
    }

    fn room(&self, end: End) -> Option<Instant> {
        self.element.room(end)
    }

    fn unit(&self) -> Unit {
        self.element.unit()
    }

    fn usage(&self, end: End) -> Usage {
        self.element.usage(end)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.element.counters()
    }

    fn calm(&mut self) {
        self.element.calm();
    }
}
