//! State tables: (state, input) -> next state; nothing else changes an engine's state.
//!
//! `states!` makes the enum of states and that of inputs, the function `next` that is the table, and the
//! [`Diagram`] from which the pages under `docs/` are drawn. An engine changes its state by `enter` alone, which
//! takes an input and looks up the next state. A missing edge is an internal error: tests panic, and
//! elsewhere the session ends with [`FailureKind::Internal`](crate::FailureKind::Internal).

use crate::engine::Cx;
use crate::trace::TraceEvent;

/// An edge of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Source states: names separated by ` | `, or `_` for any.
    pub from: &'static str,
    /// What happened.
    pub input: &'static str,
    /// The target state.
    pub to: &'static str,
}

/// A state table as data, for the diagrams and for coverage tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Diagram {
    /// States and their meanings.
    pub states: &'static [(&'static str, &'static str)],
    /// Inputs and their meanings.
    pub inputs: &'static [(&'static str, &'static str)],
    /// The table.
    pub edges: &'static [Edge],
}

/// Implemented by [`states!`].
pub(crate) trait State: Copy {
    type Input: Copy;
    /// The state as traces name it.
    fn name(self) -> &'static str;
    /// The input as traces name it.
    fn input_name(input: Self::Input) -> &'static str;
    /// The next state for the input, by the table.
    fn next(self, input: Self::Input) -> Option<Self>;
}

/// Takes the edge of the table. False, and a panic in tests, if there is none: the caller ends the session.
pub(crate) fn enter<S: State>(cx: &mut Cx<'_>, state: &mut S, input: S::Input) -> bool {
    let Some(next) = state.next(input) else {
        debug_assert!(false, "state {} has no edge for {}", state.name(), S::input_name(input));
        return false;
    };
    if cx.trace.enabled() {
        let (from, to, input) = (state.name(), next.name(), S::input_name(input));
        cx.trace.record(cx.now, &TraceEvent::State { from, to, input });
    }
    *state = next;
    true
}

/// Declares the states of an engine, its inputs, and the table. An unreachable row is a compiler warning, so no
/// edge is duplicated. `_` matches any state that no earlier row matches.
macro_rules! states {
    (
        $(#[doc = $about:literal])+
        $vis:vis enum $State:ident { $( $(#[doc = $meaning:literal])+ $state:ident = $name:literal, )+ }
        $(#[doc = $why:literal])+
        enum $Input:ident { $( $(#[doc = $cause:literal])+ $input:ident, )+ }
        table { $( $from:pat => { $( $by:ident => $to:ident, )+ } )+ }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $vis enum $State { $( $(#[doc = $meaning])+ $state, )+ }

        $(#[doc = $why])+
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $vis enum $Input { $( $(#[doc = $cause])+ $input, )+ }

        impl $State {
            /// The table as data.
            $vis const DIAGRAM: $crate::states::Diagram = $crate::states::Diagram {
                states: &[$( ($name, concat!($($meaning),+)) ),+],
                inputs: &[$( (stringify!($input), concat!($($cause),+)) ),+],
                edges: &[$( $( $crate::states::Edge {
                    from: stringify!($from), input: stringify!($by), to: stringify!($to),
                } ),+ ),+],
            };

            /// The name used in traces.
            $vis const fn name(self) -> &'static str {
                match self { $( Self::$state => $name, )+ }
            }
        }

        impl $crate::session::State for $State {
            type Input = $Input;

            fn name(self) -> &'static str {
                Self::name(self)
            }

            fn input_name(input: $Input) -> &'static str {
                match input { $( $Input::$input => stringify!($input), )+ }
            }

            fn next(self, input: $Input) -> Option<Self> {
                use $State::*;
                Some(match (self, input) {
                    $( $( ($from, $Input::$by) => $to, )+ )+
                    _ => return None,
                })
            }
        }
    };
}
pub(crate) use states;
