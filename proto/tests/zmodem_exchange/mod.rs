//! What the ZMODEM engine tests share: frames, and one engine against a script.
#![allow(dead_code, unreachable_pub)]

use wetstring_proto::zmodem::Config;
use wetstring_proto::zmodem::escape::{Dropping, Escaper, Escaping};
use wetstring_proto::zmodem::frame::{Found, FrameReader};
use wetstring_proto::zmodem::packet::{
    Form, Header, MAX_HEADER, end, kind, put_subpacket, subpacket_room,
};
use wetstring_proto::{
    Blame, Cx, Duration, Engine, Failure, FailureKind, Instant, Outcome, Status, Store,
};
use wetstring_testkit::Edges;

crate::common::protocol!(pub zmodem, Config { buffer_len: 2048, ..Config::default() });

pub fn header(form: Form, kind: u8, number: u32) -> Vec<u8> {
    flags(form, kind, number.to_le_bytes())
}

pub fn flags(form: Form, kind: u8, data: [u8; 4]) -> Vec<u8> {
    let mut out = [0; MAX_HEADER];
    let header = Header { kind, data, form, variable: false };
    let len = header.put(&mut Escaper::new(Escaping::Normal), &mut out);
    out[..len].to_vec()
}

pub fn data(form: Form, data: &[u8], end: u8) -> Vec<u8> {
    let mut out = vec![0; subpacket_room(data.len())];
    let (_, len) = put_subpacket(&mut Escaper::new(Escaping::Normal), form, data, end, &mut out);
    out.truncate(len);
    out
}

pub fn file(info: &[u8]) -> Vec<u8> {
    [header(Form::Bin32, kind::ZFILE, 0), data(Form::Bin32, info, end::ZCRCW)].concat()
}

/// What an engine did with scripted input.
#[derive(Debug)]
pub struct Exchange {
    pub sent: Vec<u8>,
    pub events: Vec<String>,
    pub took: Duration,
}

impl Exchange {
    pub fn headers(&self) -> Vec<(u8, u32)> {
        let mut reader = FrameReader::new(Dropping::FlowControl);
        let (mut rest, mut all) = (&self.sent[..], Vec::new());
        while !rest.is_empty() {
            let (used, found) = reader.next(&mut [], rest);
            rest = &rest[used..];
            if let Some(Found::Header(header)) = found {
                all.push((header.kind, header.number()));
            }
        }
        all
    }

    pub fn count(&self, kind: u8) -> usize {
        self.headers().iter().filter(|(k, _)| *k == kind).count()
    }
}

/// Turns one engine against bytes that `make` gives, until it is over.
pub fn turn_against(
    engine: &mut dyn Engine,
    store: &mut dyn Store,
    mut make: impl FnMut(Duration) -> Vec<u8>,
) -> Exchange {
    let mut now = Instant::ZERO;
    let mut input = Vec::new();
    let mut exchange = Exchange { sent: Vec::new(), events: Vec::new(), took: Duration::ZERO };
    for _ in 0..200_000 {
        let cx = &mut Cx { now, trace: &mut Edges::new() };
        input.extend(make(now - Instant::ZERO));
        for _ in 0..50 {
            let used = engine.receive(cx, &input);
            input.drain(..used);
            while let Some(request) = engine.request() {
                let reply = store.answer(request);
                engine.reply(cx, reply);
            }
            let bytes = engine.transmit(cx).to_vec();
            engine.transmitted(cx, bytes.len());
            if exchange.sent.len() < 1_000_000 {
                exchange.sent.extend_from_slice(&bytes);
            }
            while let Some(event) = engine.event() {
                exchange.events.push(format!("{event:?}"));
            }
            if input.is_empty() && bytes.is_empty() {
                break;
            }
        }
        engine.tick(cx);
        exchange.took = now - Instant::ZERO;
        if matches!(engine.status(), Status::Over(_)) {
            return exchange;
        }
        assert!(input.len() < 100_000, "an engine that is not over takes its input");
        now = now + Duration::from_millis(20);
    }
    panic!("no end after {:?}: {:?}", now - Instant::ZERO, engine.status());
}

/// The messages for the user, as text.
pub fn said(exchange: &Exchange) -> String {
    let texts = exchange.events.iter().filter_map(|event| event.strip_prefix("Message("));
    let bytes = texts.flat_map(|text| {
        let numbers = text.trim_end_matches(')').trim_matches(['[', ']']).split(", ");
        numbers.filter_map(|number| number.parse::<u8>().ok()).chain([b' ']).collect::<Vec<_>>()
    });
    String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned()
}

/// Plays the script, one entry each 20 ms, then is silent.
pub fn script(parts: Vec<Vec<u8>>) -> impl FnMut(Duration) -> Vec<u8> {
    let mut parts = parts.into_iter();
    move |_| parts.next().unwrap_or_default()
}

pub fn failure(engine: &dyn Engine) -> (Blame, FailureKind) {
    match engine.status().outcome() {
        Some(Outcome::Failed(Failure { blame, kind })) => (blame, kind),
        other => panic!("{other:?}"),
    }
}
