//! The commands, from their fields to their action.

mod assign;
mod console;
mod disk;
pub(crate) use disk::{last_part, permissions};
mod fopen;
mod help;
mod listing;
mod set;
pub(crate) mod settings;
mod show;
mod transfer;

use crate::fields::Fields;
use crate::interp::{Head, Interp, Item};
use crate::keywords::{Found, Verb, verb};
use crate::text::{lossy, lower, trim, ungroup};
use crate::trouble::{Flow, Trouble};
use crate::world::Task;
use wetstring_proto::settings::Setting;

impl Interp<'_> {
    /// Executes one command.
    pub(crate) fn command(&mut self, item: &Item, line: usize) -> Result<Flow, Trouble> {
        if self.settings.take_echo && self.level().name.is_none() {
            let shown = [&item.text[..], b"\n"].concat();
            self.world.say(crate::world::Screen::Output, &shown);
        }
        let rest = item.arguments();
        match &item.head {
            Head::Verb(verb) => self.verb(*verb, rest, line),
            Head::Name => self.named(&item.text[..item.rest], rest),
            Head::Several => {
                let word = lossy(&item.text[..item.rest]);
                Err(Trouble::new(format!("ambiguous command: {word}; DO calls a macro")))
            }
            Head::Evaluated => {
                let mut rest = Fields::new(&item.text);
                let first = rest.field().map(|word| word.text).unwrap_or_default();
                let name = self.expand(first)?;
                let name = trim(&name);
                match verb(name) {
                    Found::One(found) => self.verb(found, rest.rest(), line),
                    _ => self.named(name, rest.rest()),
                }
            }
            Head::Label => Ok(Flow::Next),
            Head::Dot => self.dot(rest),
            Head::Shell => self.run_shell(rest),
            Head::List => {
                let mut fields = Fields::new(&item.text);
                let body = fields.block().ok_or_else(|| Trouble::new("expected } after a list"))?;
                self.run_text(body, line)
            }
            Head::Parenthesis => self.s_expression(&item.text),
        }
    }

    /// A word that is no command: a macro, by its name or an abbreviation.
    fn named(&mut self, word: &[u8], rest: &[u8]) -> Result<Flow, Trouble> {
        let small = lower(word);
        let name = if self.variables.text(&small).is_some() {
            small
        } else {
            let mut names = self.variables.texts(&small).map(|(name, _)| name.clone());
            match (names.next(), names.next()) {
                (Some(name), None) if !small.is_empty() => name,
                _ => {
                    let say = format!("not a command or a macro: {}", lossy(word));
                    return Err(Trouble::new(say));
                }
            }
        };
        let arguments = self.macro_arguments(rest)?;
        self.call(&name, arguments)
    }

    pub(crate) fn macro_arguments(&mut self, text: &[u8]) -> Result<Vec<Vec<u8>>, Trouble> {
        let mut fields = Fields::new(text);
        let mut arguments = Vec::new();
        while let Some(word) = fields.field() {
            arguments.push(self.expand(word.text)?);
        }
        Ok(arguments)
    }

    fn verb(&mut self, verb: Verb, rest: &[u8], line: usize) -> Result<Flow, Trouble> {
        match verb {
            Verb::If | Verb::Xif => self.if_command(rest, line),
            Verb::Else => self.else_command(rest, line),
            Verb::For => self.for_command(rest, line),
            Verb::Foreach => self.foreach_command(rest, line),
            Verb::While => self.while_command(rest, line),
            Verb::Switch => self.switch_command(rest, line),
            Verb::Break => Ok(Flow::Break),
            Verb::Continue => Ok(Flow::Continue),
            Verb::Goto | Verb::Forward => {
                let label = self.expand(ungroup(rest))?;
                let label = trim(&label);
                let label = label.strip_prefix(b":").unwrap_or(label);
                Ok(Flow::Label(label.to_vec(), verb == Verb::Forward))
            }
            Verb::Return => {
                let value = self.expand(ungroup(trim(rest)))?;
                // A file has no value.
                if self.level().name.is_some() {
                    self.returned = value;
                }
                self.status = 0;
                Ok(Flow::Leave)
            }
            Verb::End | Verb::Stop | Verb::Exit => {
                let (status, said) = self.ending(rest)?;
                Ok(match verb {
                    Verb::Exit => {
                        let code = if said { status } else { i64::from(self.exit_code) };
                        self.exit_code = i32::try_from(code & 0xff).unwrap_or(1);
                        Flow::Exit(self.exit_code)
                    }
                    Verb::End => {
                        self.status = i64::from(said && status != 0);
                        Flow::Leave
                    }
                    _ => {
                        self.status = i64::from(said && status != 0);
                        Flow::Stop
                    }
                })
            }
            Verb::Do => {
                let mut fields = Fields::new(rest);
                let missing = || Trouble::new("expected the name of a macro, got nothing");
                let name = fields.field().ok_or_else(missing)?.text;
                let name = self.expand(name)?;
                self.named(trim(&name), fields.rest())
            }
            Verb::Take => {
                let mut fields = Fields::new(rest);
                let missing = || Trouble::new("expected a file to take commands from, got nothing");
                let name = fields.field().ok_or_else(missing)?.text;
                let name = self.expand(name)?;
                let arguments = self.macro_arguments(fields.rest())?;
                self.status = 0;
                self.take(&name, &arguments)
            }
            Verb::Comment => Ok(Flow::Next),
            other => self.simple_verb(other, rest),
        }
    }

    /// Commands after which execution continues with the next.
    fn simple_verb(&mut self, verb: Verb, rest: &[u8]) -> Result<Flow, Trouble> {
        let mut fields = Fields::new(rest);
        match verb {
            Verb::Define | Verb::DefineName => self.define(rest, verb == Verb::DefineName, false),
            Verb::Assign | Verb::AssignName => self.define(rest, verb == Verb::AssignName, true),
            Verb::Undefine => self.undefine(&mut fields),
            Verb::Evaluate => self.evaluate(&mut fields),
            Verb::Increment => self.increment(&mut fields, 1),
            Verb::Decrement => self.increment(&mut fields, -1),
            Verb::Local => self.local_command(&mut fields),
            Verb::Declare => self.declare(rest),
            Verb::Undeclare => self.undeclare(&mut fields),
            Verb::Array => self.array(&mut fields),
            Verb::Shift => self.shift(&mut fields),
            Verb::Echo | Verb::Xecho | Verb::Message => self.echo(rest, verb != Verb::Xecho),
            Verb::Ask | Verb::Askq => self.ask(&mut fields, verb == Verb::Ask),
            Verb::Getok => self.getok(&mut fields),
            Verb::Getc => self.getc(&mut fields),
            Verb::Open => self.open(&mut fields),
            Verb::Read => self.read(&mut fields),
            Verb::Write | Verb::Writeln => self.write(&mut fields, verb == Verb::Writeln),
            Verb::Close => self.close(&mut fields),
            Verb::File => self.file_command(&mut fields),
            Verb::Fopen => self.fopen(&mut fields),
            Verb::Fclose => self.fclose(&mut fields),
            Verb::Fread => self.fread(&mut fields),
            Verb::Fwrite => self.fwrite(&mut fields),
            Verb::Fseek => self.fseek(&mut fields),
            Verb::Frewind => self.frewind(&mut fields),
            Verb::Fcount => self.fcount(&mut fields),
            Verb::Fflush => self.fflush(&mut fields),
            Verb::Fstatus => self.fstatus(&mut fields),
            Verb::Input => self.input(&mut fields, false),
            Verb::Minput => self.input(&mut fields, true),
            Verb::Reinput => self.reinput(&mut fields),
            Verb::Output | Verb::Lineout => self.output(rest, verb == Verb::Lineout),
            Verb::Pause | Verb::Wait => self.pause(&mut fields, 1000, true),
            Verb::Sleep => self.pause(&mut fields, 1000, false),
            Verb::Msleep => self.pause(&mut fields, 1, false),
            Verb::Set => self.set(&mut fields),
            Verb::Show => self.show(&mut fields),
            Verb::Run => self.run_shell(rest),
            Verb::Sexpression => self.s_expression(rest),
            Verb::Alarm => self.alarm(&mut fields),
            Verb::Beep if self.is_on("bell", true) => self.screen(b"\x07"),
            Verb::Beep => Ok(Flow::Next),
            Verb::Date => self.date(rest),
            Verb::Version => self.screen(crate::VERSION_LINE.as_bytes()),
            Verb::Status => {
                let say = if self.status == 0 { "SUCCESS\n" } else { "FAILURE\n" };
                self.world.say(crate::world::Screen::Output, say.as_bytes());
                Ok(Flow::Next)
            }
            Verb::Void => {
                self.status = 0;
                Ok(Flow::Next)
            }
            Verb::Help => self.help(&mut fields),
            other => self.disk_or_line_verb(other, &mut fields),
        }
    }

    fn disk_or_line_verb(&mut self, verb: Verb, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        match verb {
            Verb::Cd => self.change_directory(fields),
            Verb::Pwd => self.print_directory(),
            Verb::Copy => self.two_names(fields, false),
            Verb::Rename => self.two_names(fields, true),
            Verb::Delete => self.delete(fields),
            Verb::Directory => self.directory(fields),
            Verb::Mkdir | Verb::Rmdir => self.one_directory(fields, verb == Verb::Mkdir),
            Verb::Type => self.type_file(fields),
            Verb::Touch => self.touch(fields),
            Verb::Clear => self.clear(fields),
            Verb::Send | Verb::Msend | Verb::Move | Verb::Mmove | Verb::Resend => {
                self.send(fields, verb)
            }
            Verb::Receive => self.receive(fields),
            Verb::Get | Verb::Mget | Verb::Reget => self.get(fields, verb),
            Verb::Remote => self.remote(fields),
            Verb::Finish => self.at_server("finish"),
            Verb::Bye => self.at_server("bye"),
            Verb::Logout => self.at_server("logout"),
            Verb::Server => self.perform(&Task::Serve),
            Verb::Connect => self.perform(&Task::Terminal),
            Verb::Hangup => self.hang_up(),
            Verb::Pipe => self.pipe_connection(fields, verb),
            Verb::Log => self.log(fields),
            Verb::Transmit => self.transmit_file(fields),
            Verb::Enable => self.allow(fields, true),
            Verb::Disable => self.allow(fields, false),
            Verb::Statistics => self.statistics(),
            _ => Err(Trouble::new("this command of C-Kermit is not supported")),
        }
    }

    fn screen(&mut self, text: &[u8]) -> Result<Flow, Trouble> {
        self.world.say(crate::world::Screen::Output, text);
        self.status = 0;
        Ok(Flow::Next)
    }
}

/// The keywords that may follow these words; `rows` are the rows of the program's table.
pub(crate) fn words_after(rows: &[&'static Setting], before: &str) -> Vec<&'static str> {
    let words: Vec<&str> = before.split_whitespace().collect();
    let first = words.first().map_or(Found::None, |word| verb(word.as_bytes()));
    match (first, words.as_slice()) {
        (Found::One(Verb::Set), [_, given @ ..]) => {
            let fits = |entry: &settings::Entry| {
                let mut words = entry.name.split(' ');
                given.iter().all(|word| words.next().is_some_and(|own| own.starts_with(word)))
            };
            let entries = settings::entries(rows);
            let next = entries.iter().filter(|entry| fits(entry));
            let mut all: Vec<_> = next.filter_map(|entry| entry.word(given.len())).collect();
            match given {
                [] => {
                    all.extend(set::OWN);
                    all.extend(rows.iter().filter_map(|row| row.name.split('.').next()));
                }
                [family] => all.extend(
                    rows.iter().filter_map(|row| row.name.strip_prefix(family)?.strip_prefix('.')),
                ),
                _ => {}
            }
            all.sort_unstable();
            all.dedup();
            all
        }
        (Found::One(Verb::Show), [_]) => show::TOPICS.to_vec(),
        (Found::One(Verb::Remote), [_]) => transfer::REMOTE.to_vec(),
        (Found::One(Verb::Open), [_]) => vec!["append", "read", "write"],
        (Found::One(Verb::Close), [_]) => vec!["connection", "read-file", "write-file"],
        _ => Vec::new(),
    }
}

/// The names of rows, which may follow SET and SHOW.
pub(crate) fn rows_after(rows: &[&'static Setting], before: &str) -> Vec<&'static str> {
    match verb(before.as_bytes()) {
        Found::One(Verb::Set | Verb::Show) => rows.iter().map(|row| row.name).collect(),
        _ => Vec::new(),
    }
}
