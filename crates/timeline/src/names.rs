//! Names that are written once and then referenced by number.

use rustc_hash::FxHashMap;

/// One of Perfetto's tables of interned names.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: FxHashMap<Box<str>, u64>,
}

impl Names {
    /// The number of `name`, from 1 on, and true if it is new and must be written.
    pub(crate) fn number(&mut self, name: &str) -> (u64, bool) {
        if let Some(&number) = self.numbers.get(name) {
            return (number, false);
        }
        let number = self.numbers.len() as u64 + 1;
        self.numbers.insert(name.into(), number);
        (number, true)
    }
}
