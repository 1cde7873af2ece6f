//! Prints `docs/tables.md`: `cargo run -p wordline-tables --example page > docs/tables.md`.

fn main() {
    print!("{}", wordline_tables::page());
}
