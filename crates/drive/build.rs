//! A new preset is a new file: it must be seen without a change in the code.

fn main() {
    println!("cargo:rerun-if-changed=../../drives");
}
