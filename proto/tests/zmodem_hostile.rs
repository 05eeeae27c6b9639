//! Any bytes at any moment: no panic, no endless loop, no false success.

use crate::common;
use crate::zmodem_exchange;

use common::{Dice, File, Pair, Sink, Source, failed};
use wetstring_proto::zmodem::escape::{Escaper, Escaping};
use wetstring_proto::zmodem::packet::{Form, end, kind, put_subpacket, subpacket_room};
use wetstring_proto::{Blame, Cx, Duration, Engine, FailureKind, Instant, Outcome, Status, Store};
use wetstring_testkit::Edges;
use zmodem_exchange::{
    Exchange, config, data, failure, file, flags, header, receiver, script, sender, turn_against,
};

/// Frames with the looks of a session: right and wrong positions, sometimes damaged.
fn frames(dice: &mut Dice, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..count {
        let form = [Form::Hex, Form::Bin16, Form::Bin32, Form::Rle][dice.roll(4)];
        let number = [0, 1, 3000, 1 << 20, u32::MAX, dice.roll(4000) as u32][dice.roll(6)];
        let mut frame = header(form, dice.roll(22) as u8, number);
        if dice.roll(2) == 0 {
            let longest = if dice.roll(8) == 0 { 3000 } else { 60 };
            let len = dice.roll(longest);
            let body: Vec<u8> = (0..len).map(|_| dice.roll(256) as u8).collect();
            frame.extend(data(form, &body, b'h' + dice.roll(4) as u8));
        }
        if dice.roll(4) == 0 {
            let at = dice.roll(frame.len());
            frame[at] = dice.roll(256) as u8;
        }
        bytes.extend_from_slice(&frame);
    }
    bytes
}

#[test]
fn random_bytes_and_random_frames_end_without_false_success() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let set = config(&[
            ("patience", "3"),
            ("timeout", "1"),
            ("retries", "5"),
            ("rle", ["on", "off"][dice.roll(2)]),
            ("window", ["0", "700"][dice.roll(2)]),
        ]);
        let bytes = vec![b'x'; 3000];
        let mut source = Source::new(vec![File::new("f", &bytes)]);
        let mut sink = Sink::new();
        let mut s = sender(&set);
        let mut r = receiver(&set);
        let well_formed = seed % 3 > 0;
        let noise = |dice: &mut Dice| {
            if well_formed {
                frames(dice, 2)
            } else {
                (0..dice.roll(300)).map(|_| dice.roll(256) as u8).collect()
            }
        };
        let mut other = dice.clone();
        turn_against(&mut s, &mut source, |at| {
            if at < Duration::from_secs(20) { noise(&mut dice) } else { Vec::new() }
        });
        turn_against(&mut r, &mut sink, |at| {
            if at < Duration::from_secs(20) { noise(&mut other) } else { Vec::new() }
        });
    }
}

/// A good session in which bytes are changed, lost and doubled. CRC-32 guards the data, so success
/// must be the truth.
#[test]
fn a_meddled_session_never_lies() {
    let mut finished = 0;
    for seed in 0..400 {
        let mut dice = Dice(seed + 1000);
        let set = config(&[
            ("window", ["0", "0", "2000"][dice.roll(3)]),
            ("send-length", ["0", "100", "1024"][dice.roll(3)]),
            ("receive-buffer", ["0", "0", "700"][dice.roll(3)]),
            ("timeout", "3"),
        ]);
        let bytes: Vec<u8> = (0..6000).map(|_| dice.roll(256) as u8).collect();
        let mut source = Source::new(vec![File::new("f", &bytes), File::new("g", &bytes[..10])]);
        let mut sink = Sink::new();
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let one_in = 200 + dice.roll(20_000);
        let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
        pair.chunk = 300;
        pair.meddle = Box::new(move |_, wire| {
            let mut out = Vec::new();
            for byte in wire.iter() {
                match dice.roll(one_in) {
                    0 => out.push(dice.roll(256) as u8),
                    1 => {}
                    2 => out.extend([*byte, *byte]),
                    3 => {
                        out.push(*byte);
                        out.extend(header(Form::Hex, dice.roll(20) as u8 % 15, 0));
                    }
                    _ => out.push(*byte),
                }
            }
            *wire = out;
        });
        let ends = pair.run();
        for file in &sink.files {
            let want: &[u8] = if file.name == b"f" { &bytes } else { &bytes[..10] };
            assert!(!file.complete || file.bytes == want, "seed {seed}: a complete file is whole");
        }
        finished += u32::from(ends.sender == Outcome::Done && ends.receiver == Outcome::Done);
    }
    assert!(finished > 200, "{finished} of 400 transfers came through");
}

#[test]
fn a_silent_peer_ends_within_the_set_time() {
    let set = config(&[("patience", "8"), ("timeout", "2")]);
    let silence = (Blame::Peer, FailureKind::Silence);
    let mut s = sender(&set);
    let mut source = Source::new(vec![File::new("f", b"x")]);
    let exchange = turn_against(&mut s, &mut source, |_| Vec::new());
    assert_eq!(failure(&s), silence);
    assert!(exchange.took < Duration::from_secs(12), "{:?}", exchange.took);
    // Omen's receivers stop at the fifth.
    assert!(exchange.count(kind::ZRQINIT) <= 4);
    let mut r = receiver(&set);
    let exchange = turn_against(&mut r, &mut Sink::new(), |_| Vec::new());
    assert_eq!(failure(&r), silence);
    assert!(exchange.took < Duration::from_secs(12), "{:?}", exchange.took);
    // In the middle of a file.
    let mut r = receiver(&set);
    let begin = [
        file(b"f\x009999 0 0\0"),
        header(Form::Bin32, kind::ZDATA, 0),
        data(Form::Bin32, b"some", end::ZCRCG),
    ];
    let mut sink = Sink::new();
    turn_against(&mut r, &mut sink, script(vec![begin.concat()]));
    assert_eq!(failure(&r), silence);
    assert!(!sink.files[0].complete && sink.files[0].bytes == b"some", "the part is kept");
}

#[test]
fn an_xmodem_receiver_is_named() {
    let mut s = sender(&config(&[("patience", "15"), ("timeout", "3")]));
    let mut source = Source::new(vec![File::new("f", b"x")]);
    turn_against(
        &mut s,
        &mut source,
        |at| if at.as_millis() % 3000 == 0 { vec![b'C'] } else { vec![] },
    );
    assert_eq!(failure(&s), (Blame::Peer, FailureKind::WrongPeer));
}

#[test]
fn an_echoing_line_is_no_peer() {
    let set = config(&[("patience", "20"), ("timeout", "2")]);
    common::assert_no_peer(&mut sender(&set), Duration::from_secs(100));
    common::assert_no_peer(&mut receiver(&set), Duration::from_secs(100));
}

#[test]
fn a_cancel_ends_either_end_at_any_moment() {
    let can = vec![0x18; 5];
    let begin = vec![header(Form::Hex, kind::ZRINIT, 0x2300_0000)];
    let position = header(Form::Hex, kind::ZRPOS, 0);
    for parts in [
        vec![can.clone()],
        [begin.clone(), vec![can.clone()]].concat(),
        [begin, vec![position, can.clone()]].concat(),
    ] {
        let mut s = sender(&config(&[]));
        let mut source = Source::new(vec![File::new("f", &[b'x'; 9000])]);
        let exchange = turn_against(&mut s, &mut source, script(parts));
        assert_eq!(failure(&s), (Blame::Peer, FailureKind::PeerError));
        assert!(exchange.took < Duration::from_secs(1));
        assert!(exchange.events.iter().any(|event| event.starts_with("Message")));
    }
    let data = [header(Form::Bin32, kind::ZDATA, 0), b"half a sub".to_vec()].concat();
    for parts in [
        vec![can.clone()],
        vec![file(b"f\x009 0 0\0"), can.clone()],
        vec![file(b"f\x009 0 0\0"), data, can],
    ] {
        let mut r = receiver(&config(&[]));
        let exchange = turn_against(&mut r, &mut Sink::new(), script(parts));
        assert_eq!(failure(&r), (Blame::Peer, FailureKind::PeerError));
        assert!(exchange.took < Duration::from_secs(1));
    }
}

#[test]
fn abort_and_error_headers_end_the_sender() {
    for kind in [kind::ZABORT, kind::ZFERR] {
        let mut s = sender(&config(&[]));
        let mut source = Source::new(vec![File::new("f", &[b'x'; 9000])]);
        let parts = vec![header(Form::Hex, kind::ZRINIT, 0x2300_0000), header(Form::Hex, kind, 0)];
        let exchange = turn_against(&mut s, &mut source, script(parts));
        assert_eq!(failure(&s), (Blame::Peer, FailureKind::PeerError));
        assert_eq!(exchange.headers().last().unwrap().0, kind::ZFIN, "ZFIN answers it");
        assert_eq!(source.closed, [(false, false)]);
    }
}

#[test]
fn position_beyond_the_file_is_ignored() {
    let mut s = sender(&config(&[("retries", "4")]));
    let mut source = Source::new(vec![File::new("f", b"hello")]);
    let begin = header(Form::Hex, kind::ZRINIT, 0x2300_0000);
    let beyond = header(Form::Hex, kind::ZRPOS, 6);
    let parts = [vec![begin.clone()], vec![beyond; 9]].concat();
    let exchange = turn_against(&mut s, &mut source, script(parts));
    assert_eq!(failure(&s), (Blame::Peer, FailureKind::Violation));
    assert_eq!(exchange.count(kind::ZDATA), 0);
    // In the middle of the data, where one may be an error of the line.
    let mut s = sender(&config(&[]));
    let mut source = Source::new(vec![File::new("f", b"hello")]);
    let parts = vec![
        begin.clone(),
        header(Form::Hex, kind::ZRPOS, 0),
        header(Form::Hex, kind::ZRPOS, 1000),
        begin,
        header(Form::Hex, kind::ZFIN, 0),
    ];
    turn_against(&mut s, &mut source, script(parts));
    assert_eq!(s.status().outcome(), Some(Outcome::Done));
}

#[test]
fn end_of_file_at_wrong_position_is_ignored() {
    for wrong in [0, 3, 5, u32::MAX] {
        let mut r = receiver(&config(&[("patience", "5"), ("retries", "3")]));
        let mut sink = Sink::new();
        let parts = vec![
            file(b"f\x009 0 0\0"),
            header(Form::Bin32, kind::ZDATA, 0),
            data(Form::Bin32, b"some", end::ZCRCE),
            header(Form::Bin32, kind::ZEOF, wrong),
            header(Form::Hex, kind::ZFIN, 0),
        ];
        let exchange = turn_against(&mut r, &mut sink, script(parts));
        assert_eq!(failure(&r), (Blame::Peer, FailureKind::PeerError));
        assert!(!sink.files[0].complete && sink.files[0].bytes == b"some");
        let asks = exchange.headers().iter().filter(|h| **h == (kind::ZRPOS, 4)).count();
        assert_eq!(asks, usize::from(wrong > 4), "what is missing is asked for");
    }
    // A damaged one is asked for again, and a stray 0x04 is only a byte.
    let mut r = receiver(&config(&[]));
    let mut sink = Sink::new();
    let mut damaged = header(Form::Bin32, kind::ZEOF, 5);
    damaged[5] ^= 1;
    let parts = vec![
        file(b"f\x005 0 0\0"),
        header(Form::Bin32, kind::ZDATA, 0),
        data(Form::Bin32, b"so\x04me", end::ZCRCE),
        vec![4, 4],
        damaged,
        [header(Form::Bin32, kind::ZDATA, 5), data(Form::Bin32, b"", end::ZCRCE)].concat(),
        header(Form::Bin32, kind::ZEOF, 5),
        header(Form::Hex, kind::ZFIN, 0),
        b"OO".to_vec(),
    ];
    turn_against(&mut r, &mut sink, script(parts));
    assert_eq!(r.status().outcome(), Some(Outcome::Done));
    assert!(sink.files[0].complete && sink.files[0].bytes == b"so\x04me");
}

/// What a receiver makes of a file that is said to be of 9 bytes, in the subpackets that come; each has its
/// ZEOF, as often as it is asked for.
fn of_nine_bytes(kind_of_file: u8, subpackets: &[&[u8]]) -> (Option<Outcome>, bool, Exchange) {
    let mut r = receiver(&config(&[]));
    let mut sink = Sink::new();
    let length: usize = subpackets.iter().map(|part| part.len()).sum();
    let info = [flags(Form::Bin32, kind::ZFILE, [0, 0, 0, kind_of_file]), {
        data(Form::Bin32, b"f\x009 0 0\0", end::ZCRCW)
    }];
    let mut parts = vec![info.concat(), header(Form::Bin32, kind::ZDATA, 0)];
    for part in subpackets {
        parts.push(data(Form::Bin32, part, end::ZCRCG));
    }
    let eof = || header(Form::Bin32, kind::ZEOF, length as u32);
    parts.push([data(Form::Bin32, b"", end::ZCRCE), eof()].concat());
    parts.push(
        [
            header(Form::Bin32, kind::ZDATA, length as u32),
            data(Form::Bin32, b"", end::ZCRCE),
            eof(),
        ]
        .concat(),
    );
    parts.extend([header(Form::Hex, kind::ZFIN, 0), b"OO".to_vec()]);
    let exchange = turn_against(&mut r, &mut sink, script(parts));
    (r.status().outcome(), sink.files[0].complete, exchange)
}

/// A ZEOF short of the announced length is asked about once. When it is retransmitted the file is not whole,
/// and the sender is told so.
#[test]
fn file_shorter_than_announced_is_incomplete() {
    let (outcome, complete, exchange) = of_nine_bytes(1, &[b"some"]);
    assert_eq!(outcome, Some(failed(Blame::Peer, FailureKind::LengthDiffers)));
    assert!(!complete);
    assert!(exchange.headers().contains(&(kind::ZRPOS, 4)), "{:?}", exchange.headers());
    assert!(exchange.sent.windows(5).any(|five| five == [0x18; 5]), "the sender is told");
}

/// One that is longer is given up where it becomes so.
#[test]
fn file_longer_than_announced_is_incomplete() {
    for parts in [&[&b"nine bytes"[..]][..], &[b"nine byte", b"s"], &[b"", &[7; 1000], &[7; 1000]]]
    {
        let (outcome, complete, exchange) = of_nine_bytes(1, parts);
        assert_eq!(outcome, Some(failed(Blame::Peer, FailureKind::LengthDiffers)), "{parts:?}");
        assert!(!complete);
        assert!(exchange.sent.windows(5).any(|five| five == [0x18; 5]), "the sender is told");
    }
    let (outcome, complete, _) = of_nine_bytes(1, &[b"nine ", b"byte"]);
    assert_eq!((outcome, complete), (Some(Outcome::Done), true));
}

/// A sender may convert the line ends of text while it sends.
#[test]
fn the_length_of_text_is_not_compared() {
    for parts in [&[&b"a\r\n"[..]][..], &[b"nine bytes\r\n"]] {
        let (outcome, complete, _) = of_nine_bytes(2, parts);
        assert_eq!((outcome, complete), (Some(Outcome::Done), true), "{parts:?}");
    }
}

/// It is refused at once, and the next one is taken.
#[test]
fn a_file_without_a_name() {
    let mut r = receiver(&config(&[]));
    let mut sink = Sink::new();
    let parts = vec![
        file(b"\x004 0 0\0"),
        file(b"f\x004 0 0\0"),
        header(Form::Bin32, kind::ZDATA, 0),
        data(Form::Bin32, b"some", end::ZCRCE),
        header(Form::Bin32, kind::ZEOF, 4),
        header(Form::Hex, kind::ZFIN, 0),
        b"OO".to_vec(),
    ];
    let exchange = turn_against(&mut r, &mut sink, script(parts));
    assert_eq!(r.status().outcome(), Some(Outcome::Done));
    assert_eq!(exchange.count(kind::ZSKIP), 1);
    assert!(
        exchange.events.iter().any(|event| event.contains("Refused") && event.contains("Name"))
    );
    assert!(sink.files.len() == 1 && sink.files[0].complete);
    assert!(exchange.took < Duration::from_secs(3), "{:?}", exchange.took);
}

/// A sender of Omen's line that gives up a file says ZSKIP; one of another kind sends the next
/// ZFILE, and is asked to retransmit it.
#[test]
fn sender_abandoning_a_file_continues_with_the_next() {
    for by_skip in [true, false] {
        let mut r = receiver(&config(&[]));
        let mut sink = Sink::new();
        let begun = [
            file(b"a\x009 0 0\0"),
            header(Form::Bin32, kind::ZDATA, 0),
            data(Form::Bin32, b"some", end::ZCRCE),
        ];
        let left = if by_skip { header(Form::Hex, kind::ZSKIP, 0) } else { file(b"b\x004 0 0\0") };
        let next = [
            file(b"b\x004 0 0\0"),
            header(Form::Bin32, kind::ZDATA, 0),
            data(Form::Bin32, b"next", end::ZCRCE),
            header(Form::Bin32, kind::ZEOF, 4),
            header(Form::Hex, kind::ZFIN, 0),
            b"OO".to_vec(),
        ];
        let parts = [&begun[..], &[left], &next].concat();
        let exchange = turn_against(&mut r, &mut sink, script(parts));
        assert_eq!(r.status().outcome(), Some(Outcome::Done), "{by_skip}");
        assert!(!sink.files[0].complete && sink.files[0].bytes == b"some");
        assert!(sink.files[1].complete && sink.files[1].bytes == b"next");
        assert_eq!(exchange.count(kind::ZSKIP), 0, "it would skip the next file");
        let cancelled = "FileCancelled { by_peer: true }";
        assert_eq!(exchange.events.iter().filter(|event| *event == cancelled).count(), 1);
        assert_eq!(r.stats().files_skipped, 1);
    }
}

#[test]
fn a_subpacket_that_never_ends() {
    let mut r = receiver(&config(&[("retries", "5"), ("patience", "20")]));
    let mut sink = Sink::new();
    let begin = [file(b"f\x009 0 0\0"), header(Form::Bin32, kind::ZDATA, 0)].concat();
    let mut first = Some(begin);
    // Each answer is followed by the same again.
    let exchange = turn_against(&mut r, &mut sink, |at| {
        let more = [header(Form::Bin32, kind::ZDATA, 0), vec![b'x'; 9000]].concat();
        first
            .take()
            .unwrap_or_else(|| if at.as_millis() % 500 == 0 { more } else { vec![b'x'; 500] })
    });
    assert_eq!(failure(&r).1, FailureKind::TooManyRetries);
    assert!(exchange.took < Duration::from_secs(20), "{:?}", exchange.took);
    assert!(sink.files[0].bytes.is_empty());
    assert!(exchange.sent.ends_with(b"\x18\x18\x18\x08\x08\x08\x08\x08\x08\x08\x08\x08\x08"));
}

#[test]
pub(crate) fn a_file_name_of_60_kilobytes() {
    // Longer than a subpacket may be.
    let mut r = receiver(&config(&[]));
    let mut sink = Sink::new();
    let mut long = vec![b'n'; 60_000];
    long.extend_from_slice(b"\x005 0 0\0");
    let mut out = vec![0; subpacket_room(long.len())];
    let mut escaper = Escaper::new(Escaping::Normal);
    let (_, len) = put_subpacket(&mut escaper, Form::Bin32, &long, end::ZCRCW, &mut out);
    let wire = [header(Form::Bin32, kind::ZFILE, 0), out[..len].to_vec()].concat();
    turn_against(&mut r, &mut sink, script(vec![wire]));
    assert_eq!(failure(&r), (Blame::Peer, FailureKind::Violation));
    // As long as a subpacket may be: refused, and the next file is welcome.
    let mut r = receiver(&config(&[]));
    let name = [vec![b'n'; 8000], b"\x005 0 0\0".to_vec()].concat();
    let parts = vec![
        file(&name),
        file(b"g\x000 0 0\0"),
        [header(Form::Bin32, kind::ZDATA, 0), data(Form::Bin32, b"", end::ZCRCE)].concat(),
        header(Form::Bin32, kind::ZEOF, 0),
        header(Form::Hex, kind::ZFIN, 0),
        b"OO".to_vec(),
    ];
    let exchange = turn_against(&mut r, &mut sink, script(parts));
    assert_eq!(r.status().outcome(), Some(Outcome::Done));
    assert_eq!(exchange.count(kind::ZSKIP), 1);
    assert!(
        exchange.events.iter().any(|event| event.contains("why: Some(Name)")),
        "{:?}",
        exchange.events
    );
    assert!(sink.files.len() == 1 && sink.files[0].complete);
    // A sender that is given such a name does not send it.
    let mut s = sender(&config(&[]));
    let mut source = Source::new(vec![File { name: vec![b'n'; 60_000], ..File::default() }]);
    let parts =
        vec![header(Form::Hex, kind::ZRINIT, 0x2300_0000), header(Form::Hex, kind::ZFIN, 0)];
    let exchange = turn_against(&mut s, &mut source, script(parts));
    assert_eq!(s.status().outcome(), Some(Outcome::Done));
    assert_eq!(exchange.count(kind::ZFILE), 0);
}

#[test]
fn an_announced_size_of_10_gigabytes() {
    let mut r = receiver(&config(&[]));
    let mut sink = Sink::new();
    let parts =
        vec![file(b"big\x0010737418240 0 0\0"), header(Form::Hex, kind::ZFIN, 0), b"OO".to_vec()];
    let exchange = turn_against(&mut r, &mut sink, script(parts));
    assert_eq!(r.status().outcome(), Some(Outcome::Done));
    assert!(exchange.events.iter().any(|event| event.contains("why: Some(TooLong)")));
    assert!(sink.files.is_empty(), "the store is not even asked");
}

#[test]
fn a_million_files() {
    // Announced: only an estimate.
    let mut r = receiver(&config(&[]));
    let parts = vec![
        file(b"f\x000 0 0 0 1000000 99999999999999\0"),
        [header(Form::Bin32, kind::ZDATA, 0), data(Form::Bin32, b"", end::ZCRCE)].concat(),
        header(Form::Bin32, kind::ZEOF, 0),
        header(Form::Hex, kind::ZFIN, 0),
        b"OO".to_vec(),
    ];
    turn_against(&mut r, &mut Sink::new(), script(parts));
    assert_eq!(r.status().outcome(), Some(Outcome::Done));
    // Sent: there is a bound.
    let mut r = receiver(&config(&[("max-files", "50")]));
    let mut sink = Sink { refuse: Some(wetstring_proto::Refusal::Exists), ..Sink::new() };
    let mut number = 0;
    turn_against(&mut r, &mut sink, |_| {
        number += 1;
        file(format!("f{number}\x000 0 0\0").as_bytes())
    });
    assert_eq!(failure(&r), (Blame::Peer, FailureKind::Violation));
    assert_eq!(r.stats().files_skipped, 50);
}

/// The sender asks to be interrupted with its own words; only harmless ones are said, and pauses
/// are bounded.
#[test]
fn attention_is_bounded() {
    let mut r = receiver(&config(&[]));
    let attention = b"\x03stop\r\n\x1b[2J\xde\xde\xde\xde\xde\xde\xde\xdd\0";
    let parts = vec![
        [header(Form::Bin32, kind::ZSINIT, 0), data(Form::Bin32, attention, end::ZCRCW)].concat(),
        file(b"f\x009 0 0\0"),
        [header(Form::Bin32, kind::ZDATA, 0), b"bad\x18\x01".to_vec()].concat(),
    ];
    let mut parts = parts.into_iter();
    let mut can = false;
    let exchange = turn_against(&mut r, &mut Sink::new(), |at| {
        if at > Duration::from_secs(8) && !can {
            can = true;
            return vec![0x18; 5];
        }
        parts.next().unwrap_or_default()
    });
    let at = exchange.sent.windows(5).position(|five| five == b"\x03stop").unwrap();
    let after = &exchange.sent[at + 5..];
    assert!(after.starts_with(b"[2J**\x18B09"), "{:?}", after.escape_ascii().to_string());
    assert!(!exchange.sent[at..].contains(&0x1B));
    assert!(exchange.headers().contains(&(kind::ZACK, 1)));
}

/// The prompt that follows the end is left alone, with and without the last packet.
#[test]
fn bytes_after_the_end_are_not_consumed() {
    for (last, left) in [
        (&b"OO$ "[..], &b"$ "[..]),
        (b"$ OO", b"$ OO"),
        (b"O$ ", b"O$ "),
        (b"**\x18B00000000000000\r\x8a\x11", b"**\x18B00000000000000\r\x8a\x11"),
        (b"**bold**", b"**bold**"),
        (b"**\x18B0800000000022d\r\x8aOO\r\n$ ", b"\r\n$ "),
    ] {
        for chunk in [1, 2, 100] {
            let mut r = receiver(&config(&[]));
            let mut now = Instant(1);
            let mut feed = header(Form::Hex, kind::ZFIN, 0);
            feed.extend_from_slice(last);
            let (mut given, mut at) = (0, 0);
            while at < feed.len() {
                let cx = &mut Cx { now, trace: &mut Edges::new() };
                given = (given + chunk).min(feed.len());
                at += r.receive(cx, &feed[at..given]);
                let len = r.transmit(cx).len();
                r.transmitted(cx, len);
                if matches!(r.status(), Status::Over(_)) {
                    break;
                }
                now = now + Duration::from_millis(1);
            }
            assert_eq!(r.status(), Status::Over(Outcome::Done), "{last:?}");
            assert_eq!(&feed[at..], left, "{last:?} by {chunk}");
            let cx = &mut Cx { now, trace: &mut Edges::new() };
            assert_eq!(r.receive(cx, b"$ "), 0);
        }
    }
    // The sender's side: the line end of ZFIN is its own, the prompt is not.
    for chunk in [1, 3, 100] {
        let mut s = sender(&config(&[]));
        let mut source = Source::new(vec![]);
        let mut now = Instant(1);
        let mut begin = header(Form::Hex, kind::ZRINIT, 0x2300_0000);
        let feed = [header(Form::Hex, kind::ZFIN, 0), b"$ ".to_vec()].concat();
        let mut at = 0;
        for _ in 0..1000 {
            let cx = &mut Cx { now, trace: &mut Edges::new() };
            if begin.is_empty() {
                at += s.receive(cx, &feed[at..(at + chunk).min(feed.len())]);
            } else {
                let used = s.receive(cx, &begin);
                begin.drain(..used);
            }
            while let Some(request) = s.request() {
                let reply = source.answer(request);
                s.reply(cx, reply);
            }
            let len = s.transmit(cx).len();
            s.transmitted(cx, len);
            s.tick(cx);
            now = now + Duration::from_millis(5);
        }
        assert_eq!(s.status(), Status::Over(Outcome::Done));
        assert_eq!(&feed[at..], b"$ ", "by {chunk}");
    }
}

#[test]
fn a_sender_that_leaves_silently_does_not_block_the_receiver() {
    let mut r = receiver(&config(&[]));
    let exchange =
        turn_against(&mut r, &mut Sink::new(), script(vec![header(Form::Hex, kind::ZFIN, 0)]));
    assert_eq!(r.status(), Status::Over(Outcome::Done));
    assert!(exchange.took <= Duration::from_millis(1200), "{:?}", exchange.took);
    // And a receiver that never answers ZFIN: every file is closed there.
    let mut s = sender(&config(&[("timeout", "2")]));
    let begin = header(Form::Hex, kind::ZRINIT, 0x2300_0000);
    let exchange = turn_against(&mut s, &mut Source::new(vec![]), script(vec![begin]));
    assert_eq!(s.status(), Status::Over(Outcome::Done));
    assert_eq!(exchange.count(kind::ZFIN), 3);
    assert!(exchange.took <= Duration::from_secs(8), "{:?}", exchange.took);
}
