//! A handshake and keys without encryption, which take no time.
//!
//! QUIC leaves its cryptography to others [RFC 9001]. The laboratory needs none of it: nothing there
//! listens, and nothing damages a packet without losing it. What is kept is what costs time on a
//! path: two flights of handshake before the first data, the transport parameters in them, and the
//! 16 bytes by which protection makes each packet longer. No random number is drawn. The tag says which
//! key it is of: a packet that was overtaken by a key update must fail with the new key, as it does with
//! real ones, or the library takes it for a second update and ends the connection.
//!
//! ```text
//! client                              server
//! Initial:   hello(params)   ------>
//!                            <------  Initial: hello   Handshake: params
//! Handshake: finished        ------>
//! ```
//!
//! A message is its kind (1 byte), its length (2 bytes, big endian) and its content.

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey,
    HmacKey, KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use std::any::Any;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// What protection adds to a packet: the tag of every AEAD that QUIC knows [RFC 9001 §5.3].
const TAG: usize = 16;

/// The key of everything but packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoKey;

/// The key of packets: how many updates there were before it.
#[derive(Clone, Copy, Debug)]
struct Generation(u128);

impl PacketKey for Generation {
    fn encrypt(&self, _: u64, packet: &mut [u8], _: usize) {
        if let Some(tag) = packet.last_chunk_mut::<TAG>() {
            *tag = self.0.to_be_bytes();
        }
    }

    fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let tag = payload.last_chunk::<TAG>().ok_or(CryptoError)?;
        if *tag != self.0.to_be_bytes() {
            return Err(CryptoError);
        }
        payload.truncate(payload.len() - TAG);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for NoKey {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}

    fn encrypt(&self, _: usize, _: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG
    }
}

impl HmacKey for NoKey {
    fn sign(&self, data: &[u8], signature: &mut [u8]) {
        let digest = xxh3_64(data).to_be_bytes();
        for (place, byte) in signature.iter_mut().enumerate() {
            *byte = digest[place % digest.len()];
        }
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut expected = [0; 32];
        self.sign(data, &mut expected);
        if signature == expected { Ok(()) } else { Err(CryptoError) }
    }
}

impl HandshakeTokenKey for NoKey {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Self)
    }
}

impl AeadKey for NoKey {
    fn seal(&self, data: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        data.extend([0; TAG]);
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let len = data.len().checked_sub(TAG).ok_or(CryptoError)?;
        Ok(&mut data[..len])
    }
}

fn packet_keys(generation: u128) -> KeyPair<Box<dyn PacketKey>> {
    let key = || Box::new(Generation(generation));
    KeyPair { local: key(), remote: key() }
}

fn keys() -> Keys {
    let header = KeyPair::<Box<dyn HeaderKey>> { local: Box::new(NoKey), remote: Box::new(NoKey) };
    Keys { header, packet: packet_keys(0) }
}

/// What both ends are configured with.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoCrypto;

impl NoCrypto {
    fn session(side: Side, params: &TransportParameters) -> Box<dyn Session> {
        let mut own = Vec::new();
        params.write(&mut own);
        let state = if side.is_client() { State::SayHello } else { State::AwaitHello };
        Box::new(Handshake { side, state, own, peer: None, heard: Vec::new(), updates: 0 })
    }
}

impl ClientConfig for NoCrypto {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Self::session(Side::Client, params))
    }
}

impl ServerConfig for NoCrypto {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        Self::session(Side::Server, params)
    }
}

const HELLO: u8 = 1;
const PARAMS: u8 = 2;
const FINISHED: u8 = 3;

/// State of a handshake: the next message to send or to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    SayHello,
    AwaitHello,
    /// The client has the hello: the keys of the handshake.
    TakeKeys,
    AwaitParams,
    SayParams,
    SayFinished,
    AwaitFinished,
    Done,
}

/// One end of a handshake.
#[derive(Debug)]
struct Handshake {
    side: Side,
    state: State,
    /// Our encoded transport parameters.
    own: Vec<u8>,
    peer: Option<TransportParameters>,
    /// Bytes that make no whole message yet.
    heard: Vec<u8>,
    /// Keys that were asked for after those of the handshake.
    updates: u128,
}

fn say(into: &mut Vec<u8>, kind: u8, content: &[u8]) {
    into.push(kind);
    into.extend((content.len() as u16).to_be_bytes());
    into.extend(content);
}

impl Handshake {
    /// A whole message from the peer.
    fn hear(&mut self, kind: u8, content: &[u8]) -> Result<(), TransportError> {
        self.state = match (self.state, kind) {
            (State::AwaitHello, HELLO) if self.side.is_server() => {
                self.peer = Some(TransportParameters::read(self.side, &mut { content })?);
                State::SayHello
            }
            (State::AwaitHello, HELLO) => State::TakeKeys,
            (State::AwaitParams, PARAMS) => {
                self.peer = Some(TransportParameters::read(self.side, &mut { content })?);
                State::SayFinished
            }
            (State::AwaitFinished, FINISHED) => State::Done,
            _ => return Err(TransportErrorCode::PROTOCOL_VIOLATION.into()),
        };
        Ok(())
    }
}

impl Session for Handshake {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.state != State::Done
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.heard.extend(bytes);
        while let [kind, high, low, rest @ ..] = &self.heard[..] {
            let len = usize::from(u16::from_be_bytes([*high, *low]));
            let Some(content) = rest.get(..len) else { break };
            let (kind, content) = (*kind, content.to_vec());
            self.heard.drain(..3 + len);
            self.hear(kind, &content)?;
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, into: &mut Vec<u8>) -> Option<Keys> {
        match (self.state, self.side) {
            (State::SayHello, Side::Client) => {
                say(into, HELLO, &self.own);
                self.state = State::AwaitHello;
                None
            }
            (State::SayHello, Side::Server) => {
                say(into, HELLO, &[]);
                self.state = State::SayParams;
                Some(keys())
            }
            (State::TakeKeys, _) => {
                self.state = State::AwaitParams;
                Some(keys())
            }
            (State::SayParams, _) => {
                say(into, PARAMS, &self.own);
                self.state = State::AwaitFinished;
                Some(keys())
            }
            (State::SayFinished, _) => {
                say(into, FINISHED, &[]);
                self.state = State::Done;
                Some(keys())
            }
            _ => None,
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.updates += 1;
        Some(packet_keys(self.updates))
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}
