//! File transfer between hosts at one IMP: every form, both directions, several at a time, and what is refused.

use crate::arpanet_net;
use crate::arpanet_server;
use crate::arpanet_terminal;
use crate::common;

use arpanet_net::{Fate, Net, address};
use arpanet_server::Server;
use arpanet_terminal::Terminal;
use common::{File, Sink, Source, random};
use wetstring_proto::arpanet::ftp::{
    Argument, Client, Dialect, Form, Mode, Options, Structure, Type,
};
use wetstring_proto::arpanet::leader::Form as LeaderForm;
use wetstring_proto::arpanet::ncp::{Buffers, Config, State};
use wetstring_proto::{
    Blame, Command, Cx, Duration, Event, FailureKind, Outcome, Refusal, Status, Store,
};
use wetstring_testkit::Edges;

/// A client with its store.
pub(crate) struct User {
    /// Its host.
    at: usize,
    pub(crate) client: Client<Vec<u8>>,
    store: Box<dyn Store>,
    pub(crate) said: Vec<String>,
}

impl User {
    pub(crate) fn new(options: Options, puts: bool, store: Box<dyn Store>) -> Self {
        let memory = vec![0; options.memory()];
        let client = Client::new(options, address(1), puts, memory).unwrap();
        Self { at: 0, client, store, said: Vec::new() }
    }
}

/// Turns clients, on host 0 unless they say another, and a server on host 1 until the clients are over, or this much time has passed.
pub(crate) fn run(
    net: &mut Net,
    users: &mut [User],
    server: &mut Server,
    most: Duration,
) -> Vec<Status> {
    let end = net.now + most;
    loop {
        for _ in 0..200_000 {
            net.settle();
            let mut moved = net.call(1, |host, cx| server.turn(host, cx));
            for user in &mut *users {
                net.call(user.at, |host, cx| {
                    user.client.tick(cx, host);
                    user.client.pump(cx, host);
                    while let Some(request) = user.client.request() {
                        let reply = user.store.answer(request);
                        user.client.reply(cx, host, reply);
                        moved = true;
                    }
                });
                while let Some(event) = user.client.event() {
                    user.said.push(match event {
                        Event::Message(text) => String::from_utf8_lossy(text).into_owned(),
                        other => format!("{other:?}"),
                    });
                }
            }
            let before = net.said.len();
            net.settle();
            if !moved && net.said.len() == before {
                break;
            }
        }
        let over = |user: &User| matches!(user.client.status(), Status::Over(_));
        if users.iter().all(over) || net.now >= end {
            return users.iter().map(|user| user.client.status()).collect();
        }
        let hosts = net.hosts.iter().filter_map(wetstring_proto::arpanet::ncp::Ncp::deadline);
        let users = users.iter().filter_map(|user| user.client.deadline());
        let due = hosts.chain(users).chain(server.deadline()).min();
        let due = due.unwrap_or(end).min(end).max(net.now);
        net.pass(due - net.now);
    }
}

fn options(form: Form) -> Options {
    let Form { kind, byte, mode, structure } = form;
    Options { kind, byte, mode, structure, ..Options::default() }
}

/// Every form that can be done.
fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for kind in [Type::Ascii, Type::Image, Type::Local(8), Type::Local(36)] {
        for byte in [1, 7, 8, 9, 24, 32, 36, 255] {
            for mode in [Mode::Stream, Mode::Block] {
                for structure in [Structure::File, Structure::Record] {
                    let form = Form { kind, byte, mode, structure };
                    all.extend(form.is_possible().then_some(form));
                }
            }
        }
    }
    all
}

/// Files with everything in them that a form may stumble over.
fn awkward() -> Vec<Vec<u8>> {
    vec![
        vec![],
        b"a".to_vec(),
        b"\0\0\0".to_vec(),
        b"line\nand line\n".to_vec(),
        b"no end of line".to_vec(),
        b"\r\r\n\r\0\n\n\r".to_vec(),
        vec![0xFF; 700],
        [&[0xFF, 1, 0xFF, 2, 0xFF, 3][..], &[0; 9]].concat(),
        random(1023, 3),
        random(40_000, 4),
    ]
}

#[test]
pub(crate) fn files_of_every_kind_in_every_form_both_ways() {
    for form in forms() {
        for dialect in [Dialect::Rfc542, Dialect::Rfc354] {
            let options = Options { dialect, ..options(form) };
            let files: Vec<File> = awkward()
                .iter()
                .enumerate()
                .map(|(index, bytes)| File::new(&format!("f{index}"), bytes))
                .collect();
            let mut net = Net::two();
            let mut server = Server::new(options.clone());
            let mut users =
                [User::new(options.clone(), true, Box::new(Source::new(files.clone())))];
            let status = run(&mut net, &mut users, &mut server, Duration::from_secs(300));
            assert_eq!(status, [Status::Over(Outcome::Done)], "{form:?} {:?}", users[0].said);
            for (stored, file) in server.stored.iter().zip(&files) {
                assert!(stored.complete && stored.name == file.name);
                assert!(stored.bytes == file.bytes, "{form:?} {dialect:?} {}", file.bytes.len());
            }
            assert_eq!(server.stored.len(), files.len());

            // And back.
            server.files = files
                .iter()
                .map(|f| (String::from_utf8(f.name.clone()).unwrap(), f.bytes.clone()))
                .collect();
            let got = std::rc::Rc::new(std::cell::RefCell::new(Sink::new()));
            let mut users = [User::new(options, false, Box::new(Shared(got.clone())))];
            for file in &files {
                assert!(users[0].client.want(&file.name));
            }
            let status = run(&mut net, &mut users, &mut server, Duration::from_secs(300));
            assert_eq!(status, [Status::Over(Outcome::Done)], "{form:?} {:?}", users[0].said);
            for (stored, file) in got.borrow().files.iter().zip(&files) {
                assert!(stored.complete && stored.name == file.name);
                assert!(stored.bytes == file.bytes, "{form:?} {dialect:?} {}", file.bytes.len());
            }
            assert_eq!(got.borrow().files.len(), files.len());
        }
    }
}

/// A store that the test keeps a hand on.
struct Shared(std::rc::Rc<std::cell::RefCell<Sink>>);

impl Store for Shared {
    fn answer<'s>(
        &'s mut self,
        request: wetstring_proto::Request<'_>,
    ) -> wetstring_proto::Reply<'s> {
        use wetstring_proto::Reply;
        match self.0.borrow_mut().answer(request) {
            Reply::Accept { offset } => Reply::Accept { offset },
            Reply::Refuse(why) => Reply::Refuse(why),
            Reply::Failed(why) => Reply::Failed(why),
            _ => Reply::Done,
        }
    }
}

#[test]
fn three_at_a_time_between_two_hosts() {
    let config = Config { connections: 32, ..Config::default() };
    let mut net = Net::new(&[config.clone(), config]);
    let form = Form { kind: Type::Image, byte: 36, ..Form::default() };
    let mut server = Server::new(options(form));
    let mut users: Vec<User> = (0..3_u32)
        .map(|index| {
            let file = File::new(&format!("tape{index}"), &random(50_000, u64::from(index)));
            let options = Options { socket: 0x100 + index * 8, ..options(form) };
            User::new(options, true, Box::new(Source::new(vec![file])))
        })
        .collect();
    let status = run(&mut net, &mut users, &mut server, Duration::from_secs(300));
    assert_eq!(status, [Status::Over(Outcome::Done); 3]);
    assert_eq!(server.stored.len(), 3);
    for stored in &server.stored {
        let index = u64::from(*stored.name.last().unwrap() - b'0');
        assert!(stored.bytes == random(50_000, index));
    }
}

#[test]
fn users_of_several_hosts_at_one_server() {
    let config = Config { connections: 32, ..Config::default() };
    for form in [LeaderForm::Old, LeaderForm::New] {
        let config = Config { form, ..config.clone() };
        let mut net = Net::new(&[(); 4].map(|()| config.clone()));
        let mut server = Server::new(Options::default());
        let file = |at: usize| random(30_000 + at, at as u64);
        server.files.extend([0, 2, 3].map(|at| (format!("tape{at}"), file(at))));
        let got = std::rc::Rc::new(std::cell::RefCell::new(Sink::new()));
        // The same sockets at every host: who is meant is told by the host alone.
        let mut users = [0, 2, 3].map(|at| {
            let puts = at != 3;
            let store: Box<dyn Store> = if puts {
                Box::new(Source::new(vec![File::new(&format!("new{at}"), &file(at))]))
            } else {
                Box::new(Shared(got.clone()))
            };
            let mut user = User::new(Options::default(), puts, store);
            assert!(puts || user.client.want(b"tape3"));
            user.at = at;
            user
        });
        let status = run(&mut net, &mut users, &mut server, Duration::from_secs(300));
        assert_eq!(status, [Status::Over(Outcome::Done); 3]);
        assert_eq!(server.stored.len(), 2);
        for stored in &server.stored {
            let at = usize::from(*stored.name.last().unwrap() - b'0');
            assert!(stored.complete && stored.bytes == file(at));
        }
        assert!(got.borrow().files[0].bytes == file(3));
    }
}

#[test]
fn file_with_wrong_length_is_incomplete() {
    for (boast, kind) in [
        (-1, Type::Image),
        (1, Type::Image),
        (-5000, Type::Image),
        (5000, Type::Image),
        (0, Type::Image),
        // Lines change their length on the way.
        (1, Type::Ascii),
    ] {
        let mut net = Net::two();
        let options = options(Form { kind, ..Form::default() });
        let mut server = Server::new(options.clone());
        server.boast = boast;
        server.files.push(("f".into(), vec![b'x'; 5000]));
        let got = std::rc::Rc::new(std::cell::RefCell::new(Sink::new()));
        let mut users = [User::new(options, false, Box::new(Shared(got.clone())))];
        assert!(users[0].client.want(b"f"));
        let status = run(&mut net, &mut users, &mut server, Duration::from_secs(300));
        let whole = boast == 0 || kind == Type::Ascii;
        let differs = common::failed(Blame::Peer, FailureKind::LengthDiffers);
        let outcome = if whole { Outcome::Done } else { differs };
        assert_eq!(status, [Status::Over(outcome)], "{boast}: {:?}", users[0].said);
        assert_eq!(got.borrow().files[0].complete, whole, "{boast}");
    }
}

#[test]
pub(crate) fn broken_data_connection_is_not_end_of_file() {
    // What was lost is a message with data: the server sees a connection that was closed in good order.
    for announced in [true, false] {
        let mut net = Net::two();
        let kind = if announced { Type::Image } else { Type::Ascii };
        let options = options(Form { kind, ..Form::default() });
        let mut server = Server::new(options.clone());
        let files = vec![File::new("f", &random(50_000, 1))];
        let mut users = [User::new(options, true, Box::new(Source::new(files)))];
        let mut count = 0;
        net.judge = Box::new(move |from, leader, message| {
            let long = from == 0 && leader.link != 0 && message.len() > 100;
            count += u32::from(long);
            if long && count > 3 { Fate::Incomplete(3) } else { Fate::Deliver }
        });
        let status = run(&mut net, &mut users, &mut server, Duration::from_secs(300));
        let (blame, kind) = if announced {
            (Blame::Peer, FailureKind::PeerError)
        } else {
            (Blame::Line, FailureKind::TooManyRetries)
        };
        assert_eq!(status, [Status::Over(common::failed(blame, kind))], "{:?}", users[0].said);
        let say = if announced { "452" } else { "not delivered" };
        assert!(users[0].said.iter().any(|said| said.contains(say)), "{:?}", users[0].said);
        // Who was told the length does not take less for all of it.
        assert_eq!(server.stored[0].complete, !announced);
    }
}

#[test]
fn login() {
    for (password, right) in [("multics", true), ("tenex", false)] {
        let mut net = Net::two();
        let mut server = Server::new(Options::default());
        server.password = Some("multics".into());
        let options = Options {
            user: Argument::new(b"Kanodia").unwrap(),
            password: Argument::new(password.as_bytes()).unwrap(),
            ..Options::default()
        };
        let mut users =
            [User::new(options, true, Box::new(Source::new(vec![File::new("a", b"b")])))];
        let status = run(&mut net, &mut users, &mut server, Duration::from_secs(300));
        let refused = common::failed(Blame::Peer, FailureKind::PeerError);
        let wanted = if right { Outcome::Done } else { refused };
        assert_eq!(status, [Status::Over(wanted)], "{:?}", users[0].said);
        assert_eq!(users[0].said.iter().any(|said| said.starts_with("431")), !right);
    }
}

#[test]
pub(crate) fn refused_files_are_skipped() {
    for (why, number) in
        [(Refusal::NoSpace, "453"), (Refusal::Name, "550"), (Refusal::Exists, "451")]
    {
        let mut net = Net::two();
        let mut server = Server::new(Options::default());
        server.refuse = Some(why);
        let files = vec![File::new("a", b"1"), File::new("b", b"2")];
        let mut users = [User::new(Options::default(), true, Box::new(Source::new(files)))];
        let status = run(&mut net, &mut users, &mut server, Duration::from_secs(300));
        assert_eq!(status, [Status::Over(Outcome::Done)]);
        assert_eq!(users[0].client.stats().files_skipped, 2);
        assert!(users[0].said.iter().any(|said| said.starts_with(number)), "{:?}", users[0].said);
    }
    let mut net = Net::two();
    let mut server = Server::new(Options::default());
    server.files.push(("there".into(), b"here".to_vec()));
    let got = std::rc::Rc::new(std::cell::RefCell::new(Sink::new()));
    let mut users = [User::new(Options::default(), false, Box::new(Shared(got.clone())))];
    for name in ["nowhere", "there"] {
        assert!(users[0].client.want(name.as_bytes()));
    }
    let status = run(&mut net, &mut users, &mut server, Duration::from_secs(300));
    assert_eq!(status, [Status::Over(Outcome::Done)]);
    assert_eq!((users[0].client.stats().files_done, users[0].client.stats().files_skipped), (1, 1));
    assert!(got.borrow().files[0].bytes == b"here");
    assert!(!users[0].client.want(b"a\r\nDELE b") && !users[0].client.want(b""));
}

#[test]
fn a_store_that_is_full() {
    let mut net = Net::two();
    let mut server = Server::new(Options::default());
    server.room = Some(10_000);
    let files = vec![File::new("large", &random(100_000, 1))];
    let mut users = [User::new(Options::default(), true, Box::new(Source::new(files)))];
    let status = run(&mut net, &mut users, &mut server, Duration::from_secs(300));
    assert_eq!(status, [Status::Over(common::failed(Blame::Peer, FailureKind::PeerError))]);
    assert!(users[0].said.iter().any(|said| said.starts_with("453")), "{:?}", users[0].said);
    assert!(!server.stored[0].complete);
}

#[test]
fn user_cancels() {
    for puts in [true, false] {
        for after in [0, 3, 30, 200] {
            let mut net = Net::two();
            let mut server = Server::new(Options::default());
            server.files.push(("f".into(), random(300_000, 1)));
            let got = std::rc::Rc::new(std::cell::RefCell::new(Sink::new()));
            let store: Box<dyn Store> = if puts {
                Box::new(Source::new(vec![File::new("f", &random(300_000, 1))]))
            } else {
                Box::new(Shared(got.clone()))
            };
            let mut users = [User::new(Options::default(), puts, store)];
            assert!(puts || users[0].client.want(b"f"));
            let mut count = 0;
            net.judge = Box::new(move |_, leader, _| {
                count += u32::from(leader.link != 0);
                if count > after { Fate::Lost } else { Fate::Deliver }
            });
            run(&mut net, &mut users, &mut server, Duration::ZERO);
            net.judge = Box::new(|_, _, _| Fate::Deliver);
            net.call(0, |host, cx| users[0].client.command(cx, host, Command::Abort));
            let status = run(&mut net, &mut users, &mut server, Duration::from_secs(200));
            let aborted = common::failed(Blame::Local, FailureKind::Aborted);
            assert_eq!(status, [Status::Over(aborted)], "{puts} {after}");
            // A message of the server's that got no RFNM holds it up.
            for _ in 0..10 {
                net.pass(Duration::from_secs(15));
                net.call(1, |host, cx| server.turn(host, cx));
            }
            assert!(server.services.is_empty(), "{puts} {after}: the server has noticed");
            assert!(server.stored.iter().all(|file| !file.complete));
            assert!(got.borrow().files.iter().all(|file| !file.complete));
        }
    }
}

#[test]
fn absent_or_silent_server() {
    let mut net = Net::two();
    let mut server = Server::new(Options::default());
    server.most = 0;
    let mut users = [User::new(Options::default(), true, Box::new(Source::new(vec![])))];
    let status = run(&mut net, &mut users, &mut server, Duration::from_secs(100));
    assert!(
        matches!(status[0], Status::Over(Outcome::Failed(failure)) if failure.blame != Blame::Local)
    );
    // It is there, and dies.
    for after in [1, 5, 20, 60] {
        let mut net = Net::two();
        let mut server = Server::new(Options::default());
        let files = vec![File::new("f", &random(100_000, 1))];
        let mut users = [User::new(Options::default(), true, Box::new(Source::new(files)))];
        let mut count = 0;
        net.judge = Box::new(move |from, _, _| {
            count += 1;
            match (count > after, from) {
                (true, 0) => Fate::Dead(1),
                (true, _) => Fate::Lost,
                _ => Fate::Deliver,
            }
        });
        let status = run(&mut net, &mut users, &mut server, Duration::from_secs(400));
        // Who has nothing to say to it does not learn that it is dead.
        let (blame, kind, say) = match after {
            1 => (Blame::Line, FailureKind::Silence, "reset reply"),
            5 => (Blame::Peer, FailureKind::Silence, ""),
            _ => (Blame::Line, FailureKind::Closed, "not up"),
        };
        assert_eq!(status, [Status::Over(common::failed(blame, kind))], "{after}");
        let said = users[0].said.iter().any(|said| said.contains(say));
        assert!(said || say.is_empty(), "{:?}", users[0].said);
    }
}

#[test]
fn replies_on_one_line_and_on_several() {
    for dialect in [Dialect::Rfc542, Dialect::Rfc354] {
        let mut net = Net::two();
        let mut server = Server::new(Options { dialect, ..Options::default() });
        let mut user = Terminal::call(&mut net, &mut server);
        assert!(user.say(&mut net, &mut server, "").starts_with("300 "));
        let dialogue = [
            ("NONSENSE", "500 "),
            ("STOR a", "332 "),
            ("type i", "200 "),
            ("TYPE X", "501 "),
            ("TYPE E", "402 "),
            ("TYPE A T", "402 "),
            ("BYTE 0", "501 "),
            ("BYTE 256", "501 "),
            ("BYTE", "502 "),
            ("BYTE 36", "200 "),
            ("MODE C", "402 "),
            ("MODE b", "200 "),
            ("STRU R", "200 "),
            ("PASV", "506 "),
            ("PASS x", "504 "),
            ("USER anonymous", "230 "),
            ("RETR none", "457 "),
            ("STRU F", "200 "),
            ("RETR none", "450 "),
            ("SOCK 64,4", "200 "),
            ("SOCK 70", "200 "),
            ("SOCK 9,70", "504 "),
            ("STOR x", "457 "),
            ("REST 9", "200 "),
            ("STOR x", "504 "),
            ("NOOP", "200 "),
            ("ABOR", "202 "),
            ("REIN", "233 "),
        ];
        for (line, number) in dialogue {
            let line = line.replace("64,4", &format!("{},4", address(0).octet().unwrap()));
            let heard = user.say(&mut net, &mut server, &line);
            assert!(heard.starts_with(number), "{line}: {heard}");
        }
        let help = user.say(&mut net, &mut server, "HELP");
        let lines: Vec<&str> = help.lines().collect();
        assert_eq!(lines.len(), 3);
        match dialect {
            Dialect::Rfc542 => {
                assert!(lines[0].starts_with("050-") && lines[2].starts_with("050 "));
            }
            Dialect::Rfc354 => {
                assert!(lines[0].starts_with("050 "));
                assert!(lines[1..].iter().all(|line| line.starts_with("   ")));
            }
        }
        assert!(user.say(&mut net, &mut server, &"x".repeat(3000)).starts_with("500 "));
        let status = user.say(&mut net, &mut server, "STAT");
        assert!(status.starts_with("100") && status.contains("byte 8"), "{status}");
        assert!(user.say(&mut net, &mut server, "BYE").starts_with("231 "));
        assert_eq!(net.host(0).state(user.pair.from), State::Ended);
        assert!(server.services.is_empty());
    }
}

#[test]
fn no_data_connection() {
    let mut net = Net::two();
    let mut server = Server::new(Options::default());
    server.files.push(("f".into(), b"x".to_vec()));
    let mut user = Terminal::call(&mut net, &mut server);
    user.say(&mut net, &mut server, "USER a");
    // No listener there: U+4 is in the range of the call, so the request waits and runs out.
    user.say(&mut net, &mut server, "RETR f");
    net.pass(Duration::from_secs(31));
    assert!(user.say(&mut net, &mut server, "").starts_with("454 "));
    let far = user.say(&mut net, &mut server, "SOCK 4000");
    assert!(far.starts_with("200"));
    assert!(user.say(&mut net, &mut server, "RETR f").starts_with("454 "), "refused at once");
}

#[test]
fn the_old_single_packets_and_the_new_buffers() {
    let messages = |buffers| {
        let config = Config { buffers, ..Config::default() };
        let mut net = Net::new(&[config.clone(), config]);
        let form = Form { kind: Type::Image, byte: 36, ..Form::default() };
        let mut server = Server::new(options(form));
        let file = File::new("tape", &random(40_000, 1));
        let mut users = [User::new(options(form), true, Box::new(Source::new(vec![file])))];
        let status = run(&mut net, &mut users, &mut server, Duration::from_secs(300));
        assert_eq!(status, [Status::Over(Outcome::Done)]);
        net.hosts[0].counts().data_out
    };
    let (new, old) = (messages(Buffers::Both), messages(Buffers::Small));
    // 8889 words: 26 of them to a message, or 222.
    assert!((342..=360).contains(&old) && (41..=60).contains(&new), "{old} {new}");
}

#[test]
fn engines_on_the_common_trait() {
    use wetstring_proto::arpanet::leader::{Form as Leaders, Kind};
    use wetstring_proto::arpanet::{self, imp};
    use wetstring_proto::{Engine, Instant};
    for puts in [true, false] {
        let mut net = Net::two();
        let mut server = Server::new(Options::default());
        let file = random(70_000, 9);
        server.files.push(("dir/f".into(), file.clone()));
        let config = arpanet::Config { to: address(1), ..arpanet::Config::default() };
        let memory = vec![0; config.sender_memory()];
        let mut sink = Sink::new();
        let mut source = Source::new(vec![File::new("f", &file)]);
        let mut engine: Box<dyn Engine> = if puts {
            Box::new(arpanet::Sender::new(config, memory).unwrap())
        } else {
            let mut receiver = arpanet::Receiver::new(config, memory).unwrap();
            assert!(receiver.want(b"dir/f"));
            Box::new(receiver)
        };
        let mut trace = Edges::new();
        let mut cx = Cx { now: Instant(1), trace: &mut trace };
        for _ in 0..5000 {
            while let Some(request) = engine.request() {
                let reply = if puts { source.answer(request) } else { sink.answer(request) };
                engine.reply(&mut cx, reply);
            }
            let mut message = engine.transmit(&mut cx).to_vec();
            engine.transmitted(&mut cx, message.len());
            let mut told = [0; 12];
            if !message.is_empty()
                && let Some((_, leader)) =
                    imp::forward(Leaders::Old, address(0), &mut message).unwrap()
            {
                net.hear(1, &message);
                let len = imp::answer(Leaders::Old, &leader, Kind::Rfnm, 0, &mut told);
                assert_eq!(engine.receive(&mut cx, &told[..len]), len);
            }
            net.call(1, |host, cx| server.turn(host, cx));
            let mut back = net.hosts[1].transmit(&mut cx).to_vec();
            net.hosts[1].transmitted(&mut cx, back.len());
            if !back.is_empty()
                && let Some((_, leader)) =
                    imp::forward(Leaders::Old, address(1), &mut back).unwrap()
            {
                assert_eq!(engine.receive(&mut cx, &back), back.len());
                let len = imp::answer(Leaders::Old, &leader, Kind::Rfnm, 0, &mut told);
                net.hear(1, &told[..len]);
            }
            while engine.event().is_some() {}
        }
        assert_eq!(engine.status(), Status::Over(Outcome::Done));
        assert_eq!(engine.deadline(), None);
        assert_eq!((engine.stats().files_done, engine.stats().file_bytes), (1, 70_000));
        let got = if puts { &server.stored[0] } else { &sink.files[0] };
        assert!(got.bytes == file && got.complete && got.name == b"f");
    }
}
