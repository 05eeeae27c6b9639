//! The part of the package `wetstring` for Python that is not Python.
//!
//! ```text
//! wetstring/*.py  ->  Transfer: a thread with an engine, a port and a store; its events are lines of JSON
//!                     Line: a thread with an emulated line between two ports
//!                     Serving: a thread with a Kermit server
//!                     lab: scenarios and sweeps in virtual time
//! ```
//!
//! A thread holds no lock of the interpreter. What a user sees is in `wetstring/`, with types and documentation.
#![deny(unsafe_code)]

mod events;
mod lab;
mod line;
mod port;
mod serve;
mod stores;
mod transfer;
mod waiting;

/// What `wetstring/*.py` import.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::lab::{
        RunOutcome, Sweep, Table, run_scenario, scenario_names, scenario_text, sweep_names, tables,
    };
    #[pymodule_export]
    use crate::line::Line;
    #[pymodule_export]
    use crate::port::can_use;
    #[pymodule_export]
    use crate::serve::Serving;
    #[pymodule_export]
    use crate::transfer::{Transfer, protocols};
}
