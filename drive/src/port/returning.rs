//! A port that may be unplugged and come again while a protocol runs on it.
//!
//! To the protocol it is a line on which nothing passes for a while: bytes that were under way are lost, and
//! retransmitted when it is back. How long that may take is the protocol's own patience. A conversation that
//! retransmits nothing looks at [`Port::losses`].

use super::{Controls, Port, PortFacts};
use crate::event::Source;
use crate::in_words;
use crate::signals::Signals;
use std::collections::VecDeque;
use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often a missing port is looked for.
pub const LOOK: Duration = Duration::from_millis(100);

/// A port that has come back this often in a row and carried nothing has failed.
const MOST_FRUITLESS: u32 = 5;

/// Looks for a port that has gone.
pub trait Finder: Send + 'static {
    /// The port has just gone.
    fn gone(&mut self);
    /// Opens it if it is there.
    ///
    /// # Errors
    ///
    /// Why it cannot be opened although it is there, in words for users: such as rights that the system sets a
    /// moment after the device has come.
    fn find(&mut self) -> Result<Option<Box<dyn Port>>, String>;
}

/// A port, and how to find it again.
pub struct Returning<F> {
    port: Option<Box<dyn Port>>,
    facts: PortFacts,
    finder: Option<F>,
    search: Option<Search<F>>,
    /// Readable once a missing port has come again.
    back: Signals,
    news: VecDeque<String>,
    /// What becomes of the transfer meanwhile, in words.
    meanwhile: &'static str,
    times: u32,
    losses: u32,
    /// Losses in a row without a byte between them.
    fruitless: u32,
}

/// A thread that looks for the port.
struct Search<F> {
    thread: JoinHandle<(Option<Box<dyn Port>>, F)>,
    says: Receiver<String>,
    over: Over,
}

/// Ends a search when it is dropped.
struct Over(Arc<AtomicBool>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Looks until the port is there or the search is over.
fn search<F: Finder>(
    mut finder: F,
    back: &Signals,
    say: &Sender<String>,
    over: &AtomicBool,
) -> (Option<Box<dyn Port>>, F) {
    let mut said = String::new();
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
        match finder.find() {
            Ok(Some(port)) => {
                back.raise(0);
                return (Some(port), finder);
            }
            Err(why) if why != said => {
                // Without a receiver the port is not wanted any more.
                let _ = say.send(why.clone());
                said = why;
            }
            Ok(None) | Err(_) => {}
        }
    }
    (None, finder)
}

impl<F: Finder> Returning<F> {
    /// This port. `back`, of [`Signals::detached`], is raised when it has come again.
    pub fn new(port: Box<dyn Port>, finder: F, back: Signals) -> Self {
        let facts = port.facts().clone();
        Self {
            port: Some(port),
            facts,
            finder: Some(finder),
            search: None,
            back,
            news: VecDeque::new(),
            meanwhile: "the transfer continues if it comes back in time, Ctrl-C ends it",
            times: 0,
            losses: 0,
            fruitless: 0,
        }
    }

    /// Under a conversation, which does not repeat what was lost.
    #[must_use]
    pub fn under_a_conversation(self) -> Self {
        Self { meanwhile: "waiting for it, Ctrl-C ends the transfer", ..self }
    }

    /// The port, unless it has gone; what looks for it; how often it has come back.
    pub fn into_parts(mut self) -> (Option<Box<dyn Port>>, Option<F>, u32) {
        if let Some(search) = self.search.take() {
            search.over.0.store(true, Ordering::Relaxed);
            self.found(search);
        }
        (self.port, self.finder, self.times)
    }

    /// The port has failed: it is closed, and looked for.
    ///
    /// # Errors
    ///
    /// That failure, if it is not worth while to look.
    fn gone(&mut self, error: Option<io::Error>) -> io::Result<()> {
        let closed = || io::Error::new(io::ErrorKind::NotConnected, "the port is closed");
        let Some(mut port) = self.port.take() else { return Err(closed()) };
        // Nothing can leave any more.
        let _ = port.finish(Duration::ZERO);
        drop(port);
        self.fruitless += 1;
        self.losses += 1;
        let Some(mut finder) = self.finder.take() else { return Err(error.unwrap_or_else(closed)) };
        if self.fruitless > MOST_FRUITLESS {
            self.finder = Some(finder);
            return Err(error.unwrap_or_else(closed));
        }
        finder.gone();
        let (say, says) = channel();
        let over = Over(Arc::new(AtomicBool::new(false)));
        let (back, stop) = (self.back.clone(), over.0.clone());
        let thread =
            Builder::new().name("port".into()).spawn(move || search(finder, &back, &say, &stop))?;
        self.search = Some(Search { thread, says, over });
        let why = error.map(|error| format!(": {}", in_words(&error))).unwrap_or_default();
        self.news.push_back(format!("{} is gone{why}; {}", self.facts.name, self.meanwhile));
        Ok(())
    }

    /// Takes the port if it has come again.
    fn look(&mut self) {
        let Some(search) = &self.search else { return };
        self.news.extend(search.says.try_iter().map(|why| format!("{why}; trying again")));
        if search.thread.is_finished()
            && let Some(search) = self.search.take()
        {
            self.found(search);
        }
    }

    /// The end of a search.
    fn found(&mut self, search: Search<F>) {
        // A search that panicked has found nothing, and another is not begun.
        let Ok((port, finder)) = search.thread.join() else { return };
        self.finder = Some(finder);
        self.back.reset();
        let Some(port) = port else { return };
        self.times += 1;
        self.news.push_back(format!("connected to {} again", port.facts().name));
        self.facts.name.clone_from(&port.facts().name);
        self.port = Some(port);
    }

    /// The port to read from or write to, once it is there.
    fn present(&mut self) -> io::Result<Option<&mut Box<dyn Port>>> {
        self.look();
        if self.port.is_none() && self.search.is_none() {
            return Err(io::ErrorKind::NotConnected.into());
        }
        Ok(self.port.as_mut())
    }
}

impl<F: Finder> Port for Returning<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(port) = self.present()? else { return Ok(None) };
        let error = match port.read(into) {
            Ok(Some(0)) => None,
            Ok(read) => {
                if read.is_some() {
                    self.fruitless = 0;
                }
                return Ok(read);
            }
            Err(error) => Some(error),
        };
        self.gone(error).map(|()| None)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let Some(port) = self.present()? else { return Ok(None) };
        match port.write(bytes) {
            Ok(written) => Ok(written),
            Err(error) => self.gone(Some(error)).map(|()| None),
        }
    }

    fn rest(&self) -> Duration {
        self.port.as_ref().map_or(LOOK, |port| port.rest())
    }

    fn held(&self) -> bool {
        self.port.as_ref().is_some_and(|port| port.held())
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(port) = &mut self.port else { return Ok(()) };
        match port.flush() {
            Ok(()) => Ok(()),
            Err(error) => self.gone(Some(error)),
        }
    }

    fn read_source(&self) -> Source<'_> {
        self.port.as_ref().map_or_else(|| self.back.source(), |port| port.read_source())
    }

    /// Not waited for while the port is missing, which has a [rest](Port::rest) then.
    fn write_source(&self) -> Source<'_> {
        self.port.as_ref().map_or_else(|| self.back.source(), |port| port.write_source())
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn losses(&self) -> u32 {
        self.losses
    }

    fn is_gone(&self) -> bool {
        self.port.is_none() && self.search.is_some()
    }

    fn asks(&self) -> bool {
        self.port.as_ref().is_some_and(|port| port.asks())
    }

    fn answered(&mut self) {
        if let Some(port) = &mut self.port {
            port.answered();
        }
    }

    fn carries_bps(&self) -> Option<u32> {
        self.port.as_ref().map_or(self.facts.rate_bps, |port| port.carries_bps())
    }

    fn claim(&mut self, rate_bps: u32) -> io::Result<()> {
        self.port.as_mut().map_or(Ok(()), |port| port.claim(rate_bps))
    }

    fn unsent(&self) -> u64 {
        self.port.as_ref().map_or(0, |port| port.unsent())
    }

    fn controls(&mut self) -> Option<&mut dyn Controls> {
        self.port.as_mut()?.controls()
    }

    fn news(&mut self) -> Option<String> {
        self.look();
        self.news.pop_front()
    }

    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        self.port.as_mut().map_or(Ok(None), |port| port.finish(patience))
    }
}
