//! `wst kermit`: scripts from a file, from stdin and from the command line; transfers by script between
//! two of us, and the benchmark of Kermit streaming (1998) against C-Kermit's server.

use crate::peers;

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use peers::{End, LIMIT, Running, Scene, ckermit, free_port, same, wst};

fn kermit(scene: &Scene, name: &str, script: &str, arguments: &[&str]) -> Command {
    let path = scene.file(&format!("{name}.ksc"), script.as_bytes());
    let mut command = wst(["kermit"]);
    command.arg(path).args(arguments).current_dir(scene.folder("here"));
    command
}

fn ran(scene: &Scene, mut command: Command) -> End {
    let mut running = scene.start("wst kermit", command.stdin(Stdio::null())).expect("wst runs");
    running.wait(LIMIT).expect("it ends")
}

#[test]
fn a_script_has_arguments_and_a_code() {
    let scene = Scene::new();
    let script = "echo \\%1-\\%2\nif = \\v(argc) 3 exit 7 bye\n";
    let end = ran(&scene, kermit(&scene, "t", script, &["a b", "c"]));
    assert_eq!(end.code, 7, "{}", end.said);
    let out =
        Command::new(peers::WST).args(["kermit", "-C", "echo one, echo \\feval(1+1)"]).output();
    let out = out.expect("wst runs");
    assert_eq!(out.stdout, b"one\n2\n");
    assert_eq!(out.status.code(), Some(0));
}

#[test]
fn a_failed_script_has_a_code_and_a_complaint() {
    let scene = Scene::new();
    let end = ran(&scene, kermit(&scene, "t", "\nnonesuch\n", &[]));
    assert_eq!(end.code, 1);
    assert!(end.said.contains("t.ksc:2: not a command or a macro: nonesuch"), "{}", end.said);
}

#[test]
fn commands_come_from_stdin() {
    let mut child = Command::new(peers::WST)
        .arg("kermit")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("wst runs");
    let text = b"define \\%a x\nif = 1 1 {\n  echo block \\%a\n}\nexit 3\necho no\n";
    child.stdin.take().expect("stdin").write_all(text).expect("it reads");
    let out = child.wait_with_output().expect("it ends");
    assert_eq!(out.stdout, b"block x\n");
    assert_eq!(out.status.code(), Some(3));
}

/// One script sends, another receives.
#[test]
fn two_scripts_move_a_file() {
    let (scene, port) = (Scene::new(), free_port());
    let file = scene.file("x.bin", &peers::material::random(200_000, 3));
    let there = scene.folder("there");
    let receiver = format!(
        "set host * {port} /raw\nif fail exit 2\nreceive\nif fail exit 3\n\
         echo GOT \\v(filename) \\v(fsize) \\v(tfsize)\nexit 0\n"
    );
    let script = scene.file("r.ksc", receiver.as_bytes());
    let mut command = wst(["kermit"]);
    command.arg(script).current_dir(&there).stdin(Stdio::null());
    let mut receiving = scene.start("receiver", &mut command).expect("wst runs");
    receiving.line_after("listening").expect("it listens");
    let sender = format!(
        "set window 10\nset streaming off\nset host 127.0.0.1 {port} /raw\nif fail exit 2\nsend {} y.bin\n\
         if fail exit 3\nif not > \\v(cps) 0 exit 4\nshow streaming\nstatistics\nexit 0\n",
        file.display()
    );
    let sent = ran(&scene, kermit(&scene, "s", &sender, &[]));
    assert_eq!(sent.code, 0, "{}", sent.said);
    let got = receiving.wait(LIMIT).expect("it ends");
    assert_eq!(got.code, 0, "{}", got.said);
    same(&file, &there.join("y.bin")).expect("the same bytes");
}

#[test]
fn input_and_output_talk_to_a_program() {
    let scene = Scene::new();
    let script = "set input echo off\nset host /network-type:pipe {printf 'login: '; read a; echo got $a}\n\
                  input 5 login:\nif fail exit 2\noutput me\\10\ninput 5 got me\nif fail exit 3\n\
                  input 5 never\nif success exit 4\nexit \\feval(10+\\v(instatus))\n";
    let end = ran(&scene, kermit(&scene, "t", script, &[]));
    // 14: the program has ended, so the connection is lost.
    assert_eq!(end.code, 14, "{}", end.said);
}

#[test]
fn what_is_not_there_says_so() {
    let scene = Scene::new();
    let script = "ftp\nif success exit 2\nset host localhost /raw\nif success exit 3\nsend t\n\
                  if success exit 4\nconnect\nif success exit 6\nenable mail\nif success exit 7\n\
                  set modem hayes\nif success exit 8\nset transfer bell off\nexit 5\n";
    let end = ran(&scene, kermit(&scene, "t", script, &[]));
    assert_eq!(end.code, 5, "{}", end.said);
    for part in [
        "this command of C-Kermit is not supported",
        "expected a port",
        "no such file: t",
        "no connection; SET LINE or SET HOST opens one",
        "MAIL by a server is not supported",
        "SET MODEM HAYES is not supported: no modem is dialled",
    ] {
        assert!(end.said.contains(part), "{part}: {}", end.said);
    }
    assert!(!end.said.contains("SET TRANSFER BELL"), "{}", end.said);
}

/// C-Kermit is the server; the script is ours.
fn with_server(script: &str) -> Option<(Scene, End, End)> {
    ckermit()?;
    let (scene, port) = (Scene::new(), free_port());
    stock(&scene);
    let root = scene.folder("root");
    let begin = format!(
        "set file display none, set file character-set utf8, enable delete, enable rmdir, enable host, enable bye, \
         set host /server * {port} /raw, exit"
    );
    let mut command = Command::new("kermit");
    command.args(["-Y", "-C", &begin]).current_dir(&root).env("HOME", &root).stdin(Stdio::null());
    let mut server = scene.start("C-Kermit", &mut command).expect("kermit runs");
    std::thread::sleep(Duration::from_millis(500));
    let whole = format!("set host 127.0.0.1 {port} /raw\nif fail exit 9\n{script}");
    let end = ran(&scene, kermit(&scene, "t", &whole, &[]));
    let over = server.wait(Duration::from_secs(20)).expect("the server ends");
    Some((scene, end, over))
}

/// Our server of a directory, at a port that it says.
fn our_server(scene: &Scene) -> (Running, String) {
    let root = scene.folder("root").display().to_string();
    let line = "tcp-listen://127.0.0.1:0";
    let mut command = wst(["serve", line, "--root", &root, "--allow", "write,host"]);
    let mut running = scene.start("server", &mut command).expect("wst runs");
    let at = running.line_after("listening on ").expect("it listens");
    let port = at.rsplit(':').next().expect("a port").to_owned();
    (running, port)
}

/// What a server's files are in [`AS_CLIENT`].
fn stock(scene: &Scene) {
    scene.file("root/motd", b"hello\n");
    scene.file("root/gone", b"soon\n");
    scene.file("root/part", &peers::material::random(90_000, 7));
    scene.file("root/tree/a/inner.dat", b"inner");
    scene.file("here/here.txt", b"Gr\x81\xE1e\n");
    scene.file("here/part", &peers::material::random(90_000, 7)[..40_000]);
}

/// Every command that asks a server for something; the server may be anybody's.
const AS_CLIENT: &str = "remote pwd\nif fail exit 2\nremote set file collision overwrite\n\
    if fail exit 3\nget motd copy\nif fail exit 4\nremote mkdir d\nif fail exit 5\n\
    remote copy motd m1\nif fail exit 6\nremote rename m1 m2\nif fail exit 7\n\
    remote cd nonesuch\nif success exit 8\nget nonesuch\nif success exit 9\n\
    remote directory\nif fail exit 10\nremote type motd\nif fail exit 11\n\
    remote help\nif fail exit 12\nremote space\nif fail exit 13\n\
    get /delete gone\nif fail exit 14\nreget part\nif fail exit 15\nif not = \\fsize(part) 90000 exit 16\n\
    get /recursive tree/*\nif fail exit 17\nget /as-name:named motd\nif fail exit 18\n\
    remote set window 4\nif fail exit 19\nremote set block-check 2\nif fail exit 20\n\
    mget motd m2\nif fail exit 21\nremote query kermit version\nif fail exit 22\n\
    if equal \"\\v(query)\" \"\" exit 23\nremote delete m2\nif fail exit 24\nremote rmdir d\nif fail exit 25\n\
    remote host echo from-the-host\nif fail exit 26\nget /text motd\nif fail exit 28\n\
    set file display none\nsend copy up\nif fail exit 29\nremote type nonesuch\nif success exit 30\n";

fn looks_right(scene: &Scene, end: &End) {
    assert_eq!(end.code, 0, "{}", end.said);
    let read = |name: &str| std::fs::read(scene.path(name)).expect("the file");
    for name in ["here/copy", "here/named", "here/motd", "root/up"] {
        assert_eq!(read(name), b"hello\n", "{name}");
    }
    assert_eq!(read("here/gone"), b"soon\n");
    assert!(!scene.path("root/gone").exists() && !scene.path("root/m2").exists());
    assert_eq!(read("here/tree/a/inner.dat"), b"inner");
    same(&scene.path("root/part"), &scene.path("here/part")).expect("the same bytes");
    for text in ["from-the-host", "motd", "hello"] {
        assert!(end.said.contains(text), "{text}: {}", end.said);
    }
}

#[test]
fn a_script_is_a_client_of_ckermit() {
    let script = format!("{AS_CLIENT}finish\nif fail exit 31\nexit 0\n");
    let Some((scene, end, _)) = with_server(&script) else { return };
    looks_right(&scene, &end);
}

#[test]
fn a_script_is_a_client_of_our_server() {
    let scene = Scene::new();
    stock(&scene);
    let (_server, port) = our_server(&scene);
    let script = format!(
        "set host 127.0.0.1 {port} /raw\nif fail exit 1\n{AS_CLIENT}bye\nif fail exit 31\n\
         if open connection exit 32\nexit 0\n"
    );
    let end = ran(&scene, kermit(&scene, "t", &script, &[]));
    looks_right(&scene, &end);
}

/// The log that Appendix I of Kermit streaming (1998) writes.
fn is_a_log(log: &str) {
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 2 + 168 + 2, "{log}");
    assert!(lines[0].starts_with("; BEGIN: ") && lines[1].starts_with("; FILE="), "{log}");
    for (line, mode) in lines[2..170].iter().zip(["off", "on "].iter().cycle()) {
        // Of 100 MB/s and more there are nine digits, where the script has eight columns.
        let mode = format!(" {mode} ");
        let cps = line.find(&mode).filter(|at| *at >= 8).map(|at| line[..at].trim());
        assert!(cps.is_some_and(|cps| cps.parse::<u64>().is_ok_and(|cps| cps > 0)), "{line}");
    }
    assert!(lines[170].contains(" - transfers: 168, max cps: "), "{log}");
    assert!(lines[171].starts_with("; STREAMING win ratio: "), "{log}");
}

/// Appendix I of Kermit streaming (1998), as printed. The script asks for a comment; there is no input for it.
const BENCH: &str = include_str!("../../script/tests/bench.ksc");

#[test]
fn the_benchmark_runs_against_ckermit() {
    let prepared = format!("copy /etc/hostname x\nset quiet on\n{BENCH}finish\nexit 0\n");
    let Some((scene, end, _)) = with_server(&prepared) else { return };
    assert_eq!(end.code, 0, "{}", end.said);
    is_a_log(&std::fs::read_to_string(scene.path("here/bench.log")).expect("the log"));
}

#[test]
fn the_benchmark_runs_against_our_server() {
    let scene = Scene::new();
    let file = scene.file("here/x", &peers::material::random(100_000, 1));
    let (_server, port) = our_server(&scene);
    let script = format!("set host 127.0.0.1 {port} /raw\nif fail exit 9\n{BENCH}bye\nexit 0\n");
    let end = ran(&scene, kermit(&scene, "t", &script, &[]));
    assert_eq!(end.code, 0, "{}", end.said);
    is_a_log(&std::fs::read_to_string(scene.path("here/bench.log")).expect("the log"));
    same(&file, &scene.path("root/x")).expect("the same bytes");
}

#[test]
fn text_is_translated_as_the_script_says() {
    let commands = "set file character-set cp850\nset transfer character-set latin1\nset file type text\n\
                    send here.txt there.txt\nif fail exit 2\nset file character-set utf8\n\
                    set transfer character-set nonesuch\nif success exit 3\nfinish\nexit 0\n";
    let script = format!("remote set file type text\nif fail exit 4\n{commands}");
    let Some((scene, end, _)) = with_server(&script) else { return };
    assert_eq!(end.code, 0, "{}", end.said);
    assert_eq!(
        std::fs::read(scene.path("root/there.txt")).expect("the file"),
        "Grüße\n".as_bytes()
    );
}

/// Our script is the server; C-Kermit does what it is told.
fn with_client(serving: &str, commands: &str) -> Option<(Scene, End, End)> {
    ckermit()?;
    let (scene, port) = (Scene::new(), free_port());
    stock(&scene);
    scene.file("root/umlaut", "Grüße\n".as_bytes());
    let script = format!(
        "{serving}\nset host /server * {port} /raw\nif fail exit 2\necho EXIT \\v(exitstatus)\nexit 3\n"
    );
    let mut command = kermit(&scene, "server", &script, &[]);
    command.current_dir(scene.path("root"));
    let mut server = scene.start("wst kermit", &mut command).expect("wst runs");
    server.line_after("listening").expect("it listens");
    let script = format!(
        "set quiet on\nset exit warning off\nset delay 0\nset tcp reverse-dns-lookup off\n\
         set file type binary\nset transfer mode manual\ncd {}\n\
         set host 127.0.0.1 {port} /raw\nif fail exit 99\n{commands}\nexit 0\n",
        scene.folder("here").display()
    );
    let script = scene.file("client.ksc", script.as_bytes());
    let mut command = Command::new("kermit");
    command.arg("-Y").arg("+").arg(script);
    let mut client = scene.start("C-Kermit", &mut command).expect("kermit runs");
    let end = client.wait(LIMIT).expect("it ends");
    Some((scene, end, server.wait(LIMIT).expect("the server ends")))
}

#[test]
fn a_script_is_a_server() {
    let commands = "get part\nif fail exit 1\nsend client.log up\nif fail exit 2\n\
        remote directory\nif fail exit 3\nremote cd ..\nif success exit 4\nremote host id\n\
        if success exit 5\nremote kermit echo no\nif success exit 10\nremote delete motd\nif fail exit 6\n\
        remote rmdir tree\nif success exit 9\n\
        remote set transfer character-set latin1-iso\nif fail exit 11\n\
        remote set file type text\nset file type text\nset file character-set cp850\n\
        get umlaut\nif fail exit 12\nfinish\nif fail exit 7";
    let commands = format!("copy part client.log\nget gone\nif fail exit 8\n{commands}");
    let Some((scene, client, server)) =
        with_client("set file collision backup\nenable delete", &commands)
    else {
        return;
    };
    assert_eq!(client.code, 0, "{}", client.said);
    // FINISH returns the connection to the script, which continues.
    assert_eq!(server.code, 3, "{}", server.said);
    same(&scene.path("here/client.log"), &scene.path("root/up")).expect("the same bytes");
    assert!(!scene.path("root/motd").exists());
    let got = std::fs::read(scene.path("here/umlaut")).expect("the file");
    assert_eq!(got, b"Gr\x81\xE1e\n", "Latin-1 on the wire, as the client has set");
}

#[test]
fn what_a_script_disables_is_refused() {
    let serving =
        "disable delete\ndisable cd\nenable host\ndisable get\nset server login anna secret";
    let commands = "remote directory\nif success exit 1\nremote login anna secret\nif fail exit 2\n\
        remote directory\nif fail exit 3\nremote delete motd\nif success exit 4\n\
        remote cd tree\nif success exit 5\nget motd\nif success exit 6\n\
        remote host echo yes\nif fail exit 7\n\
        remote kermit echo [\\feval(6*7)]\nif fail exit 8\nbye";
    let Some((scene, client, server)) = with_client(serving, commands) else { return };
    assert_eq!(client.code, 0, "{}", client.said);
    assert_eq!(server.code, 3, "{}", server.said);
    assert!(server.said.contains("EXIT 8"), "what was refused counts: {}", server.said);
    assert!(client.said.contains("yes") && client.said.contains("[42]"), "{}", client.said);
    assert!(scene.path("root/motd").exists() && !scene.path("here/motd").exists());
}

/// Names keep their directories, below the server's own, unless SET RECEIVE PATHNAMES OFF.
#[test]
fn a_server_keeps_directories_of_names_or_not() {
    for (setting, arrives, absent) in [
        ("set receive pathnames off", "root/bar", "root/sub"),
        ("set receive pathnames relative", "root/sub/bar", "root/bar"),
    ] {
        let commands = "copy part bar\nsend /as-name:sub/bar bar\nif fail exit 1\nfinish";
        let Some((scene, client, server)) = with_client(setting, commands) else { return };
        assert_eq!(client.code, 0, "{setting}: {}", client.said);
        assert_eq!(server.code, 3, "{setting}: {}", server.said);
        same(&scene.path("here/bar"), &scene.path(arrives)).expect("the same bytes");
        assert!(!scene.path(absent).exists(), "{setting}");
    }
}

/// What is text, and what becomes of its line ends: between our script and our server.
#[test]
fn line_ends_are_as_mode_type_and_systems_say() {
    let automatic = "set transfer mode automatic";
    let unlike = "set file system-id UN\nset file end-of-line crlf";
    for (settings, name, text, wanted) in [
        (String::new(), "t.txt", "a\r\nb\r\n", "a\r\nb\r\n"),
        ("set file type text".into(), "t.txt", "a\nb\n", "a\nb\n"),
        (format!("{unlike}\nset file type text"), "t.txt", "a\r\nb\r\n", "a\nb\n"),
        (format!("{automatic}\n{unlike}"), "t.txt", "a\r\nb\r\n", "a\nb\n"),
        (format!("{automatic}\n{unlike}"), "t.dat", "a\r\n\0\r\n", "a\r\n\0\r\n"),
        // Two systems of one kind, whatever their line ends are said to be.
        (format!("{automatic}\nset file end-of-line crlf"), "t.txt", "a\r\n", "a\r\n"),
    ] {
        let scene = Scene::new();
        scene.file(&format!("here/{name}"), text.as_bytes());
        let (_server, port) = our_server(&scene);
        let script = format!(
            "{settings}\nset host 127.0.0.1 {port} /raw\nif fail exit 2\nsend {name}\n\
             if fail exit 3\nfinish\nexit 0\n"
        );
        let end = ran(&scene, kermit(&scene, "t", &script, &[]));
        assert_eq!(end.code, 0, "{settings}: {}", end.said);
        let got = std::fs::read(scene.path("root").join(name)).expect("the file");
        assert_eq!(
            got.escape_ascii().to_string(),
            wanted.as_bytes().escape_ascii().to_string(),
            "{settings}"
        );
    }
}

#[test]
fn translation_can_be_turned_off() {
    for (off, wanted) in
        [("", &b"\xE9\n"[..]), ("set transfer translation off", "\u{e9}\n".as_bytes())]
    {
        let scene = Scene::new();
        scene.file("here/t.txt", "\u{e9}\n".as_bytes());
        let (_server, port) = our_server(&scene);
        let script = format!(
            "set file type text\nset send character-set manual\nset file character-set utf8\n\
             set transfer character-set latin1-iso\n{off}\nset host 127.0.0.1 {port} /raw\n\
             remote set file character-set latin1-iso\nsend t.txt\nif fail exit 3\nfinish\nexit 0\n"
        );
        let end = ran(&scene, kermit(&scene, "t", &script, &[]));
        assert_eq!(end.code, 0, "{off}: {}", end.said);
        assert_eq!(std::fs::read(scene.path("root/t.txt")).expect("the file"), wanted, "{off}");
    }
}

/// A peer that we called gets no unrequested service unless ENABLE allows it; a caller does.
#[test]
fn a_server_on_a_connection_of_ours_gives_only_what_is_enabled_for_it() {
    for (enable, commands) in [
        ("echo as it is", "get motd\nif success exit 1\nremote mkdir d\nif success exit 2"),
        ("enable get local", "get motd\nif fail exit 1\nremote directory\nif success exit 2"),
        ("enable get remote", "get motd\nif success exit 1"),
        ("set compatibility 10", "get motd\nif fail exit 1\nremote directory\nif fail exit 2"),
        ("disable send", "send part\nif success exit 1"),
        ("enable all", "remote cd tree\nif fail exit 1\nget a/inner.dat\nif fail exit 2"),
    ] {
        let (scene, port) = (Scene::new(), free_port());
        stock(&scene);
        let script =
            format!("set host * {port} /raw\nif fail exit 9\n{commands}\nfinish\nexit 0\n");
        let mut client = kermit(&scene, "client", &script, &[]);
        let mut client = scene.start("client", client.stdin(Stdio::null())).expect("wst runs");
        client.line_after("listening").expect("it listens");
        let script = format!("{enable}\nset host 127.0.0.1 {port} /raw\nif fail exit 9\nserver\n");
        let mut server = kermit(&scene, "server", &script, &[]);
        let server = ran(&scene, {
            server.current_dir(scene.path("root"));
            server
        });
        let client = client.wait(LIMIT).expect("it ends");
        assert_eq!(client.code, 0, "{enable}: {} {}", client.said, server.said);
    }
}

#[test]
fn what_is_shown_is_laid_out_as_scripts_expect_it() {
    let scene = Scene::new();
    let script = "set compatibility 9\nshow file\nshow server\nset compatibility 11\nshow file\n\
                  enable delete remote\nshow server\nset compatibility 8\nif success exit 1\n";
    let out = kermit(&scene, "t", script, &[]).output().expect("wst runs");
    let text = String::from_utf8_lossy(&out.stdout);
    for line in [
        " File collision:          backup",
        " Transfer mode:           automatic",
        " File collision:          discard",
        " Transfer mode:           manual",
        "Governing ENABLE bit: REMOTE",
        " GET                Enabled",
        " GET                Remote only",
        " REMOTE DELETE      Disabled",
        " REMOTE DELETE      Remote only",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line}:\n{text}");
    }
    // Before anything was set: what is so then, as docs/reference/ckermit-differences.md tells it.
    let out = kermit(&scene, "u", "show file\nshow server\n", &[]).output().expect("wst runs");
    let text = String::from_utf8_lossy(&out.stdout);
    for line in [
        " File collision:          backup",
        " Transfer mode:           manual",
        " File type:               binary",
        " Receive confirm:         on",
        " Receive pathnames:       auto",
        " SEND               Enabled",
        " GET                Remote only",
        " REMOTE DELETE      Disabled",
        " REMOTE RMDIR       Disabled",
        " REMOTE HOST        Disabled",
        " BYE                Remote only",
        " FINISH             Enabled",
        " EXIT               Disabled",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line}:\n{text}");
    }
}
