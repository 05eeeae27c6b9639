//! "Echo file": a protocol made to show what a protocol costs that nobody above the engines knows of.
//!
//! A frame is `SOH kind number length data crc crc`. The sender asks by `F` (name, then a zero and the length in
//! eight bytes), `D` (data), `Z` (end of file) and `B` (end of all); the receiver says each good frame back as it came, or
//! `N` with its number for a file that it refuses, and a damaged frame is nothing. What does not come back in time
//! is sent again.

mod engine;

use engine::Echo;
use std::fmt;
use wetstring_proto::crc::crc16;
use wetstring_proto::registry::{Carrier, Entry, Registered, WeakCheck};
use wetstring_proto::settings::{BadSetting, Range, Setting, Settings};
use wetstring_proto::{LineFacts, Memory, MemoryTooSmall};

/// What can be set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    line: LineFacts,
    /// Data bytes of a frame.
    block: u8,
}

impl Default for Config {
    fn default() -> Self {
        Self { line: LineFacts::default(), block: 90 }
    }
}

const BLOCK: &str = "echo.block";

static TABLE: &[Setting] = &[Setting {
    name: BLOCK,
    range: Range::Number(1, 200),
    default: "90",
    unit: "bytes",
    doc: "Data bytes of a frame.",
    source: "this file",
}];

impl Settings for Config {
    fn table() -> &'static [Setting] {
        TABLE
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), BadSetting> {
        if name != BLOCK {
            return Err(BadSetting::Unknown);
        }
        let block = value.parse().ok().filter(|block| (1..=200).contains(block));
        self.block = block.ok_or(BadSetting::Value(&TABLE[0]))?;
        Ok(())
    }

    fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        if name == BLOCK { write!(out, "{}", self.block) } else { Err(fmt::Error) }
    }
}

const ECHO: Entry = Entry {
    name: "echo",
    title: "Echo",
    a_title: "an echo",
    far_end: ["echo -r", "echo -s FILE"],
    preset: &[],
    carrier: Carrier::Bytes,
    passes_7_bits: false,
    passes_xon_xoff: false,
    resumes: false,
    tells_names: true,
    weak_check: Some(WeakCheck { of: crc16, len: 2, blocks: &[90], bare_answers: false }),
};

impl Registered for Config {
    const HEADING: &'static str = "Echo settings";
    const FAMILY: &'static str = "echo";
    const ENTRIES: &'static [Entry] =
        &[ECHO, Entry { name: "echo-1", preset: &[(BLOCK, "1")], ..ECHO }];
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
