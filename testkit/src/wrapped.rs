//! Stores that change how another store answers.

use wetstring_proto::{FileInfo, Refusal, Reply, Request, Store};

/// A receiver's store that refuses the files for which `choose` returns a reason.
pub struct Picky<S, F> {
    /// What answers the other requests, and takes the files that are not refused.
    pub inner: S,
    /// Called for every file that is offered.
    pub choose: F,
}

impl<S: Store, F: FnMut(&FileInfo<'_>, &mut S) -> Option<Refusal>> Store for Picky<S, F> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        if let Request::Offer { info } = &request
            && let Some(refusal) = (self.choose)(info, &mut self.inner)
        {
            return Reply::Refuse(refusal);
        }
        self.inner.answer(request)
    }
}

/// A sender's store whose files end at `left`, whatever length they were offered with: they became shorter.
#[derive(Debug)]
pub struct Shrinking<S> {
    /// The store with the whole files.
    pub inner: S,
    /// Length of every file when it is read.
    pub left: u64,
}

impl<S: Store> Store for Shrinking<S> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        let Request::Read { offset, into } = request else { return self.inner.answer(request) };
        let left = usize::try_from(self.left.saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = into.len().min(left);
        if len == 0 {
            return Reply::Read(0);
        }
        self.inner.answer(Request::Read { offset, into: &mut into[..len] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{File, NoFiles, Source};

    #[test]
    fn refused_files_do_not_reach_the_inner_store() {
        let refused = |info: &FileInfo<'_>, _: &mut NoFiles| {
            info.name.ends_with(b".x").then_some(Refusal::Exists)
        };
        let mut picky = Picky { inner: NoFiles, choose: refused };
        for (name, reply) in [("a.x", Reply::Refuse(Refusal::Exists)), ("a.y", Reply::Done)] {
            let info = FileInfo { name: name.as_bytes(), ..FileInfo::default() };
            assert_eq!(picky.answer(Request::Offer { info }), reply);
        }
    }

    #[test]
    fn a_file_ends_where_it_was_cut() {
        let source = Source::new(vec![File::new("log", &[7; 100])]);
        let mut store = Shrinking { inner: source, left: 60 };
        assert!(matches!(store.answer(Request::Next), Reply::File(info) if info.size == Some(100)));
        for (offset, len) in [(0, 40), (40, 20), (60, 0), (80, 0)] {
            let reply = store.answer(Request::Read { offset, into: &mut [0; 40] });
            assert_eq!(reply, Reply::Read(len), "{offset}");
        }
    }
}
