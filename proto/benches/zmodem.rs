//! Speed of ZMODEM: checks, escapes and subpackets in bytes of the file, and whole transfers between
//! two engines in memory.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wetstring_proto::crc::{crc16, crc32};
use wetstring_proto::line::LineFacts;
use wetstring_proto::zmodem::escape::{Dropping, Escaper, Escaping};
use wetstring_proto::zmodem::frame::{Found, FrameReader};
use wetstring_proto::zmodem::packet::{Form, Header, end, kind, put_subpacket, subpacket_room};
use wetstring_proto::zmodem::{Config, Receiver, Sender};
use wetstring_proto::{Cx, Engine, FileInfo, Instant, NoTrace, Outcome, Reply, Request, Status};
use wetstring_testkit::pattern;

/// Bytes of a source. The codec is measured, not the memory.
const LEN: usize = 256 * 1024;

fn source_text() -> Vec<u8> {
    let text = [
        include_str!("../src/zmodem/sending.rs"),
        include_str!("../src/zmodem/receiving.rs"),
        include_str!("../src/zmodem/config.rs"),
    ]
    .concat();
    text.bytes().cycle().take(LEN).collect()
}

fn cases() -> Vec<(&'static str, Escaping, Dropping, Vec<u8>)> {
    vec![
        ("random", Escaping::Normal, Dropping::FlowControl, pattern(LEN)),
        ("random/controls", Escaping::Controls, Dropping::Controls, pattern(LEN)),
        ("text", Escaping::Normal, Dropping::FlowControl, source_text()),
        ("zeros", Escaping::Normal, Dropping::FlowControl, vec![0; LEN]),
        ("worst", Escaping::Normal, Dropping::FlowControl, vec![0x18; LEN]),
    ]
}

fn checks(c: &mut Criterion) {
    let bytes = &pattern(8192)[..];
    let mut group = c.benchmark_group("check");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("crc16/8192", |b| b.iter(|| crc16(black_box(bytes))));
    group.bench_function("crc32/8192", |b| b.iter(|| crc32(black_box(bytes))));
    let short = &bytes[..1024];
    group.throughput(Throughput::Bytes(short.len() as u64));
    group.bench_function("crc16/1024", |b| b.iter(|| crc16(black_box(short))));
    group.bench_function("crc32/1024", |b| b.iter(|| crc32(black_box(short))));
    group.finish();
}

/// All of `source` in subpackets of this length, as they are on the wire.
fn encode(
    source: &[u8],
    length: usize,
    escaping: Escaping,
    form: Form,
    out: &mut Vec<u8>,
) -> usize {
    let mut escaper = Escaper::new(escaping);
    out.resize(subpacket_room(length) + 64, 0);
    let mut total = 0;
    for data in source.chunks(length) {
        total += put_subpacket(&mut escaper, form, black_box(data), end::ZCRCG, out).1;
        black_box(&mut *out);
    }
    total
}

fn encoding(c: &mut Criterion) {
    let mut group = c.benchmark_group("encode");
    group.throughput(Throughput::Bytes(LEN as u64));
    for (name, escaping, _, source) in cases() {
        for (length, form) in [(1024, Form::Bin32), (8192, Form::Bin32), (1024, Form::Bin16)] {
            let mut out = Vec::new();
            group.bench_function(format!("{name}/{length}/{form:?}"), |b| {
                b.iter(|| encode(&source, length, escaping, form, &mut out));
            });
        }
    }
    group.finish();
}

fn decoding(c: &mut Criterion) {
    let mut group = c.benchmark_group("decode");
    group.throughput(Throughput::Bytes(LEN as u64));
    for (name, escaping, dropping, source) in cases() {
        for (length, form) in [(1024, Form::Bin32), (8192, Form::Bin32), (1024, Form::Bin16)] {
            let mut wire = vec![0; 64];
            let mut escaper = Escaper::new(escaping);
            let header = Header { kind: kind::ZDATA, data: [0; 4], form, variable: false };
            let len = header.put(&mut escaper, &mut wire);
            wire.truncate(len);
            for data in source.chunks(length) {
                let mut out = vec![0; subpacket_room(length)];
                let (_, len) = put_subpacket(&mut escaper, form, data, end::ZCRCG, &mut out);
                wire.extend_from_slice(&out[..len]);
            }
            let mut room = vec![0; 8192];
            group.bench_function(format!("{name}/{length}/{form:?}"), |b| {
                b.iter(|| {
                    let mut reader = FrameReader::new(dropping);
                    let (mut at, mut got) = (0, 0);
                    while at < wire.len() {
                        let (used, found) = reader.next(&mut room, black_box(&wire[at..]));
                        at += used;
                        match found {
                            Some(Found::Header(_)) => reader.expect_data(),
                            Some(Found::Data { len, .. }) => got += len,
                            other => panic!("{other:?}"),
                        }
                        black_box(&mut room);
                    }
                    assert_eq!(got, LEN);
                });
            });
        }
    }
    group.finish();
}

/// A whole transfer of `file` between two engines through a pipe of 64 KiB.
fn transfer(sender: &mut dyn Engine, receiver: &mut dyn Engine, file: &[u8]) -> u64 {
    let mut given = false;
    let mut arrived = 0;
    let mut pipes = [vec![0u8; 65_536], vec![0u8; 65_536]];
    let mut held = [0usize; 2];
    loop {
        let cx = &mut Cx { now: Instant(1), trace: &mut NoTrace };
        for index in [0, 1] {
            let engine: &mut dyn Engine = if index == 0 { &mut *sender } else { &mut *receiver };
            while let Some(request) = engine.request() {
                let reply = match request {
                    Request::Next if given => Reply::NoMoreFiles,
                    Request::Next => {
                        given = true;
                        let size = Some(file.len() as u64);
                        Reply::File(FileInfo { name: b"a", size, ..FileInfo::default() })
                    }
                    Request::Read { offset, into } => {
                        let from = offset as usize;
                        let len = (file.len() - from).min(into.len());
                        into[..len].copy_from_slice(&file[from..from + len]);
                        Reply::Read(len)
                    }
                    Request::Offer { .. } => Reply::Accept { offset: 0 },
                    Request::Write { offset, bytes } => {
                        arrived = offset + black_box(bytes).len() as u64;
                        Reply::Done
                    }
                    _ => Reply::Done,
                };
                engine.reply(cx, reply);
            }
            let room = pipes[index].len() - held[index];
            let lent = engine.transmit(cx);
            let len = lent.len().min(room);
            pipes[index][held[index]..held[index] + len].copy_from_slice(&lent[..len]);
            engine.transmitted(cx, len);
            held[index] += len;
            let other = 1 - index;
            let used = engine.receive(cx, &pipes[other][..held[other]]);
            pipes[other].copy_within(used..held[other], 0);
            held[other] -= used;
            while engine.event().is_some() {}
        }
        if sender.status() == Status::Over(Outcome::Done) {
            return arrived;
        }
    }
}

fn transfers(c: &mut Criterion) {
    let file = pattern(8 << 20);
    let mut group = c.benchmark_group("transfer");
    group.throughput(Throughput::Bytes(file.len() as u64));
    for (name, reliable, length) in
        [("reliable/8192", Some(true), 8192), ("unknown/1024", None, 1024)]
    {
        let line = LineFacts { reliable, ..LineFacts::default() };
        let config = Config { line, send_length: length, ..Config::default() };
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut s = Sender::new(config.clone(), vec![0; config.sender_memory()]).unwrap();
                let mut r =
                    Receiver::new(config.clone(), vec![0; config.receiver_memory()]).unwrap();
                assert_eq!(transfer(&mut s, &mut r, &file), file.len() as u64);
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600));
    targets = checks, encoding, decoding, transfers
}
criterion_main!(benches);
