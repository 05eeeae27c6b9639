//! ECHO, ASK, GETOK, GETC, RUN, DATE, ALARM, HELP.

use std::time::Duration;

use crate::fields::Fields;
use crate::interp::Interp;
use crate::keywords::{Found, word_of};
use crate::text::{integer, lossy, trim, trim_end, ungroup};
use crate::trouble::{Flow, Trouble};
use crate::world::{Question, Screen};

impl Interp<'_> {
    pub(crate) fn echo(&mut self, text: &[u8], ends_line: bool) -> Result<Flow, Trouble> {
        let mut text = self.expand(ungroup(text))?;
        if ends_line {
            text.push(b'\n');
        }
        self.world.say(Screen::Output, &text);
        self.status = 0;
        Ok(Flow::Next)
    }

    /// Switches before a question: a default, a timeout, and whether the answer is echoed.
    fn question(
        &mut self,
        fields: &mut Fields<'_>,
        echo: bool,
    ) -> Result<(Question, Vec<u8>), Trouble> {
        let mut question = Question { prompt: Vec::new(), echo, wait: None };
        let mut default = Vec::new();
        let all = ["/default", "/echo", "/gui", "/noecho", "/popup", "/quiet", "/timeout"];
        while let Some(word) = fields.peek().filter(|w| !w.grouped && w.text.starts_with(b"/")) {
            let at = word.text.iter().position(|b| *b == b':');
            let name = &word.text[..at.unwrap_or(word.text.len())];
            let Found::One(name) = word_of(&all, name) else { break };
            let mut value = word.text.get(at.map_or(usize::MAX, |at| at + 1)..).unwrap_or_default();
            // The braces of /DEFAULT:{a b} hold blanks.
            if let Some(at) = at.filter(|at| word.text.get(at + 1) == Some(&b'{')) {
                fields.skip(at + 1);
                value = fields.field().map(|word| word.text).unwrap_or_default();
            } else {
                fields.field();
            }
            match name {
                "/default" => default = self.expand(value)?,
                "/timeout" => {
                    let seconds = self.evaluated_number(value)?;
                    let seconds = u64::try_from(seconds).unwrap_or(0);
                    question.wait = (seconds > 0).then(|| Duration::from_secs(seconds));
                }
                "/noecho" | "/echo" => question.echo = name == "/echo" && echo,
                _ => {}
            }
        }
        Ok((question, default))
    }

    pub(crate) fn ask(&mut self, fields: &mut Fields<'_>, echo: bool) -> Result<Flow, Trouble> {
        let (mut question, default) = self.question(fields, echo)?;
        let missing = || Trouble::new("expected a variable for the answer, got nothing");
        let name = fields.field().ok_or_else(missing)?.text;
        let key = self.key(name)?;
        question.prompt = self.expand(ungroup(fields.rest()))?;
        let answer = self.world.ask(&question);
        self.status = i64::from(answer.is_none());
        let answer = answer.unwrap_or_default();
        let answer = trim_end(&answer);
        let answer = if answer.is_empty() { &default } else { answer };
        self.assign(&key, Some(answer))?;
        Ok(Flow::Next)
    }

    pub(crate) fn getok(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let (mut question, default) = self.question(fields, true)?;
        question.prompt = self.expand(ungroup(fields.rest()))?;
        if question.prompt.is_empty() {
            question.prompt = b"Yes or no? ".to_vec();
        }
        // A user who answers neither yes nor no is asked a bounded number of times.
        for _ in 0..10 {
            let Some(answer) = self.world.ask(&question) else { break };
            let answer = if trim(&answer).is_empty() { default.clone() } else { answer };
            match word_of(&["no", "ok", "yes"], trim(&answer)) {
                Found::One(word) => {
                    self.status = i64::from(word == "no");
                    return Ok(Flow::Next);
                }
                _ => self.world.say(Screen::Output, b"Please answer yes or no.\n"),
            }
        }
        self.status = 1;
        Ok(Flow::Next)
    }

    pub(crate) fn getc(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let (question, _) = self.question(fields, true)?;
        let missing = || Trouble::new("expected a variable for the key, got nothing");
        let name = fields.field().ok_or_else(missing)?.text;
        let key = self.key(name)?;
        let prompt = self.expand(ungroup(fields.rest()))?;
        self.world.say(Screen::Output, &prompt);
        let pressed = self.world.key(question.wait);
        self.status = i64::from(pressed.is_none());
        let pressed: Vec<u8> = pressed.into_iter().collect();
        self.assign(&key, Some(&pressed))?;
        Ok(Flow::Next)
    }

    /// RUN, `!`, `@`: a system command.
    pub(crate) fn run_shell(&mut self, text: &[u8]) -> Result<Flow, Trouble> {
        let command = self.expand(trim(text))?;
        let ran = self.world.run(&command, false)?;
        self.shell_status = ran.status;
        self.status = i64::from(ran.status != 0);
        Ok(Flow::Next)
    }

    pub(crate) fn date(&mut self, text: &[u8]) -> Result<Flow, Trouble> {
        let text = self.expand(trim(text))?;
        let now = self.local();
        let text = lossy(&text);
        let say = || Trouble::new(format!("expected a date, got {text}"));
        let stamp = crate::calendar::parse(&text, now).ok_or_else(say)?;
        self.world.say(Screen::Output, format!("{}\n", stamp.full()).as_bytes());
        self.status = 0;
        Ok(Flow::Next)
    }

    /// ALARM, and SET ALARM: after a number of seconds, or at a time of day.
    pub(crate) fn alarm(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let text = fields.field().map(|word| word.text).unwrap_or_default();
        let text = self.expand(text)?;
        let now = self.world.now().unix_ns;
        let seconds = match integer(&text) {
            Some(seconds) => seconds,
            None if text.is_empty() => 0,
            None => {
                let shown = lossy(&text);
                let say = || Trouble::new(format!("expected seconds or hh:mm:ss, got {shown}"));
                let at = crate::calendar::time_of(&shown).ok_or_else(say)?;
                (at - self.local().second).rem_euclid(86_400)
            }
        };
        let at = now.saturating_add(seconds.saturating_mul(1_000_000_000));
        self.settings.alarm_ns = (seconds > 0).then_some(at);
        self.status = 0;
        Ok(Flow::Next)
    }
}
