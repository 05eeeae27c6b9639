//! A transfer, or a request to a Kermit server, in a thread of its own.

mod work;

use crate::port::{Near, PortSource, take};
use crate::waiting::{INTERRUPT, locked, next, seconds};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use wetstring_drive::Signals;
use wetstring_drive::disk::{Collision, ReceiveOptions, Resume, SendOptions, Source};

use wetstring_drive::os::stream::{Stream, pair};
use wetstring_proto::{Command, FileKind};
use wetstring_protocols::Protocol;
use work::{Facts, Finish, Role, Work};

/// A transfer that runs.
#[pyclass(frozen, module = "wetstring._native")]
pub(crate) struct Transfer {
    events: Mutex<Receiver<String>>,
    commands: Mutex<Sender<Command>>,
    waker: Stream,
    signals: Signals,
    near: Near,
    finish: Arc<Mutex<Option<Finish>>>,
}

/// What `receive` does with a name that exists.
fn collision(word: &str) -> PyResult<Collision> {
    Ok(match word {
        "backup" => Collision::Backup,
        "rename" => Collision::Rename,
        "replace" => Collision::Replace,
        "append" => Collision::Append,
        "reject" => Collision::Reject,
        "update" => Collision::Update,
        _ => {
            let all = "backup, rename, replace, append, reject, update";
            return Err(PyValueError::new_err(format!("expected one of {all}, got {word}")));
        }
    })
}

fn bytes_protocol(name: &str) -> PyResult<Protocol> {
    Protocol::of_bytes_by(name).map_err(|names| {
        PyValueError::new_err(format!("expected a protocol ({names}), got {name}"))
    })
}

#[pymethods]
impl Transfer {
    /// Starts it. `role` is `send`, `receive`, `get` or `ask`.
    #[new]
    #[pyo3(signature = (role, protocol, *, line=None, descriptor=None, settings=None, files=None,
        directory=None, name=None, text=false, resume=false, on_collision="backup", before=None,
        reliable=None, rate=None, words=None))]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)]
    fn new(
        role: &str,
        protocol: &str,
        line: Option<&str>,
        descriptor: Option<u32>,
        settings: Option<HashMap<String, String>>,
        files: Option<Vec<(PathBuf, Option<Vec<u8>>)>>,
        directory: Option<PathBuf>,
        name: Option<Vec<u8>>,
        text: bool,
        resume: bool,
        on_collision: &str,
        before: Option<Vec<u8>>,
        reliable: Option<bool>,
        rate: Option<u32>,
        words: Option<Vec<Vec<u8>>>,
    ) -> PyResult<Self> {
        let receives = ReceiveOptions {
            collision: collision(on_collision)?,
            resume: if resume { Resume::Existing } else { Resume::Never },
            name: name.clone(),
            ..ReceiveOptions::default()
        };
        let role = match role {
            "send" => {
                let source = |(path, name): (PathBuf, Option<Vec<u8>>)| match name {
                    Some(name) => Source::path(path).named(name),
                    None => Source::path(path),
                };
                let kind = if text { FileKind::Text } else { FileKind::Binary };
                let options = SendOptions { kind, resume, ..SendOptions::default() };
                let files = files.unwrap_or_default().into_iter().map(source).collect();
                Role::Send(files, options)
            }
            "receive" => Role::Receive(directory.unwrap_or_else(|| ".".into()), receives),
            "get" => Role::Get(directory.unwrap_or_else(|| ".".into()), receives),
            _ => Role::Ask,
        };
        let (source, near) = PortSource::of(line, descriptor)?;
        let (tell, events) = channel();
        let (commands, orders) = channel();
        let (waker, wake) = pair()?;
        wake.set_nonblocking(true)?;
        let signals = Signals::detached()?;
        let finish = Arc::new(Mutex::new(None));
        let work = Work {
            role,
            protocol: bytes_protocol(protocol)?,
            source,
            settings: settings.unwrap_or_default(),
            before: before.unwrap_or_default(),
            facts: Facts { reliable, rate_bps: rate },
            words: words.unwrap_or_default(),
            signals: signals.clone(),
            finish: finish.clone(),
        };
        work.check().map_err(PyValueError::new_err)?;
        std::thread::Builder::new()
            .name("wetstring".to_owned())
            .spawn(move || work.run(tell, orders, wake))?;
        let (events, commands) = (Mutex::new(events), Mutex::new(commands));
        Ok(Self { events, commands, waker, signals, near, finish })
    }

    /// The next event, a line of JSON, within this time; `None` if there was none, or if all have been returned.
    #[pyo3(signature = (timeout=None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<String>> {
        next(py, &self.events, timeout.map(seconds))
    }

    /// Our end of the stream, as a descriptor that the caller now owns.
    fn take_stream(&self) -> PyResult<i64> {
        take(&self.near).ok_or_else(|| PyRuntimeError::new_err("expected a stream, there is none"))
    }

    /// Whether its thread has ended; events may be left.
    #[getter]
    fn over(&self) -> bool {
        locked(&self.finish).is_some()
    }

    /// Who is to blame, and for what kind of failure; `None` without a failure of the transfer as a whole.
    #[getter]
    fn failure(&self) -> Option<(String, String)> {
        locked(&self.finish).as_ref()?.failure.clone()
    }

    /// Bytes that were read and are not the protocol's: of the prompt after it.
    #[getter]
    fn leftover(&self) -> Vec<u8> {
        locked(&self.finish).as_ref().map(|end| end.leftover.clone()).unwrap_or_default()
    }

    /// The text of a server's answer.
    #[getter]
    fn answer(&self) -> Vec<u8> {
        locked(&self.finish).as_ref().map(|end| end.answer.clone()).unwrap_or_default()
    }

    /// Ends the transfer: the first time in good order, the second time at once.
    fn interrupt(&self) {
        self.signals.raise(INTERRUPT);
    }

    /// Cancels the current file, or all that follow as well.
    fn cancel(&self, all: bool) {
        let command = if all { Command::CancelBatch } else { Command::CancelFile };
        // The thread has ended if nothing takes it.
        let _ = locked(&self.commands).send(command);
        let _ = (&self.waker).write(&[0]);
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.signals.raise(INTERRUPT);
        self.signals.raise(INTERRUPT);
    }
}

/// The names of the protocols that a line of bytes carries.
#[pyfunction]
pub(crate) fn protocols() -> Vec<&'static str> {
    Protocol::of_bytes().map(|protocol| protocol.name).collect()
}
