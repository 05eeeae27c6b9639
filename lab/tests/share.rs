//! NETBLT and others at one bottleneck: who gets how much. docs/decisions/053 has the rule.

use wetstring_lab::net::PathModel;
use wetstring_lab::share::{Flow, Sharing};
use wetstring_proto::Duration;

/// Shares in per mille of what all of them got, and the part of the bottleneck's rate that is.
fn shares(path: &str, names: &[&str], seconds: u64) -> (Vec<u64>, u64) {
    let model: PathModel = path.parse().unwrap_or_else(|bad| panic!("{path}: {bad}"));
    let rate = model.rate_bps;
    // One after the other, a second apart.
    let flows = names
        .iter()
        .zip(0..)
        .map(|(name, index)| Flow::of(name).expect("a name").from(Duration::from_secs(index)));
    let sharing = Sharing { path: model, flows: flows.collect() };
    let periods = sharing.run(Duration::from_secs(1), seconds as usize);
    // The first third is the beginning.
    let mut sums = vec![0; names.len()];
    let counted = &periods[periods.len() / 3..];
    for period in counted {
        for (sum, bytes) in sums.iter_mut().zip(period) {
            *sum += bytes;
        }
    }
    if std::env::var_os("WETSTRING_SHOW").is_some() {
        for (second, period) in periods.iter().enumerate() {
            let percent: Vec<u64> = period.iter().map(|bytes| bytes * 800 / rate).collect();
            println!("{second:3} {percent:?}");
        }
    }
    let all: u64 = sums.iter().sum();
    let used = all * 8 * 1000 / rate / counted.len() as u64;
    (sums.iter().map(|sum| sum * 1000 / all.max(1)).collect(), used)
}

/// A bottleneck of 10 Mb/s, 69 ms, and a queue of a round trip.
const PATH: &str = "rate=10M,rtt=69ms,queue=rtt";

#[test]
fn beside_tcp_neither_everything_nor_nothing_is_taken() {
    for tcp in ["tcp-reno", "tcp-cubic"] {
        for count in [1, 3] {
            let mut names = vec!["netblt"];
            names.extend([tcp].repeat(count));
            let (shares, used) = shares(PATH, &names, 60);
            println!("{names:?}: {shares:?} of {used}");
            assert!((150..=600).contains(&shares[0]), "{names:?}: {shares:?}");
            assert!(shares[1..].iter().all(|share| *share >= 100), "{names:?}: {shares:?}");
            assert!(used >= 850, "{names:?}: {used}");
        }
    }
}

#[test]
fn two_sessions_share() {
    let (shares, used) = shares(PATH, &["netblt"; 2], 60);
    println!("{shares:?} of {used}");
    assert!(shares.iter().all(|share| *share >= 300) && used >= 900, "{shares:?} of {used}");
}

/// `WETSTRING_SHARE='rate=10M,rtt=69ms,queue=rtt netblt tcp-reno'` measures others, and
/// `WETSTRING_SHOW` shows each second.
#[test]
fn measured() {
    let Ok(text) = std::env::var("WETSTRING_SHARE") else { return };
    let (path, names) = text.split_once(' ').expect("a path and names");
    let names: Vec<&str> = names.split(' ').collect();
    println!("{text}: {:?}", shares(path, &names, 120));
}
