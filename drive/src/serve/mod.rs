//! The other side of a Kermit server: its files, access rules, and many clients at once.
//!
//! ```text
//! kermit::Server --Remote::Serve--> Session --> Tree (LocalTree: a directory of this machine)
//!                                       |---> Users (who may come in)
//!                                       '---> Audit (one line per action)
//! ```
//!
//! * [`tree`] is the server's interface to files: names below a root, listed, read, written, moved.
//!   [`LocalTree`] is on disk, and nothing outside its root can be reached through it: every name is opened
//!   component by component, and no symbolic link is followed.
//! * [`Session`] is the store of one client: it executes its commands within its [`Rules`].
//! * `rights` is the table of each command's effects and the rights they need; [`quota`] counts every byte.
//! * `sandbox` confines each session to the root, where the kernel has Landlock.
//! * [`listen`] serves all clients that connect, with a thread and bounded memory each.
//! * [`places`] limits the sessions: of clients that have authenticated, and of those that have not yet.
//! * [`guesses`] slows down guessing of passwords.

pub mod guesses;
pub mod listen;
mod listing;
mod local;
pub mod places;
mod proving;
pub mod quota;
mod rights;
mod sandbox;
mod session;
pub mod tree;
pub mod users;

pub use guesses::{Guesses, Pace};
pub use listen::Service;
pub use local::LocalTree;
pub use places::{Limits, NoPlace, Place, Places, Source};
pub use quota::{KeepFree, Quota, Quotas};
pub use rights::{Action, Effect};
pub use session::{Audit, Rules, Session};
pub use tree::{Content, Entry, Room, Tree};
pub use users::Users;
