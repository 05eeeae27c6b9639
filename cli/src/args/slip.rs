//! The command line of `wst slip`; the flags that are settings come from their table.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use wetstring_drive::slip::Net;
use wetstring_drive::stack::Forward;

/// The heading of the flags that are settings.
pub(super) const LINK: &str = "The line";
const INTERFACE: &str = "A network interface (needs CAP_NET_ADMIN)";
const STACK: &str = "Without --tun: the built-in stack";

/// `wst slip`.
#[derive(Args, Debug)]
pub(crate) struct Slip {
    /// The line: a device, serial:DEVICE?baud=9600, tcp://HOST:PORT, pty:NAME, exec:COMMAND and others
    #[arg(value_name = "LINE")]
    pub(crate) line: OsString,

    /// Set any setting by its name, such as slip.mtu=296 (see `wst show slip`)
    #[arg(long = "set", value_name = "NAME=VALUE", help_heading = LINK)]
    pub(crate) sets: Vec<String>,
    /// Print statistics at this interval
    #[arg(long, value_name = "TIME", help_heading = LINK, value_parser = time)]
    pub(crate) stats: Option<Duration>,

    /// Create this interface, such as sl0
    #[arg(long, value_name = "NAME", help_heading = INTERFACE, requires_all = ["local", "remote"])]
    pub(crate) tun: Option<String>,
    /// Route over the line, ADDRESS/PREFIX or default; may be repeated
    #[arg(long = "route", value_name = "NET", help_heading = INTERFACE, requires = "tun")]
    pub(crate) routes: Vec<Net>,
    /// Local address [default without --tun: 10.0.2.15]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) local: Option<Ipv4Addr>,
    /// Address of the peer [default without --tun: 10.0.2.2]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) remote: Option<Ipv4Addr>,

    /// Forward a local port over the line: PORT:HOST:PORT, with BIND: before it for other addresses than 127.0.0.1
    #[arg(short = 'L', value_name = "FORWARD", help_heading = STACK, conflicts_with = "tun")]
    pub(crate) to_line: Vec<Forward>,
    /// Forward a port of our address on the line to a host here: PORT:HOST:PORT
    #[arg(short = 'R', value_name = "FORWARD", help_heading = STACK, conflicts_with = "tun")]
    pub(crate) from_line: Vec<Forward>,
    /// Run a SOCKS 5 proxy at this port of 127.0.0.1, or at ADDRESS:PORT
    #[arg(long, value_name = "[ADDRESS:]PORT", help_heading = STACK, conflicts_with = "tun",
          value_parser = socks)]
    pub(crate) socks: Option<SocketAddr>,
    /// DNS server over the line, for names that SOCKS clients request
    #[arg(long, value_name = "ADDRESS", help_heading = STACK, requires = "socks")]
    pub(crate) dns: Option<Ipv4Addr>,
    /// Ping this address once a second
    #[arg(long, value_name = "ADDRESS", help_heading = STACK, conflicts_with = "tun")]
    pub(crate) ping: Option<Ipv4Addr>,
    /// End after this many pings: exit code 0 if any was answered, 7 if none was
    #[arg(long, value_name = "N", help_heading = STACK, requires = "ping",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) count: Option<u32>,
    /// Maximum simultaneous connections
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = STACK, conflicts_with = "tun",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) connections: u16,
}

/// `200ms`, `2s`.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1e-3), ("s", 1.0)];
    let unit = units.iter().find_map(|(unit, by)| Some((text.strip_suffix(unit)?, *by)));
    match unit.map(|(number, by)| (number.parse::<f64>(), by)) {
        Some((Ok(number), by)) if (1e-3..=86_400.0).contains(&(number * by)) => {
            Ok(Duration::from_secs_f64(number * by))
        }
        _ => Err(format!("expected a time such as 200ms or 2s, got {text}")),
    }
}

fn socks(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    port.or_else(|_| text.parse())
        .map_err(|_| format!("expected PORT or ADDRESS:PORT such as 1080, got {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(time("1.5s"), Ok(Duration::from_millis(1500)));
        assert!(time("5").is_err() && time("-1s").is_err() && time("0s").is_err());
        assert_eq!(socks("1080"), Ok("127.0.0.1:1080".parse().unwrap()));
        assert_eq!(socks("[::1]:9"), Ok("[::1]:9".parse().unwrap()));
    }
}
