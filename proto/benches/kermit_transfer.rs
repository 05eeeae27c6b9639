//! Whole transfers between two engines in memory: what the protocol itself costs, without a port.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wetstring_proto::kermit::{Config, Receiver, Sender};
use wetstring_proto::settings::Settings;
use wetstring_proto::{Cx, Engine, FileInfo, Instant, NoTrace, Outcome, Reply, Request, Status};

const LEN: usize = 8 << 20;

fn answer(request: Request<'_>, file: &[u8], given: &mut bool) -> Reply<'static> {
    match request {
        Request::Next if *given => Reply::NoMoreFiles,
        Request::Next => {
            *given = true;
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
        Request::Write { bytes, .. } => {
            black_box(bytes);
            Reply::Done
        }
        Request::Digest { .. } => Reply::Digest([7; 32]),
        _ => Reply::Done,
    }
}

/// Moves `file` from a new sender to a new receiver; returns the bytes on the wire.
fn transfer(config: &Config, memory: &mut [Vec<u8>; 2], file: &[u8]) -> u64 {
    let [a, b] = memory;
    let mut sender = Sender::new(config.clone(), &mut a[..]).unwrap();
    let mut receiver = Receiver::new(config.clone(), &mut b[..]).unwrap();
    let mut given = false;
    let (mut ours, mut theirs) = (NoTrace, NoTrace);
    let cx = &mut Cx { now: Instant(1), trace: &mut ours };
    let peer = &mut Cx { now: Instant(1), trace: &mut theirs };
    while sender.status() != Status::Over(Outcome::Done) {
        while let Some(request) = sender.request() {
            let reply = answer(request, file, &mut given);
            sender.reply(cx, reply);
        }
        let used = receiver.receive(peer, sender.transmit(cx));
        sender.transmitted(cx, used);
        while let Some(request) = receiver.request() {
            let reply = answer(request, file, &mut given);
            receiver.reply(peer, reply);
        }
        let used = sender.receive(cx, receiver.transmit(peer));
        receiver.transmitted(peer, used);
        while sender.event().is_some() || receiver.event().is_some() {}
    }
    sender.stats().wire_out_bytes
}

fn bench(c: &mut Criterion) {
    let random = wetstring_testkit::pattern(LEN);
    let text: Vec<u8> =
        include_bytes!("../src/kermit/config.rs").repeat(LEN / 20_000 + 1)[..LEN].into();
    let zeros = vec![0; LEN];
    let mut group = c.benchmark_group("kermit_transfer");
    group.throughput(Throughput::Bytes(LEN as u64)).sample_size(20);
    for (mode, settings) in [
        (
            "streaming_clear",
            &[("streaming", "on"), ("clear-channel", "on"), ("reliable", "on")][..],
        ),
        ("streaming_cautious", &[("streaming", "on"), ("reliable", "on")]),
        ("window31", &[("streaming", "off"), ("reliable", "on")]),
        ("parity_even", &[("streaming", "on"), ("reliable", "on"), ("parity", "even")]),
    ] {
        let mut config = Config::default();
        for (name, value) in settings {
            config.set(&format!("kermit.{name}"), value).unwrap();
        }
        let mut memory = [vec![0; config.sender_memory()], vec![0; config.receiver_memory()]];
        for (content, file) in [("random", &random), ("source", &text), ("zeros", &zeros)] {
            group.bench_function(format!("{mode}/{content}"), |b| {
                b.iter(|| transfer(&config, &mut memory, file));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
