//! A wire of the streams of `futures-io`, which async-std, smol and embassy's `std` ports have.

// The clock of a program: nothing in the engines uses this module.
#![allow(clippy::disallowed_methods)]

extern crate std;

use super::AsyncWire;
use crate::time::{Duration, Instant};
use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::Poll;
use futures_io::{AsyncRead, AsyncWrite};
use std::io::{Error, ErrorKind, Result};
use std::vec::Vec;

/// Anything that is `AsyncRead` and `AsyncWrite` of `futures-io`, and a function that makes a future of a time to wait,
/// since these streams come without a clock: `async_io::Timer::after`, or the browser's by `gloo_timers`.
#[derive(Debug)]
pub struct FuturesStream<S, T> {
    inner: S,
    timer: T,
    start: std::time::Instant,
    left: Vec<u8>,
}

impl<S, T> FuturesStream<S, T> {
    /// The wire that this stream is; `timer` makes a future that is ready after a time.
    pub fn new(inner: S, timer: T) -> Self {
        Self { inner, timer, start: std::time::Instant::now(), left: Vec::new() }
    }

    /// The stream again, and what was read from it and not by the protocol.
    pub fn into_inner(self) -> (S, Vec<u8>) {
        (self.inner, self.left)
    }
}

impl<S, T, F> AsyncWire for FuturesStream<S, T>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: FnMut(Duration) -> F,
    F: Future,
{
    type Error = Error;

    async fn read(&mut self, into: &mut [u8], patience: Duration) -> Result<usize> {
        let mut late = pin!((self.timer)(patience));
        let inner = &mut self.inner;
        // What has come counts, also if the time is over.
        poll_fn(move |cx| match Pin::new(&mut *inner).poll_read(cx, into) {
            Poll::Ready(Ok(0)) => Poll::Ready(Err(ErrorKind::UnexpectedEof.into())),
            Poll::Ready(read) => Poll::Ready(read),
            Poll::Pending => late.as_mut().poll(cx).map(|_| Ok(0)),
        })
        .await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let inner = &mut self.inner;
        let len = poll_fn(|cx| Pin::new(&mut *inner).poll_write(cx, bytes)).await?;
        if len == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
        poll_fn(|cx| Pin::new(&mut *inner).poll_flush(cx)).await.map(|()| len)
    }

    async fn rest(&mut self, time: Duration) {
        let _ = (self.timer)(time).await;
    }

    fn now(&mut self) -> Instant {
        Instant(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn unread(&mut self, bytes: &[u8]) {
        self.left.extend_from_slice(bytes);
    }
}
