//! The system calls of a process: bytes on their way down and up.

use super::{Host, Work};
use std::collections::VecDeque;

/// From the engine's offer to the time at which the bytes are below.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outlet {
    bytes: VecDeque<u8>,
    /// Calls: when each is complete, and how many bytes it has left.
    calls: VecDeque<(u64, usize)>,
    /// Bytes offered at one time and not yet split into calls: since when, and how many.
    batch: Option<(u64, usize)>,
}

impl Outlet {
    /// Number of bytes that have not gone down.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the process is in no call.
    pub(crate) fn is_idle(&self) -> bool {
        self.calls.is_empty()
    }

    /// Accepts an offer at `now`.
    pub(crate) fn offer(&mut self, host: &mut Host, now: u64, bytes: &[u8]) {
        self.close(host, now);
        if bytes.is_empty() {
            return;
        }
        self.bytes.extend(bytes);
        let (_, len) = self.batch.get_or_insert((now, 0));
        *len += bytes.len();
    }

    /// Splits a batch into calls, once its time is past: then it is complete.
    pub(crate) fn close(&mut self, host: &mut Host, now: u64) {
        let Some((since, len)) = self.batch.filter(|(since, _)| *since < now) else { return };
        self.batch = None;
        let block = usize::try_from(host.model.block_bytes).unwrap_or(usize::MAX);
        let first = self.bytes.len() - len;
        let mut from = first;
        while from < self.bytes.len() {
            let most = (self.bytes.len() - from).min(block);
            let cut = match host.model.mark {
                None => None,
                Some(mark) => {
                    self.bytes.range(from + 1..from + most).position(|byte| *byte == mark)
                }
            };
            let len = cut.map_or(most, |cut| cut + 1);
            // Not before time has advanced: at one time, more may still come.
            let end = host.call(since, Work::Write, len).max(since + 1);
            self.calls.push_back((end, len));
            from += len;
        }
    }

    /// When the next event is due.
    pub(crate) fn next(&self) -> Option<u64> {
        let batch = self.batch.map(|(since, _)| since + 1);
        self.calls.front().map(|(end, _)| *end).into_iter().chain(batch).min()
    }

    /// The bytes to go down at `now`: those of one call, or the first part of them.
    pub(crate) fn due(&mut self, host: &mut Host, now: u64) -> &[u8] {
        self.close(host, now);
        let Some((_, len)) = self.calls.front().filter(|(end, _)| *end <= now) else { return &[] };
        let (front, back) = self.bytes.as_slices();
        if front.is_empty() { &back[..*len] } else { &front[..(*len).min(front.len())] }
    }

    /// This many bytes of [`Outlet::due`] have gone down at `now`.
    pub(crate) fn went(&mut self, host: &mut Host, now: u64, count: usize) {
        self.bytes.drain(..count);
        if let Some((_, len)) = self.calls.front_mut() {
            *len -= count;
            if *len == 0 {
                self.calls.pop_front();
                // A blocked call is complete now.
                host.process_free = host.process_free.max(now);
            }
        }
    }
}

/// From the time at which bytes are available below to the time at which the engine has them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inlet {
    /// The result of a read call, and when it is complete.
    bytes: VecDeque<u8>,
    ready: u64,
    /// Since when there is something to read below; how much.
    since: Option<u64>,
    available: usize,
    /// Since when there is as much as a read call waits for.
    enough: Option<u64>,
}

impl Inlet {
    /// This many bytes are available below, at `now`.
    pub(crate) fn available(&mut self, host: &Host, now: u64, bytes: usize) {
        self.available = bytes;
        let count = host.model.gather.map_or(1, |(count, _)| count);
        let since =
            |since: Option<u64>, holds: bool| if holds { since.or(Some(now)) } else { None };
        self.since = since(self.since, bytes > 0);
        self.enough = since(self.enough, bytes as u64 >= count);
    }

    /// When the process begins to read.
    fn begins(&self, host: &Host) -> Option<u64> {
        let since = self.since.filter(|_| self.bytes.is_empty())?;
        let late = host.model.gather.map(|(_, after)| {
            let after = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
            ticks(host, since.saturating_add(after))
        });
        let enough = self.enough.into_iter().chain(late).min()?;
        if host.process_free > enough {
            // It was busy: it does not sleep.
            return Some(host.process_free);
        }
        let wake = u64::try_from(host.model.wake.as_nanos()).unwrap_or(u64::MAX);
        Some(enough.saturating_add(wake))
    }

    /// When the next event is due.
    pub(crate) fn next(&self, host: &Host) -> Option<u64> {
        if self.bytes.is_empty() { self.begins(host) } else { Some(self.ready) }
    }

    /// When bytes are ready for the engine.
    pub(crate) fn ready(&self) -> Option<u64> {
        (!self.bytes.is_empty()).then_some(self.ready)
    }

    /// How many bytes a read call that begins at `now` takes; 0 if none begins.
    pub(crate) fn wants(&self, host: &Host, now: u64) -> usize {
        match self.begins(host) {
            Some(begins) if begins <= now => {
                let block = usize::try_from(host.model.block_bytes).unwrap_or(usize::MAX);
                self.available.min(block)
            }
            _ => 0,
        }
    }

    /// The bytes of the call that begins at `now`; to be followed by [`Inlet::read`].
    pub(crate) fn bring(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// The call begins at `now` with these bytes.
    pub(crate) fn read(&mut self, host: &mut Host, now: u64) {
        let enough = self.enough.or(self.since).unwrap_or(now);
        let asleep = enough.max(host.process_free);
        host.usage.wake_ns += now.saturating_sub(asleep);
        host.note_busy(asleep, now);
        self.ready = host.call(now, Work::Read, self.bytes.len());
        self.since = None;
        self.enough = None;
    }

    /// Moves the engine's bytes at `now`.
    pub(crate) fn emit(&mut self, now: u64, into: &mut [u8]) -> usize {
        if self.ready > now {
            return 0;
        }
        let len = self.bytes.len().min(into.len());
        let (front, back) = self.bytes.as_slices();
        let from_front = front.len().min(len);
        into[..from_front].copy_from_slice(&front[..from_front]);
        into[from_front..len].copy_from_slice(&back[..len - from_front]);
        self.bytes.drain(..len);
        len
    }
}

/// A time, rounded up to the host's ticks.
fn ticks(host: &Host, at: u64) -> u64 {
    match u64::try_from(host.model.tick.as_nanos()) {
        Ok(0) | Err(_) => at,
        Ok(tick) => at.div_ceil(tick).saturating_mul(tick),
    }
}
