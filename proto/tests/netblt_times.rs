//! The receiver's timers (RFC 998 5.2): how they back off while nothing new comes, and what they learn from.

use crate::common;
use crate::netblt_exchange;

use common::Sink;
use netblt_exchange::{ACTIVE, PASSIVE, against, data, datagram, passive, receiver, terms};
use std::time::Duration;
use wetstring_proto::netblt::Config;
use wetstring_proto::netblt::control::{Message, messages};
use wetstring_proto::netblt::packet::{Body, Packet, Ports};
use wetstring_proto::{Cx, Engine, Instant, Span, Store};
use wetstring_testkit::Edges;

/// Ports of the peer, which opens.
const OPENS: Ports = Ports { local: ACTIVE, foreign: PASSIVE };

fn patient(automatic: bool) -> Config {
    let burst = if automatic { 0 } else { passive().burst };
    Config { death: Span::from_secs(60), burst, ..passive() }
}

/// A peer that opens, sends one packet of the first buffer and no more; it acknowledges all that is said, or
/// nothing. How many CONTROL packets and RESEND messages it heard in the first four seconds, and in all.
fn starved(automatic: bool, acknowledges: bool) -> [(u32, u32); 2] {
    let mut engine = receiver(&patient(automatic));
    let mut heard_early = (0, 0);
    let mut heard_all = (0, 0);
    let mut high = 0;
    let mut peer = |now: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| {
        if now.is_zero() && heard.is_none() {
            out.push(datagram(OPENS, Body::Open(terms(9, true, b"a name"))));
        }
        let Some(Packet { body: Body::Control(list), .. }) = heard else { return };
        let (mut resends, first) = (0, high == 0);
        let mut granted = None;
        for (sequence, message) in messages(list) {
            high = high.max(sequence);
            if let Message::Go { buffer } = message {
                granted.get_or_insert(buffer);
            }
            resends += u32::from(matches!(message, Message::Resend { .. }));
        }
        for count in [&mut heard_all, &mut heard_early] {
            *count = (count.0 + 1, count.1 + resends);
        }
        if now > Duration::from_secs(4) {
            heard_early = (heard_early.0 - 1, heard_early.1 - resends);
        }
        if let (Some(buffer), true) = (granted, first) {
            out.push(data(OPENS, buffer, 0, (false, false), &[7; 1000]));
        }
        if acknowledges {
            let (burst_size, burst_interval_ms) = (5, 10);
            out.push(datagram(OPENS, Body::NullAck { high, burst_size, burst_interval_ms }));
        }
    };
    against(&mut engine, &mut Sink::new(), &mut peer, Duration::from_secs(400));
    [heard_early, heard_all]
}

#[test]
fn missing_packets_are_requested_at_growing_intervals() {
    for automatic in [false, true] {
        // A peer who hears and is not ready.
        let [early, all] = starved(automatic, true);
        assert!(all.1 < 1200, "{automatic}: {early:?} {all:?}");
        // A peer who is gone: a minute until the death timer is over.
        let [early, all] = starved(automatic, false);
        assert!(early.0 < 70 && all.0 < 110, "{automatic}: {early:?} {all:?}");
    }
}

/// A port may withhold a packet. Its round trip begins when it leaves.
#[test]
fn late_packet_does_not_lengthen_rtt() {
    let at = |ms: u64| Instant(ms * 1_000_000);
    let mut engine = receiver(&patient(true));
    let mut sink = Sink::new();
    let mut turn = |ms: u64, came: Option<Vec<u8>>, leave: usize| {
        let cx = &mut Cx { now: at(ms), trace: &mut Edges::new() };
        engine.tick(cx);
        if let Some(bytes) = came {
            engine.receive(cx, &bytes);
        }
        while let Some(request) = engine.request() {
            let reply = sink.answer(request);
            engine.reply(cx, reply);
        }
        let mut lent = Vec::new();
        while lent.len() < leave {
            let packet = engine.transmit(cx);
            if packet.is_empty() {
                break;
            }
            let len = packet.len();
            lent.push(packet.to_vec());
            engine.transmitted(cx, len);
        }
        // It lends another, which is not taken.
        engine.transmit(cx);
        (lent, engine.measured())
    };
    let open = datagram(OPENS, Body::Open(terms(9, true, b"a name")));
    let (response, _) = turn(0, Some(open), 1);
    assert!(!response.is_empty());
    for ms in (0..800).step_by(5) {
        turn(ms, None, 0);
    }
    let (control, _) = turn(800, None, 1);
    let high = control.iter().find_map(|bytes| match Packet::parse(bytes).ok()?.body {
        Body::Control(list) => messages(list).map(|(sequence, _)| sequence).last(),
        _ => None,
    });
    let high = high.expect("a GO");
    let body = Body::NullAck { high, burst_size: 5, burst_interval_ms: 10 };
    let (_, measured) = turn(805, Some(datagram(OPENS, body)), 1);
    let rtt = measured.round_trip.expect("a round trip");
    assert!(rtt < Duration::from_millis(20), "{measured:?}");
}
