//! NETBLT's packets: golden vectors both ways, and what must hold for any bytes.

use proptest::prelude::*;
use wetstring_proto::netblt::Config;
use wetstring_proto::netblt::checksum::{checksum, is_sound};
use wetstring_proto::netblt::control::{
    Message, Offer, messages, put_go, put_ok, put_resend, resend_len,
};
use wetstring_proto::netblt::packet::{BadPacket, Body, Data, Packet, Ports, Terms, data_checksum};
use wetstring_proto::settings::Settings;
use wetstring_proto::{BitRate, Span};

const VECTORS: &str = include_str!("../../vectors/netblt/packets.txt");
const ACTIVE: Ports = Ports { local: 4096, foreign: 7000 };
const PASSIVE: Ports = Ports { local: 7000, foreign: 4096 };

fn vector(name: &str) -> Vec<u8> {
    let line = VECTORS.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
    let hex = line.unwrap_or_else(|| panic!("no vector {name}"));
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// The packet reads as this and is written so.
fn both_ways(name: &str, ports: Ports, body: Body<'_>) {
    let bytes = vector(name);
    let packet = Packet { ports, body };
    assert_eq!(Packet::parse(&bytes), Ok(packet), "{name} is read");
    let mut into = [0xEE; 256];
    let len = packet.put(&mut into).unwrap();
    assert_eq!(into[..len], bytes[..], "{name} is written");
    assert_eq!(packet.put(&mut into[..len - 1]), None, "{name} needs {len} bytes");
}

#[test]
fn golden_packets() {
    let open = Terms {
        id: 0xDEAD_BEEF,
        buffer_size: 14380,
        transfer_size: 40000,
        packet_size: 1438,
        burst_size: 5,
        burst_interval_ms: 30,
        death_s: 60,
        write: true,
        checksum: true,
        outstanding: 2,
        client: b"x",
    };
    both_ways("open", ACTIVE, Body::Open(open));
    let response = Terms {
        buffer_size: 7190,
        transfer_size: 0,
        packet_size: 719,
        burst_size: 3,
        burst_interval_ms: 45,
        death_s: 30,
        outstanding: 1,
        client: b"",
        ..open
    };
    both_ways("response", PASSIVE, Body::Response(response));
    let null_ack = Body::NullAck { high: 2, burst_size: 3, burst_interval_ms: 50 };
    both_ways("null-ack", ACTIVE, null_ack);
    both_ways("keepalive", ACTIVE, Body::KeepAlive);
    both_ways("quitack", ACTIVE, Body::QuitAck);
    both_ways("done", PASSIVE, Body::Done);
    both_ways("refused", PASSIVE, Body::Refused(b"no"));
    both_ways("quit", ACTIVE, Body::Quit(b"bye!"));
}

#[test]
fn golden_data() {
    let data = Data {
        buffer: 1,
        high: 1,
        packet: 0,
        last_of_buffer: false,
        last_buffer: false,
        checksum: data_checksum(&[1, 2, 3, 4]),
        bytes: &[1, 2, 3, 4],
    };
    both_ways("data", ACTIVE, Body::Data(data));
    let last = Data {
        buffer: 2,
        high: 4,
        packet: 9,
        last_of_buffer: true,
        last_buffer: true,
        checksum: data_checksum(b"abc"),
        bytes: b"abc",
    };
    both_ways("ldata", ACTIVE, Body::Data(last));
}

#[test]
fn golden_control() {
    let mut into = [0; 64];
    let len = put_go(&mut into, 1, 1).unwrap();
    both_ways("control-go", PASSIVE, Body::Control(&into[..len]));
    assert!(messages(&into[..len]).eq([(1, Message::Go { buffer: 1 })]));

    let offer = Offer { burst_size: 3, burst_interval_ms: 45, control_timer_ms: 500 };
    let mut len = put_ok(&mut into, 2, 1, offer).unwrap();
    len += put_go(&mut into[len..], 3, 2).unwrap();
    both_ways("control-ok-go", PASSIVE, Body::Control(&into[..len]));
    let ok = Message::Ok { buffer: 1, burst_size: 3, burst_interval_ms: 45, control_timer_ms: 500 };
    assert!(messages(&into[..len]).eq([(2, ok), (3, Message::Go { buffer: 2 })]));

    let (len, count) = put_resend(&mut into, 4, 2, [0, 7, 9].into_iter()).unwrap();
    assert_eq!((len, count), (resend_len(3), 3));
    both_ways("control-resend", PASSIVE, Body::Control(&into[..len]));
    let (sequence, message) = messages(&into[..len]).next().unwrap();
    let Message::Resend { buffer: 2, packets } = message else { panic!("{message:?}") };
    assert!(sequence == 4 && packets.len() == 3 && packets.iter().eq([0, 7, 9]));
}

#[test]
fn a_resend_is_cut_where_the_packet_ends() {
    let mut into = [0; 20];
    let (len, count) = put_resend(&mut into, 1, 1, 0..100).unwrap();
    assert_eq!((len, count), (20, 4));
    assert_eq!(put_resend(&mut into[..12], 1, 1, 0..100), None);
    assert_eq!(put_resend(&mut into, 1, 1, 0..0), None);
}

#[test]
fn errors_are_reported() {
    let good = vector("ldata");
    assert_eq!(Packet::parse(&good[..11]), Err(BadPacket::Short));
    assert_eq!(Packet::parse(&good[..26]), Err(BadPacket::Short));
    for at in 0..24 {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        assert!(Packet::parse(&bad).is_err(), "byte {at} of the header is covered");
    }
    // Seals a changed packet again.
    let sealed = |at: usize, byte: u8, name: &str| {
        let mut bytes = vector(name);
        bytes[at] = byte;
        bytes[..2].fill(0);
        let sum = checksum(&bytes);
        bytes[..2].copy_from_slice(&sum.to_be_bytes());
        Packet::parse(&bytes).map(|_| ()).unwrap_err()
    };
    assert_eq!(sealed(2, 2, "keepalive"), BadPacket::Version(2));
    assert_eq!(sealed(3, 12, "keepalive"), BadPacket::Type(12));
    assert_eq!(sealed(5, 8, "keepalive"), BadPacket::Length);
    assert_eq!(sealed(3, 8, "keepalive"), BadPacket::Length);
    assert_eq!(sealed(3, 2, "null-ack"), BadPacket::Length);
    assert_eq!(sealed(3, 0, "quit"), BadPacket::Length);
    assert_eq!(sealed(3, 5, "keepalive"), BadPacket::Text);
    assert_eq!(BadPacket::Version(2).to_string(), "expected version 1, got 2");
}

proptest! {
    #[test]
    fn any_bytes_are_harmless(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Packet::parse(&bytes);
        prop_assert!(messages(&bytes).count() <= bytes.len() / 8);
    }

    #[test]
    fn sealed_bytes_are_harmless(mut bytes in proptest::collection::vec(any::<u8>(), 12..200), kind in 0u8..13) {
        bytes[2] = 1;
        bytes[3] = kind;
        bytes[4] = 0;
        bytes[5] = bytes.len() as u8;
        bytes[..2].fill(0);
        let covered = if matches!(kind, 6 | 7) { 24.min(bytes.len()) } else { bytes.len() };
        let sum = checksum(&bytes[..covered]);
        bytes[..2].copy_from_slice(&sum.to_be_bytes());
        prop_assert!(is_sound(&bytes[..covered]));
        if let Ok(packet) = Packet::parse(&bytes) {
            // What was read is written as it was, but for what the standard calls padding.
            let mut into = [0; 512];
            let len = packet.put(&mut into).unwrap();
            prop_assert_eq!(Packet::parse(&into[..len]).unwrap(), packet);
        }
    }

    #[test]
    fn the_checksum_is_that_of_words(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let mut sum: u32 = 0;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        prop_assert_eq!(checksum(&bytes), !(sum as u16));
    }
}

#[test]
fn settings_are_read_as_they_are_shown() {
    let mut config = Config::default();
    for setting in Config::TABLE {
        let mut shown = String::new();
        config.show(setting.name, &mut shown).unwrap();
        assert_eq!(shown, setting.default, "{}", setting.name);
        config.set(setting.name, &shown).unwrap();
    }
    assert_eq!(config, Config::default());
    // In any order.
    config.set("netblt.interval", "55").unwrap();
    config.set("netblt.max-rate", "1000000").unwrap();
    config.set("netblt.burst", "5").unwrap();
    let fixed = (5, Span::from_millis(55), BitRate::from_bps(1_000_000));
    assert_eq!((config.burst, config.interval, config.max_rate), fixed);
    assert!(config.set("netblt.datagram", "20").is_err());
    assert!(config.set("netblt.digest", "perhaps").is_err());
    assert!(config.set("netblt.nothing", "1").is_err());
}
