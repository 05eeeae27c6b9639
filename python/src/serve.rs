//! A Kermit server in a thread.

use crate::port::{Near, PortSource, take};
use crate::waiting::{INTERRUPT, locked, next, seconds};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use wetstring_drive::port::{Listener, Purpose};
use wetstring_drive::serve::places::Limits;
use wetstring_drive::serve::{Audit, LocalTree, Rules, Service};
use wetstring_drive::{Signals, in_words};
use wetstring_proto::kermit::{Config, Switch};

/// A server that runs.
#[pyclass(frozen, module = "wetstring._native")]
pub(crate) struct Serving {
    signals: Signals,
    near: Near,
    address: Option<String>,
    log: Mutex<Receiver<String>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The log goes to Python.
struct Log(Mutex<Sender<String>>);

impl Audit for Log {
    fn note(&self, line: &str) {
        // Nothing reads it if the server was dropped.
        let _ = locked(&self.0).send(line.to_owned());
    }
}

#[pymethods]
impl Serving {
    /// Serves this directory on a LINE, a descriptor or a stream; on `tcp-listen:` to all who connect. `reliable` is
    /// what the caller knows of the port and we cannot: `None` leaves it to the port.
    #[new]
    #[pyo3(signature = (root, *, write=false, line=None, descriptor=None, reliable=None))]
    fn new(
        root: PathBuf,
        write: bool,
        line: Option<&str>,
        descriptor: Option<u32>,
        reliable: Option<bool>,
    ) -> PyResult<Self> {
        let failed = |error: std::io::Error| PyOSError::new_err(in_words(&error));
        let (tell, log) = channel();
        let tree = Arc::new(LocalTree::open(&root).map_err(failed)?);
        let rules = Rules { write, ..Rules::default() };
        // One machine may be all clients of a test.
        let limits = Limits { per_address: 256, unproved_per_address: 64, ..Limits::default() };
        let mut config = Config::default();
        if let Some(reliable) = reliable {
            config.reliable = if reliable { Switch::On } else { Switch::Off };
        }
        let mut service = Service::new(tree, rules, config, limits);
        service.audit = Some(Arc::new(Log(Mutex::new(tell.clone()))));
        let service = Arc::new(service);
        let signals = Signals::detached()?;
        let stop = signals.clone();
        let (source, near) = PortSource::of(line, descriptor)?;
        let mut address = None;
        let listener = match &source {
            PortSource::Line(spec) => Listener::of(spec).transpose(),
            PortSource::Stream(_) => Ok(None),
        };
        let listener = listener.map_err(|bad| PyOSError::new_err(bad.to_string()))?;
        if let Some(listener) = &listener {
            address = Some(listener.address().map_err(failed)?.to_string());
        }
        let serve = move || {
            let ended = match listener {
                Some(listener) => service.serve_all(&listener, &stop).map_err(|e| in_words(&e)),
                None => match source.open(Purpose::Server, &stop, &mut |_| {}) {
                    Ok(mut port) => {
                        let ended = service.serve(&mut *port, None, &stop);
                        ended.map(drop).map_err(|error| in_words(&error))
                    }
                    Err(bad) => Err(bad.to_string()),
                },
            };
            if let Err(why) = ended {
                let _ = tell.send(format!("failed: {why}"));
            }
        };
        let thread = std::thread::Builder::new().name("wst serve".to_owned()).spawn(serve)?;
        let thread = Mutex::new(Some(thread));
        Ok(Self { signals, near, address, log: Mutex::new(log), thread })
    }

    /// The address where it listens, `HOST:PORT`.
    #[getter]
    fn address(&self) -> Option<String> {
        self.address.clone()
    }

    /// Our end of the stream, as a descriptor that the caller now owns.
    fn take_stream(&self) -> PyResult<i64> {
        take(&self.near).ok_or_else(|| PyRuntimeError::new_err("expected a stream, there is none"))
    }

    /// The next line of the log within this time.
    #[pyo3(signature = (timeout=None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<String>> {
        next(py, &self.log, timeout.map(seconds))
    }

    /// Whether its thread has ended.
    #[getter]
    fn over(&self) -> bool {
        locked(&self.thread).as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends it.
    fn stop(&self, py: Python<'_>) {
        self.signals.raise(INTERRUPT);
        let thread = locked(&self.thread).take();
        if let Some(thread) = thread {
            // It has logged what went wrong.
            let _ = py.detach(|| thread.join());
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.signals.raise(INTERRUPT);
    }
}
