//! TCP in the laboratory: rates against what theory says, exact delivery over bad networks, what
//! smoltcp does by its own rules, and the same run twice.

use crate::tcp_run;

use tcp_run::{Segment, bulk, network, rounds, talk, tapped};
use wetstring_lab::tcp::{Bulk, StopBulk};
use wetstring_lab::trace::twice;
use wetstring_lab::{End, Recorder};
use wetstring_proto::{Duration, NoTrace};

const MS: u64 = 1_000_000;

#[test]
fn a_window_over_the_round_trip_time_is_the_rate() {
    for (window, segments) in [("14600", 10), ("43800", 30)] {
        let text =
            format!("tcp:window={window},sendbuf=64K,cc=none over path:rate=100M,delay=50ms");
        let report = bulk(&text, 16 << 20);
        assert_eq!(report.stop, StopBulk::Done, "{text}");
        // One window per round trip: 100 ms, and the time of a segment and of its acknowledgement.
        // The acknowledgement goes before the process has read the segment that it is for, so one
        // segment of the window is never free.
        let round_ns = 100 * MS + 1500 * 80 + 40 * 80;
        let expected = (segments - 1) * 1460 * 1_000_000_000 / round_ns;
        let rate = report.bytes_per_s();
        assert!(rate.abs_diff(expected) * 100 < expected, "{text}: {rate}, expected {expected}");
    }
}

#[test]
fn a_bottleneck_is_the_rate() {
    for cc in ["none", "reno", "cubic"] {
        let text = format!("tcp:window=64K,sendbuf=64K,cc={cc} over path:rate=1M/100k,delay=20ms");
        let report = bulk(&text, 2 << 20);
        let expected = 125_000 * 1460 / 1500;
        let rate = report.bytes_per_s();
        assert!(rate <= expected && (expected - rate) * 100 < expected, "{text}: {rate}");
    }
}

#[test]
fn a_bad_network_delivers_exactly() {
    for cc in ["none", "reno", "cubic"] {
        for seed in 1..=5 {
            let text = format!(
                "tcp:window=32K,sendbuf=32K,nagle,delack=200ms,cc={cc},handshake over path:rate=2M,\
                 delay=20ms,queue=15p,loss=3%,lossrun=2,jitter=2ms,reorder=2%@8ms,dup=2%,cross=20% \
                 with host:send=200us,receive=200us,wake=1ms,block=4K,tick=10ms"
            );
            let mut element = network(&text).seeded(seed).build();
            let report = Bulk::new(300_000).run(&mut *element, &mut NoTrace);
            assert_eq!((report.stop, report.bytes), (StopBulk::Done, 300_000), "{text} {seed}");
            let usage = element.usage(End::A);
            assert_eq!((usage.bytes_in, usage.bytes_out), (300_000, 300_000));
            assert!(usage.dropped_bytes > 0 && usage.duplicated_bytes > 0);
        }
    }
}

#[test]
fn random_loss_makes_the_rate_of_mathis() {
    // Reno with an acknowledgement for each segment: MSS / RTT * sqrt(3/2) / sqrt(p)
    // [Mathis et al., CCR 27(3), 1997]. Timeouts are left out of the formula, not out of the run.
    let text = "tcp:window=512K,sendbuf=512K over path:rate=1G,delay=50ms,loss=0.1%,dir=fwd";
    let mut rates: Vec<u64> = (1..=8)
        .map(|seed| {
            let mut element = network(text).seeded(seed).build();
            Bulk::new(32 << 20).run(&mut *element, &mut NoTrace).bytes_per_s()
        })
        .collect();
    rates.sort_unstable();
    let mean = rates.iter().sum::<u64>() / 8;
    let expected = (1460.0 / 0.1 * (1.5f64 / 0.001).sqrt()) as u64;
    assert!(
        mean > expected * 6 / 10 && mean < expected * 12 / 10,
        "{mean} of {expected}: {rates:?}"
    );
}

/// Data segments from A.
fn data(log: &[Segment]) -> Vec<Segment> {
    log.iter().filter(|one| one.from == End::A && one.len > 0).copied().collect()
}

#[test]
fn small_segments_wait_with_nagle_only() {
    let offers = [(0, End::A, 100), (MS, End::A, 100), (2 * MS, End::A, 100)];
    let (mut tcp, log) = tapped("tcp:nagle over path:delay=20ms", |_| false);
    talk(&mut tcp, &offers, 4096, 10_000 * MS);
    let sent: Vec<_> = data(&log.borrow()).iter().map(|one| (one.at_ns / MS, one.len)).collect();
    // The second and third go together when the first is acknowledged.
    assert_eq!(sent, [(0, 100), (40, 200)]);
    let (mut tcp, log) = tapped("tcp:nodelay over path:delay=20ms", |_| false);
    talk(&mut tcp, &offers, 4096, 10_000 * MS);
    let sent: Vec<_> = data(&log.borrow()).iter().map(|one| (one.at_ns / MS, one.len)).collect();
    assert_eq!(sent, [(0, 100), (1, 100), (2, 100)]);
}

/// When B acknowledges what comes.
fn acks(text: &str, offers: &[tcp_run::Offer]) -> Vec<(u64, u32)> {
    let (mut tcp, log) = tapped(text, |_| false);
    talk(&mut tcp, offers, 4096, 60_000 * MS);
    let log = log.borrow();
    log.iter().filter(|one| one.from == End::B).map(|one| (one.at_ns / 1000, one.ack)).collect()
}

#[test]
fn an_acknowledgement_waits_for_a_second_segment_or_the_time() {
    // A byte more than a segment is acknowledged at once: smoltcp counts bytes, not segments.
    let text = "tcp:cc=none,nodelay,delack=200ms over path:delay=10ms";
    assert_eq!(acks(text, &[(0, End::A, 1460)]), [(210_000, 1460)]);
    assert_eq!(acks(text, &[(0, End::A, 1461)]), [(10_000, 1461)]);
    assert_eq!(acks(text, &[(0, End::A, 2920)]), [(10_000, 2920)]);
    // Of five full segments at one time every second is acknowledged, the last waits.
    let expected = [(10_000, 2920), (10_000, 5840), (210_000, 7300)];
    assert_eq!(acks(text, &[(0, End::A, 7300)]), expected);
    // Several small segments are acknowledged together, by the time of the first.
    let small = [(0, End::A, 100), (50 * MS, End::A, 100), (100 * MS, End::A, 100)];
    assert_eq!(acks(text, &small), [(210_000, 300)]);
    assert_eq!(acks("tcp: over path:delay=10ms", &small).len(), 3);
}

#[test]
fn ticks_beat_all_the_time() {
    // An acknowledgement that waits goes with the next beat of B's clock: the distances of such
    // acknowledgements are whole beats, whenever the segments came.
    let text = "tcp:cc=none,delack=200ms over path:delay=10ms with host-b:tick=200ms";
    let times: Vec<u64> = (0..20).map(|i| i * 731 * MS).collect();
    let offers: Vec<_> = times.iter().map(|at| (*at, End::A, 100)).collect();
    let acks = acks(text, &offers);
    assert_eq!(acks.len(), 20);
    let mut waits = Vec::new();
    for (sent, (at, _)) in times.iter().zip(&acks) {
        assert_eq!((at - acks[0].0) % 200_000, 0, "a whole number of beats");
        waits.push(at - sent / 1000 - 10_000);
    }
    assert!(waits.iter().all(|wait| *wait <= 200_000), "{waits:?}");
    assert!(waits.iter().any(|wait| *wait < 60_000) && waits.iter().any(|wait| *wait > 140_000));
}

#[test]
fn a_packet_of_two_segments_costs_a_delayed_acknowledgement() {
    // The straw in the streaming trials: a Kermit packet that is longer than a segment, a window of
    // one packet, Nagle at one end and delayed acknowledgements at the other.
    let text = "tcp:nagle,delack=200ms over path:rate=10M,delay=1ms";
    let times = rounds(&mut *network(text).build(), 1920, 10, 20);
    let wire = (1500 + 500 + 50 + 40) * 800;
    for time in &times[1..] {
        // There, the wait, an acknowledgement back, the rest there, the answer back.
        let expected = 4 * MS + 200 * MS + wire;
        assert!(time.abs_diff(expected) < 3_000, "{times:?}, expected {expected}");
    }
    // Of one segment, or without Nagle: a round trip and no more.
    let one = rounds(&mut *network(text).build(), 1460, 10, 20);
    assert!(one[1..].iter().all(|time| *time < 4 * MS), "{one:?}");
    let text = "tcp:nodelay,delack=200ms over path:rate=10M,delay=1ms";
    let free = rounds(&mut *network(text).build(), 1920, 10, 20);
    assert!(free[1..].iter().all(|time| *time < 5 * MS), "{free:?}");
}

#[test]
fn a_lost_last_segment_comes_again_after_a_second() {
    let (mut tcp, log) = tapped("tcp: over path:delay=10ms", |n| n < 3);
    let came = talk(&mut tcp, &[(0, End::A, 1000)], 4096, 100_000 * MS);
    // The least timeout of RFC 6298, and twice as long each time.
    let sent: Vec<u64> = data(&log.borrow()).iter().map(|one| one.at_ns / MS).collect();
    assert_eq!(sent, [0, 1000, 3000, 7000]);
    assert_eq!(came.len(), 1);
}

#[test]
fn three_duplicate_acknowledgements_bring_a_segment_again() {
    let (mut tcp, log) =
        tapped("tcp:cc=none,window=64K,sendbuf=64K over path:delay=10ms", |n| n == 4);
    let came = talk(&mut tcp, &[(0, End::A, 29_200)], 1 << 16, 100_000 * MS);
    let sent = data(&log.borrow());
    let again: Vec<_> = sent.iter().filter(|one| one.seq == 4 * 1460).collect();
    assert_eq!(again.len(), 2, "sent twice");
    assert_eq!(again[1].at_ns / MS, 20, "a round trip later");
    assert_eq!(sent.len(), 21, "and nothing else");
    assert_eq!(came.last().map(|(at, ..)| at / MS), Some(30));
}

#[test]
fn the_first_flight_is_two_kilobytes() {
    // smoltcp begins with 2048 bytes, whatever the segment size; RFC 5681 has 2 to 4 segments.
    for cc in ["reno", "cubic"] {
        let (mut tcp, log) =
            tapped(&format!("tcp:nodelay,cc={cc} over path:delay=100ms"), |_| false);
        talk(&mut tcp, &[(0, End::A, 20_000)], 1 << 16, 100 * MS);
        let first: usize = data(&log.borrow()).iter().map(|one| one.len).sum();
        assert_eq!(first, 2048);
    }
    let (mut tcp, log) = tapped("tcp:nodelay,cc=none over path:delay=100ms", |_| false);
    talk(&mut tcp, &[(0, End::A, 20_000)], 1 << 16, 100 * MS);
    assert_eq!(data(&log.borrow()).iter().map(|one| one.len).sum::<usize>(), 20_000);
}

#[test]
fn a_handshake_takes_a_round_trip() {
    let came = |text: &str| {
        let came = talk(&mut *network(text).build(), &[(5 * MS, End::A, 10)], 4096, 60_000 * MS);
        came.first().expect("ten bytes").0 / MS
    };
    assert_eq!(came("tcp: over path:delay=30ms"), 35);
    assert_eq!(came("tcp:handshake over path:delay=30ms"), 95);
    // The end that is called may speak first.
    let answer = talk(
        &mut *network("tcp:handshake over path:delay=30ms").build(),
        &[(5 * MS, End::B, 10)],
        4096,
        60_000 * MS,
    );
    assert_eq!(answer.first().map(|(at, end, _)| (at / MS, *end)), Some((125, End::A)));
}

#[test]
fn a_reader_that_does_not_read_stops_the_sender() {
    let mut element = network("tcp:window=8K,sendbuf=8K over path:delay=5ms").build();
    let mut cx = wetstring_proto::Cx { now: wetstring_proto::Instant::ZERO, trace: &mut NoTrace };
    let bytes = vec![7; 100_000];
    let mut sent = 0;
    let mut came = 0;
    let mut into = vec![0; 1 << 16];
    // Half a minute without reads at B: the process has one read call's worth, the receive
    // buffer and the send buffer are full, and probes go to and fro.
    for second in 0..3000 {
        cx.now = wetstring_proto::Instant(second * 10 * MS);
        sent += element.offer(&mut cx, End::A, &bytes[sent..]);
    }
    assert!((16_384..=32_768).contains(&sent), "{sent}");
    for second in 3000..6000 {
        cx.now = wetstring_proto::Instant(second * 10 * MS);
        sent += element.offer(&mut cx, End::A, &bytes[sent..]);
        came += element.emit(&mut cx, End::B, &mut into);
    }
    assert_eq!((sent, came), (100_000, 100_000));
}

#[test]
fn both_directions_at_once() {
    let mut element = network("tcp:nagle,delack=200ms over ethernet:10M,load=10%").build();
    let offers = [(0, End::A, 200_000), (0, End::B, 300_000)];
    let came = talk(&mut *element, &offers, 8192, 60_000 * MS);
    let total = |end: End| came.iter().filter(|one| one.1 == end).map(|one| one.2).sum::<usize>();
    assert_eq!((total(End::B), total(End::A)), (200_000, 300_000));
}

#[test]
fn runs_are_the_same_twice_and_do_not_depend_on_chunks() {
    let text = "tcp:window=16K,sendbuf=16K,nagle,delack=200ms over ethernet:10M,load=20% + \
                path:rate=3M,delay=8ms,queue=20p,loss=0.5%,cross=30% \
                with host:send=300us+50ns,receive=200us+50ns,read=50us,wake=500us,tick=10ms,mark=1";
    let run = |recorder: &mut Recorder| {
        let mut element = network(text).build();
        Bulk::new(500_000).run(&mut *element, &mut recorder.of("net"))
    };
    let (report, recorder) = twice(run).unwrap_or_else(|bad| panic!("{bad}"));
    assert_eq!(report.stop, StopBulk::Done);
    assert!(recorder.lines().iter().any(|line| line.contains(" net value loss_fwd=")));
    assert!(recorder.lines().iter().any(|line| line.contains(" net value collision_")));

    let offers = [(0, End::A, 60_000), (40 * MS, End::B, 30_000), (700 * MS, End::A, 20_000)];
    let whole = talk(&mut *network(text).build(), &offers, 1 << 16, 60_000 * MS);
    for chunk in [1, 100, 5000] {
        let cut = talk(&mut *network(text).build(), &offers, chunk, 60_000 * MS);
        // The process may write ahead as much as the send buffer takes, however it is cut.
        assert!(whole == cut, "in chunks of {chunk}");
    }
    let other = talk(&mut *network(text).seeded(2).build(), &offers, 1 << 16, 60_000 * MS);
    assert!(whole != other, "another seed, another run");
}

#[test]
fn hosts_limit_the_rate() {
    let rate = |hosts: &str| {
        let text =
            format!("tcp:window=64K,sendbuf=64K over path:rate=100M,delay=100us with {hosts}");
        let report = bulk(&text, 4 << 20);
        assert_eq!(report.stop, StopBulk::Done, "{text}");
        report.bytes_per_s()
    };
    let near = |rate: u64, expected: u64| {
        assert!(rate.abs_diff(expected) * 50 < expected, "{rate}, expected {expected}");
    };
    // The sender has a packet to send and an acknowledgement to receive for each segment.
    near(rate("host-a:send=1ms,receive=500us"), 1460 * 2000 / 3);
    // The receiver has both the other way round, and its process reads: per byte.
    near(rate("host-b:receive=1ms,send=100us,read=0s+100ns"), 1460 * 1_000_000 / (1100 + 146));
    // The disk of either end.
    near(rate("host-a:disk=256K,block=8K"), 262_144);
    near(rate("host-b:disk=256K,block=8K"), 262_144);
    // Both on one processor: write calls of 4 KiB, and the packets.
    near(
        rate("host-a:send=500us,write=2ms,block=4K"),
        4096 * 1_000_000 / (2000 + 500 * 4096 / 1460),
    );
}

#[test]
fn ftp_is_what_disk_and_network_give() {
    let text = "tcp:window=24K,sendbuf=24K,nagle,delack=200ms over ethernet:10M \
                with host:send=400us,receive=400us,block=8K,disk=300K";
    let mut tcp = network(text);
    let model = tcp.tcp.take().expect("tcp");
    let mut element = tcp.build_tcp(&model);
    let report = Bulk::new(4 << 20).run(&mut element, &mut NoTrace);
    assert_eq!(report.stop, StopBulk::Done);
    let rate = report.bytes_per_s();
    assert!((290 * 1024..=300 * 1024).contains(&rate), "{rate}");
    assert_eq!(report.cps(), report.bytes / report.elapsed.as_secs());
    let [a, b] = End::BOTH.map(|end| element.host_usage(end));
    assert_eq!(a.disk_ns, (4u64 << 20) * 1_000_000_000 / (300 * 1024));
    assert_eq!(a.disk_ns, b.disk_ns);
    assert_eq!(a.writes, 512);
    assert!(a.send_ns >= 2873 * 400_000 && b.receive_ns >= 2873 * 400_000);
    let limit = Bulk { time_limit: Duration::from_secs(2), ..Bulk::new(4 << 20) };
    assert_eq!(limit.run(&mut *network(text).build(), &mut NoTrace).stop, StopBulk::TimeLimit);
}
