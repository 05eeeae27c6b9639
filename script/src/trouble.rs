//! Errors of commands, and how a run ends.

use crate::world::Fault;

/// Why a command failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Trouble {
    /// The message.
    pub(crate) text: String,
    /// The whole script ends.
    pub(crate) fatal: bool,
}

impl Trouble {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), fatal: false }
    }

    /// A limit was reached: continuing would only reach it again.
    pub(crate) fn fatal(text: impl Into<String>) -> Self {
        Self { text: text.into(), fatal: true }
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::new(fault.text)
    }
}

/// Where execution continues after a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    /// At the next command.
    Next,
    /// After the innermost loop.
    Break,
    /// At the innermost loop's next iteration.
    Continue,
    /// After the macro or the file.
    Leave,
    /// Nowhere: returns to the user.
    Stop,
    /// Nowhere: the program ends with this code.
    Exit(i32),
    /// At a label; `true` searches only forward.
    Label(Vec<u8>, bool),
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// All commands were executed; the status of the last.
    Over {
        /// 0 for success.
        status: i64,
    },
    /// STOP, a limit, or the user.
    Stopped {
        /// 0 for success.
        status: i64,
    },
    /// EXIT or QUIT.
    Exited {
        /// The exit code of the program.
        code: i32,
    },
}

/// Limits of a script. Reaching one ends the script with an error that names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Total commands; unlimited if `None`.
    pub steps: Option<u64>,
    /// Nesting of macros and files.
    pub levels: usize,
    /// Nesting of blocks, macros and files.
    pub depth: usize,
    /// Bytes of one value or one command.
    pub value: usize,
    /// Bytes of all variables.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: None, levels: 120, depth: 400, value: 1 << 20, memory: 256 << 20 }
    }
}
