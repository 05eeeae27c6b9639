//! What differs between systems, and nothing else does: `unix` and `windows` have the same names.
//!
//! | name | what it is |
//! |---|---|
//! | [`event`] | what can be waited for, and the waiting |
//! | [`fd`], `fs`, `io` | handles, and the calls of POSIX on files that stores make |
//! | [`files`] | files where the calls alone are not enough: marks, names, moves |
//! | `net` | numbers of errors, and options of sockets |
//! | `port` | lines that are devices, processes, terminals |
//! | [`process`] | shells, groups of processes, signals by number |
//! | `sandbox` | the confinement of a thread |
//! | `signals` | Ctrl-C and the like |
//! | [`stream`] | two connected ends inside this process |
//! | [`terminal`] | the user's terminal |
//! | `tun` | network interfaces |

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as here;
#[cfg(windows)]
use windows as here;

pub use here::{event, fd, files, port, process, stream, terminal};
pub(crate) use here::{fs, io, net, sandbox, signals, tun};
