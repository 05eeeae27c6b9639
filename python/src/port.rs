//! The port that Python names: a LINE, a descriptor, or a stream to this process that Python moves bytes through.

use crate::waiting::locked;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Mutex;
use wetstring_drive::live;
use wetstring_drive::os::stream::{Stream, pair};
use wetstring_drive::port::Purpose;
use wetstring_drive::port::{OpenError, open_for};
use wetstring_drive::{LineSpec, Port, Signals};

/// What a port is opened from.
pub(crate) enum PortSource {
    /// A line that we open.
    Line(LineSpec),
    /// The second end of a stream whose first end Python has.
    Stream(Stream),
}

/// Python's end of a stream, until it is taken.
pub(crate) type Near = Mutex<Option<Stream>>;

impl PortSource {
    /// The source that these arguments name, and Python's end of it.
    pub(crate) fn of(line: Option<&str>, descriptor: Option<u32>) -> PyResult<(Self, Near)> {
        if let Some(number) = descriptor {
            return Ok((Self::Line(LineSpec::Descriptor(number)), Near::default()));
        }
        if let Some(line) = line {
            let spec = line.parse::<LineSpec>();
            let spec = spec.map_err(|bad| PyValueError::new_err(bad.to_string()))?;
            if spec.has_datagrams() {
                let say = format!("expected a line of bytes, got {spec}");
                return Err(PyValueError::new_err(say));
            }
            return Ok((Self::Line(spec), Near::default()));
        }
        let (near, far) = pair()?;
        near.set_nonblocking(true)?;
        Ok((Self::Stream(far), Mutex::new(Some(near))))
    }

    /// Opens it.
    pub(crate) fn open(
        self,
        purpose: Purpose,
        signals: &Signals,
        notes: &mut dyn FnMut(&str),
    ) -> Result<Box<dyn Port>, OpenError> {
        match self {
            Self::Line(spec) => open_for(&spec, purpose, Some(signals), notes),
            Self::Stream(stream) => match live::stream(stream) {
                Ok(port) => Ok(Box::new(port)),
                Err(error) => Err(OpenError::Io { what: "use a stream".to_owned(), error }),
            },
        }
    }
}

/// Gives Python its end of a stream as a descriptor, which it then owns; `None` if there is none.
#[cfg(unix)]
pub(crate) fn take(near: &Near) -> Option<i64> {
    use std::os::fd::IntoRawFd as _;
    locked(near).take().map(|stream| i64::from(stream.into_raw_fd()))
}

/// The same on Windows, where it is a socket.
#[cfg(windows)]
pub(crate) fn take(near: &Near) -> Option<i64> {
    use std::os::windows::io::IntoRawSocket as _;
    locked(near).take().and_then(|stream| i64::try_from(stream.into_raw_socket()).ok())
}

/// Whether a descriptor can be used by its number: some containers forbid that for sockets.
#[pyfunction]
pub(crate) fn can_use(descriptor: u32) -> bool {
    wetstring_drive::open(&LineSpec::Descriptor(descriptor), None, &mut |_| {}).is_ok()
}
