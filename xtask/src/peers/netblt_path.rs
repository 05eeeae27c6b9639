//! NETBLT over a long and lossy path, live: two network namespaces that `wst line` joins, and in them
//! one after the other `wst` (encrypted, on UDP and on IP protocol 30), TCP of the kernel and `uftp`.
//!
//! `uftp` is given the path's rate, as its operators do; the others find it. TCP gets a smaller file: it
//! takes a hundred times as long for each byte.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::Bench;
use super::netblt::{pair, secret, socat_pair, uftp_pair};
use super::run::{Figure, size};
use super::tables::{Contender, group, material};
use wetstring_testkit::namespaces::{Joined, V4, forbidden};

/// 200 Mb/s, a round trip of 100 ms, 1 % lost in each direction, a queue of half a round trip.
const PATH: &str = "path:rate=200M,delay=50ms,loss=1%,queue=2500000";
/// Kilobits per second that `uftp` is given, headers not counted: 95 % of the path.
const UFTP_RATE: &str = "184000";
const TCP_PORT: u16 = 15_202;

/// The group of the path.
pub(super) fn all(bench: &Bench) -> Result<(), String> {
    if let Some(why) = forbidden() {
        return Err(format!("expected the right to make network namespaces: {why}"));
    }
    let make = |name: &str, len: usize| {
        let path = bench.path(name);
        fs::write(&path, material::random(len, 62)).map_err(|e| e.to_string()).map(|()| path)
    };
    let (file, small) = (make("path.bin", bench.len * 2)?, make("small.bin", bench.len / 32)?);
    let joined = Joined::new(Path::new(&bench.wst), "p", PATH, 1500)?;
    let (joined, file, small) = (&joined, &file, &small);
    let control = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    let rows: Vec<Contender<'_>> = vec![
        ("wst to wst, UDP, encrypted", Box::new(move || own(bench, joined, file, "udp"))),
        ("TCP of the kernel (socat)", Box::new(move || tcp(bench, joined, small))),
        ("uftp, told the rate", Box::new(move || uftp(bench, joined, file))),
        ("wst to wst, IP protocol 30", Box::new(move || own(bench, joined, file, "ip"))),
    ];
    let mib = |path: &Path| size(path) / f64::from(1 << 20);
    println!(
        "{PATH}; TCP ({}) moves {:.0} MiB, the others {:.0} MiB",
        control.unwrap_or_default().trim(),
        mib(small),
        mib(file)
    );
    group(bench, "Live, 200 Mb/s, 100 ms, 1 % lost", &rows, &[(0, 1, 1.0), (0, 2, 1.0)])
}

fn own(bench: &Bench, joined: &Joined, file: &Path, below: &str) -> Result<Figure, String> {
    let flags = secret(bench)?;
    let (listen, dial) = match below {
        "udp" => (format!("udp-listen://{}:998", V4[0]), "udp://AT".to_owned()),
        _ => (format!("ip-listen://{}", V4[0]), "ip://AT".to_owned()),
    };
    pair(bench, file, (&listen, &dial), &flags, &|end| joined.within(end, &bench.wst))
}

fn uftp(bench: &Bench, joined: &Joined, file: &Path) -> Result<Figure, String> {
    uftp_pair(bench, file, (V4[0], V4, UFTP_RATE), &|end, program| joined.within(end, program))
}

fn tcp(bench: &Bench, joined: &Joined, file: &Path) -> Result<Figure, String> {
    let (listen, dial) =
        (format!("TCP-LISTEN:{TCP_PORT},reuseaddr"), format!("TCP:{}:{TCP_PORT}", V4[0]));
    let ready = || {
        thread::sleep(Duration::from_millis(300));
        Ok(())
    };
    let socat = |end: usize| -> Command { joined.within(end, "socat") };
    socat_pair(bench, file, (&listen, &dial), &ready, &socat)
}
