//! The tests of the program with object storage: what only it can do, and what is the same for every store.

mod common;
mod peers;

mod objects;
mod serve_names;
mod serve_rights;
