//! The command line of `wst line`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// `wst line`.
#[derive(Args, Debug)]
pub(crate) struct Line {
    /// The line: its rate in bit/s, then any of delay=250ms, bits=10, 7bit, parity=even, ber=1e-5,
    /// burst=8@2s, drop=1e-6, dup=1e-6, dir=fwd|rev|both, half=80ms, echo, buffer=64, port=115200, seed=7. Or a
    /// network, between ends of datagrams: path:rate=200M,delay=50ms,loss=1%,queue=256K, wifi:65M,
    /// trace:lte,delay=25ms, trace:up=FILE (mahimahi's format) and others; or other elements that carry
    /// bytes, joined with ' + ': 115200,usb=16ms, usb:ftdi, ble:mtu=23, lora:sf=7,
    /// modem:line=14400,v42bis; or imp:1, the ARPANET's subnet
    #[arg(value_name = "SPEC")]
    pub(crate) spec: String,
    /// First end: any LINE, such as pty:NAME or tcp-listen://127.0.0.1:7001; of a network tun:NAME,
    /// udp-listen://HOST:PORT or udp://HOST:PORT; of imp: ncp://HOST?host=HOST:PORT&port=N
    #[arg(short, value_name = "LINE", default_value = "pty:")]
    pub(crate) a: OsString,
    /// Second end
    #[arg(short, value_name = "LINE", default_value = "pty:")]
    pub(crate) b: OsString,
    /// Write what passes both ends to a file that Wireshark reads (pcapng); not of imp:
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// How much faster than real time
    #[arg(long, value_name = "FACTOR", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) faster: u32,
}
