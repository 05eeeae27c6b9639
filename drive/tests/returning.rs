//! A port that goes and comes back while it is used.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use wetstring_drive::event::{self, Interest};
use wetstring_drive::port::{Finder, Returning};
use wetstring_drive::{Port, Signals, open};

const LONG: Duration = Duration::from_secs(20);

/// Calls an address again.
struct Calls {
    to: SocketAddr,
    losses: u32,
    /// What it says before it calls.
    says: Vec<Result<(), String>>,
}

impl Finder for Calls {
    fn gone(&mut self) {
        self.losses += 1;
    }

    fn find(&mut self) -> Result<Option<Box<dyn Port>>, String> {
        match self.says.pop() {
            Some(Ok(())) => Ok(None),
            Some(Err(why)) => Err(why),
            None => {
                Ok(open(&format!("tcp://{}", self.to).parse().unwrap(), None, &mut |_| {}).ok())
            }
        }
    }
}

/// A port to a peer that says this to each caller and closes.
fn calling(text: &'static [u8], says: Vec<Result<(), String>>) -> Returning<Calls> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(20) {
            stream.unwrap().write_all(text).unwrap();
        }
    });
    let mut calls = Calls { to, losses: 0, says: Vec::new() };
    let port = calls.find().unwrap().unwrap();
    calls.says = says;
    Returning::new(port, calls, Signals::detached().unwrap())
}

/// The next bytes, or why there are none.
fn next(port: &mut Returning<Calls>) -> std::io::Result<Vec<u8>> {
    let mut bytes = [0; 100];
    loop {
        if let Some(len) = port.read(&mut bytes)? {
            return Ok(bytes[..len].to_vec());
        }
        let came = event::wait(&mut [Interest::read(port.read_source())], Some(LONG));
        assert!(came.unwrap(), "nothing came in time");
    }
}

fn news(port: &mut Returning<Calls>) -> Vec<String> {
    std::iter::from_fn(|| port.news()).collect()
}

#[test]
fn it_is_used_again_as_often_as_it_carries_something() {
    let mut port = calling(b"abc", Vec::new());
    for round in 0..8 {
        assert_eq!(next(&mut port).unwrap(), b"abc", "{round}");
    }
    let said = news(&mut port);
    assert_eq!(said.iter().filter(|text| text.contains(" is gone; the transfer")).count(), 7);
    assert_eq!(said.iter().filter(|text| text.ends_with(" again")).count(), 7, "{said:?}");
    let (port, calls, times) = port.into_parts();
    assert!(port.is_some());
    assert_eq!((calls.unwrap().losses, times), (7, 7));
}

#[test]
fn one_that_carries_nothing_has_failed() {
    let mut port = calling(b"", Vec::new());
    assert_eq!(next(&mut port).unwrap_err().kind(), ErrorKind::NotConnected);
    assert_eq!(port.write(b"a").unwrap_err().kind(), ErrorKind::NotConnected);
    let (port, calls, times) = port.into_parts();
    assert!(port.is_none());
    assert_eq!((calls.unwrap().losses, times), (5, 5));
}

#[test]
fn why_it_cannot_be_opened_is_told_once() {
    let denied = || Err("permission denied".to_owned());
    // From the last to the first.
    let says = vec![denied(), Ok(()), denied(), denied()];
    let mut port = calling(b"abc", says);
    assert_eq!(next(&mut port).unwrap(), b"abc");
    assert_eq!(next(&mut port).unwrap(), b"abc");
    let said = news(&mut port);
    assert_eq!(said[1], "permission denied; trying again", "{said:?}");
    assert_eq!(said.len(), 3, "{said:?}");
}

#[test]
fn a_search_ends_with_its_port() {
    let mut port = calling(b"", vec![Ok(()); 1000]);
    let mut bytes = [0; 10];
    while port.news().is_none() {
        let _ = port.read(&mut bytes);
    }
    assert!(matches!(port.write(b"lost"), Ok(None)), "nothing is taken meanwhile");
    assert!(!port.rest().is_zero());
    let (port, calls, times) = port.into_parts();
    assert!(port.is_none() && calls.unwrap().says.len() > 900);
    assert_eq!(times, 0);
}
