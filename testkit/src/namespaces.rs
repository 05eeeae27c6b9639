//! Two network namespaces that `wst line` joins by two TUN devices: a path of the laboratory between
//! any two programs. Making them is the right of root.

use std::net::IpAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// IPv4 addresses of the two ends.
pub const V4: [&str; 2] = ["10.99.8.1", "10.99.8.2"];
/// IPv6 addresses of the two ends.
pub const V6: [&str; 2] = ["fd99:8::1", "fd99:8::2"];

/// Two namespaces and what joins them; gone afterwards.
pub struct Joined {
    line: Child,
    names: [String; 2],
}

/// Runs `ip` with these words.
pub fn ip(args: &str) -> Result<String, String> {
    let out = Command::new("ip").args(args.split(' ')).stdin(Stdio::null()).output();
    let out = out.map_err(|e| format!("ip: {e} (Debian package iproute2)"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    Err(format!("ip {args}: {}", String::from_utf8_lossy(&out.stderr).trim()))
}

/// Why namespaces and devices cannot be made here, if they cannot.
pub fn forbidden() -> Option<String> {
    let name = format!("wsttry{}", std::process::id());
    let made = ip(&format!("netns add {name}"));
    let _ = ip(&format!("netns del {name}"));
    made.err().or_else(|| {
        let tun = std::fs::File::options().read(true).write(true).open("/dev/net/tun");
        tun.err().map(|e| format!("/dev/net/tun: {e}"))
    })
}

impl Joined {
    /// Joins them by this path. `mark` tells those of one run apart; the devices have this MTU.
    pub fn new(wst: &Path, mark: &str, spec: &str, mtu: u32) -> Result<Self, String> {
        let id = std::process::id();
        let names = ["a", "b"].map(|end| format!("wst{end}{mark}{id}"));
        let ends = names.clone().map(|name| format!("tun:{name}"));
        let mut line = Command::new(wst);
        line.args(["line", spec, "-a", &ends[0], "-b", &ends[1]]);
        line.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let line = line.spawn().map_err(|e| format!("wst line: {e}"))?;
        // From here on what was made goes again, whatever fails.
        let joined = Self { line, names };
        for (end, name) in joined.names.iter().enumerate() {
            let until = Instant::now() + Duration::from_secs(10);
            while let Err(why) = ip(&format!("link show {name}")) {
                if Instant::now() > until {
                    return Err(format!("wst line {spec}: {why}"));
                }
                thread::sleep(Duration::from_millis(10));
            }
            ip(&format!("netns add {name}"))?;
            ip(&format!("link set {name} netns {name}"))?;
            ip(&format!("-n {name} link set {name} mtu {mtu} up"))?;
            ip(&format!("-n {name} link set lo up"))?;
            ip(&format!("-n {name} address add {}/30 dev {name}", V4[end]))?;
            // A path whose MTU is below 1280 has no IPv6.
            let _ = ip(&format!("-n {name} -6 address add {}/64 dev {name} nodad", V6[end]));
        }
        Ok(joined)
    }

    /// A program at one end.
    pub fn within(&self, end: usize, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", &self.names[end]]).arg(program).stdin(Stdio::null());
        inside
    }

    /// The address of one end.
    pub fn address(end: usize, v6: bool) -> IpAddr {
        let text = if v6 { V6[end] } else { V4[end] };
        text.parse().expect("an address")
    }

    /// A counter of `/proc/net/snmp` or `snmp6` at one end, such as `FragCreates` of `Ip`.
    pub fn counter(&self, end: usize, group: &str, name: &str) -> Result<u64, String> {
        let file = if group == "Ip6" { "/proc/net/snmp6" } else { "/proc/net/snmp" };
        let out = self.within(end, "cat").arg(file).output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let found = if group == "Ip6" {
            let wanted = format!("{group}{name}");
            let mut lines = text.lines().map(str::split_whitespace);
            lines
                .find_map(|mut words| (words.next()? == wanted).then(|| words.next())?)
                .map(str::to_owned)
        } else {
            let head = format!("{group}:");
            let mut lines = text.lines().filter(|line| line.starts_with(&head));
            let (names, values) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
            let at = names.split_whitespace().position(|word| word == name);
            at.and_then(|at| values.split_whitespace().nth(at)).map(str::to_owned)
        };
        let found = found.ok_or_else(|| format!("expected {group} {name} in {file}"))?;
        found.parse().map_err(|e| format!("{group} {name}: {e}"))
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = ip(&format!("netns del {name}"));
        }
        let _ = self.line.kill();
        let _ = self.line.wait();
    }
}
