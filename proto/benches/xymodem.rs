//! Speed of X/YMODEM: blocks made and read, and whole transfers in memory, in bytes of the file.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wetstring_proto::settings::Settings;
use wetstring_proto::xymodem::frame::{BlockReader, Check, HEADER, LONG, SHORT, finish};
use wetstring_proto::xymodem::{Config, Receiver, Sender};
use wetstring_proto::{
    Cx, Duration, Engine, FileInfo, Instant, LineFacts, NoTrace, Outcome, Reply, Request, Span,
};

const FILE: usize = 4 << 20;

fn blocks(c: &mut Criterion) {
    let mut group = c.benchmark_group("xymodem block");
    for (name, len, check) in [
        ("128 sum", SHORT, Check::Sum),
        ("128 crc", SHORT, Check::Crc),
        ("1k crc", LONG, Check::Crc),
    ] {
        let mut block = vec![0; HEADER + len + 2];
        for (index, byte) in block[HEADER..].iter_mut().enumerate() {
            *byte = (index * 7) as u8;
        }
        let wire = finish(&mut block, 1, len, check);
        block.truncate(wire);
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(format!("make {name}"), |b| {
            let mut block = block.clone();
            b.iter(|| finish(black_box(&mut block), 1, len, check));
        });
        group.bench_function(format!("read {name}"), |b| {
            let mut reader = BlockReader::new(check, LONG);
            let mut room = vec![0; LONG];
            b.iter(|| reader.next(&mut room, black_box(&block)));
        });
    }
    group.finish();
}

/// Answers of a store in memory.
fn answer(request: Request<'_>, file: &[u8], given: &mut bool) -> Reply<'static> {
    match request {
        Request::Next if *given => Reply::NoMoreFiles,
        Request::Next => {
            *given = true;
            let size = Some(file.len() as u64);
            Reply::File(FileInfo { name: b"a", size, ..FileInfo::default() })
        }
        Request::Read { offset, into } => {
            let rest = &file[offset as usize..];
            let len = rest.len().min(into.len());
            into[..len].copy_from_slice(&rest[..len]);
            Reply::Read(len)
        }
        Request::Offer { .. } => Reply::Accept { offset: 0 },
        Request::Write { bytes, .. } => {
            black_box(bytes);
            Reply::Done
        }
        _ => Reply::Done,
    }
}

fn transfer(variant: &str, file: &[u8], memory: &mut [Vec<u8>; 2]) {
    let line = LineFacts { reliable: Some(true), ..LineFacts::default() };
    let mut config = Config { line, start_pause: Span::ZERO, ..Config::default() };
    config.set("xymodem.variant", variant).unwrap();
    let [out, into] = memory;
    let mut sender = Sender::new(config.clone(), &mut out[..]).unwrap();
    let mut receiver = Receiver::new(config, &mut into[..]).unwrap();
    let (mut given, mut now) = (false, Instant(1));
    loop {
        let cx = &mut Cx { now, trace: &mut NoTrace };
        while let Some(request) = sender.request() {
            let reply = answer(request, file, &mut given);
            sender.reply(cx, reply);
        }
        while let Some(request) = receiver.request() {
            let reply = answer(request, file, &mut given);
            receiver.reply(cx, reply);
        }
        let bytes = sender.transmit(cx);
        let used = receiver.receive(&mut Cx { now, trace: &mut NoTrace }, bytes);
        sender.transmitted(cx, used);
        let bytes = receiver.transmit(cx);
        let used = sender.receive(&mut Cx { now, trace: &mut NoTrace }, bytes);
        receiver.transmitted(cx, used);
        while sender.event().is_some() || receiver.event().is_some() {}
        if receiver.status().outcome() == Some(Outcome::Done) {
            return;
        }
        now = now + Duration::from_nanos(1);
    }
}

fn transfers(c: &mut Criterion) {
    let file: Vec<u8> = (0..FILE).map(|index| ((index * 31) >> 3) as u8).collect();
    let mut group = c.benchmark_group("xymodem transfer");
    group.throughput(Throughput::Bytes(FILE as u64)).sample_size(20);
    for variant in ["xmodem", "xmodem-crc", "xmodem-1k", "ymodem", "ymodem-g"] {
        let mut config = Config::default();
        config.set("xymodem.variant", variant).unwrap();
        let mut memory = [vec![0; config.sender_memory()], vec![0; config.receiver_memory()]];
        group.bench_function(variant, |b| b.iter(|| transfer(variant, &file, &mut memory)));
    }
    group.finish();
}

criterion_group!(benches, blocks, transfers);
criterion_main!(benches);
