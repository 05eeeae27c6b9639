//! The session: authentication and encryption (Noise).
//!
//! ```text
//! dialer                                           listener
//!    Init    index, padding to the length wanted  -->
//!  <-- Cookie  under load: repeat it with this             (no state is kept)
//!  <-- Reply   index, no longer than the Init              (state is kept: bounded)
//!    Finish  (key pairs only)                     -->      now the address is proved
//!    Data    index, nonce, sealed NETBLT packet   <-->
//! ```
//!
//! With a code phrase an exchange comes before it (`code`).
//!
//! With key pairs the pattern is XX: either end learns the other's key, encrypted, and looks it up in its
//! files. With a shared secret it is NNpsk0: a packet from a host without the secret is not even answered.
//! Every datagram has its nonce in the clear, 64 bits that never repeat under one key; a [window](Window)
//! accepts each once. Nonces with the highest bit set are for control messages of the session, such as its end.
//!
//! A key carries 2^20 packets; then the next is derived from it. The nonce says so, without a message
//! (`keyring`).
//!
//! [`Gate`] is the listening end and [`Initiator`] the dialing one, both without a socket or a clock;
//! [`Session`] is their result.
//!
//! The handshake itself tries every length that a session begins with: `Init` and `Reply` have that length, and
//! travel unfragmented or not at all. Longer ones are probed for by control messages of the session.

mod code;
mod gate;
mod initiator;
mod keyring;
mod phrase;
mod replay;
mod session;
mod wire;

pub use code::{GOOD_FOR, GUESSES};
pub use gate::{Gate, GateOutput, HALVES, Proved};
pub use initiator::{Agreed, Answer, Initiator};
pub use phrase::Phrase;
pub use replay::Window;
pub(in crate::datagram) use session::WORD_OVERHEAD;
pub use session::{Opened, Session};
pub(in crate::datagram) use wire::DATA_HEADER;
pub use wire::{Frame, RefusalReason, SHORTEST};

use super::keys::{Identity, PublicKey, Secret};
use crate::in_words;
use snow::Builder;
use snow::params::CipherChoice;
use snow::resolvers::{CryptoResolver, RingResolver};
use snow::types::Cipher;

/// Bytes that the session adds to a NETBLT packet: header and tag.
pub const OVERHEAD: usize = DATA_HEADER + TAG;
/// Bytes of an authentication tag.
const TAG: usize = 16;
/// Must be the same at both ends.
const PROLOGUE: &[u8] = b"wetstring netblt session 1";

/// How this end authenticates.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// None: RFC 998 on the wire.
    Plain,
    /// A secret that the peer has too.
    Secret(Secret),
    /// This host's key pair.
    Keys(Identity),
    /// A phrase agreed between two people.
    Code(Phrase),
    /// The key from its exchange, and the listener's index of that exchange.
    #[doc(hidden)]
    Coded(Secret, u32),
}

/// The ciphers that both ends know. The dialer chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suite {
    /// Fast on all processors.
    ChaChaPoly,
    /// Faster where the processor has AES.
    AesGcm,
}

impl Suite {
    /// The faster one on this machine.
    pub fn fastest() -> Self {
        #[cfg(target_arch = "x86_64")]
        let has_aes =
            std::is_x86_feature_detected!("aes") && std::is_x86_feature_detected!("pclmulqdq");
        #[cfg(target_arch = "aarch64")]
        let has_aes = std::arch::is_aarch64_feature_detected!("aes");
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let has_aes = false;
        if has_aes { Self::AesGcm } else { Self::ChaChaPoly }
    }

    /// Its name in messages and events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ChaChaPoly => "ChaChaPoly",
            Self::AesGcm => "AesGcm",
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::ChaChaPoly => 1,
            Self::AesGcm => 2,
        }
    }

    const fn of(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::ChaChaPoly),
            2 => Some(Self::AesGcm),
            _ => None,
        }
    }

    /// The cipher itself, without a key.
    fn cipher(self) -> Result<Box<dyn Cipher>, snow::Error> {
        let choice = match self {
            Self::ChaChaPoly => CipherChoice::ChaChaPoly,
            Self::AesGcm => CipherChoice::AESGCM,
        };
        RingResolver.resolve_cipher(&choice).ok_or(snow::error::InitStage::GetCipherImpl.into())
    }
}

/// Handshake pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pattern {
    Keys,
    Secret,
    Code,
}

impl Pattern {
    const fn code(self) -> u8 {
        match self {
            Self::Keys => 1,
            Self::Secret => 2,
            Self::Code => 3,
        }
    }

    fn of(credentials: &Credentials) -> Option<Self> {
        match credentials {
            Credentials::Plain => None,
            Credentials::Secret(_) => Some(Self::Secret),
            Credentials::Keys(_) => Some(Self::Keys),
            Credentials::Code(_) | Credentials::Coded(..) => Some(Self::Code),
        }
    }
}

/// A Noise builder for these.
fn builder(credentials: &Credentials, suite: Suite) -> Result<Builder<'_>, snow::Error> {
    let cipher = match suite {
        Suite::ChaChaPoly => "ChaChaPoly",
        Suite::AesGcm => "AESGCM",
    };
    let pattern = match credentials {
        Credentials::Secret(_) | Credentials::Coded(..) => "NNpsk0",
        _ => "XX",
    };
    let name = format!("Noise_{pattern}_25519_{cipher}_SHA256");
    let builder = Builder::new(name.parse()?).prologue(PROLOGUE)?;
    match credentials {
        Credentials::Secret(secret) | Credentials::Coded(secret, _) => builder.psk(0, &secret.0),
        Credentials::Keys(identity) => builder.local_private_key(&identity.private),
        // Without credentials the state cannot be built.
        Credentials::Plain | Credentials::Code(_) => Ok(builder),
    }
}

/// Random bytes.
fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| format!("no random bytes: {}", in_words(&error)))?;
    Ok(bytes)
}

/// The peer's key, if the pattern has one.
fn remote_key(bytes: Option<&[u8]>) -> Option<PublicKey> {
    bytes.and_then(|bytes| bytes.try_into().ok()).map(PublicKey)
}

/// What a plain listener answers to a peer that wants a session.
pub(super) fn refuse_as_plain(frame: Frame<'_>) -> Option<Vec<u8>> {
    let (Frame::Init { sender, .. } | Frame::CodeInit { sender, .. }) = frame else { return None };
    Some(Frame::Refuse { receiver: sender, why: RefusalReason::Plain }.bytes(0))
}
