//! The command line of `wst slip`.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use wetstring_drive::slip::Net;
use wetstring_drive::stack::Forward;
use wetstring_proto::settings::Choice;
use wetstring_proto::slip::Compression;

const LINK: &str = "The line";
const INTERFACE: &str = "A network interface (needs CAP_NET_ADMIN)";
const STACK: &str = "Without --tun: a stack of this program";

/// `wst slip`.
#[derive(Args, Debug)]
pub(crate) struct Slip {
    /// The line: a device, serial:DEVICE?baud=9600, tcp://HOST:PORT, pty:NAME, exec:COMMAND and others
    #[arg(value_name = "LINE")]
    pub(crate) line: OsString,

    /// VJ compression of TCP headers; auto begins when the other end is seen to know it
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = LINK,
          value_parser = PossibleValuesParser::new(Compression::WORDS))]
    pub(crate) compress: String,
    /// Connections whose headers are remembered, the same at both ends
    #[arg(long, value_name = "N", default_value_t = 16, help_heading = LINK,
          value_parser = clap::value_parser!(u16).range(3..=256))]
    pub(crate) slots: u16,
    /// Say the connection in every compressed packet, or where it changed; changed where the line is known
    /// to lose nothing, always elsewhere
    #[arg(long, value_name = "WHEN", help_heading = LINK, value_parser = ["always", "changed"])]
    pub(crate) ids: Option<String>,
    /// TCP's timestamps, with which VJ compresses nothing: drop takes their offer out of the SYNs of new
    /// connections, so that both ends do without, unless compression is off
    #[arg(long, value_name = "WHAT", default_value = "drop", help_heading = LINK,
          value_parser = ["drop", "keep"])]
    pub(crate) timestamps: String,
    /// What the line carries, in bit/s with ten to a byte, where the port cannot tell; urgent packets
    /// overtake only what this program holds back
    #[arg(long, value_name = "RATE", help_heading = LINK, value_parser = rate)]
    pub(crate) rate: Option<u64>,
    /// Longest packet, in bytes
    #[arg(long, value_name = "BYTES", help_heading = LINK, conflicts_with = "latency",
          value_parser = clap::value_parser!(u16).range(68..=1500))]
    pub(crate) mtu: Option<u16>,
    /// Choose the MTU so that no packet holds the line for longer; 200 ms unless given, where the rate is known
    #[arg(long, value_name = "TIME", help_heading = LINK, value_parser = time)]
    pub(crate) latency: Option<Duration>,
    /// One packet after the other as they come, without classes and turns
    #[arg(long, help_heading = LINK)]
    pub(crate) fifo: bool,
    /// Say how it goes so often
    #[arg(long, value_name = "TIME", help_heading = LINK, value_parser = time)]
    pub(crate) stats: Option<Duration>,

    /// Make this interface, such as sl0
    #[arg(long, value_name = "NAME", help_heading = INTERFACE, requires_all = ["local", "remote"])]
    pub(crate) tun: Option<String>,
    /// Addresses behind the line, ADDRESS/PREFIX or default; may be given again
    #[arg(long = "route", value_name = "NET", help_heading = INTERFACE, requires = "tun")]
    pub(crate) routes: Vec<Net>,
    /// Our address; 10.0.2.15 without --tun unless given
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) local: Option<Ipv4Addr>,
    /// The address of the other end; 10.0.2.2 without --tun unless given
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) remote: Option<Ipv4Addr>,

    /// A port here leads over the line: PORT:HOST:PORT, with BIND: before it for others than 127.0.0.1
    #[arg(short = 'L', value_name = "FORWARD", help_heading = STACK, conflicts_with = "tun")]
    pub(crate) to_line: Vec<Forward>,
    /// A port of our address on the line leads here: PORT:HOST:PORT
    #[arg(short = 'R', value_name = "FORWARD", help_heading = STACK, conflicts_with = "tun")]
    pub(crate) from_line: Vec<Forward>,
    /// A SOCKS 5 proxy here, at this port of 127.0.0.1 or ADDRESS:PORT
    #[arg(long, value_name = "[ADDRESS:]PORT", help_heading = STACK, conflicts_with = "tun",
          value_parser = socks)]
    pub(crate) socks: Option<SocketAddr>,
    /// Who looks up the names that SOCKS clients ask for, behind the line
    #[arg(long, value_name = "ADDRESS", help_heading = STACK, requires = "socks")]
    pub(crate) dns: Option<Ipv4Addr>,
    /// Ping this address once a second
    #[arg(long, value_name = "ADDRESS", help_heading = STACK, conflicts_with = "tun")]
    pub(crate) ping: Option<Ipv4Addr>,
    /// End after so many pings: 0 if one was answered, 7 if none was
    #[arg(long, value_name = "N", help_heading = STACK, requires = "ping",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) count: Option<u32>,
    /// Connections at once, at most
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = STACK, conflicts_with = "tun",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) connections: u16,
}

/// `9600`, `115.2k`, `3M`.
fn rate(text: &str) -> Result<u64, String> {
    let units = [("k", 1e3), ("M", 1e6)];
    let unit = units.iter().find_map(|(unit, by)| Some((text.strip_suffix(unit)?, *by)));
    let (number, by) = unit.unwrap_or((text, 1.0));
    match number.parse::<f64>() {
        Ok(number) if (50.0..=1e9).contains(&(number * by)) => Ok((number * by) as u64),
        _ => Err(format!("expected bit/s from 50 to 1000M, such as 9600 or 115.2k, got {text}")),
    }
}

/// `200ms`, `2s`.
fn time(text: &str) -> Result<Duration, String> {
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
    fn rates_and_times_have_units() {
        assert_eq!(rate("9600"), Ok(9600));
        assert_eq!(rate("115.2k"), Ok(115_200));
        assert_eq!(rate("3M"), Ok(3_000_000));
        assert!(rate("0").is_err() && rate("fast").is_err() && rate("9600 bps").is_err());
        assert_eq!(time("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(time("1.5s"), Ok(Duration::from_millis(1500)));
        assert!(time("5").is_err() && time("-1s").is_err() && time("0s").is_err());
        assert_eq!(socks("1080"), Ok("127.0.0.1:1080".parse().unwrap()));
        assert_eq!(socks("[::1]:9"), Ok("[::1]:9".parse().unwrap()));
    }
}
