//! How files end: the current one, and those that a sender has put aside.

use super::{DiskStore, FileOutcome};
use wetstring_proto::file::{Reply, StoreError};

impl DiskStore {
    /// The current entry is not sent.
    pub(super) fn pass_over(&mut self) -> Reply<'static> {
        match (&mut self.sending, self.files.last_mut()) {
            (Some(sending), Some(record)) if sending.is_open() => {
                sending.drop_current();
                record.outcome = FileOutcome::PassedOver;
                Reply::Done
            }
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }

    /// The current file goes on without being open: another one is sent before the peer has it.
    pub(super) fn aside(&mut self) -> Reply<'static> {
        let record = self.files.len().checked_sub(1);
        match (&mut self.sending, record) {
            (Some(sending), Some(record)) => {
                sending.aside(record);
                Reply::Done
            }
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }

    /// The oldest file that was put aside is over.
    pub(super) fn settle(&mut self, complete: bool, verified: bool) -> Reply<'static> {
        let Some(sending) = &mut self.sending else {
            return Reply::Failed(StoreError::Unsupported);
        };
        sending.settle(complete, verified, &mut self.files);
        Reply::Done
    }

    /// Closes what is open. Closing twice is harmless.
    pub(super) fn close(&mut self, complete: bool, verified: bool) -> Reply<'static> {
        if let Some(sending) = &mut self.sending {
            while sending.settle(false, false, &mut self.files) {}
        }
        self.close_current(complete, verified)
    }

    pub(super) fn close_current(&mut self, complete: bool, verified: bool) -> Reply<'static> {
        let record = self.files.last_mut();
        if let Some(sending) = self.sending.as_mut().filter(|sending| sending.is_open()) {
            sending.close(complete, verified, record);
        } else if let Some(receiving) = self.receiving.as_mut().filter(|open| open.is_open())
            && let Err(failed) = receiving.close(complete, verified, record)
        {
            return self.fail(failed);
        }
        self.follow();
        Reply::Done
    }

    /// A file received earlier, which the last one has put aside, is there now.
    fn follow(&mut self) {
        let Some((last, earlier)) = self.files.split_last_mut() else { return };
        let Some(aside) = &last.put_aside else { return };
        for record in earlier.iter_mut().filter(|record| record.path == last.path) {
            record.path = Some(aside.clone());
        }
    }
}
