//! What the memory tests share: a transfer that allocates nothing of its own, and its count.

use wetstring_proto::{
    Cx, Duration, Engine, FileInfo, Instant, NoTrace, Outcome, Reply, Request, Status,
};

/// Turns two engines against each other with buffers on the stack only, a millisecond each time;
/// returns the file bytes that arrived, which may be padded with SUB.
fn turn(sender: &mut dyn Engine, receiver: &mut dyn Engine, file: &[u8], padded: bool) -> u64 {
    let (mut given, mut arrived) = (false, 0);
    let mut pipes = [[0u8; 8000]; 2];
    let mut held = [0usize; 2];
    let mut now = Instant(1);
    for _ in 0..1_000_000 {
        let cx = &mut Cx { now, trace: &mut NoTrace };
        for index in [0, 1] {
            let engine: &mut dyn Engine = if index == 0 { &mut *sender } else { &mut *receiver };
            engine.tick(cx);
            while let Some(request) = engine.request() {
                let reply = match request {
                    Request::Next if given => Reply::NoMoreFiles,
                    Request::Next => {
                        given = true;
                        let size = Some(file.len() as u64);
                        Reply::File(FileInfo { name: b"a", size, ..FileInfo::default() })
                    }
                    Request::Read { offset, into } => {
                        let from = offset as usize;
                        let len = (file.len() - from).min(into.len());
                        into[..len].copy_from_slice(&file[from..from + len]);
                        Reply::Read(len)
                    }
                    Request::Offer { .. } => Reply::Accept { offset: 0 },
                    Request::Write { offset, bytes } => {
                        let from = offset as usize;
                        let len = bytes.len().min(file.len().saturating_sub(from));
                        assert_eq!(bytes[..len], file[from..from + len]);
                        assert!(padded || len == bytes.len(), "more than the file");
                        assert!(bytes[len..].iter().all(|byte| *byte == 0x1a), "padding");
                        arrived = offset + len as u64;
                        Reply::Done
                    }
                    Request::Digest { .. } => Reply::Digest([7; 32]),
                    _ => Reply::Done,
                };
                engine.reply(cx, reply);
            }
            let room = pipes[index].len() - held[index];
            let lent = engine.transmit(cx);
            let len = lent.len().min(room);
            pipes[index][held[index]..held[index] + len].copy_from_slice(&lent[..len]);
            engine.transmitted(cx, len);
            held[index] += len;
            let other = 1 - index;
            let used = engine.receive(cx, &pipes[other][..held[other]]);
            pipes[other].copy_within(used..held[other], 0);
            held[other] -= used;
            while engine.event().is_some() {}
        }
        let there = receiver.status().outcome() == Some(Outcome::Done);
        if there && sender.status() == Status::Over(Outcome::Done) {
            return arrived;
        }
        now = now + Duration::from_millis(1);
    }
    panic!("no end in sight");
}

/// The file arrives, and not an allocation is made for it.
pub(crate) fn assert_no_allocation(
    sender: &mut dyn Engine,
    receiver: &mut dyn Engine,
    file: &[u8],
    padded: bool,
    label: &str,
) {
    let mut arrived = 0;
    let counted = allocation_counter::measure(|| arrived = turn(sender, receiver, file, padded));
    assert_eq!(arrived, file.len() as u64, "{label}");
    assert_eq!(counted.count_total, 0, "{label}");
}
