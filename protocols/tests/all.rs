//! Everything that is tested from outside.

mod echo;
mod one_line;
