//! "Echo file": a protocol that shows what adding one costs: nothing above the engines knows of it.
//!
//! A frame is `SOH kind number length data crc crc`. The sender sends `F` (name, then a zero and the length in
//! eight bytes), `D` (data), `Z` (end of file) and `B` (end of all); the receiver echoes each good frame, or
//! replies `N` with its number for a file that it refuses, and ignores a damaged frame. A frame that is not
//! echoed in time is retransmitted.

mod engine;

use engine::Echo;
use wetstring_proto::crc::crc16;
use wetstring_proto::registry::{
    Advised, Carrier, Entry, Numbers, Picks, Registered, Remedies, StopKeys, WeakCheck,
};
use wetstring_proto::{LineFacts, Memory, MemoryTooSmall, settings};

settings! {
    /// The settings.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Config {
        "echo.block" block: u8[1..=200 "bytes"] = 90,
            "Data bytes of a frame",
            "this file";
    }
    also {
        line: LineFacts = LineFacts::default(),
    }
}

const ECHO: Entry = Entry {
    name: "echo",
    title: "Echo",
    a_title: "an echo",
    peer_commands: ["echo -r", "echo -s FILE"],
    preset: &[],
    carrier: Carrier::Bytes,
    passes_7_bits: false,
    passes_xon_xoff: false,
    resumes: false,
    tells_names: true,
    weak_check: Some(WeakCheck { of: crc16, len: 2, blocks: &[90], bare_answers: false }),
    picks: Picks::ROWS,
    advised: Advised::Never,
    remedies: Remedies::NONE,
    stops_by: StopKeys::None,
    offered: None,
    numbers: Numbers::Modulo(256),
    stop_and_wait: true,
    length_setting: None,
    compression: &[],
};

impl Registered for Config {
    const HEADING: &'static str = "Echo settings";
    const FAMILY: &'static str = "echo";
    const ENTRIES: &'static [Entry] =
        &[ECHO, Entry { name: "echo-1", preset: &[("echo.block", "1")], ..ECHO }];
    type Sender<M: Memory> = Echo<M>;
    type Receiver<M: Memory> = Echo<M>;

    fn on_line(&mut self, line: LineFacts) {
        self.line = line;
    }

    fn sender_memory(&self) -> usize {
        engine::MEMORY
    }

    fn receiver_memory(&self) -> usize {
        engine::MEMORY
    }

    fn sender<M: Memory>(self, memory: M) -> Result<Echo<M>, MemoryTooSmall> {
        Echo::new(self, true, memory)
    }

    fn receiver<M: Memory>(self, memory: M) -> Result<Echo<M>, MemoryTooSmall> {
        Echo::new(self, false, memory)
    }
}
