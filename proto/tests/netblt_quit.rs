//! QUIT of the peer (RFC 998 5.3.2): it is answered by QUITACK, in every role, and again as often as it
//! comes, since the QUITACK may be lost; the outcome is what the peer said.

use crate::common;
use crate::netblt_exchange;

use common::{File, Sink, Source};
use netblt_exchange::{
    ACTIVE, PASSIVE, against, config, data, datagram, passive, receiver, sender, terms,
};
use std::time::Duration;
use wetstring_proto::engine::{Blame, Failure, FailureKind, Outcome};
use wetstring_proto::netblt::control::put_go;
use wetstring_proto::netblt::packet::{Body, Packet, Ports, Terms};
use wetstring_proto::{Engine, Store};

/// Ports of the peer that answers, and of the one that opens.
const ANSWERS: Ports = Ports { local: PASSIVE, foreign: ACTIVE };
const OPENS: Ports = Ports { local: ACTIVE, foreign: PASSIVE };

/// A peer that lets a connection begin, and ends it by QUIT every 900 ms, five times; how often it said QUIT,
/// and heard QUITACK.
fn quits(
    engine: &mut dyn Engine,
    store: &mut dyn Store,
    opens: bool,
    sends: bool,
) -> (u32, u32, Outcome) {
    let ports = if opens { OPENS } else { ANSWERS };
    let (mut quits, mut acks) = (0, 0);
    let (mut running, mut began) = (false, None);
    let mut peer = |now: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| {
        if opens && !running && heard.is_none() && now.as_millis().is_multiple_of(100) {
            out.push(datagram(ports, Body::Open(terms(9, sends, b"a name"))));
        }
        match heard.map(|packet| packet.body) {
            Some(Body::Open(wanted)) if !opens => {
                out.push(datagram(ports, Body::Response(Terms { client: b"", ..wanted })));
                running = true;
            }
            Some(Body::Response(_)) => running = true,
            Some(Body::QuitAck) => acks += 1,
            _ => {}
        }
        let turn = now.as_millis() as u32;
        if running && began.is_none() {
            began = Some(turn);
            // It moves.
            if sends {
                out.push(data(ports, 1, 0, (false, false), &[7; 1000]));
            } else {
                let mut go = [0; 8];
                put_go(&mut go, 1, 1).expect("it fits");
                out.push(datagram(ports, Body::Control(&go)));
            }
        }
        let due = began.is_some_and(|began| turn >= began + 100 + quits * 900);
        if heard.is_none() && due && quits < 5 {
            quits += 1;
            out.push(datagram(ports, Body::Quit(b"bye!")));
        }
    };
    let end = against(engine, store, &mut peer, Duration::from_secs(60));
    (quits, acks, end.outcome)
}

#[test]
fn every_quit_is_answered_in_every_role() {
    let told = Outcome::Failed(Failure { blame: Blame::Peer, kind: FailureKind::PeerError });
    for waits in [false, true] {
        let config = if waits { passive() } else { config() };
        let mut source = Source::new(vec![File::new("f", &[1; 200_000])]);
        let got = quits(&mut sender(&config), &mut source, waits, false);
        assert_eq!(got, (5, 5, told), "a sender, passive {waits}");
        assert_eq!(source.closed, [(false, false)]);
        let mut sink = Sink::new();
        let got = quits(&mut receiver(&config), &mut sink, waits, true);
        assert_eq!(got, (5, 5, told), "a receiver, passive {waits}");
        assert!(sink.files.iter().all(|file| !file.complete));
    }
}
