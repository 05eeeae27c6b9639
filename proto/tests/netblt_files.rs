//! NETBLT's files that are refused, cancelled and resumed, in every role.

use crate::common;
use crate::netblt_exchange;

use common::{File, Sink, Source};
use netblt_exchange::{
    ACTIVE, Meddle, PASSIVE, Steer, against, config, data, datagram, passive, receiver, sender,
    steered, terms,
};
use std::time::Duration;
use wetstring_proto::netblt::packet::{Body, Packet, Ports};
use wetstring_proto::{Command, Engine, Outcome, Refusal};

const LIMIT: Duration = Duration::from_secs(60);
/// Ports of a sender that is made by hand and opens.
const OPENS: Ports = Ports { local: ACTIVE, foreign: PASSIVE };

/// Two files of several buffers.
fn files() -> Vec<File> {
    ["a", "b"]
        .map(|name| File { resume: true, ..File::new(name, &common::random(120_000, 7)) })
        .into()
}

/// A transfer that the sender opens, or else the receiver; what came, and how the files were closed at the sender.
fn transfer(
    sender_opens: bool,
    mut sink: Sink,
    meddle: &mut Meddle<'_>,
    steer: &mut Steer<'_>,
) -> (Sink, Source) {
    let mut source = Source::new(files());
    let (ours, theirs) = if sender_opens { (config(), passive()) } else { (passive(), config()) };
    let (mut sending, mut receiving) = (sender(&ours), receiver(&theirs));
    let a = (&mut sending as &mut dyn Engine, &mut source as _);
    let b = (&mut receiving as &mut dyn Engine, &mut sink as _);
    let ends = steered(a, b, meddle, steer, LIMIT);
    assert_eq!(ends, [Outcome::Done; 2], "sender opens: {sender_opens}");
    (sink, source)
}

/// A path that changes nothing.
fn clean(_: bool, bytes: Vec<u8>, out: &mut std::collections::VecDeque<Vec<u8>>) {
    out.push_back(bytes);
}

/// Gives a command to the receiver, or else the sender, once this many bytes of the current file have moved there.
fn once(
    at_receiver: bool,
    after: u64,
    command: Command,
) -> impl FnMut(bool, &dyn Engine) -> Option<Command> {
    let mut given = false;
    move |is_receiver, engine| {
        let now = !given && is_receiver == at_receiver;
        let due = now && engine.stats().current_file_bytes >= after;
        given |= due;
        due.then_some(command)
    }
}

#[test]
pub(crate) fn refused_files_are_skipped() {
    for sender_opens in [true, false] {
        let sink = Sink { refuse: Some(Refusal::Exists), ..Sink::new() };
        let (sink, source) = transfer(sender_opens, sink, &mut clean, &mut |_, _| None);
        assert!(sink.files.is_empty());
        assert_eq!(source.closed, [(false, false); 2], "sender opens: {sender_opens}");
    }
}

/// Of a file, or of all that follow, by the user at either end.
#[test]
pub(crate) fn cancelled_files_are_incomplete() {
    for sender_opens in [true, false] {
        for at_receiver in [true, false] {
            for command in [Command::CancelFile, Command::CancelBatch] {
                let steer = &mut once(at_receiver, 20_000, command);
                let (sink, source) = transfer(sender_opens, Sink::new(), &mut clean, steer);
                let label = format!("{sender_opens} {at_receiver} {command:?}");
                let complete: Vec<bool> = sink.files.iter().map(|file| file.complete).collect();
                let closed: Vec<bool> = source.closed.iter().map(|closed| closed.0).collect();
                let all: &[bool] =
                    if command == Command::CancelFile { &[false, true] } else { &[false] };
                assert_eq!((&complete[..], &closed[..]), (all, all), "{label}");
            }
        }
    }
}

/// No connection for the file has begun: the receiver hears nothing of it.
#[test]
pub(crate) fn file_cancelled_before_its_connection_is_skipped() {
    for sender_opens in [true, false] {
        // The first tenth of a second's packets are lost.
        let mut count = 0;
        let mut meddle =
            |_: bool, bytes: Vec<u8>, out: &mut std::collections::VecDeque<Vec<u8>>| {
                count += 1;
                if count > 1 {
                    out.push_back(bytes);
                }
            };
        let steer = &mut once(false, 0, Command::CancelFile);
        let mut turns = 0;
        let mut steer = |is_receiver: bool, engine: &dyn Engine| {
            // Its store has given a file by the second turn.
            turns += u32::from(!is_receiver);
            if turns > 1 { steer(is_receiver, engine) } else { None }
        };
        let (sink, source) = transfer(sender_opens, Sink::new(), &mut meddle, &mut steer);
        let closed: Vec<bool> = source.closed.iter().map(|closed| closed.0).collect();
        assert_eq!(closed, [false, true], "sender opens: {sender_opens}");
        assert!(sink.files.iter().all(|file| file.complete == (file.name == b"b")));
    }
}

/// What is stored is the beginning of the file, or of another one.
#[test]
pub(crate) fn stored_parts_are_resumed_or_replaced() {
    let whole = files();
    for sender_opens in [true, false] {
        for right in [true, false] {
            let partial = if right { whole[0].bytes[..50_000].to_vec() } else { vec![1; 50_000] };
            let sink = Sink { partial, ..Sink::new() };
            let (sink, source) = transfer(sender_opens, sink, &mut clean, &mut |_, _| None);
            let label = format!("{sender_opens} {right}");
            assert_eq!(source.closed, [(true, true); 2], "{label}");
            let complete: Vec<_> = sink.files.iter().filter(|file| file.complete).collect();
            assert_eq!(complete.len(), 2, "{label}");
            for (file, whole) in complete.iter().zip(&whole) {
                assert!(file.bytes == whole.bytes && file.verified, "{label}");
            }
        }
    }
}

/// A sender of another kind says nothing of further files: the session ends with its first, and what it opens then is
/// for the next session.
#[test]
fn second_file_of_a_strange_sender_is_not_taken() {
    let mut sink = Sink::new();
    let mut engine = receiver(&passive());
    let (mut sent, mut opened) = (false, false);
    let second = Ports { local: ACTIVE + 1, ..OPENS };
    let mut peer = |now: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| {
        if now.is_zero() && heard.is_none() {
            out.push(datagram(OPENS, Body::Open(terms(9, true, b"first"))));
        }
        match heard.map(|packet| packet.body) {
            Some(Body::Control(_)) if !sent => {
                sent = true;
                out.push(data(OPENS, 1, 0, (true, true), &[7; 1000]));
            }
            // The last OK: the next connection, and no acknowledgement.
            Some(Body::Control(_)) if !opened => {
                opened = true;
                out.push(datagram(second, Body::Open(terms(10, true, b"second"))));
            }
            _ => {}
        }
    };
    let end = against(&mut engine, &mut sink, &mut peer, LIMIT);
    assert_eq!(end.outcome, Outcome::Done);
    let stored: Vec<_> = sink.files.iter().map(|file| (&file.name[..], file.complete)).collect();
    assert_eq!((stored, opened), (vec![(&b"first"[..], true)], true));
}

/// While the store is asked, and while it writes the last of the data.
#[test]
pub(crate) fn file_cancelled_while_the_store_is_busy() {
    for early in [true, false] {
        let mut sink = Sink::new();
        let mut engine = receiver(&passive());
        let mut sent = false;
        let mut peer = |now: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| {
            let cancel = || datagram(OPENS, Body::Quit(b"wst1 cancel"));
            if now.is_zero() && heard.is_none() {
                out.push(datagram(OPENS, Body::Open(terms(9, true, b"wst1 s=2000 name=f"))));
                if early {
                    out.push(cancel());
                }
            }
            let granted = matches!(heard, Some(Packet { body: Body::Control(_), .. }));
            if granted && !sent && !early {
                sent = true;
                out.push(data(OPENS, 1, 0, (false, true), &[7; 1000]));
                out.push(data(OPENS, 1, 1, (true, true), &[7; 1000]));
                out.push(cancel());
            }
            if now == Duration::from_secs(1) && heard.is_none() {
                let next = Ports { local: ACTIVE + 1, ..OPENS };
                out.push(datagram(next, Body::Open(terms(10, true, b"wst1 end"))));
            }
        };
        let end = against(&mut engine, &mut sink, &mut peer, LIMIT);
        assert_eq!(end.outcome, Outcome::Done, "{early}");
        assert!(sink.files.iter().all(|file| !file.complete), "{early}");
        assert_eq!(engine.stats().files_skipped, 1, "{early}");
    }
}
