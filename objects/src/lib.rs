//! A server's files in object storage: S3 and what speaks like it, Google, Azure, memory.
//!
//! [`ObjectTree`] is a [`Tree`](wetstring_drive::serve::Tree) below a prefix of a bucket. It keeps nothing of its own, so that any
//! number of servers may share one bucket. An object appears when it is whole, so there are no
//! `.part` files, and what was cut short is gone: nothing is resumed into a bucket.
//!
//! Object stores have no directories. Here a prefix with something below it is one, and an empty
//! one is kept by an object called [`MARKER`].
//!
//! Which account, endpoint and region: from the environment, as the vendors' own tools have it
//! (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT`, `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME`...).
//!
//! Everything here needs the feature `stores`, without which this crate is empty and needs no other: work on the rest
//! of the workspace does not wait for its packages.

#![forbid(unsafe_code)]

#[cfg(feature = "stores")]
mod bucket;
#[cfg(feature = "stores")]
mod naming;
#[cfg(feature = "stores")]
mod receiving;
#[cfg(feature = "stores")]
mod stores;

#[cfg(feature = "stores")]
pub use naming::MARKER;
#[cfg(feature = "stores")]
pub use stores::ObjectTree;
