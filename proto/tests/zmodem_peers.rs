//! Peers that do less than the standard asks: receivers that ignore requests for an
//! acknowledgement, senders that do not know ZCRC or leave out the data of an empty file.

use crate::common;
use crate::zmodem_exchange;

use common::{File, Sink, Source};
use wetstring_proto::zmodem::escape::{Dropping, Escaper, Escaping};
use wetstring_proto::zmodem::frame::{Found, FrameReader};
use wetstring_proto::zmodem::packet::{
    Form, Header, MAX_HEADER, end, kind, put_subpacket, subpacket_room,
};
use wetstring_proto::{Cx, Duration, Engine, Instant, Outcome, Status, Store};
use wetstring_testkit::Edges;
use zmodem_exchange::{config, data, file, flags, header, receiver, sender};

/// A receiver that acknowledges some ends of subpackets.
struct Terse {
    answers: &'static [u8],
    reader: FrameReader,
    room: Vec<u8>,
    file: Vec<u8>,
    files: Vec<Vec<u8>>,
    in_data: bool,
    done: bool,
}

impl Terse {
    fn new(answers: &'static [u8]) -> Self {
        let reader = FrameReader::new(Dropping::FlowControl);
        Self {
            answers,
            reader,
            room: vec![0; 9000],
            file: vec![],
            files: vec![],
            in_data: false,
            done: false,
        }
    }

    fn hear(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        let mut said = Vec::new();
        while !bytes.is_empty() {
            let (used, found) = self.reader.next(&mut self.room, bytes);
            bytes = &bytes[used..];
            let say = |kind, number: usize| header(Form::Hex, kind, number as u32);
            match found {
                Some(Found::Header(header)) => {
                    self.in_data = false;
                    let at = self.file.len();
                    match header.kind {
                        kind::ZRQINIT => {
                            said.extend(flags(Form::Hex, kind::ZRINIT, [0, 0, 0, 0x23]));
                        }
                        kind::ZFILE => self.reader.expect_data(),
                        kind::ZDATA if header.number() as usize == at => {
                            self.in_data = true;
                            self.reader.expect_data();
                        }
                        kind::ZDATA => said.extend(say(kind::ZRPOS, at)),
                        kind::ZEOF if header.number() as usize == at => {
                            self.files.push(core::mem::take(&mut self.file));
                            said.extend(flags(Form::Hex, kind::ZRINIT, [0, 0, 0, 0x23]));
                        }
                        kind::ZFIN => {
                            said.extend(say(kind::ZFIN, 0));
                            self.done = true;
                        }
                        _ => {}
                    }
                }
                Some(Found::Data { end, len }) if self.in_data => {
                    self.file.extend_from_slice(&self.room[..len]);
                    if self.answers.contains(&end) {
                        said.extend(say(kind::ZACK, self.file.len()));
                    }
                }
                Some(Found::Data { .. }) => said.extend(say(kind::ZRPOS, self.file.len())),
                _ => {}
            }
        }
        said
    }
}

/// Turns an engine against `peer`, each way taking 10 ms, until it is over.
fn meet(
    engine: &mut dyn Engine,
    store: &mut dyn Store,
    mut peer: impl FnMut(Duration, &[u8]) -> Vec<u8>,
) -> Duration {
    let (mut now, mut input) = (Instant::ZERO, Vec::new());
    for _ in 0..100_000 {
        let cx = &mut Cx { now, trace: &mut Edges::new() };
        let mut sent = Vec::new();
        for _ in 0..20 {
            let used = engine.receive(cx, &input);
            input.drain(..used);
            while let Some(request) = engine.request() {
                let reply = store.answer(request);
                engine.reply(cx, reply);
            }
            let bytes = engine.transmit(cx).to_vec();
            engine.transmitted(cx, bytes.len());
            sent.extend(bytes);
        }
        engine.tick(cx);
        if let Status::Over(_) = engine.status() {
            return now - Instant::ZERO;
        }
        now = now + Duration::from_millis(20);
        input.extend(peer(now - Instant::ZERO, &sent));
    }
    panic!("no end: {:?}", engine.status());
}

#[test]
fn receiver_ignoring_ack_requests_gets_the_file() {
    let bytes = common::random(200_000, 9);
    for (label, answers, window, limit) in [
        ("all", &[end::ZCRCQ, end::ZCRCW][..], "0", 6),
        ("only ZCRCW", &[end::ZCRCW], "0", 15),
        ("only ZCRCW, a window", &[end::ZCRCW], "4096", 15),
        ("none", &[], "0", 60),
        ("none, a window", &[], "4096", 60),
    ] {
        // The rate of the line is not known: what is in flight follows from acknowledgements.
        let mut sender = sender(&config(&[("window", window)]));
        let mut store = Source::new(vec![File::new("f", &bytes), File::new("g", b"hello")]);
        let mut peer = Terse::new(answers);
        let took = meet(&mut sender, &mut store, |_, sent| peer.hear(sent));
        assert_eq!(sender.status().outcome(), Some(Outcome::Done), "{label}");
        assert!(peer.files == [bytes.clone(), b"hello".to_vec()], "{label}");
        assert!(took < Duration::from_secs(limit), "{label}: {took:?}");
        println!("{label}: {took:?} {:?}", sender.stats());
    }
}

/// What a receiver does with these parts, one each 100 ms: the files, and when it was over.
fn received(parts: Vec<Vec<u8>>) -> (Vec<(Vec<u8>, bool)>, Outcome, Duration) {
    let mut receiver = receiver(&config(&[]));
    let mut sink = Sink::new();
    let mut parts = parts.into_iter();
    let mut turn = 0;
    let took = meet(&mut receiver, &mut sink, |_, _| {
        turn += 1;
        if turn % 5 == 0 { parts.next().unwrap_or_default() } else { vec![] }
    });
    let files = sink.files.into_iter().map(|file| (file.bytes, file.complete)).collect();
    (files, receiver.status().outcome().unwrap(), took)
}

fn last_word() -> Vec<u8> {
    [header(Form::Hex, kind::ZFIN, 0), b"OO".to_vec()].concat()
}

#[test]
fn zdata_directly_followed_by_zeof_is_an_empty_file() {
    for form in [Form::Hex, Form::Bin16, Form::Bin32] {
        for (info, pause) in [(&b"e\x000 0 0 0 1\0"[..], 0), (b"e\0\0", 50)] {
            for cut in [1, 7, 100] {
                let zdata = header(form, kind::ZDATA, 0);
                let both = [zdata, header(form, kind::ZEOF, 0)].concat();
                let mut parts = vec![vec![], file(info)];
                parts.extend(both.chunks(cut).map(<[u8]>::to_vec));
                parts.extend(vec![vec![]; pause]);
                parts.push(last_word());
                let (files, outcome, took) = received(parts);
                assert_eq!(files, [(vec![], true)], "{form:?} {info:?} cut {cut}");
                assert_eq!(outcome, Outcome::Done, "{form:?} {info:?} cut {cut}");
                assert!(took < Duration::from_secs(13), "{took:?}");
            }
        }
    }
}

/// All controls escaped, a file may begin with the very bytes of a ZEOF.
#[test]
fn file_starting_like_zeof_is_not_empty() {
    for info in [&b"e\x0011 0 0 0 1\0"[..], b"e\0\0"] {
        let mut wire = [0; MAX_HEADER];
        let eof = Header { kind: kind::ZEOF, data: [0; 4], form: Form::Bin16, variable: false };
        let len = eof.put(&mut Escaper::new(Escaping::Controls), &mut wire);
        let looks = &wire[..len];
        // What a receiver makes of these bytes as data.
        let mut content = vec![];
        let mut behind_zdle = false;
        for byte in looks {
            match (*byte, behind_zdle) {
                (0x18, false) => behind_zdle = true,
                (byte, true) => {
                    content.push(byte ^ 0x40);
                    behind_zdle = false;
                }
                (byte, false) => content.push(byte),
            }
        }
        content.extend(b"more");
        let info = if info.len() > 10 {
            format!("e\0{} 0 0 0 1\0", content.len()).into_bytes()
        } else {
            info.to_vec()
        };
        let mut subpacket = vec![0; subpacket_room(content.len())];
        let mut escaper = Escaper::new(Escaping::Controls);
        let (_, len) =
            put_subpacket(&mut escaper, Form::Bin32, &content, end::ZCRCE, &mut subpacket);
        subpacket.truncate(len);
        assert!(subpacket.starts_with(looks), "{subpacket:x?} {looks:x?}");
        let parts = vec![
            vec![],
            file(&info),
            [header(Form::Bin32, kind::ZDATA, 0), subpacket[..looks.len()].to_vec()].concat(),
            subpacket[looks.len()..].to_vec(),
            header(Form::Hex, kind::ZEOF, content.len() as u32),
            last_word(),
        ];
        let (files, outcome, _) = received(parts);
        assert_eq!((files, outcome), (vec![(content, true)], Outcome::Done));
    }
}

/// What of a file is here is to be continued, and the sender does not know ZCRC: it is sent whole.
#[test]
fn a_sender_without_zcrc_sends_the_file_again() {
    let silent: fn(bool) -> Vec<u8> = |_| vec![];
    let garbled: fn(bool) -> Vec<u8> = |_| header(Form::Hex, kind::ZNAK, 0);
    let again: fn(bool) -> Vec<u8> = |_| file(b"f\x0010 0 0 0 1 10\0");
    for (label, answer) in [("silent", silent), ("garbled", garbled), ("again", again)] {
        let mut receiver = receiver(&config(&[("resume", "on")]));
        let mut sink = Sink { partial: b"0123".to_vec(), ..Sink::new() };
        let mut heard =
            zmodem_exchange::Exchange { sent: vec![], events: vec![], took: Duration::ZERO };
        let (mut begun, mut told) = (false, 0);
        let took = meet(&mut receiver, &mut sink, |_, sent| {
            heard.sent.extend_from_slice(sent);
            let news = heard.headers().split_off(told);
            told += news.len();
            let mut said = Vec::new();
            for (kind, number) in news {
                said.extend(match kind {
                    kind::ZRINIT if !begun => {
                        begun = true;
                        file(b"f\x0010 0 0 0 1 10\0")
                    }
                    kind::ZRINIT => last_word(),
                    kind::ZCRC => answer(true),
                    kind::ZRPOS => {
                        let rest = &b"abcdefghij"[number as usize..];
                        [
                            header(Form::Bin32, kind::ZDATA, number),
                            data(Form::Bin32, rest, end::ZCRCE),
                            header(Form::Hex, kind::ZEOF, 10),
                        ]
                        .concat()
                    }
                    _ => vec![],
                });
            }
            said
        });
        assert_eq!(receiver.status().outcome(), Some(Outcome::Done), "{label}");
        assert_eq!(sink.files.last().unwrap().bytes, b"abcdefghij", "{label}");
        assert!(took < Duration::from_secs(20), "{label}: {took:?}");
        println!("{label}: {took:?}");
    }
}

/// One that dies when it is asked for a CRC: the user learns which setting does without.
#[test]
fn a_sender_that_ends_at_zcrc_can_be_resumed_without() {
    for (check, at_zcrc) in [
        ("on", vec![0x18; 8]),
        ("on", header(Form::Hex, kind::ZABORT, 0)),
        ("on", vec![]),
        ("off", vec![]),
    ] {
        let set = [("resume", "on"), ("resume-check", check), ("patience", "10")];
        let mut receiver = receiver(&config(&set));
        let mut sink = Sink { partial: b"abcd".to_vec(), ..Sink::new() };
        let offer = file(b"f\x0010 0 0 0 1 10\0");
        let rest = [
            header(Form::Bin32, kind::ZDATA, 4),
            data(Form::Bin32, b"efghij", end::ZCRCE),
            header(Form::Hex, kind::ZEOF, 10),
        ];
        let second = if check == "on" { at_zcrc } else { rest.concat() };
        let parts = vec![vec![], offer, vec![], second, vec![], last_word()];
        // After its death it says nothing more.
        let parts: Vec<_> = parts.into_iter().take(if check == "on" { 5 } else { 6 }).collect();
        let exchange =
            zmodem_exchange::turn_against(&mut receiver, &mut sink, zmodem_exchange::script(parts));
        if check == "off" {
            assert_eq!(receiver.status().outcome(), Some(Outcome::Done));
            assert_eq!(sink.files[0].bytes, b"abcdefghij");
            assert_eq!(exchange.count(kind::ZCRC), 0);
            continue;
        }
        assert!(matches!(receiver.status().outcome(), Some(Outcome::Failed(_))));
        let text = zmodem_exchange::said(&exchange);
        assert!(text.contains("zmodem.resume-check=off"), "{text}");
    }
}
