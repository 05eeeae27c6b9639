//! IF, FOR, FOREACH, WHILE, SWITCH and the commands that leave them.

use std::rc::Rc;

use crate::fields::Fields;
use crate::interp::{Block, Head, Interp};
use crate::pattern::matches;
use crate::text::{lossy, trim, ungroup};
use crate::trouble::{Flow, Trouble};
use crate::variables::Key;

impl Interp<'_> {
    /// IF and XIF: a condition, then a command or a block, then optionally ELSE.
    pub(crate) fn if_command(&mut self, text: &[u8], line: usize) -> Result<Flow, Trouble> {
        let mut fields = Fields::new(text);
        let held = self.condition(&mut fields);
        let held = match held {
            Ok(held) => held,
            Err(trouble) => {
                self.level().condition = None;
                return Err(trouble);
            }
        };
        if fields.is_over() {
            return Err(Trouble::new("expected a command after the condition, got nothing"));
        }
        let levels = self.levels.len();
        let block = fields.block();
        let here = line + lines_before(text, fields.rest(), block);
        let flow = if held {
            let body = block.unwrap_or_else(|| fields.rest());
            if block.is_some() { self.run_text(body, here)? } else { self.single(body, here)? }
        } else if block.is_some() && !fields.is_over() {
            let after = line + lines_before(text, fields.rest(), None);
            self.after_block(&mut fields, after)?
        } else {
            Flow::Next
        };
        if self.levels.len() == levels {
            self.level().condition = Some(held);
        }
        Ok(flow)
    }

    /// `else ...` after the block of an IF that was false.
    fn after_block(&mut self, fields: &mut Fields<'_>, line: usize) -> Result<Flow, Trouble> {
        if fields.at(b',') {
            fields.skip(1);
        }
        let word = fields.field().map(|word| word.text).unwrap_or_default();
        if !word.eq_ignore_ascii_case(b"else") {
            let say = format!("expected ELSE after a block, got {}", lossy(word));
            return Err(Trouble::new(say));
        }
        self.else_part(fields.rest(), line)
    }

    /// The part after ELSE.
    fn else_part(&mut self, text: &[u8], line: usize) -> Result<Flow, Trouble> {
        let mut fields = Fields::new(text);
        match fields.block() {
            Some(body) => self.run_text(body, line),
            None => self.single(fields.rest(), line),
        }
    }

    /// The single command of a condition.
    fn single(&mut self, text: &[u8], line: usize) -> Result<Flow, Trouble> {
        self.depth += 1;
        if self.depth > self.limits.depth {
            let say = format!("more than {} nested blocks", self.limits.depth);
            return Err(Trouble::fatal(say));
        }
        let block = Self::one_item(text);
        let flow = match block.items.first() {
            Some(item) => self.command(item, line),
            None => Ok(Flow::Next),
        };
        self.depth -= 1;
        flow
    }

    fn one_item(text: &[u8]) -> Rc<Block> {
        let item = crate::interp::Item::new(0, trim(text));
        Rc::new(Block { items: vec![item] })
    }

    pub(crate) fn else_command(&mut self, text: &[u8], line: usize) -> Result<Flow, Trouble> {
        match self.level().condition {
            Some(true) => Ok(Flow::Next),
            Some(false) => self.else_part(text, line),
            None => Err(Trouble::new("ELSE without an IF before it")),
        }
    }

    /// `for var first last step {...}` or `for (var first last step) {...}`
    pub(crate) fn for_command(&mut self, text: &[u8], line: usize) -> Result<Flow, Trouble> {
        let mut fields = Fields::new(text);
        let in_parentheses = fields.at(b'(');
        let mut header = fields;
        if in_parentheses {
            let end = crate::text::closing(fields.rest(), 0);
            let end = end.ok_or_else(|| Trouble::new("expected ) in FOR"))?;
            header = Fields::new(&fields.rest()[1..end]);
            fields.skip(end + 1);
        }
        let missing = |what: &str| Trouble::new(format!("expected {what} in FOR, got nothing"));
        let name = header.field().ok_or_else(|| missing("a variable"))?.text;
        let key = self.loop_variable(name)?;
        let first = header.field().ok_or_else(|| missing("the first value"))?.text;
        let first = self.evaluated_number(first)?;
        let last = header.field().ok_or_else(|| missing("the last value"))?.text;
        let last = self.evaluated_number(last)?;
        let step = match header.peek() {
            Some(word) if !in_parentheses || !header.is_over() => {
                header.field();
                self.evaluated_number(word.text)?
            }
            _ if in_parentheses => {
                if first <= last {
                    1
                } else {
                    -1
                }
            }
            _ => return Err(missing("the step")),
        };
        if !in_parentheses {
            fields = header;
        }
        let body = fields.block();
        let body_line = line + lines_before(text, fields.rest(), body);
        let body = body.unwrap_or_else(|| fields.rest());
        let block = self.block(body);
        let mut value = first;
        loop {
            self.set_number(&key, value)?;
            if if step >= 0 { value > last } else { value < last } {
                return Ok(Flow::Next);
            }
            match self.run_block(&block, body_line)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                other => return Ok(other),
            }
            // The body may have changed the variable.
            let now = self.loop_value(&key).unwrap_or(value);
            let say = || Trouble::new("the variable of FOR does not fit into 64 bits");
            value = now.checked_add(step).ok_or_else(say)?;
            self.count_step()?;
        }
    }

    /// The current value of a loop's variable, without copying the common kind.
    fn loop_value(&self, key: &Key) -> Option<i64> {
        match key {
            Key::Letter(letter) => crate::text::integer(self.variables.letter(*letter)?),
            other => crate::text::integer(&self.value(other)?),
        }
    }

    fn loop_variable(&mut self, name: &[u8]) -> Result<Key, Trouble> {
        let key = self.key(name)?;
        if matches!(key, Key::Array(_)) {
            return Err(Trouble::new("expected a variable, got a whole array"));
        }
        Ok(key)
    }

    /// A field as a number.
    pub(crate) fn evaluated_number(&mut self, field: &[u8]) -> Result<i64, Trouble> {
        let text = self.expand(field)?;
        self.number(&text)
    }

    pub(crate) fn set_number(&mut self, key: &Key, value: i64) -> Result<(), Trouble> {
        let mut digits = [0; 20];
        let text = decimal(value, &mut digits);
        self.assign(key, Some(text))
    }

    /// `foreach var { words } { commands }`
    pub(crate) fn foreach_command(&mut self, text: &[u8], line: usize) -> Result<Flow, Trouble> {
        let mut fields = Fields::new(text);
        let missing = |what: &str| Trouble::new(format!("expected {what} in FOREACH, got nothing"));
        let name = fields.field().ok_or_else(|| missing("a variable"))?.text;
        let key = self.loop_variable(name)?;
        let values = fields.field().ok_or_else(|| missing("a list of values"))?.text;
        let values = self.expand(values)?;
        let body = fields.block();
        let body_line = line + lines_before(text, fields.rest(), body);
        let block = self.block(body.unwrap_or_else(|| fields.rest()));
        let mut list = Fields::new(&values);
        while let Some(value) = list.field() {
            self.assign(&key, Some(value.text))?;
            match self.run_block(&block, body_line)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                other => return Ok(other),
            }
            self.count_step()?;
        }
        Ok(Flow::Next)
    }

    pub(crate) fn while_command(&mut self, text: &[u8], line: usize) -> Result<Flow, Trouble> {
        let begin = Fields::new(text);
        loop {
            let mut fields = begin;
            if !self.condition(&mut fields)? {
                return Ok(Flow::Next);
            }
            let body = fields.block();
            let body_line = line + lines_before(text, fields.rest(), body);
            let block = self.block(body.unwrap_or_else(|| fields.rest()));
            match self.run_block(&block, body_line)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                other => return Ok(other),
            }
            self.count_step()?;
        }
    }

    /// An iteration is a step too, so that an empty body ends as well.
    fn count_step(&mut self) -> Result<(), Trouble> {
        self.steps += 1;
        if self.limits.steps.is_some_and(|most| self.steps > most) {
            let say = format!("more than {} commands, the limit", self.steps - 1);
            return Err(Trouble::fatal(say));
        }
        if self.steps.is_multiple_of(64) && self.world.interrupted() {
            return Err(Trouble::fatal("interrupted"));
        }
        Ok(())
    }

    /// `switch value { :label, commands, :default, commands }`
    pub(crate) fn switch_command(&mut self, text: &[u8], line: usize) -> Result<Flow, Trouble> {
        let mut fields = Fields::new(text);
        let missing = || Trouble::new("expected a value in SWITCH, got nothing");
        let value = fields.field().ok_or_else(missing)?.text;
        let value = self.expand(value)?;
        let body = fields.block();
        let body_line = line + lines_before(text, fields.rest(), body);
        let body = body.ok_or_else(|| Trouble::new("expected { after SWITCH and its value"))?;
        let block = self.block(body);
        let mut from = None;
        for (index, item) in block.items.iter().enumerate() {
            if item.head != Head::Label {
                continue;
            }
            let label = self.expand(trim(item.arguments()))?;
            let label = ungroup(&label);
            if label.eq_ignore_ascii_case(b"default") || matches(label, &value, self.settings.case)
            {
                from = Some(index);
                break;
            }
        }
        let Some(from) = from else { return Ok(Flow::Next) };
        match self.run_from(&block, from, body_line)? {
            Flow::Break => Ok(Flow::Next),
            other => Ok(other),
        }
    }

    /// END, RETURN, STOP, EXIT: a number and a text.
    pub(crate) fn ending(&mut self, text: &[u8]) -> Result<(i64, bool), Trouble> {
        let mut fields = Fields::new(text);
        let Some(word) = fields.peek() else { return Ok((self.status, false)) };
        let number = self.expand(word.text)?;
        let (status, rest) = match self.number(&number) {
            Ok(number) => {
                fields.field();
                (number, fields.rest())
            }
            Err(trouble) => return Err(trouble),
        };
        let say = self.expand(ungroup(rest))?;
        if !say.is_empty() {
            self.world.say(crate::world::Screen::Output, &[&say[..], b"\n"].concat());
        }
        Ok((status, true))
    }
}

/// Number of line ends in a command before its block, or before the part after the block.
fn lines_before(text: &[u8], rest: &[u8], block: Option<&[u8]>) -> usize {
    let part = block.unwrap_or(rest);
    let offset = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len());
    text[..offset].iter().filter(|b| **b == b'\n').count()
}

/// Digits of a number.
fn decimal(value: i64, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    &digits[at..]
}
