//! The tests of the language. One program, since linking each file by itself took minutes;
//! a file is a module here, and its tests are run by its name: `cargo test --workspace FILE::`.

mod benchmark;
mod conformance;
mod language;
