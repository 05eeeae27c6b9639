//! Runs of the laboratory on all cores. Which core ran what is not to be seen in the outcomes.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use wetstring_lab::Recorder;
use wetstring_lab::scenario::{Outcome, Scenario};

/// What became of these scenarios, in their order.
pub(super) fn outcomes(jobs: &[&Scenario]) -> Vec<Outcome> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(jobs.len());
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Outcome)>> = Mutex::new(Vec::with_capacity(jobs.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((index, job)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    jobs.get(index).map(|job| (index, job))
                } {
                    let outcome = job.run(&mut Recorder::off());
                    if let Ok(mut done) = done.lock() {
                        done.push((index, outcome));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}
