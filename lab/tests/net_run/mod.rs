//! Runs a datagram element in virtual time.

#![allow(dead_code)] // Each test uses a part.

use wetstring_lab::net::Network;
use wetstring_lab::{Element, End};
use wetstring_proto::{Cx, Instant, Trace};

/// A datagram to offer: when (ns), where, and how long; its first eight bytes are its index.
pub(crate) type Offer = (u64, End, usize);
/// A datagram that came: when (ns), where, which, and how long.
pub(crate) type Arrival = (u64, End, usize, usize);

pub(crate) fn network(text: &str) -> Box<dyn Element> {
    text.parse::<Network>().unwrap_or_else(|bad| panic!("{text}: {bad}")).build()
}

fn datagram(index: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let name = (index as u64).to_be_bytes();
    let from = 8usize.saturating_sub(len);
    bytes[..8 - from].copy_from_slice(&name[from..]);
    bytes
}

/// Offers all at their times, again and again while refused, and gives what came out. `peek` asks
/// at times of its own, too, which must not matter.
pub(crate) fn carry(
    element: &mut dyn Element,
    offers: &[Offer],
    peek: Option<u64>,
    trace: &mut dyn Trace,
) -> Vec<Arrival> {
    let mut queues = [Vec::new(), Vec::new()];
    for (index, (at, end, len)) in offers.iter().enumerate().rev() {
        queues[end.index()].push((*at, datagram(index, *len)));
    }
    let mut came = Vec::new();
    let mut buffer = vec![0; 65_535];
    let mut now = Instant::ZERO;
    let mut peeked = 0;
    loop {
        for end in End::BOTH {
            while let Some((at, packet)) = queues[end.index()].last() {
                if *at > now.as_nanos()
                    || element.offer(&mut Cx { now, trace: &mut *trace }, end, packet) == 0
                {
                    break;
                }
                queues[end.index()].pop();
            }
        }
        for end in End::BOTH {
            loop {
                let len = element.emit(&mut Cx { now, trace: &mut *trace }, end, &mut buffer);
                if len == 0 {
                    break;
                }
                let mut name = [0; 8];
                let from = 8usize.saturating_sub(len);
                name[from..].copy_from_slice(&buffer[..8 - from]);
                came.push((now.as_nanos(), end, u64::from_be_bytes(name) as usize, len));
            }
        }
        let mut next: Option<u64> = None;
        let mut sooner = |at: Option<u64>| next = next.into_iter().chain(at).min();
        for end in End::BOTH {
            sooner(element.next(end).map(Instant::as_nanos));
            if let Some((at, _)) = queues[end.index()].last() {
                let room = element.room(end).map(Instant::as_nanos);
                sooner(if *at > now.as_nanos() { Some(*at) } else { room });
            }
        }
        let Some(mut next) = next else { return came };
        if let Some(step) = peek {
            peeked = (now.as_nanos() / step + 1) * step;
            next = next.min(peeked);
        }
        assert!(next >= now.as_nanos() || peeked == 0 || next == peeked, "time goes on");
        now = Instant(next.max(now.as_nanos()));
    }
}

/// Datagrams of one length from one end, at these times.
pub(crate) fn row(end: End, len: usize, times: impl IntoIterator<Item = u64>) -> Vec<Offer> {
    times.into_iter().map(|at| (at, end, len)).collect()
}
