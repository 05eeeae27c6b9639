//! An emulated line between two ports.

use crate::port::{Near, PortSource, take};
use crate::waiting::{INTERRUPT, locked};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::sync::Mutex;
use std::thread::JoinHandle;
use wetstring_drive::live::{self, Report, Until};

use wetstring_drive::port::Purpose;
use wetstring_drive::{Port, Signals, in_words};
use wetstring_lab::serial::BadLine;
use wetstring_lab::{End, LineModel, Usage};

/// An emulated line that is up.
#[pyclass(frozen, module = "wetstring._native")]
pub(crate) struct Line {
    signals: Signals,
    near: [Near; 2],
    notes: Vec<(usize, String)>,
    thread: Mutex<Option<JoinHandle<std::io::Result<Report>>>>,
    used: Mutex<Option<Vec<[u64; 5]>>>,
}

/// Opens an end: a LINE, or a stream to this process.
fn end(
    spec: Option<&str>,
    rate_bps: u32,
    signals: &Signals,
    notes: &mut dyn FnMut(&str),
) -> PyResult<(Box<dyn Port>, Near)> {
    let (source, near) = PortSource::of(spec, None)?;
    let port = match source {
        PortSource::Line(spec) => live::open(&spec, rate_bps, Some(signals), notes),
        stream @ PortSource::Stream(_) => stream.open(Purpose::Transfer, signals, notes),
    };
    let port = port.map_err(|bad| PyOSError::new_err(bad.to_string()))?;
    Ok((port, near))
}

fn used(usage: &Usage) -> [u64; 5] {
    let Usage { bytes_in, bytes_out, damaged_bytes, dropped_bytes, duplicated_bytes, .. } = *usage;
    [bytes_in, bytes_out, damaged_bytes, dropped_bytes, duplicated_bytes]
}

#[pymethods]
impl Line {
    /// A line of this model between two ends, each of which is a LINE or `None` for a stream.
    #[new]
    #[pyo3(signature = (model, a=None, b=None, faster=1))]
    fn new(
        py: Python<'_>,
        model: &str,
        a: Option<&str>,
        b: Option<&str>,
        faster: u32,
    ) -> PyResult<Self> {
        let model: LineModel =
            model.parse().map_err(|bad: BadLine| PyValueError::new_err(bad.to_string()))?;
        let signals = Signals::detached()?;
        let mut notes = Vec::new();
        let rates = End::BOTH.map(|end| model.port_rate(end));
        let ((port_a, near_a), (port_b, near_b)) = py.detach(|| -> PyResult<_> {
            let one = end(a, rates[0], &signals, &mut |text| notes.push((0, text.to_owned())))?;
            let two = end(b, rates[1], &signals, &mut |text| notes.push((1, text.to_owned())))?;
            Ok((one, two))
        })?;
        let stop = signals.clone();
        let thread = std::thread::Builder::new().name("wst line".to_owned()).spawn(move || {
            let until = Until { signals: Some(&stop), scale: faster, ..Until::default() };
            live::run(&model, port_a, port_b, until)
        })?;
        let (near, thread) = ([near_a, near_b], Mutex::new(Some(thread)));
        Ok(Self { signals, near, notes, thread, used: Mutex::default() })
    }

    /// What is to be known of the ends: 0 for A or 1 for B, and a sentence such as `pty /dev/pts/5`.
    #[getter]
    fn notes(&self) -> Vec<(usize, String)> {
        self.notes.clone()
    }

    /// The stream of this end, as a descriptor that the caller now owns.
    fn take_stream(&self, end: usize) -> PyResult<i64> {
        self.near.get(end).and_then(take).ok_or_else(|| PyRuntimeError::new_err("no stream there"))
    }

    /// Takes it down; returns for both directions how many bytes came in and went out, and of these were
    /// damaged, lost and doubled.
    fn stop(&self, py: Python<'_>) -> PyResult<Vec<[u64; 5]>> {
        self.signals.raise(INTERRUPT);
        let thread = locked(&self.thread).take();
        if let Some(thread) = thread {
            let ended = py.detach(|| thread.join());
            let ended = ended.map_err(|_| PyRuntimeError::new_err("the line failed"))?;
            let report = ended.map_err(|error| PyOSError::new_err(in_words(&error)))?;
            *locked(&self.used) = Some(report.usage.iter().map(used).collect());
        }
        Ok(locked(&self.used).clone().unwrap_or_default())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.signals.raise(INTERRUPT);
    }
}
