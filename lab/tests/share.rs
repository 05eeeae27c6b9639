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

/// Bottlenecks with a queue of a round trip, or of 20 packets, which is more at the last of them; and what
/// of them is used at least, in per mille. CUBIC does not fill the second when it is alone either.
const PATHS: [(&str, u64); 3] = [
    ("rate=10M,rtt=69ms,queue=rtt", 880),
    ("rate=100M,rtt=69ms,queue=rtt", 700),
    ("rate=10M,rtt=20ms,queue=rtt", 820),
];

/// Every one of them gets a third of an equal share at least.
fn all_get_their_part(path: &str, least_used: u64, names: &[&str]) {
    let (shares, used) = shares(path, names, 120);
    println!("{path} {names:?}: {shares:?} of {used}");
    let least = 1000 / names.len() as u64 / 3;
    assert!(shares.iter().all(|share| *share >= least), "{path} {names:?}: {shares:?}");
    assert!(used >= least_used, "{path} {names:?}: {used}");
}

#[test]
fn beside_tcp_neither_everything_nor_nothing_is_taken() {
    for (path, least_used) in PATHS {
        for tcp in ["tcp-reno", "tcp-cubic"] {
            for count in [1, 3] {
                let mut names = vec!["netblt"];
                names.extend([tcp].repeat(count));
                all_get_their_part(path, least_used, &names);
            }
        }
    }
}

/// Beside a flow with CUBIC that fills the path when it is alone each has 0.35 to 0.65 of what both have. `tcp-cubic` and
/// `tcp-reno` lose a second at each overflow that costs them two packets, as a TCP without SACK does: of them the test above says
/// what they keep.
#[test]
fn beside_cubic_each_has_about_a_half() {
    for path in [
        "rate=10M,rtt=69ms,queue=rtt",
        "rate=10M,rtt=20ms,queue=rtt",
        "rate=50M,rtt=100ms,queue=rtt",
        "rate=50M,rtt=100ms,queue=312500",
        // What hosts and radio links do to the distances between packets.
        "rate=10M,rtt=20ms,queue=rtt,jitter=1500us",
    ] {
        let (shares, used) = shares(path, &["netblt", "quic-cubic"], 120);
        println!("{path}: {shares:?} of {used}");
        assert!((350..=650).contains(&shares[0]), "{path}: {shares:?}");
        assert!(used >= 930, "{path}: {used}");
    }
}

/// The same where that flow has filled the queue before: the path without a queue is found.
#[test]
fn a_flow_that_was_there_first_keeps_about_a_half() {
    for path in ["rate=10M,rtt=20ms,queue=rtt", "rate=50M,rtt=100ms,queue=312500"] {
        let (shares, used) = shares(path, &["quic-cubic", "netblt"], 120);
        println!("{path}: {shares:?} of {used}");
        assert!((350..=650).contains(&shares[0]), "{path}: {shares:?}");
    }
}

/// `tcp-cubic` has no SACK, and has 0.28 of this path when it is alone: beside NETBLT it keeps 0.8 of that at least.
#[test]
fn a_flow_that_does_not_fill_the_path_keeps_what_it_has() {
    let path = "rate=50M,rtt=100ms,queue=312500";
    let (_, alone) = shares(path, &["tcp-cubic"], 120);
    let (found, used) = shares(path, &["netblt", "tcp-cubic"], 120);
    let kept = found[1] * used / 1000;
    println!("{path}: tcp-cubic has {alone} alone, {kept} beside NETBLT");
    assert!(kept * 10 >= alone * 8, "{path}: {kept} of {alone}");
}

#[test]
fn two_sessions_share_and_so_do_three() {
    for (path, _) in PATHS {
        for count in [2, 3] {
            all_get_their_part(path, 900, &["netblt"].repeat(count));
        }
    }
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

/// Once the others have gone all of the path is taken within half a minute, though packets are lost by chance as well.
#[test]
fn free_capacity_is_used() {
    for (path, least) in [
        ("rate=10M,rtt=69ms,queue=rtt", 900),
        ("rate=10M,rtt=69ms,queue=rtt,loss=0.1%", 850),
        ("rate=10M,rtt=200ms,queue=rtt,loss=1%", 800),
        // Its own queue stands here now and then, and what is lost by chance meanwhile counts as theirs.
        ("rate=50M,rtt=20ms,queue=20p,loss=0.1%", 650),
    ] {
        let model: PathModel = path.parse().unwrap_or_else(|bad| panic!("{path}: {bad}"));
        let rate = model.rate_bps;
        let (ours, theirs) = (Flow::of("netblt"), Flow::of("quic-cubic"));
        let theirs =
            theirs.expect("a name").from(Duration::from_secs(5)).until(Duration::from_secs(45));
        let sharing = Sharing { path: model, flows: vec![ours.expect("a name"), theirs] };
        let periods = sharing.run(Duration::from_secs(1), 120);
        if std::env::var_os("WETSTRING_SHOW").is_some() {
            for (second, period) in periods.iter().enumerate() {
                println!(
                    "{second:3} {:?}",
                    period.iter().map(|n| n * 800 / rate).collect::<Vec<_>>()
                );
            }
        }
        let last = &periods[75..];
        let part =
            last.iter().map(|period| period[0]).sum::<u64>() * 8000 / rate / last.len() as u64;
        println!("{path}: {part}");
        assert!(part >= least, "{path}: {part} of 1000");
    }
}
