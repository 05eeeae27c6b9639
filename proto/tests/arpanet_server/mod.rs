//! A host that serves files from memory, for tests.
#![allow(dead_code, unreachable_pub)]

use crate::common::{File, Sink};
use wetstring_proto::arpanet::ftp::{Asked, Denial, Granted, Options, Service};
use wetstring_proto::arpanet::ncp::Host;
use wetstring_proto::{Cx, Refusal, Reply, Request, Store, StoreError};

pub struct Server {
    pub options: Options,
    pub services: Vec<Serving>,
    /// What may be retrieved.
    pub files: Vec<(String, Vec<u8>)>,
    pub password: Option<String>,
    pub refuse: Option<Refusal>,
    pub room: Option<usize>,
    /// What was stored.
    pub stored: Vec<File>,
    next: u32,
    /// How many processes there may be.
    pub most: usize,
    /// Octets announced beyond those sent.
    pub boast: i64,
}

pub struct Serving {
    service: Service<Vec<u8>>,
    sink: Sink,
    reading: Vec<u8>,
}

impl Server {
    pub fn new(options: Options) -> Self {
        Self {
            options,
            services: Vec::new(),
            files: Vec::new(),
            password: None,
            refuse: None,
            room: None,
            stored: Vec::new(),
            next: 0x200,
            most: 4,
            boast: 0,
        }
    }

    /// Continues as far as it can; whether anything was done.
    pub fn turn(&mut self, host: &mut Host<'_>, cx: &mut Cx<'_>) -> bool {
        let mut moved = false;
        host.listen(self.options.server, self.options.server).unwrap();
        if self.services.len() < self.most
            && let Some(service) =
                Service::answer(self.options.clone(), cx, host, self.next, |len| vec![0; len])
        {
            self.next += 8;
            let sink = Sink { room: self.room, refuse: self.refuse, ..Sink::new() };
            self.services.push(Serving { service, sink, reading: Vec::new() });
            moved = true;
        }
        for serving in &mut self.services {
            serving.service.tick(cx, host);
            serving.service.pump(cx, host);
            while let Some(asked) = serving.service.asked() {
                let granted = match asked {
                    Asked::User(_) if self.password.is_none() => Granted::Yes,
                    Asked::User(_) => Granted::Password,
                    Asked::Password { password, .. } => {
                        let right = self.password.as_deref().map(str::as_bytes) == Some(password);
                        if right { Granted::Yes } else { Granted::No(Denial::Login) }
                    }
                    Asked::Retrieve(name) => {
                        retrieve(&self.files, name, self.boast, &mut serving.reading)
                    }
                    Asked::List { .. } => {
                        serving.reading = self.files.iter().fold(Vec::new(), |text, (name, _)| {
                            [&text, name.as_bytes(), b"\n"].concat()
                        });
                        Granted::File(None)
                    }
                };
                serving.service.grant(cx, host, granted);
                moved = true;
            }
            while let Some(request) = serving.service.request() {
                let reading = &serving.reading;
                let reply = match request {
                    Request::Read { offset, into } => {
                        let rest = reading.get(offset as usize..).unwrap_or_default();
                        let len = rest.len().min(into.len());
                        into[..len].copy_from_slice(&rest[..len]);
                        Reply::Read(len)
                    }
                    Request::Close { .. } if serving.sink.files.is_empty() => Reply::Done,
                    Request::Close { complete, verified } => {
                        let reply = serving.sink.answer(Request::Close { complete, verified });
                        assert_eq!(reply, Reply::Done);
                        self.stored.push(serving.sink.files.pop().unwrap());
                        Reply::Done
                    }
                    request => match serving.sink.answer(request) {
                        Reply::Failed(StoreError::Unsupported) => panic!("not of a server"),
                        Reply::Accept { offset } => Reply::Accept { offset },
                        Reply::Refuse(why) => Reply::Refuse(why),
                        Reply::Failed(why) => Reply::Failed(why),
                        _ => Reply::Done,
                    },
                };
                serving.service.reply(cx, host, reply);
                moved = true;
            }
            while serving.service.event().is_some() {}
        }
        self.services.retain(|serving| !serving.service.is_over());
        moved
    }

    pub fn deadline(&self) -> Option<wetstring_proto::Instant> {
        self.services.iter().filter_map(|serving| serving.service.deadline()).min()
    }
}

fn retrieve(files: &[(String, Vec<u8>)], name: &[u8], boast: i64, into: &mut Vec<u8>) -> Granted {
    let Some((_, bytes)) = files.iter().find(|(known, _)| known.as_bytes() == name) else {
        return Granted::No(Denial::NotFound);
    };
    into.clone_from(bytes);
    Granted::File(Some(bytes.len() as u64).map(|len| len.saturating_add_signed(boast)))
}
