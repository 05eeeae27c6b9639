//! What a random file costs on the wire, on a clear channel: to C-Kermit, and between our own ends.

use crate::peers;

use std::slice::from_ref;

use peers::ckermit::{Mode, Over, Session, Transfer};
use peers::{LIMIT, Scene, ckermit, last_event, material, same, wst};

const LEN: usize = 8 << 20;

/// Bytes of the wire in both directions, over the file's size, in percent.
fn overhead(end: &peers::End) -> f64 {
    let event = last_event(end).unwrap_or_else(|why| panic!("{why}"));
    let bytes = |name: &str| event["stats"][name].as_u64().expect("a counter") as f64;
    (bytes("wire_out_bytes") + bytes("wire_in_bytes")) / LEN as f64 * 100.0 - 100.0
}

#[test]
fn to_ckermit_a_random_file_costs_at_most_2_7_percent() {
    let Some(_) = ckermit() else { return };
    let scene = Scene::new();
    let mode = Mode { flags: vec!["--json".to_owned()], ..Mode::default() };
    let file = scene.file("from/a.bin", &material::random(LEN, 50));
    let done = Session::we_send(&scene, Over::TcpToUs, &mode, from_ref(&file)).run();
    let done = done.and_then(Transfer::well).unwrap_or_else(|why| panic!("{why}"));
    same(&file, &done.into.join("a.bin")).unwrap_or_else(|why| panic!("{why}"));
    let cost = overhead(&done.wst);
    assert!((0.0..=2.7).contains(&cost), "the wire carried {cost:.2} % over the file");
}

#[test]
fn between_our_own_ends_a_random_file_costs_at_most_1_5_percent() {
    let scene = Scene::new();
    let file = scene.file("from/a.bin", &material::random(LEN, 51));
    let into = format!("--output={}", scene.folder("in").display());
    let listen = ["receive", "--json", &into, "tcp-listen://127.0.0.1:0"];
    let mut receiver = scene.start("receiver", &mut wst(listen)).expect("wst starts");
    let at = receiver.line_after("listening on ").unwrap_or_else(|why| panic!("{why}"));
    let (name, line) = (file.display().to_string(), format!("tcp://{at}"));
    let mut sender =
        scene.start("sender", &mut wst(["send", "--json", &name, &line])).expect("wst");
    let sent = sender.wait(LIMIT).unwrap_or_else(|why| panic!("{why}"));
    let theirs = receiver.wait(LIMIT).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!((sent.code, theirs.code), (0, 0), "{sent:?} {theirs:?}");
    same(&file, &scene.path("in/a.bin")).unwrap_or_else(|why| panic!("{why}"));
    let event = last_event(&sent).expect("an end");
    assert_eq!(event["verified"], 1, "both ends compared a digest: {event}");
    let cost = overhead(&sent);
    assert!((0.0..=1.5).contains(&cost), "the wire carried {cost:.2} % over the file");
}

/// Every code bare that may be: C-Kermit ends or restarts a packet on MARK and EOL, nothing else.
/// All values in all runs pass, and each of the others is really bare.
#[test]
fn ckermit_reads_all_but_mark_and_eol_bare() {
    let Some(_) = ckermit() else { return };
    let scene = Scene::new();
    let mode = Mode { flags: vec!["--json".to_owned()], ..Mode::default() };
    let mut bytes = material::random(200_000, 52);
    // No runs of three, no prefix characters: what is left over is the cost of controls alone.
    bytes.retain(|byte| !matches!(byte & 0x7f, 0x23 | 0x7e));
    bytes.dedup();
    let file = scene.file("from/a.bin", &bytes);
    let done = Session::we_send(&scene, Over::TcpToUs, &mode, from_ref(&file)).run();
    let done = done.and_then(Transfer::well).unwrap_or_else(|why| panic!("{why}"));
    same(&file, &done.into.join("a.bin")).unwrap_or_else(|why| panic!("{why}"));
    let encoded = last_event(&done.wst).expect("an end")["stats"]["encoded_bytes"].as_u64();
    let count = bytes.iter().filter(|byte| matches!(byte, 1 | 13)).count();
    assert_eq!(encoded, Some((bytes.len() + count) as u64), "one more for each 01 and 0D");
    let runs = scene.file("from/runs.bin", &material::runs());
    let done = Session::we_send(&scene, Over::TcpToUs, &mode, from_ref(&runs)).run();
    let done = done.and_then(Transfer::well).unwrap_or_else(|why| panic!("{why}"));
    same(&runs, &done.into.join("runs.bin")).unwrap_or_else(|why| panic!("{why}"));
}
