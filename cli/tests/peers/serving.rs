//! A Kermit server with C-Kermit at the peer, whichever of the two it is.

use std::process::Command;

use super::ckermit::listens;
use super::{End, LIMIT, Running, Scene, free_port, wst};

/// Files of a server: random bytes, lines, an empty one, one in a directory.
pub fn stock(scene: &Scene) -> Vec<u8> {
    let bytes: Vec<u8> =
        (0..150_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    scene.file("root/bin.dat", &bytes);
    scene.file("root/txt.dat", b"one\ntwo\n");
    scene.file("root/empty.dat", b"");
    scene.file("root/sub/inner.dat", b"inner");
    bytes
}

/// Our server for many on a kind of line (`tcp-listen`, ...), at a port that it says.
pub fn server(scene: &Scene, kind: &str, flags: &[&str]) -> Result<(Running, String), String> {
    server_at(scene, &format!("{kind}://127.0.0.1:0"), flags)
}

/// The same on a line that is written out.
pub fn server_at(scene: &Scene, line: &str, flags: &[&str]) -> Result<(Running, String), String> {
    let root = scene.path("root").display().to_string();
    let mut args = vec!["serve", line, "--root", &root];
    args.extend_from_slice(flags);
    let mut running = scene.start("server", &mut wst(args))?;
    let at = running.line_after("listening on ")?;
    Ok((running, at))
}

/// Runs commands of C-Kermit against our server, whom it calls with `switch` (`/raw`, ...)
/// after the commands in `before`; its output is kept.
pub fn client(
    scene: &Scene,
    at: &str,
    before: &str,
    switch: &str,
    commands: &str,
) -> Result<End, String> {
    let (host, port) = at.split_once(':').ok_or("expected HOST:PORT")?;
    let script = format!(
        "set quiet on\nset exit warning off\nset delay 0\nset tcp reverse-dns-lookup off\n\
         set file type binary\nset transfer mode manual\nset transfer display none\n\
         cd {}\n{before}set host {host} {port} {switch}\nif fail exit 99 no line\n{commands}\nexit 0\n",
        scene.folder("in").display()
    );
    let script = scene.file("client.ksc", script.as_bytes());
    let mut command = Command::new("kermit");
    scene.start("kermit", command.arg("-Y").arg("+").arg(script))?.wait(LIMIT)
}

/// C-Kermit as a server for one client on a kind of line (`tcp` or `telnet`); `wst` is told `args`
/// behind the line.
pub fn against(scene: &Scene, kind: &str, args: &[&[&str]]) -> Result<Vec<End>, String> {
    let mut ends = Vec::new();
    for words in args {
        let port = free_port();
        let switch = if kind == "tcp" { "/raw" } else { "/telnet" };
        let script = format!(
            "set quiet on\nset exit warning off\nset delay 0\nset tcp reverse-dns-lookup off\n\
             cd {}\nset host /server * {port} {switch}\nif fail exit 99 no line\nserver\nexit 0\n",
            scene.path("root").display()
        );
        let script = scene.file("server.ksc", script.as_bytes());
        let mut command = Command::new("kermit");
        let _kermit = scene.start("kermit", command.arg("-Y").arg("+").arg(script))?;
        listens(port)?;
        let (verb, rest) = words.split_first().ok_or("a verb")?;
        let line = format!("{kind}://127.0.0.1:{port}");
        let mut all = vec![*verb, &line];
        all.extend_from_slice(rest);
        let mut ours = wst(&all);
        ends.push(scene.start("wst", ours.current_dir(scene.folder("in")))?.wait(LIMIT)?);
    }
    Ok(ends)
}
