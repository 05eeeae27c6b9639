//! Datagrams over the loopback interface: sessions, peers that are not what they say, floods.

use crate::pump;

use pump::{House, Relay, pump};
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wetstring_drive::datagram::endpoint::{Below, Endpoint};
use wetstring_drive::datagram::host::DialError;
use wetstring_drive::datagram::keys::{Identity, KeyFolder, Secret};
use wetstring_drive::datagram::{Credentials, Limits};
use wetstring_proto::{Failure, FailureKind, Outcome};
use wetstring_testkit::Dice;

fn identity() -> Identity {
    let dir = tempfile::tempdir().unwrap();
    KeyFolder::new(dir.path().join("wetstring")).identity().unwrap()
}

fn keys() -> Credentials {
    Credentials::Keys(identity())
}

fn secret(text: &str) -> Credentials {
    Credentials::Secret(Secret::new(text.as_bytes()).unwrap())
}

const SECRET: &str = "correct horse battery staple";

#[test]
fn packets_of_every_size_pass_sealed_and_plain() {
    for (credentials, ours) in [
        (keys(), keys()),
        (secret(SECRET), secret(SECRET)),
        (Credentials::Plain, Credentials::Plain),
    ] {
        let plain = matches!(credentials, Credentials::Plain);
        for len in [8, 100, 1400, 65_432] {
            if plain {
                // A plain listener opens to nothing but an OPEN; see the test of the engines.
                continue;
            }
            let house = House::new(credentials.clone(), 300).open();
            let sent = pump(Below::Udp, house.at, &ours, (300, len)).unwrap();
            assert_eq!(sent.outcome, Outcome::Done, "{len}");
            let (stats, finished) = house.end();
            assert_eq!(finished[0].outcome, Outcome::Done);
            assert_eq!(finished[0].twice, 0);
            // Whatever the interface takes, a session begins with what Ethernet does.
            let most = if never_fragments() { 1452 } else { 1200 };
            assert_eq!(finished[0].peer.packet_max, most - 32);
            assert!(stats.bytes_to_unproved <= stats.bytes_of_unproved, "{stats:?}");
        }
    }
}

#[test]
fn each_end_learns_the_key_of_the_other() {
    let (ours, theirs) = (identity(), identity());
    let house = House::new(Credentials::Keys(theirs.clone()), 10).open();
    let sent = pump(Below::Udp, house.at, &Credentials::Keys(ours.clone()), (10, 100)).unwrap();
    let (_, finished) = house.end();
    assert_eq!(sent.peer.key, Some(theirs.public));
    assert_eq!(finished[0].peer.key, Some(ours.public));
}

#[test]
fn an_unauthorized_key_is_told_why() {
    let allowed = identity();
    let mut house = House::new(keys(), 10);
    house.allowed = Some(allowed.public);
    let house = house.open();
    let refused = pump(Below::Udp, house.at, &keys(), (10, 100)).unwrap();
    let by_peer =
        matches!(refused.outcome, Outcome::Failed(Failure { kind: FailureKind::PeerError, .. }));
    assert!(by_peer, "{refused:?}");
    // And the right one gets in.
    let sent = pump(Below::Udp, house.at, &Credentials::Keys(allowed), (10, 100)).unwrap();
    assert_eq!(sent.outcome, Outcome::Done);
    assert_eq!(house.end().1.len(), 1);
}

#[test]
fn wrong_secret_and_wrong_mode_have_different_errors() {
    let house = House::new(secret(SECRET), 10).open();
    let wrong = pump(Below::Udp, house.at, &secret("another secret, as long"), (10, 100));
    let Err(DialError::Refused(say)) = wrong else { panic!("{wrong:?}") };
    assert!(say.contains("secret"), "{say}");
    let kind = pump(Below::Udp, house.at, &keys(), (10, 100));
    let Err(DialError::Refused(say)) = kind else { panic!("{kind:?}") };
    assert!(say.contains("key pairs"), "{say}");
    pump(Below::Udp, house.at, &secret(SECRET), (10, 100)).unwrap();
    house.end();
}

#[test]
fn no_listener_is_reported_at_once() {
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let began = Instant::now();
    let said = pump(Below::Udp, free, &keys(), (1, 100));
    assert!(matches!(said, Err(DialError::NotListening)), "{said:?}");
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn an_encrypting_listener_refuses_plain_packets() {
    let house = House::new(keys(), 10).open();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let open =
        hex("e37201000028100 01b580000deadbeef0000382c00009c40059e0005001e003c0003000278000000");
    socket.send_to(&open, house.at).unwrap();
    let mut answer = [0; 1000];
    let len = socket.recv(&mut answer).unwrap();
    assert_eq!((answer[2], answer[3]), (1, 10), "a REFUSED");
    assert!(len <= open.len());
    assert!(answer[..len].windows(7).any(|text| text == b"--plain"));
    pump(Below::Udp, house.at, &keys(), (10, 100)).unwrap();
    let (stats, finished) = house.end();
    assert_eq!((stats.refused_plain, finished.len()), (1, 1));
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| *b != b' ').collect();
    let value = |c: u8| (c as char).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}

#[test]
#[cfg_attr(windows, ignore = "under Wine it passes alone, and is too slow beside other tests")]
fn replayed_damaged_and_forged_packets_are_dropped() {
    let house = House::new(keys(), 400).open();
    let (mut old, mut dice) = (Vec::<Vec<u8>>::new(), Dice(1));
    let replayed = Arc::new(Mutex::new(0));
    let count = Arc::clone(&replayed);
    let relay = Relay::new(house.at, move |_, number, bytes| {
        let mut out = vec![bytes.to_vec()];
        // Everything twice, and something of long ago.
        out.push(bytes.to_vec());
        if let Some(again) = old.get(dice.roll(old.len().max(1))) {
            out.push(again.clone());
        }
        if number > 4 {
            // A byte damaged, and the front damaged.
            let mut damaged = bytes.to_vec();
            let at = dice.roll(damaged.len());
            damaged[at] ^= 0x40;
            out.insert(0, damaged);
        }
        *count.lock().unwrap() += out.len() - 1;
        old.push(bytes.to_vec());
        out
    });
    let sent = pump(Below::Udp, relay.at, &keys(), (400, 1000)).unwrap();
    assert_eq!(sent.outcome, Outcome::Done);
    let (_, finished) = house.end();
    relay.end();
    assert!(*replayed.lock().unwrap() > 800);
    assert_eq!((finished[0].twice, finished[0].outcome), (0, Outcome::Done));
}

#[test]
fn every_message_of_the_handshake_may_be_lost() {
    for credentials in [keys(), secret(SECRET)] {
        for (lost_there, lost_back) in
            [(Some(0), None), (None, Some(0)), (Some(1), None), (Some(2), Some(1))]
        {
            let house = House::new(credentials.clone(), 20).open();
            let relay = Relay::new(house.at, move |there, number, bytes| {
                let lost = if there { lost_there } else { lost_back };
                if lost == Some(number) { Vec::new() } else { vec![bytes.to_vec()] }
            });
            let sent = pump(Below::Udp, relay.at, &credentials, (20, 300));
            let sent = sent.unwrap_or_else(|e| panic!("{lost_there:?} {lost_back:?}: {e}"));
            assert_eq!(sent.outcome, Outcome::Done, "{lost_there:?} {lost_back:?}");
            house.end();
            relay.end();
        }
    }
}

#[test]
fn a_small_path_mtu_is_detected() {
    let house = House::new(keys(), 20).open();
    let relay =
        Relay::new(
            house.at,
            |_, _, bytes| {
                if bytes.len() > 1420 { Vec::new() } else { vec![bytes.to_vec()] }
            },
        );
    let sent = pump(Below::Udp, relay.at, &keys(), (20, 100_000)).unwrap();
    assert_eq!(sent.outcome, Outcome::Done);
    assert_eq!(sent.peer.packet_max, 1200 - 32);
    house.end();
    relay.end();
}

/// What a relay has seen of datagrams to the listener: how many, the longest that passed, how many were too
/// long, and the bytes of those.
#[derive(Clone, Copy, Default, Debug)]
struct Seen {
    count: usize,
    longest: usize,
    too_long: usize,
    bytes_too_long: usize,
}

/// Whether this system's sockets never fragment; without that no datagram is longer than 1200 bytes.
fn never_fragments() -> bool {
    let socket = Endpoint::listen(Below::Udp, "127.0.0.1:0".parse().unwrap()).unwrap();
    let lost = socket.lost();
    if let Some(lost) = &lost {
        eprintln!("NOT TESTED: long datagrams ({lost})");
    }
    lost.is_none()
}

/// Pumps packets through a relay that takes datagrams of `most(number)` bytes, and loses or repeats every
/// tenth if it is `bad`; what it has seen, and the length of packets that was begun with.
fn through(count: u32, bad: bool, most: impl Fn(usize) -> usize + Send + 'static) -> (Seen, usize) {
    let house = House::new(secret(SECRET), count).open();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let notes = Arc::clone(&seen);
    let relay = Relay::new(house.at, move |there, number, bytes| {
        let mut notes = notes.lock().unwrap();
        if bytes.len() > most(notes.count) {
            notes.too_long += usize::from(there);
            notes.bytes_too_long += bytes.len();
            notes.count += usize::from(there);
            return Vec::new();
        }
        if there {
            notes.count += 1;
            notes.longest = notes.longest.max(bytes.len());
        }
        match number % 10 {
            3 if bad => Vec::new(),
            7 if bad => vec![bytes.to_vec(); 2],
            _ => vec![bytes.to_vec()],
        }
    });
    let sent = pump(Below::Udp, relay.at, &secret(SECRET), (count, 1400)).unwrap();
    assert_eq!(sent.outcome, Outcome::Done);
    let (stats, finished) = house.end();
    relay.end();
    assert_eq!((finished[0].outcome, finished[0].twice), (Outcome::Done, 0));
    assert!(stats.bytes_to_unproved <= stats.bytes_of_unproved, "{stats:?}");
    let seen = *seen.lock().unwrap();
    (seen, sent.peer.packet_max)
}

#[test]
fn the_path_mtu_is_found_by_probing() {
    if !never_fragments() {
        return;
    }
    for (most, begins) in [(1100, 1000), (1280, 1200), (1400, 1200), (1500, 1452), (9000, 1452)] {
        for bad in [false, true] {
            let (mut seen, mut packet_max) = through(3000, bad, move |_| most);
            // An answer that a busy machine holds back is taken for a datagram that was too long.
            for _ in 0..3 {
                if bad || packet_max == begins - 32 {
                    break;
                }
                (seen, packet_max) = through(3000, bad, move |_| most);
            }
            assert!(bad || packet_max == begins - 32, "{most}: {packet_max}");
            // Inits, and three probes: no storm, and no data is lost by its length.
            assert!(seen.too_long <= 12, "{most} {bad}: {seen:?}");
            // How far it goes is a matter of the rate: see the tests of the search, in virtual time.
            assert!(seen.longest <= most, "{most} {bad}: {seen:?}");
        }
    }
}

#[test]
fn a_changing_path_mtu_loses_nothing() {
    if !never_fragments() {
        return;
    }
    for low in [1100, 1280] {
        let most = move |number| if (200..2000).contains(&number) { low } else { 9000 };
        let (seen, packet_max) = through(6000, false, most);
        assert_eq!(packet_max, 1452 - 32);
        assert!(seen.too_long > 0, "{low}: {seen:?}");
    }
}

#[test]
fn concurrent_sessions_are_limited() {
    let mut house = House::new(keys(), 500);
    house.sessions = 3;
    house.limits = Limits { sessions: 3, ..Limits::default() };
    let house = house.open();
    let at = house.at;
    let threads: Vec<_> = (0..3)
        .map(|_| std::thread::spawn(move || pump(Below::Udp, at, &keys(), (500, 900))))
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap().unwrap().outcome, Outcome::Done);
    }
    assert_eq!(house.end().1.len(), 3);
    let mut house = House::new(keys(), 500);
    house.limits = Limits { sessions: 0, ..Limits::default() };
    let house = house.open();
    let refused = pump(Below::Udp, house.at, &keys(), (500, 900)).unwrap();
    assert!(matches!(refused.outcome, Outcome::Failed(_)));
    // It stays until a client has been served, which does not happen here: the thread ends with the test.
}

#[test]
fn a_flood_of_strangers_is_harmless() {
    let mut house = House::new(keys(), 50);
    house.sessions = 1;
    let house = house.open();
    // The whole of 127/8 is ours: ten thousand addresses that do not answer.
    let mut init = b"WN\x01\x01".to_vec();
    init.resize(1200, 0);
    init[8] = 1;
    init[9] = 1;
    // A Noise message of XX: an ephemeral key and the payload.
    init[10..12].copy_from_slice(&34_u16.to_be_bytes());
    for index in 0..10_000_u32 {
        let [_, a, b, c] = (index + 2).to_be_bytes();
        let socket = UdpSocket::bind((std::net::Ipv4Addr::new(127, a, b, c), 0)).unwrap();
        init[4..8].copy_from_slice(&index.to_be_bytes());
        init[28..60].fill(index as u8);
        init[60..62].copy_from_slice(&1200_u16.to_be_bytes());
        socket.send_to(&init, house.at).unwrap();
        if index % 50 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    // A genuine peer is admitted all the same.
    let sent = pump(Below::Udp, house.at, &keys(), (50, 500)).unwrap();
    assert_eq!(sent.outcome, Outcome::Done);
    let (stats, finished) = house.end();
    assert_eq!(finished.len(), 1);
    assert!(stats.most_waiting <= 64, "{stats:?}");
    assert!(stats.bytes_of_unproved > 5_000_000, "the flood came: {stats:?}");
    assert!(stats.bytes_to_unproved < stats.bytes_of_unproved / 4, "{stats:?}");
}

#[test]
fn random_datagrams_are_harmless() {
    let house = House::new(keys(), 200).open();
    let at = house.at;
    let noise = std::thread::spawn(move || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut dice = Dice(5);
        for round in 0..20_000_usize {
            let mut bytes = dice.bytes(round % 200);
            if round % 2 == 0 && bytes.len() > 4 {
                bytes[..4].copy_from_slice(&[b'W', b'N', (round % 8) as u8, 1]);
                bytes.resize(600, 7);
            }
            let _ = socket.send_to(&bytes, at);
        }
    });
    let sent = pump(Below::Udp, at, &keys(), (200, 1000)).unwrap();
    assert_eq!(sent.outcome, Outcome::Done);
    noise.join().unwrap();
    house.end();
}

#[test]
fn a_peer_that_sends_too_fast_is_rate_limited() {
    let mut house = House::new(keys(), 2000);
    house.limits.bytes_per_s = Some(2_000_000);
    let house = house.open();
    let began = Instant::now();
    let sent = pump(Below::Udp, house.at, &keys(), (2000, 1000)).unwrap();
    assert_eq!(sent.outcome, Outcome::Done);
    // Two megabytes, of which a quarter of a second's worth may come at once.
    assert!(began.elapsed() > Duration::from_millis(600), "{:?}", began.elapsed());
    house.end();
}

#[cfg(unix)]
#[test]
fn keys_are_created_once_private_and_compared() {
    use std::os::unix::fs::PermissionsExt;
    use wetstring_drive::datagram::keys::Known;
    let dir = tempfile::tempdir().unwrap();
    let folder = KeyFolder::new(dir.path().join("deep/wetstring"));
    let (one, two) = (folder.identity().unwrap(), folder.identity().unwrap());
    assert_eq!(one.public, two.public);
    let path = dir.path().join("deep/wetstring/host.key");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(folder.identity().unwrap_err().contains("0600"));
    let (host, key, other) = ("udp://box:1", identity().public, identity().public);
    assert_eq!(folder.look_up(host, &key), Ok(Known::New));
    // Looking up does not store.
    assert_eq!(folder.look_up(host, &key), Ok(Known::New));
    folder.remember(host, &key).unwrap();
    assert_eq!(folder.look_up(host, &key), Ok(Known::Same));
    assert_eq!(folder.look_up("udp://BOX:1", &key), Ok(Known::Same));
    let elsewhere = Known::Elsewhere(vec![host.to_owned()]);
    assert_eq!(folder.look_up("udp://10.0.0.1:1", &key), Ok(elsewhere));
    let say = folder.look_up(host, &other).unwrap_err();
    assert!(say.contains(&key.fingerprint()) && say.contains(&other.fingerprint()), "{say}");
    assert_eq!(folder.forget(host), Ok(1));
    assert_eq!(folder.look_up(host, &other), Ok(Known::New));
    assert_eq!(folder.may_enter(&key), Ok(false));
    assert_eq!(folder.authorize(&key, "a \n friend"), Ok(true));
    assert_eq!(folder.authorize(&key, ""), Ok(false));
    assert_eq!(folder.authorized(), Ok(vec![(key, "a  friend".to_owned())]));
    assert_eq!(folder.may_enter(&key), Ok(true));
    assert_eq!(folder.revoke(&key), Ok(true));
    assert_eq!(folder.may_enter(&key), Ok(false));
    assert_eq!(key.to_string().parse(), Ok(key));
    let signed = format!("wst1-{}", "+f".repeat(32));
    for wrong in ["", "wst1-", "wst1-zz", &key.to_string()[..60], &signed] {
        assert!(wrong.parse::<wetstring_drive::datagram::PublicKey>().is_err(), "{wrong}");
    }
}

#[test]
fn key_files_may_have_been_edited_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let folder = KeyFolder::new(dir.path());
    let (key, other) = (identity().public, identity().public);
    // Capitals, a comment, and no end of the last line.
    let digits = key.to_string()["wst1-".len()..].to_uppercase();
    std::fs::write(dir.path().join("authorized-keys"), format!("# friends\nwst1-{digits} box"))
        .unwrap();
    assert_eq!(folder.may_enter(&key), Ok(true));
    assert_eq!(folder.authorize(&other, "next"), Ok(true));
    let both = vec![(key, "box".to_owned()), (other, "next".to_owned())];
    assert_eq!(folder.authorized(), Ok(both));
    assert_eq!(folder.revoke(&key), Ok(true));
    assert_eq!((folder.may_enter(&key), folder.may_enter(&other)), (Ok(false), Ok(true)));
}

#[cfg(unix)]
#[test]
fn secrets_are_long_and_private() {
    use std::os::unix::fs::PermissionsExt;
    assert!(Secret::new(b"short").unwrap_err().contains("at least 16 bytes, got 5"));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("secret");
    std::fs::write(&path, "a secret of enough bytes\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(Secret::read(&path).unwrap_err().contains("only its owner"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(Secret::read(&path).is_ok());
}
