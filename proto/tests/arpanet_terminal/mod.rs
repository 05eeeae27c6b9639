//! A user who types at host 0, for tests of the server on host 1.
#![allow(dead_code, unreachable_pub)]

use crate::arpanet_net::{Net, address};
use crate::arpanet_server::Server;
use wetstring_proto::arpanet::icp::{Icp, Pair};

/// A user who types.
pub struct Terminal {
    pub pair: Pair,
    heard: String,
}

impl Terminal {
    /// Calls the server of host 1.
    pub fn call(net: &mut Net, server: &mut Server) -> Self {
        net.call(1, |host, cx| server.turn(host, cx));
        let mut icp = net.call(0, |host, cx| Icp::call(host, cx, address(1), 3, 0x40).unwrap());
        for _ in 0..20 {
            net.settle();
            net.call(1, |host, cx| server.turn(host, cx));
            if let Some(pair) = net.call(0, |host, cx| icp.turn(host, cx).unwrap()) {
                return Self { pair, heard: String::new() };
            }
        }
        panic!("no connection");
    }

    /// Says a line, and hears what comes.
    pub fn say(&mut self, net: &mut Net, server: &mut Server, line: &str) -> String {
        let line = if line.is_empty() { String::new() } else { format!("{line}\r\n") };
        net.host(0).write(self.pair.to, line.as_bytes(), line.len() * 8);
        self.heard.clear();
        for _ in 0..60 {
            net.settle();
            net.call(1, |host, cx| server.turn(host, cx));
            let mut some = [0; 500];
            let count = net.host(0).peek(self.pair.from, &mut some) / 8;
            net.host(0).consume(self.pair.from, count * 8);
            self.heard.push_str(&String::from_utf8_lossy(&some[..count]));
        }
        self.heard.clone()
    }
}
