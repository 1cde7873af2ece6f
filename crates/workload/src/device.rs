//! The devices of a trace, numbered in the order in which they appear.

use std::collections::HashMap;

/// Names and numbers of devices. Looking up the device of the previous line costs one comparison.
#[derive(Debug, Default)]
pub(crate) struct DeviceTable {
    names: Vec<String>,
    /// Numbers by the bytes as they stand in the file; several spellings may have one name.
    numbers: HashMap<Box<[u8]>, u32>,
    last: (Vec<u8>, u32),
}

impl DeviceTable {
    /// Number of the device that is written as `raw`; `name` makes its name when it is new.
    #[inline]
    pub fn number(&mut self, raw: &[u8], name: impl FnOnce(&[u8]) -> String) -> u32 {
        if self.last.0 == raw && !self.names.is_empty() {
            return self.last.1;
        }
        self.look_up(raw, name)
    }

    fn look_up(&mut self, raw: &[u8], name: impl FnOnce(&[u8]) -> String) -> u32 {
        let number = match self.numbers.get(raw) {
            Some(&number) => number,
            None => {
                let name = name(raw);
                let number = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
                    self.names.push(name);
                    self.names.len() - 1
                }) as u32;
                self.numbers.insert(raw.into(), number);
                number
            }
        };
        self.last.0.clear();
        self.last.0.extend_from_slice(raw);
        self.last.1 = number;
        number
    }

    /// Names in order of first appearance.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_first_appearance_and_spellings_merge() {
        let mut table = DeviceTable::default();
        let name = |raw: &[u8]| String::from_utf8_lossy(raw).replace(' ', "");
        assert_eq!(table.number(b"b", name), 0);
        assert_eq!(table.number(b"a", name), 1);
        assert_eq!(table.number(b"b", name), 0);
        assert_eq!(table.number(b"b ", name), 0);
        assert_eq!(table.names(), ["b", "a"]);
    }
}
