//! The settings of a world that is not a program: Kermit's, and those of a store of files that every program with
//! the language has.

use wetstring_proto::kermit;
use wetstring_proto::settings::{Setting, Settings};

use crate::world::Fault;

wetstring_proto::choice! {
    /// What becomes of a file whose name exists.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Collision {
        /// It is put aside.
        Backup = "backup",
        /// The new one is refused.
        Reject = "reject",
        /// It is replaced.
        Replace = "replace",
    }
}

wetstring_proto::settings! {
    /// The settings.
    #[derive(Clone, Debug)]
    pub(crate) struct OwnRows {
        "store.collision" collision: Collision[word] = "backup",
            "What to do when a file of the name exists",
            "C-Kermit SET FILE COLLISION", keywords(&["file collision"]),
            spellings(&[("discard", "reject"), ("overwrite", "replace")]);
    }
    parts { kermit: kermit::Config }
}

impl OwnRows {
    /// Every row.
    pub(crate) fn rows() -> Vec<&'static Setting> {
        Self::TABLE.iter().collect()
    }

    /// Sets one by its name.
    pub(crate) fn put(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        self.set(name, value).map_err(|bad| Fault::new(bad.to_string()))
    }

    /// The value of one, if there is such a row.
    pub(crate) fn shown(&self, name: &str) -> Option<String> {
        let mut out = String::new();
        self.show(name, &mut out).ok()?;
        Some(out)
    }
}
