//! Tests of the parts alone; `tests/` has those of engines.

use super::{
    Ending, EventQueue, Outbox, PendingRequest, Port, QueuedEvent, Rtt, Text, Timer, Timers,
};
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome, Status};
use crate::file::{DigestKind, Request};
use crate::time::{Duration, Instant};
use crate::trace::NoTrace;

const MS: Duration = Duration::from_millis(1);

fn at(ms: u32) -> Instant {
    Instant::ZERO + MS * ms
}

#[test]
fn an_outbox_lends_what_was_not_taken() {
    let (mut out, mut memory) = (Outbox::default(), [0; 8]);
    assert!(out.put(&mut memory, b"abcdef"));
    assert!(!out.put(&mut memory, b"ghi"), "no room for three more");
    assert_eq!((out.take(4), out.lend(&memory), out.taken), (4, &b"ef"[..], 4));
    assert_eq!(out.room_len(&memory), 2);
    out.move_to_front(&mut memory, 0);
    assert!(out.put(&mut memory, b"ghi"), "room at the end after the rest has moved");
    assert_eq!((out.lend(&memory), out.position()), (&b"efghi"[..], 9));
    out.truncate(2);
    assert_eq!((out.take(99), out.pending(), out.taken), (2, 0, 6), "no more than is there");
    out.reuse();
    assert_eq!(out.room_len(&memory), 8);
    assert!(out.put(&mut memory, b"xy") && out.is_untouched());
    out.take(2);
    out.rewind();
    assert_eq!(out.lend(&memory), b"xy");
    assert_eq!((out.clear(), out.pending()), (2, 0));
}

#[test]
fn packet_under_construction_moves_with_the_queue() {
    let (mut out, mut memory) = (Outbox::default(), *b"12345678");
    out.push(4);
    out.take(2);
    out.move_to_front(&mut memory, 3);
    assert_eq!(out.lend(&memory), b"34");
    assert_eq!(out.room(&mut memory)[..3], *b"567");
}

#[test]
fn a_full_queue_keeps_the_oldest() {
    let mut event_queue = EventQueue::<8>::new();
    for size in 0..20 {
        event_queue.push(QueuedEvent::Done { size, verified: false });
    }
    assert_eq!(event_queue.len(), 8);
    for size in 0..8 {
        assert_eq!(event_queue.pop(), Some(QueuedEvent::Done { size, verified: false }));
    }
    assert!(event_queue.pop().is_none() && event_queue.is_empty());
}

#[test]
fn a_text_is_cut_at_its_end() {
    let mut text = Text::<4>::new();
    assert_eq!(text.of(&12_345), "1234");
    text.set(b"ab");
    text.put(b"cdef");
    assert_eq!(text.as_bytes(), b"abcd");
    text.fill(|to| to.len() + 5);
    assert_eq!(text.as_bytes().len(), 4, "at most what fits, regardless of the claim");
}

#[test]
fn the_first_timer_is_the_next() {
    let mut timers = <Timers>::default();
    assert_eq!(timers.next_timeout(), None);
    timers.set(Timer::Turn, at(5));
    timers.set(Timer::Pause, at(3));
    timers.set(Timer::Linger, at(9));
    assert_eq!(timers.next_timeout(), Some(at(3)));
    assert!(!timers.expire(Timer::Pause, at(2)) && timers.is_running(Timer::Pause));
    assert!(timers.expire(Timer::Pause, at(3)) && !timers.is_running(Timer::Pause));
    assert!(timers.is_due(Timer::Turn, at(5)) && !timers.is_due(Timer::Settle, at(5)));
    timers.stop(Timer::Turn);
    assert_eq!(timers.next_timeout(), Some(at(9)));
}

#[test]
fn the_first_outcome_counts() {
    let failed = Outcome::Failed(Failure { blame: Blame::Line, kind: FailureKind::TooManyRetries });
    let (mut ending, mut timers) = (Ending::default(), <Timers>::default());
    let cx = &mut Cx { now: at(0), trace: &mut NoTrace };
    assert!(ending.begin(cx, failed) && !ending.begin(cx, Outcome::Done));
    assert_eq!((ending, ending.status()), (Ending::LastPackets(failed), Status::Running));
    assert_eq!(ending.deadline(&timers, at(7)), Some(at(7)));
    ending.linger(&mut timers, at(10), failed, MS * 5);
    assert_eq!(ending.status(), Status::Lingering(failed));
    assert_eq!(ending.deadline(&timers, at(7)), Some(at(15)));
    ending.tick(&timers, at(14));
    assert!(!ending.is_over());
    ending.tick(&timers, at(15));
    assert_eq!((ending.status(), ending.deadline(&timers, at(7))), (Status::Over(failed), None));
}

#[test]
fn stalled_port_is_given_up() {
    let mut port = Port::default();
    let cx = &mut Cx { now: at(40), trace: &mut NoTrace };
    port.given(at(10), 0);
    port.given(at(20), 5);
    assert_eq!(port.stalled_at(5, MS * 100), Some(at(110)), "from the first byte that waited");
    port.took(cx, 3, 2);
    assert_eq!(port.stalled_at(2, MS * 100), Some(at(140)));
    assert_eq!(port.stalled_at(0, MS * 100), None);
    assert!(port.last_packets_are_out(at(41), 0) && !port.last_packets_are_out(at(1039), 1));
    assert!(port.last_packets_are_out(at(1040), 1));
}

#[test]
fn a_round_trip_is_smoothed() {
    let mut rtt = Rtt::default();
    assert_eq!((rtt.smoothed(), rtt.shortest(), rtt.variation()), (None, None, Duration::ZERO));
    assert_eq!((rtt.sample(MS * 800, 8), rtt.variation()), (MS * 800, MS * 400));
    assert_eq!(rtt.sample(MS * 1600, 8), MS * 900);
    assert_eq!((rtt.variation(), rtt.shortest()), (MS * 500, Some(MS * 800)));
}

#[test]
fn a_request_is_answered_once() {
    let digest = PendingRequest::Digest { kind: DigestKind::Crc32, len: 9 };
    let mut pending = digest;
    assert_eq!(pending.plain(), Some(Request::Digest { kind: DigestKind::Crc32, len: 9 }));
    assert_eq!((pending.take(), pending), (digest, PendingRequest::Nothing));
    assert!(
        pending.is_idle() && pending.plain().is_none() && PendingRequest::Read.plain().is_none()
    );
    let close = Request::Close { complete: true, verified: false };
    assert_eq!(PendingRequest::close(true).plain(), Some(close));
}
