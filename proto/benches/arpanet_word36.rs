//! Speed of packing and unpacking words of 36 bits, in octets of the wire.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wetstring_proto::arpanet::word36::{octets, pack, unpack};

/// The words of a Multics system tape (RFC 662).
const WORDS: usize = 334_231;

fn words(c: &mut Criterion) {
    let mut group = c.benchmark_group("arpanet/words");
    for (name, count) in [("message", 222), ("tape", WORDS)] {
        let mut many: Vec<u64> =
            (0..count as u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 28).collect();
        let mut wire = vec![0; octets(count)];
        group.throughput(Throughput::Bytes(wire.len() as u64));
        group.bench_function(format!("pack/{name}"), |b| {
            b.iter(|| pack(black_box(&many), &mut wire));
        });
        group.bench_function(format!("unpack/{name}"), |b| {
            b.iter(|| unpack(black_box(&wire), &mut many));
        });
    }
    group.finish();
}

criterion_group!(benches, words);
criterion_main!(benches);
