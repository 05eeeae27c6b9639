//! Hosts against closed forms: over a serial line, over datagrams, each cost by itself and together.

use crate::net_run;
use crate::tcp_run;

use net_run::{carry, row};
use tcp_run::{network, talk};
use wetstring_lab::host::{HostModel, Hosted};
use wetstring_lab::net::{Path, PathModel};
use wetstring_lab::{Element, End, LineModel, Serial};
use wetstring_proto::NoTrace;

const MS: u64 = 1_000_000;
/// A character of ten bits at 9600 bit/s.
const CHAR: u64 = 10 * 1_000_000_000 / 9600;

/// When the lots come that are offered at A.
fn times(text: &str, offers: &[tcp_run::Offer]) -> Vec<(u64, usize)> {
    let came = talk(&mut *network(text).build(), offers, 1 << 16, u64::MAX - 1);
    came.iter().filter(|one| one.1 == End::B).map(|(at, _, len)| (*at, *len)).collect()
}

#[test]
fn a_free_host_adds_nothing_but_the_moment_of_the_call() {
    let bare = times("line:9600,delay=7ms", &[(0, End::A, 30)]);
    let hosted = times("line:9600,delay=7ms with host:block=64", &[(0, End::A, 30)]);
    assert_eq!(bare.len(), 30);
    // A host that takes no time at all is not there.
    assert_eq!(bare, times("line:9600,delay=7ms with host-b:wake=0s", &[(0, End::A, 30)]));
    let other = times("line:9600,delay=7ms with host-b:block=64", &[(0, End::A, 30)]);
    assert_eq!(bare, other);
    for ((bare, _), (hosted, _)) in bare.iter().zip(&hosted) {
        // What is offered at one time goes down when the time has continued.
        assert_eq!(bare + 1, *hosted);
    }
}

#[test]
fn calls_cost_before_and_behind_a_line() {
    let text = "line:0 with host-a:write=3ms+10us with host-b:read=5ms+20us";
    let end = 3 * MS + 100 * 10_000;
    let read = end + 5 * MS + 100 * 20_000;
    assert_eq!(times(text, &[(0, End::A, 100)]), [(read, 100)]);
    // The process reads one lot after the other; what comes meanwhile is one lot.
    let text = "line:0 with host-b:read=5ms";
    let offers = [(0, End::A, 10), (MS, End::A, 10), (2 * MS, End::A, 10)];
    assert_eq!(times(text, &offers), [(5 * MS, 10), (10 * MS, 20)]);
    // The other direction pays at the peer.
    let came = talk(
        &mut *network("line:0 with host-b:write=2ms with host-a:read=1ms").build(),
        &[(0, End::B, 10)],
        64,
        u64::MAX - 1,
    );
    assert_eq!(came, [(3 * MS, End::A, 10)]);
}

#[test]
fn a_sleeping_process_wakes_late_a_busy_one_does_not_sleep() {
    let text = "line:0 with host-b:wake=4ms,read=3ms";
    let offers = [(0, End::A, 10), (5 * MS, End::A, 10), (100 * MS, End::A, 10)];
    // The second comes while the first is read, and needs no wake.
    assert_eq!(times(text, &offers), [(7 * MS, 10), (10 * MS, 10), (107 * MS, 10)]);
}

#[test]
fn a_driver_gathers_characters() {
    let text = "line:9600 with host-b:gather=10@50ms";
    // Ten at a time; the last four when 50 ms have passed since the first of them.
    let came = times(text, &[(0, End::A, 24)]);
    let nth = |n: u64| n * 10_000_000_000 / 9600;
    assert_eq!(came, [(nth(10), 10), (nth(20), 10), (nth(21) + 50 * MS, 4)]);
    // Timers of the host run out with its ticks.
    let came = times("line:9600 with host-b:gather=10@5ms,tick=10ms", &[(0, End::A, 4)]);
    assert_eq!(came, [(10 * MS, 4)]);
    assert!(nth(1) + 5 * MS < 10 * MS && CHAR == 1_041_666);
}

#[test]
fn a_disk_takes_its_time_and_the_processor_is_free() {
    // 1000 bytes at 1 MiB/s, at both ends.
    let disk = 1000 * 1_000_000_000 / (1 << 20);
    let came = times("line:0 with host:disk=1M", &[(0, End::A, 1000)]);
    assert_eq!(came, [(2 * disk, 1000)]);
}

#[test]
fn marks_and_blocks_cut_calls() {
    // Three Kermit packets offered at once are three calls, and each goes down when it is through.
    let model: HostModel = "write=1ms,mark=1".parse().expect("a host");
    let line = Serial::new(&LineModel::clean(0));
    let mut element = Hosted::new(Box::new(line), &[model, HostModel::default()]);
    let mut cx = wetstring_proto::Cx { now: wetstring_proto::Instant::ZERO, trace: &mut NoTrace };
    let bytes = b"\x01aaaa\x01bb\x01cccccc";
    // In two offers at one time: the cut does not matter.
    assert_eq!(element.offer(&mut cx, End::A, &bytes[..3]), 3);
    assert_eq!(element.offer(&mut cx, End::A, &bytes[3..]), 12);
    let mut lots = Vec::new();
    let mut into = [0; 64];
    while let Some(next) = element.next(End::B) {
        cx.now = next;
        let len = element.emit(&mut cx, End::B, &mut into);
        if len > 0 {
            lots.push((next.as_nanos() / MS, into[..len].to_vec()));
        }
    }
    let expected =
        [(1, b"\x01aaaa".to_vec()), (2, b"\x01bb".to_vec()), (3, b"\x01cccccc".to_vec())];
    assert_eq!(lots, expected);
    assert_eq!(element.host_usage(End::A).writes, 3);
    assert_eq!(element.host_usage(End::A).write_ns, 3 * MS);
    let came = times("line:0 with host-a:write=1ms,block=40", &[(0, End::A, 100)]);
    assert_eq!(came, [(MS, 40), (2 * MS, 40), (3 * MS, 20)]);
}

#[test]
fn a_processor_loads_its_card_and_reads_it() {
    let run = |text: &str, offers: &[net_run::Offer]| {
        let came = carry(&mut *network(text).build(), offers, None, &mut NoTrace);
        came.iter().map(|(at, end, ..)| (*at, *end)).collect::<Vec<_>>()
    };
    // Of 6 ms the last two are the card's, which sends when they are over: not 8 ms in all.
    let card = "nic:send=2ms,receive=2ms,shared,wire=0";
    let text = format!("{card} with host-a:send=6ms,load=2ms");
    let two = row(End::A, 100, [0, 0]);
    assert_eq!(run(&text, &two), [(6 * MS, End::B), (12 * MS, End::B)]);
    assert_eq!(run(&format!("{card} with host-a:send=6ms"), &two[..1]), [(8 * MS, End::B)]);
    // A processor that reads the card itself takes 6 ms for each packet; the card holds one
    // meanwhile, and a third that comes before the second has been read is lost.
    let text = "nic:receive=2ms,shared,held,wire=0 with host-a:receive=6ms,unload";
    let at = |times: &[u64]| row(End::B, 100, times.iter().map(|time| time * MS));
    let came =
        |times: &[u64]| run(text, &at(times)).iter().map(|(at, _)| *at / MS).collect::<Vec<_>>();
    assert_eq!(came(&[1, 4]), [7, 13]);
    assert_eq!(came(&[1, 4, 8]), [7, 13], "read from 7 to 9");
    assert_eq!(came(&[1, 4, 10]), [7, 13, 19]);
    // One that waits is overwritten by one that is sent.
    let mut offers = at(&[1, 4]);
    offers.push((5 * MS, End::A, 100));
    let ends: Vec<End> = run(text, &offers).iter().map(|(_, end)| *end).collect();
    assert_eq!(ends, [End::B, End::A]);
}

#[test]
fn datagrams_pay_for_every_step() {
    let run = |text: &str, times: &[u64]| {
        let offers = row(End::A, 1000, times.iter().copied());
        let came = carry(&mut *network(text).build(), &offers, None, &mut NoTrace);
        came.iter().map(|(at, ..)| *at).collect::<Vec<_>>()
    };
    // One processor: the packets go through it one after the other.
    assert_eq!(
        run("path:delay=10ms with host-a:send=1ms+1us", &[0, 0, 0]),
        [12 * MS, 14 * MS, 16 * MS]
    );
    assert_eq!(run("path:delay=10ms with host-b:receive=1ms+1us", &[0, 0]), [12 * MS, 14 * MS]);
    let text =
        "path:delay=10ms with host-a:write=2ms,send=1ms with host-b:receive=3ms,wake=4ms,read=5ms";
    assert_eq!(run(text, &[0]), [25 * MS]);
    // The second is in the driver when the first has been read: receive 13 to 16, 16 to 19; read 20
    // to 25, and 25 to 30 with no wake.
    assert_eq!(run(text, &[0, 0]), [25 * MS, 30 * MS]);
    // Picoseconds are not lost: a thousand packets of 1000 bytes at 1.5 ps a byte.
    let many = run("path: with host-a:send=0s+1ps", &vec![0; 64]);
    assert_eq!(many.last(), Some(&64));
    let usage = |text: &str| {
        let model: HostModel = text.parse().expect("a host");
        let path = Path::new(&PathModel::default());
        let mut element = Hosted::new(Box::new(path), &[model; 2]);
        carry(&mut element, &row(End::A, 500, [0, MS]), None, &mut NoTrace);
        [element.host_usage(End::A), element.host_usage(End::B)]
    };
    let [a, b] = usage("send=10us,receive=20us,write=30us,read=40us,disk=500K,wake=5us");
    assert_eq!((a.send_ns, a.write_ns, a.writes), (20_000, 60_000, 2));
    // The process is still at the disk when the second comes: it wakes once.
    assert_eq!((b.receive_ns, b.read_ns, b.reads, b.wake_ns), (40_000, 80_000, 2, 5_000));
    assert_eq!(a.disk_ns, 1000 * 1_000_000_000 / 512_000);
    assert_eq!(a.processor_ns(), 80_000);
}
