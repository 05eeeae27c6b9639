//! What starts compression where it was not configured: the probe that two ends at
//! `auto` ask, and timestamps that are taken out of SYNs.

use crate::common;
use crate::slip_packets;

use common::Dice;
use slip_packets::{Conversation, Tcp};
use wetstring_proto::slip::frame::END;
use wetstring_proto::slip::options::take_out_timestamps;
use wetstring_proto::slip::packet::flag;
use wetstring_proto::slip::{Compression, Config, Link, Rate};
use wetstring_proto::{Duration, Instant};

const NOW: Instant = Instant::ZERO;

fn link(compression: Compression) -> Link<Vec<u8>> {
    made(Config { compression, ..Config::default() })
}

fn made(config: Config) -> Link<Vec<u8>> {
    Link::new(config, config.parts(|len| vec![0xEE; len])).unwrap()
}

/// The frames that the link has for the line now, each without its ENDs.
fn frames(link: &mut Link<Vec<u8>>, now: Instant) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let lent = link.transmit(now);
        if lent.is_empty() {
            break;
        }
        all.extend_from_slice(lent);
        let len = lent.len();
        link.transmitted(now, len);
    }
    all.split(|byte| *byte == END).filter(|frame| !frame.is_empty()).map(<[u8]>::to_vec).collect()
}

/// The packets in these frames.
fn packets(link: &mut Link<Vec<u8>>, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for frame in frames {
        let bytes = [&frame[..], &[END]].concat();
        let (used, packet) = link.receive(&bytes);
        assert_eq!(used, bytes.len());
        all.extend(packet.map(|packet| packet.to_vec()));
    }
    all
}

fn ack(id: u16) -> Vec<u8> {
    Tcp { id, ack: 0x2000 + u32::from(id), ..Tcp::new() }.bytes()
}

fn data(id: u16) -> Vec<u8> {
    Tcp { id, data: vec![1; 20], ..Tcp::new() }.bytes()
}

/// Two ends at `auto` find each other at the first acknowledgement, and nothing is lost by it.
#[test]
fn two_ends_at_auto_begin_to_compress() {
    let (mut a, mut b) = (link(Compression::Auto), link(Compression::Auto));
    let syn = Tcp { flags: flag::SYN, ..Tcp::new() }.bytes();
    for packet in [&syn, &data(101)] {
        a.put(NOW, packet).unwrap();
        let frames = frames(&mut a, NOW);
        assert_eq!(frames.len(), 1, "what is no bare acknowledgement is not said again");
        assert_eq!(packets(&mut b, &frames), std::slice::from_ref(packet));
    }
    a.put(NOW, &ack(102)).unwrap();
    let asked = frames(&mut a, NOW);
    assert_eq!(asked.iter().map(|frame| frame[0]).collect::<Vec<_>>(), [0x45, 0x75]);
    assert_eq!(packets(&mut b, &asked), [ack(102), ack(102)], "a repetition, which TCP takes");
    assert!(b.is_compressing() && !a.is_compressing());
    assert_eq!((a.stats().probes, a.stats().sent), (1, 3));
    assert!(a.is_idle());
    // The peer answers with what it has to say anyway.
    b.put(NOW, &data(1)).unwrap();
    let answer = frames(&mut b, NOW);
    assert_eq!(answer[0][0], 0x75);
    assert_eq!(packets(&mut a, &answer), [data(1)]);
    assert!(a.is_compressing());
    for (id, first) in [(103, 0x75), (104, 0x80)] {
        a.put(NOW, &ack(id)).unwrap();
        let frames = frames(&mut a, NOW);
        assert_eq!((frames.len(), frames[0][0] & first), (1, first), "{id}");
        assert_eq!(packets(&mut b, &frames), [ack(id)]);
    }
}

/// Whole conversations between two such ends: every packet arrives, and what comes twice is a bare
/// acknowledgement.
#[test]
fn probing_loses_nothing() {
    for seed in 0..40 {
        let mut dice = Dice(seed);
        let mut ends = [link(Compression::Auto), link(Compression::Auto)];
        let mut conversations = [Conversation::new(seed, 5), Conversation::new(seed + 1000, 5)];
        let mut twice = [0, 0];
        for step in 0..300_u64 {
            let now = Instant(step * 100_000_000);
            let from = dice.roll(2);
            let packet = conversations[from].next().bytes();
            if packet.len() > 296 {
                continue;
            }
            ends[from].put(now, &packet).unwrap();
            let frames = frames(&mut ends[from], now);
            let came = packets(&mut ends[1 - from], &frames);
            assert!(came.iter().all(|came| *came == packet) && !came.is_empty(), "{seed} {step}");
            twice[from] += came.len() - 1;
        }
        for end in [0, 1] {
            assert_eq!(ends[end].stats().probes, twice[end] as u64);
            assert_eq!((ends[end].stats().refused, twice[end] <= 2), (0, true), "{seed}");
        }
        assert!(ends.iter().all(Link::is_compressing), "{seed}");
    }
}

/// An end that knows SLIP alone gets all that was sent, and is asked ever less often.
#[test]
fn plain_slip_loses_nothing_and_is_probed_rarely() {
    let (mut auto, mut plain) = (link(Compression::Auto), link(Compression::Off));
    let mut asked = Vec::new();
    // An acknowledgement a second, for an hour.
    for second in 0..3600_u16 {
        let now = NOW + Duration::from_secs(u64::from(second));
        auto.put(now, &ack(second)).unwrap();
        let frames = frames(&mut auto, now);
        assert_eq!(packets(&mut plain, &frames), [ack(second)]);
        if frames.len() > 1 {
            asked.push(second);
        }
    }
    assert_eq!(asked, [0, 5, 25, 105, 425, 1025, 1625, 2225, 2825, 3425]);
    assert_eq!(plain.stats().compressed_refused, asked.len() as u64);
    assert!(!auto.is_compressing());
    // Another peer may be there when the line comes back.
    auto.reopened();
    auto.put(Instant(0), &ack(1)).unwrap();
    assert_eq!(frames(&mut auto, Instant(0)).len(), 2);
}

/// Without probing: `on` compresses, `off` does not.
#[test]
fn only_auto_asks() {
    for compression in [Compression::On, Compression::Off, Compression::Differential] {
        let mut end = link(compression);
        for id in 0..10 {
            end.put(NOW, &ack(id)).unwrap();
            assert_eq!(frames(&mut end, NOW).len(), 1, "{compression:?}");
        }
        assert_eq!(end.stats().probes, 0);
    }
}

/// The question takes its turn on a line of a known rate, and is dropped if the answer came first.
#[test]
fn the_question_is_a_frame_like_others() {
    let rate = Some(Rate::serial(9600));
    let mut auto = made(Config { rate, ..Config::default() });
    auto.put(NOW, &ack(1)).unwrap();
    assert_eq!(frames(&mut auto, NOW).len(), 1, "the line has to carry the first of the two");
    assert!(!auto.is_idle());
    let next = auto.deadline().expect("the question waits");
    assert!(next > NOW);
    let mut other = auto.clone();
    let second = frames(&mut auto, next);
    assert_eq!((second.len(), second[0][0]), (1, 0x75));
    assert!(auto.is_idle() && auto.deadline().is_none());
    let mut on = link(Compression::On);
    on.put(NOW, &ack(9)).unwrap();
    packets(&mut other, &frames(&mut on, NOW));
    assert!(frames(&mut other, next).is_empty());
    assert!(other.is_idle() && other.deadline().is_none());
}

/// MSS, window scale, SACK permitted and timestamps, as Linux sends them.
const OFFER: [u8; 20] = [
    2, 4, 5, 0xB4, // MSS
    4, 2, // SACK permitted
    8, 10, 0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0, // timestamps
    1, 3, 3, 7, // window scale
];

fn syn(options: &[u8], flags: u8) -> Vec<u8> {
    Tcp { flags, options: options.to_vec(), ..Tcp::new() }.bytes()
}

#[test]
fn timestamps_are_taken_out_of_a_syn_and_nothing_else() {
    let mut wanted = OFFER;
    wanted[6..16].fill(1);
    for flags in [flag::SYN, flag::SYN | flag::ACK] {
        let mut packet = syn(&OFFER, flags);
        assert!(take_out_timestamps(&mut packet));
        // The same as if its sender had never offered them, checksum and all.
        assert_eq!(packet, syn(&wanted, flags));
        assert!(!take_out_timestamps(&mut packet), "there are none any more");
    }
    let odd = [1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 0];
    let mut packet = syn(&odd, flag::SYN);
    assert!(take_out_timestamps(&mut packet));
    assert_eq!(packet, syn(&[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0], flag::SYN));
    // A wrong checksum stays wrong by as much.
    let (mut wrong, right) = (syn(&OFFER, flag::SYN), syn(&wanted, flag::SYN));
    wrong[36] ^= 0x10;
    assert!(take_out_timestamps(&mut wrong));
    assert!(wrong != right && wrong[..36] == right[..36] && wrong[38..] == right[38..]);
}

#[test]
fn packets_without_timestamp_offer_are_unchanged() {
    let fragment =
        Tcp { flags: flag::SYN, options: OFFER.to_vec(), fragment: 0x2000, ..Tcp::new() };
    let signed = [&OFFER[..], &[29, 4, 1, 1]].concat();
    let mut udp = syn(&OFFER, flag::SYN);
    udp[9] = 17;
    let mut six = syn(&OFFER, flag::SYN);
    six[0] = 0x6A;
    for packet in [
        syn(&OFFER, flag::ACK),
        syn(&[], flag::SYN),
        syn(&[0, 8, 10, 0], flag::SYN),
        syn(&[8, 10, 0, 0], flag::SYN),
        syn(&[8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], flag::SYN),
        syn(&[8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], flag::SYN),
        syn(&[1, 1, 1, 8], flag::SYN),
        syn(&signed, flag::SYN),
        fragment.bytes(),
        udp,
        six,
        syn(&OFFER, flag::SYN)[..50].to_vec(),
    ] {
        let mut left = packet.clone();
        assert!(!take_out_timestamps(&mut left), "{packet:02x?}");
        assert_eq!(left, packet);
    }
    // Any bytes, any cut.
    let mut dice = Dice(7);
    for _ in 0..20_000 {
        let mut packet = syn(&OFFER, flag::SYN);
        for _ in 0..dice.roll(6) {
            let at = dice.roll(packet.len());
            packet[at] = dice.roll(256) as u8;
        }
        packet.truncate(dice.roll(packet.len() + 1));
        take_out_timestamps(&mut packet);
    }
}

/// One end is enough, whichever the connection begins at; off means hands off.
#[test]
fn link_removes_timestamps_both_ways_if_configured() {
    let told = |compression| Config { compression, take_out_timestamps: true, ..Config::default() };
    let mut wanted = OFFER;
    wanted[6..16].fill(1);
    let (offer, wanted) = (syn(&OFFER, flag::SYN), syn(&wanted, flag::SYN));
    for (compression, result) in
        [(Compression::On, &wanted), (Compression::Auto, &wanted), (Compression::Off, &offer)]
    {
        let taken = u64::from(result != &offer);
        let (mut out, mut into) = (made(told(compression)), link(compression));
        out.put(NOW, &offer).unwrap();
        let sent = frames(&mut out, NOW);
        assert_eq!(packets(&mut into, &sent), std::slice::from_ref(result));
        assert_eq!(out.stats().timestamps, taken);
        let (mut out, mut into) = (link(compression), made(told(compression)));
        out.put(NOW, &offer).unwrap();
        let sent = frames(&mut out, NOW);
        assert_eq!(packets(&mut into, &sent), std::slice::from_ref(result));
        assert_eq!((out.stats().timestamps, into.stats().timestamps), (0, taken));
    }
}

/// Timestamps in every packet are counted where they keep headers whole.
#[test]
fn changing_timestamps_are_counted() {
    let mut on = link(Compression::On);
    for tick in 0..10_u8 {
        let options = vec![1, 1, 8, 10, 0, 0, 0, tick, 0, 0, 0, 9];
        let packet = Tcp { id: u16::from(tick), options, ..Tcp::new() };
        on.put(NOW, &packet.bytes()).unwrap();
        frames(&mut on, NOW);
    }
    let stats = on.compressor_stats().unwrap();
    assert_eq!((stats.uncompressed, stats.timestamps_changed, stats.compressed), (10, 9, 0));
    // What is retransmitted has the same ones, and other options are no timestamps.
    for (id, options) in [(9, vec![1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 9]), (10, vec![1, 1, 5, 2])] {
        on.put(NOW, &Tcp { id, options, ..Tcp::new() }.bytes()).unwrap();
        frames(&mut on, NOW);
    }
    assert_eq!(on.compressor_stats().unwrap().timestamps_changed, 9);
}
