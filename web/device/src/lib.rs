//! Device profiles for a browser: an instance of the module is one conversation, for one file.
//!
//! What passes the border is bytes: the *input*, which JavaScript fills before a call, and the *output*, valid until the
//! next call. Times are milliseconds of any monotonic clock. `web/src/device.ts` knows what each number means.

mod exports;

use serde_json::json;
use std::time::Duration;
use wetstring_device::conversation::{Act, Conversation, Fault};
use wetstring_device::profile::{BUILT_IN, Device, SHELL, named};
use wetstring_device::script::script;
use wetstring_device::vars::{Digests, Vars};
use wetstring_proto::Instant;

/// All that an instance has.
#[derive(Default)]
struct Talk {
    input: Vec<u8>,
    output: Vec<u8>,
    digests: Digests,
    talk: Option<Conversation>,
}

impl Talk {
    fn say(&mut self, text: &str) {
        self.output = text.as_bytes().to_vec();
    }

    /// The profiles, without those for which only the program has what it takes.
    fn list() -> String {
        let profile = |(name, text): &(&str, &str)| {
            let device = Device::parse(name, text).ok()?;
            let protocols: Vec<_> = device.method.iter().flat_map(|one| &one.protocols).collect();
            let protocols: Vec<_> = protocols.into_iter().filter(|name| *name != SHELL).collect();
            (!protocols.is_empty()).then_some(())?;
            Some(json!({
                "name": name,
                "title": device.title,
                "tested": device.tested,
                "protocols": protocols,
                "vars": device.vars,
            }))
        };
        serde_json::Value::from_iter(BUILT_IN.iter().filter_map(profile)).to_string()
    }

    /// Begins, for the file whose bytes went through [`Digests`]: the lines of the input are the profile, the protocol
    /// or nothing, the name of the file, and `NAME=VALUE` for variables.
    fn begin(&mut self, now: Instant, len: usize) -> Result<String, String> {
        let text = String::from_utf8_lossy(self.input.get(..len).unwrap_or_default()).into_owned();
        let mut lines = text.lines();
        let mut next = || lines.next().unwrap_or_default();
        let (name, protocol, file) = (next(), next(), next());
        let sets: Vec<String> = lines.map(str::to_owned).collect();
        let text = named(name).ok_or_else(|| format!("no such device profile: {name}"))?;
        let device = Device::parse(name, text)?;
        let protocol = (!protocol.is_empty()).then_some(protocol);
        let (method, protocol) = device.method_for(protocol)?;
        if protocol == SHELL {
            return Err(format!(
                "expected another device than {name}: files go through a shell by wst only"
            ));
        }
        let mut vars = Vars::new(&device.vars, &sets).map_err(|bad| bad.to_string())?;
        if !vars.get("baud").is_empty() {
            return Err("expected no baud: the rate of this line cannot be changed".to_owned());
        }
        vars.of_file(file, std::mem::take(&mut self.digests));
        let script = script(&device, method, &vars)?;
        // What is shown is made safe on the other side.
        let plain = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.talk = Some(Conversation::new(script, now, plain));
        Ok(json!({
            "protocol": protocol,
            "name": vars.get("name"),
            "set": method.set,
            "pause_ms": device.pause_ms,
            "pulse": device.reach.pulse,
        })
        .to_string())
    }

    /// What is to be done: 0 nothing; 1 type the output; 2 send a break of this many milliseconds; 3 tell the user;
    /// 4 transfer the file, the output was received; 5 it is over; and 6, 7, 8 it is over by silence, another answer
    /// than expected, a file that differs, with words.
    fn next(&mut self, now: Instant) -> u32 {
        let Some(talk) = &mut self.talk else { return 0 };
        match talk.next(now) {
            // Without the variable `baud` there is no other rate.
            None | Some(Act::Rate(_)) => 0,
            Some(Act::Type(bytes)) => {
                self.output = bytes;
                1
            }
            Some(Act::Break(time)) => {
                self.say(&time.as_millis().to_string());
                2
            }
            Some(Act::Tell(text)) => {
                self.say(&text);
                3
            }
            Some(Act::Transfer(before)) => {
                self.output = before;
                4
            }
            Some(Act::End(Ok(()))) => 5,
            Some(Act::End(Err(trouble))) => {
                self.say(&trouble.say);
                match trouble.fault {
                    Fault::Timeout => 6,
                    Fault::Peer => 7,
                    Fault::Integrity => 8,
                }
            }
        }
    }
}

/// A time of JavaScript.
fn instant(now_ms: f64) -> Instant {
    Instant(Duration::from_secs_f64(now_ms.max(0.0) / 1000.0).as_nanos() as u64)
}

/// A time for JavaScript; negative if there is none.
fn milliseconds(at: Option<Instant>) -> f64 {
    at.map_or(-1.0, |at| at.as_nanos() as f64 / 1e6)
}
