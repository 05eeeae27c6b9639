//! The interpreter: levels, sequential execution, and how a run ends.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::channels::Channels;
use crate::keywords::{Found, Verb, verb};
use crate::lines::{Lines, Logical, flat, split_list};
use crate::received::Received;
use crate::text::{is_blank, lossy, lower, trim, trim_start};
use crate::trouble::{End, Flow, Limits, Trouble};
use crate::variables::{Key, Saved, Variables};
use crate::world::{Kept, Report, Screen, World};

/// A macro or file being executed.
#[derive(Debug, Default)]
pub(crate) struct Level {
    /// Name of the macro; none for a file and for the user.
    pub(crate) name: Option<Vec<u8>>,
    /// The file; for a macro, that of its caller.
    pub(crate) file: Rc<str>,
    /// Line number.
    pub(crate) line: usize,
    /// \%0 and further arguments.
    pub(crate) arguments: Vec<Vec<u8>>,
    /// Values saved by LOCAL.
    pub(crate) saved: Vec<(Key, Saved)>,
    /// Whether the last IF was true.
    pub(crate) condition: Option<bool>,
    /// SET COUNT.
    pub(crate) count: i64,
}

/// SET options of the language itself.
#[derive(Clone, Debug)]
pub(crate) struct LanguageSettings {
    pub(crate) case: bool,
    pub(crate) take_error: bool,
    pub(crate) macro_error: bool,
    pub(crate) take_echo: bool,
    pub(crate) macro_echo: bool,
    pub(crate) recursive: bool,
    pub(crate) quoting: bool,
    pub(crate) function_error: bool,
    pub(crate) diagnostics: bool,
    pub(crate) quiet: bool,
    pub(crate) flag: bool,
    pub(crate) input_case: bool,
    pub(crate) input_echo: bool,
    pub(crate) input_buffer: usize,
    pub(crate) input_silence: u64,
    /// Factor for INPUT timeouts.
    pub(crate) input_scale: f64,
    pub(crate) input_quit: bool,
    pub(crate) output_pacing_ms: u64,
    pub(crate) special_escapes: bool,
    pub(crate) alarm_ns: Option<i64>,
}

impl Default for LanguageSettings {
    fn default() -> Self {
        Self {
            case: false,
            take_error: false,
            macro_error: false,
            take_echo: false,
            macro_echo: false,
            recursive: true,
            quoting: true,
            function_error: true,
            diagnostics: true,
            quiet: false,
            flag: false,
            input_case: false,
            input_echo: true,
            input_buffer: 4096,
            input_silence: 0,
            input_scale: 1.0,
            input_quit: false,
            output_pacing_ms: 0,
            special_escapes: true,
            alarm_ns: None,
        }
    }
}

/// The command language, with its variables and open files. It uses one world.
pub struct Interp<'w> {
    pub(crate) world: &'w mut dyn World,
    pub(crate) limits: Limits,
    pub(crate) steps: u64,
    pub(crate) depth: usize,
    /// Nesting of evaluations.
    pub(crate) nested: usize,
    pub(crate) variables: Variables,
    pub(crate) levels: Vec<Level>,
    pub(crate) status: i64,
    pub(crate) returned: Vec<u8>,
    pub(crate) exit_code: i32,
    /// Commands of `-C` are running: an error in one of them ends all.
    pub(crate) in_list: bool,
    pub(crate) channels: Channels,
    pub(crate) received: Received,
    pub(crate) report: Option<Report>,
    pub(crate) answer: Vec<u8>,
    pub(crate) keyword: Vec<u8>,
    pub(crate) found: Vec<Vec<u8>>,
    pub(crate) shell_status: i32,
    pub(crate) error: (i32, String),
    pub(crate) last_line: Vec<u8>,
    pub(crate) argv: Vec<Vec<u8>>,
    pub(crate) settings: LanguageSettings,
    /// Settings that are not in the program's table.
    pub(crate) kept: Kept,
    /// Parsed blocks by their text, since loops execute them repeatedly.
    pub(crate) blocks: BTreeMap<Rc<[u8]>, Rc<Block>>,
}

/// A list of commands, parsed once.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) items: Vec<Item>,
}

/// A command of a list.
#[derive(Debug)]
pub(crate) struct Item {
    /// Line ends before it.
    pub(crate) line: usize,
    /// The whole command.
    pub(crate) text: Rc<[u8]>,
    /// How it begins, and where the rest of it begins.
    pub(crate) head: Head,
    pub(crate) rest: usize,
}

/// How a command begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Head {
    /// A command of the language.
    Verb(Verb),
    /// An ambiguous abbreviation.
    Several,
    /// Another word: a macro.
    Name,
    /// A word containing a backslash.
    Evaluated,
    /// `:label`
    Label,
    /// `.name = value`
    Dot,
    /// `!` and `@`: a shell command.
    Shell,
    /// `{`: a list.
    List,
    /// `(`: an S-expression.
    Parenthesis,
}

/// Maximum parsed blocks kept.
const BLOCKS: usize = 512;

impl Item {
    pub(crate) fn new(line: usize, text: &[u8]) -> Self {
        let (head, rest) = head(text);
        let text = match head {
            Head::Verb(verb) if !verb.has_blocks() => flat(text),
            Head::Name | Head::Dot | Head::Shell | Head::Several => flat(text),
            _ => text.to_vec(),
        };
        Self { line, rest: rest.min(text.len()), text: Rc::from(text), head }
    }

    pub(crate) fn arguments(&self) -> &[u8] {
        trim_start(&self.text[self.rest..])
    }
}

impl Verb {
    /// Whether this command contains others, separated by line ends.
    pub(crate) const fn has_blocks(self) -> bool {
        matches!(
            self,
            Self::If
                | Self::Xif
                | Self::Else
                | Self::For
                | Self::Foreach
                | Self::While
                | Self::Switch
        )
    }
}

fn head(text: &[u8]) -> (Head, usize) {
    match text.first() {
        Some(b':') => return (Head::Label, 1),
        Some(b'.') => return (Head::Dot, 1),
        Some(b'!' | b'@') => return (Head::Shell, 1),
        Some(b'{') => return (Head::List, 0),
        Some(b'(') => return (Head::Parenthesis, 0),
        Some(b'#' | b';') => return (Head::Verb(Verb::Comment), text.len()),
        _ => {}
    }
    let len = text.iter().position(|b| is_blank(*b)).unwrap_or(text.len());
    let word = &text[..len];
    let glued = word.iter().position(|b| *b == b'{').filter(|at| *at > 0);
    let len = glued.unwrap_or(len);
    let head = match verb(&text[..len]) {
        _ if word.contains(&b'\\') => Head::Evaluated,
        Found::One(verb) => Head::Verb(verb),
        Found::Several => Head::Several,
        Found::None => Head::Name,
    };
    (head, len)
}

impl Block {
    fn new(text: &[u8]) -> Self {
        let items = split_list(text).into_iter().map(|(line, text)| Item::new(line, text));
        Self { items: items.collect() }
    }

    fn label(&self, name: &[u8], from: usize) -> Option<usize> {
        let is = |item: &Item| {
            let label = trim(item.arguments());
            item.head == Head::Label && label.eq_ignore_ascii_case(name)
        };
        self.items.iter().skip(from).position(is).map(|at| at + from)
    }
}

impl<'w> Interp<'w> {
    /// An interpreter without variables. `argv` are the arguments of the program.
    pub fn new(world: &'w mut dyn World, limits: Limits, argv: Vec<Vec<u8>>) -> Self {
        let mut levels = vec![Level { file: Rc::from(""), ..Level::default() }];
        levels[0].arguments = argv.first().cloned().into_iter().collect();
        Self {
            world,
            limits,
            steps: 0,
            depth: 0,
            nested: 0,
            variables: Variables::new(limits.memory),
            levels,
            status: 0,
            returned: Vec::new(),
            exit_code: 0,
            in_list: false,
            channels: Channels::default(),
            received: Received::default(),
            report: None,
            answer: Vec::new(),
            keyword: Vec::new(),
            found: Vec::new(),
            shell_status: 0,
            error: (0, String::new()),
            last_line: Vec::new(),
            argv,
            settings: LanguageSettings::default(),
            kept: Kept::new(),
            blocks: BTreeMap::new(),
        }
    }

    /// Runs a file with arguments. An unreadable file ends with status 1.
    pub fn file(&mut self, name: &str, arguments: &[Vec<u8>]) -> End {
        self.levels[0].arguments =
            [&[name.as_bytes().to_vec()], arguments].concat().into_iter().collect();
        let flow = self.take(name.as_bytes(), arguments);
        self.ended(flow)
    }

    /// Runs one logical line typed by a user.
    pub fn line(&mut self, logical: &Logical) -> End {
        self.levels[0].line = logical.line;
        let block = Block { items: vec![Item::new(0, trim(&logical.text))] };
        let flow = self.run_block(&block, logical.line);
        let end = self.ended(flow);
        self.last_line.clone_from(&logical.text);
        end
    }

    /// Runs comma-separated commands, as given to `-C`. An error in one of them ends the list, as in C-Kermit;
    /// an error in a file that one of them runs does not.
    pub fn list(&mut self, text: &[u8]) -> End {
        self.in_list = true;
        let flow = self.run_text(text, 1);
        self.in_list = false;
        self.ended(flow)
    }

    /// The text of SET PROMPT, evaluated; none if it was not set.
    pub fn prompt(&mut self) -> Option<String> {
        let text = self.kept.get("prompt").filter(|text| !text.is_empty())?.clone();
        Some(lossy(&self.expand(&text).unwrap_or(text)))
    }

    /// The default code of EXIT: the sum of all failures so far.
    pub fn exit_code(&self) -> i32 {
        self.exit_code
    }

    /// Status of the last command, 0 for success.
    pub fn status(&self) -> i64 {
        self.status
    }

    /// The report of the last transfer.
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// Names of macros with this prefix, for completion.
    pub fn macros_with(&self, begin: &[u8]) -> Vec<Vec<u8>> {
        let small = lower(begin);
        self.variables.texts(&small).map(|(name, _)| name.clone()).collect()
    }

    fn ended(&mut self, flow: Result<Flow, Trouble>) -> End {
        self.depth = 0;
        self.nested = 0;
        while self.levels.len() > 1 {
            self.leave();
        }
        match flow {
            Ok(Flow::Exit(code)) => {
                self.channels.close_all();
                End::Exited { code }
            }
            Ok(Flow::Stop) => End::Stopped { status: self.status },
            Ok(Flow::Label(label, _)) => {
                self.complain(&format!("no such label: {}", lossy(&label)));
                End::Stopped { status: self.status }
            }
            Ok(_) => End::Over { status: self.status },
            Err(trouble) => {
                self.complain(&trouble.text);
                End::Stopped { status: self.status }
            }
        }
    }

    /// The current level.
    pub(crate) fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("the user's level always exists")
    }

    /// Reports an error and its location.
    pub(crate) fn complain(&mut self, what: &str) {
        self.status = 1;
        self.remark(what);
    }

    /// Reports a warning about the current command.
    pub(crate) fn remark(&mut self, what: &str) {
        let level = self.levels.last().expect("the user's level always exists");
        let mut text = String::from("?");
        let inside = self.levels.iter().rev().find(|level| level.name.is_none());
        if let Some(file) = inside.filter(|file| !file.file.is_empty()) {
            text += &format!("{}:{}: ", file.file, file.line);
        }
        if let Some(name) = &level.name {
            text += &format!("in macro {}: ", lossy(name));
        }
        text += what;
        text.push('\n');
        self.world.say(Screen::Error, text.as_bytes());
    }

    fn step(&mut self) -> Result<(), Trouble> {
        self.steps += 1;
        if self.limits.steps.is_some_and(|most| self.steps > most) {
            let say = format!("more than {} commands, the limit", self.steps - 1);
            return Err(Trouble::fatal(say));
        }
        if self.world.interrupted() {
            return Err(Trouble::fatal("interrupted"));
        }
        Ok(())
    }

    /// Begins a level.
    pub(crate) fn enter(
        &mut self,
        name: Option<Vec<u8>>,
        file: Rc<str>,
        arguments: Vec<Vec<u8>>,
    ) -> Result<(), Trouble> {
        if self.levels.len() > self.limits.levels {
            let most = self.limits.levels;
            let say = format!("more than {most} nested macros and files");
            return Err(Trouble::fatal(say));
        }
        self.levels.push(Level { name, file, arguments, ..Level::default() });
        Ok(())
    }

    /// Ends a level: restores local variables.
    pub(crate) fn leave(&mut self) {
        let Some(level) = self.levels.pop() else { return };
        for (key, saved) in level.saved.into_iter().rev() {
            self.variables.restore(&key, saved);
        }
    }

    /// Runs a file at its own level.
    pub(crate) fn take(&mut self, name: &[u8], arguments: &[Vec<u8>]) -> Result<Flow, Trouble> {
        let text = self.whole_file(name)?;
        let shown: Rc<str> = Rc::from(lossy(name));
        let mut all = vec![name.to_vec()];
        all.extend_from_slice(arguments);
        self.enter(None, shown, all)?;
        let flow = self.lines_of(&text);
        if flow.is_err() {
            // The error is reported here, where the line is known.
            if let Err(trouble) = &flow {
                self.complain(&trouble.text);
            }
            self.leave();
            return Ok(Flow::Stop);
        }
        self.leave();
        Ok(match flow? {
            Flow::Leave | Flow::Break | Flow::Continue => Flow::Next,
            other => other,
        })
    }

    fn lines_of(&mut self, text: &[u8]) -> Result<Flow, Trouble> {
        let mut lines = Lines::new();
        let mut items = Vec::new();
        let mut add = |logical: Logical| {
            // Commas separate commands only inside blocks.
            items.push(Item::new(logical.line, trim(&logical.text)));
        };
        for (index, line) in text.split(|b| *b == b'\n').enumerate() {
            if index == 0 && line.starts_with(b"#!") {
                lines.feed(b"");
                continue;
            }
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            lines.feed(line).map(&mut add);
            if lines.held() > self.limits.value {
                let say = format!("a command of more than {} bytes", self.limits.value);
                return Err(Trouble::fatal(say));
            }
        }
        if let Some((logical, complete)) = lines.finish() {
            if complete {
                add(logical);
            } else {
                self.level().line = logical.line;
                self.complain("expected } before the end of the file");
            }
        }
        let block = Block { items };
        let flow = self.run_block(&block, 0)?;
        if let Flow::Label(label, _) = &flow {
            return Err(Trouble::fatal(format!("no such label: {}", lossy(label))));
        }
        Ok(flow)
    }

    /// Runs a list of commands. `line` is the number of its first line, or 0 where lines are not known.
    pub(crate) fn run_text(&mut self, text: &[u8], line: usize) -> Result<Flow, Trouble> {
        let block = self.block(text);
        self.run_block(&block, line)
    }

    pub(crate) fn block(&mut self, text: &[u8]) -> Rc<Block> {
        if let Some(block) = self.blocks.get(text) {
            return Rc::clone(block);
        }
        let block = Rc::new(Block::new(text));
        if text.len() <= 65_536 {
            if self.blocks.len() >= BLOCKS {
                self.blocks.clear();
            }
            self.blocks.insert(Rc::from(text), Rc::clone(&block));
        }
        block
    }

    pub(crate) fn run_block(&mut self, block: &Block, line: usize) -> Result<Flow, Trouble> {
        self.depth += 1;
        if self.depth > self.limits.depth {
            let say = format!("more than {} nested blocks", self.limits.depth);
            return Err(Trouble::fatal(say));
        }
        let flow = self.run_from(block, 0, line);
        self.depth -= 1;
        flow
    }

    /// Runs a list starting at one of its commands.
    pub(crate) fn run_from(
        &mut self,
        block: &Block,
        from: usize,
        line: usize,
    ) -> Result<Flow, Trouble> {
        let mut at = from;
        while let Some(item) = block.items.get(at) {
            self.step()?;
            let here = line + item.line;
            if self.level().name.is_none() {
                self.level().line = here;
            }
            let flow = match self.command(item, here) {
                Err(trouble) if !trouble.fatal => {
                    self.complain(&trouble.text);
                    let in_file = self.levels[1..].iter().any(|level| level.name.is_none());
                    if self.in_list && !in_file { Flow::Stop } else { Flow::Next }
                }
                other => other?,
            };
            at += 1;
            match flow {
                Flow::Next if self.status != 0 && self.ends_by_failure(&item.head) => {
                    self.complain("ended by an error (SET TAKE ERROR or SET MACRO ERROR is ON)");
                    return Ok(Flow::Leave);
                }
                Flow::Next => {}
                Flow::Label(label, forward) => {
                    let from = if forward { at } else { 0 };
                    match block.label(&label, from) {
                        Some(found) => at = found,
                        None => return Ok(Flow::Label(label, forward)),
                    }
                }
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn ends_by_failure(&mut self, head: &Head) -> bool {
        if matches!(head, Head::Verb(verb) if verb.has_blocks()) || self.levels.len() < 2 {
            return false;
        }
        if self.level().name.is_some() {
            self.settings.macro_error
        } else {
            self.settings.take_error
        }
    }

    /// Calls a macro with evaluated arguments.
    pub(crate) fn call(&mut self, name: &[u8], arguments: Vec<Vec<u8>>) -> Result<Flow, Trouble> {
        let small = lower(name);
        let Some(text) = self.variables.text(&small).cloned() else {
            return Err(Trouble::new(format!("no such macro: {}", lossy(name))));
        };
        let mut all = vec![name.to_vec()];
        all.extend(arguments);
        let file = Rc::clone(&self.level().file);
        self.enter(Some(name.to_vec()), file, all)?;
        if self.settings.macro_echo {
            self.world.say(Screen::Output, &[&text[..], b"\n"].concat());
        }
        self.status = 0;
        let block = self.block(&text);
        let mut flow = self.run_block(&block, 0);
        if let Ok(Flow::Label(label, _)) = &flow {
            let say = format!("no such label: {}", lossy(label));
            self.complain(&say);
            flow = Ok(Flow::Next);
        }
        if let Err(trouble) = &flow {
            // Reported where the name of the macro is known; callers only end.
            self.complain(&trouble.text);
            flow = Ok(Flow::Stop);
        }
        self.leave();
        Ok(match flow? {
            Flow::Leave | Flow::Break | Flow::Continue => Flow::Next,
            other => other,
        })
    }
}
