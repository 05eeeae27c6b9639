//! `wst kermit --lab`: scripts by the clock of the laboratory.

use crate::peers;

use std::fmt::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use peers::{End, LIMIT, Scene, material, same, wst};

const SCENARIO: &str = "line = \"tcp:mss=1460,window=64K,sendbuf=64K over path:10M,rtt=20ms\"\n\
    port = 4096\n[both]\ndigest = \"off\"\nadapt-length = \"off\"\nbuffer = 16384\n";

/// Appendix I of Kermit streaming (1998), as printed.
const BENCH: &str = include_str!("../../script/tests/bench.ksc");

/// Bytes of the file that the benchmark sends.
const SIZE: usize = 50_000;

fn ran(scene: &Scene, script: &str, flags: &[&str]) -> End {
    ran_on(scene, SCENARIO, script, flags)
}

fn ran_on(scene: &Scene, scenario: &str, script: &str, flags: &[&str]) -> End {
    scene.file("path.toml", scenario.as_bytes());
    scene.file("here/x", &material::random(SIZE, 5));
    let script = scene.file("s.ksc", script.as_bytes());
    let scenario = scene.path("path.toml").display().to_string();
    let mut command = wst(["kermit", "--lab", &scenario]);
    command.args(flags).arg(script).current_dir(scene.folder("here")).stdin(Stdio::null());
    scene.start("wst kermit", &mut command).expect("wst runs").wait(LIMIT * 2).expect("it ends")
}

fn log(scene: &Scene) -> String {
    std::fs::read_to_string(scene.path("here/bench.log")).expect("the log")
}

/// The same transfer as a scenario's run: how long it took, from the first byte.
fn run_s(scene: &Scene, sets: &[&str]) -> f64 {
    let scenario = scene.path("path.toml").display().to_string();
    let mut command = Command::new(peers::WST);
    command.args(["lab", "run", &scenario, "--json"]);
    let controls: Vec<String> = (0..32u32).chain(127..160).map(|code| code.to_string()).collect();
    let bare: Vec<String> = controls.into_iter().filter(|c| c != "0" && c != "1").collect();
    let bare = format!("both.unprefixed=\"{}\"", bare.join(","));
    let path = format!("file.path=\"{}\"", scene.path("here/x").display());
    let all = [&bare[..], &path, "both.prefixed=\"0,1,255\""];
    for set in all.iter().chain(sets) {
        command.args(["--set", set]);
    }
    let out = command.output().expect("wst runs");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let result = text.lines().find(|line| line.contains("\"result\"")).unwrap_or_else(|| {
        panic!("expected a result, got {text}{}", String::from_utf8_lossy(&out.stderr))
    });
    let at = result.find("\"elapsed_s\":").expect("a time") + "\"elapsed_s\":".len();
    let digits = result[at..].split(',').next().expect("a number");
    digits.parse().expect("a number")
}

#[test]
fn the_benchmark_runs_in_virtual_time() {
    let scene = Scene::new();
    let end = ran(&scene, BENCH, &[]);
    assert_eq!(end.code, 0, "{}", end.said);
    let first = log(&scene);
    let lines: Vec<&str> = first.lines().collect();
    assert_eq!(lines.len(), 2 + 168 + 2, "{first}");
    assert_eq!(lines[0], "; BEGIN: 9 Sep 2001 01:46:40. ");
    assert!(lines[1].ends_with(&format!(", SIZE={SIZE}")), "{}", lines[1]);
    // 168 transfers of half a megabit and more over 10 Mbit/s are at least that long.
    assert!(lines[170].starts_with("; FINISH: 9 Sep 2001 01:4"), "{}", lines[170]);
    assert!(lines[170].contains(" - transfers: 168, max cps: "), "{}", lines[170]);
    assert!(lines[171].starts_with("; STREAMING win ratio: "), "{}", lines[171]);
    // What the trials come to, in the form of the seed.
    for part in [
        "Streaming    Nonstreaming",
        "Transfers                     84              84",
        "Correlation of CPS to Streaming (0 or 1): ",
        "Of 84 pairs of transfers, streaming beat nonstreaming in ",
    ] {
        assert!(end.said.contains(part), "{part}: {}", end.said);
    }
    // Again, by the same clock: the same log.
    std::fs::remove_file(scene.path("here/bench.log")).expect("the log goes");
    let again = ran(&scene, BENCH, &[]);
    assert_eq!((again.code, log(&scene)), (0, first));
}

/// On a line that remembers nothing of the transfer before.
#[test]
fn a_cell_is_what_a_scenario_gives() {
    const LINE: &str = "line = \"115200,delay=10ms\"\n[both]\ndigest = \"off\"\nadapt-length = \"off\"\n\
        [receiver]\nstreaming = \"on\"\n";
    /// Round trip, and the time that a packet of parameters takes, in seconds.
    const BEFORE_S: f64 = 0.02 + 2.0 * 40.0 / 11_520.0;
    let cells =
        [(1, 90, "off"), (1, 90, "on"), (4, 500, "off"), (31, 1450, "off"), (31, 1450, "on")];
    let mut script =
        "set control unprefix all\nset control prefix 0 1 255\nset file type binary\n".to_owned();
    for (window, length, streaming) in cells {
        let _ = write!(
            script,
            "set window {window}\nset streaming {streaming}\nremote set rec pack {length}\nif fail exit 2\n\
             send x\nif fail exit 3\necho CPS \\v(cps)\n"
        );
    }
    let scene = Scene::new();
    // A file of 50 kB at 11.52 kB/s takes seconds, without waiting in real time.
    let end = ran_on(&scene, LINE, &script, &[]);
    assert_eq!(end.code, 0, "{}", end.said);
    let rates = end.said.lines().filter_map(|line| line.strip_prefix("CPS "));
    let rates: Vec<f64> = rates.map(|cps| cps.parse().expect("a rate")).collect();
    assert_eq!(rates.len(), cells.len(), "{}", end.said);
    for ((window, length, streaming), cps) in cells.into_iter().zip(rates) {
        let sets = [
            format!("both.window={window}"),
            format!("receiver.receive-length={length}"),
            format!("both.streaming=\"{streaming}\""),
        ];
        let whole = run_s(&scene, &sets.each_ref().map(String::as_str));
        // The script's rate counts from the agreement, a scenario's from the first byte.
        let before = whole - SIZE as f64 / cps;
        let cell = format!("{window} {length} {streaming}");
        assert!((0.0..=1.5 * BEFORE_S).contains(&before), "{cell}: {whole} s, {before} s before");
    }
}

#[test]
fn pauses_take_no_time_here() {
    let scene = Scene::new();
    let began = Instant::now();
    let script = ".t := \\v(ntime)\npause 1000\nsleep 500\necho passed \\feval(\\v(ntime)-\\m(t))\n\
                  remote pwd\nif fail exit 2\nsend x\nif fail exit 3\nremote directory\nif fail exit 4\n\
                  get x back\nif fail exit 5\nget nonesuch\nif success exit 6\noutput x\nif success exit 7\n\
                  finish\nif fail exit 8\nsend x\nif success exit 9\nset host anybody 1 /raw\nif fail exit 10\n\
                  send x\nif fail exit 11\nshow streaming\nexit 0\n";
    let end = ran(&scene, script, &[]);
    assert_eq!(end.code, 0, "{}", end.said);
    assert!(end.said.contains("passed 1500"), "{}", end.said);
    assert!(end.said.contains("Connection:    reliable"), "{}", end.said);
    assert!(end.said.contains("Streaming was used in the last transfer"), "{}", end.said);
    assert!(began.elapsed() < Duration::from_secs(60));
    same(&scene.path("here/x"), &scene.path("here/back")).expect("the same bytes");
}

#[test]
fn the_server_may_have_a_directory() {
    let scene = Scene::new();
    let root = scene.folder("root").display().to_string();
    let trace = scene.path("trace").display().to_string();
    scene.file("root/there", b"from the server");
    let end =
        ran(&scene, "get there\nif fail exit 2\nsend x\n", &["--root", &root, "--trace", &trace]);
    assert_eq!(end.code, 0, "{}", end.said);
    assert_eq!(std::fs::read(scene.path("here/there")).expect("it came"), b"from the server");
    same(&scene.path("here/x"), &scene.path("root/x")).expect("the same bytes");
    assert!(std::fs::read_to_string(trace).expect("a trace").contains(" A sent S "));
    let wrong = ran(&scene, "send x\n", &["--set", "kermit.window=99"]);
    assert_eq!(wrong.code, 2, "{}", wrong.said);
}
