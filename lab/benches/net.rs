//! How much processor time TCP and networks take in the laboratory.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wetstring_lab::net::Network;
use wetstring_lab::tcp::Bulk;
use wetstring_proto::NoTrace;

const BYTES: u64 = 4 << 20;

fn net(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("4 MiB over TCP");
    group.throughput(Throughput::Bytes(BYTES));
    group.sample_size(20);
    for (name, text) in [
        ("path", "tcp:window=64K,delack=200ms over path:rate=10M,delay=1ms"),
        ("ethernet", "tcp:window=32K,delack=200ms over ethernet:10M"),
        ("loaded ethernet", "tcp:window=32K,delack=200ms over ethernet:10M,load=10%-50%@5s"),
        (
            "loaded ethernet with hosts",
            "tcp:window=24K,sendbuf=24K,nagle,delack=200ms over ethernet:10M,load=10%-50%@5s \
             with host:send=300us+100ns,receive=300us+100ns,read=300us,write=300us,wake=500us,block=8K",
        ),
    ] {
        let network: Network = text.parse().expect("a network");
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let report = Bulk::new(BYTES).run(&mut *network.build(), &mut NoTrace);
                assert_eq!(report.bytes, BYTES);
                black_box(report)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, net);
criterion_main!(benches);
