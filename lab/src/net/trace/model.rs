//! A link of opportunities as text.

use super::deliveries::Deliveries;
use super::made::Shape;
use super::queue::{Aqm, Codel};
use crate::element::End;
use crate::net::parse::{BadNet, Param, Shown, ShownRate, ShownSize, rate, words};
use crate::net::path::Queue;
use crate::serial::Probability;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use wetstring_proto::Duration;

/// The source of the opportunities.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// Made from the seed.
    Made(Shape),
    /// Evenly, bit/s from A to B and back.
    Even([u64; 2]),
    /// Files from A to B and back, and what is in them once it was supplied.
    Files([(String, Option<Arc<Deliveries>>); 2]),
}

/// Description of a link of opportunities. See the [module](super).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceModel {
    /// The source of the opportunities.
    pub source: Source,
    /// A made trace's direction of the user is from A to B.
    pub down: bool,
    /// A file is not repeated.
    pub once: bool,
    /// One way.
    pub delay: Duration,
    /// Queue limit.
    pub queue: Queue,
    /// Queue management.
    pub aqm: Aqm,
    /// Chance that a packet is lost.
    pub loss: Probability,
    /// Longest packet in bytes.
    pub mtu_bytes: u64,
    /// The random seed.
    pub seed: u64,
}

/// Returns the content of a file, or an error.
pub type Load<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

impl TraceModel {
    fn of(source: Source) -> Self {
        Self {
            source,
            down: false,
            once: false,
            delay: Duration::ZERO,
            queue: Queue::Unlimited,
            aqm: Aqm::Tail,
            loss: Probability::NEVER,
            mtu_bytes: 65_535,
            seed: 1,
        }
    }

    /// The opportunities of what is offered at `end`; none of a file that was not supplied.
    pub fn deliveries(&self, end: End) -> Arc<Deliveries> {
        match &self.source {
            Source::Made(shape) => Arc::new(shape.make(self.down == (end == End::A), self.seed)),
            Source::Even(rates) => Arc::new(Deliveries::Even(rates[end.index()])),
            Source::Files(files) => {
                let never = Deliveries::Trace { times: vec![u32::MAX], once: true };
                files[end.index()].1.clone().unwrap_or_else(|| Arc::new(never))
            }
        }
    }

    /// Reads the files that it names and does not have yet.
    pub fn supply(&mut self, load: Load<'_>) -> Result<(), String> {
        let once = self.once;
        let Source::Files(files) = &mut self.source else { return Ok(()) };
        let read = |name: &str| {
            let text = load(name)?;
            Deliveries::read(&text, once).map(Arc::new).map_err(|bad| format!("{name}: {bad}"))
        };
        let [up, down] = files;
        for (name, content) in [&mut *up, &mut *down] {
            if content.is_none() {
                *content = Some(read(name)?);
            }
        }
        Ok(())
    }

    /// Whether a file is missing.
    pub fn is_missing(&self) -> bool {
        matches!(&self.source, Source::Files(files) if files.iter().any(|(_, content)| content.is_none()))
    }

    /// Mean bit/s of what is offered at `end`.
    pub fn rate_from(&self, end: End) -> u64 {
        self.deliveries(end).rate_bps()
    }

    fn set(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        match word.key {
            "of" | "up" => {}
            "down" if matches!(self.source, Source::Files(_)) && !word.value().is_empty() => {}
            "down" => self.down = word.flag()?,
            "once" => self.once = word.flag()?,
            "delay" => self.delay = word.time()?,
            "queue" => {
                const QUEUE: &str = "packets such as 1000p, or bytes such as 256K";
                self.queue = match word.value().strip_suffix('p') {
                    Some(count) => Queue::Packets(
                        count.parse().ok().filter(|n| *n <= 1 << 24).ok_or(word.bad(QUEUE))?,
                    ),
                    None => Queue::Bytes(word.size(0, 1 << 30).map_err(|_| word.bad(QUEUE))?),
                };
            }
            "aqm" => {
                self.aqm = match word.value() {
                    "tail" => Aqm::Tail,
                    "codel" => Aqm::CoDel(Codel::default()),
                    "fq" => Aqm::Fq(Codel::default()),
                    _ => return Err(word.bad("tail, codel or fq")),
                };
            }
            "target" | "interval" => {
                let (Aqm::CoDel(codel) | Aqm::Fq(codel)) = &mut self.aqm else {
                    return Err(word.bad("aqm=codel or aqm=fq before it"));
                };
                let time = word.time()?;
                if time.is_zero() {
                    return Err(word.bad("a time above 0 such as 5ms"));
                }
                *if word.key == "target" { &mut codel.target } else { &mut codel.interval } = time;
            }
            "loss" => self.loss = word.chance()?,
            "mtu" => self.mtu_bytes = word.size(1, 65_535)?,
            "seed" => self.seed = word.seed()?,
            _ => return Err(word.unknown(KEYS)),
        }
        Ok(())
    }
}

const NAME: &str = "trace";
const KEYS: &str = "one of up, down, once, delay, queue, aqm, target, interval, loss, mtu, seed";

/// Where the opportunities come from, by these words.
fn source(text: &str, words: &[Param<'_>]) -> Result<Source, BadNet> {
    const OF: &str = "lte, 5g, starlink, a rate such as 12M/3M, or up=FILE and down=FILE first";
    let value = |key| {
        let value = words.iter().find(|word| word.key == key).map(Param::value);
        value.filter(|value| !value.is_empty())
    };
    if let Some(of) = value("of") {
        if let Some(shape) = Shape::named(of) {
            return Ok(Source::Made(shape));
        }
        let rates = match of.split_once('/') {
            None => rate(of).map(|both| [both; 2]),
            Some((up, down)) => rate(up).zip(rate(down)).map(|(up, down)| [up, down]),
        };
        let rates = rates.filter(|rates| !rates.contains(&0));
        return rates.map(Source::Even).ok_or_else(|| BadNet::new(NAME, "of", OF, of));
    }
    let file = |name: &str| (name.to_owned(), None);
    match (value("up"), value("down")) {
        (None, None) => Err(BadNet::new(NAME, "of", OF, text)),
        (Some(both), None) | (None, Some(both)) => Ok(Source::Files([both; 2].map(file))),
        (Some(up), Some(down)) => Ok(Source::Files([up, down].map(file))),
    }
}

impl FromStr for TraceModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        let words = words(NAME, text, Some("of"))?;
        let mut model = Self::of(source(text, &words)?);
        for word in &words {
            model.set(word)?;
        }
        let files = matches!(model.source, Source::Files(_));
        if model.once && !files {
            return Err(BadNet::new(NAME, "once", "files, which have an end", text));
        }
        Ok(model)
    }
}

impl fmt::Display for TraceModel {
    /// The notation that is parsed; default values are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("trace:")?;
        match &self.source {
            Source::Made(shape) => f.write_str(shape.name())?,
            Source::Even([up, down]) if up == down => write!(f, "{}", ShownRate(*up))?,
            Source::Even([up, down]) => write!(f, "{}/{}", ShownRate(*up), ShownRate(*down))?,
            Source::Files([(up, _), (down, _)]) if up == down => write!(f, "up={up}")?,
            Source::Files([(up, _), (down, _)]) => write!(f, "up={up},down={down}")?,
        }
        for (word, given) in [("down", self.down), ("once", self.once)] {
            if given {
                write!(f, ",{word}")?;
            }
        }
        if !self.delay.is_zero() {
            write!(f, ",delay={}", Shown(self.delay))?;
        }
        match self.queue {
            Queue::Unlimited => {}
            Queue::Packets(count) => write!(f, ",queue={count}p")?,
            Queue::Bytes(bytes) => write!(f, ",queue={}", ShownSize(bytes))?,
        }
        write!(f, "{}", self.aqm)?;
        if self.loss != Probability::NEVER {
            write!(f, ",loss={}", Shown(self.loss))?;
        }
        for (key, value, usual) in [("mtu", self.mtu_bytes, 65_535), ("seed", self.seed, 1)] {
            if value != usual {
                write!(f, ",{key}={value}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read_as_it_is_written() {
        for text in [
            "trace:lte,down,delay=25ms",
            "trace:5g,aqm=codel,seed=4",
            "trace:starlink,queue=1000p,aqm=fq,target=10ms",
            "trace:12M/3M,queue=256K,loss=1%",
            "trace:up=a.trace,down=dir/b.trace,once",
            "trace:up=both.trace,mtu=1500",
        ] {
            let words = text.strip_prefix("trace:").expect("trace");
            assert_eq!(words.parse::<TraceModel>().expect(text).to_string(), text);
        }
        for wrong in ["", "6g", "0", "12M,once", "lte,target=5ms", "lte,aqm=red", "lte,x", "12M/0"]
        {
            assert!(wrong.parse::<TraceModel>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn files_are_supplied_and_their_faults_named() {
        let mut model: TraceModel = "up=u,down=d".parse().expect("files");
        assert!(model.is_missing());
        let load = |name: &str| Ok(if name == "u" { b"1\n".to_vec() } else { b"x".to_vec() });
        let bad = model.supply(&load).unwrap_err();
        assert_eq!(bad, "d: line 1: expected a time in whole milliseconds, got `x`");
        assert_eq!(model.rate_from(End::A), 12_032_000);
    }
}
