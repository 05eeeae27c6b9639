//! Changes of terminals that are undone however the program ends, in whatever order their guards are dropped.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The state before a change.
pub(crate) trait Before {
    /// Whether both are of one thing.
    fn is_of(&self, other: &Self) -> bool;
    /// Restores the state; devices that have disappeared are ignored.
    fn restore(&self);
}

/// The states before all changes that are in effect, the last one last.
pub(crate) struct Saved<T>(Mutex<Vec<(u64, T)>>);

impl<T: Before> Saved<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn all(&self) -> MutexGuard<'_, Vec<(u64, T)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one; returns its number.
    pub(crate) fn add(&self, before: T) -> u64 {
        let mut all = self.all();
        let id = all.last().map_or(0, |(last, _)| last + 1);
        all.push((id, before));
        id
    }

    /// Undoes the change of this number. Of several of one thing that restores the state before all of them, once
    /// the last guard is dropped.
    pub(crate) fn undo(&self, id: u64) {
        let mut all = self.all();
        let Some(index) = all.iter().position(|(known, _)| *known == id) else { return };
        let (_, gone) = all.remove(index);
        match all[index..].iter_mut().find(|(_, later)| later.is_of(&gone)) {
            // It was changed again, and the later change is still in effect: that one has to restore the state
            // before both.
            Some((_, later)) => *later = gone,
            None => gone.restore(),
        }
    }

    /// Undoes all changes, the last one first.
    pub(crate) fn undo_all(&self) {
        let mut all = self.all();
        while let Some((_, last)) = all.pop() {
            last.restore();
        }
    }
}
