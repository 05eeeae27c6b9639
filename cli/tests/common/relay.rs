//! A line between a client and a server that stops in the middle of a file.
#![allow(dead_code, reason = "each test program uses a part of this")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// A relay for one connection, which holds back what the client sends beyond some bytes.
pub(crate) struct Relay {
    /// Where it listens, `HOST:PORT`.
    pub(crate) at: String,
    resume: Sender<bool>,
    passed: Arc<AtomicUsize>,
}

impl Relay {
    /// In front of the server at `at`; this many bytes pass before it stops.
    pub(crate) fn before(at: &str, passes: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let here = listener.local_addr().expect("an address");
        let (resume, told) = channel();
        let (at, passed) = (at.to_owned(), Arc::<AtomicUsize>::default());
        let count = passed.clone();
        thread::spawn(move || relay(&listener, &at, passes, &told, &count));
        Self { at: here.to_string(), resume, passed }
    }

    /// The rest passes.
    pub(crate) fn resume(&self) {
        let _ = self.resume.send(true);
    }

    /// How many bytes of the client have passed.
    pub(crate) fn passed(&self) -> usize {
        self.passed.load(Ordering::Relaxed)
    }

    /// The connection ends.
    pub(crate) fn cut(&self) {
        let _ = self.resume.send(false);
    }
}

fn relay(
    listener: &TcpListener,
    at: &str,
    passes: usize,
    told: &Receiver<bool>,
    passed: &AtomicUsize,
) {
    let (mut client, _) = listener.accept().expect("a client");
    let mut server = TcpStream::connect(at).expect("the server");
    let (mut back, mut down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || {
        let _ = std::io::copy(&mut down, &mut back);
        let _ = back.shutdown(Shutdown::Both);
    });
    let (mut chunk, mut free) = ([0; 4096], false);
    loop {
        // Also when the test has forgotten it.
        if passed.load(Ordering::Relaxed) >= passes && !free {
            free = told.recv().unwrap_or(false);
            if !free {
                break;
            }
        }
        match client.read(&mut chunk) {
            Ok(count @ 1..) if server.write_all(&chunk[..count]).is_ok() => {
                passed.fetch_add(count, Ordering::Relaxed);
            }
            _ => break,
        }
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = client.shutdown(Shutdown::Both);
}
