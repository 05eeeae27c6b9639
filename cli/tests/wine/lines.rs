//! Lines of Windows: TCP with Telnet and TLS, pipes, COM ports; and what is for Unix only.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::peers::ser2net::{ser2net, wired};
use crate::peers::{LIMIT, Scene, ckermit, free_port, peer, same};
use crate::session::{PORTS, Windows, between, between_at, wine};
use wetstring_testkit::noise;

#[test]
fn the_demo_runs() {
    let Some(wine) = wine() else { return };
    let scene = Scene::new();
    let end = scene.start("demo", &mut wine.wst(["demo"])).unwrap().wait(LIMIT).unwrap();
    assert!(end.code == 0 && end.said.contains("Equal: "), "{end:?}");
}

#[test]
fn tcp_and_telnet_both_ways() {
    let Some(wine) = wine() else { return };
    for (scheme, who) in
        ["tcp", "telnet"].into_iter().flat_map(|s| Windows::BOTH.map(|who| (s, who)))
    {
        let scene = Scene::new();
        let file = scene.file("data.bin", &noise(2, 3_000_000));
        let got = between(wine, &scene, who, scheme, &[], &file).unwrap();
        same(&file, &scene.path("in/data.bin")).unwrap();
        assert!(got.said.contains("\"verified\":true"), "{scheme} {who:?}: {got:?}");
    }
}

#[test]
fn tls_both_ways() {
    let (Some(wine), Some(openssl)) = (wine(), peer("openssl", "openssl")) else { return };
    for who in Windows::BOTH {
        let scene = Scene::new();
        let file = scene.file("data.bin", &noise(8, 1_000_000));
        let [key, certificate] = ["key.pem", "cert.pem"].map(|name| scene.path(name));
        let mut make = Command::new(&openssl);
        make.args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=wst",
        ]);
        make.args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout"]).arg(&key);
        make.arg("-out").arg(&certificate);
        assert_eq!(scene.start("openssl", &mut make).unwrap().wait(LIMIT).unwrap().code, 0);
        let listens = format!("?cert={}&key={}", certificate.display(), key.display());
        let calls = format!("?ca={}", certificate.display());
        let line = ("tls", [&listens[..], &calls[..]]);
        between_at(wine, &scene, who, line, &[], &file).unwrap();
        same(&file, &scene.path("in/data.bin")).unwrap();
    }
}

/// An authority in the system's store is trusted, and no other.
#[test]
fn tls_trusts_the_systems_store() {
    let (Some(wine), Some(openssl)) = (wine(), peer("openssl", "openssl")) else { return };
    let scene = Scene::new();
    let file = scene.file("data.bin", &noise(10, 100_000));
    let at = |name: &str| scene.path(name).display().to_string();
    let run = |args: &[&str]| {
        let out = Command::new(&openssl).args(args).output().unwrap();
        assert!(out.status.success(), "{args:?}: {out:?}");
        String::from_utf8(out.stdout).unwrap()
    };
    scene.file("ext", b"subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n");
    let [ca, ca_key, der, asked, key, cert, ext] =
        ["ca", "ca-key", "der", "asked", "key", "cert", "ext"].map(at);
    let new = ["-newkey", "rsa:2048", "-nodes", "-subj"];
    let authority = ["-x509", "-days", "2", "-keyout", &ca_key, "-out", &ca];
    run(&[&["req"], &new[..], &["/CN=wst test authority"], &authority].concat());
    run(&[&["req"], &new[..], &["/CN=wst", "-keyout", &key, "-out", &asked]].concat());
    let by = ["-CA", &ca, "-CAkey", &ca_key, "-CAcreateserial", "-days", "2", "-extfile", &ext];
    run(&[&["x509", "-req", "-in", &asked, "-out", &cert], &by[..]].concat());
    run(&["x509", "-in", &ca, "-outform", "DER", "-out", &der]);
    let listens = format!("?cert={cert}&key={key}");
    let line = ("tls", [&listens[..], ""]);
    let refused = between_at(wine, &scene, Windows::Sends, line, &[], &file).unwrap_err();
    assert!(refused.contains("no authority that is trusted here"), "{refused}");
    let sha1 = run(&["x509", "-in", &ca, "-noout", "-fingerprint", "-sha1"]);
    let sha1 = sha1.trim().split('=').nth(1).unwrap().replace(':', "");
    wine.trust(&sha1, &std::fs::read(der).unwrap()).unwrap();
    between_at(wine, &scene, Windows::Sends, line, &[], &file).unwrap();
    same(&file, &scene.path("in/data.bin")).unwrap();
}

/// Wine 8 refuses the options by which a socket never fragments (WSAEOPNOTSUPP): datagrams go by plain calls, stay
/// short, and that is said.
#[test]
fn netblt_by_udp_both_ways() {
    let Some(wine) = wine() else { return };
    for who in Windows::BOTH {
        let scene = Scene::new();
        let file = scene.file("data.bin", &noise(9, 3_000_000));
        let got = between(wine, &scene, who, "udp", &["--plain"], &file).unwrap();
        same(&file, &scene.path("in/data.bin")).unwrap();
        assert!(got.said.contains("\"verified\":true"), "{who:?}: {got:?}");
        if who == Windows::Receives {
            assert!(got.said.contains("none is longer than 1200 bytes"), "{got:?}");
        }
    }
}

#[test]
fn kermit_with_ckermit_both_ways() {
    let (Some(wine), Some(kermit)) = (wine(), ckermit()) else { return };
    for who in Windows::BOTH {
        let scene = Scene::new();
        let file = scene.file("data.bin", &noise(4, 300_000));
        let port = free_port();
        let verb = match who {
            Windows::Sends => "receive".to_owned(),
            Windows::Receives => format!("send {}", file.display()),
        };
        let into = scene.folder("in");
        let script = format!(
            "set quiet on\nset file type binary\nset tcp reverse-dns-lookup off\ncd {}\nset host * {port} /raw\nif fail exit 99\n{verb}\nif fail exit 1\nexit 0\n",
            into.display()
        );
        let script = scene.file("script.ksc", script.as_bytes());
        let mut theirs = Command::new(&kermit);
        let mut theirs = scene.start("kermit", theirs.args(["-Y", "+"]).arg(script)).unwrap();
        listens(port);
        let at = format!("tcp://127.0.0.1:{port}");
        let mut ours = match who {
            Windows::Sends => wine.wst(["send", "-P", "kermit", file.to_str().unwrap(), &at]),
            Windows::Receives => {
                wine.wst(["receive", "-P", "kermit", "-o", into.to_str().unwrap(), &at])
            }
        };
        let ours = scene.start("wst", &mut ours).unwrap().wait(LIMIT).unwrap();
        let theirs = theirs.wait(LIMIT).unwrap();
        assert_eq!((ours.code, theirs.code), (0, 0), "{who:?}: {ours:?} {theirs:?}");
        same(&file, &into.join("data.bin")).unwrap();
    }
}

/// Waits until something listens there, without connecting.
fn listens(port: u16) {
    let want = format!(":{port:04X} ");
    let until = std::time::Instant::now() + Duration::from_secs(20);
    let listening = || {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default()
            + &std::fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
        table.lines().any(|line| line.contains(&want) && line.contains(" 0A "))
    };
    while !listening() {
        assert!(std::time::Instant::now() < until, "nothing listens at {port}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn lrzsz_by_pipes_both_ways() {
    let (Some(wine), Some(_), Some(_)) = (wine(), peer("sz", "lrzsz"), peer("rz", "lrzsz")) else {
        return;
    };
    for who in Windows::BOTH {
        let scene = Scene::new();
        let file = scene.file("data.bin", &noise(5, 1_000_000));
        let into = scene.folder("in");
        // Both stand on pipes, as under sshd; -e is for what a terminal would take.
        let theirs = match who {
            Windows::Sends => "rz -b -y -q".to_owned(),
            Windows::Receives => format!("sz -b -q {}", file.display()),
        };
        let ours = match who {
            Windows::Sends => wine.line(&format!("send -P zmodem {} -", file.display())),
            Windows::Receives => wine.line("receive -P zmodem -"),
        };
        let mut joined = Command::new("socat");
        joined.current_dir(&into);
        joined.arg(format!("EXEC:'{theirs}'")).arg(format!("SYSTEM:\"{ours}\""));
        let end = scene.start("socat", &mut joined).unwrap().wait(LIMIT).unwrap();
        assert_eq!(end.code, 0, "{who:?}: {end:?}");
        same(&file, &into.join("data.bin")).unwrap();
    }
}

#[test]
fn a_command_by_pipes() {
    let Some(wine) = wine() else { return };
    let scene = Scene::new();
    let file = scene.file("data.bin", &noise(6, 1_000_000));
    let into = scene.folder("in");
    let line = format!("exec:{} receive -o {} -", wine.windows_program(), into.display());
    let mut send = wine.wst(["send", file.to_str().unwrap(), &line]);
    let end = scene.start("send", &mut send).unwrap().wait(LIMIT).unwrap();
    assert_eq!(end.code, 0, "{end:?}");
    same(&file, &into.join("data.bin")).unwrap();
}

#[test]
fn com_ports_both_ways() {
    let Some(wine) = wine() else { return };
    for ((port, name), who) in
        PORTS.into_iter().zip(["COM5", r"\\.\COM17"]).zip([Windows::Sends, Windows::Receives])
    {
        let scene = Scene::new();
        let file = scene.file("data.bin", &noise(7, 20_000));
        let into = scene.folder("in");
        let device = wine.device(port);
        let ours = crate::peers::WST;
        let theirs = match who {
            Windows::Sends => format!("{ours} receive -P kermit -o {} -", into.display()),
            Windows::Receives => format!("{ours} send -P kermit {} -", file.display()),
        };
        let mut joined = Command::new("socat");
        joined.arg(format!("PTY,link={},raw,echo=0", device.display()));
        joined.arg(format!("EXEC:'{theirs}'"));
        let mut theirs = scene.start("theirs", &mut joined).unwrap();
        let until = std::time::Instant::now() + Duration::from_secs(20);
        while !device.exists() {
            assert!(
                std::time::Instant::now() < until,
                "no {}: {}",
                device.display(),
                theirs.said()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        let line = format!("serial:{name}?baud=115200");
        let mut ours = match who {
            Windows::Sends => wine.wst(["send", "-P", "kermit", file.to_str().unwrap(), &line]),
            Windows::Receives => {
                wine.wst(["receive", "-P", "kermit", "-o", into.to_str().unwrap(), &line])
            }
        };
        let ours = scene.start("ours", &mut ours).unwrap().wait(LIMIT).unwrap();
        let theirs = theirs.wait(LIMIT).unwrap();
        assert_eq!((ours.code, theirs.code), (0, 0), "{name}: {ours:?} {theirs:?}");
        same(&file, &into.join("data.bin")).unwrap();
    }
}

/// A serial port behind ser2net, with G-Kermit at the end of its line.
#[test]
fn a_port_behind_ser2net() {
    let Some(wine) = wine() else { return };
    let scene = Scene::new();
    let Some((_line, device)) = wired(&scene, "gkermit -r") else { return };
    let Some((_ser2net, port)) = ser2net(&scene, &device) else { return };
    let file = scene.file("up.dat", &noise(11, 20_000));
    let line = format!("rfc2217://127.0.0.1:{port}?baud=57600");
    let mut send = wine.wst(["send", "-P", "kermit", file.to_str().unwrap(), &line]);
    let end = scene.start("send", &mut send).unwrap().wait(LIMIT).unwrap();
    assert_eq!(end.code, 0, "{end:?}");
    let names: Vec<_> = std::fs::read_dir(scene.path("host")).unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    same(&file, &names[0].path()).unwrap();
}

#[test]
fn what_is_for_unix_only_names_the_other_way() {
    let Some(wine) = wine() else { return };
    let scene = Scene::new();
    let file = scene.file("f", b"f").display().to_string();
    for (line, other) in [
        ("exec-pty:rz", "use exec: instead"), // For a transfer.
        ("pty:", "use tcp-listen: instead"),
        ("fd:3", "use stdio instead"),
        ("ip://127.0.0.1", "use udp: instead"),
    ] {
        let protocol = if line.starts_with("ip:") { "netblt" } else { "kermit" };
        let mut send = wine.wst(["send", "-P", protocol, &file, line]);
        let end = scene.start("send", &mut send).unwrap().wait(LIMIT).unwrap();
        assert!(end.code != 0 && end.said.contains(other), "{line}: {end:?}");
        // Wine's own server adds a line of its own to stderr at times, as a program ends.
        let ours = end.said.lines().filter(|said| !said.starts_with("wine client error:"));
        assert_eq!(ours.count(), 1, "{line}: {end:?}");
    }
}

/// Wine runs a command in its ConPTY, and draws nothing of it: what a person would see was not tried here.
#[test]
fn a_command_in_a_pseudo_terminal_has_its_exit_code() {
    let Some(wine) = wine() else { return };
    let scene = Scene::new();
    let into = scene.path("made").display().to_string();
    let command = format!("echo made> {} & exit 5", format!("Z:{into}").replace('/', r"\"));
    let mut wrapped = wine.wst(["--", "cmd.exe", "/C", &command]);
    let end = scene.start("wst --", &mut wrapped).unwrap().wait(LIMIT).unwrap();
    assert_eq!(end.code, 5, "{end:?}");
    assert_eq!(std::fs::read_to_string(into).unwrap().trim(), "made");
    let line = format!("exec-pty:{command}");
    let mut end = scene.start("connect", &mut wine.wst(["connect", &line])).unwrap();
    let end = end.wait(LIMIT).unwrap();
    assert_eq!(end.code, 0, "{end:?}");
}

#[test]
fn ctrl_c_ends_a_waiting_program() {
    let Some(wine) = wine() else { return };
    let scene = Scene::new();
    let into = scene.folder("in");
    assert!(Path::new(&into).is_dir());
    let args = ["receive", "-o", into.to_str().unwrap(), "tcp-listen://127.0.0.1:0"];
    let mut waiting = scene.start("receive", &mut wine.wst(args)).unwrap();
    waiting.line_after("listening on ").unwrap();
    waiting.interrupt();
    let end = waiting.wait(Duration::from_secs(10)).unwrap();
    assert_eq!(end.code, 130, "{end:?}");
}
