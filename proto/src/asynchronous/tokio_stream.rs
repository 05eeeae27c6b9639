//! A wire of tokio's streams.

extern crate std;

use super::AsyncWire;
use crate::time::{Duration, Instant};
use std::io::{Error, ErrorKind, Result};
use std::vec::Vec;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Anything that is `AsyncRead` and `AsyncWrite`: a `TcpStream`, a serial port of the crate `tokio-serial`.
#[derive(Debug)]
pub struct TokioStream<S> {
    inner: S,
    start: tokio::time::Instant,
    left: Vec<u8>,
}

impl<S> TokioStream<S> {
    /// The wire that this stream is.
    pub fn new(inner: S) -> Self {
        Self { inner, start: tokio::time::Instant::now(), left: Vec::new() }
    }

    /// The stream again, and what was read from it and not by the protocol.
    pub fn into_inner(self) -> (S, Vec<u8>) {
        (self.inner, self.left)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWire for TokioStream<S> {
    type Error = Error;

    async fn read(&mut self, into: &mut [u8], patience: Duration) -> Result<usize> {
        // A read that is given up has taken nothing.
        match tokio::time::timeout(patience, self.inner.read(into)).await {
            Ok(Ok(0)) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(_) => Ok(0),
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self.inner.write(bytes).await? {
            0 => Err(ErrorKind::WriteZero.into()),
            len => self.inner.flush().await.map(|()| len),
        }
    }

    async fn rest(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn now(&mut self) -> Instant {
        Instant(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn unread(&mut self, bytes: &[u8]) {
        self.left.extend_from_slice(bytes);
    }
}
