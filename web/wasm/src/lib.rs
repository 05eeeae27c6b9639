//! The engines for a browser: one instance of the module is one session, with one engine or one start detector.
//!
//! Everything passes the border between JavaScript and the module as numbers and as bytes in the module's
//! memory. There are two places for them: the *input*, which JavaScript fills before a call, and the *numbers*,
//! sixteen of 64 bits, which hold arguments before a call and results after it. What a call returns as text or
//! bytes is an address and a length in the first two numbers, valid until the next call.
//!
//! ```text
//! JavaScript                        module
//! loop, streams, files    <--->     exports.rs   doors.rs   wetstring-proto
//! (web/src/transfer.ts)    numbers, input
//! ```
//!
//! Times are milliseconds of any monotonic clock; sizes are exact up to 2^53.
#![forbid(clippy::undocumented_unsafe_blocks)]

// The laboratory's own, which needs traces; the engines here have none.
#[cfg(feature = "extended")]
#[path = "../../../lab/src/compressor.rs"]
mod compressor;
mod doors;
mod exports;
#[cfg(feature = "extended")]
mod extended;
mod scouting;

use wetstring_proto::registry::{Entry, Registered};
use wetstring_proto::{Engine, Instant, LineFacts, kermit, xymodem, zmodem};
use wetstring_protocols::start::StartDetector;

/// Makes an engine by a configuration with these settings, on a line of which this is known.
type Make = fn(&'static Entry, &[(&str, &str)], LineFacts, bool) -> Result<Box<dyn Engine>, String>;

/// The protocols of this module, in families. The list of the program has more, which no web page needs, and
/// more of each: tables, states and descriptions would double the module.
static FAMILIES: &[(&str, &[Entry], Make)] = &[
    (kermit::Config::FAMILY, kermit::Config::ENTRIES, make_kermit),
    (xymodem::Config::FAMILY, xymodem::Config::ENTRIES, make::<xymodem::Config>),
    (zmodem::Config::FAMILY, zmodem::Config::ENTRIES, make::<zmodem::Config>),
];

/// Whether a setting is of the family that this is the prefix of, or of none that is known: a mistake.
fn is_for(prefix: &str, setting: &str) -> bool {
    let of = setting.split('.').next().unwrap_or_default();
    of == prefix || FAMILIES.iter().all(|(known, ..)| *known != of)
}

fn make<C: Registered>(
    entry: &'static Entry,
    settings: &[(&str, &str)],
    line: LineFacts,
    sends: bool,
) -> Result<Box<dyn Engine>, String>
where
    C::Sender<Vec<u8>>: 'static,
    C::Receiver<Vec<u8>>: 'static,
{
    make_of(C::default(), entry, settings, line, sends)
}

/// Kermit, with what this module has for it.
fn make_kermit(
    entry: &'static Entry,
    settings: &[(&str, &str)],
    line: LineFacts,
    sends: bool,
) -> Result<Box<dyn Engine>, String> {
    #[cfg_attr(not(feature = "extended"), expect(unused_mut))]
    let mut config = kermit::Config::default();
    #[cfg(feature = "extended")]
    {
        config.compressor = compressor::IS_BUILT;
        config.finds_blocks = true;
    }
    make_of(config, entry, settings, line, sends)
}

fn make_of<C: Registered>(
    mut config: C,
    entry: &'static Entry,
    settings: &[(&str, &str)],
    line: LineFacts,
    sends: bool,
) -> Result<Box<dyn Engine>, String>
where
    C::Sender<Vec<u8>>: 'static,
    C::Receiver<Vec<u8>>: 'static,
{
    config.on_line(line);
    for (name, value) in entry.preset.iter().chain(settings) {
        config.set(name, value).map_err(|bad| format!("{name}={value}: {bad}"))?;
    }
    let words = |bad: wetstring_proto::MemoryTooSmall| bad.to_string();
    Ok(if sends {
        let memory = vec![0; config.sender_memory()];
        Box::new(config.sender(memory).map_err(words)?)
    } else {
        let memory = vec![0; config.receiver_memory()];
        Box::new(config.receiver(memory).map_err(words)?)
    })
}

/// Numbers that pass the border.
const NUMBERS: usize = 16;

/// All that an instance has.
#[derive(Default)]
struct Session {
    /// Bytes from JavaScript.
    input: Vec<u8>,
    /// Arguments and results.
    numbers: [f64; NUMBERS],
    /// The engine, once it is created.
    engine: Option<Box<dyn Engine>>,
    /// The time of the last call that had one.
    now: Instant,
    #[cfg(feature = "extended")]
    extended: extended::Extended,
    /// Looks for starts.
    detector: StartDetector<Instant>,
    /// Text and bytes for JavaScript.
    output: Vec<u8>,
    /// More of them.
    second: Vec<u8>,
}

impl Session {
    /// Room for bytes from JavaScript.
    fn room(&mut self, len: usize) -> *mut u8 {
        if self.input.len() < len {
            self.input.resize(len, 0);
        }
        self.input.as_mut_ptr()
    }

    /// The address and the length of bytes for JavaScript, in the numbers from `at` on.
    fn lend(&mut self, at: usize, address: *const u8, len: usize) {
        self.numbers[at] = address as usize as f64;
        self.numbers[at + 1] = len as f64;
    }

    /// Gives text.
    fn say(&mut self, text: &str) {
        self.output.clear();
        self.output.extend_from_slice(text.as_bytes());
        let (address, len) = (self.output.as_ptr(), self.output.len());
        self.lend(0, address, len);
    }

    /// An integer among the arguments; what is no number or negative is none.
    fn argument(&self, at: usize) -> Option<u64> {
        let number = self.numbers[at];
        (number >= 0.0).then_some(number as u64)
    }
}

/// A time of JavaScript.
fn instant(now_ms: f64) -> Instant {
    Instant((now_ms.max(0.0) * 1e6) as u64)
}

/// A time for JavaScript; negative if there is none.
fn milliseconds(at: Option<Instant>) -> f64 {
    at.map_or(-1.0, |at| at.as_nanos() as f64 / 1e6)
}

/// The protocols that can be chosen, each with the prefix of its settings.
fn protocols() -> impl Iterator<Item = (&'static str, &'static Entry, Make)> {
    FAMILIES
        .iter()
        .flat_map(|(family, entries, make)| entries.iter().map(|entry| (*family, entry, *make)))
}
