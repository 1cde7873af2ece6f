//! The devices of a trace, numbered in the order in which they appear.

use std::collections::HashMap;

/// Names and numbers of devices. Looking up the device of the previous line costs one comparison.
#[derive(Debug, Default)]
pub(crate) struct DeviceTable {
    names: Vec<String>,
    /// Numbers by the bytes as they stand in the file; several spellings may have one name.
    numbers: HashMap<Box<[u8]>, u32>,
    last: (Vec<u8>, u32),
    /// The bytes of the last one, if they are eight at most, and which of eight bytes they are; no byte otherwise.
    word: u64,
    mask: u64,
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
        self.remember(raw, number);
        number
    }

    fn remember(&mut self, raw: &[u8], number: u32) {
        self.last.0.clear();
        self.last.0.extend_from_slice(raw);
        self.last.1 = number;
        let short = !raw.is_empty() && raw.len() <= 8;
        let mut bytes = [0; 8];
        if short {
            bytes[..raw.len()].copy_from_slice(raw);
        }
        self.word = u64::from_le_bytes(bytes);
        self.mask = if short { u64::MAX >> (64 - 8 * raw.len()) } else { 0 };
    }

    /// The device of the last line, and the length of its name, if `bytes` begin with that and it is short.
    #[inline]
    pub fn same(&self, bytes: &[u8]) -> Option<(u32, usize)> {
        let word = u64::from_le_bytes(*bytes.first_chunk()?);
        (self.mask != 0 && word & self.mask == self.word).then_some((self.last.1, self.last.0.len()))
    }

    /// The device that is written as `raw`, if it is none that is new.
    pub fn known(&mut self, raw: &[u8]) -> Option<u32> {
        if self.last.0 == raw && !self.names.is_empty() {
            return Some(self.last.1);
        }
        let number = *self.numbers.get(raw)?;
        self.remember(raw, number);
        Some(number)
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
