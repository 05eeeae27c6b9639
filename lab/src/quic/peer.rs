//! One end of a connection: the library with the laboratory's clock and seeds, without keys.

use super::clock::Clock;
use super::crypto::{NoCrypto, NoKey};
use super::model::{QuicCongestion, QuicModel};
use crate::element::End;
use crate::net::headers::{UDP, write_ip};
use crate::random::Random;
use bytes::BytesMut;
use core::net::{Ipv4Addr, SocketAddr};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent,
    Dir, Endpoint, EndpointConfig, Event, ServerConfig, StreamEvent, StreamId, TransportConfig,
    VarInt,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of the headers of IP and UDP, which lie before a datagram on the network.
pub(super) const HEADERS: usize = 20 + 8;
/// Bytes of a connection identifier.
const IDENTIFIER: usize = 8;
/// Port of the listening end; private ones at the calling end.
const PORT: u16 = 1649;

/// Connection identifiers from a seed.
#[derive(Debug)]
struct Identifiers(Random);

impl Identifiers {
    fn draw(&mut self) -> ConnectionId {
        ConnectionId::new(&self.0.bits().to_be_bytes())
    }
}

impl ConnectionIdGenerator for Identifiers {
    fn generate_cid(&mut self) -> ConnectionId {
        self.draw()
    }

    fn cid_len(&self) -> usize {
        IDENTIFIER
    }

    fn cid_lifetime(&self) -> Option<core::time::Duration> {
        None
    }
}

fn address(end: End) -> SocketAddr {
    let port = if end == End::B { PORT } else { 49_152 };
    (Ipv4Addr::new(192, 0, 2, end.index() as u8 + 1), port).into()
}

fn transport(model: &QuicModel) -> TransportConfig {
    let window = VarInt::from_u64(model.window_bytes).unwrap_or(VarInt::MAX);
    let congestion: Arc<dyn ControllerFactory + Send + Sync> = match model.congestion {
        QuicCongestion::NewReno => Arc::new(NewRenoConfig::default()),
        QuicCongestion::Cubic => Arc::new(CubicConfig::default()),
        QuicCongestion::Bbr => Arc::new(BbrConfig::default()),
    };
    let mut transport = TransportConfig::default();
    transport
        .receive_window(window)
        .stream_receive_window(window)
        .send_window(model.window_bytes)
        .congestion_controller_factory(congestion)
        // The path MTU is known: nothing is probed, and losses are losses.
        .mtu_discovery_config(None)
        .initial_mtu(model.payload_bytes)
        .min_mtu(model.payload_bytes)
        .max_idle_timeout(None);
    transport
}

/// One end of a connection.
pub(super) struct Peer {
    end: End,
    clock: Clock,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// The stream that this end writes, and the one that it reads.
    writes: Option<StreamId>,
    reads: Option<StreamId>,
    /// Since when there may be something to read.
    pub(super) ready: Option<u64>,
    /// The connection is lost, and why; until that is told.
    pub(super) lost: bool,
    pub(super) why_lost: Option<String>,
    /// Packets for the network, headers included.
    pub(super) going: VecDeque<Vec<u8>>,
    /// The network did not accept the first of them.
    pub(super) refused: bool,
    /// When a timer expires, in ns.
    pub(super) timer: u64,
    spare: Vec<Vec<u8>>,
    made: Vec<u8>,
}

impl Peer {
    /// The peer of this end. The one at A calls, the one at B listens.
    pub(super) fn new(model: &QuicModel, clock: Clock, end: End) -> Self {
        let name = ["a", "b"][end.index()];
        let stream = |what: &str| Random::stream(model.seed, "quic", &format!("{what} {name}"));
        let mut config = EndpointConfig::new(Arc::new(NoKey));
        let mut numbers = stream("numbers");
        let mut seed = [0; 32];
        for part in seed.chunks_mut(8) {
            part.copy_from_slice(&numbers.bits().to_be_bytes()[..part.len()]);
        }
        let identifiers = stream("identifiers");
        config.rng_seed(Some(seed));
        config.cid_generator(move || Box::new(Identifiers(identifiers.clone())));
        // Never refused: the model's sizes are within what it takes.
        let _ = config.max_udp_payload_size(model.payload_bytes.max(1472));
        let transport = Arc::new(transport(model));
        let server = (end == End::B).then(|| {
            let mut server = ServerConfig::new(Arc::new(NoCrypto), Arc::new(NoKey));
            server.transport_config(Arc::clone(&transport));
            Arc::new(server)
        });
        let mut endpoint = Endpoint::new(Arc::new(config), server, false, None);
        let connection = (end == End::A).then(|| {
            let mut client = ClientConfig::new(Arc::new(NoCrypto));
            client.transport_config(transport);
            let first = Identifiers(stream("first identifier")).draw();
            client.initial_dst_cid_provider(Arc::new(move || first));
            let to = address(End::B);
            endpoint.connect(clock.at(0), client, to, "laboratory").expect("an address that is one")
        });
        let timer = if end == End::A { 0 } else { u64::MAX };
        Self {
            end,
            clock,
            endpoint,
            connection,
            writes: None,
            reads: None,
            ready: None,
            lost: false,
            why_lost: None,
            going: VecDeque::new(),
            refused: false,
            timer,
            spare: Vec::new(),
            made: Vec::new(),
        }
    }

    /// Takes a packet from the network.
    pub(super) fn come(&mut self, now: u64, packet: &[u8]) {
        let data = BytesMut::from(packet.get(HEADERS..).unwrap_or_default());
        let at = self.clock.at(now);
        self.made.clear();
        let from = address(self.end.other());
        match self.endpoint.handle(at, from, None, None, data, &mut self.made) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((own, connection)) = &mut self.connection
                    && *own == handle
                {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, at, &mut self.made, None);
                // There is one connection; others are ignored.
                self.connection = self.connection.take().or(accepted.ok());
            }
            Some(DatagramEvent::Response(transmit)) => self.queue(transmit.size),
            None => {}
        }
    }

    /// The datagram in `made` is to be sent.
    fn queue(&mut self, len: usize) {
        let mut packet = self.spare.pop().unwrap_or_default();
        packet.clear();
        packet.resize(HEADERS, 0);
        packet.extend_from_slice(&self.made[..len]);
        write_ip(&mut packet, UDP, self.end);
        self.going.push_back(packet);
    }

    /// A packet has gone.
    pub(super) fn gone(&mut self) {
        if let Some(packet) = self.going.pop_front()
            && self.spare.len() < 64
        {
            self.spare.push(packet);
        }
    }

    /// Runs timers, handles events and builds the packets to send.
    pub(super) fn turn(&mut self, now: u64) {
        let at = self.clock.at(now);
        let Some((handle, connection)) = &mut self.connection else { return };
        if self.timer <= now {
            connection.handle_timeout(at);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.writes = connection.streams().open(Dir::Uni),
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    self.reads = connection.streams().accept(Dir::Uni).or(self.reads);
                    self.ready = self.ready.or(Some(now));
                }
                Event::Stream(StreamEvent::Readable { .. }) => {
                    self.ready = self.ready.or(Some(now));
                }
                Event::ConnectionLost { reason } => {
                    self.lost = true;
                    self.why_lost = Some(reason.to_string());
                }
                _ => {}
            }
        }
        loop {
            self.made.clear();
            let Some((_, connection)) = &mut self.connection else { break };
            let Some(transmit) = connection.poll_transmit(at, 1, &mut self.made) else { break };
            self.queue(transmit.size);
        }
        let timer = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        // An expired one has been handled: it needs a turn when time has advanced.
        self.timer = timer.map_or(u64::MAX, |at| self.clock.ns(at).max(now + 1));
    }

    /// Whether bytes can be written at all yet.
    pub(super) fn is_open(&self) -> bool {
        self.writes.is_some()
    }

    /// Hands bytes to the connection; how many it took.
    pub(super) fn write(&mut self, bytes: &[u8]) -> usize {
        let Some(((_, connection), id)) = self.connection.as_mut().zip(self.writes) else {
            return 0;
        };
        connection.send_stream(id).write(bytes).unwrap_or(0)
    }

    /// Reads received bytes in order; returns how many. 0: no more for now.
    pub(super) fn read(&mut self, into: &mut [u8]) -> usize {
        let Some(((_, connection), id)) = self.connection.as_mut().zip(self.reads) else {
            self.ready = None;
            return 0;
        };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            self.ready = None;
            return 0;
        };
        let mut len = 0;
        while len < into.len() {
            let Ok(Some(chunk)) = chunks.next(into.len() - len) else {
                self.ready = None;
                break;
            };
            into[len..len + chunk.bytes.len()].copy_from_slice(&chunk.bytes);
            len += chunk.bytes.len();
        }
        // Whether a window update is to go finds out `turn`.
        let _ = chunks.finalize();
        len
    }
}
