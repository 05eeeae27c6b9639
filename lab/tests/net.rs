//! Networks against closed forms: every arrival to the nanosecond where chance has no part in it,
//! and the laws of probability where it has.

use crate::net_run;

use net_run::{Arrival, Offer, carry, network, row};
use wetstring_lab::trace::twice;
use wetstring_lab::{End, Random, Recorder};
use wetstring_proto::{NoTrace, TraceEvent};

fn run(text: &str, offers: &[Offer]) -> Vec<Arrival> {
    carry(&mut *network(text), offers, None, &mut NoTrace)
}

fn times(came: &[Arrival]) -> Vec<u64> {
    came.iter().map(|(at, ..)| *at).collect()
}

/// Bits on the cable of a packet, times 100 ns.
fn frame_ns(len: u64) -> u64 {
    (len.max(46) + 26) * 8 * 100
}

#[test]
fn an_ethernet_frame_takes_its_time() {
    let offers = [(7_000, End::A, 1500), (10_000_000, End::B, 46), (20_000_000, End::A, 10)];
    let came = run("ethernet:10M", &offers);
    assert_eq!(
        came,
        [
            (7_000 + 1_220_800 + 5_000, End::B, 0, 1500),
            (10_000_000 + 57_600 + 5_000, End::A, 1, 46),
            (20_000_000 + 57_600 + 5_000, End::B, 2, 10),
        ]
    );
}

#[test]
fn ethernet_frames_follow_each_other_with_a_gap() {
    let came = run("ethernet:10M,span=0s,queue=7", &row(End::A, 1000, [0; 100]));
    let expected: Vec<u64> = (0..100).map(|i| (i + 1) * frame_ns(1000) + i * 9_600).collect();
    assert_eq!(times(&came), expected);
    // A rate that does not divide a second carries its remainder.
    let came = run("ethernet:3M,span=0s", &row(End::A, 1000, [0; 30]));
    let bits = |i: u64| (i + 1) * 1026 * 8 + i * 96;
    for (index, at) in times(&came).iter().enumerate() {
        assert_eq!(*at, bits(index as u64) * 1_000_000_000 / 3_000_000, "frame {index}");
    }
}

#[test]
fn an_ethernet_never_carries_two_frames_at_once() {
    let mut random = Random::stream(1, "test", "offers");
    let mut offers: Vec<Offer> = (0..2000)
        .map(|_| {
            let end = random.pick(&End::BOTH);
            (random.below(3_000_000_000), end, 8 + random.below(1492) as usize)
        })
        .collect();
    offers.sort_unstable_by_key(|(at, ..)| *at);
    for text in ["ethernet:10M", "ethernet:10M,load=30%", "ethernet:10M,load=70%,span=20us"] {
        let mut recorder = Recorder::keep();
        let came = carry(&mut *network(text), &offers, None, &mut recorder.of("net"));
        let mut indices: Vec<usize> = came.iter().map(|(_, _, index, _)| *index).collect();
        indices.sort_unstable();
        indices.dedup();
        let lines = |word: &str| recorder.lines().iter().filter(|line| line.contains(word)).count();
        // 16 attempts are not always enough on a cable that is asked for more than it has.
        let given_up = lines("excessive_collisions");
        assert!(given_up <= if text.contains("70%") { 40 } else { 0 }, "{text}: {given_up}");
        let all = 2000 - given_up;
        assert_eq!((indices.len(), came.len()), (all, all), "{text}: each comes once");
        assert!(lines(" value collision_") > 0, "{text}");
        for pair in came.windows(2) {
            let begins = pair[1].0 - frame_ns(pair[1].3 as u64);
            assert!(begins >= pair[0].0 + 9_600, "{text}: {pair:?}");
            assert!(pair[1].0 > offers[pair[1].2].0, "{text}: not before it was offered");
        }
    }
}

#[test]
fn two_stations_that_begin_together_collide_and_both_get_through() {
    let mut recorder = Recorder::keep();
    let offers = [(0, End::A, 1500), (3_000, End::B, 1500)];
    let came = carry(&mut *network("ethernet:10M"), &offers, None, &mut recorder.of("net"));
    assert_eq!(came.len(), 2);
    let collisions = recorder.lines().iter().filter(|line| line.contains("collision_fwd")).count();
    assert!(collisions >= 1);
    // After the time that the signal needs, the second hears the first.
    let mut recorder = Recorder::keep();
    let offers = [(0, End::A, 1500), (5_000, End::B, 1500)];
    let came = carry(&mut *network("ethernet:10M"), &offers, None, &mut recorder.of("net"));
    assert_eq!(recorder.lines().len(), 0);
    let first = frame_ns(1500) + 5_000;
    assert_eq!(times(&came), [first, first + 9_600 + frame_ns(1500)]);
}

#[test]
fn a_loaded_ethernet_leaves_what_the_others_do_not_take() {
    // A station that always has a frame, and others: what they ask for they nearly get; collisions
    // take a part of the rest.
    for (load, least, most) in [(10, 80, 91), (30, 55, 71), (60, 20, 45)] {
        let text = format!("ethernet:10M,load={load}%");
        let came = run(&text, &row(End::A, 1500, vec![0; 4000]));
        let last = came.last().expect("frames").0;
        let share = 4000 * (frame_ns(1500) + 9_600) * 100 / last;
        assert!((least..most).contains(&share), "{text}: {share} %");
    }
}

#[test]
fn a_path_is_a_wire_and_a_delay() {
    let offers = row(End::A, 1480, [0, 0, 0, 50_000_000]);
    let came = run("path:rate=1.5M/64k,delay=34ms,overhead=20", &offers);
    assert_eq!(times(&came), [42_000_000, 50_000_000, 58_000_000, 92_000_000]);
    let came = run("path:rate=1.5M/64k,delay=34ms", &row(End::B, 80, [0, 1_000]));
    assert_eq!(times(&came), [44_000_000, 54_000_000]);
    assert_eq!(times(&run("path:delay=1s", &row(End::A, 100, [5, 5, 6]))), {
        [1_000_000_005, 1_000_000_005, 1_000_000_006]
    });
    // 7 bit/s: remainders are carried.
    let came = run("path:rate=7", &row(End::A, 1, [0; 7]));
    let expected: Vec<u64> = (1..=7).map(|i| i * 8_000_000_000 / 7).collect();
    assert_eq!(times(&came), expected);
}

#[test]
fn a_full_queue_drops_the_tail() {
    let indices = |came: &[Arrival]| came.iter().map(|(_, _, index, _)| *index).collect::<Vec<_>>();
    let burst = row(End::A, 1000, [0; 100]);
    let mut path = network("path:rate=8M,queue=20p");
    let came = carry(&mut *path, &burst, None, &mut NoTrace);
    // One under way and twenty that wait.
    assert_eq!(indices(&came), (0..21).collect::<Vec<_>>());
    assert_eq!(path.usage(End::A).dropped_bytes, 79_000);
    assert_eq!(path.usage(End::A).bytes_out, 21_000);
    assert_eq!(path.usage(End::A).busy_ns, 21_000_000);
    assert_eq!(run("path:rate=8M,queue=20480", &burst).len(), 21);
    assert_eq!(run("path:rate=8M,queue=0p", &burst).len(), 1);
    // As much as the wire carries always gets through, with no queue at all.
    let paced = row(End::A, 1000, (0..100).map(|i| i * 1_000_000));
    assert_eq!(run("path:rate=8M,queue=0p", &paced).len(), 100);
}

#[test]
fn the_wait_in_the_queue_is_counted() {
    // A packet takes 1 ms: the first three wait 0, 1 and 2 ms, the fourth finds the queue full, the last one finds it empty.
    let offers = [(0, End::A, 1500), (0, End::A, 1500), (0, End::A, 1500), (0, End::A, 1500)];
    let mut path = network("path:rate=12M,delay=5ms,queue=2p");
    let came = carry(
        &mut *path,
        &[&offers[..], &[(9_000_000, End::A, 1500)]].concat(),
        None,
        &mut NoTrace,
    );
    assert_eq!(came.len(), 4);
    let usage = path.usage(End::A);
    assert_eq!((usage.queued_packets, usage.queued_ns), (4, 3_000_000));
    assert_eq!(usage.mean_queueing().as_micros(), 750);
    assert_eq!(path.usage(End::B).queued_packets, 0);
}

#[test]
fn losses_duplicates_and_order() {
    let offers = row(End::A, 100, (0..100_000).map(|i| i * 1_000_000));
    let came = run("path:delay=10ms,loss=1%", &offers);
    assert!((98_900..99_100).contains(&came.len()), "{}", came.len());
    let came = run("path:delay=10ms,loss=1%,dir=rev", &offers);
    assert_eq!(came.len(), 100_000);
    let came = run("path:delay=10ms,loss=1%,lossrun=5", &offers);
    assert!((98_700..99_300).contains(&came.len()), "{}", came.len());
    let gaps = came.windows(2).filter(|pair| pair[1].2 > pair[0].2 + 1).count();
    let lost = 100_000 - came.len();
    assert!((lost / 6..lost / 4).contains(&gaps), "{lost} lost in {gaps} runs");
    let came = run("path:delay=10ms,dup=1%", &offers);
    assert!((100_900..101_100).contains(&came.len()), "{}", came.len());

    let came = run("path:delay=10ms,jitter=7ms", &offers);
    assert!(came.is_sorted_by_key(|(_, _, index, _)| *index), "jitter keeps the order");
    let delays: Vec<u64> = came.iter().map(|(at, _, index, _)| at - offers[*index].0).collect();
    assert!(delays.iter().all(|delay| (10_000_000..=17_000_000).contains(delay)));
    assert!(delays.iter().any(|delay| *delay > 16_900_000));

    let came = run("path:delay=10ms,stall=8ms@50ms", &offers);
    assert!(came.is_sorted_by_key(|(_, _, index, _)| *index), "a stall keeps the order");
    let held: Vec<u64> = came.iter().map(|(at, _, index, _)| at - offers[*index].0).collect();
    assert!(held.iter().all(|delay| (10_000_000..=18_000_000).contains(delay)));
    // They last 4 ms on average, one begins 50 ms after the last has ended, and what they hold comes at once.
    let late = held.iter().filter(|delay| **delay > 10_000_000).count();
    assert!((6_500..8_500).contains(&late), "{late}");
    let together = came.windows(2).filter(|pair| pair[0].0 + 2_000 == pair[1].0).count();
    assert!((4_500..7_000).contains(&together), "{together}");

    let came = run("path:delay=10ms,reorder=2%@5500us", &offers);
    let late: Vec<u64> = came
        .iter()
        .map(|(at, _, index, _)| at - offers[*index].0)
        .filter(|delay| *delay != 10_000_000)
        .collect();
    assert!((1_900..2_100).contains(&late.len()), "{}", late.len());
    assert!(late.iter().all(|delay| *delay == 15_500_000));
    assert!(!came.is_sorted_by_key(|(_, _, index, _)| *index));
}

#[test]
fn one_fault_does_not_disturb_another() {
    let offers = row(End::A, 100, (0..5_000).map(|i| i * 1_000_000));
    let lost = |text: &str| {
        let mut recorder = Recorder::keep();
        carry(&mut *network(text), &offers, None, &mut recorder.of("net"));
        let lines = recorder.lines().iter();
        lines.filter(|line| line.contains("loss_")).cloned().collect::<Vec<_>>()
    };
    let alone = lost("path:delay=10ms,loss=1%");
    assert!(!alone.is_empty());
    assert_eq!(alone, lost("path:delay=10ms,loss=1%,jitter=5ms,dup=10%,reorder=10%@1ms"));
    assert_ne!(alone, lost("path:delay=10ms,loss=1%,seed=2"));
}

#[test]
fn cross_traffic_makes_the_wait_of_pollaczek_and_khinchine() {
    // Mean wait of a queue with Poisson arrivals: sum of share * length^2, times rate of arrivals,
    // over 2 (1 - load); in byte times of the wire.
    let mut random = Random::stream(9, "test", "probes");
    let mut at = 0;
    let offers: Vec<Offer> = (0..100_000)
        .map(|_| {
            at += 20_000_000 + random.below(60_000_000);
            (at, End::A, 8)
        })
        .collect();
    for load in [30, 60] {
        let text = format!("path:rate=8M,cross={load}%");
        let came = run(&text, &offers);
        let wait = came.iter().map(|(at, _, index, _)| at - offers[*index].0 - 8_000).sum::<u64>();
        let wait = wait / came.len() as u64;
        let mean = (50 * 40 + 20 * 576 + 30 * 1500) as f64 / 100.0;
        let square = (50 * 40 * 40 + 20 * 576 * 576 + 30 * 1500 * 1500) as f64 / 100.0;
        let rho = load as f64 / 100.0;
        let expected = rho / mean * square / (2.0 * (1.0 - rho)) * 1000.0;
        let ratio = wait as f64 / expected;
        assert!((0.96..1.04).contains(&ratio), "{text}: {wait} ns, expected {expected}");
    }
}

const FRAME: u64 = 21_220_000;

#[test]
fn a_reservation_takes_its_steps() {
    // Asked for at the end of frame 0, granted 600 ms later, carried by the first whole frame from
    // there: frame 30, which ends at 31 frames; and 270 ms for the hop.
    let came = run("slotted:wideband", &row(End::A, 1482, [0]));
    assert_eq!(times(&came), [31 * FRAME + 270_000_000]);
    // Both ways: the 1.8 s of the source, within a frame for each.
    let back = run("slotted:wideband", &row(End::B, 100, [came[0].0]));
    let rtt = back[0].0;
    assert!((1_800_000_000..1_800_000_000 + 4 * FRAME).contains(&rtt), "{rtt}");
}

#[test]
fn a_slotted_channel_that_is_asked_for_is_full() {
    // Two packets of 1482 bytes to a frame, whole frames at a time, no frame empty.
    let came = run("slotted:wideband", &row(End::A, 1482, [0; 400]));
    for (index, at) in times(&came).iter().enumerate() {
        assert_eq!(*at, (31 + index as u64 / 2) * FRAME + 270_000_000);
    }
    // One of 1600 leaves no room for a second.
    let came = run("slotted:wideband", &row(End::A, 1600, [0; 10]));
    assert_eq!(came[9].0 - came[0].0, 9 * FRAME);
    assert_eq!(run("slotted:wideband", &row(End::A, 3007, [0; 3])).len(), 0);
}

#[test]
fn missed_requests_delay_by_steps_and_reorder() {
    let offers = row(End::A, 100, (0..5_000).map(|i| i * FRAME));
    let came = run("slotted:wideband,miss=10%", &offers);
    assert_eq!(came.len(), 5_000);
    let least = 600_000_000 + 270_000_000 + FRAME;
    let mut steps = [0; 6];
    for (at, _, index, _) in &came {
        let delay = at - offers[*index].0 - least;
        assert!(delay % 600_000_000 <= 2 * FRAME, "{delay}");
        steps[(delay / 600_000_000) as usize] += 1;
    }
    assert!((4_400..4_600).contains(&steps[0]), "{steps:?}");
    assert!((390..510).contains(&steps[1]), "{steps:?}");
    assert!(!came.is_sorted_by_key(|(_, _, index, _)| *index));
}

#[test]
fn overload_collapses_a_station() {
    // 5 packets per 50 ms are more than 2 per 21.22 ms: the queue grows until the station is down.
    let offers = row(End::A, 1482, (0..2_000).map(|i| i / 5 * 50_000_000));
    let kept = run("slotted:wideband", &offers).len();
    assert_eq!(kept, 2_000);
    let text = "slotted:wideband,queue=96K,collapse=10s";
    let mut recorder = Recorder::keep();
    let came = carry(&mut *network(text), &offers, None, &mut recorder.of("net"));
    let full = recorder.lines().iter().filter(|line| line.contains("queue_full_fwd")).count();
    assert!((1..=2).contains(&full), "{full}");
    // 100 packets a second are lost while it is down, and all that waited.
    let lost = 2_000 - came.len();
    assert!((1_000 + 50..2_000).contains(&lost), "{lost}");
    let paced = row(End::A, 1482, (0..2_000).map(|i| i / 5 * 55_000_000));
    assert_eq!(run(text, &paced).len(), 2_000, "as the tests of 1987 were paced");
}

#[test]
fn a_card_with_one_buffer_is_deaf_while_it_is_busy() {
    // 6.0 ms to send and 6.1 ms to receive a datagram of 1482 bytes.
    let send = 1482 * 4_049;
    let receive = 1482 * 4_116;
    assert!((5_990_000..6_010_000).contains(&send) && (6_090_000..6_110_000).contains(&receive));
    let frame = frame_ns(1482);
    let came = run("nic:3c500", &row(End::A, 1482, [0, 0]));
    // Loaded, then the cable takes over; the second when the first is out.
    assert_eq!(times(&came), [send - frame, 2 * send - frame]);
    let came = run("nic:3c500", &row(End::B, 1482, [2_000_000]));
    assert_eq!(times(&came), [2_000_000 + receive]);
    // A gateway's second packet comes 1.2 ms after the first, and is lost.
    let came = run("nic:3c500", &row(End::B, 1482, [2_000_000, 3_200_000]));
    assert_eq!(came.len(), 1);
    // The next may begin to come in when the first is read and the card is armed again.
    let armed = 2_000_000 + receive + 100_000;
    assert_eq!(run("nic:3c500", &row(End::B, 1482, [2_000_000, armed + frame])).len(), 2);
    assert_eq!(run("nic:3c500", &row(End::B, 1482, [2_000_000, armed + frame - 1])).len(), 1);
    // Deaf while sending, and it does not send while it is full.
    let offers = [(0, End::A, 1482), (3_000_000, End::B, 60)];
    assert_eq!(run("nic:3c500", &offers).len(), 1);
    let offers = [(0, End::B, 1482), (1_000_000, End::A, 1482)];
    assert_eq!(times(&run("nic:3c500", &offers)), [receive, receive + 100_000 + send - frame]);
}

#[test]
fn a_card_with_two_buffers_does_both_at_once() {
    let cost = 2034 * 3_933;
    assert!((7_990_000..8_010_000).contains(&cost));
    let offers = [(0, End::A, 2034), (2_000_000, End::B, 2034), (20_000_000, End::B, 2034)];
    let came = run("nic:p1300", &offers);
    let frame = frame_ns(2034);
    assert_eq!(times(&came), [cost - frame, 2_000_000 + cost, 20_000_000 + cost]);
}

#[test]
fn a_chain_adds_up() {
    let text = "nic:3c500 + ethernet:10M + nic:3c500,flip";
    let came = run(text, &row(End::A, 1482, [0]));
    assert_eq!(times(&came), [1482 * 4_049 + 5_000 + 1482 * 4_116]);
    let came = run(text, &row(End::B, 1482, [0]));
    assert_eq!(times(&came), [1482 * 4_049 + 5_000 + 1482 * 4_116]);
    // A sender at full speed against a receiver that is a little slower loses every second packet.
    let came = run(text, &row(End::A, 1482, [0; 100]));
    assert_eq!(came.len(), 50);
    // The card waits for the host behind it, not the reverse: 10 ms apart nothing is lost.
    let paced = row(End::A, 1482, (0..100).map(|i| i * 10_000_000));
    assert_eq!(run(text, &paced).len(), 100);
    let two_paths = "path:rate=1M,delay=10ms + path:rate=2M,delay=20ms";
    let came = run(two_paths, &row(End::A, 125, [0, 0]));
    assert_eq!(times(&came), [31_500_000, 32_500_000]);
    let came = run(two_paths, &row(End::B, 125, [0, 0]));
    assert_eq!(times(&came), [31_500_000, 32_500_000]);
}

#[test]
fn results_do_not_depend_on_call_times() {
    let mut random = Random::stream(4, "test", "offers");
    let mut offers: Vec<Offer> =
        (0..1000).map(|_| (random.below(3_000_000_000), random.pick(&End::BOTH), 100)).collect();
    offers.sort_unstable_by_key(|(at, ..)| *at);
    for text in [
        "ethernet:10M,load=10%-80%@100ms",
        "path:rate=1M,queue=5p,loss=2%,lossrun=3,jitter=3ms,reorder=5%@4ms,dup=3%,cross=50%",
        "slotted:wideband,miss=5%,loss=1%,fragment=80@20%",
        "nic:p1300 + ring:10M + nic:p1300,flip",
        "udp over ring:1M,station=30us",
        "nic:3c500 + ethernet:10M,load=30% + path:rate=1M,delay=5ms,loss=1% + nic:3c500,flip",
        "path:rate=1M with host:send=1ms+10ns,receive=700us,write=300us,read=200us,wake=1ms",
    ] {
        let run = |recorder: &mut Recorder, peek| {
            let came = carry(&mut *network(text), &offers, peek, &mut recorder.of("net"));
            for one in &came {
                let text = format!("{one:?}");
                let event = TraceEvent::Text { name: "came", text: text.as_bytes() };
                recorder.note(wetstring_proto::Instant(one.0), "came", &event);
            }
            came
        };
        let (came, _) = twice(|recorder| run(recorder, None)).unwrap_or_else(|bad| panic!("{bad}"));
        assert!(came.len() > 300, "{text}: {}", came.len());
        let peeked = run(&mut Recorder::off(), Some(777_777));
        assert!(came == peeked, "{text}: looking in between changes what comes");
    }
}

#[test]
fn faults_end_when_calm() {
    let mut path = network("path:delay=1ms,loss=50%,dup=50%,reorder=50%@1ms");
    path.calm();
    let came =
        carry(&mut *path, &row(End::A, 100, (0..1000).map(|i| i * 1000)), None, &mut NoTrace);
    assert_eq!(came.len(), 1000);
    assert!(came.is_sorted_by_key(|(_, _, index, _)| *index));
}

#[test]
fn a_policer_lets_its_bucket_and_its_rate_pass_and_drops_the_rest() {
    // A bucket of two packets, and one more each 12 ms; a packet is offered every 3 ms.
    let offers = row(End::A, 1500, (0..41).map(|index| index * 3_000_000).collect::<Vec<u64>>());
    let mut recorder = Recorder::keep();
    let mut line = network("path:rate=0,police=1M,bucket=3000");
    let came = carry(&mut *line, &offers, None, &mut recorder.of("net"));
    // Those that come find two, and then the first multiple of 12 ms at which there is one.
    let indices: Vec<usize> = came.iter().map(|(_, _, index, _)| *index).collect();
    assert_eq!(indices, [0, 1, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40]);
    let policed = recorder.lines().iter().filter(|line| line.contains("policed_fwd")).count();
    assert_eq!(policed, 41 - came.len());
    // Without a queue: what passes is not late.
    assert!(came.iter().all(|(at, _, index, _)| *at == *index as u64 * 3_000_000));
}

#[test]
fn a_queue_of_one_packet_takes_two_at_once() {
    let came = run("path:rate=12M,queue=1p", &row(End::A, 1500, [0; 5]));
    assert_eq!(times(&came), [1_000_000, 2_000_000]);
}
