//! What the tests of hosts share: hosts at one IMP, which has no delay and does what it is told to.
#![allow(dead_code, unreachable_pub)]

use std::collections::VecDeque;
use wetstring_proto::arpanet::imp;
use wetstring_proto::arpanet::leader::{Address, Form, Kind, Leader};
use wetstring_proto::arpanet::ncp::{Config, Host, Id, Ncp, State};
use wetstring_proto::{Cx, Duration, Instant};
use wetstring_testkit::Edges;

/// What becomes of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Deliver,
    /// Delivered, and its RFNM is lost.
    NoRfnm,
    /// Not delivered, which is told.
    Incomplete(u8),
    /// Lost without notice.
    Lost,
    /// The destination is dead.
    Dead(u8),
}

/// Decides about a message: who sends it, its leader, all of it.
pub type Judge = Box<dyn FnMut(usize, &Leader, &[u8]) -> Fate>;

/// Changes a message of a host on its way.
pub type Meddle = Box<dyn FnMut(usize, &mut Vec<u8>)>;

pub struct Net {
    pub hosts: Vec<Ncp<Vec<u8>>>,
    pub form: Form,
    pub now: Instant,
    pub judge: Judge,
    pub meddle: Meddle,
    /// Every message that a host gave its IMP.
    pub said: Vec<(usize, Vec<u8>)>,
    /// RFNMs are kept back, and given when asked for.
    pub held: Option<VecDeque<(usize, Vec<u8>)>>,
}

pub fn address(index: usize) -> Address {
    Address { host: index as u8, imp: 6 }
}

impl Net {
    pub fn new(configs: &[Config]) -> Self {
        let host = |config: &Config| Ncp::new(config.clone(), vec![0; config.memory()]).unwrap();
        Self {
            hosts: configs.iter().map(host).collect(),
            form: configs[0].form,
            now: Instant(1),
            judge: Box::new(|_, _, _| Fate::Deliver),
            meddle: Box::new(|_, _| {}),
            said: Vec::new(),
            held: None,
        }
    }

    pub fn two() -> Self {
        Self::new(&[Config::default(), Config::default()])
    }

    pub fn host(&mut self, index: usize) -> Host<'_> {
        self.hosts[index].host()
    }

    /// A call of a process.
    pub fn call<T>(
        &mut self,
        index: usize,
        run: impl FnOnce(&mut Host<'_>, &mut Cx<'_>) -> T,
    ) -> T {
        let mut trace = Edges::new();
        let mut cx = Cx { now: self.now, trace: &mut trace };
        run(&mut self.hosts[index].host(), &mut cx)
    }

    /// Gives a host a message.
    pub fn hear(&mut self, index: usize, message: &[u8]) {
        self.hosts[index].receive(&mut Cx { now: self.now, trace: &mut Edges::new() }, message);
    }

    /// Takes one message of a host; false if it has none.
    fn step(&mut self, index: usize) -> bool {
        let (now, form) = (self.now, self.form);
        let mut trace = Edges::new();
        let mut cx = Cx { now, trace: &mut trace };
        let message = self.hosts[index].transmit(&mut cx).to_vec();
        if message.is_empty() {
            return false;
        }
        assert_eq!(self.hosts[index].transmit(&mut cx), message, "what is lent stays");
        self.hosts[index].transmitted(&mut cx, message.len());
        self.said.push((index, message.clone()));
        let mut carried = message.clone();
        (self.meddle)(index, &mut carried);
        let Some((to, leader)) = imp::forward(form, address(index), &mut carried).unwrap() else {
            return true;
        };
        let mut told = [0; 12];
        let fate = (self.judge)(index, &leader, &message);
        let to = (0..self.hosts.len()).find(|at| address(*at) == to);
        let (kind, subtype) = match (fate, to) {
            (Fate::Lost, _) => return true,
            (Fate::Dead(why), _) => (Kind::Dead, why),
            (Fate::Incomplete(why), _) => (Kind::Incomplete, why),
            (_, None) => (Kind::Dead, 1),
            (Fate::Deliver | Fate::NoRfnm, Some(to)) => {
                self.hosts[to].receive(&mut cx, &carried);
                if fate == Fate::NoRfnm {
                    return true;
                }
                (Kind::Rfnm, 0)
            }
        };
        let len = imp::answer(form, &leader, kind, subtype, &mut told);
        match &mut self.held {
            Some(held) => held.push_back((index, told[..len].to_vec())),
            None => self.hosts[index].receive(&mut cx, &told[..len]),
        }
        true
    }

    /// Until no host has output.
    pub fn settle(&mut self) {
        for _ in 0..100_000 {
            let count = self.hosts.len();
            let moved = (0..count).map(|index| self.step(index)).fold(false, |a, b| a | b);
            if !moved {
                return;
            }
        }
        panic!("they do not stop talking");
    }

    /// Lets time pass, stopping at every deadline.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            self.settle();
            let next = self.hosts.iter().filter_map(Ncp::deadline).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = next.max(self.now);
            for host in &mut self.hosts {
                host.tick(&mut Cx { now: self.now, trace: &mut Edges::new() });
            }
        }
        self.now = end;
    }

    pub fn state(&mut self, index: usize, id: Id) -> State {
        self.host(index).state(id)
    }

    /// How many messages of this kind the host gave, after the leader.
    pub fn texts(&self, index: usize, link: u8) -> Vec<Vec<u8>> {
        let octets = self.form.octets();
        let is = |message: &Vec<u8>| {
            Leader::parse(self.form, message)
                .is_ok_and(|leader| leader.kind == Kind::Regular && leader.link == link)
        };
        let of = self.said.iter().filter(|(from, message)| *from == index && is(message));
        of.map(|(_, message)| message[octets..].to_vec()).collect()
    }
}
