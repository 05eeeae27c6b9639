//! The one place that makes elements from their descriptions.
//!
//! | description | element |
//! |---|---|
//! | `9600,delay=250ms,burst=8@2s` | a serial line, see [`crate::serial`] |
//!
//! A new kind of element is one more arm of [`part`].

use crate::chain::Chain;
use crate::element::{Element, End, Unit};
use crate::serial::{LineModel, Probability, Serial};
use std::fmt;
use wetstring_proto::LineFacts;

/// One element with what is known of it from outside.
pub struct Part {
    /// The element.
    pub element: Box<dyn Element>,
    /// What a port at each end knows of the line.
    pub ports: [LineFacts; 2],
    /// What the direction from A to B can carry, in characters per 1000 s; `None` if it takes no
    /// time.
    pub limit_millicps: Option<u64>,
    /// Something in it is left to chance, so that another seed gives another run.
    pub has_chance: bool,
}

/// All that lies between two ports, as one element.
pub struct Stretch {
    /// The element.
    pub element: Box<dyn Element>,
    /// What the port at each end knows.
    pub ports: [LineFacts; 2],
    /// What the direction from A to B can carry, as in [`Part`].
    pub limit_millicps: Option<u64>,
    /// Whether another seed gives another run, as in [`Part`].
    pub has_chance: bool,
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part").field("ports", &self.ports).finish_non_exhaustive()
    }
}

impl fmt::Debug for Stretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stretch").field("ports", &self.ports).finish_non_exhaustive()
    }
}

/// A description that makes no element, or elements that do not fit together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadElement {
    /// The description.
    pub spec: String,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for BadElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.spec, self.message)
    }
}

impl std::error::Error for BadElement {}

/// Makes one element. `name` keeps the random streams of two elements of one kind apart; `seed` is
/// for elements whose description names none.
pub fn part(spec: &str, name: &str, seed: u64) -> Result<Part, BadElement> {
    serial(spec, name, seed)
}

fn serial(spec: &str, name: &str, seed: u64) -> Result<Part, BadElement> {
    let model: LineModel = spec.parse().map_err(|bad: crate::serial::BadLine| BadElement {
        spec: spec.to_owned(),
        message: bad.to_string(),
    })?;
    let own = spec.split(',').any(|word| word.trim().starts_with("seed"));
    let model = LineModel { seed: if own { model.seed } else { seed }, ..model };
    let rate = |end| u32::try_from(model.rate_from(end)).unwrap_or(u32::MAX);
    let ports = End::BOTH.map(|end| LineFacts {
        reliable: Some(false),
        clear: false,
        rate_bps: rate(end),
        telnet: false,
    });
    let chances = [model.bit_errors, model.drop, model.duplicate];
    let millicps = model.rate_from(End::A) * 1000 / u64::from(model.bits);
    Ok(Part {
        element: Box::new(Serial::named(&model, name)),
        ports,
        limit_millicps: (millicps > 0).then_some(millicps),
        has_chance: !own
            && (model.burst.is_some() || chances.iter().any(|c| *c != Probability::NEVER)),
    })
}

/// Makes all that these descriptions say, in a row from A to B.
pub fn stretch(specs: &[String], seed: u64) -> Result<Stretch, BadElement> {
    let bad = |spec: &str, message: &str| BadElement {
        spec: spec.to_owned(),
        message: message.to_owned(),
    };
    if specs.is_empty() {
        return Err(bad("", "expected at least one element"));
    }
    let mut parts = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        let name = if index == 0 { "line".to_owned() } else { format!("line {}", index + 1) };
        let part = part(spec, &name, seed)?;
        if part.element.unit() != Unit::Bytes {
            return Err(bad(spec, "expected an element that carries bytes, got datagrams"));
        }
        parts.push(part);
    }
    let ports = [parts[0].ports[0], parts[parts.len() - 1].ports[1]];
    let has_chance = parts.iter().any(|part| part.has_chance);
    let limit_millicps = parts.iter().filter_map(|part| part.limit_millicps).min();
    let mut elements: Vec<Box<dyn Element>> = parts.into_iter().map(|part| part.element).collect();
    let element =
        if elements.len() == 1 { elements.remove(0) } else { Box::new(Chain::new(elements)) };
    Ok(Stretch { element, ports, limit_millicps, has_chance })
}
