//! A port that may be unplugged and come again while a protocol runs on it.
//!
//! To the protocol it is a line on which nothing passes for a while: bytes that were under way are lost, and
//! retransmitted when it is back.

use super::{Controls, Port, PortFacts};
use crate::event::Source;
use crate::signals::Signals;
use std::collections::VecDeque;
use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How often a missing port is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// Opens the port if it is there now.
pub type Reopen = dyn FnMut() -> Option<Box<dyn Port>> + Send;

/// A port, and how to open it again.
pub struct Returning {
    port: Option<Box<dyn Port>>,
    facts: PortFacts,
    reopen: Option<Box<Reopen>>,
    search: Option<Search>,
    /// Readable once a missing port has come again.
    back: Signals,
    news: VecDeque<String>,
    times: u32,
}

/// A thread that looks for the port, and returns it with the means to open it the next time.
struct Search {
    found: Receiver<(Box<dyn Port>, Box<Reopen>)>,
    over: Arc<AtomicBool>,
}

impl Drop for Search {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Returning {
    /// This port. `reopen` opens it again after it has gone; `back`, of [`Signals::detached`], is raised then.
    pub fn new(port: Box<dyn Port>, reopen: Box<Reopen>, back: Signals) -> Self {
        let facts = port.facts().clone();
        Self {
            port: Some(port),
            facts,
            reopen: Some(reopen),
            search: None,
            back,
            news: VecDeque::new(),
            times: 0,
        }
    }

    /// The port, unless it has gone, and how often it has come back.
    pub fn into_port(mut self) -> (Option<Box<dyn Port>>, u32) {
        self.look();
        (self.port, self.times)
    }

    /// The port has failed: it is closed, and looked for.
    fn gone(&mut self) {
        let Some(mut port) = self.port.take() else { return };
        // Nothing can leave any more.
        let _ = port.finish(Duration::ZERO);
        drop(port);
        let Some(mut reopen) = self.reopen.take() else { return };
        self.news.push_back(format!(
            "{} is gone; the transfer goes on when it is back (Ctrl-C ends it)",
            self.facts.name
        ));
        let (give, found) = channel();
        let over = Arc::new(AtomicBool::new(false));
        let (back, stop) = (self.back.clone(), over.clone());
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK);
                if let Some(port) = reopen() {
                    // Without a receiver the port is not wanted any more, and is closed.
                    if give.send((port, reopen)).is_ok() {
                        back.raise(0);
                    }
                    return;
                }
            }
        });
        self.search = Some(Search { found, over });
    }

    /// Takes the port if it has come again.
    fn look(&mut self) {
        let Some(search) = &self.search else { return };
        let Ok((port, reopen)) = search.found.try_recv() else { return };
        self.search = None;
        self.back.reset();
        self.news.push_back(format!("connected to {} again", port.facts().name));
        self.times += 1;
        self.facts.name.clone_from(&port.facts().name);
        self.port = Some(port);
        self.reopen = Some(reopen);
    }
}

impl Port for Returning {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        self.look();
        let Some(port) = &mut self.port else { return Ok(None) };
        if let Ok(read) = port.read(into)
            && read != Some(0)
        {
            return Ok(read);
        }
        self.gone();
        Ok(None)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        self.look();
        let Some(port) = &mut self.port else { return Ok(None) };
        if let Ok(written) = port.write(bytes) {
            return Ok(written);
        }
        self.gone();
        Ok(None)
    }

    fn rest(&self) -> Duration {
        self.port.as_ref().map_or(LOOK, |port| port.rest())
    }

    fn held(&self) -> bool {
        self.port.as_ref().is_some_and(|port| port.held())
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(port) = &mut self.port else { return Ok(()) };
        if port.flush().is_err() {
            self.gone();
        }
        Ok(())
    }

    fn read_source(&self) -> Source<'_> {
        self.port.as_ref().map_or_else(|| self.back.source(), |port| port.read_source())
    }

    /// Of a missing port nothing waits for this: it has a [rest](Port::rest).
    fn write_source(&self) -> Source<'_> {
        self.port.as_ref().map_or_else(|| self.back.source(), |port| port.write_source())
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn asks(&self) -> bool {
        self.port.as_ref().is_some_and(|port| port.asks())
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
