//! How much processor time TCP and networks take in the laboratory.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wetstring_lab::net::Network;
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_lab::tcp::Bulk;
use wetstring_lab::{Pair, Recorder};
use wetstring_proto::NoTrace;
use wetstring_proto::kermit::{Config, LineFacts, Receiver, Sender};
use wetstring_proto::settings::Settings;

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

/// The network and the hosts of the streaming trials, near enough for the time it takes.
const TRIAL: &str = "tcp:window=24K,sendbuf=24K,nagle,delack=200ms over ethernet:10M,load=20% \
                     with host:send=200us+50ns,receive=200us+50ns,write=200us+300ns,\
                     read=200us+300ns,wake=500us,mark=1";

fn transfer(network: &Network, file: &MemoryFile, settings: &[(&str, &str)]) {
    let line = LineFacts { reliable: Some(true), clear: true, rate_bps: 0, telnet: false };
    let mut config = Config { line, ..Config::default() };
    for (name, value) in settings {
        config.set(&format!("kermit.{name}"), value).expect("a setting");
    }
    let mut sender = Sender::new(config.clone(), vec![0; config.sender_memory()]).expect("memory");
    let mut receiver =
        Receiver::new(config.clone(), vec![0; config.receiver_memory()]).expect("memory");
    let (mut source, mut sink) = (MemorySource::one(file.clone()), MemorySink::new());
    let report = Pair::new(&mut *network.build()).port_buffer(1 << 12).run(
        (&mut sender, &mut source),
        (&mut receiver, &mut sink),
        &mut Recorder::off(),
    );
    assert!(report.is_done());
    black_box(report);
}

fn kermit(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("4 MiB by Kermit over TCP over Ethernet");
    group.throughput(Throughput::Bytes(BYTES));
    group.sample_size(10);
    let network: Network = TRIAL.parse().expect("a network");
    let file = MemoryFile::made("sparc", Content::Random(1), BYTES as usize);
    let streaming: &[(&str, &str)] = &[("streaming", "on"), ("send-length", "4000")];
    let windows: &[(&str, &str)] =
        &[("streaming", "off"), ("send-length", "4000"), ("window", "20")];
    let short: &[(&str, &str)] = &[("streaming", "off"), ("send-length", "480"), ("window", "20")];
    for (name, settings) in [("streaming", streaming), ("windows", windows), ("480 bytes", short)] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| transfer(&network, &file, settings));
        });
    }
    group.finish();
}

criterion_group!(benches, net, kermit);
criterion_main!(benches);
