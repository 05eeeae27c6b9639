//! Kermit over TCP over a shared Ethernet: the engines that move real files, the stacks, the hosts
//! and the cable in one run, as in the streaming trials.

use wetstring_lab::net::Network;
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_lab::trace::twice;
use wetstring_lab::{End, Pair, PairReport, Recorder};
use wetstring_proto::kermit::{Config, LineFacts, Receiver, Sender};
use wetstring_proto::settings::Settings;

/// Sends a file of this many bytes from A to B.
fn send(text: &str, len: usize, settings: &[(&str, &str)], recorder: &mut Recorder) -> PairReport {
    let line = LineFacts { reliable: Some(true), clear: true, rate_bps: 0, telnet: false };
    let mut config = Config { line, ..Config::default() };
    for (name, value) in settings {
        config.set(&format!("kermit.{name}"), value).unwrap_or_else(|bad| panic!("{name}: {bad}"));
    }
    let network: Network = text.parse().unwrap_or_else(|bad| panic!("{text}: {bad}"));
    let mut element = network.build();
    let file = MemoryFile::made("sparc", Content::Random(1), len);
    let bytes = file.bytes.clone();
    let (mut source, mut sink) = (MemorySource::one(file), MemorySink::new());
    let mut sender = Sender::new(config.clone(), vec![0; config.sender_memory()]).expect("memory");
    let mut receiver =
        Receiver::new(config.clone(), vec![0; config.receiver_memory()]).expect("memory");
    let report = Pair::new(&mut *element).port_buffer(1 << 12).run(
        (&mut sender, &mut source),
        (&mut receiver, &mut sink),
        recorder,
    );
    assert!(report.is_done(), "{text} {settings:?}: {report:?}");
    assert_eq!(&*sink.received()[0].bytes, &*bytes);
    report
}

fn rate(report: &PairReport, len: usize) -> u64 {
    (len as u128 * 1_000_000_000 / report.elapsed.as_nanos()) as u64
}

const HOSTS: &str = "with host:send=200us+50ns,receive=200us+50ns,write=200us+300ns,\
                     read=200us+300ns,wake=500us,mark=1";

#[test]
fn streaming_and_windows_over_ethernet() {
    let text =
        format!("tcp:window=24K,sendbuf=24K,nagle,delack=200ms over ethernet:10M,load=20% {HOSTS}");
    let len = 1 << 20;
    let run = |settings: &[(&str, &str)]| {
        let report = send(&text, len, settings, &mut Recorder::off());
        (rate(&report, len), report.sides[End::A.index()].stats.retransmissions)
    };
    let (streaming, _) = run(&[("streaming", "on"), ("send-length", "4000")]);
    let window = [("streaming", "off"), ("send-length", "4000"), ("window", "20")];
    let (windows, again) = run(&window);
    // A window of one packet, each of two segments: a delayed acknowledgement for each of them.
    let straw = [("streaming", "off"), ("send-length", "1920"), ("window", "1")];
    let (straw, straw_again) = run(&straw);
    println!("streaming {streaming}, windows {windows}, one packet {straw} bytes/s");
    assert_eq!((again, straw_again), (0, 0));
    assert!(streaming > 100_000 && windows > 100_000, "{streaming} {windows}");
    assert!(straw < 12_000, "{straw}");
    assert!(straw * 10 < windows);
}

#[test]
fn a_transfer_is_the_same_twice() {
    let text = format!(
        "tcp:window=16K,sendbuf=16K,nagle,delack=200ms over ethernet:10M,load=10%-50%@1s + \
         path:rate=1M,delay=34ms,queue=20p,loss=0.5% {HOSTS}"
    );
    let run = |recorder: &mut Recorder| {
        let settings = [("streaming", "off"), ("send-length", "2900"), ("window", "10")];
        send(&text, 200_000, &settings, recorder)
    };
    let (report, recorder) = twice(run).unwrap_or_else(|bad| panic!("{bad}"));
    assert!(recorder.lines().iter().any(|line| line.contains(" line value loss_fwd=")));
    assert!(rate(&report, 200_000) > 2_000);
}
