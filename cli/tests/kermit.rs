//! `wst kermit`: scripts from a file, from stdin and from the command line; transfers by script between
//! two of us, and the benchmark of seed 000 against C-Kermit's server.

mod peers;

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use peers::{End, LIMIT, Scene, ckermit, free_port, same, wst};

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
    let script =
        "server\nif success exit 2\nset host localhost\nif success exit 3\nsend t\nexit 5\n";
    let end = ran(&scene, kermit(&scene, "t", script, &[]));
    assert_eq!(end.code, 5, "{}", end.said);
    for part in ["SERVER is not there", "expected a port", "there is no file t"] {
        assert!(end.said.contains(part), "{part}: {}", end.said);
    }
}

/// C-Kermit is the server; the script is ours.
fn with_server(script: &str) -> Option<(Scene, End, End)> {
    ckermit()?;
    let (scene, port) = (Scene::new(), free_port());
    let root = scene.folder("root");
    std::fs::write(root.join("motd"), b"hello\n").expect("a file");
    let begin = format!("set file display none, set host /server * {port} /raw, exit");
    let mut command = Command::new("kermit");
    command.args(["-Y", "-C", &begin]).current_dir(&root).env("HOME", &root).stdin(Stdio::null());
    let mut server = scene.start("C-Kermit", &mut command).expect("kermit runs");
    std::thread::sleep(Duration::from_millis(500));
    let whole = format!("set host 127.0.0.1 {port} /raw\nif fail exit 9\n{script}");
    let end = ran(&scene, kermit(&scene, "t", &whole, &[]));
    let over = server.wait(Duration::from_secs(20)).expect("the server ends");
    Some((scene, end, over))
}

#[test]
fn a_script_is_a_client_of_ckermit() {
    let script = "remote pwd\nif fail exit 2\nremote set file collision overwrite\nif fail exit 3\n\
                  get motd copy\nif fail exit 4\nremote mkdir d\nif fail exit 5\nremote rename motd m2\n\
                  if fail exit 6\nremote cd nonesuch\nif success exit 7\nget nonesuch\nif success exit 8\n\
                  remote directory\nif success exit 11\nremote pwd\nif fail exit 12\n\
                  finish\nif fail exit 10\nexit 0\n";
    let Some((scene, end, _)) = with_server(script) else { return };
    assert_eq!(end.code, 0, "{}", end.said);
    assert_eq!(std::fs::read(scene.path("here/copy")).expect("the file"), b"hello\n");
    assert!(scene.path("root/d").is_dir() && scene.path("root/m2").is_file());
}

/// Appendix I of seed 000, as printed.
#[test]
fn the_benchmark_runs_against_ckermit() {
    let bench = include_str!("../../script/tests/bench.ksc");
    // The script asks for a comment: nobody is there to give one.
    let script = format!("{bench}finish\nexit 0\n");
    let prepared = format!("copy /etc/hostname x\nset quiet on\n{script}");
    let Some((scene, end, _)) = with_server(&prepared) else { return };
    assert_eq!(end.code, 0, "{}", end.said);
    let log = std::fs::read_to_string(scene.path("here/bench.log")).expect("the log");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 2 + 168 + 2, "{log}");
    assert!(lines[0].starts_with("; BEGIN: ") && lines[1].starts_with("; FILE="), "{log}");
    for (line, mode) in lines[2..170].iter().zip(["off", "on "].iter().cycle()) {
        assert_eq!(&line[8..13], format!(" {mode} "), "{line}");
        assert!(line[..8].trim().parse::<u64>().is_ok(), "{line}");
    }
    assert!(lines[170].contains(" - transfers: 168, max cps: "), "{log}");
    assert!(lines[171].starts_with("; STREAMING win ratio: "), "{log}");
}
