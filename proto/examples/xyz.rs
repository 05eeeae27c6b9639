//! Sends or receives a file by ZMODEM over TCP: `xyz send FILE HOST:PORT`, `xyz receive FILE HOST:PORT`.
//!
//! With lrzsz as the peer: `socat TCP-LISTEN:2000 EXEC:'rz -b'`.

use std::error::Error;
use std::net::TcpStream;
use std::time::Duration;
use wetstring_proto::blocking::{Incoming, Outgoing, Piece, Stream, run};
use wetstring_proto::zmodem::{Config, Receiver, Sender};
use wetstring_proto::{NoTrace, Outcome};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [verb, path, address] = &words[..] else {
        return Err("expected: xyz send|receive FILE HOST:PORT".into());
    };
    let port = TcpStream::connect(address)?;
    port.set_read_timeout(Some(Duration::from_millis(100)))?;
    let (mut port, config) = (Stream::new(port), Config::default());
    let outcome = if verb == "send" {
        let bytes = std::fs::read(path)?;
        let name = path.rsplit('/').next().unwrap_or(path);
        let memory = vec![0; config.sender_memory()];
        let mut engine = Sender::new(config, memory)?;
        run(&mut engine, &mut port, &mut Outgoing::new(name.as_bytes(), &bytes), &mut NoTrace)?
    } else {
        let memory = vec![0; config.receiver_memory()];
        let mut engine = Receiver::new(config, memory)?;
        let mut bytes = Vec::new();
        let mut files = Incoming::new(|piece| {
            if let Piece::Data(more) = piece {
                bytes.extend_from_slice(more);
            }
            Ok(())
        });
        let outcome = run(&mut engine, &mut port, &mut files, &mut NoTrace)?;
        std::fs::write(path, bytes)?;
        outcome
    };
    match outcome {
        Outcome::Done => Ok(()),
        Outcome::Failed(failure) => Err(failure.into()),
    }
}
