//! Echo requests (RFC 792) and their replies.

use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::socket::icmp;
use smoltcp::wire::{Icmpv4Packet, Icmpv4Repr, IpAddress};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::time::Duration;

/// The identifier of our requests; no other program uses the stack's address.
const IDENT: u16 = 0x7773;
/// Bytes of data in a request.
const DATA: [u8; 16] = *b"wetstring  ping\n";
/// Maximum requests remembered without a reply.
const MOST: usize = 16;

/// A reply to a ping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The number of the ping, from 0.
    pub number: u16,
    /// Who replied.
    pub from: Ipv4Addr,
    /// How long it took.
    pub took: Duration,
}

#[derive(Debug)]
pub(super) struct Pings {
    handle: SocketHandle,
    to: Ipv4Addr,
    next: u16,
    sent: VecDeque<(u16, Duration)>,
}

impl Pings {
    pub(super) fn new(sockets: &mut SocketSet<'_>, to: Ipv4Addr) -> Self {
        let buffer = || icmp::PacketBuffer::new(vec![icmp::PacketMetadata::EMPTY; 4], vec![0; 512]);
        let mut socket = icmp::Socket::new(buffer(), buffer());
        // A new socket accepts any identifier.
        let _ = socket.bind(icmp::Endpoint::Ident(IDENT));
        Self { handle: sockets.add(socket), to, next: 0, sent: VecDeque::new() }
    }

    pub(super) fn send(&mut self, sockets: &mut SocketSet<'_>, now: Duration) {
        let seq_no = self.next;
        let echo = Icmpv4Repr::EchoRequest { ident: IDENT, seq_no, data: &DATA };
        let socket = sockets.get_mut::<icmp::Socket<'_>>(self.handle);
        // A full queue loses the ping.
        if let Ok(room) = socket.send(echo.buffer_len(), IpAddress::Ipv4(self.to)) {
            let mut packet = Icmpv4Packet::new_unchecked(room);
            echo.emit(&mut packet, &ChecksumCapabilities::default());
        }
        self.next = self.next.wrapping_add(1);
        if self.sent.len() == MOST {
            self.sent.pop_front();
        }
        self.sent.push_back((seq_no, now));
    }

    pub(super) fn answer(&mut self, sockets: &mut SocketSet<'_>, now: Duration) -> Option<Answer> {
        let socket = sockets.get_mut::<icmp::Socket<'_>>(self.handle);
        while let Ok((bytes, from)) = socket.recv() {
            let Some(from) = super::v4(from) else { continue };
            let Ok(packet) = Icmpv4Packet::new_checked(bytes) else { continue };
            let Ok(Icmpv4Repr::EchoReply { ident: IDENT, seq_no, .. }) =
                Icmpv4Repr::parse(&packet, &ChecksumCapabilities::default())
            else {
                continue;
            };
            // A duplicate reply is ignored.
            let Some(at) = self.sent.iter().position(|(number, _)| *number == seq_no) else {
                continue;
            };
            let sent = self.sent.remove(at).map_or(now, |(_, sent)| sent);
            return Some(Answer { number: seq_no, from, took: now.saturating_sub(sent) });
        }
        None
    }
}
