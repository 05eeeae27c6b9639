//! Kermit's server: what a client's words are read as, and what any packets do to it.

use crate::Script;
use wetstring_proto::file::Left;
use wetstring_proto::kermit::check::Check;
use wetstring_proto::kermit::command::ServerCommand;
use wetstring_proto::kermit::packet::{LONG_HEADER, finish};
use wetstring_proto::kermit::{Config, Server};
use wetstring_proto::{
    Command, Cx, Duration, Engine, FileInfo, Instant, NoTrace, Remote, RemoteReply, Reply, Request,
    StoreError,
};

/// The kinds of packet that a client sends, and some that it does not.
const KINDS: &[u8] = b"ISRJHVWOGCKYNEDFZBAXTQ";
/// Requests that may follow from one packet or tick; each read or write is one.
const MOST_REQUESTS: usize = 10_000;

/// The data field of a command.
///
/// # Panics
///
/// If a command that is read is another one once it was written and read again.
pub fn command(bytes: &[u8]) -> u64 {
    let Some((&kind, words)) = bytes.split_first() else { return 0 };
    let kind = KINDS[usize::from(kind) % KINDS.len()];
    let Ok(command) = ServerCommand::parse(kind, words) else { return 0 };
    let mut out = vec![0; 4 * words.len() + 64];
    let Some(len) = command.emit(&mut out) else { return 0 };
    assert_eq!(ServerCommand::parse(command.kind(), &out[..len]), Ok(command));
    1
}

/// A script: packets to a server, right ones and others, time, and what its store answers.
///
/// # Panics
///
/// If the server panics, asks its store without end, or an abort does not end it.
pub fn server(bytes: &[u8]) -> u64 {
    let mut script = Script::new(bytes);
    let compressor = script.one_in(2);
    let finds_blocks = script.one_in(2);
    let config = Config { compressor, finds_blocks, entries: true, ..Config::default() };
    let memory = vec![0; config.server_memory()];
    let mut server = Server::new(config, memory).expect("there is enough");
    let (mut now, mut asked) = (Instant(1), 0);
    while !script.is_over() {
        let mut trace = NoTrace;
        let cx = &mut Cx { now, trace: &mut trace };
        match script.byte() % 8 {
            0..=3 => {
                let kind = script.pick(KINDS);
                let number = script.byte() % 4;
                let words = script.bytes();
                let mut packet = [0; LONG_HEADER + 256 + 4];
                let len = words.len().min(91);
                packet[LONG_HEADER..LONG_HEADER + len].copy_from_slice(&words[..len]);
                let (start, end) = finish(&mut packet, len, number, kind, Check::Sum6, 1, false);
                packet[end] = b'\r';
                feed(&mut server, cx, &packet[start..=end]);
            }
            4 => feed(&mut server, cx, script.bytes()),
            5 => now = now + Duration::from_millis(u64::from(script.short())),
            6 if script.one_in(16) => server.command(cx, Command::CancelFile),
            _ => server.tick(cx),
        }
        let cx = &mut Cx { now, trace: &mut trace };
        server.tick(cx);
        asked += answer(&mut server, cx, &mut script);
        let len = server.transmit(cx).len();
        server.transmitted(cx, len);
        while server.event().is_some() {}
    }
    let cx = &mut Cx { now, trace: &mut NoTrace };
    server.command(cx, Command::Abort);
    // Its last output leaves, and the store gets its last requests. A B whose answer is lost is
    // retransmitted until no peer can be left.
    for _ in 0..64 {
        asked += answer(&mut server, cx, &mut script);
        let len = server.transmit(cx).len();
        server.transmitted(cx, len);
        cx.now = server.deadline().unwrap_or(cx.now).max(cx.now + Duration::from_secs(1));
        server.tick(cx);
    }
    assert!(server.status().outcome().is_some(), "an abort ends it");
    asked
}

fn feed(server: &mut Server<Vec<u8>>, cx: &mut Cx<'_>, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let taken = server.receive(cx, bytes);
        if taken == 0 {
            break;
        }
        bytes = &bytes[taken..];
    }
}

/// Answers all that is asked, for good or bad.
fn answer(server: &mut Server<Vec<u8>>, cx: &mut Cx<'_>, script: &mut Script<'_>) -> u64 {
    for asked in 0..MOST_REQUESTS {
        let Some(request) = server.request() else { return asked as u64 };
        let wrong = script.one_in(7);
        let reply = match request {
            _ if wrong => Reply::Failed(StoreError::Io),
            Request::Remote(Remote::Serve { answer, .. }) => match script.byte() % 4 {
                0 => Reply::Remote(RemoteReply::Follow {
                    screen: script.one_in(2),
                    batch: Left { files: u32::from(script.byte() % 3), bytes: 0 },
                }),
                1 => {
                    Reply::Remote(RemoteReply::Denied(answer.len().min(usize::from(script.byte()))))
                }
                _ => Reply::Remote(RemoteReply::Said(answer.len().min(usize::from(script.byte())))),
            },
            Request::Next if script.one_in(2) => Reply::NoMoreFiles,
            Request::Next => Reply::File(FileInfo { name: b"name", ..FileInfo::default() }),
            Request::Read { into, .. } if !script.one_in(3) => Reply::Read(into.len().min(100)),
            Request::Read { .. } => Reply::Read(0),
            Request::Offer { .. } => Reply::Accept { offset: 0 },
            _ => Reply::Done,
        };
        server.reply(cx, reply);
    }
    panic!("it asks without end");
}
