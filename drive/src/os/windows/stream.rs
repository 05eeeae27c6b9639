//! Two connected ends inside this process. This system can only wait for sockets, so that is what they are.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// One of them.
pub use std::net::TcpStream as Stream;

/// Both. Another process that connects to the port meanwhile is refused.
pub fn pair() -> io::Result<(Stream, Stream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let ours = Stream::connect(listener.local_addr()?)?;
    let own = ours.local_addr()?;
    let theirs = loop {
        let (stream, from) = listener.accept()?;
        if from == own {
            break stream;
        }
    };
    ours.set_nodelay(true)?;
    theirs.set_nodelay(true)?;
    Ok((ours, theirs))
}
