//! `tls://HOST:PORT?ca=FILE` and `tls-listen://HOST:PORT?cert=FILE&key=FILE`.

use super::{BadLine, HostPort, part};
use std::fmt;
use std::path::PathBuf;

/// Where to speak TLS, and whom to trust.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsSpec {
    /// Where.
    pub to: HostPort,
    /// Connecting: trusted authorities, in PEM, instead of the system's.
    pub ca: Option<PathBuf>,
    /// Connecting: the only trusted certificate, by its SHA-256 in 64 hexadecimal digits.
    pub fingerprint: Option<String>,
    /// Listening: the certificate with its chain, in PEM.
    pub cert: Option<PathBuf>,
    /// Listening: the key of that certificate, in PEM.
    pub key: Option<PathBuf>,
}

impl TlsSpec {
    /// Parses what follows `tls://` (connecting) or `tls-listen://`.
    pub(super) fn parse(text: &str, calls: bool) -> Result<Self, BadLine> {
        let (to, query) = text.split_once('?').unwrap_or((text, ""));
        let to = if calls { HostPort::called(to, None)? } else { HostPort::parse(to)? };
        let mut spec = Self { to, ca: None, fingerprint: None, cert: None, key: None };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if value.is_empty() {
                return Err(part("tls setting", "NAME=VALUE", pair));
            }
            match (key, calls) {
                ("ca", true) => spec.ca = Some(value.into()),
                ("fingerprint", true) => spec.fingerprint = Some(fingerprint(value)?),
                ("cert", false) => spec.cert = Some(value.into()),
                ("key", false) => spec.key = Some(value.into()),
                (_, true) => return Err(part("tls setting", "ca|fingerprint", key)),
                (_, false) => return Err(part("tls-listen setting", "cert|key", key)),
            }
        }
        if !calls && (spec.cert.is_none() || spec.key.is_none()) {
            return Err(part("tls-listen", "HOST:PORT?cert=FILE&key=FILE, both in PEM", text));
        }
        Ok(spec)
    }
}

/// 64 hexadecimal digits; colons between them, as other programs print them, are skipped.
fn fingerprint(text: &str) -> Result<String, BadLine> {
    let digits: String = text.chars().filter(|c| *c != ':').collect();
    if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(part(
            "fingerprint",
            "the SHA-256 of a certificate, 64 hexadecimal digits",
            text,
        ));
    }
    Ok(digits.to_ascii_lowercase())
}

impl fmt::Display for TlsSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to)?;
        let mut separator = '?';
        let mut put = |key: &str, value: Option<&dyn fmt::Display>| {
            if let Some(value) = value {
                write!(f, "{separator}{key}={value}")?;
                separator = '&';
            }
            Ok(())
        };
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let (ca, cert, key) = (path(&self.ca), path(&self.cert), path(&self.key));
        put("ca", ca.as_ref().map(|text| text as _))?;
        put("fingerprint", self.fingerprint.as_ref().map(|text| text as _))?;
        put("cert", cert.as_ref().map(|text| text as _))?;
        put("key", key.as_ref().map(|text| text as _))
    }
}
