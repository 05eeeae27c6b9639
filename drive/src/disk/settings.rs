//! The user's settings of the store: the rows `store.*`.

use super::{Collision, Incomplete, Resume, Verify};
use wetstring_proto::{choice, settings};

choice! {
    for Collision:
    "rename" => Collision::Rename,
    "replace" => Collision::Replace,
    "backup" => Collision::Backup,
    "append" => Collision::Append,
    "reject" => Collision::Reject,
    "update" => Collision::Update,
}

choice! {
    /// Whether blocks of zeros take room on the disk.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Holes {
        /// They do.
        #[default]
        No = "no",
        /// They become holes, where the system and its file system can.
        Zeros = "zeros",
    }
}

choice! { for Incomplete: "keep" => Incomplete::Keep, "discard" => Incomplete::Discard }

choice! {
    for Resume:
    "never" => Resume::Never,
    "part" => Resume::Part,
    "existing" => Resume::Existing,
}

choice! {
    for Verify:
    "stream" => Verify::Stream,
    "stored" => Verify::Stored,
    "auto" => Verify::Auto,
}

choice! {
    /// What to do with symbolic links that are sent as such.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Links {
        /// Refuse them.
        #[default]
        Refuse = "refuse",
        /// Make those that lead nowhere outside the directory.
        Inside = "inside",
    }
}

settings! {
    /// The user's settings of the store of received files.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct StoreSettings {
        "store.collision" collision: Collision[word] = "backup",
            "What to do when a file of the name exists: give the new one another name (NAME.~1~), replace the old one, put the old one aside (as NAME.~1~, as C-Kermit and GNU programs do), append to it, refuse the new one, or replace an older one",
            "C-Kermit SET FILE COLLISION", keywords(&["file collision"]),
            spellings(&[("discard", "reject"), ("overwrite", "replace")]);
        "store.incomplete" incomplete: Incomplete[word] = "keep",
            "Whether an incomplete file stays as NAME.part, which a later transfer can resume",
            "C-Kermit SET FILE INCOMPLETE", keywords(&["file incomplete"]),
            spellings(&[("automatic", "keep")]);
        "store.resume" resume: Resume[word] = "part",
            "What to resume when the sender offers to: nothing; a NAME.part of the same file, as its length and date or a comparison tell; or whatever is there, also under its own name",
            "[KPM] RESEND";
        "store.verify" verify: Verify[word] = "auto",
            "What is compared with the sender's file before it is called verified: the bytes that came, those that are stored (read again from the device), or those that are stored where that takes less than a tenth of the time or others may change the directory",
            "Wetstring: the sender's digest is of its file, not of the bytes on the line";
        "store.holes" holes: Holes[word] = "no",
            "Whether blocks of zeros become holes, which take no room on the disk: never, or wherever the system and its file system can (Linux)",
            "rsync --sparse";
        "store.links" links: Links[word] = "refuse",
            "Symbolic links that are sent as such (wst send --links): refuse them, or make those that lead nowhere outside the directory",
            "rsync --links and --safe-links";
    }
}
