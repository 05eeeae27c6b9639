//! Bytes to and from a port without an engine.

use std::io;
use std::time::{Duration, Instant};

use wetstring_drive::event::{self, Interest};
use wetstring_drive::{Port, Signals, in_words};

use crate::ui::ending::Ending;
use crate::ui::exit::Exit;

/// Between looks at a line that is stalled.
const LOOK: Duration = Duration::from_millis(500);
/// A line that accepts nothing for this long is stalled.
const STALLED: Duration = Duration::from_secs(10);

/// What a wait for bytes brought.
pub(crate) enum Heard {
    /// This many.
    Bytes(usize),
    /// Nothing in this time.
    Nothing,
    /// The line is closed.
    Closed,
}

/// Reads what there is, after a wait of at most this time, which a signal ends.
pub(crate) fn read(
    port: &mut dyn Port,
    signals: &Signals,
    wait: Duration,
    into: &mut [u8],
) -> io::Result<Heard> {
    let mut interests = [Interest::read(port.read_source()), Interest::read(signals.source())];
    event::wait(&mut interests, Some(wait.min(LOOK)))?;
    Ok(match port.read(into)? {
        None => Heard::Nothing,
        Some(0) => Heard::Closed,
        Some(len) => Heard::Bytes(len),
    })
}

/// Writes all of it. An error if the line is stalled or a signal arrived.
pub(crate) fn write(port: &mut dyn Port, signals: &Signals, mut bytes: &[u8]) -> io::Result<()> {
    let mut until = Instant::now() + STALLED;
    loop {
        if port.held() {
            port.flush()?;
        }
        if !bytes.is_empty()
            && let Some(len) = port.write(bytes)?
        {
            bytes = &bytes[len..];
            until = Instant::now() + STALLED;
        }
        if bytes.is_empty() && !port.held() {
            return Ok(());
        }
        if Instant::now() >= until || signals.last().is_some() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the line takes nothing"));
        }
        let rest = port.rest();
        if rest.is_zero() {
            event::wait(&mut [Interest::write(port.write_source())], Some(LOOK))?;
        } else {
            std::thread::sleep(rest.min(LOOK));
        }
    }
}

/// An error once a signal has arrived.
pub(crate) fn go_on(signals: &Signals) -> Result<(), Ending> {
    match signals.last() {
        None => Ok(()),
        Some(signal) => {
            Err(Ending::early(Exit::Interrupted, format!("interrupted by signal {signal}")))
        }
    }
}

/// Why the line could not be read or written; the signal, if that is why.
pub(crate) fn failed(signals: &Signals, what: &str, error: &io::Error) -> Ending {
    go_on(signals).err().unwrap_or_else(|| {
        Ending::early(Exit::Line, format!("could not {what} the line: {}", in_words(error)))
    })
}
