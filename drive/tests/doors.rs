//! Session slots of a server, and the cost of guessing a password.

use socket2::{Domain, Socket, Type};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wetstring_drive::port::Listener;
use wetstring_drive::serve::guesses::{Guesses, Pace, REMEMBERED};
use wetstring_drive::serve::users::{NotLoggedIn, hash};
use wetstring_drive::serve::{
    Limits, LocalTree, NoPlace, Place, Places, Rules, Service, Source, Users,
};
use wetstring_drive::{LineSpec, Signals};
use wetstring_proto::kermit::Config;
use wetstring_proto::kermit::check::Check;
use wetstring_proto::kermit::command::ServerCommand as C;
use wetstring_proto::kermit::packet::{LONG_HEADER, finish};

fn source(text: &str) -> Source {
    text.parse::<IpAddr>().unwrap().into()
}

#[test]
fn a_source_is_an_address_of_ipv4_or_a_network_of_ipv6() {
    for (one, other, same) in [
        ("10.0.0.1", "10.0.0.2", false),
        ("10.0.0.1", "::ffff:10.0.0.1", true),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", false),
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff:2:3:4", true),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", false),
        ("::1", "127.0.0.1", false),
    ] {
        assert_eq!(source(one) == source(other), same, "{one} {other}");
    }
}

const S: Duration = Duration::from_secs(1);

#[test]
fn attempts_of_a_source_are_delayed_progressively() {
    let guesses = Guesses::new(Pace::default());
    let from = Some(source("10.0.0.1"));
    // All at once: those that may be judged soon are, at the distances of one after the other.
    let at: Vec<_> = (0..100).filter_map(|_| guesses.knock(S, from, b"anna").ok()).collect();
    let seconds: Vec<u64> = at.iter().map(|knock| knock.at.as_secs()).collect();
    assert_eq!(seconds, [1, 2, 4, 8]);
    for knock in at {
        guesses.failed(knock);
    }
    // Another source does not wait for this one; another account from there does.
    assert!(guesses.knock(S, from, b"bert").is_err());
    assert_eq!(guesses.knock(S, Some(source("10.0.0.2")), b"bert").unwrap().at, S);
    // They are forgotten.
    let later = S * 1000;
    let again = guesses.knock(later, from, b"anna").unwrap();
    guesses.failed(again);
    assert_eq!(guesses.knock(later, from, b"anna").unwrap().at, later + S);
}

#[test]
fn a_login_gives_no_free_guesses_at_other_accounts() {
    let guesses = Guesses::new(Pace::default());
    let from = Some(source("10.0.0.1"));
    let (mut now, mut judged) = (Duration::ZERO, 0);
    while now < S * 60 {
        // In between, a right login as often as the user likes.
        if let Ok(own) = guesses.knock(now, from, b"own") {
            guesses.succeeded(own);
        }
        match guesses.knock(now, from, b"anna") {
            Ok(knock) => {
                judged += 1;
                guesses.failed(knock);
                now = knock.at;
            }
            Err(_) => now += Duration::from_millis(10),
        }
    }
    assert!((3..=8).contains(&judged), "{judged} guesses in a minute");
}

#[test]
fn the_right_password_works_while_others_guess() {
    let guesses = Guesses::new(Pace::default());
    let (home, friend) = (Some(source("192.0.2.1")), Some(source("192.0.2.2")));
    guesses.succeeded(guesses.knock(Duration::ZERO, friend, b"anna").unwrap());
    let mut now = Duration::ZERO;
    for round in 0..200u32 {
        now += S;
        for host in 0..100u32 {
            let from = Some(Source::from(IpAddr::from((0x0a00_0000 + host).to_be_bytes())));
            if let Ok(knock) = guesses.knock(now, from, b"anna") {
                guesses.failed(knock);
            }
        }
        if round < 100 {
            continue;
        }
        let crowd = guesses.pace().most / 4;
        let waits = guesses.knock(now, home, b"anna").unwrap();
        assert!(waits.at > now + S && waits.at <= now + crowd, "{:?} at {now:?}", waits.at);
        // The user's own attempts cause no delay here.
        guesses.succeeded(waits);
        assert_eq!(guesses.knock(now, friend, b"anna").unwrap().at, now);
        return;
    }
    panic!("he never tried");
}

#[test]
fn guesses_do_not_delay_a_known_source() {
    let guesses = Guesses::new(Pace::default());
    let from = Some(source("10.0.0.1"));
    guesses.succeeded(guesses.knock(Duration::ZERO, from, b"anna").unwrap());
    while let Ok(knock) = guesses.knock(S, from, b"bert") {
        guesses.failed(knock);
    }
    assert_eq!(guesses.knock(S, from, b"anna").unwrap().at, S);
    // At the user's account they wait like everyone.
    let at: Vec<_> = (0..50).filter_map(|_| guesses.knock(S, from, b"anna").ok()).collect();
    assert_eq!(at.len(), 3);
}

#[test]
fn guess_records_are_bounded_and_floods_evict_themselves() {
    let guesses = Guesses::new(Pace::default());
    let worst = Some(source("10.0.0.1"));
    while let Ok(knock) = guesses.knock(Duration::ZERO, worst, b"anna") {
        guesses.failed(knock);
    }
    for host in 0..20_000u32 {
        let from = Some(Source::from(IpAddr::from((0x0b00_0000 + host).to_be_bytes())));
        let name = format!("name {host}");
        let knock = guesses.knock(Duration::ZERO, from, name.as_bytes()).unwrap();
        if host % 2 == 0 { guesses.failed(knock) } else { guesses.succeeded(knock) }
    }
    let remembered = guesses.remembered();
    assert!(remembered.iter().all(|count| *count <= REMEMBERED), "{remembered:?}");
    assert!(guesses.knock(Duration::ZERO, worst, b"anna").is_err(), "the worst was forgotten");
}

#[test]
fn a_user_can_log_in_while_another_hammers() {
    let file = format!("anna:{}\n", hash(b"right").unwrap());
    let users = Users::parse(&file).unwrap().with_delay(Duration::from_millis(100));
    let (over, from) = (AtomicBool::new(false), |n: u8| Some(IpAddr::from([10, 0, 0, n])));
    std::thread::scope(|scope| {
        for host in 0..4 {
            let (users, over) = (&users, &over);
            scope.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    if let Err(NotLoggedIn::Wait(_)) = users.admit(from(host), b"anna", b"x", None)
                    {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                }
            });
        }
        std::thread::sleep(Duration::from_millis(1500));
        let began = Instant::now();
        let first = users.admit(from(99), b"anna", b"right", None);
        let (took, again) = (began.elapsed(), Instant::now());
        let second = users.admit(from(99), b"anna", b"right", None);
        let took_again = again.elapsed();
        over.store(true, Ordering::SeqCst);
        assert_eq!((first, second), (Ok(()), Ok(())));
        assert!(took < Duration::from_secs(4), "{took:?}");
        assert!(took_again < Duration::from_secs(2), "{took_again:?}");
        eprintln!("a true user waited {took:?}, the next time {took_again:?}");
    });
}

/// An unknown name costs as much as the most expensive hash of the file.
#[test]
#[cfg_attr(windows, ignore = "under Wine a wait ends when it likes")]
fn unknown_names_take_as_long_as_known_ones() {
    let costly = "anna:$argon2id$v=19$m=65536,t=4,p=1$c29tZXNhbHRzb21lc2FsdA$\
                  RdescudvJCsgt3ub+b4dWRWJTmaaJObGpVwfLJVnVvY\n";
    let users = Users::parse(costly).unwrap().with_delay(Duration::from_millis(1));
    let time = |name: &[u8], host: u8| {
        let began = Instant::now();
        let from = Some(IpAddr::from([10, 0, 1, host]));
        assert_eq!(users.admit(from, name, b"guess", None), Err(NotLoggedIn::Wrong));
        began.elapsed()
    };
    // On a busy machine some take longer, and the shortest of many is what they cost.
    let (mut known, mut unknown) = (Duration::MAX, Duration::MAX);
    let alike = (0..20).any(|round| {
        known = known.min(time(b"anna", round));
        unknown = unknown.min(time(b"eve", 100 + round));
        round >= 2 && unknown < known * 2 && known < unknown * 2
    });
    assert!(alike, "{known:?} and {unknown:?}");
}

fn few(sessions: usize, unproved: usize) -> Limits {
    Limits { sessions, unproved, grace: Duration::from_millis(300), ..Limits::default() }
}

fn enter(places: &Arc<Places>, from: &str) -> Result<Place, NoPlace> {
    places.enter(from, Some(from.parse().unwrap()), Signals::detached().unwrap())
}

#[test]
fn a_flood_of_silent_clients_takes_only_unproved_slots() {
    let places = Places::new(Limits { unproved_per_address: 3, ..few(2, 4) });
    let flood: Vec<_> = (0..3).map(|_| enter(&places, "2001:db8::1").unwrap()).collect();
    assert_eq!(enter(&places, "2001:db8::2").unwrap_err(), NoPlace::FromThere);
    let client = enter(&places, "10.0.0.1").unwrap();
    assert!(client.prove() && client.left().is_none());
    let _fourth = enter(&places, "10.0.0.2").unwrap();
    // All are taken: the oldest of the source with the most gives way to a source with fewer.
    let fifth = enter(&places, "10.0.0.3").unwrap();
    let dropped: Vec<bool> = flood.iter().map(Place::is_dropped).collect();
    assert_eq!(dropped, [true, false, false]);
    let sixth = enter(&places, "10.0.0.4").unwrap();
    assert!(flood[1].is_dropped() && !flood[2].is_dropped());
    // Each source has one now.
    assert_eq!(enter(&places, "10.0.0.4").unwrap_err(), NoPlace::Here);
    assert!(!client.is_dropped() && !fifth.is_dropped() && !sixth.is_dropped());
    // Those who have been dropped and do not go are counted, too.
    let more: Vec<_> = (10..99).map(|n| enter(&places, &format!("10.0.0.{n}"))).collect();
    assert_eq!(places.count(), 2 + 2 * 4);
    assert!(more.iter().any(Result::is_err) && !client.is_dropped());
}

#[test]
fn a_proved_client_keeps_its_slot_while_active() {
    let places = Places::new(few(2, 4));
    let old = [enter(&places, "10.0.0.1").unwrap(), enter(&places, "10.0.0.1").unwrap()];
    assert!(old.iter().all(Place::prove));
    let late = enter(&places, "10.0.0.2").unwrap();
    assert!(!late.prove() && late.is_dropped(), "no client is idle yet");
    assert!(old.iter().all(|place| !place.is_dropped()));
    drop(late);
    std::thread::sleep(Duration::from_millis(400));
    // One of the same source has no better claim.
    assert!(!enter(&places, "10.0.0.1").unwrap().prove());
    assert!(enter(&places, "10.0.0.3").unwrap().prove(), "two of one source are idle");
    assert_eq!(old.iter().filter(|place| place.is_dropped()).count(), 1);
}

/// The server ends also when a test fails.
struct End<'a>(&'a Signals);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.raise(15);
    }
}

/// A server on loopback, while `run` runs.
fn serving(limits: Limits, users: Option<&str>, run: impl FnOnce(SocketAddr)) {
    let spec: LineSpec = "tcp-listen://127.0.0.1:0".parse().unwrap();
    let listener = Listener::of(&spec).unwrap().unwrap();
    let at = listener.address().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let users = users
        .map(|text| Arc::new(Users::parse(text).unwrap().with_delay(Duration::from_millis(50))));
    let rules = Rules { users, ..Rules::default() };
    let tree = Arc::new(LocalTree::open(directory.path()).unwrap());
    let service = Arc::new(Service::new(tree, rules, Config::default(), limits));
    let signals = Signals::detached().unwrap();
    std::thread::scope(|scope| {
        let _end = End(&signals);
        scope.spawn(|| service.serve_all(&listener, &signals));
        run(at);
    });
}

/// A connection from an address of this machine's loopback.
fn call(from: &str, at: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::new(from.parse().unwrap(), 0).into()).unwrap();
    socket.connect(&at.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

fn packet(command: &C<'_>) -> Vec<u8> {
    let mut words = [0; 90];
    let len = command.emit(&mut words).unwrap();
    let mut packet = vec![0; LONG_HEADER + len + 8];
    packet[LONG_HEADER..LONG_HEADER + len].copy_from_slice(&words[..len]);
    let (start, end) = finish(&mut packet, len, 0, command.kind(), Check::Sum6, 1, false);
    [&packet[start..end], b"\r"].concat()
}

/// The output of one turn; nothing if it has ended.
fn ask(stream: &mut TcpStream, command: &C<'_>) -> String {
    let sent = stream.write_all(&packet(command));
    sent.map_or_else(|_| String::new(), |()| first(stream))
}

/// What comes first; nothing if it has ended.
fn first(stream: &mut TcpStream) -> String {
    let mut said = [0; 300];
    let len = stream.read(&mut said).unwrap_or(0);
    String::from_utf8_lossy(&said[..len]).into_owned()
}

/// The remaining output until the end.
fn rest(stream: &mut TcpStream) -> String {
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

#[cfg(target_os = "linux")] // elsewhere loopback has one address
#[test]
fn silent_connections_of_one_address_do_not_block_another() {
    serving(Limits::default(), None, |at| {
        let mut many: Vec<_> = (0..256).map(|_| call("127.0.0.2", at)).collect();
        // The last was refused, and is told why in an error packet.
        assert_is_refused(&rest(&mut many[255]));
        let said = ask(&mut call("127.0.0.3", at), &C::WorkingDirectory);
        assert!(said.contains('/'), "{said:?}");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn sessions_of_one_address_do_not_block_another() {
    let limits = Limits::default();
    serving(limits, None, |at| {
        let mut many: Vec<_> = (0..256).map(|_| call("127.0.0.2", at)).collect();
        for stream in &mut many {
            let _ = stream.write_all(&packet(&C::WorkingDirectory));
        }
        // Which of them have a session goes by when the others speak.
        let said: Vec<_> = many.iter_mut().map(first).collect();
        let (served, refused): (Vec<_>, Vec<_>) =
            said.iter().partition(|said| said.get(3..4) == Some("Y"));
        assert!((1..=limits.per_address).contains(&served.len()), "{}", served.len());
        for said in refused {
            assert_is_refused(said);
        }
        let said = ask(&mut call("127.0.0.3", at), &C::WorkingDirectory);
        assert!(said.contains('/'), "{said:?}");
    });
}

#[cfg(target_os = "linux")]
fn assert_is_refused(said: &str) {
    assert_eq!(said.get(3..4), Some("E"), "{said:?}");
    assert!(said.contains("Too many sessions from your address"), "{said:?}");
}

#[test]
fn unproved_clients_time_out_and_users_stay() {
    let users = format!("anna:{}\n", hash(b"right").unwrap());
    let limits = Limits { grace: Duration::from_secs(2), ..Limits::default() };
    serving(limits, Some(&users), |at| {
        let mut user = call("127.0.0.1", at);
        let began = Instant::now();
        let said = ask(&mut user, &C::Login([b"anna", b"right", b""]));
        assert!(said.contains("You are logged in"), "{said:?}");
        let mut stranger = call("127.0.0.1", at);
        let mut last = String::new();
        while began.elapsed() < Duration::from_secs(10) {
            let said = ask(&mut stranger, &C::WorkingDirectory);
            if !said.contains("Login required") {
                last = said + &rest(&mut stranger);
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let took = began.elapsed();
        assert!(last.contains("No login within 2 s"), "{last:?} after {took:?}");
        assert!((2..6).contains(&took.as_secs()), "{took:?}");
        let said = ask(&mut user, &C::WorkingDirectory);
        assert!(said.contains('/'), "{said:?}");
    });
}

#[test]
fn clients_without_a_command_time_out() {
    let limits = Limits { grace: Duration::from_secs(1), ..Limits::default() };
    serving(limits, None, |at| {
        let mut client = call("127.0.0.1", at);
        assert!(ask(&mut client, &C::WorkingDirectory).contains('/'));
        let mut silent = call("127.0.0.1", at);
        let mut noisy = call("127.0.0.1", at);
        let began = Instant::now();
        let mut alive = true;
        while alive && began.elapsed() < Duration::from_secs(8) {
            alive = noisy.write_all(b"\x01# N3 and more noise\r").is_ok();
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(!alive, "noise keeps the place");
        assert!(rest(&mut silent).contains("No command within 1 s"));
        assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
        assert!(ask(&mut client, &C::WorkingDirectory).contains('/'));
    });
}

#[test]
fn a_client_without_a_slot_is_told() {
    let limits = Limits { sessions: 1, ..Limits::default() };
    serving(limits, None, |at| {
        let mut first = call("127.0.0.1", at);
        assert!(ask(&mut first, &C::WorkingDirectory).contains('/'));
        let mut second = call("127.0.0.1", at);
        let said = ask(&mut second, &C::WorkingDirectory) + &rest(&mut second);
        assert!(said.contains("Too many sessions here, try again later"), "{said:?}");
        assert!(ask(&mut first, &C::WorkingDirectory).contains('/'));
    });
}
