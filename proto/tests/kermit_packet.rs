//! Packets, parameter strings, attributes and the state tables, against real strings.

use proptest::prelude::*;
use wetstring_proto::kermit::attributes::{
    AttributeReply, Attributes, emit, format_date, parse_date,
};
use wetstring_proto::kermit::check::Check;
use wetstring_proto::kermit::encode::Shift;
use wetstring_proto::kermit::packet::{LONG_HEADER, data_room, finish, parse};
use wetstring_proto::kermit::params::{Agreed, Params, agree, answer, doubt};
use wetstring_proto::kermit::{Config, Switch, Zone};
use wetstring_proto::{FileInfo, FileKind};

fn build(kind: u8, seq: u8, data: &[u8], check: Check) -> Vec<u8> {
    let mut buf = vec![0; data.len() + 20];
    buf[LONG_HEADER..LONG_HEADER + data.len()].copy_from_slice(data);
    let (start, end) = finish(&mut buf, data.len(), seq, kind, check, 1, false);
    // Without MARK, as logs show packets.
    buf[start + 1..end].to_vec()
}

/// Digest §24.1 and §5.4: packets seen on the wire of C-Kermit, G-Kermit, E-Kermit.
#[test]
fn packets_seen_on_the_wire() {
    type Seen = (&'static [u8], u8, u8, &'static [u8], Check);
    let seen: &[Seen] = &[
        (b"(!Fx.x)(V", b'F', 1, b"x.x", Check::Crc16),
        (b".!FVERSION.TXTL", b'F', 1, b"VERSION.TXT", Check::Sum6),
        (b"*\"D0.3.0#JO", b'D', 2, b"0.3.0#J", Check::Sum6),
        (b"##ZB", b'Z', 3, b"", Check::Sum6),
        (b"#$B+", b'B', 4, b"", Check::Sum6),
        (b"# Y>", b'Y', 0, b"", Check::Sum6),
        (b"# N3", b'N', 0, b"", Check::Sum6),
        (b"%\"N(%_", b'N', 2, b"", Check::Crc16),
        (b"%%N,QW", b'N', 5, b"", Check::Crc16),
        (b"%\"Y.5!", b'Y', 2, b"", Check::Crc16),
        (b"$\"Y\"?", b'Y', 2, b"", Check::Sum12),
        (b"$\"Y#@", b'Y', 2, b"", Check::Sum12NoBlank),
        (b"$%Y#C", b'Y', 5, b"", Check::Sum12NoBlank),
        (b"&$ZD(XT", b'Z', 4, b"D", Check::Crc16),
        (b"$$ZDI", b'Z', 4, b"D", Check::Sum6),
        (b"$$Z#C", b'Z', 4, b"", Check::Sum12NoBlank),
        (b"9 S~/ @-#Y3~^>J)0___J\"U1@C", b'S', 0, b"~/ @-#Y3~^>J)0___J\"U1@", Check::Sum6),
        (b"9 S~' @-#Y3~*!J*0+++J\"U1AP", b'S', 0, b"~' @-#Y3~*!J*0+++J\"U1A", Check::Sum6),
        (b"0 S~H @-#Y3~.?K+&", b'S', 0, b"~H @-#Y3~.?K+", Check::Sum6),
    ];
    for (wire, kind, seq, data, check) in seen {
        let label = wire.escape_ascii();
        assert_eq!(build(*kind, *seq, data, *check), *wire, "{label}");
        let packet = parse(wire, *check, false).unwrap();
        assert_eq!((packet.kind, packet.seq, packet.data), (*kind, *seq, *data), "{label}");
        for at in 0..wire.len() {
            let mut damaged = wire.to_vec();
            damaged[at] ^= 4;
            assert!(
                parse(&damaged, *check, false).ok() != Some(packet),
                "{label}: damage at {at} is seen"
            );
        }
    }
}

/// Digest §24.1: the header of a long D packet, number 3, with 236 bytes of data and check.
#[test]
fn the_long_form() {
    let wire = build(b'D', 3, &[b'x'; 233], Check::Crc16);
    assert_eq!(&wire[..6], b" #D\"NZ");
    assert_eq!(wire.len(), 6 + 236);
    let packet = parse(&wire, Check::Crc16, false).unwrap();
    assert_eq!(packet.data, [b'x'; 233]);
}

#[test]
fn rules_of_checks() {
    // S asks for type 5 and is on CRC-16 itself (C-Kermit, kermit.md §5.4).
    let wire = b"; S~/ @-#Y5~^>J)0___F\"U1A I?";
    assert_eq!(parse(wire, Check::Sum6, false).unwrap().kind, b'S');
    // An error packet may be on type 1 whatever is in force.
    let error = build(b'E', 3, b"no", Check::Sum6);
    assert_eq!(parse(&error, Check::Crc16, false).unwrap().data, b"no");
    // Other packets may not.
    let data = build(b'D', 3, b"no", Check::Sum6);
    assert!(parse(&data, Check::Crc16, false).is_err());
}

#[test]
fn room_for_data() {
    assert_eq!(data_room(94, None, Check::Crc16), 89);
    assert_eq!(data_room(94, None, Check::Sum6), 91);
    assert_eq!(data_room(94, Some(9024), Check::Crc16), 9024 - 7 - 3);
    // A long packet of 95 bytes carries less than a short one.
    assert_eq!(data_room(94, Some(95), Check::Crc16), 89);
    assert_eq!(data_room(10, None, Check::Crc16), 5);
}

const STRINGS: &[&[u8]] = &[
    b"~/ @-#Y3~^>J)0___J\"U1@",
    b"~/ @-#Y3~^>J)0___[\"U1A",
    b"~/ @-#Y3~^@~}0___^\"U1A",
    b"~/ @-#&3~>>J)0___F\"U1A",
    b"~/ @-#N3~>>J)0___F\"U1A",
    b"z/ @-#Y3~Z! z0___F\"U1@",
    b"~' @-#Y3~*!J*0+++J\"U1A",
    b"~H @-#Y3~.?K+",
    b"~!  -#N1N\" !~",
    b"~! @-#N1N\" ~~",
];

#[test]
fn real_parameter_strings() {
    let p = STRINGS.map_params();
    assert_eq!((p[0].max_short, p[0].time_s, p[0].capas, p[0].window), (94, Some(15), 62, 30));
    assert_eq!((p[0].max_long, p[0].whatami, p[0].system), (Some(3999), Some(42), *b"U1"));
    assert_eq!(p[1].whatami, Some(59));
    // WINDO 32 is more than the numbering allows.
    assert_eq!((p[2].window, p[2].max_long), (31, Some(9023)));
    assert_eq!((p[3].qbin, p[3].capas), (b'&', 30));
    assert_eq!((p[4].qbin, p[4].capas), (b'N', 30));
    assert_eq!((p[5].max_short, p[5].max_long), (90, Some(90)));
    assert_eq!((p[6].time_s, p[6].window, p[6].max_long), (Some(7), 1, Some(4000)));
    assert_eq!((p[7].window, p[7].max_long, p[7].whatami), (31, Some(4096), None));
    // U-Boot: no 8th-bit prefix, check 1, no repeat counts, long packets to 9024, no windows.
    let u = p[9];
    assert_eq!(
        (u.qbin, u.check, u.rept, u.capas, u.max_long),
        (b'N', b'1', b' ', 2, Some(8930 + 94))
    );
    assert!(p.iter().all(|p| p.own.is_none()));
}

#[test]
fn user_set_mode_is_announced() {
    use wetstring_proto::FileKind;
    use wetstring_proto::kermit::Config;
    for (manual, last) in [(false, b'@'), (true, b'A')] {
        let config = Config { manual_mode: manual, ..Config::default() };
        let mut params = config.params(FileKind::Text);
        params.own = None;
        let mut out = [0; 40];
        let len = params.emit(&mut out, 40);
        assert_eq!(out[len - 1], last);
        assert_eq!(Params::parse(&out[..len]).manual, manual);
    }
    let said: Vec<bool> = STRINGS.map_params().iter().map(|p| p.manual).collect();
    assert!(said[3] && said[4] && !said[8], "{said:?}");
}

/// A line with parity is one on which packets get lost.
#[test]
fn nothing_streams_with_parity_unless_it_was_asked_for() {
    use wetstring_proto::FileKind;
    use wetstring_proto::kermit::frame::Parity;
    use wetstring_proto::kermit::params::WMI_STREAM;
    use wetstring_proto::kermit::{Config, Switch};
    let offers = |parity, streaming| {
        let config = Config { parity, streaming, ..Config::default() };
        config.params(FileKind::Binary).whatami.is_some_and(|w| w & WMI_STREAM != 0)
    };
    for parity in [Parity::Even, Parity::Odd, Parity::Mark, Parity::Space] {
        assert!(!offers(Some(parity), Switch::Auto), "{parity:?}");
        assert!(offers(Some(parity), Switch::On), "{parity:?}");
    }
    assert!(offers(None, Switch::Auto) && offers(Some(Parity::None), Switch::Auto));
}

trait MapParams {
    fn map_params(&self) -> Vec<Params>;
}

impl MapParams for [&[u8]] {
    fn map_params(&self) -> Vec<Params> {
        self.iter().map(|s| Params::parse(s)).collect()
    }
}

#[test]
fn truncated_string_keeps_the_fields_before() {
    let mut out = [0; 40];
    let full = Config::default().params(FileKind::Binary);
    let len = full.emit(&mut out, 40);
    assert_eq!(Params::parse(&out[..len]), full);
    for cut in 0..len {
        let p = Params::parse(&out[..cut]);
        assert_eq!(p.max_short, if cut > 0 { 94 } else { 80 }, "{cut}");
        assert_eq!(p.check, if cut > 7 { b'3' } else { b'1' }, "{cut}");
        assert_eq!(p.capas, if cut > 9 { full.capas } else { 0 }, "{cut}");
        assert_eq!(p.own.is_some(), cut >= len, "{cut}");
    }
}

fn outcome(ours: &Config, theirs: &[u8]) -> Agreed {
    agree(&ours.params(FileKind::Binary), &Params::parse(theirs), true, false)
}

#[test]
fn real_strings_are_not_doubted_and_damaged_ones_are() {
    for string in STRINGS {
        assert_eq!(doubt(string), None, "{}", string.escape_ascii());
    }
    let mut out = [0; 40];
    let len = Config::default().params(FileKind::Binary).emit(&mut out, 40);
    let string = &out[..len];
    assert_eq!(doubt(string), None);
    // Damage that the 6-bit check lets through one time in 64: a byte doubled, lost or changed.
    let mut missed = 0;
    for at in 0..len {
        let mut doubled = string.to_vec();
        doubled.insert(at, string[at]);
        doubled.pop();
        let mut changed = string.to_vec();
        changed[at] ^= 1;
        for damaged in [doubled, changed].iter().filter(|damaged| *damaged != string) {
            missed += u32::from(doubt(damaged).is_none());
        }
    }
    assert!(missed <= 8, "{missed} of {} damaged strings pass", 2 * len);
}

#[test]
fn agreements_with_real_peers() {
    let mut config = Config { streaming: Switch::On, ..Config::default() };
    let ckermit = outcome(&config, STRINGS[1]);
    assert_eq!((ckermit.window, ckermit.check, ckermit.rept), (30, Check::Crc16, Some(b'~')));
    assert!(ckermit.streaming && ckermit.attributes && ckermit.resend && !ckermit.clear);
    assert_eq!(ckermit.send_long, Some(3999));
    let gkermit = outcome(&config, STRINGS[6]);
    assert!(gkermit.streaming && !gkermit.resend && gkermit.attributes);
    assert_eq!(gkermit.window, 1);
    let uboot = outcome(&config, STRINGS[9]);
    assert_eq!((uboot.check, uboot.rept, uboot.window), (Check::Sum6, None, 1));
    assert!(!uboot.streaming && !uboot.attributes);
    config.streaming = Switch::Off;
    assert!(!outcome(&config, STRINGS[1]).streaming);
    // A 7-bit peer: prefixing, and locking shifts only if both can.
    let seven = outcome(&config, STRINGS[3]);
    assert_eq!((seven.qbin, seven.shift), (Some(b'&'), Shift::Off));
}

/// Digest §7.3, row by row: proposal, answerer's parity, answer, what is in use.
#[test]
fn eighth_bit_prefixing_is_negotiated() {
    for (proposal, seven_bit, said, used) in [
        (b'Y', false, b'Y', None),
        (b'Y', true, b'&', Some(b'&')),
        (b'&', false, b'Y', Some(b'&')),
        (b'&', true, b'Y', Some(b'&')),
        (b'N', false, b'N', None),
        (b'N', true, b'N', None),
    ] {
        let mut theirs = Config::default().params(FileKind::Binary);
        theirs.qbin = proposal;
        let ours = answer(Config::default().params(FileKind::Binary), &theirs, seven_bit);
        assert_eq!(ours.qbin, said, "{} {seven_bit}", char::from(proposal));
        assert_eq!(agree(&ours, &theirs, false, false).qbin, used);
        assert_eq!(agree(&theirs, &ours, true, false).qbin, used);
    }
}

#[test]
fn our_mark_is_only_shown_to_one_of_us() {
    let ours = Config::default().params(FileKind::Binary);
    assert!(answer(ours, &Params::parse(STRINGS[0]), false).own.is_none());
    assert!(answer(ours, &ours, false).own.is_some());
}

/// Digest §11.2: lists captured from C-Kermit and G-Kermit.
#[test]
fn captured_attributes() {
    let mut list = Attributes::default();
    list.add(b".\"U1\"#AMJ*!A#120260924 12:32:47!!51$4500,#664-!3@ ");
    assert!(list.complete);
    let info = list.info(b"n", FileKind::Binary, Zone::UTC);
    assert_eq!((info.kind, info.size, info.mode), (FileKind::Text, Some(4500), Some(0o664)));
    assert_eq!(info.modified, parse_date(b"20260924 12:32:47"));
    let mut list = Attributes::default();
    list.add(b"\"\"B81$1024");
    assert_eq!(list.info(b"n", FileKind::Text, Zone::UTC).kind, FileKind::Binary);
    assert!(!list.complete && list.mode.is_none());
    // A mode of another system, digits that are none, a triplet cut short.
    let mut list = Attributes::default();
    list.add(b".\"D7,#6641#abc+!R1%12");
    assert_eq!((list.mode, list.size, list.disposition), (None, None, Some(b'R')));
}

#[test]
fn our_attributes_stand_in_ckermits_order() {
    let info = FileInfo {
        name: b"f",
        size: Some(4500),
        modified: parse_date(b"20260924 12:32:47"),
        mode: Some(0o664),
        kind: FileKind::Text,
        ..FileInfo::default()
    };
    let mut out = [0; 94];
    let len = emit(&info, *b"U1", Zone::UTC, &[], &mut out);
    let expected: &[u8] = b".\"U1\"#AMJ*!A#120260924 12:32:47!!51$4500,#664-!3@ ";
    assert_eq!(out[..len].escape_ascii().to_string(), expected.escape_ascii().to_string());
    // Too little room leaves out whole triplets.
    let mut list = Attributes::default();
    let len = emit(&info, *b"U1", Zone::UTC, &[], &mut out[..20]);
    list.add(&out[..len]);
    assert_eq!((list.kind, list.modified_local), (Some(FileKind::Text), None));
}

#[test]
fn replies_to_attributes() {
    let cases: &[(&[u8], AttributeReply)] = &[
        (b"", AttributeReply::Accept),
        (b"Y", AttributeReply::Accept),
        (b"N?", AttributeReply::Refuse(Some(b'?'))),
        (b"N", AttributeReply::Refuse(None)),
        (b"1$1200", AttributeReply::Resume(1200)),
        (b"1#372", AttributeReply::Resume(372)),
        // C-Kermit's way of saying that there is nothing here.
        (b"1\"-1", AttributeReply::Resume(0)),
        (b"1", AttributeReply::Accept),
    ];
    for (data, reply) in cases {
        assert_eq!(AttributeReply::parse(data), *reply, "{}", data.escape_ascii());
    }
}

proptest! {
    #[test]
    fn dates_come_back(seconds in -62_135_596_800i64..253_402_300_799) {
        let date = format_date(seconds).unwrap();
        prop_assert_eq!(parse_date(&date), Some(seconds));
    }

    #[test]
    fn any_parameter_string_is_read(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let theirs = Params::parse(&bytes);
        let ours = Config::default().params(FileKind::Binary);
        let said = answer(ours, &theirs, false);
        let here = agree(&said, &theirs, false, false);
        let there = agree(&theirs, &said, true, false);
        prop_assert_eq!(here.check, there.check);
        prop_assert_eq!((here.qbin, here.rept, here.window), (there.qbin, there.rept, there.window));
        prop_assert!((1..=31).contains(&here.window));
        prop_assert_eq!((here.streaming, here.clear, here.shift), (there.streaming, there.clear, there.shift));
    }

    #[test]
    fn any_attributes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut list = Attributes::default();
        list.add(&bytes);
        let _ = list.info(b"x", FileKind::Binary, Zone(|_| 3600));
        let _ = AttributeReply::parse(&bytes);
    }

    #[test]
    fn any_body_is_parsed(bytes in prop::collection::vec(any::<u8>(), 0..200), forced: bool) {
        for check in [Check::Sum6, Check::Sum12, Check::Crc16, Check::Sum12NoBlank] {
            let _ = parse(&bytes, check, forced);
        }
    }
}
