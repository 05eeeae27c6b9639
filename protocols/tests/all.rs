//! Tests of the public interface.

mod echo;
mod one_line;
