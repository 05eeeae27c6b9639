//! Our NETBLT in datagrams and a peer of another mind: `peers/netblt.py`, written from RFC 998 and
//! RFC 1030 alone, by somebody who has not read the engine here.
//!
//! The peer gives a bare file name, as one that knows nothing of us does. Its own path loses, repeats,
//! reorders and damages packets in both directions; it can lose the n-th packet of a kind, keep a hole
//! open until all else has come, and die. It notes whatever is against the RFC; in no run is there any.

use crate::peers;

use std::path::Path;
use std::time::Duration;

use peers::all;
use peers::netblt_python::{
    NAME, Opening, ROLES, Run, SMALL, THREADS, WAYS, We, all_whole, case, peer_of, python, run,
};

#[test]
fn files_are_whole_over_every_path_in_both_roles_whichever_side_opens() {
    let paths = [
        "",
        "--lose 0.1",
        "--reorder 0.3",
        "--duplicate 0.2",
        "--corrupt 0.1",
        "--lose 0.06 --reorder 0.15 --duplicate 0.1 --corrupt 0.05",
    ];
    let mut cases = Vec::new();
    for way in WAYS {
        for (seed, path) in paths.iter().enumerate() {
            cases.push(case(way, 40_000, &format!("{SMALL} {path} --seed {}", seed + 1)));
        }
    }
    all_whole(&cases);
}

#[test]
fn sizes_at_the_borders_of_packets_and_buffers() {
    let shapes = [(512, 512), (500, 2000), (1000, 2500)];
    let mut cases = Vec::new();
    for (at, way) in WAYS.into_iter().enumerate() {
        for which in 0..7 {
            // Each way has each length, and each length each shape in some way.
            let (packet, buffer) = shapes[(at + which) % shapes.len()];
            let words = format!("--packet-size {packet} --buffer-size {buffer} --interval 2");
            let len = [0, 1, packet, buffer, buffer + 1, buffer * 2, buffer * 20 - 1][which];
            let unknown = if len % 2 == 0 { "" } else { "--size-unknown" };
            cases.push(case(way, len, &format!("{words} {unknown}")));
        }
    }
    all_whole(&cases);
}

/// RFC 998 8: numbers of buffers increase, the first is not given; C is a choice of both ends.
#[test]
fn any_first_buffer_number_and_data_without_checksums() {
    let mut cases = Vec::new();
    for opening in [Opening::Listen, Opening::Dial] {
        for first in ["0", "1", "77777777"] {
            cases.push(case(
                (We::Send, opening),
                30_000,
                &format!("{SMALL} --first-buffer {first}"),
            ));
        }
    }
    cases.extend(WAYS.map(|way| case(way, 30_000, &format!("{SMALL} --no-checksum --lose 0.05"))));
    cases.extend(WAYS.map(|way| case(way, 30_000, &format!("{SMALL} --buffers 1"))));
    cases.extend(WAYS.map(|way| case(way, 30_000, &format!("{SMALL} --buffers 40"))));
    all_whole(&cases);
}

/// A bare name: what the OPEN has room for is all that may be sent to an address that is not proved.
#[test]
fn a_listener_serves_bare_names_of_any_length_also_when_gos_are_lost() {
    let mut cases = Vec::new();
    for len in [1, 3, 20, 26, 43, 200] {
        for lost in ["", "--lose-list go:1", "--lose-list go:1,2,3", "--lose-list response:1"] {
            for way in [(We::Receive, Opening::Listen), (We::Receive, Opening::Dial)] {
                let mut one = case(way, 20_000, &format!("{SMALL} {lost}"));
                one.name = "n".repeat(len);
                // The peer sends a KEEPALIVE at a quarter of it: this makes most of the cases quick.
                one.ours = "--death 8".to_owned();
                let dial = way.1 == Opening::Dial;
                if len == 1 || len == 43 || !dial {
                    cases.push(one);
                }
            }
        }
    }
    all_whole(&cases);
}

/// With the death timers as they are by default the peer's first KEEPALIVE comes after 15 s.
#[test]
fn a_listener_remembers_a_peer_longer_than_its_keepalives_are_apart() {
    let mut cases = Vec::new();
    for (len, lost) in [(1, ""), (20, ""), (26, "--lose-list go:1"), (43, "--lose-list go:1,2")] {
        let words = format!("{SMALL} --death 60 {lost} --timeout 40");
        let mut one = case((We::Receive, Opening::Listen), 20_000, &words);
        one.name = "n".repeat(len);
        one.ours = String::new();
        cases.push(one);
    }
    all_whole(&cases);
}

/// RFC 998 5.2: packets may be sent again at any time and come in any order.
#[test]
fn a_hole_that_is_filled_last_does_not_cut_the_file() {
    let mut cases = Vec::new();
    for way in WAYS {
        for hole in ["last", "last-first", "last-ldata", "last-tail", "last-all", "first", "both"] {
            let size = if hole.len() % 2 == 0 { "--size-unknown" } else { "" };
            cases.push(case(way, 17_000, &format!("{SMALL} --buffers 8 --hole {hole} {size}")));
        }
    }
    all_whole(&cases);
}

/// RFC 998 5.1, 5.2.1, 5.2.2 and 5.3.1: each has its timer. The file is one buffer.
#[test]
fn every_packet_of_setup_and_close_may_be_lost() {
    let lost = [
        "open:1",
        "open:1,2",
        "response:1",
        "response:1,2",
        "go:1",
        "go:1,2,3",
        "ok:1",
        "ok:1,2,3",
        "null-ack:1",
        "null-ack:1,2",
        "ldata:1",
        "ldata:1,2,3",
        "done:1",
        "resend:1,2",
    ];
    let mut cases = Vec::new();
    for way in WAYS {
        for lost in lost {
            cases.push(case(way, 3000, &format!("{SMALL} --hole last --lose-list {lost}")));
        }
        if way.0 == We::Send {
            // The answers to the last OK; the sender dallies by the control timer that it named.
            let words = format!("{SMALL} --lose-closing 2 --no-done");
            cases.push(case(way, 3000, &words));
        }
    }
    all_whole(&cases);
}

/// RFC 998 5.2.1: messages may come out of sequence, each in its packet; 5.2: nothing is said of the
/// order of the packets of a buffer. What is no packet, or none for this connection, changes nothing.
#[test]
fn any_order_of_messages_and_packets_with_nonsense_between() {
    let mut cases = Vec::new();
    for way in WAYS {
        for path in [
            "--separate --reverse --size-unknown",
            "--nonsense 0.5",
            "--nonsense 0.3 --separate --reverse --lose 0.05 --reorder 0.1",
        ] {
            cases.push(case(way, 40_000, &format!("{SMALL} {path}")));
        }
    }
    all_whole(&cases);
}

/// RFC 998 5.1: a late OPEN of this connection is answered by a RESPONSE, one of another between the
/// same ports does no harm to this.
#[test]
fn late_opens_are_answered_and_do_no_harm() {
    let Some(_) = python() else { return };
    let words = format!("{SMALL} --open-again 20");
    all(&WAYS.map(|way| case(way, 60_000, &words)), THREADS, |case| {
        let done = run(case)?;
        done.whole()?;
        let answers = done.peer["received"]["response"].as_u64().unwrap_or_default();
        done.check(case.opening == Opening::Dial || answers >= 2, "a second RESPONSE")
    });
}

/// An OPEN may come under a false address: that gets no more bytes than were sent in its name.
#[test]
fn an_address_that_is_not_proved_gets_no_more_than_came_from_it() {
    let Some(_) = python() else { return };
    let mut cases = Vec::new();
    for we in ROLES {
        for len in [1, 3, 20, 26, 43, 200] {
            let words = "--tries 1 --open-timer 5 --die-after 0 --timeout 5";
            let mut one = case((we, Opening::Listen), 20_000, words);
            one.name = "n".repeat(len);
            cases.push(one);
        }
    }
    all(&cases, 12, |case| {
        let peer = peer_of(case)?;
        let bytes = |which: &str| peer["wire"][which].as_u64().unwrap_or(u64::MAX);
        let (sent, received) = (bytes("sent"), bytes("received"));
        if received <= sent { Ok(()) } else { Err(format!("{received} bytes for {sent}; {peer}")) }
    });
}

/// The listener waits for one session: somebody who says one thing and vanishes is none.
#[test]
fn a_listener_serves_the_next_after_one_who_opened_and_vanished() {
    let mut cases = Vec::new();
    for we in ROLES {
        for (name, ending) in [("n", "close"), (NAME, "close"), (NAME, "silence")] {
            let mut one = case((we, Opening::Listen), 20_000, SMALL);
            let words =
                format!("--die-with {ending} --timeout 1 --name {}", name.replace(' ', "_"));
            one.first = Some(format!("--tries 1 --open-timer 1 --die-after 0 {words}"));
            cases.push(one);
        }
    }
    all_whole(&cases);
}

/// RFC 998 5.3.2: a QUITACK at once, and again for every QUIT that is repeated.
#[test]
fn a_quit_is_answered_by_a_quitack_and_every_repeated_one_too() {
    let Some(_) = python() else { return };
    let mut cases = Vec::new();
    for way in WAYS {
        for when in ["--die-after 0", "--die-after 12"] {
            for lost in ["", "--lose-list quit:1", "--lose-list quitack:1,2"] {
                let words = format!("{SMALL} --die-with quit {when} {lost} --death 6");
                cases.push(case(way, 60_000, &words));
            }
        }
    }
    all(&cases, THREADS, |case| {
        if case.opening == Opening::Listen && case.theirs.contains("--die-after 0") {
            // Whether this was a session is for the listener to say; a QUITACK is due all the same.
            let peer = peer_of(case)?;
            let good = peer["quitack"] == true;
            return if good { Ok(()) } else { Err(format!("expected a QUITACK; {peer}")) };
        }
        let done = run(case)?;
        done.check(done.peer["quitack"] == true, "a QUITACK")?;
        done.state("quit")?;
        done.code(4)?;
        done.check(done.ours.said.contains("this peer quits"), "the reason of the QUIT")?;
        done.not_whole().or_else(|why| if case.we == We::Send { Ok(()) } else { Err(why) })?;
        done.lawful()
    });
}

/// RFC 998 5.3.2 and 5.3.3: Ctrl-C tells the peer; a QUIT is repeated until its QUITACK comes.
#[test]
fn ctrl_c_tells_the_peer_and_a_lost_quit_is_sent_again() {
    let Some(_) = python() else { return };
    let mut cases = Vec::new();
    for way in WAYS {
        for lost in ["", "--lose-list quit:1", "--lose-list quitack:1"] {
            cases.push(case(way, 400_000, &format!("{SMALL} --burst 1 --interval 20 {lost}")));
        }
    }
    all(&cases, THREADS, |case| {
        let mut run = Run::start(case)?;
        if case.opening == Opening::Listen {
            run.wst.line_after("connected from ")?;
        }
        std::thread::sleep(Duration::from_millis(1500));
        run.wst.interrupt();
        let done = run.end()?;
        done.code(130)?;
        let told = ["quit-by-peer", "abort-by-peer"].iter().any(|s| done.peer["state"] == *s);
        done.check(told, "the peer told of the interruption")?;
        done.lawful()
    });
}

#[test]
fn a_peer_that_dies_is_named_so_and_leaves_no_whole_file() {
    let Some(_) = python() else { return };
    let mut cases = Vec::new();
    for way in WAYS {
        for (ending, code) in [("silence", 7), ("close", 7), ("abort", 4)] {
            for when in ["0", "7", "31"] {
                let words = format!("{SMALL} --die-with {ending} --die-after {when} --timeout 9");
                let mut one = case(way, 60_000, &words);
                one.ours = "--death 3".to_owned();
                // Somebody who says one thing and dies is no session: the listener waits for the next.
                if when != "0" || way.1 == Opening::Dial {
                    cases.push((one, code, ending));
                }
            }
        }
    }
    all(&cases, 12, |(case, code, ending)| {
        let done = run(case)?;
        // A port that is closed may be told of by the peer's host: then the line broke.
        done.code(*code).or_else(|why| if *ending == "close" { done.code(3) } else { Err(why) })?;
        let serial = ["speed", "parity", "baud"].iter().any(|word| done.ours.said.contains(word));
        done.check(!serial, "no advice on serial lines")?;
        done.check(done.took < Duration::from_secs(25), "an end by the death timer of 3 s")?;
        if case.we == We::Receive {
            done.not_whole()?;
            let part = |name: &String| Path::new(name).extension().is_some_and(|end| end == "part");
            let strange = !done.names.iter().all(part);
            done.check(!strange, "nothing but a part")?;
        }
        done.lawful()
    });
}

/// A receiver that has received everything is done (RFC 998 5.3.1), and does not dial again.
#[test]
fn an_active_receiver_ends_with_zero() {
    let words = [SMALL.to_owned(), format!("{SMALL} --death 3"), format!("{SMALL} --no-done")];
    let way = (We::Receive, Opening::Dial);
    all_whole(&words.map(|words| case(way, 20_000, &words)));
}

/// RFC 998 5.1: REFUSED says why; so do we to somebody who wants the other direction.
#[test]
fn refusals_go_both_ways_with_their_reason() {
    let Some(_) = python() else { return };
    let dialled = ROLES.map(|we| case((we, Opening::Dial), 1000, "--refuse no-room-here"));
    all(&dialled, THREADS, |case| {
        let done = run(case)?;
        done.code(4)?;
        done.check(done.ours.said.contains("no-room-here"), "the reason")
    });
}

/// RFC 998 5.2.3: while a client is not ready, KEEPALIVEs reset the death timer, here 2 s of both.
#[test]
fn keepalives_keep_a_connection_whose_clients_are_not_ready() {
    let Some(_) = python() else { return };
    let mut cases = Vec::new();
    for way in WAYS {
        for before in [1, 4] {
            let words = format!("{SMALL} --death 2 --pause 5 --pause-before {before}");
            let mut one = case(way, 30_000, &words);
            one.ours = "--death 2".to_owned();
            cases.push(one);
        }
    }
    all_whole(&cases);
}
