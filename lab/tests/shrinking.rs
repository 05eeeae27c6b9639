//! A file that becomes shorter while it is sent: by every protocol that announces lengths it is the same
//! failure, and the receiver calls nothing whole.

use wetstring_lab::net::{Path, PathModel};
use wetstring_lab::pair::Pair;
use wetstring_lab::store::Content;
use wetstring_lab::{
    Element, LineModel, MemoryFile, MemorySink, MemorySource, PairReport, Recorder, Serial,
};
use wetstring_proto::{Blame, Engine, Failure, FailureKind, Outcome, StoreError};
use wetstring_proto::{kermit, netblt, uucp, xymodem, zmodem};
use wetstring_testkit::Shrinking;

const ANNOUNCED: usize = 60_000;
const LEFT: u64 = 9_000;

fn fails(sender: &mut dyn Engine, receiver: &mut dyn Engine, element: &mut dyn Element) {
    let file = MemoryFile::made("log", Content::Random(7), ANNOUNCED);
    let mut source = Shrinking { inner: MemorySource::new(vec![file]), left: LEFT };
    let mut sink = MemorySink::new();
    let report: PairReport =
        Pair::new(element).run((sender, &mut source), (receiver, &mut sink), &mut Recorder::off());
    let kind = FailureKind::Store(StoreError::Changed);
    let changed = Outcome::Failed(Failure { blame: Blame::Store, kind });
    assert_eq!(report.sides[0].outcome, Some(changed), "{report:?}");
    assert_ne!(report.sides[1].outcome, Some(Outcome::Done), "{report:?}");
    assert_eq!(sink.complete().count(), 0);
}

macro_rules! shrinks {
    ($name:ident, $protocol:ident, $config:expr, $element:expr) => {
        #[test]
        fn $name() {
            let (ours, theirs): ($protocol::Config, $protocol::Config) = $config;
            let (a, b) = (vec![0; ours.sender_memory()], vec![0; theirs.receiver_memory()]);
            let mut sender = $protocol::Sender::new(ours, a).expect("memory as asked for");
            let mut receiver = $protocol::Receiver::new(theirs, b).expect("memory as asked for");
            fails(&mut sender, &mut receiver, &mut $element);
        }
    };
}

fn twice<T: Clone>(config: T) -> (T, T) {
    (config.clone(), config)
}

fn line() -> Serial {
    Serial::new(&LineModel { rate_bps: 115_200, ..LineModel::default() })
}

fn ymodem(variant: xymodem::Variant) -> xymodem::Config {
    xymodem::Config { variant, ..xymodem::Config::default() }
}

fn netblt_ends() -> (netblt::Config, netblt::Config) {
    let passive = netblt::Config {
        role: netblt::Role::Passive,
        local_port: netblt::Config::default().foreign_port,
        ..netblt::Config::default()
    };
    (netblt::Config::default(), passive)
}

shrinks!(kermit_says_changed, kermit, twice(kermit::Config::default()), line());
shrinks!(ymodem_says_changed, xymodem, twice(ymodem(xymodem::Variant::Ymodem)), line());
shrinks!(ymodem_g_says_changed, xymodem, twice(ymodem(xymodem::Variant::YmodemG)), line());
shrinks!(zmodem_says_changed, zmodem, twice(zmodem::Config::default()), line());
shrinks!(uucp_says_changed, uucp, twice(uucp::Config::default()), line());
shrinks!(netblt_says_changed, netblt, netblt_ends(), Path::new(&PathModel::default()));
