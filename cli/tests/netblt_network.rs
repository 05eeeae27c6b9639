//! NETBLT between two network namespaces that `wst line` joins: UDP and IP protocol 30, with delay and
//! loss. And `wst line` as a relay of UDP.
//!
//! Namespaces and devices are the right of root. Elsewhere it is said that this was not tested.

mod common;
mod peers;

use std::process::{Command, Stdio};
use std::time::Duration;

use common::{Desk, Running, run, wst};
use rustix::process::Signal;

/// Two namespaces and what joins them; gone afterwards.
struct Joined {
    line: Option<Running>,
    names: [String; 2],
}

fn ip(args: &str) {
    let done = Command::new("ip").args(args.split(' ')).output();
    let done = done.unwrap_or_else(|e| panic!("ip: {e} (Debian package iproute2)"));
    assert!(done.status.success(), "ip {args}: {}", String::from_utf8_lossy(&done.stderr));
}

impl Joined {
    /// `None` where this may not be done, which is said.
    fn new(spec: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            peers::missing("network namespaces need root");
            return None;
        }
        let id = std::process::id();
        let names = ["a", "b"].map(|end| format!("wst{end}{id}"));
        let mut joined = Self { line: None, names };
        for name in &joined.names {
            ip(&format!("netns add {name}"));
        }
        let [a, b] = joined.names.clone().map(|name| format!("tun:{name}"));
        let line = Running::start(wst(["line", spec, "-a", &a, "-b", &b]));
        line.says("line ");
        joined.line = Some(line);
        for (name, address) in joined.names.iter().zip(["10.99.8.1", "10.99.8.2"]) {
            ip(&format!("link set {name} netns {name}"));
            ip(&format!("-n {name} address add {address}/30 dev {name}"));
            ip(&format!("-n {name} link set {name} up"));
            ip(&format!("-n {name} link set lo up"));
        }
        Some(joined)
    }

    /// A program in one of them.
    fn within(&self, end: usize, command: &Command) -> Command {
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", &self.names[end]]);
        inside.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            inside.env(name, value.unwrap_or_default());
        }
        inside.stdin(Stdio::null());
        inside
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
        if let Some(line) = self.line.take() {
            line.signal(Signal::INT);
            line.end();
        }
    }
}

fn secret(desk: &Desk) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = desk.path("secret");
    std::fs::write(&path, "what nobody else knows").expect("the secret");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("its mode");
    path
}

#[test]
fn files_pass_between_namespaces_on_udp_and_on_ip() {
    let Some(joined) = Joined::new("path:rate=100M,delay=20ms,loss=1%,queue=1M") else { return };
    for (listen, dial) in [
        ("udp-listen://10.99.8.1:998", "udp://10.99.8.1:998"),
        ("ip-listen://10.99.8.1", "ip://10.99.8.1"),
    ] {
        for plain in [false, true] {
            let desk = Desk::new(2_000_000);
            let secret = secret(&desk);
            let how = if plain { vec!["--plain"] } else { vec!["--secret-file", &secret] };
            let into = desk.path("in");
            let mut args = vec!["receive", listen, "-o", &into];
            args.extend(&how);
            let receiver = Running::start(joined.within(0, &wst(&args)));
            receiver.says("listening on ");
            let file = desk.path("data.bin");
            let mut args = vec!["send", &file, dial];
            args.extend(&how);
            let sent = run(joined.within(1, &wst(&args)));
            assert_eq!(sent.code(), 0, "{dial} {how:?}: {}", sent.stderr);
            receiver.end().expect(0);
            desk.arrived();
        }
    }
}

#[test]
fn a_relay_of_udp_loses_what_it_is_told_to() {
    let desk = Desk::new(2_000_000);
    let secret = secret(&desk);
    let into = desk.path("in");
    let receiver = Running::start(wst([
        "receive",
        "udp-listen://127.0.0.1:0",
        "-o",
        &into,
        "--secret-file",
        &secret,
    ]));
    let to = format!("udp://{}", receiver.says("listening on "));
    let spec = "path:rate=50M,delay=10ms,loss=2%,mtu=1400,queue=1M";
    let relay = Running::start(wst(["line", spec, "-a", "udp-listen://127.0.0.1:0", "-b", &to]));
    let line = format!("udp://{}", relay.says("end A: listening on "));
    let sent = run(wst(["send", &desk.path("data.bin"), &line, "--secret-file", &secret]));
    sent.expect(0);
    receiver.end().expect(0);
    desk.arrived();
    assert!(sent.elapsed > Duration::from_millis(300), "50 Mb/s carry it in 0.32 s");
    relay.signal(Signal::INT);
    let relay = relay.end();
    relay.expect(0);
    let lost = relay.stderr.lines().find(|line| line.starts_with("A to B: ")).expect("a count");
    assert!(!lost.contains(", 0 lost"), "{lost}");
}
