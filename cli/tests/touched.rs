//! A file reported as complete is complete, even if another process changes it while it is received.

use crate::common;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use common::relay::Relay;
use common::{Desk, Running, noise, run, wst};
use wetstring_testkit::wait_until;

const LEN: usize = 3_000_000;
/// More than lines hold by themselves, less than the file.
const PASSES: usize = 1_500_000;

/// Somebody else at that machine.
type Hand = fn(&Path);

const HANDS: [(&str, Hand); 4] = [
    ("changes a byte", |part| {
        let file = OpenOptions::new().write(true).open(part).unwrap();
        file.write_all_at(b"!!", 1000).unwrap();
    }),
    ("puts another file there", |part| {
        fs::write(part.with_extension("x"), "evil").unwrap();
        fs::rename(part.with_extension("x"), part).unwrap();
    }),
    ("removes it", |part| fs::remove_file(part).unwrap()),
    ("makes it longer", |part| {
        let file = OpenOptions::new().write(true).open(part).unwrap();
        file.write_all_at(b"more", 2 * LEN as u64).unwrap();
    }),
];

/// Waits until a good deal of the file has come.
fn wait_for(part: &Path) {
    let come = || fs::metadata(part).is_ok_and(|file| file.len() >= 500_000);
    wait_until(&format!("a good deal of {}", part.display()), come);
}

#[test]
fn put_is_not_verified_if_the_part_is_touched() {
    for (what, hand) in HANDS {
        let desk = Desk::new(1);
        let (root, file) = (desk.path("root"), desk.path("f.bin"));
        fs::create_dir(&root).unwrap();
        fs::write(&file, noise(3, LEN)).unwrap();
        fs::write(desk.path("root/f.bin"), "old").unwrap();
        let serve = ["serve", "tcp-listen://127.0.0.1:0", "--root", &root, "--allow", "write"];
        let server = Running::start(wst(serve.into_iter().chain(["--set", "store.verify=stored"])));
        let at = server.says("listening on ");
        let relay = Relay::before(&at, PASSES);
        let put = Running::start(wst(["put", &file, &format!("tcp://{}", relay.at)]));
        let part = desk.path("root/f.bin.part");
        wait_for(part.as_ref());
        hand(part.as_ref());
        relay.resume();
        let end = put.end();
        assert_ne!(end.code(), 0, "{what}: {}", end.stderr);
        assert!(!end.stderr.contains(" verified"), "{what}: {}", end.stderr);
        assert_eq!(fs::read_to_string(desk.path("root/f.bin")).unwrap(), "old", "{what}");
        // The next one is none the worse.
        let again = run(wst(["put", &file, &format!("tcp://{at}")]));
        assert_eq!(again.code(), 0, "{what}: {}", again.stderr);
        assert!(fs::read(desk.path("root/f.bin")).unwrap() == noise(3, LEN), "{what}");
    }
}

/// Kermit has a digest, and ZMODEM and YMODEM have none.
#[test]
fn receive_does_not_end_well_if_the_part_is_touched() {
    for protocol in ["kermit", "zmodem", "ymodem"] {
        for (what, hand) in HANDS {
            let desk = Desk::new(1);
            let (inbox, file) = (desk.path("in"), desk.path("f.bin"));
            fs::write(&file, noise(3, LEN)).unwrap();
            let take = ["receive", "-P", protocol, "--verify", "stored", "-o", &inbox];
            let receiver =
                Running::start(wst(take.into_iter().chain(["tcp-listen://127.0.0.1:0"])));
            let relay = Relay::before(&receiver.says("listening on "), PASSES);
            let line = format!("tcp://{}", relay.at);
            let sender = Running::start(wst(["send", "-P", protocol, &file, &line]));
            let part = desk.path("in/f.bin.part");
            wait_for(part.as_ref());
            hand(part.as_ref());
            relay.resume();
            for end in [receiver.end(), sender.end()] {
                assert_ne!(end.code(), 0, "{protocol}: {what}: {}", end.stderr);
                assert!(!end.stderr.contains(" verified"), "{protocol}: {what}: {}", end.stderr);
            }
            assert!(!Path::new(&desk.path("in/f.bin")).exists(), "{protocol}: {what}");
        }
    }
}
