//! Starts of transfers among the bytes of a terminal.

use wetstring_proto::peer::Part;

use crate::{Session, instant, milliseconds};

impl Session {
    /// Received bytes, the first `len` of the input. Returns how many bytes show, which are lent.
    pub(crate) fn feed(&mut self, now_ms: f64, len: usize) -> usize {
        self.output.clear();
        let Some(bytes) = self.input.get(..len) else { return 0 };
        self.detector.feed(instant(now_ms), bytes, &mut self.output);
        self.lend_output()
    }

    /// When [`Session::decide`] is due.
    pub(crate) fn due(&self) -> f64 {
        milliseconds(self.detector.deadline())
    }

    /// After silence: 0 no start, and what shows is lent; 1 the peer sends, 2 it receives: numbers 0 and 1 are its
    /// first bytes, 2 and 3 the name of our protocol, 4 and 5 what ends the peer's program.
    pub(crate) fn decide(&mut self, now_ms: f64) -> u32 {
        self.output.clear();
        let Some(start) = self.detector.decide(instant(now_ms), &mut self.output) else {
            self.lend_output();
            return 0;
        };
        self.output.clear();
        self.output.extend_from_slice(&start.bytes);
        self.second = start.refusal();
        self.lend_output();
        // Starts of trzsz, which has none, are not looked for.
        let engine = start.engine().unwrap_or_default();
        self.lend(2, engine.as_ptr(), engine.len());
        let (address, len) = (self.second.as_ptr(), self.second.len());
        self.lend(4, address, len);
        if start.part == Part::Receiver { 2 } else { 1 }
    }

    /// What is held back, if it is not to be looked at any more.
    pub(crate) fn release(&mut self) -> usize {
        self.output = self.detector.release();
        self.lend_output()
    }

    fn lend_output(&mut self) -> usize {
        let (address, len) = (self.output.as_ptr(), self.output.len());
        self.lend(0, address, len);
        len
    }
}
