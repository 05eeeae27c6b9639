//! The store of a transfer.

use std::io::{Sink, Stdout};

use wetstring_drive::SinkStore;
use wetstring_drive::disk::{DiskStore, FileRecord};
use wetstring_proto::Store;
use wetstring_proto::file::Left;

use crate::transfer::direction::Direction;

/// The store of a transfer.
pub(crate) enum FileStore {
    /// Files.
    Disk(Box<DiskStore>),
    /// Stdout.
    Stream(SinkStore<Stdout>),
    /// Everything is discarded.
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

    /// What is to be sent, before the transfer.
    pub(crate) fn batch(&mut self) -> Left {
        if let Self::Disk(disk) = self { disk.batch() } else { Left::default() }
    }

    /// Whether directories and links are sent, or may be received.
    pub(crate) fn has_entries(&self, direction: Direction) -> bool {
        match (self, direction) {
            (Self::Disk(disk), Direction::Send) => disk.has_entries(),
            (Self::Disk(_), Direction::Receive) => true,
            _ => false,
        }
    }

    pub(crate) fn takes_stdin(&self) -> bool {
        matches!(self, Self::Disk(disk) if disk.takes_stdin())
    }

    /// Files without a record.
    pub(crate) fn unlisted(&self) -> u64 {
        if let Self::Disk(disk) = self { disk.unlisted() } else { 0 }
    }

    /// Names of files that were to be sent and not started.
    pub(crate) fn unasked(&self) -> Vec<Vec<u8>> {
        if let Self::Disk(disk) = self { disk.unasked() } else { Vec::new() }
    }

    /// The partial last file is wrong, and must not be resumed.
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
