//! A server, and clients that come one after the other, on a perfect pipe.
#![allow(dead_code, unreachable_pub)]

use crate::common::{Dice, File, Sink, Source};
use wetstring_proto::file::Left;
use wetstring_proto::kermit::command::ServerCommand;
use wetstring_proto::kermit::{Client, Config, Sender, Server};
use wetstring_proto::{
    Cx, Engine, Event, Instant, Outcome, Remote, RemoteReply, Reply, Request, Status, Store, Wants,
};
use wetstring_testkit::Edges;

/// The store behind a server, in memory: what it is told to answer, and what it was asked.
#[derive(Debug, Default)]
pub struct Shelf {
    /// What GET gives.
    pub files: Vec<File>,
    /// What a long reply says.
    pub screen: Vec<u8>,
    pub asked: Vec<String>,
    pub source: Source,
    pub sink: Sink,
}

impl Shelf {
    fn serve(&mut self, command: ServerCommand<'_>, answer: &mut [u8]) -> Reply<'static> {
        let room = answer.len();
        let mut say = |text: &[u8]| {
            answer[..text.len()].copy_from_slice(text);
            text.len()
        };
        match command {
            ServerCommand::Get(get) if get.names == b"none" => {
                Reply::Remote(RemoteReply::Denied(say(b"No files")))
            }
            ServerCommand::Get(get) => {
                let mut files = self.files.clone();
                for file in &mut files {
                    file.resume = get.recover;
                }
                self.source = Source::new(files);
                Reply::Remote(RemoteReply::Follow { screen: false, batch: Left::default() })
            }
            ServerCommand::Directory(_) => {
                let listing = File { text: true, ..File::new("DIRECTORY", &self.screen) };
                self.source = Source::new(vec![listing]);
                Reply::Remote(RemoteReply::Follow { screen: true, batch: Left::default() })
            }
            ServerCommand::WorkingDirectory => {
                Reply::Remote(RemoteReply::Said(say(b"/srv/kermit/")))
            }
            ServerCommand::Status => {
                Reply::Remote(RemoteReply::Said(say(b"one line\nanother line\n")))
            }
            ServerCommand::Help(_) => {
                let long: Vec<u8> = (0..room).map(|at| b'!' + (at % 90) as u8).collect();
                Reply::Remote(RemoteReply::Said(say(&long)))
            }
            ServerCommand::Host(_) => Reply::Remote(RemoteReply::Denied(say(&[b'#'; 200]))),
            _ => Reply::Done,
        }
    }
}

impl Store for Shelf {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Remote(Remote::Serve { kind, words, answer, .. }) => {
                let command = ServerCommand::parse(kind, words).expect("the engine has read it");
                let mut written = [0; 5000];
                let len = command.emit(&mut written).expect("it fits");
                let asked = format!("{}{}", command.kind() as char, written[..len].escape_ascii());
                self.asked.push(asked);
                let command = ServerCommand::parse(kind, words).expect("as before");
                self.serve(command, answer)
            }
            Request::Next | Request::Read { .. } => self.source.answer(request),
            Request::Close { .. } | Request::Digest { .. } if self.source.at > 0 => {
                self.source.answer(request)
            }
            _ => self.sink.answer(request),
        }
    }
}

/// What became of one client's question.
#[derive(Debug)]
pub struct Asked {
    pub outcome: Outcome,
    pub replies: Vec<Vec<u8>>,
    pub messages: Vec<String>,
    pub sink: Sink,
    /// Packets that the client, and the server, sent.
    pub wire: [Vec<u8>; 2],
}

pub struct Session<'a> {
    pub server: Server<Vec<u8>>,
    pub shelf: Shelf,
    pub now: Instant,
    pub dice: Option<Dice>,
    pub chunk: usize,
    pub config: Config,
    /// May change what passes; true if it goes to the server.
    #[allow(clippy::type_complexity)]
    pub meddle: Box<dyn FnMut(bool, &mut Vec<u8>) + 'a>,
}

impl Session<'_> {
    pub fn new(config: &Config, shelf: Shelf) -> Self {
        let memory = vec![0; config.server_memory()];
        Self {
            server: Server::new(config.clone(), memory).expect("enough memory"),
            shelf,
            now: Instant(1_000_000),
            dice: None,
            chunk: usize::MAX,
            config: config.clone(),
            meddle: Box::new(|_, _| {}),
        }
    }

    pub fn ask(&mut self, command: &ServerCommand<'_>) -> Asked {
        self.ask_into(command, Sink::new())
    }

    pub fn ask_into(&mut self, command: &ServerCommand<'_>, mut sink: Sink) -> Asked {
        let memory = vec![0; self.config.client_memory()];
        let mut client = Client::new(self.config.clone(), command, memory).expect("a client");
        let (outcome, Exchange { replies, messages, wire, .. }) = self.turn(&mut client, &mut sink);
        Asked { outcome, replies, messages, sink, wire }
    }

    pub fn put(&mut self, files: Vec<File>) -> Outcome {
        let memory = vec![0; self.config.sender_memory()];
        let mut sender = Sender::new(self.config.clone(), memory).expect("enough memory");
        self.shelf.source = Source::default();
        self.turn(&mut sender, &mut Source::new(files)).0
    }

    fn turn(&mut self, client: &mut dyn Engine, store: &mut dyn Store) -> (Outcome, Exchange) {
        let mut exchange = Exchange::default();
        for _ in 0..2_000_000u32 {
            let mut moved = self.turn_one(true, client, store, &mut exchange);
            moved |= self.turn_one(false, client, store, &mut exchange);
            if self.dice.is_some() {
                let wants = [client.wants(), self.server.wants()];
                let busy = |w: &Wants| w.contains(Wants::OUTPUT) || w.contains(Wants::STORE);
                moved |=
                    exchange.pipes.iter().any(|pipe| !pipe.is_empty()) || wants.iter().any(busy);
            }
            if let Status::Over(outcome) = client.status() {
                let gone = matches!(self.server.status(), Status::Over(_));
                if exchange.pipes[0].is_empty() || gone {
                    exchange.hear(client);
                    return (outcome, exchange);
                }
                exchange.pipes[1].clear();
            }
            if !moved {
                let next = [client.deadline(), self.server.deadline()];
                self.now = match next.into_iter().flatten().min() {
                    Some(next) => self.now.max(next),
                    None if self.dice.is_some() => self.now,
                    None => panic!("stuck: {:?} {:?}", client.status(), self.server.status()),
                };
                client.tick(&mut Cx { now: self.now, trace: &mut Edges::new() });
                self.server.tick(&mut Cx { now: self.now, trace: &mut Edges::new() });
            }
        }
        panic!("no end in sight: {:?} {:?}", client.status(), self.server.status());
    }

    /// Turns the client, or the server, once.
    fn turn_one(
        &mut self,
        is_client: bool,
        client: &mut dyn Engine,
        store: &mut dyn Store,
        exchange: &mut Exchange,
    ) -> bool {
        let mut moved = false;
        let (engine, store): (&mut dyn Engine, &mut dyn Store) =
            if is_client { (client, store) } else { (&mut self.server, &mut self.shelf) };
        let (out, input) = (usize::from(!is_client), usize::from(is_client));
        let cx = &mut Cx { now: self.now, trace: &mut Edges::new() };
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
                    let most = engine.transmit(cx).len().min(self.chunk);
                    let len = some(&mut self.dice, most);
                    let mut bytes = engine.transmit(cx)[..len].to_vec();
                    engine.transmitted(cx, len);
                    exchange.wire[out].extend_from_slice(&bytes);
                    (self.meddle)(is_client, &mut bytes);
                    exchange.pipes[out].extend_from_slice(&bytes);
                    moved |= len > 0;
                }
                2 => {
                    let most = exchange.pipes[input].len().min(self.chunk);
                    let len = some(&mut self.dice, most);
                    let used = engine.receive(cx, &exchange.pipes[input][..len]);
                    exchange.pipes[input].drain(..used);
                    moved |= used > 0;
                }
                _ if is_client => moved |= exchange.hear(engine),
                _ => while engine.event().is_some() {},
            }
        }
        moved
    }
}

/// What passes between the two, and what the client is told.
#[derive(Default)]
struct Exchange {
    replies: Vec<Vec<u8>>,
    messages: Vec<String>,
    /// What is in flight to the server, and to the client.
    pipes: [Vec<u8>; 2],
    wire: [Vec<u8>; 2],
}

impl Exchange {
    /// Takes the client's events.
    fn hear(&mut self, client: &mut dyn Engine) -> bool {
        let mut moved = false;
        while let Some(event) = client.event() {
            match event {
                Event::Replied(text) => self.replies.push(text.to_vec()),
                Event::Message(text) => self.messages.push(text.escape_ascii().to_string()),
                _ => {}
            }
            moved = true;
        }
        moved
    }
}

fn some(dice: &mut Option<Dice>, len: usize) -> usize {
    match (dice, len) {
        (Some(dice), 1..) => 1 + dice.roll(len),
        _ => len,
    }
}
