//! Two connected ends inside this process. This system can only wait for sockets, so that is what they are.

use std::io;
use std::net::Ipv4Addr;

/// What would wait at a path.
pub use std::net::TcpListener as Listener;
/// One of them.
pub use std::net::TcpStream as Stream;

/// The library has no sockets with a path here.
pub fn listen(_: &str) -> io::Result<Listener> {
    let say = "sockets with a path are for Unix only; use HOST:PORT instead";
    Err(io::Error::new(io::ErrorKind::Unsupported, say))
}

/// Both. Another process that connects to the port meanwhile is refused.
pub fn pair() -> io::Result<(Stream, Stream)> {
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0))?;
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
