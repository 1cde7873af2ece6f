//! The low-level command interface: every cycle by hand.

mod agreement;
mod commands;
mod fuzz;
mod illegal;
mod modes;
mod player;
