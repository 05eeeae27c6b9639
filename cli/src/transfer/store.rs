//! What a transfer stores into, or takes from.

use std::io::{Sink, Stdout};

use wetstring_drive::SinkStore;
use wetstring_drive::disk::{DiskStore, FileRecord};
use wetstring_proto::Store;

/// What a transfer stores into, or takes from.
pub(crate) enum FileStore {
    /// Files.
    Disk(Box<DiskStore>),
    /// Stdout.
    Stream(SinkStore<Stdout>),
    /// Nobody keeps anything.
    Nowhere(SinkStore<Sink>),
}

impl FileStore {
    pub(crate) fn store(&mut self) -> &mut dyn Store {
        match self {
            Self::Disk(disk) => &mut **disk,
            Self::Stream(sink) => sink,
            Self::Nowhere(sink) => sink,
        }
    }

    pub(crate) fn files(&self) -> &[FileRecord] {
        match self {
            Self::Disk(disk) => disk.files(),
            Self::Stream(sink) => sink.files(),
            Self::Nowhere(sink) => sink.files(),
        }
    }

    pub(crate) fn takes_stdin(&self) -> bool {
        matches!(self, Self::Disk(disk) if disk.takes_stdin())
    }

    /// Files of which there is no record.
    pub(crate) fn unlisted(&self) -> u64 {
        if let Self::Disk(disk) = self { disk.unlisted() } else { 0 }
    }

    /// The names of files that were to be sent and whose turn never came.
    pub(crate) fn unasked(&self) -> Vec<Vec<u8>> {
        if let Self::Disk(disk) = self { disk.unasked() } else { Vec::new() }
    }

    /// What has come of the last file is wrong, and not to be continued.
    pub(crate) fn discard_partial(&mut self) {
        if let Self::Disk(disk) = self {
            disk.discard_partial();
        }
    }

    pub(crate) fn last_error(&self) -> Option<&str> {
        match self {
            Self::Disk(disk) => disk.last_error(),
            Self::Stream(sink) => sink.last_error(),
            Self::Nowhere(sink) => sink.last_error(),
        }
    }
}
