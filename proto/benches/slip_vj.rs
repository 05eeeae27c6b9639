//! Speed of header compression, in packets: both ways, one connection and many; and of framing, in bytes.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use wetstring_proto::checksum::{Sum, checksum};
use wetstring_proto::slip::frame::{Found, encode, longest};
use wetstring_proto::slip::{Compressor, Decoder, Decompressor, HEADROOM};

/// Packets of a run.
const COUNT: usize = 4096;
/// Slots at both ends.
const SLOTS: u16 = 16;

/// A packet of TCP with this much data.
fn packet(connection: u16, id: u16, sequence: u32, ack: u32, len: usize) -> Vec<u8> {
    let mut ip = vec![0x45, 0];
    ip.extend((40 + len as u16).to_be_bytes());
    ip.extend(id.to_be_bytes());
    ip.extend([0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut tcp = Vec::new();
    tcp.extend((1025 + connection).to_be_bytes());
    tcp.extend(20_u16.to_be_bytes());
    tcp.extend(sequence.to_be_bytes());
    tcp.extend(ack.to_be_bytes());
    tcp.extend([0x50, 0x10, 0x10, 0, 0, 0, 0, 0]);
    tcp.extend((0..len).map(|at| (at * 31) as u8));
    let pseudo = Sum::default().with(&ip[12..20]).with(&[0, 6]);
    let sum = pseudo.with(&(tcp.len() as u32).to_be_bytes()).with(&tcp).checksum();
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    ip.extend(tcp);
    ip
}

/// What is measured: its name, and its packets.
fn cases() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let of = |connections: u16, len: usize, echo: bool| -> Vec<Vec<u8>> {
        let step = |index: usize| {
            let turn = (index / usize::from(connections)) as u32;
            let ack = if echo { 1 + turn * len as u32 } else { 1 };
            let ack = if len == 0 { 1 + turn * 512 } else { ack };
            let sequence = turn * len as u32;
            packet(index as u16 % connections, turn as u16, sequence, ack, len)
        };
        (0..COUNT).map(step).collect()
    };
    vec![
        ("acknowledgements", of(1, 0, false)),
        ("echo", of(1, 1, true)),
        ("data/256", of(1, 256, false)),
        ("16 connections", of(16, 0, false)),
    ]
}

fn compressor() -> Compressor<Vec<u8>> {
    Compressor::new(SLOTS, true, vec![0; Compressor::memory(SLOTS)]).unwrap()
}

fn compressing(c: &mut Criterion) {
    let mut group = c.benchmark_group("compress");
    group.throughput(Throughput::Elements(COUNT as u64));
    for (name, packets) in cases() {
        group.bench_function(name, |b| {
            // It is done in place, so each run needs a fresh copy of the packets; copying is not measured.
            b.iter_batched_ref(
                || (compressor(), packets.clone()),
                |(compressor, packets)| {
                    for packet in packets {
                        black_box(compressor.compress(black_box(packet)).unwrap());
                    }
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn decompressing(c: &mut Criterion) {
    let mut group = c.benchmark_group("decompress");
    group.throughput(Throughput::Elements(COUNT as u64));
    for (name, packets) in cases() {
        let mut compressor = compressor();
        let frame = |packet: &Vec<u8>| {
            let mut bytes = packet.clone();
            let framed = compressor.compress(&mut bytes).unwrap();
            [&[0; HEADROOM], &bytes[framed.start..]].concat()
        };
        let frames: Vec<Vec<u8>> = packets.iter().map(frame).collect();
        let decompressor =
            || Decompressor::new(SLOTS, vec![0; Decompressor::memory(SLOTS)]).unwrap();
        group.bench_function(name, |b| {
            b.iter_batched_ref(
                || (decompressor(), frames.clone()),
                |(decompressor, frames)| {
                    for frame in frames {
                        black_box(decompressor.restore(black_box(frame), HEADROOM).unwrap());
                    }
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn framing(c: &mut Criterion) {
    let packet: Vec<u8> = (0..1006_usize).map(|at| (at * 167) as u8).collect();
    let mut wire = vec![0; longest(packet.len())];
    let mut group = c.benchmark_group("frame");
    group.throughput(Throughput::Bytes(packet.len() as u64));
    group.bench_function("encode", |b| {
        b.iter(|| encode(black_box(&packet), true, black_box(&mut wire)).unwrap());
    });
    let len = encode(&packet, true, &mut wire).unwrap();
    let (mut decoder, mut room) = (Decoder::new(), vec![0; 1006]);
    group.bench_function("decode", |b| {
        b.iter(|| {
            let (_, found) = decoder.next(black_box(&mut room), black_box(&wire[..len]));
            assert_eq!(found, Some(Found::Frame(1006)));
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600));
    targets = compressing, decompressing, framing
}
criterion_main!(benches);
