//! Changes tried with `ftp` over a SLIP line: not settings of a protocol, but parameters of the line.

use super::advice::{At, Change};
use super::table;
use crate::modem::pep::PepModel;
use crate::net::{Link, Network};
use crate::slip::{Headers, SlipModel};
use crate::tcp::TcpModel;
use toml::{Table, Value};

/// Segment lengths that are tried; a packet has 40 bytes more.
const SEGMENTS: [u16; 5] = [88, 128, 256, 512, 966];
/// Windows that are tried, in segments.
const WINDOWS: [usize; 4] = [2, 4, 8, 16];

/// The line of a scenario as a network, if it is TCP over a SLIP line.
pub(super) fn network(base: &Table) -> Option<Network> {
    let line = match base.get("line")? {
        Value::String(line) => line.as_str(),
        Value::Array(all) => match &all[..] {
            [one] => one.as_str()?,
            _ => return None,
        },
        _ => return None,
    };
    let network: Network = line.parse().ok()?;
    (network.tcp.is_some() && network.slip().is_some()).then_some(network)
}

/// Everything that is tried, and the scenario of each.
pub(super) fn changes(base: &Table, network: &Network) -> Vec<(Change, Table)> {
    let mut all = Vec::new();
    let mut put = |setting, from: String, to: String, other: Network| {
        let mut scenario = base.clone();
        table::put(&mut scenario, "line", Value::String(other.to_string()));
        all.push((Change { setting, also: None, from, to, at: At::Line }, scenario));
    };
    let (Some(tcp), Some(slip)) = (&network.tcp, network.slip()) else { return all };
    for headers in Headers::ALL.into_iter().filter(|headers| *headers != slip.headers) {
        let other = with_slip(network, |slip| slip.headers = headers);
        let [from, to] = [slip.headers, headers].map(|of| of.as_str().to_owned());
        put("slip: headers", from, to, other);
    }
    // Longer ones may be faster, but interactive traffic waits for each of them.
    let longest = if base.contains_key("typing") { tcp.mss_bytes } else { usize::MAX };
    let segments = SEGMENTS.map(usize::from).into_iter().filter(|mss| *mss <= longest);
    for mss in segments.filter(|mss| *mss != tcp.mss_bytes) {
        let other = with_slip(network, |slip| slip.mtu = mss as u16 + 40);
        let other = with_tcp(other, |tcp| tcp.mss_bytes = mss);
        put("tcp: mss (slip: mtu 40 more)", tcp.mss_bytes.to_string(), mss.to_string(), other);
    }
    for window in WINDOWS.map(|count| count * tcp.mss_bytes) {
        let now = tcp.window_bytes[1];
        if window == now {
            continue;
        }
        let other = with_tcp(network.clone(), |tcp| tcp.window_bytes = [window; 2]);
        put("tcp: window", now.to_string(), window.to_string(), other);
    }
    let word = |micro: bool| if micro { "0" } else { "12" }.to_owned();
    for (index, spec) in slip.line.iter().enumerate() {
        let Ok(pep) = spec.parse::<PepModel>() else { continue };
        if !spec.starts_with("pep:") {
            continue;
        }
        let other = PepModel { has_micro: !pep.has_micro, ..pep.clone() };
        let other = with_slip(network, |slip| slip.line[index] = other.to_string());
        put("pep: s120", word(pep.has_micro), word(!pep.has_micro), other);
    }
    all
}

fn with_slip(network: &Network, change: impl Fn(&mut SlipModel)) -> Network {
    let mut network = network.clone();
    for link in &mut network.links {
        if let Link::Slip(slip) = link {
            change(slip);
        }
    }
    network
}

fn with_tcp(mut network: Network, change: impl Fn(&mut TcpModel)) -> Network {
    network.tcp.iter_mut().for_each(change);
    network
}
