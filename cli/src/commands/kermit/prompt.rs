//! The interactive prompt: history, completion by Tab, and `?` for what may follow.

use std::path::PathBuf;
use wetstring_drive::in_words;

use crate::config::{Settings, state_directory};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext,
    EventHandler, Helper, KeyEvent, RepeatCount,
};

/// Lines of history kept.
const HISTORY: usize = 1000;

/// Completes words of commands.
struct Words;

/// Where the word at the cursor begins, and its completions.
fn follow(line: &str, at: usize) -> (usize, Vec<String>) {
    let before = line.get(..at).unwrap_or(line);
    let begin = before.rfind(' ').map_or(0, |blank| blank + 1);
    let rows: Vec<_> = Settings::rows().collect();
    (begin, wetstring_script::completions(&rows, &before[..begin], &before[begin..]))
}

/// `?`: shows what may follow; inserts a question mark where that is unknown.
struct Question;

impl ConditionalEventHandler for Question {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, at: &EventContext<'_>) -> Option<Cmd> {
        let (_, words) = follow(at.line(), at.pos());
        Some(if words.is_empty() { Cmd::Insert(1, "?".to_owned()) } else { Cmd::Complete })
    }
}

impl Completer for Words {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let (begin, mut words) = follow(line, at);
        if let [word] = &mut words[..] {
            // Unambiguous: the next word may begin.
            word.push(' ');
        }
        Ok((begin, words))
    }
}

impl Hinter for Words {
    type Hint = String;
}
impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}

/// The user's input.
pub(super) enum Typed {
    /// A line.
    Line(String),
    /// Ctrl-C: the line is discarded.
    Forgotten,
    /// Ctrl-D.
    End,
}

/// A line editor.
pub(super) struct Prompt {
    editor: Editor<Words, FileHistory>,
    history: Option<PathBuf>,
}

impl Prompt {
    pub(super) fn new() -> Result<Self, String> {
        let say = |e: ReadlineError| format!("could not use the terminal: {}", in_words(&e));
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .completion_show_all_if_ambiguous(true)
            .max_history_size(HISTORY)
            .map_err(say)?
            .build();
        let mut editor = Editor::with_config(config).map_err(say)?;
        editor.set_helper(Some(Words));
        editor.bind_sequence(KeyEvent::from('?'), EventHandler::Conditional(Box::new(Question)));
        let history = state_directory().map(|folder| folder.join("kermit-history"));
        if let Some(path) = &history {
            // The history file may not exist yet.
            drop(editor.load_history(path));
        }
        Ok(Self { editor, history })
    }

    /// The next line. `waiting` is inside a block; `prompt` is that of SET PROMPT.
    pub(super) fn line(&mut self, waiting: bool, prompt: Option<&str>) -> Result<Typed, String> {
        let shown = if waiting { "  ... " } else { prompt.unwrap_or("wst kermit> ") };
        // The editor reads the terminal by itself.
        wetstring_drive::terminal::stdin::let_go();
        match self.editor.readline(shown) {
            Ok(line) => {
                if !line.trim().is_empty() {
                    // A repeated line is kept once.
                    drop(self.editor.add_history_entry(line.as_str()));
                }
                Ok(Typed::Line(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Typed::Forgotten),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(e) => Err(format!("could not read from the terminal: {}", in_words(&e))),
        }
    }

    /// Saves the history, if possible.
    pub(super) fn close(mut self) {
        if let Some(path) = &self.history
            && let Some(folder) = path.parent()
            && std::fs::create_dir_all(folder).is_ok()
        {
            drop(self.editor.save_history(path));
        }
    }
}
