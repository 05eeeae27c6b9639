//! Runs of the laboratory on all cores. The outcomes do not depend on which core ran what.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use wetstring_lab::Recorder;
use wetstring_lab::scenario::{Outcome, Scenario};

/// One thread for each core, but at most one for each job.
fn threads(jobs: usize) -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get).min(jobs)
}

/// The outcomes of these scenarios, in order.
pub(super) fn outcomes(jobs: &[&Scenario]) -> Vec<Outcome> {
    in_order(threads(jobs.len()), jobs, |job| job.run(&mut Recorder::off()))
}

/// The results of these jobs, in their order; at most `threads` are worked on at once.
pub(super) fn in_order<J: Sync, T: Send>(
    threads: usize,
    jobs: &[J],
    of: impl Fn(&J) -> T + Sync,
) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(jobs.len())));
    std::thread::scope(|scope| {
        for _ in 0..threads.min(jobs.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { return };
                    let result = of(job);
                    if let Ok(mut done) = done.lock() {
                        done.push((index, result));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Threads that work on numbered jobs, and deliver each result as soon as it is ready.
///
/// Dropping it does not join them: a run cannot be interrupted, the program can.
pub(super) struct WorkerPool<T> {
    results: Receiver<(usize, T)>,
    threads: Vec<JoinHandle<()>>,
}

/// A report of the [`WorkerPool`].
pub(super) enum PoolEvent<T> {
    /// The result of the job with this number.
    Done(usize, T),
    /// Nothing yet.
    Nothing,
    /// All results were delivered.
    Over,
}

impl<T: Send + 'static> WorkerPool<T> {
    /// Starts work on the jobs from 0 up to `jobs`.
    pub(super) fn start(jobs: usize, work: impl Fn(usize) -> T + Send + Sync + 'static) -> Self {
        let (send, results) = channel();
        let shared = Arc::new((AtomicUsize::new(0), work));
        let thread = |_| {
            let (shared, send) = (shared.clone(), send.clone());
            std::thread::spawn(move || {
                let (next, work) = &*shared;
                loop {
                    let job = next.fetch_add(1, Ordering::Relaxed);
                    if job >= jobs || send.send((job, work(job))).is_err() {
                        return;
                    }
                }
            })
        };
        Self { results, threads: (0..threads(jobs)).map(thread).collect() }
    }

    /// Waits at most this long for a report.
    ///
    /// # Panics
    ///
    /// If a job panicked, once all others have finished.
    pub(super) fn next(&mut self, patience: Duration) -> PoolEvent<T> {
        match self.results.recv_timeout(patience) {
            Ok((job, result)) => PoolEvent::Done(job, result),
            Err(RecvTimeoutError::Timeout) => PoolEvent::Nothing,
            Err(RecvTimeoutError::Disconnected) => {
                for thread in self.threads.drain(..) {
                    if let Err(panic) = thread.join() {
                        std::panic::resume_unwind(panic);
                    }
                }
                PoolEvent::Over
            }
        }
    }
}
