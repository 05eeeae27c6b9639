//! What is wrong with a command, and how a run ends.

use crate::world::Fault;

/// Why a command was not done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Trouble {
    /// A sentence.
    pub(crate) text: String,
    /// The whole script ends.
    pub(crate) fatal: bool,
}

impl Trouble {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), fatal: false }
    }

    /// A bound was reached: going on would only reach it again.
    pub(crate) fn fatal(text: impl Into<String>) -> Self {
        Self { text: text.into(), fatal: true }
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::new(fault.text)
    }
}

/// Where it goes on after a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    /// At the next.
    Next,
    /// After the innermost loop.
    Break,
    /// At the innermost loop's next turn.
    Continue,
    /// After the macro or the file.
    Leave,
    /// Nowhere: back to the person.
    Stop,
    /// Nowhere: the program ends with this code.
    Exit(i32),
    /// At a label; `true` looks only further down.
    Label(Vec<u8>, bool),
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// All commands were done; the status of the last.
    Over {
        /// 0 for success.
        status: i64,
    },
    /// STOP, or a bound, or the person.
    Stopped {
        /// 0 for success.
        status: i64,
    },
    /// EXIT or QUIT.
    Exited {
        /// The code of the program.
        code: i32,
    },
}

/// What a script may use. A bound that is reached ends the script with an error that names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Commands, all told; no bound if nothing.
    pub steps: Option<u64>,
    /// Macros and files inside each other.
    pub levels: usize,
    /// Blocks, macros and files inside each other.
    pub depth: usize,
    /// Bytes of one value or of one command.
    pub value: usize,
    /// Bytes of all variables.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: None, levels: 120, depth: 400, value: 1 << 20, memory: 256 << 20 }
    }
}
