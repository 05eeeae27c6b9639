//! The operations for one file, of a device profile and the variables.

use std::ops::Range;
use std::time::Duration;

use regex::bytes::Regex;

use crate::profile::{Answer, Device, Method, Step};
use crate::vars::Vars;

/// The pause before something is typed at a new rate: U-Boot waits 50 ms before and after its change.
const AFTER_SWITCH: Duration = Duration::from_millis(200);
/// Typed repeatedly after a change of rate, until the device uses the new one.
const AGAIN: Duration = Duration::from_secs(1);
/// The longest wait for an answer that needs no work of the device.
const ANSWER: Duration = Duration::from_secs(20);

/// One operation.
#[derive(Debug)]
pub(crate) enum Op {
    /// Types a command, or a key.
    Type(Vec<u8>),
    /// Waits for what the device says.
    Await(Box<Await>),
    /// Changes the rate; `None`: back to what it was.
    Rate(Option<u32>),
    /// Waits.
    Pause(Duration),
    /// The transfer.
    Transfer,
    /// Typed if the transfer failed or was cancelled.
    Abort(Vec<u8>),
    /// Tells the user something.
    Tell(String),
}

/// How long the answer to the last command is listened to.
const SHOWN: Duration = Duration::from_secs(2);

/// What is done at what the device says.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) sees: Regex,
    /// It is a match only if nothing follows.
    pub(crate) last: bool,
    pub(crate) types: Vec<u8>,
    /// The error then.
    pub(crate) fails: Option<String>,
}

/// What is awaited.
#[derive(Debug)]
pub(crate) struct Await {
    /// What it is, in words.
    pub(crate) what: String,
    /// A pattern; `None` is the prompt.
    pub(crate) until: Option<Regex>,
    /// What must have been received when the prompt is.
    pub(crate) with: Option<Regex>,
    /// Message for the user then.
    pub(crate) says: Option<String>,
    /// It compares what arrived with the file.
    pub(crate) verifies: bool,
    /// The last command, which may start what never returns: what it answers is shown, whatever it is.
    pub(crate) shows: Option<String>,
    /// What to type at what the device says.
    pub(crate) answers: Vec<Response>,
    /// The action to repeat until then.
    pub(crate) again: Option<Again>,
    /// Message for the user if the step is slow.
    pub(crate) hint: String,
    /// After a failure it is not waited for long: an engine that ends may have heard it.
    pub(crate) may_be_missed: bool,
    /// The longest wait.
    pub(crate) limit: Duration,
}

/// An action that is repeated.
#[derive(Clone, Debug)]
pub(crate) struct Again {
    pub(crate) types: Vec<u8>,
    pub(crate) sends_break: Duration,
    pub(crate) every: Duration,
    /// Not while the device talks.
    pub(crate) in_silence: bool,
}

impl Await {
    fn new(what: impl Into<String>, until: Option<Regex>, limit: Duration) -> Box<Self> {
        Box::new(Self {
            what: what.into(),
            until,
            with: None,
            says: None,
            verifies: false,
            shows: None,
            answers: Vec::new(),
            again: None,
            hint: String::new(),
            may_be_missed: false,
            limit,
        })
    }
}

/// An operation, and whether it is also done after a failed transfer.
pub(crate) type Planned = (Op, bool);

/// Everything that a conversation needs.
#[derive(Debug)]
pub struct Script {
    /// The prompt; `None`: the device has none.
    pub(crate) prompt: Option<Regex>,
    /// Whether it echoes.
    pub(crate) echo: bool,
    pub(crate) ops: Vec<Planned>,
    /// The operations between which the device has another rate, the commands included.
    pub(crate) fast: Range<usize>,
}

/// The rate during the transfer, if it is another one.
///
/// # Errors
///
/// A rate that is none, and one for a method that has no other.
pub fn baud(method: &Method, vars: &Vars) -> Result<Option<u32>, String> {
    let text = vars.get("baud");
    if text.is_empty() {
        return Ok(None);
    }
    if method.fast.is_none() {
        return Err(format!("expected no baud: {} has one rate", method.protocols[0]));
    }
    let rate = text.parse().ok().filter(|rate| *rate > 0);
    rate.map(Some).ok_or_else(|| format!("expected a rate in bit/s for baud, got {text}"))
}

/// The operations.
///
/// # Errors
///
/// A text of the profile with an unknown variable, or a pattern that is no regular expression.
pub fn script(device: &Device, method: &Method, vars: &Vars) -> Result<Script, String> {
    forms(device, vars)?;
    let prompt = (!device.prompt.is_empty()).then(|| vars.regex(&device.prompt)).transpose()?;
    let mut ops = Vec::new();
    if prompt.is_some() {
        ops.push((Op::Await(reach(device, vars)?), false));
    } else if !device.reach.hint.is_empty() {
        ops.push((Op::Tell(vars.fill(&device.reach.hint)?), false));
    }
    steps(&device.prepare, vars, Part::Before, &mut ops)?;
    steps(&method.prepare, vars, Part::Before, &mut ops)?;
    let fast = load(method, vars, prompt.is_some(), &mut ops)?;
    if !method.ends {
        steps(&device.verify, vars, Part::Verify, &mut ops)?;
        steps(&device.leave, vars, Part::Leave, &mut ops)?;
    }
    Ok(Script { prompt, echo: device.echo, ops, fast })
}

/// What the device does not take is told before anything is typed.
fn forms(device: &Device, vars: &Vars) -> Result<(), String> {
    for (name, form) in &device.forms {
        let value = vars.fill(vars.get(name))?;
        if !vars.regex(&form.matches)?.is_match(value.as_bytes()) {
            let is = &form.is;
            return Err(format!(
                "expected {is} for {name}, got {value}; --var {name}= has another"
            ));
        }
    }
    Ok(())
}

/// Whether something is done only with a variable that has no value.
fn lacks(needs: Option<&String>, vars: &Vars) -> bool {
    needs.is_some_and(|name| vars.get(name).is_empty())
}

fn answers(all: &[Answer], vars: &Vars) -> Result<Vec<Response>, String> {
    let one = |answer: &Answer| {
        Ok(Response {
            sees: vars.regex(&answer.sees)?,
            last: answer.sees.ends_with('$'),
            types: vars.fill(&answer.types)?.into_bytes(),
            fails: answer.fails.as_ref().map(|say| vars.fill(say)).transpose()?,
        })
    };
    all.iter().filter(|answer| !lacks(answer.needs.as_ref(), vars)).map(one).collect()
}

fn reach(device: &Device, vars: &Vars) -> Result<Box<Await>, String> {
    let how = &device.reach;
    let limit = Duration::from_secs(how.limit_s);
    let mut wait = Await::new(format!("the prompt of {}", device.title), None, limit);
    wait.answers = answers(&how.answer, vars)?;
    wait.hint = vars.fill(&how.hint)?;
    wait.again = Some(Again {
        types: vars.fill(&how.types)?.into_bytes(),
        sends_break: Duration::from_millis(how.break_ms),
        every: Duration::from_millis(how.every_ms.max(50)),
        in_silence: true,
    });
    Ok(wait)
}

/// The part of a profile that a step stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Before,
    Verify,
    Leave,
}

fn steps(all: &[Step], vars: &Vars, part: Part, ops: &mut Vec<Planned>) -> Result<(), String> {
    for (index, step) in all.iter().enumerate() {
        if lacks(step.needs.as_ref(), vars) {
            continue;
        }
        let types = vars.fill(&step.types)?;
        let what = format!("an answer to {}", types.trim_end());
        let is_last = step.sees.is_none() && part == Part::Leave && index + 1 == all.len();
        let limit = if is_last { SHOWN } else { Duration::from_secs(step.limit_s) };
        let mut wait = Await::new(what, None, limit);
        wait.shows = is_last.then(|| types.trim_end().to_owned());
        ops.push((Op::Type(types.into_bytes()), false));
        wait.answers = answers(&step.answer, vars)?;
        wait.with = step.sees.as_ref().map(|sees| vars.regex(sees)).transpose()?;
        wait.says = step.says.as_ref().map(|says| vars.fill(says)).transpose()?;
        wait.verifies = part == Part::Verify;
        // A command that leaves may start what never returns.
        if is_last || step.sees.is_some() || part != Part::Leave {
            ops.push((Op::Await(wait), false));
        }
    }
    Ok(())
}

/// The command, the transfer, and the prompt after it. Returns the operations at another rate.
fn load(
    method: &Method,
    vars: &Vars,
    has_prompt: bool,
    ops: &mut Vec<Planned>,
) -> Result<Range<usize>, String> {
    let rate = baud(method, vars)?;
    let fast = method.fast.as_ref().filter(|_| rate.is_some());
    let types = vars.fill(fast.map_or(&method.types, |fast| &fast.types))?;
    let what = format!("{} to be ready", types.trim_end());
    if !types.is_empty() {
        ops.push((Op::Type(types.into_bytes()), false));
    }
    let from = ops.len();
    let abort = vars.fill(&method.abort)?.into_bytes();
    let mut again = None;
    let mut enter = Vec::new();
    if let Some(fast) = fast {
        // From the command on the device changes its rate whatever happens here.
        let switch = Some(vars.regex(&fast.switch)?);
        ops.push((Op::Await(Await::new("the change of its rate", switch, ANSWER)), true));
        ops.push((Op::Rate(rate), true));
        ops.push((Op::Pause(AFTER_SWITCH), true));
        let types = vars.fill(&fast.types_after)?.into_bytes();
        enter.clone_from(&types);
        again = Some(Again { types, sends_break: Duration::ZERO, every: AGAIN, in_silence: false });
    }
    if !method.ready.is_empty() {
        let mut wait = Await::new(what, Some(vars.regex(&method.ready)?), ANSWER);
        wait.again = again;
        wait.answers = answers(&method.answer, vars)?;
        ops.push((Op::Await(wait), false));
    }
    ops.push((Op::Transfer, false));
    if !abort.is_empty() {
        // At a new rate it may still wait for the key that follows the change.
        ops.push((Op::Abort([enter, abort].concat()), true));
    }
    if let Some(fast) = fast {
        let back = Some(vars.regex(&fast.back)?);
        let mut wait = Await::new("the change of its rate back", back, ANSWER);
        wait.may_be_missed = true;
        ops.push((Op::Await(wait), true));
        ops.push((Op::Rate(None), true));
        ops.push((Op::Pause(AFTER_SWITCH), true));
        let types = vars.fill(&fast.types_back)?.into_bytes();
        if !types.is_empty() {
            ops.push((Op::Type(types), true));
        }
    }
    let at_another_rate = if fast.is_some() { from..ops.len() } else { 0..0 };
    let limit = Duration::from_secs(method.limit_s);
    let with = method.loaded.as_ref().map(|loaded| vars.regex(loaded)).transpose()?;
    if method.ends || !has_prompt {
        if let Some(loaded) = with {
            let what = "its word that all arrived";
            ops.push((Op::Await(Await::new(what, Some(loaded), limit)), false));
        }
        return Ok(at_another_rate);
    }
    let mut wait = Await::new("the prompt after the transfer", None, limit);
    wait.with = with;
    ops.push((Op::Await(wait), true));
    Ok(at_another_rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::named;
    use crate::vars::Digests;

    #[test]
    fn a_name_that_the_device_would_cut_is_refused() {
        let device = Device::parse("cpm", named("cpm").unwrap()).unwrap();
        let made = |file: &str, sets: &[String]| {
            let mut vars = Vars::new(&device.vars, sets).unwrap();
            vars.of_file(file, Digests::default());
            script(&device, &device.method[0], &vars).map(|_| ())
        };
        made("game.com", &[]).unwrap();
        made("firmware-2.0.bin", &["name=B:FW.BIN".to_owned()]).unwrap();
        for long in ["firmware-2.bin", "game.command", "a.b.c"] {
            let say = made(long, &[]).unwrap_err();
            assert!(say.contains(&format!("for name, got {long}; --var name=")), "{say}");
        }
    }
}
