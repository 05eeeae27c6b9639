//! What a NETBLT receiver grants a sender that is near and faster than its own host.

use crate::netblt_exchange;

use netblt_exchange::{ACTIVE, PASSIVE, against, data_under, datagram, passive, receiver, terms};
use std::time::Duration;
use wetstring_proto::netblt::Config;
use wetstring_proto::netblt::control::{Message, messages};
use wetstring_proto::netblt::packet::{Body, Packet, Ports, Terms};
use wetstring_proto::{Reply, Request, Store};

const THERE: Ports = Ports { local: ACTIVE, foreign: PASSIVE };
/// Packets of a buffer.
const PACKETS: u16 = 20;
const PACKET: usize = 1000;
/// Then it goes silent.
const END: Duration = Duration::from_secs(2);

/// Takes what comes in any order.
struct Anywhere;

impl Store for Anywhere {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Offer { .. } => Reply::Accept { offset: 0 },
            Request::Held { from } => Reply::Held { from, to: from },
            _ => Reply::Done,
        }
    }
}

/// The most buffers that are granted and have not come, where half of one is read each 5 ms. The host keeps that
/// many bytes.
fn most_granted(room: usize) -> u32 {
    let config = Config {
        burst: 0,
        buffer_size: u32::from(PACKETS) * PACKET as u32,
        outstanding: 2000,
        room,
        ..passive()
    };
    let (mut granted, mut high, mut next, mut half, mut most) = (0, 0, 1, false, 0);
    let mut last = Duration::ZERO;
    let mut peer = |now: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| match heard
        .map(|packet| packet.body)
    {
        Some(Body::Control(bytes)) => {
            for (sequence, message) in messages(bytes) {
                high = high.max(sequence);
                if let Message::Go { buffer } = message {
                    granted = granted.max(buffer);
                }
            }
            let said = Body::NullAck { high, burst_size: PACKETS, burst_interval_ms: 5 };
            if now < END {
                most = most.max(granted + 1 - next);
                out.push(datagram(THERE, said));
            }
        }
        Some(_) => {}
        None if now.is_zero() => {
            let asked = Terms {
                buffer_size: u32::from(PACKETS) * PACKET as u32,
                burst_size: PACKETS,
                outstanding: 2000,
                ..terms(77, true, b"near")
            };
            out.push(datagram(THERE, Body::Open(asked)));
        }
        None if granted >= next && now > last && now < END => {
            last = now;
            let packets = if half { PACKETS / 2..PACKETS } else { 0..PACKETS / 2 };
            out.extend(packets.map(|packet| {
                let ldata = (packet + 1 == PACKETS, false);
                data_under(THERE, high, next, packet, ldata, &[7; PACKET])
            }));
            next += u32::from(half);
            half = !half;
        }
        None => {}
    };
    against(&mut receiver(&config), &mut Anywhere, &mut peer, Duration::from_secs(20));
    assert!(next > 100, "only {next} buffers went over");
    most
}

#[test]
fn grants_are_limited_by_host_buffers() {
    // A quarter of a second ahead, if nothing is known.
    let unknown = most_granted(0);
    assert!(unknown > 25, "{unknown}");
    // Three buffers, and one that has come in part.
    let kept = most_granted(3 * usize::from(PACKETS) * PACKET);
    assert!((3..=4).contains(&kept), "{kept}");
    // Less than two buffers would stop it all the time.
    assert_eq!(most_granted(usize::from(PACKETS) * PACKET), unknown);
}
