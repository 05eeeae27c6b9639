//! Measures loop, port and store without a protocol: a toy engine over TCP loopback, in two processes.
//!
//! `cargo run --release -p wetstring-drive --example throughput [MIB] [DIRECTORY]` moves a file of that many
//! MiB (default 256) into the directory (default: the system's temporary one), with and without digests, and
//! prints MB/s of file data.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{ToyReceiver, ToySender};
use std::io::BufRead;
use std::process::{Command, Stdio};
use std::time::Instant;
use wetstring_drive::disk::{DiskStore, ReceiveOptions, SendOptions, Source};
use wetstring_drive::port::PATIENCE;
use wetstring_drive::run::{NoWatch, RunOptions, run};
use wetstring_drive::{LineSpec, open};
use wetstring_proto::engine::Outcome;
use wetstring_proto::file::DigestKind;
use wetstring_proto::trace::NoTrace;

fn receive(directory: &str, digest: Option<DigestKind>) {
    let spec: LineSpec = "tcp-listen://127.0.0.1:0".parse().unwrap();
    let mut port = open(&spec, None, &mut |note| println!("{note}")).unwrap();
    let options = ReceiveOptions { digest, ..ReceiveOptions::default() };
    let mut store = DiskStore::receiving(directory.as_ref(), options).unwrap();
    let mut trace = NoTrace;
    let mut engine = ToyReceiver::new(b"throughput.out", 256 * 1024);
    let ended = run(&mut engine, &mut *port, &mut store, &mut NoWatch, RunOptions::new(&mut trace));
    assert_eq!(ended.outcome, Outcome::Done);
    port.finish(PATIENCE).unwrap();
    std::fs::remove_file(store.files()[0].path.as_ref().unwrap()).unwrap();
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let digest_of = |word: &str| match word {
        "xxh3" => Some(DigestKind::Xxh3),
        "crc32" => Some(DigestKind::Crc32),
        _ => None,
    };
    if let [role, directory, digest] = &arguments[..]
        && role == "receive"
    {
        return receive(directory, digest_of(digest));
    }
    let mib: usize = arguments.first().map_or(256, |mib| mib.parse().unwrap());
    let directory = arguments.get(1).map_or_else(std::env::temp_dir, Into::into);
    let source = directory.join("throughput.in");
    std::fs::write(&source, common::pattern(mib << 20)).unwrap();
    for digest in ["none", "xxh3", "crc32"].into_iter().cycle().take(9) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["receive", directory.to_str().unwrap(), digest])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut note = String::new();
        std::io::BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut note).unwrap();
        let spec: LineSpec = note.trim().replace("listening on ", "tcp://").parse().unwrap();
        let mut port = open(&spec, None, &mut |_| {}).unwrap();
        let options = SendOptions { digest: digest_of(digest), ..SendOptions::default() };
        let mut store = DiskStore::sending(vec![Source::path(&source)], options);
        let mut trace = NoTrace;
        let start = Instant::now();
        let mut engine = ToySender::default();
        let options = RunOptions::new(&mut trace);
        let ended = run(&mut engine, &mut *port, &mut store, &mut NoWatch, options);
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!(ended.outcome, Outcome::Done);
        port.finish(PATIENCE).unwrap();
        assert!(child.wait().unwrap().success());
        println!("{:8.0} MB/s  digest {digest}", (mib << 20) as f64 / seconds / 1e6);
    }
    std::fs::remove_file(source).unwrap();
}
