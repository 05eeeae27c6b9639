//! The networks of RFC 1030 against what it says of them: cards, ring, satellite.

use crate::net_run;

use net_run::{Arrival, carry, network, row};
use wetstring_lab::End;
use wetstring_lab::net::wideband;
use wetstring_proto::NoTrace;

fn run(text: &str, offers: &[net_run::Offer]) -> Vec<Arrival> {
    carry(&mut *network(text), offers, None, &mut NoTrace)
}

fn times(came: &[Arrival]) -> Vec<u64> {
    came.iter().map(|(at, ..)| *at).collect()
}

#[test]
fn the_frame_of_the_satellite_is_derived_as_the_source_derives_it() {
    let control = wideband::STATIONS * (wideband::CONTROL_SYMBOLS.0 + wideband::CONTROL_SYMBOLS.1);
    assert_eq!((control, wideband::SIZE_LIMIT_SYMBOLS), (14_630, 16_384));
    assert_eq!(wideband::data_symbols(), 18_138);
    assert_eq!(wideband::usable_symbols(), 16_036);
    assert_eq!(wideband::frame_bits(), 24_054);
    assert_eq!(wideband::frame_bytes(), 3006);
    let raw = wideband::FRAME_SYMBOLS * wideband::SYMBOL_BITS;
    // 3.088 Mb/s; the source prints 3.081.
    assert_eq!(wideband::rate_bps(raw, wideband::FRAME), 3_088_407);
    assert_eq!(wideband::rate_bps(wideband::frame_bits(), wideband::FRAME), 1_133_553);
    // "two 1438-byte packets every 22 milliseconds, or 1.05 megabits per second"
    assert_eq!(wideband::rate_bps(2 * 1438 * 8, wideband::SAFE_FRAME), 1_045_818);
}

#[test]
fn a_ring_waits_for_the_token_and_loses_nothing() {
    // 10 hosts a microsecond apart, and a token of 10 bits: 11 us around. B had the token at 0.
    let text = "ring:10M,hosts=10,overhead=0";
    let came = run(text, &row(End::A, 1250, [0, 0]));
    // Half around for the token, a millisecond for the frame, half around for its end.
    let first = 5_500 + 1_000_000 + 5_500;
    // The frame comes round, and the token comes round, before the same station sends again.
    assert_eq!(times(&came), [first, first + 1_000_000 + 22_000]);
    // The other one has its turn between the two.
    let mut offers = row(End::A, 1250, [0, 0]);
    offers.extend(row(End::B, 1250, [0]));
    let from: Vec<End> = run(text, &offers).iter().map(|(_, end, ..)| *end).collect();
    assert_eq!(from, [End::B, End::A, End::B]);
    // All of 400 packets come, at the wire's rate less a round and a half for each.
    let came = run("ring:10M", &row(End::A, 2000, [0; 400]));
    assert_eq!(came.len(), 400);
    let rate = 400 * 2000 * 8 * 1_000_000_000 / came[399].0;
    assert!((9_400_000..10_000_000).contains(&rate), "{rate}");
    assert!(run("ring:10M", &row(End::A, 2047, [0])).is_empty(), "longer than the MTU");
}

#[test]
fn a_p1300_sends_and_receives_at_once_and_a_3c500_does_not() {
    let text = |card: &str, cable: &str| format!("nic:{card} + {cable} + nic:{card},flip");
    // A data packet of each side at the same time.
    let mut offers = row(End::A, 2034, [0]);
    offers.extend(row(End::B, 2034, [0]));
    let both = run(&text("p1300", "ring:10M"), &offers);
    assert_eq!(both.len(), 2);
    // 8 ms to send, 8 ms to receive, and a token in between.
    for (at, ..) in &both {
        assert!((16_000_000..18_000_000).contains(at), "{at}");
    }
    // B loads its card while A's packet is on its way there, and does not hear it.
    let mut offers = row(End::A, 1482, [0]);
    offers.extend(row(End::B, 1482, [3_000_000]));
    let came = run(&text("3c500", "ethernet:10M"), &offers);
    assert_eq!(came.iter().map(|(_, end, ..)| *end).collect::<Vec<_>>(), [End::A]);
    // A gateway's two packets in a row: the second finds the card full.
    let came = run("ethernet:10M + nic:3c500,flip", &row(End::A, 1482, [0, 0, 0]));
    assert_eq!(came.len(), 1);
}

#[test]
fn a_fragmented_packet_is_late_when_its_second_part_is() {
    let at = |i: u64| i * 50_000_000;
    let offers = row(End::A, 1482, (0..2000).map(at));
    let late = |text: &str| {
        let came = run(text, &offers);
        assert_eq!(came.len(), 2000, "{text}");
        let delays = came.iter().map(|(time, _, index, _)| time - at(*index as u64));
        delays.filter(|delay| *delay > 1_300_000_000).count()
    };
    assert_eq!(late("slotted:wideband"), 0);
    assert_eq!(late("slotted:wideband,fragment=1482@25%"), 0, "none is longer");
    let count = late("slotted:wideband,fragment=1476@25%");
    assert!((430..570).contains(&count), "{count}");
}

#[test]
fn headers_take_their_time_and_go_no_further() {
    // 1000 bytes and 28 of headers at a byte per millisecond.
    let came = run("udp over path:8k", &row(End::A, 1000, [0]));
    assert_eq!(came, [(1_028_000_000, End::B, 0, 1000)]);
    let came = run("ip over path:8k,mtu=1019", &row(End::A, 1000, [0]));
    assert_eq!(came, [], "they count against the MTU");
}
