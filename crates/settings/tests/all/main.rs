//! Settings, seen from outside, in one program.

mod common;
mod fuzz;
mod keys;
mod layers;
mod messages;
