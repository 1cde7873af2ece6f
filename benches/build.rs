//! Tells the program which compiler made it: instructions are compared only with figures of the same one.

use std::process::Command;

fn main() {
    let rustc = std::env::var_os("RUSTC").expect("cargo says which compiler it uses");
    let output = Command::new(rustc).arg("--version").output().expect("the compiler runs");
    let version = String::from_utf8_lossy(&output.stdout);
    println!("cargo::rustc-env=WORDLINE_RUSTC={}", version.trim());
    println!("cargo::rerun-if-changed=build.rs");
}
