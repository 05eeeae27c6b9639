//! Tests of the public interface.

mod behind_the_end;
mod echo;
mod one_line;
mod slow_store;
mod two_ends;
