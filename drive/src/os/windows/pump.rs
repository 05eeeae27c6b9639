//! Threads that read and write what cannot be waited for: pipes, consoles, COM ports.
//!
//! ```text
//! pipe --blocking read--> thread --> Inbox: bytes, bell --> loop
//! loop --> Outbox: bytes --> thread --blocking write--> pipe
//! ```
//!
//! A bell is a socket that is readable while there is something to do: bytes or an end in an inbox, room in an
//! outbox. It is rung once and silenced once, so that it costs nothing per byte.

use super::console::Waiting;
use super::event::Source;
use super::stream::{Stream, pair};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that an inbox holds before its thread stops reading.
const ROOM: usize = 256 * 1024;
/// Bytes moved at a time.
const PIECE: usize = 64 * 1024;

/// The methods of a `Port` that are the same for all whose fields are `from: Inbox`, `to: Option<Outbox>` (`None` once nothing
/// more will be written) and `facts`.
macro_rules! by_pumps {
    () => {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<Option<usize>> {
            self.from.read(into)
        }

        fn write(&mut self, bytes: &[u8]) -> std::io::Result<Option<usize>> {
            match &self.to {
                Some(to) => to.write(bytes),
                None => Err(std::io::ErrorKind::BrokenPipe.into()),
            }
        }

        fn read_source(&self) -> $crate::event::Source<'_> {
            self.from.source()
        }

        fn write_source(&self) -> $crate::event::Source<'_> {
            self.to.as_ref().map_or(self.from.source(), Outbox::source)
        }

        fn facts(&self) -> &PortFacts {
            &self.facts
        }

        fn unsent(&self) -> u64 {
            self.to.as_ref().map_or(0, Outbox::unsent)
        }
    };
}
pub(super) use by_pumps;

/// A socket that is readable while it rings.
#[derive(Debug)]
struct Bell {
    heard: Stream,
    rung: Stream,
}

impl Bell {
    fn new() -> io::Result<Self> {
        let (heard, rung) = pair()?;
        Ok(Self { heard, rung })
    }

    fn ring(&self, rings: &mut bool) {
        if !std::mem::replace(rings, true) {
            // A socket inside this process takes one byte.
            let _ = (&self.rung).write(&[0]);
        }
    }

    fn silence(&self, rings: &mut bool) {
        if std::mem::replace(rings, false) {
            let _ = (&self.heard).read(&mut [0]);
        }
    }
}

#[derive(Debug, Default)]
struct State {
    bytes: VecDeque<u8>,
    /// Bytes that the thread is writing.
    leaving: usize,
    rings: bool,
    /// The other side has closed or failed.
    ended: bool,
    /// One read finds an end here; what follows it comes later.
    pauses: bool,
    error: Option<io::Error>,
    /// Our side needs it no more.
    closed: bool,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    bell: Bell,
}

impl Shared {
    fn new() -> io::Result<Arc<Self>> {
        let bell = Bell::new()?;
        Ok(Arc::new(Self { state: Mutex::default(), changed: Condvar::new(), bell }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, state: MutexGuard<'g, State>) -> MutexGuard<'g, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, error: Option<io::Error>) {
        let mut state = self.state();
        state.ended = true;
        state.error = error;
        self.bell.ring(&mut state.rings);
        self.changed.notify_all();
    }
}

/// Bytes that a thread has read.
#[derive(Debug)]
pub(super) struct Inbox {
    shared: Arc<Shared>,
    /// Its thread reads only while someone waits.
    keys: bool,
}

impl Inbox {
    /// Reads with `read` until it returns 0 or an error, or the inbox is dropped. A timeout is none: with one,
    /// the thread notices in time that it is not needed.
    pub(super) fn new(
        read: impl FnMut(&mut [u8]) -> io::Result<usize> + Send + 'static,
    ) -> io::Result<Self> {
        Self::start(read, false)
    }

    /// The same for keys of a console, which are read while they are waited for ([`Waiting`]), and once those before
    /// them were taken. The end is one read: others may follow.
    pub(super) fn of_keys(
        read: impl FnMut(&mut [u8]) -> io::Result<usize> + Send + 'static,
    ) -> io::Result<Self> {
        Self::start(read, true)
    }

    fn start(
        mut read: impl FnMut(&mut [u8]) -> io::Result<usize> + Send + 'static,
        keys: bool,
    ) -> io::Result<Self> {
        let room = if keys { 1 } else { ROOM };
        let shared = Shared::new()?;
        let to = shared.clone();
        std::thread::Builder::new().name("reader".into()).spawn(move || {
            let mut piece = vec![0; PIECE];
            loop {
                let mut state = to.state();
                while (state.bytes.len() >= room || state.pauses) && !state.closed {
                    state = to.wait(state);
                }
                if state.closed {
                    return;
                }
                drop(state);
                match read(&mut piece) {
                    Ok(0) if keys => {
                        let mut state = to.state();
                        state.pauses = true;
                        to.bell.ring(&mut state.rings);
                        to.changed.notify_all();
                    }
                    Ok(0) => return to.end(None),
                    Ok(len) => {
                        let mut state = to.state();
                        state.bytes.extend(&piece[..len]);
                        to.bell.ring(&mut state.rings);
                        to.changed.notify_all();
                    }
                    Err(error) if is_nothing(&error) => {}
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return to.end(None),
                    Err(error) => return to.end(Some(error)),
                }
            }
        })?;
        Ok(Self { shared, keys })
    }

    /// As [`Port::read`](crate::Port::read).
    pub(super) fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let mut state = self.shared.state();
        if state.bytes.is_empty() && !state.pauses {
            return match state.error.take() {
                Some(error) => Err(error),
                None if state.ended => Ok(Some(0)),
                None => Ok(None),
            };
        }
        let len = state.bytes.read(into)?;
        if len == 0 {
            state.pauses = false;
        }
        if state.bytes.is_empty() && !state.ended && !state.pauses {
            self.shared.bell.silence(&mut state.rings);
        }
        self.shared.changed.notify_all();
        Ok(Some(len))
    }

    /// Waits for at least one byte; 0 at the end.
    pub(super) fn read_blocking(&self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(len) = self.read(into)? {
                return Ok(len);
            }
            // Only now, and not while the last key is taken: the next one may be another reader's.
            let _waiting = self.keys.then(Waiting::new);
            let state = self.shared.state();
            if state.bytes.is_empty() && !state.ended && !state.pauses {
                drop(self.shared.wait(state));
            }
        }
    }

    pub(super) fn source(&self) -> Source<'_> {
        let bell = &self.shared.bell.heard;
        if self.keys { Source::keys(bell) } else { Source::bell(bell) }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
    }
}

/// Bytes that a thread will write.
#[derive(Debug)]
pub(super) struct Outbox {
    shared: Arc<Shared>,
    room: usize,
}

impl Outbox {
    /// Writes with `write`, holding at most `room` bytes. A timeout is none. What `write` owns is dropped when
    /// the outbox is, once its bytes are written or have failed.
    pub(super) fn new(
        room: usize,
        mut write: impl FnMut(&[u8]) -> io::Result<usize> + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Shared::new()?;
        shared.bell.ring(&mut shared.state().rings);
        let from = shared.clone();
        std::thread::Builder::new().name("writer".into()).spawn(move || {
            let mut piece = vec![0; PIECE];
            loop {
                let mut state = from.state();
                while state.bytes.is_empty() && !state.closed {
                    state = from.wait(state);
                }
                if state.bytes.is_empty() {
                    return;
                }
                let Ok(len) = state.bytes.read(&mut piece) else { return };
                state.leaving = len;
                from.bell.ring(&mut state.rings);
                drop(state);
                let failed = written(&piece[..len], &mut write, &from);
                from.state().leaving = 0;
                from.changed.notify_all();
                if let Err(error) = failed {
                    return from.end(Some(error));
                }
            }
        })?;
        Ok(Self { shared, room })
    }

    /// As [`Port::write`](crate::Port::write).
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let mut state = self.shared.state();
        if state.ended {
            let closed = || io::ErrorKind::BrokenPipe.into();
            return Err(state.error.take().unwrap_or_else(closed));
        }
        let room = self.room.saturating_sub(state.bytes.len()).min(bytes.len());
        state.bytes.extend(&bytes[..room]);
        if state.bytes.len() >= self.room {
            self.shared.bell.silence(&mut state.rings);
        }
        self.shared.changed.notify_all();
        Ok((room > 0).then_some(room))
    }

    /// Bytes that have not been written.
    pub(super) fn unsent(&self) -> u64 {
        let state = self.shared.state();
        (state.bytes.len() + state.leaving) as u64
    }

    /// Waits until all bytes are written, or cannot be; false if they are not in time.
    pub(super) fn drain(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut state = self.shared.state();
        while state.bytes.len() + state.leaving > 0 && !state.ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Forgets what is not being written yet.
    pub(super) fn clear(&self) {
        self.shared.state().bytes.clear();
    }

    pub(super) fn source(&self) -> Source<'_> {
        Source::bell(&self.shared.bell.heard)
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// Writes all of it. A line that is stopped is given up once the outbox is closed and cleared.
fn written(
    mut bytes: &[u8],
    write: &mut impl FnMut(&[u8]) -> io::Result<usize>,
    shared: &Shared,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(len) => {
                bytes = &bytes[len..];
                shared.state().leaving = bytes.len();
            }
            Err(error) if is_nothing(&error) => {
                if shared.state().closed {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn keys_come_when_those_before_are_taken_and_their_end_is_one_read() {
        let (press, pressed) = channel::<&[u8]>();
        let (tell, asked) = channel();
        let inbox = Inbox::of_keys(move |into| {
            tell.send(()).map_err(io::Error::other)?;
            let mut keys = pressed.recv().map_err(io::Error::other)?;
            keys.read(into)
        })
        .expect("a thread");
        let soon = Duration::from_secs(10);
        let mut into = [0; 2];
        for keys in [&b"yes"[..], b"", b"no"] {
            asked.recv_timeout(soon).expect("a read");
            press.send(keys).expect("the thread");
            for part in keys.chunks(2) {
                assert!(asked.recv_timeout(Duration::from_millis(50)).is_err(), "read ahead");
                let len = inbox.read_blocking(&mut into).expect("it reads");
                assert_eq!(&into[..len], part);
            }
            if keys.is_empty() {
                assert_eq!(inbox.read_blocking(&mut into).expect("it reads"), 0);
            }
            assert_eq!(inbox.read(&mut into).expect("it reads"), None);
        }
        // An error is the end of all reads.
        drop(press);
        assert!(inbox.read_blocking(&mut into).is_err());
        assert_eq!(inbox.read_blocking(&mut into).expect("it reads"), 0);
        assert_eq!(inbox.read_blocking(&mut into).expect("it reads"), 0);
    }
}
