//! `ncp://HOST/PATH?imp=HOST:PORT`: an ARPANET host, and how it is reached.

use super::{BadLine, HostPort, part};
use std::fmt;
use wetstring_proto::arpanet::leader::{Address, Form};

/// A host of the ARPANET, a path there, and the interface to the IMP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NcpSpec {
    /// The peer host.
    pub to: Address,
    /// The name of a file there, or of a directory if it ends with `/`; may be empty.
    pub path: String,
    /// Where the IMP receives datagrams.
    pub imp: Option<HostPort>,
    /// Where a host that we play the IMP for receives datagrams: the peer itself.
    pub host: Option<HostPort>,
    /// The UDP port of this end; 0 lets the system choose.
    pub port: u16,
    /// Our own number, where we play the IMP.
    pub me: Address,
    /// Leaders of 32 or of 96 bits.
    pub form: Form,
}

/// Our default number, where we play the IMP.
const ME: Address = Address { host: 0, imp: 2 };

/// `6`, the octet of an old leader, or `HOST.IMP`.
fn address(text: &str) -> Option<Address> {
    match text.split_once('.') {
        Some((host, imp)) => Some(Address { host: host.parse().ok()?, imp: imp.parse().ok()? }),
        None => text.parse().ok().map(Address::from_octet),
    }
}

impl NcpSpec {
    /// Parses what follows `ncp://`.
    pub(super) fn parse(text: &str) -> Result<Self, BadLine> {
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let (number, path) = place.split_once('/').unwrap_or((place, ""));
        let expected = "a host as 6, the octet of a leader, or as HOST.IMP such as 0.6";
        let to = address(number).ok_or_else(|| part("host", expected, number))?;
        let bad = |octet: char| octet.is_control() || !octet.is_ascii();
        if path.len() > 120 || path.contains(bad) {
            return Err(part("path", "at most 120 characters of ASCII", path));
        }
        let (form, path) = (Form::Old, path.to_owned());
        let mut spec = Self { to, path, imp: None, host: None, port: 0, me: ME, form };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            match key {
                "imp" => spec.imp = Some(HostPort::parse(value)?),
                "host" => spec.host = Some(HostPort::parse(value)?),
                "port" => {
                    spec.port = value.parse().map_err(|_| part("port", "0..65535", value))?;
                }
                "me" => spec.me = address(value).ok_or_else(|| part("me", expected, value))?,
                "leader" => {
                    spec.form = match value {
                        "old" => Form::Old,
                        "new" => Form::New,
                        _ => return Err(part("leader", "old|new", value)),
                    }
                }
                _ => return Err(part("ncp setting", "imp|host|port|me|leader", key)),
            }
        }
        if spec.imp.is_some() == spec.host.is_some() {
            let expected = "imp=HOST:PORT, the IMP, or host=HOST:PORT, a host to play the IMP for";
            return Err(part("ncp", expected, query));
        }
        let fits = |address: Address| spec.form == Form::New || address.octet().is_some();
        if !(fits(spec.to) && fits(spec.me)) {
            let expected = "hosts 0 to 3 at IMPs 0 to 63, or leader=new";
            return Err(part("host", expected, number));
        }
        Ok(spec)
    }
}

impl fmt::Display for NcpSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { host, imp } = self.to;
        write!(f, "ncp://{host}.{imp}")?;
        if !self.path.is_empty() {
            write!(f, "/{}", self.path)?;
        }
        match (&self.imp, &self.host) {
            (Some(at), _) => write!(f, "?imp={at}")?,
            (None, Some(at)) => write!(f, "?host={at}&me={}.{}", self.me.host, self.me.imp)?,
            (None, None) => {}
        }
        if self.port != 0 {
            write!(f, "&port={}", self.port)?;
        }
        if self.form == Form::New {
            f.write_str("&leader=new")?;
        }
        Ok(())
    }
}
