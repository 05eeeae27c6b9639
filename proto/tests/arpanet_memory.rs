//! A transfer between ARPANET hosts allocates nothing, and an engine lives in the memory that its configuration says.

use crate::common;

use common::random;
use wetstring_proto::arpanet::ftp::{Asked, Granted, Mode, Options, Service, Type};
use wetstring_proto::arpanet::imp;
use wetstring_proto::arpanet::leader::{self, Address, Kind};
use wetstring_proto::arpanet::ncp::{self, Buffers, Ncp};
use wetstring_proto::arpanet::{Config, Receiver, Sender};
use wetstring_proto::{
    Cx, Duration, Engine, FileInfo, Instant, NoTrace, Outcome, Reply, Request, Status,
};

const USER: Address = Address { host: 0, imp: 1 };
const SERVER: Address = Address { host: 0, imp: 2 };

/// Answers requests about the one file, at either end.
struct MemoryStore<'f> {
    file: &'f [u8],
    given: bool,
    got: u64,
}

impl MemoryStore<'_> {
    fn answer<'r>(&mut self, request: Request<'_>) -> Reply<'r> {
        match request {
            Request::Next if self.given => Reply::NoMoreFiles,
            Request::Next => {
                self.given = true;
                let size = Some(self.file.len() as u64);
                Reply::File(FileInfo { name: b"a", size, ..FileInfo::default() })
            }
            Request::Read { offset, into } => {
                let rest = &self.file[offset as usize..];
                let len = rest.len().min(into.len());
                into[..len].copy_from_slice(&rest[..len]);
                Reply::Read(len)
            }
            Request::Offer { .. } => Reply::Accept { offset: 0 },
            Request::Write { offset, bytes } => {
                assert_eq!(bytes, &self.file[offset as usize..][..bytes.len()]);
                self.got += bytes.len() as u64;
                Reply::Done
            }
            _ => Reply::Done,
        }
    }
}

/// The IMP between the two: delivers at once, with its RFNM.
fn carry(
    form: leader::Form,
    from: Address,
    message: &mut [u8],
    told: &mut [u8; 12],
) -> (bool, usize) {
    let Ok(Some((_, sent))) = imp::forward(form, from, message) else { return (false, 0) };
    (true, imp::answer(form, &sent, Kind::Rfnm, 0, told))
}

/// Lets the server's process continue.
fn serve(
    service: &mut Service<&mut [u8]>,
    cx: &mut Cx<'_>,
    host: &mut ncp::Host<'_>,
    kept: &mut MemoryStore<'_>,
) {
    service.tick(cx, host);
    service.pump(cx, host);
    while let Some(asked) = service.asked() {
        let granted = match asked {
            Asked::Retrieve(_) => Granted::File(Some(kept.file.len() as u64)),
            _ => Granted::Yes,
        };
        service.grant(cx, host, granted);
    }
    while let Some(request) = service.request() {
        let reply = kept.answer(request);
        service.reply(cx, host, reply);
    }
    while service.event().is_some() {}
}

/// Turns an engine of a user against a server's host; returns the octets that arrived at either end.
fn turn(
    engine: &mut dyn Engine,
    ncp: &mut Ncp<&mut [u8]>,
    service_memory: &mut [u8],
    options: &Options,
    file: &[u8],
) -> u64 {
    let form = leader::Form::Old;
    let mut store = MemoryStore { file, given: false, got: 0 };
    let mut kept = MemoryStore { file, given: false, got: 0 };
    let mut service: Option<Service<&mut [u8]>> = None;
    let mut service_memory = Some(service_memory);
    let mut message = [0; 1200];
    let mut told = [0; 12];
    let mut now = Instant(1);
    ncp.host().listen(3, 3).expect("a place");
    while now - Instant(1) < Duration::from_secs(600) {
        let cx = &mut Cx { now, trace: &mut NoTrace };
        engine.tick(cx);
        ncp.tick(cx);
        while let Some(request) = engine.request() {
            let reply = store.answer(request);
            engine.reply(cx, reply);
        }
        while engine.event().is_some() {}
        loop {
            let lent = engine.transmit(cx);
            let len = lent.len();
            message[..len].copy_from_slice(lent);
            engine.transmitted(cx, len);
            if len == 0 {
                break;
            }
            let (goes, answer) = carry(form, USER, &mut message[..len], &mut told);
            if goes {
                ncp.receive(cx, &message[..len]);
                engine.receive(cx, &told[..answer]);
            }
        }
        if service.is_none() && service_memory.is_some() {
            service = Service::answer(options.clone(), cx, &mut ncp.host(), 0x200, |_| {
                service_memory.take().expect("there is one user")
            });
        }
        if let Some(service) = &mut service {
            serve(service, cx, &mut ncp.host(), &mut kept);
        }
        loop {
            let lent = ncp.transmit(cx);
            let len = lent.len();
            message[..len].copy_from_slice(lent);
            ncp.transmitted(cx, len);
            if len == 0 {
                break;
            }
            let (goes, answer) = carry(form, SERVER, &mut message[..len], &mut told);
            if goes {
                engine.receive(cx, &message[..len]);
                ncp.receive(cx, &told[..answer]);
            }
        }
        match engine.status() {
            Status::Over(Outcome::Done) => return store.got + kept.got,
            Status::Over(other) => panic!("{other:?}"),
            _ => {}
        }
        now = now + Duration::from_millis(1);
    }
    panic!("no end in sight: {:?}", engine.status());
}

#[test]
fn zero_allocations_in_a_transfer() {
    let file = random(300_000, 5);
    for (byte, mode, window, buffers) in [
        (8, Mode::Stream, 1, Buffers::Both),
        (36, Mode::Stream, 1, Buffers::Both),
        (36, Mode::Stream, 1, Buffers::Small),
        (36, Mode::Block, 8, Buffers::Large),
        (255, Mode::Stream, 4, Buffers::Both),
    ] {
        let mut config = Config { to: SERVER, ..Config::default() };
        config.ftp = Options { kind: Type::Image, byte, mode, ..config.ftp };
        config.ncp = ncp::Config { window, buffers, ..config.ncp };
        for puts in [true, false] {
            // Exactly what the configuration says, and not a byte more.
            let mut memory = vec![0; config.sender_memory()];
            let mut served = vec![0; config.ncp.memory()];
            let mut process = vec![0; config.ftp.memory()];
            let mut ncp = Ncp::new(config.ncp.clone(), &mut served[..]).expect("enough");
            let mut sender;
            let mut receiver;
            let engine: &mut dyn Engine = if puts {
                sender = Sender::new(config.clone(), &mut memory[..]).expect("enough");
                &mut sender
            } else {
                receiver = Receiver::new(config.clone(), &mut memory[..]).expect("enough");
                assert!(receiver.want(b"a"));
                &mut receiver
            };
            let mut got = 0;
            let counted = allocation_counter::measure(|| {
                got = turn(engine, &mut ncp, &mut process, &config.ftp, &file);
            });
            assert_eq!(got, file.len() as u64, "{byte} {mode:?} {puts}");
            assert_eq!(counted.count_total, 0, "{byte} {mode:?} {puts}");
        }
    }
}

/// The whole engine, its own fields and the memory it is given.
#[test]
fn what_an_engine_needs() {
    let config = Config::default();
    let sender = size_of::<Sender<&mut [u8]>>() + config.sender_memory();
    let receiver = size_of::<Receiver<&mut [u8]>>() + config.receiver_memory();
    println!("sender {sender}, receiver {receiver}");
    assert!(sender < 120_000 && receiver < 120_000, "{sender} {receiver}");
    // A host with as many connections as there may be, for as many octets each as a message has.
    let config = ncp::Config { connections: 32, buffer_len: 1024, ..ncp::Config::default() };
    let host = size_of::<Ncp<&mut [u8]>>() + config.memory();
    println!("host {host}");
    assert!(host < 60_000, "{host}");
}

#[test]
fn too_little_memory_is_reported() {
    let config = Config::default();
    let needed = config.sender_memory();
    let error = Sender::new(config.clone(), vec![0; needed - 1]).unwrap_err();
    assert_eq!((error.needed, error.given), (needed, needed - 1));
    assert!(Receiver::new(config.clone(), vec![0; config.receiver_memory() - 1]).is_err());
    let needed = config.ncp.memory();
    let error = Ncp::new(config.ncp, vec![0; needed - 1]).unwrap_err();
    assert_eq!((error.needed, error.given), (needed, needed - 1));
}
