//! TLS over TCP, by rustls.
//!
//! A listener presents its certificate. A client trusts certificates signed by an authority, of the system or
//! from a file, or one certificate by its fingerprint.

use super::{OpenError, PATIENCE, Port, PortFacts};
use crate::event::{Interest, Source};
use crate::line::{HostPort, TlsSpec};
use crate::os::files;
use crate::signals::Signals;
use crate::{hex, in_words};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, DigitallySignedStruct, Error,
    RootCertStore, ServerConfig, ServerConnection, SignatureScheme,
};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Handshake timeout.
const HANDSHAKE: Duration = Duration::from_secs(15);
/// Bytes given to TLS at a time.
const CHUNK: usize = 64 * 1024;

/// The hash of a certificate, in hexadecimal digits.
fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    hex(&Sha256::digest(certificate))
}

/// A listener's certificate and key.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    config: Arc<ServerConfig>,
    /// Fingerprint of the certificate, for people.
    pub(super) fingerprint: String,
}

impl Identity {
    /// Reads the certificate, its chain and its key.
    pub(super) fn of(spec: &TlsSpec) -> Result<Self, OpenError> {
        let (Some(certificate), Some(key)) = (&spec.cert, &spec.key) else {
            let error = io::Error::new(ErrorKind::InvalidInput, "expected cert=FILE and key=FILE");
            return Err(OpenError::io(format!("listen on {}", spec.to), error));
        };
        let chain = certificates(certificate)?;
        let fingerprint = chain.first().map(fingerprint).unwrap_or_default();
        let key = private_key(key)?;
        let failed = |error: Error| {
            let what = format!("use the certificate {}", certificate.display());
            OpenError::io(what, io::Error::other(in_words(&error)))
        };
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(failed)?;
        Ok(Self { config: Arc::new(config), fingerprint })
    }
}

/// Reads a private key. A file that others can read, or a group can change, is refused. A group that can read
/// it is often intended (`ssl-cert`).
fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, OpenError> {
    let failed = |error: io::Error| OpenError::io(format!("read {}", path.display()), error);
    let file = File::open(path).map_err(failed)?;
    let mode = files::permissions(&file.metadata().map_err(failed)?);
    if file.metadata().is_ok_and(|data| data.is_file()) && mode & 0o027 != 0 {
        let say = format!(
            "its permissions {:04o} are too open for a private key; chmod 600 it",
            mode & 0o7777
        );
        return Err(failed(io::Error::new(ErrorKind::PermissionDenied, say)));
    }
    PrivateKeyDer::from_pem_reader(BufReader::new(file)).map_err(|error| bad_file(path, &error))
}

fn bad_file(path: &Path, error: &dyn std::fmt::Display) -> OpenError {
    let what = format!("read {} (expected PEM)", path.display());
    OpenError::io(what, io::Error::other(in_words(&error)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, OpenError> {
    let all: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| bad_file(path, &error))?;
    if all.is_empty() {
        return Err(bad_file(path, &"it holds no certificate"));
    }
    Ok(all)
}

/// Verifies the certificate of a listener.
#[derive(Debug)]
struct Judge {
    /// Only this one is accepted.
    pinned: Option<String>,
    /// These are accepted as they are: from a file given by the user.
    named: Vec<CertificateDer<'static>>,
    /// Otherwise those signed by these authorities.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
    /// The fingerprint of the presented certificate.
    seen: Mutex<Option<String>>,
}

impl Judge {
    fn new(spec: &TlsSpec) -> Result<Self, OpenError> {
        let provider = Arc::new(ring::default_provider());
        let from_env = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
        let mut roots = RootCertStore::empty();
        let mut named = Vec::new();
        if let (None, Some(path)) = (&spec.fingerprint, &spec.ca) {
            named = certificates(path)?;
            roots.add_parsable_certificates(named.clone());
        } else if let (None, Some(path)) = (&spec.fingerprint, from_env) {
            roots.add_parsable_certificates(certificates(&path)?);
        } else if spec.fingerprint.is_none() {
            let failed = |error| OpenError::io("read the certificates of the system", error);
            roots.add_parsable_certificates(files::authorities().map_err(failed)?);
        }
        let authorities = (!roots.is_empty())
            .then(|| {
                WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone()).build()
            })
            .transpose()
            .map_err(|e| OpenError::io("use the authorities", io::Error::other(in_words(&e))))?;
        let seen = Mutex::default();
        Ok(Self { pinned: spec.fingerprint.clone(), named, authorities, provider, seen })
    }

    fn seen(&self) -> Option<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let print = fingerprint(shown);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(print.clone());
        if let Some(pinned) = &self.pinned {
            if *pinned == print {
                return Ok(ServerCertVerified::assertion());
            }
            return Err(CertificateError::ApplicationVerificationFailure.into());
        }
        if self.named.contains(shown) {
            return Ok(ServerCertVerified::assertion());
        }
        match &self.authorities {
            Some(judge) => judge.verify_server_cert(shown, chain, name, ocsp, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let all = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, all)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let all = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, all)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A TLS connection.
pub(super) struct TlsLine {
    inner: Box<dyn Port>,
    tls: Connection,
    judge: Option<Arc<Judge>>,
    facts: PortFacts,
    finished: bool,
}

impl TlsLine {
    /// The connecting end.
    pub(super) fn call(inner: Box<dyn Port>, spec: &TlsSpec) -> Result<Self, OpenError> {
        let failed = |error: &dyn std::fmt::Display| {
            let what = format!("begin TLS with {}", spec.to);
            OpenError::io(what, io::Error::other(in_words(&error)))
        };
        let judge = Arc::new(Judge::new(spec)?);
        let config = ClientConfig::builder_with_provider(judge.provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?
            .dangerous()
            .with_custom_certificate_verifier(judge.clone())
            .with_no_client_auth();
        let HostPort { host, .. } = &spec.to;
        let name = ServerName::try_from(host.clone()).map_err(|error| failed(&error))?;
        let tls = ClientConnection::new(Arc::new(config), name).map_err(|error| failed(&error))?;
        Ok(Self::new(inner, tls.into(), Some(judge)))
    }

    /// The listening end.
    pub(super) fn answer(inner: Box<dyn Port>, identity: &Identity) -> io::Result<Self> {
        let tls = ServerConnection::new(identity.config.clone()).map_err(io::Error::other)?;
        Ok(Self::new(inner, tls.into(), None))
    }

    fn new(inner: Box<dyn Port>, mut tls: Connection, judge: Option<Arc<Judge>>) -> Self {
        tls.set_buffer_limit(Some(2 * CHUNK));
        // C-Kermit 10 declares its end transparent, and loses bytes when nothing is prefixed.
        let facts = PortFacts { clear: false, ..inner.facts().clone() };
        Self { inner, tls, judge, facts, finished: false }
    }

    /// Reads received data; false at the end.
    fn hear(&mut self) -> io::Result<Option<bool>> {
        match self.tls.read_tls(&mut Through(&mut *self.inner)) {
            Ok(0) => return Ok(Some(false)),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
        let result = self.tls.process_new_packets();
        // An alert gives the reason, and is sent even now.
        let _ = self.flush();
        result.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        Ok(Some(true))
    }

    /// Why the handshake failed, for the user.
    fn explained(&self, error: &io::Error) -> OpenError {
        let what = format!("agree on TLS with {}", self.facts.name);
        let shown = self.judge.as_ref().and_then(|judge| judge.seen());
        let distrusted = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<Error>())
            .is_some_and(|error| matches!(error, Error::InvalidCertificate(_)));
        match shown {
            Some(print) if distrusted => {
                let pinned = self.judge.as_ref().and_then(|judge| judge.pinned.as_deref());
                let say = match pinned {
                    Some(pinned) => format!(
                        "expected a certificate with the fingerprint {pinned}, got one with {print}"
                    ),
                    None => format!(
                        "no authority that is trusted here has signed its certificate ({}); if its \
                         owner tells you the same fingerprint, add ?fingerprint={print}",
                        in_words(&error)
                    ),
                };
                OpenError::io(what, io::Error::other(say))
            }
            _ => OpenError::io(what, io::Error::new(error.kind(), in_words(&error))),
        }
    }
}

impl Port for TlsLine {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match self.tls.reader().read(into) {
                Ok(len) => return Ok(Some(len)),
                // The peer closed without close_notify; the protocol knows whether that matters.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(Some(0)),
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                Err(_) => {}
            }
            match self.hear()? {
                None => return Ok(None),
                Some(true) => {}
                Some(false) => {
                    let _ = self.tls.process_new_packets();
                }
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let mut taken = 0;
        loop {
            self.flush()?;
            if self.tls.wants_write() || taken == bytes.len() {
                return Ok((taken > 0).then_some(taken));
            }
            let chunk = &bytes[taken..bytes.len().min(taken + CHUNK)];
            let len = self.tls.writer().write(chunk)?;
            if len == 0 {
                return Ok((taken > 0).then_some(taken));
            }
            taken += len;
        }
    }

    fn held(&self) -> bool {
        self.tls.wants_write() || self.inner.held()
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut Through(&mut *self.inner)) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.inner.flush()
    }

    /// Handshake; the listener presents its certificate.
    fn settle(
        &mut self,
        signals: Option<&Signals>,
        notes: &mut dyn FnMut(&str),
    ) -> Result<(), OpenError> {
        self.inner.settle(signals, notes)?;
        let until = Instant::now() + HANDSHAKE;
        while self.tls.is_handshaking() {
            self.flush().map_err(|error| self.explained(&error))?;
            match self.hear() {
                Ok(Some(true)) => continue,
                Ok(Some(false)) => {
                    let error = io::Error::new(
                        ErrorKind::UnexpectedEof,
                        "the peer has closed the connection",
                    );
                    return Err(self.explained(&error));
                }
                Ok(None) => {}
                Err(error) => {
                    super::drain(self, PATIENCE);
                    return Err(self.explained(&error));
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let error = io::Error::new(ErrorKind::TimedOut, "the peer does not speak TLS");
                return Err(self.explained(&error));
            }
            let interest = Interest::read_and_write(self.read_source(), self.held());
            match Signals::wait(signals, interest, Some(left)) {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(self.explained(&error)),
                Err(signal) => return Err(OpenError::Interrupted(signal)),
            }
        }
        self.flush().map_err(|error| self.explained(&error))
    }

    fn read_source(&self) -> Source<'_> {
        self.inner.read_source()
    }

    fn write_source(&self) -> Source<'_> {
        self.inner.write_source()
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        if !std::mem::replace(&mut self.finished, true) {
            self.tls.send_close_notify();
            super::drain(self, patience);
        }
        self.inner.finish(patience)
    }
}

impl Drop for TlsLine {
    fn drop(&mut self) {
        let _ = self.finish(PATIENCE);
    }
}

/// A port as a byte stream for rustls.
struct Through<'a>(&'a mut dyn Port);

impl Read for Through<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)?.ok_or_else(|| ErrorKind::WouldBlock.into())
    }
}

impl Write for Through<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)?.ok_or_else(|| ErrorKind::WouldBlock.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
