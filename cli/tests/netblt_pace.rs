//! How fast and how soon NETBLT is with the peer of another mind (`netblt_python_peer`): its pace as
//! agreed, buffers of one packet, the end at a DONE.

use crate::peers;
use std::time::Duration;

use peers::all;
use peers::netblt_python::{Opening, SMALL, THREADS, TIMES, WAYS, We, case, python, run};

/// RFC 998 5.3.1: DONE ends the sender's dally, which takes several seconds where none comes.
#[test]
fn done_ends_a_sender_that_listens_or_dials_at_once() {
    let Some(_) = python() else { return };
    let _turn = crate::turn();
    all(&[Opening::Listen, Opening::Dial], THREADS, |opening| {
        let took = |words: String| {
            let done = run(&case((We::Send, *opening), 20_000, &words))?;
            done.whole()?;
            Ok::<_, String>(done.took)
        };
        let (with, without) = (took(SMALL.to_owned())?, took(format!("{SMALL} --no-done"))?);
        let sooner = with + Duration::from_secs(1) < without;
        if sooner { Ok(()) } else { Err(format!("{with:?} with DONE, {without:?} without")) }
    });
}

/// RFC 998 5.2: as many buffers as were agreed are under way at once, whatever their size. The path
/// takes 50 ms each way, so that eight buffers of 1000 bytes are 80 kB/s, and 64 as many as the rate lets.
#[test]
fn buffers_of_one_packet_are_not_slow() {
    let Some(_) = python() else { return };
    let _turn = crate::turn();
    let words = "--packet-size 1000 --buffer-size 1000 --burst 5 --interval 10";
    let mut cases = Vec::new();
    for way in WAYS {
        for (path, least) in [("--buffers 8", 80.0), ("--buffers 8 --delay 50", 40.0)] {
            cases.push((case(way, 100_000, &format!("{words} {path}")), least));
        }
        let path = format!("{words} --buffers 64 --delay 50");
        cases.push((case(way, 100_000, &path), 70.0));
    }
    all(&cases, 4, |(case, least)| {
        let mut best = 0.0_f64;
        for _ in 0..TIMES {
            let done = run(case)?;
            done.whole()?;
            best = best.max(100.0 / done.seconds().max(0.001));
            if best > *least {
                return Ok(());
            }
        }
        Err(format!("expected over {least} kB/s, not {best:.1}"))
    });
}

/// RFC 998 4: the restrictive end has the last word on the rate, at setup and with every OK.
#[test]
fn the_agreed_bursts_are_kept() {
    let Some(_) = python() else { return };
    let _turn = crate::turn();
    let mut cases = Vec::new();
    for opening in [Opening::Listen, Opening::Dial] {
        // 60 packets of 500 bytes: 30 bursts.
        let words = "--packet-size 500 --buffer-size 2500 --burst 2 --interval 40 --buffers 3";
        cases.push((case((We::Send, opening), 30_000, words), 29.0 * 0.04));
        let words = "--packet-size 500 --buffer-size 2500 --burst 20 --interval 5 --buffers 1 \
                     --offer-burst 1 --offer-interval 30";
        cases.push((case((We::Send, opening), 30_000, words), 54.0 * 0.03));
    }
    all(&cases, THREADS, |(case, least)| {
        let done = run(case)?;
        done.whole()?;
        // The first packets may have been late, the last not.
        let good = (least * 0.9..least * 4.0 + 2.0).contains(&done.seconds());
        done.check(good, &format!("{least:.2} s for the data, not {:.2}", done.seconds()))
    });
}
