//! Telnet: any bytes from a peer, and what passes between two ends.

use crate::Script;
use wetstring_proto::telnet::com_port::Command;
use wetstring_proto::telnet::{Plan, Telnet, TelnetOption};

/// More than an end may have to say by itself.
const MOST_OWED: usize = 512;

/// A script: bytes that come, in pieces, data that goes, requests, and how much of the output leaves.
///
/// # Panics
///
/// If more comes out than went in, data is not taken where there is room, or the pending output grows
/// without bound.
pub fn talk(bytes: &[u8]) -> u64 {
    let mut script = Script::new(bytes);
    let plans = [Plan::CALL, Plan::CLIENT, Plan::ANSWER, Plan::SERVER, Plan::COM_PORT];
    let mut telnet = Telnet::new(script.pick(&plans));
    let mut reached = 0;
    while !script.is_over() {
        match script.byte() % 8 {
            0..=2 => {
                let mut piece = script.bytes().to_vec();
                let len = telnet.receive(&mut piece);
                assert!(len <= piece.len());
            }
            3 => {
                let data = script.bytes();
                let mut wire = vec![0; 2 * data.len()];
                let done = telnet.encode(data, &mut wire);
                assert_eq!(done.taken, data.len());
                assert!((data.len()..=wire.len()).contains(&done.written));
            }
            4 => {
                // A genuine command.
                let option = script.pick(&[0, 1, 3, 24, 44, 47]);
                let verb = script.pick(&[251, 252, 253, 254]);
                telnet.receive(&mut [255, verb, option]);
            }
            5 => telnet.leave(script.pick(&TelnetOption::ALL), script.one_in(2)),
            6 => {
                telnet.request_server();
                telnet.stop_server();
                reached += u64::from(telnet.set_com_port(Command::Rate(script.word())));
                reached += u64::from(telnet.peer_serves().is_some());
            }
            _ => telnet.replied(usize::from(script.short())),
        }
        assert!(telnet.replies().len() <= MOST_OWED);
    }
    reached
}
