//! ARPANET hosts: leaders, the host-host protocol, and a server's replies.

use crate::Script;
use wetstring_proto::arpanet::control::{self, Control};
use wetstring_proto::arpanet::ftp::reply::{Line, Replies, octets};
use wetstring_proto::arpanet::leader::{Address, Form, Leader};
use wetstring_proto::arpanet::ncp::{Config, Id, Ncp, Wanted};
use wetstring_proto::{Cx, Duration, Instant, NoTrace};

/// Messages taken at a time; a host that has more to say does not stop.
const AT_ONCE: usize = 200;

/// A message.
///
/// # Panics
///
/// If a leader, a header or a command that is read is another one once it was written and read again.
pub fn leader(bytes: &[u8]) {
    for form in [Form::Old, Form::New] {
        let Ok(leader) = Leader::parse(form, bytes) else { continue };
        let mut into = [0; 12];
        let len = leader.put(form, &mut into).expect("what was read can be written");
        assert_eq!(Leader::parse(form, &into[..len]), Ok(leader));
        let Ok((_, header, text)) = control::message(form, bytes) else { continue };
        assert!(header.bits() <= text.len() * 8 && text.len() <= bytes.len());
        let mut rest = text;
        while let Some(Ok((command, used))) = (!rest.is_empty()).then(|| Control::parse(rest)) {
            let mut into = [0; 12];
            assert_eq!(command.put(&mut into), Some(used));
            assert_eq!(into[..used], rest[..used]);
            rest = &rest[used..];
        }
    }
}

/// A script: messages to a host with connections, right ones and others, RFNMs, and time.
///
/// # Panics
///
/// If a host panics, sends what is no message, does not stop sending, or wants time when nothing is left.
pub fn ncp(bytes: &[u8]) -> u64 {
    let mut script = Script::new(bytes);
    let config = Config { window: 1 + script.byte() % 8, ..Config::default() };
    let memory = vec![0; config.memory()];
    let mut ncp = Ncp::new(config, memory).expect("there is enough");
    let (mut now, mut ids) = (Instant(1), Vec::new());
    let host = Address { host: 0, imp: 6 };
    // A connection to begin with, from socket 5 there to socket 4 here, in bytes of 8 bits.
    let mut trace = NoTrace;
    let mut cx = Cx { now, trace: &mut trace };
    ids.extend(ncp.host().open(&mut cx, host, Wanted::new(4, 5).passive()));
    let request = Control::Str { mine: 5, yours: 4, size: 8 };
    let mut text = [0; 12];
    let len = request.put(&mut text).unwrap_or(0);
    ncp.receive(&mut cx, &[&[0, 6, 0, 0, 0, 8, 0, len as u8, 0], &text[..len]].concat());
    drain(&mut ncp, now);
    ncp.receive(&mut cx, &[5, 6, 0, 0]);
    drain(&mut ncp, now);
    while !script.is_over() {
        let mut trace = NoTrace;
        let mut cx = Cx { now, trace: &mut trace };
        match script.byte() % 12 {
            0 => {
                let local = 4 + u32::from(script.byte() % 4);
                let wanted = Wanted::new(local, local ^ 1).size(script.byte());
                let wanted = if script.one_in(2) { wanted.passive() } else { wanted };
                ids.extend(ncp.host().open(&mut cx, host, wanted));
                let _ = ncp.host().listen(0, 16);
            }
            1..=5 => {
                let command = command(&mut script);
                let mut text = [0; 12];
                let len = command.put(&mut text).unwrap_or(0);
                let head = [0, 6, 0, 0, 0, 8, 0, len as u8, 0];
                ncp.receive(&mut cx, &[&head, &text[..len]].concat());
            }
            6 => {
                let kind = script.pick(&[5, 5, 5, 5, 7, 8, 9, 9, 10, 6, 4, 2]);
                ncp.receive(&mut cx, &[kind, 6, script.byte() % 5, script.byte()]);
            }
            7 => {
                let text = script.bytes();
                let head =
                    [0, 6, 2 + script.byte() % 3, 0, 0, script.byte(), 0, script.byte() % 40, 0];
                ncp.receive(&mut cx, &[&head, text].concat());
            }
            8 => ncp.receive(&mut cx, script.bytes()),
            9 => {
                now = now + Duration::from_millis(u64::from(script.short()) * 4);
                ncp.tick(&mut Cx { now, trace: &mut NoTrace });
            }
            10 => {
                process(&mut ncp, &ids, &mut script);
            }
            _ => drain(&mut ncp, now),
        }
    }
    drain(&mut ncp, now);
    for id in ids {
        ncp.host().release(id);
    }
    // The peer is gone: it must end.
    for _ in 0..200 {
        drain(&mut ncp, now);
        let Some(deadline) = ncp.deadline() else { return ncp.counts().data_in };
        now = now.max(deadline);
        ncp.tick(&mut Cx { now, trace: &mut NoTrace });
    }
    panic!("timers without end: {:?}", ncp.counts());
}

/// A command about sockets and links that there are, mostly.
fn command(script: &mut Script<'_>) -> Control {
    let (socket, link) = (4 + u32::from(script.byte() % 4), 2 + script.byte() % 3);
    match script.byte() % 9 {
        0 => Control::Rts { mine: socket ^ 1, yours: socket, link },
        1 => Control::Str { mine: socket ^ 1, yours: socket, size: script.byte() },
        2 => Control::Cls { mine: socket ^ 1, yours: socket },
        3 => Control::All { link, messages: script.short(), bits: script.word() },
        4 => Control::Gvb { link, messages: script.byte(), bits: script.byte() },
        5 => Control::Ret { link, messages: script.short(), bits: script.word() },
        6 => Control::Eco(script.byte()),
        7 => Control::Rrp,
        _ if script.one_in(6) => Control::Rst,
        _ => Control::Ins { link },
    }
}

/// What a process does.
fn process(ncp: &mut Ncp<Vec<u8>>, ids: &[Id], script: &mut Script<'_>) {
    for id in ids.iter().copied() {
        let mut host = ncp.host();
        match script.byte() % 6 {
            0 => host.close(id),
            1 => host.abort(id),
            2 => host.release(id),
            3 => host.interrupt(id),
            _ => {
                host.write(id, &[7; 200], usize::from(script.byte()) * 5);
                host.consume(id, usize::from(script.byte()));
            }
        }
    }
}

/// Takes the output of the host.
fn drain(ncp: &mut Ncp<Vec<u8>>, now: Instant) {
    for count in 0.. {
        assert!(count < AT_ONCE, "it does not stop talking");
        let mut trace = NoTrace;
        let mut cx = Cx { now, trace: &mut trace };
        let message = ncp.transmit(&mut cx).to_vec();
        if message.is_empty() {
            return;
        }
        let leader = Leader::parse(Form::Old, &message).expect("what is said has a leader");
        if leader.kind == wetstring_proto::arpanet::leader::Kind::Regular {
            let (_, header, text) = control::message(Form::Old, &message).expect("and a text");
            assert!(
                header.bits() <= control::LONGEST_BITS - 40
                    && text.len() == header.bits().div_ceil(8)
            );
        }
        ncp.transmitted(&mut cx, message.len());
    }
}

/// A server's lines.
///
/// # Panics
///
/// If a reply has a number that is none, or its text is not in its line.
pub fn reply(bytes: &[u8]) {
    let mut replies = Replies::default();
    for line in bytes.split(|octet| *octet == b'\n') {
        let (found, text) = replies.line(line);
        if let Line::Reply(number) = found {
            assert!(number < 1000 && line[0].is_ascii_digit());
        }
        assert!(text.len() <= line.len());
        let _ = octets(text);
    }
}
