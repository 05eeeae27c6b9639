//! Speed of the Kermit codec, in bytes of the file (checks and frames: bytes on the wire).

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wetstring_proto::kermit::check::{Check, crc16, tochar};
use wetstring_proto::kermit::decode::Decoder;
use wetstring_proto::kermit::encode::{Coding, Encoder, Shift};
use wetstring_proto::kermit::frame::{Found, FrameReader, FrameSettings, Parity};
use wetstring_proto::kermit::prefix::PrefixTable;
use wetstring_testkit::pattern;

/// Bytes of a source; more than the caches near the core hold of it and its packets is not wanted
/// here: the codec is measured, not the memory.
const LEN: usize = 256 * 1024;
/// Data of one packet of the greatest length with a CRC.
const ROOM: usize = 9021;

/// Source text much like C: the sources of this crate, whose indentation and line lengths are
/// the same.
fn source_text() -> Vec<u8> {
    let text = [
        include_str!("../src/kermit/encode.rs"),
        include_str!("../src/kermit/frame.rs"),
        include_str!("../tests/kermit_codec.rs"),
    ]
    .concat();
    text.bytes().cycle().take(LEN).collect()
}

fn coding(prefix: PrefixTable, text: bool) -> Coding {
    let strict_high = prefix == PrefixTable::ALL;
    Coding { rept: Some(b'~'), prefix, text, strict_high, ..Coding::default() }
}

fn cases() -> Vec<(&'static str, Coding, Vec<u8>)> {
    let seven = Coding { qbin: Some(b'&'), ..coding(PrefixTable::ALL, false) };
    vec![
        ("random/clear_own", coding(PrefixTable::CLEAR_OWN, false), pattern(LEN)),
        ("random/clear", coding(PrefixTable::CLEAR, false), pattern(LEN)),
        ("random/cautious", coding(PrefixTable::CAUTIOUS, false), pattern(LEN)),
        ("random/all", coding(PrefixTable::ALL, false), pattern(LEN)),
        ("random/7-bit", seven, pattern(LEN)),
        ("random/locking", Coding { shift: Shift::Negotiated, ..seven }, pattern(LEN)),
        ("source/clear_own", coding(PrefixTable::CLEAR_OWN, false), source_text()),
        ("source/clear", coding(PrefixTable::CLEAR, false), source_text()),
        ("source/all", coding(PrefixTable::ALL, false), source_text()),
        ("source/text/clear_own", coding(PrefixTable::CLEAR_OWN, true), source_text()),
        ("source/text/all", coding(PrefixTable::ALL, true), source_text()),
        ("zeros/clear_own", coding(PrefixTable::CLEAR_OWN, false), vec![0; LEN]),
        ("zeros/all", coding(PrefixTable::ALL, false), vec![0; LEN]),
    ]
}

fn fields(coding: &Coding, src: &[u8]) -> Vec<Vec<u8>> {
    let mut encoder = Encoder::new(coding);
    let mut fields = Vec::new();
    let mut at = 0;
    while at < src.len() {
        let mut dst = vec![0; ROOM];
        let (used, written) = encoder.encode(&src[at..], true, &mut dst);
        at += used;
        dst.truncate(written);
        fields.push(dst);
    }
    fields
}

fn checks(c: &mut Criterion) {
    let bytes = &pattern(LEN)[..9000];
    let mut group = c.benchmark_group("check");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("crc16", |b| b.iter(|| crc16(black_box(bytes))));
    group.bench_function("sum12", |b| b.iter(|| Check::Sum12.compute(black_box(bytes))));
    group.finish();
}

fn encoding(c: &mut Criterion) {
    let mut group = c.benchmark_group("encode");
    group.throughput(Throughput::Bytes(LEN as u64));
    for (name, coding, src) in cases() {
        let mut dst = vec![0; ROOM];
        group.bench_function(name, |b| {
            let mut encoder = Encoder::new(&coding);
            b.iter(|| {
                let mut at = 0;
                while at < src.len() {
                    at += encoder.encode(black_box(&src[at..]), true, &mut dst).0;
                    black_box(&mut dst);
                }
            });
        });
    }
    group.finish();
}

fn decoding(c: &mut Criterion) {
    let mut group = c.benchmark_group("decode");
    group.throughput(Throughput::Bytes(LEN as u64));
    for (name, coding, src) in cases() {
        let fields = fields(&coding, &src);
        let mut dst = vec![0; LEN];
        group.bench_function(name, |b| {
            let Coding { qctl, qbin, rept, shift, text, .. } = coding;
            let mut decoder = Decoder::new(qctl, qbin, rept, shift, text);
            b.iter(|| {
                // Into what the cache nearest to the core holds, as a receiver's buffer does.
                for field in &fields {
                    let mut at = 0;
                    while at < field.len() {
                        at += decoder.decode(black_box(&field[at..]), &mut dst[..16384]).0;
                    }
                    black_box(&mut dst);
                }
            });
        });
    }
    group.finish();
}

fn framing(c: &mut Criterion) {
    let mut data: Vec<u8> = pattern(LEN)[..9000].to_vec();
    for byte in &mut data {
        if matches!(*byte, 1 | 13) {
            *byte = b'x';
        }
    }
    let extended = data.len() + 3;
    let mut packet = vec![b' ', b' ', b'D'];
    packet.extend([tochar((extended / 95) as u8), tochar((extended % 95) as u8)]);
    packet.push(Check::Sum6.compute(&packet)[0]);
    packet.extend_from_slice(&data);
    packet.extend_from_slice(&Check::Crc16.compute(&packet));
    let stream = [&[1], &packet[..], &[13]].concat().repeat(16);

    let mut group = c.benchmark_group("frame");
    group.throughput(Throughput::Bytes(stream.len() as u64));
    for (name, parity, transparent, piece) in [
        ("whole", Parity::None, false, usize::MAX),
        ("whole/transparent", Parity::None, true, usize::MAX),
        ("pieces of 4096", Parity::None, false, 4096),
        ("even parity", Parity::Even, false, usize::MAX),
    ] {
        let settings = FrameSettings {
            parity: Some(parity),
            transparent,
            max_len: 9030,
            ..FrameSettings::default()
        };
        let mut stream = stream.clone();
        if parity != Parity::None {
            for byte in &mut stream {
                *byte = (*byte & 0x7F).max(b' ');
            }
            stream = [&[1u8], &stream[1..=packet.len()], &[13]].concat().repeat(16);
        }
        parity.apply(&mut stream);
        let mut buf = vec![0; settings.buffer_len()];
        group.bench_function(name, |b| {
            let mut reader = FrameReader::new(settings);
            b.iter(|| {
                let mut packets = 0;
                for mut input in stream.chunks(piece.min(stream.len())) {
                    while !input.is_empty() {
                        let (used, found) = reader.next(&mut buf, black_box(input));
                        packets += usize::from(matches!(found, Some(Found::Packet(_))));
                        input = &input[used..];
                    }
                }
                assert_eq!(packets, 16);
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
        .measurement_time(Duration::from_millis(700));
    targets = checks, encoding, decoding, framing
}
criterion_main!(benches);
