//! Tests of the public interface.

mod echo;
mod one_line;
mod slow_store;
