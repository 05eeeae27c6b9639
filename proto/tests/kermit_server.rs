//! Client against server: every command, over a perfect pipe and over a bad one.

use crate::bench;
use crate::common;
use crate::kermit_exchange;

use bench::Bench;

use common::{Dice, File, Sink, assert_whole, failed, random};
use kermit_exchange::{Session, Shelf};
use wetstring_proto::kermit::check::Check;
use wetstring_proto::kermit::command::{BadCommand, Get, ServerCommand as C, code};
use wetstring_proto::kermit::{Client, Config, Server};
use wetstring_proto::{
    Blame, Cx, Duration, Engine, FailureKind, FileKind, Instant, Outcome, Remote, RemoteReply,
    Reply, Request, Status, Store,
};
use wetstring_testkit::Edges;

common::protocol!(kermit, Config { buffer_len: 4096, ..Config::default() });

fn shelf() -> Shelf {
    let files = vec![
        File::new("random.bin", &random(30_000, 3)),
        File::new("empty", b""),
        File { text: true, ..File::new("lines.txt", b"one\ntwo\n") },
    ];
    Shelf { files, screen: b"a.txt  12\nb.txt  34\n".to_vec(), ..Shelf::default() }
}

fn all<'a>() -> Vec<(C<'a>, &'a str)> {
    let get = |names: &'a [u8]| Get { names, ..Get::default() };
    vec![
        (C::Get(get(b"bin.dat")), "Rbin.dat"),
        (C::Get(Get { recover: true, ..get(b"bin.dat") }), "Jbin.dat"),
        (C::Get(Get { delete: true, ..get(b"bin.dat") }), "Hbin.dat"),
        (C::Get(Get { recursive: true, ..get(b"*") }), "V*"),
        (C::Get(Get { recursive: true, delete: true, ..get(b"*") }), "W*"),
        (
            C::Get(Get {
                delete: true,
                recover: true,
                kind: Some(FileKind::Binary),
                ..get(b"r.dat")
            }),
            "OO!5M!1F%r.dat@ ",
        ),
        (C::Get(Get { is_command: true, ..get(b"ls") }), "OO!8F\"ls@ "),
        (C::Host(b"echo hi"), "Cecho hi"),
        (C::Kermit(b"set file type text"), "Kset file type text"),
        (C::Login([b"user", b"pass", b"acct"]), "GI$user$pass$acct"),
        (C::Login([b"user", b"", b""]), "GI$user"),
        (C::Logout, "GI"),
        (C::ChangeDirectory(b"/srv"), "GC$/srv"),
        (C::ChangeDirectory(b""), "GC"),
        (C::WorkingDirectory, "GA"),
        (C::Directory(b"/srv/kermit/*"), "GD-/srv/kermit/*"),
        (C::Space(b""), "GU"),
        (C::Delete(b"a b"), "GE#a b"),
        (C::Rename([b"from", b"to"]), "GR$from\"to"),
        (C::Copy([b"from", b"to"]), "GK$from\"to"),
        (C::Type(b"t"), "GT!t"),
        (C::MakeDirectory(b"d"), "Gm!d"),
        (C::RemoveDirectory(b"d"), "Gd!d"),
        (C::Who([b"", b"-l"]), "GW \"-l"),
        (C::Message(b"hello"), "GM%hello"),
        (C::Help(b""), "GH"),
        (C::Status, "GQ"),
        (C::Set { code: code::COLLISION, value: b"1" }, "GS#302!1"),
        (C::Query { kind: b'K', name: b"version" }, "GV!Q!K'version"),
        (C::Assign { name: b"foo", value: b"bar" }, "GV!S#foo#bar"),
        (C::Finish, "GF"),
        (C::Bye, "GL"),
        (C::Exit, "GX"),
    ]
}

#[test]
fn commands_round_trip() {
    for (command, wire) in all() {
        let mut out = [0; 200];
        let len = command.emit(&mut out).unwrap();
        assert_eq!(command.kind(), wire.as_bytes()[0], "{wire}");
        assert_eq!(
            out[..len].escape_ascii().to_string(),
            wire.as_bytes()[1..].escape_ascii().to_string()
        );
        assert_eq!(C::parse(command.kind(), &out[..len]), Ok(command), "{wire}");
    }
}

#[test]
fn long_arguments_run_to_the_end_and_only_the_last_may_be_long() {
    let long = [b'n'; 300];
    let mut out = [0; 1000];
    for command in
        [C::Directory(&long), C::Rename([b"a", &long]), C::Set { code: 320, value: &long }]
    {
        let len = command.emit(&mut out).unwrap();
        assert_eq!(C::parse(b'G', &out[..len]), Ok(command));
    }
    assert_eq!(C::Rename([&long, b"b"]).emit(&mut out), None);
    assert_eq!(C::Directory(&long).emit(&mut out[..100]), None, "too little room");
    let get = C::Get(Get { names: &long, delete: true, recover: true, ..Get::default() });
    let len = get.emit(&mut out).unwrap();
    assert_eq!(C::parse(b'O', &out[..len]), Ok(get));
}

#[test]
fn unknown_command_gets_an_error() {
    for (words, why) in [
        (&b""[..], BadCommand::Malformed),
        (b"P", BadCommand::Unknown),
        (b"J", BadCommand::Unknown),
        (b"R%abc", BadCommand::Malformed),
        (b"C\x7fabc", BadCommand::Malformed),
        (b"S#abc!1", BadCommand::Malformed),
        (b"V!X#foo#bar", BadCommand::Malformed),
    ] {
        assert_eq!(C::parse(b'G', words), Err(why), "{}", words.escape_ascii());
    }
    assert_eq!(C::parse(b'O', b"OO!5F%r."), Err(BadCommand::Malformed));
    assert_eq!(C::parse(b'Q', b""), Err(BadCommand::Unknown));
}

#[test]
fn attribute_codes_name_their_tags() {
    for (code, tag) in
        [(133, b'!'), (134, b'"'), (135, b'#'), (138, b'&'), (139, b'('), (142, b'+')]
    {
        assert_eq!(code::attribute(code), Some(tag), "{code}");
        assert_eq!(code::attribute(code + 100), Some(tag), "{code}");
    }
    assert_eq!(code::attribute(148), Some(b'1'));
    assert_eq!(code::attribute(132).or(code::attribute(149)).or(code::attribute(333)), None);
}

#[test]
fn every_command_in_one_session() {
    for streaming in ["auto", "off"] {
        let config = config(&[("streaming", streaming), ("linger", "0")]);
        let mut session = Session::new(&config, shelf());
        for (command, wire) in all() {
            if command.ends() || matches!(command, C::Get(_) | C::Directory(_) | C::Host(_)) {
                continue;
            }
            let asked = session.ask(&command);
            assert_eq!(asked.outcome, Outcome::Done, "{wire}");
            assert_eq!(session.shelf.asked.pop().as_deref(), Some(&*escaped(wire)));
            let (replies, files) = (asked.replies.len(), asked.sink.files.len());
            let long = command == C::Status;
            assert_eq!((replies, files), if long { (0, 1) } else { (1, 0) }, "{wire}");
        }
        assert_eq!(session.ask(&C::WorkingDirectory).replies, [b"/srv/kermit/"]);
        let asked = session.ask(&C::Directory(b"*"));
        assert_eq!(asked.sink.files[0].bytes, b"a.txt  12\nb.txt  34\n");
        assert_eq!(asked.sink.files[0].name, b"DIRECTORY");
        let asked = session.ask(&C::Status);
        assert_eq!(asked.sink.files[0].bytes, b"one line\nanother line\n");
        let asked = session.ask(&C::Host(b"rm"));
        assert_eq!(asked.outcome, failed(Blame::Peer, FailureKind::PeerError));
        assert!(asked.messages[0].starts_with("####"), "{:?}", asked.messages);
        let whole = session.shelf.files.clone();
        let asked = session.ask(&C::Get(Get { names: b"*", ..Get::default() }));
        assert_eq!(asked.outcome, Outcome::Done);
        assert_whole(&asked.sink.files, &whole, streaming);
        assert_eq!(session.put(whole.clone()), Outcome::Done);
        assert_whole(&session.shelf.sink.files, &whole, streaming);
        assert!(session.server.is_idle());
        assert_eq!(session.server.deadline(), None, "an idle server has no timer");
        assert_eq!(session.ask(&C::Finish).outcome, Outcome::Done);
        assert_eq!(session.server.status(), Status::Over(Outcome::Done));
    }
}

fn escaped(wire: &str) -> String {
    wire.as_bytes().escape_ascii().to_string()
}

#[test]
fn file_is_resumed() {
    let config = config(&[]);
    let mut session = Session::new(&config, shelf());
    session.shelf.files.truncate(1);
    let whole = session.shelf.files[0].bytes.clone();
    let sink = Sink { partial: whole[..12_345].to_vec(), ..Sink::new() };
    let get = C::Get(Get { names: b"random.bin", recover: true, ..Get::default() });
    let asked = session.ask_into(&get, sink);
    assert_eq!(asked.outcome, Outcome::Done);
    assert!(asked.sink.files[0].bytes == whole && asked.sink.files[0].complete);
    assert!(asked.wire[1].len() < 25_000, "only the rest was sent: {}", asked.wire[1].len());
}

#[test]
fn settings_change_what_follows() {
    let config = config(&[("streaming", "off")]);
    let mut session = Session::new(&config, shelf());
    let mut set = |code: u16, value: &str| {
        let value = value.as_bytes();
        session.ask(&C::Set { code, value }).outcome
    };
    let no = failed(Blame::Peer, FailureKind::PeerError);
    for (code, value) in [(400, "9"), (401, "3"), (406, "0"), (406, "99"), (232, "7"), (402, "x")] {
        assert_eq!(set(code, value), no, "{code} {value}");
    }
    for (code, value) in [(400, "2"), (401, "200"), (402, "20"), (403, "5"), (406, "4"), (235, "0")]
    {
        assert_eq!(set(code, value), Outcome::Done, "{code} {value}");
    }
    session.shelf.files[0].modified = Some(1_790_000_000);
    let asked = session.ask(&C::Get(Get { names: b"*", ..Get::default() }));
    assert_eq!(asked.sink.files[0].modified, None, "the date is not told any more");
    let wire = String::from_utf8_lossy(&asked.wire[1]).into_owned();
    // MAXL 94, check 2, window 4, packets to 200 bytes.
    assert!(wire.contains("S~4 @-#Y2~^$\"*0___"), "{}", &wire[..120]);
    let whole = session.shelf.files.clone();
    assert_eq!(session.put(whole), Outcome::Done);
    assert!(session.shelf.sink.files[0].complete);
}

#[test]
fn idle_server_sends_naks_if_requested() {
    let mut session = Session::new(&config(&[]), shelf());
    assert_eq!(session.ask(&C::Set { code: 404, value: b"30" }).outcome, Outcome::Done);
    let due = session.server.deadline().unwrap();
    assert_eq!(due - session.now, Duration::from_secs(30));
    let cx = &mut Cx { now: due, trace: &mut Edges::new() };
    session.server.tick(cx);
    assert_eq!(session.server.transmit(cx), b"\x01# N3\r");
}

/// A client that has what it asked for may say its next I in one segment with the acknowledgement of B.
#[test]
fn data_with_the_acknowledgement_of_b_is_read() {
    let packet = |seq: u8, kind: u8, data: &[u8]| {
        let mut packet = vec![1, 32 + 3 + data.len() as u8, 32 + seq, kind];
        packet.extend(data);
        packet.push(Check::Sum6.compute(&packet[1..])[0]);
        packet.push(b'\r');
        packet
    };
    let set = config(&[]);
    let mut server = Server::new(set.clone(), vec![0; set.server_memory()]).unwrap();
    let mut shelf = shelf();
    let mut bench = Bench::new(&mut server, &mut shelf);
    let mut said = bench.give(&packet(0, b'R', b"lines.txt"));
    for _ in 0..3000 {
        assert_eq!(said[0], 1, "{}", said.escape_ascii());
        let (seq, kind) = (said[2] - 32, said[3]);
        let ack = packet(seq, b'Y', if kind == b'S' { b"~/ @-#N1" } else { b"" });
        if kind == b'B' {
            let both = [ack, packet(0, b'I', b"~/ @-#N1")].concat();
            let said = bench.give(&both);
            assert_eq!((bench.took, said[2..4].to_vec()), (both.len(), b" Y".to_vec()));
            return;
        }
        said = bench.give(&ack);
    }
    panic!("no B: {}", said.escape_ascii());
}

#[test]
fn parity_and_every_check() {
    for (name, values) in [
        ("parity", &["even", "odd", "mark", "space"][..]),
        ("check", &["1", "2", "3", "B", "5"]),
        ("window", &["1", "31"]),
        ("receive-length", &["40", "94", "500"]),
        ("repeat", &["off"]),
    ] {
        for value in values {
            let config = config(&[(name, value), ("streaming", "off")]);
            let mut session = Session::new(&config, shelf());
            let label = format!("{name} {value}");
            let asked = session.ask(&C::Get(Get { names: b"*", ..Get::default() }));
            assert_eq!(asked.outcome, Outcome::Done, "{label}: {:?}", asked.messages);
            assert_whole(&asked.sink.files, &session.shelf.files, &label);
            assert_eq!(session.ask(&C::ChangeDirectory(b"d")).outcome, Outcome::Done, "{label}");
            let asked = session.ask(&C::Status);
            assert_eq!(asked.sink.files[0].bytes, b"one line\nanother line\n", "{label}");
            // A reply that is too long for a packet comes as text for the screen.
            let asked = session.ask(&C::Help(b""));
            let long = asked.replies.concat().len()
                + asked.sink.files.iter().map(|f| f.bytes.len()).sum::<usize>();
            assert_eq!((asked.outcome, long), (Outcome::Done, 2048), "{label}");
            let short = name != "receive-length";
            assert_eq!(
                (asked.replies.len() == 1, asked.sink.files.is_empty()),
                (short, short),
                "{label}"
            );
        }
    }
}

#[test]
fn doors_in_any_order() {
    for seed in 0..60 {
        let streaming = ["auto", "off"][seed as usize % 2];
        let config = config(&[("streaming", streaming), ("reliable", "on")]);
        let mut session = Session::new(&config, shelf());
        session.dice = Some(Dice(seed));
        session.chunk = 700;
        let whole = session.shelf.files.clone();
        assert_eq!(session.ask(&C::WorkingDirectory).replies, [b"/srv/kermit/"], "{seed}");
        let asked = session.ask(&C::Get(Get { names: b"*", ..Get::default() }));
        assert_eq!(asked.outcome, Outcome::Done, "{seed}");
        assert_whole(&asked.sink.files, &whole, "doors");
        assert_eq!(session.put(whole.clone()), Outcome::Done, "{seed}");
        assert_whole(&session.shelf.sink.files, &whole, "doors");
        let asked = session.ask(&C::Help(b""));
        assert_eq!(asked.replies[0].len(), 2048, "{seed}");
        assert_eq!(session.ask(&C::Bye).outcome, Outcome::Done, "{seed}");
    }
}

/// Bytes are changed, lost and doubled: what is said to be done has been done, once.
#[test]
pub(crate) fn a_bad_line_does_nothing_twice() {
    let mut done = 0;
    for seed in 0..150 {
        let config = config(&[("streaming", "off"), ("timeout", "3"), ("window", "4")]);
        let mut session = Session::new(&config, shelf());
        let mut dice = Dice(seed);
        let one_in = 60 + dice.roll(2000);
        session.meddle = Box::new(move |_, wire| {
            let mut out = Vec::new();
            for byte in wire.iter() {
                match dice.roll(one_in) {
                    0 => out.push(dice.roll(256) as u8),
                    1 => {}
                    2 => out.extend([*byte, *byte]),
                    _ => out.push(*byte),
                }
            }
            *wire = out;
        });
        for _ in 0..3 {
            let asked = session.ask(&C::Delete(b"only-once"));
            let times = session.shelf.asked.iter().filter(|a| a.contains("only-once")).count();
            session.shelf.asked.clear();
            assert!(times <= 1, "seed {seed}: done {times} times");
            assert!(asked.outcome != Outcome::Done || times == 1, "seed {seed}: not done");
            done += u32::from(asked.outcome == Outcome::Done);
        }
        let asked = session.ask(&C::Get(Get { names: b"*", ..Get::default() }));
        for (file, whole) in asked.sink.files.iter().zip(&session.shelf.files) {
            assert!(!file.complete || file.bytes == whole.bytes, "seed {seed}");
        }
    }
    assert!(done > 350, "{done} of 450");
}

#[test]
fn any_bytes_at_a_server() {
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let set = config(&[("timeout", "2"), ("retries", "3"), ("interrupts", "0")]);
        let mut session = Session::new(&set, shelf());
        let mut now = session.now;
        for _ in 0..200 {
            let cx = &mut Cx { now, trace: &mut Edges::new() };
            let bytes = packets(&mut dice);
            let mut at = 0;
            for _ in 0..200 {
                at += session.server.receive(cx, &bytes[at..]);
                while let Some(request) = session.server.request() {
                    let reply = bad_store(&mut session.shelf, request, &mut dice);
                    session.server.reply(cx, reply);
                }
                let len = session.server.transmit(cx).len();
                session.server.transmitted(cx, len);
                while session.server.event().is_some() {}
            }
            now = now + Duration::from_millis(dice.roll(3000) as u64);
            session.server.tick(cx);
            if matches!(session.server.status(), Status::Over(_)) {
                break;
            }
        }
        if session.server.status() != Status::Running {
            continue;
        }
        // Whatever came before, it serves the next client once nothing is in flight any more.
        session.now = now;
        for _ in 0..100 {
            let Some(next) = session.server.deadline() else { break };
            session.now = session.now.max(next);
            let cx = &mut Cx { now: session.now, trace: &mut Edges::new() };
            session.server.tick(cx);
            while let Some(request) = session.server.request() {
                let reply = session.shelf.answer(request);
                session.server.reply(cx, reply);
            }
            let len = session.server.transmit(cx).len();
            session.server.transmitted(cx, len);
            if session.server.is_idle() {
                break;
            }
        }
        let asked = session.ask(&C::WorkingDirectory);
        assert_eq!(asked.outcome, Outcome::Done, "seed {seed}: {:?}", asked.messages);
    }
}

/// A store that sometimes says no, or something else than was asked.
fn bad_store<'s>(shelf: &'s mut Shelf, request: Request<'_>, dice: &mut Dice) -> Reply<'s> {
    match dice.roll(12) {
        0 => Reply::Failed(wetstring_proto::StoreError::Io),
        1 if matches!(request, Request::Remote(Remote::Serve { .. })) => {
            Reply::Remote(RemoteReply::Denied(usize::MAX))
        }
        2 if matches!(request, Request::Remote(Remote::Serve { .. })) => {
            Reply::Remote(RemoteReply::Said(usize::MAX))
        }
        _ => match request {
            // The sink of the tests expects an offer before everything else.
            Request::Remote(Remote::Serve { .. }) | Request::Next | Request::Read { .. } => {
                shelf.answer(request)
            }
            Request::Offer { .. } => Reply::Accept { offset: 0 },
            _ => Reply::Done,
        },
    }
}

/// Packets as a client sends them, some damaged, some of another place.
fn packets(dice: &mut Dice) -> Vec<u8> {
    use wetstring_proto::kermit::check::Check;
    use wetstring_proto::kermit::packet::{LONG_HEADER, finish};
    let mut bytes = Vec::new();
    for _ in 0..dice.roll(4) {
        let mut buf = vec![0; 400];
        let len = dice.roll(60);
        for byte in &mut buf[LONG_HEADER..LONG_HEADER + len] {
            *byte =
                if dice.roll(3) > 0 { b' ' + dice.roll(95) as u8 } else { dice.roll(256) as u8 };
        }
        let kind = b"SYNFADZBEXIRJHVWOGGGCKTQ"[dice.roll(24)];
        if kind == b'G' && len > 1 {
            buf[LONG_HEADER] = b"ICADUERKTmdWMHQSVxP"[dice.roll(19)];
        }
        let check = [Check::Sum6, Check::Sum6, Check::Sum6, Check::Crc16][dice.roll(4)];
        let (start, end) = finish(&mut buf, len, dice.roll(3) as u8, kind, check, 1, false);
        if dice.roll(8) == 0 {
            let at = start + dice.roll(end - start);
            buf[at] = dice.roll(256) as u8;
        }
        bytes.extend_from_slice(&buf[start..end]);
        bytes.push(b'\r');
    }
    bytes
}

#[test]
fn session_allocates_nothing_and_memory_is_as_stated() {
    let file = random(200_000, 9);
    let set = config(&[("streaming", "off")]);
    let mut serving = vec![0; set.server_memory()];
    let mut server = Server::new(set.clone(), &mut serving[..]).unwrap();
    let mut sending = vec![0; set.sender_memory()];
    let mut sender = wetstring_proto::kermit::Sender::new(set.clone(), &mut sending[..]).unwrap();
    let (mut now, mut given) = (Instant(1), false);
    let (mut arrived, mut got) = (0, vec![0; file.len()]);
    let mut pipes = [[0u8; 4000]; 2];
    let mut held = [0usize; 2];
    let counted = allocation_counter::measure(|| {
        while sender.status() == Status::Running || !server.is_idle() {
            let cx = &mut Cx { now, trace: &mut Edges::new() };
            for index in [0, 1] {
                let engine: &mut dyn Engine = if index == 0 { &mut sender } else { &mut server };
                engine.tick(cx);
                while let Some(request) = engine.request() {
                    let reply = match request {
                        Request::Next if given => Reply::NoMoreFiles,
                        Request::Next => {
                            given = true;
                            Reply::File(wetstring_proto::FileInfo {
                                name: b"a",
                                ..Default::default()
                            })
                        }
                        Request::Read { offset, into } => {
                            let from = offset as usize;
                            let len = (file.len() - from).min(into.len());
                            into[..len].copy_from_slice(&file[from..from + len]);
                            Reply::Read(len)
                        }
                        Request::Offer { .. } => Reply::Accept { offset: 0 },
                        Request::Digest { .. } => Reply::Digest([7; 32]),
                        Request::Write { offset, bytes } => {
                            let from = offset as usize;
                            arrived = from + bytes.len();
                            got[from..arrived].copy_from_slice(bytes);
                            Reply::Done
                        }
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
            now = now + Duration::from_millis(1);
        }
    });
    assert_eq!(arrived, file.len());
    assert!(got == file, "the bytes are the same");
    assert_eq!(counted.count_total, 0);
    assert!(server.is_idle());
    let short = vec![0; set.server_memory() - 1];
    assert!(Server::new(set.clone(), short).is_err());
    let short = vec![0; set.client_memory() - 1];
    assert!(Client::new(set, &C::Status, short).is_err());
}
