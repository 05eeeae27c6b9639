//! What the engine tests share: a perfect pipe between two engines, and the test kit.
#![allow(dead_code, unreachable_pub)]

use std::time::Duration;
use wetstring_proto::{
    Blame, Command, Cx, Engine, Event, Failure, FailureKind, Instant, Outcome, Status, Store,
};
pub use wetstring_testkit::{Dice, Edges, File, Sink, Source, digest, random};

/// `config` with settings by their names in the protocol's table, `sender` and `receiver` of it.
#[allow(unused_macros)] // Each test uses a part.
macro_rules! protocol {
    ($vis:vis $protocol:ident, $config:expr) => {
        $vis fn config(settings: &[(&str, &str)]) -> wetstring_proto::$protocol::Config {
            let mut config = $config;
            for (name, value) in settings {
                let name = format!("{}.{name}", stringify!($protocol));
                wetstring_proto::settings::Settings::set(&mut config, &name, value).unwrap();
            }
            config
        }

        #[allow(dead_code)]
        $vis fn sender(
            config: &wetstring_proto::$protocol::Config,
        ) -> wetstring_proto::$protocol::Sender<Vec<u8>> {
            let memory = vec![0; config.sender_memory()];
            wetstring_proto::$protocol::Sender::new(config.clone(), memory).unwrap()
        }

        #[allow(dead_code)]
        $vis fn receiver(
            config: &wetstring_proto::$protocol::Config,
        ) -> wetstring_proto::$protocol::Receiver<Vec<u8>> {
            let memory = vec![0; config.receiver_memory()];
            wetstring_proto::$protocol::Receiver::new(config.clone(), memory).unwrap()
        }
    };
}
#[allow(unused_imports)]
pub(crate) use protocol;

pub fn failed(blame: Blame, kind: FailureKind) -> Outcome {
    Outcome::Failed(Failure { blame, kind })
}

/// What happened in a [`Pair`].
#[derive(Debug)]
pub struct Ends {
    pub sender: Outcome,
    pub receiver: Outcome,
    pub events: Vec<String>,
    pub now: Instant,
    pub to_receiver: Vec<u8>,
    pub to_sender: Vec<u8>,
}

/// Two engines on a perfect pipe; `meddle` may change what passes, and `steer` may give commands.
pub struct Pair<'a> {
    pub sender: &'a mut dyn Engine,
    pub receiver: &'a mut dyn Engine,
    pub source: &'a mut dyn Store,
    pub sink: &'a mut dyn Store,
    /// Largest chunk the pipe moves at a time; chosen at random up to it if there are dice.
    pub chunk: usize,
    pub dice: Option<Dice>,
    #[allow(clippy::type_complexity)]
    pub meddle: Box<dyn FnMut(bool, &mut Vec<u8>) + 'a>,
    #[allow(clippy::type_complexity)]
    pub steer: Box<dyn FnMut(bool, &dyn Engine) -> Option<Command> + 'a>,
}

impl<'a> Pair<'a> {
    pub fn new(
        sender: &'a mut dyn Engine,
        receiver: &'a mut dyn Engine,
        source: &'a mut dyn Store,
        sink: &'a mut dyn Store,
    ) -> Self {
        Self {
            sender,
            receiver,
            source,
            sink,
            chunk: usize::MAX,
            dice: None,
            meddle: Box::new(|_, _| {}),
            steer: Box::new(|_, _| None),
        }
    }

    /// Turns both engines until both are over.
    pub fn run(mut self) -> Ends {
        let mut now = Instant(1_000_000);
        let mut pipes = [Vec::new(), Vec::new()];
        let mut logs = [Vec::new(), Vec::new()];
        let mut events = Vec::new();
        for turn in 0..4_000_000u32 {
            let mut moved = false;
            let swap = self.dice.as_mut().is_some_and(|dice| dice.roll(2) == 1);
            let order = [!swap, swap];
            for is_sender in order {
                moved |= self.turn_one(is_sender, now, &mut pipes, &mut logs, &mut events);
            }
            let over = |engine: &dyn Engine| matches!(engine.status(), Status::Over(_));
            if over(self.sender) && over(self.receiver) {
                break;
            }
            if !moved {
                let next = [self.sender.deadline(), self.receiver.deadline()];
                let Some(next) = next.into_iter().flatten().min() else {
                    panic!(
                        "nothing to do and no deadline: {:?} {:?}",
                        self.sender.status(),
                        self.receiver.status()
                    )
                };
                now = now.max(next);
                for (engine, is_sender) in [(&mut *self.sender, true), (&mut *self.receiver, false)]
                {
                    engine.tick(&mut Cx { now, trace: &mut Edges::of(is_sender) });
                }
            }
            assert!(turn < 3_999_999, "no end in sight");
            assert!(now < Instant::ZERO + Duration::from_secs(36_000), "ten hours have passed");
        }
        let [to_receiver, to_sender] = logs;
        Ends {
            sender: self.sender.status().outcome().expect("sender is over"),
            receiver: self.receiver.status().outcome().expect("receiver is over"),
            events,
            now,
            to_receiver,
            to_sender,
        }
    }

    fn turn_one(
        &mut self,
        is_sender: bool,
        now: Instant,
        pipes: &mut [Vec<u8>; 2],
        logs: &mut [Vec<u8>; 2],
        events: &mut Vec<String>,
    ) -> bool {
        let mut moved = false;
        let (out, input) = if is_sender { (0, 1) } else { (1, 0) };
        let engine: &mut dyn Engine =
            if is_sender { &mut *self.sender } else { &mut *self.receiver };
        let cx = &mut Cx { now, trace: &mut Edges::of(is_sender) };
        if let Some(command) = (self.steer)(is_sender, engine) {
            engine.command(cx, command);
            moved = true;
        }
        let store: &mut dyn Store = if is_sender { self.source } else { self.sink };
        let doors = match &mut self.dice {
            Some(dice) => [dice.roll(4), dice.roll(4), dice.roll(4), dice.roll(4)],
            None => [0, 1, 2, 3],
        };
        for door in doors {
            match door {
                0 => {
                    if let Some(request) = engine.request() {
                        let reply = store.answer(request);
                        engine.reply(cx, reply);
                        moved = true;
                    }
                }
                1 => {
                    let len = some(&mut self.dice, engine.transmit(cx).len().min(self.chunk));
                    if len > 0 {
                        let mut bytes = engine.transmit(cx)[..len].to_vec();
                        engine.transmitted(cx, len);
                        logs[out].extend_from_slice(&bytes);
                        (self.meddle)(is_sender, &mut bytes);
                        pipes[out].extend_from_slice(&bytes);
                        moved = true;
                    }
                }
                2 => {
                    let len = some(&mut self.dice, pipes[input].len().min(self.chunk));
                    if len > 0 {
                        let used = engine.receive(cx, &pipes[input][..len]);
                        pipes[input].drain(..used);
                        moved |= used > 0;
                        if matches!(engine.status(), Status::Over(_)) {
                            pipes[input].clear();
                        }
                    }
                }
                _ => {
                    while let Some(event) = engine.event() {
                        events.push(format!(
                            "{} {}",
                            if is_sender { "s" } else { "r" },
                            show(&event)
                        ));
                        moved = true;
                    }
                    if self.dice.is_some() {
                        engine.tick(cx);
                    }
                }
            }
        }
        moved || self.dice.is_some() && (!pipes[input].is_empty() || wants_work(engine))
    }
}

/// Some of `len`, at least one if there is one; all without dice.
fn some(dice: &mut Option<Dice>, len: usize) -> usize {
    match (dice, len) {
        (Some(dice), 1..) => 1 + dice.roll(len),
        _ => len,
    }
}

fn wants_work(engine: &dyn Engine) -> bool {
    use wetstring_proto::Wants;
    let wants = engine.wants();
    wants.contains(Wants::OUTPUT) || wants.contains(Wants::STORE)
}

fn show(event: &Event<'_>) -> String {
    match event {
        Event::Negotiated(text) => format!("negotiated {text}"),
        Event::FileStarted { info, offset } => {
            format!("started {} at {offset}", info.name.escape_ascii())
        }
        Event::FileDone { size, verified } => format!("done {size} verified={verified}"),
        Event::FileRefused { name, why, by_peer } => {
            format!("refused {} {why:?} by_peer={by_peer}", name.escape_ascii())
        }
        Event::FileCancelled { by_peer } => format!("cancelled by_peer={by_peer}"),
        Event::Completed { status } => format!("completed {status}"),
        Event::Message(text) => format!("message {}", text.escape_ascii()),
        _ => String::from("?"),
    }
}

/// These files arrived, whole and in this order.
pub fn assert_whole(got: &[File], want: &[File], label: &str) {
    assert_eq!(got.len(), want.len(), "{label}: number of files");
    for (got, want) in got.iter().zip(want) {
        let name = String::from_utf8_lossy(&want.name).into_owned();
        assert_eq!(got.name, want.name, "{label}");
        assert!(got.complete, "{label}: {name} is complete");
        assert!(got.bytes == want.bytes, "{label}: {name} has the same bytes");
    }
}

/// Whatever the order of the doors and the size of the chunks, the files arrive.
pub fn any_order(
    sender: &mut dyn Engine,
    receiver: &mut dyn Engine,
    files: &[File],
    mut dice: Dice,
    label: &str,
) {
    let (mut source, mut sink) = (Source::new(files.to_vec()), Sink::new());
    source.chunk = 1 + dice.roll(5000);
    let mut pair = Pair::new(sender, receiver, &mut source, &mut sink);
    pair.chunk = 1 + dice.roll(700);
    pair.dice = Some(dice);
    let ends = pair.run();
    assert_eq!(ends.sender, Outcome::Done, "{label}: {:?}", ends.events);
    assert_eq!(ends.receiver, Outcome::Done, "{label}");
    assert_whole(&sink.files, files, label);
}

/// A line that gives back what is sent is no peer: the engine ends in time, without success.
pub fn assert_no_peer(engine: &mut dyn Engine, limit: Duration) {
    let mut source = Source::new(vec![File::new("f", b"x")]);
    let mut now = Instant::ZERO;
    while !matches!(engine.status(), Status::Over(_)) {
        let cx = &mut Cx { now, trace: &mut Edges::new() };
        let echo = engine.transmit(cx).to_vec();
        engine.transmitted(cx, echo.len());
        assert_eq!(engine.receive(cx, &echo), echo.len());
        while let Some(request) = engine.request() {
            let reply = source.answer(request);
            engine.reply(cx, reply);
        }
        engine.tick(cx);
        now = now + Duration::from_millis(50);
        assert!(now < Instant::ZERO + limit);
    }
    assert_ne!(engine.status().outcome(), Some(Outcome::Done));
}
