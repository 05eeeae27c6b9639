//! A Kermit server's other side: the files behind it, who may do what, and many clients at once.
//!
//! ```text
//! kermit::Server --Request::Serve--> Session --> Tree (LocalTree: a directory of this machine)
//!                                       |---> Users (who may come in)
//!                                       '---> Audit (a line for each thing that was done)
//! ```
//!
//! * [`tree`] is what a server needs of the files: names below a root, listed, read, written, moved.
//!   [`LocalTree`] has them on disk, and nothing outside its root can be reached through it: every
//!   name is opened part by part, and no symbolic link is followed.
//! * [`Session`] is the store of one client: it does what the commands say, within what its
//!   [`Rules`] allow.
//! * `rights` is the table of what each command does, and which right that needs; [`quota`] counts every byte.
//! * `sandbox` has the kernel keep each session below the root, where there is Landlock.
//! * [`listen`] serves all who connect, a thread and a bounded amount of memory each.
//! * [`places`] says how many there may be: those who have proved themselves, and those who have not yet.
//! * [`guesses`] makes it slow to guess a password.

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
