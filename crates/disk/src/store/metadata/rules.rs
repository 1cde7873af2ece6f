//! The file of rules: ranges and patterns for file systems that the store does not know.

use super::role::{Claim, Part, Rank, Role, DISK};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Contents of unknown meaning wait in so many bytes, unless the rules say otherwise.
pub const LATE_BYTES: u64 = 64 << 20;

/// Rules of the store that keeps metadata only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Bytes for contents of which it is not known yet whether they are metadata. What was written longest ago is dropped first.
    pub late_bytes: u64,
    /// Ranges of the disk that are kept whatever they hold.
    pub keep: Vec<Range>,
    /// Ranges of the disk that are dropped whatever they hold.
    pub drop: Vec<Range>,
    /// Patterns of blocks that are kept.
    pub pattern: Vec<Pattern>,
}

/// A range of the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Its first byte.
    pub from_byte: u64,
    /// The first byte behind it.
    pub to_byte: u64,
}

/// Blocks that are kept because of what they hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// Bytes of a block; it begins at a multiple of them.
    #[schemars(range(min = 512, max = 65536))]
    pub block_bytes: u32,
    /// Where in the block the pattern is.
    #[serde(default)]
    pub at_byte: u32,
    /// The pattern in hexadecimal digits, two for a byte.
    pub hex: String,
}

impl Default for Rules {
    fn default() -> Self {
        Self { late_bytes: LATE_BYTES, keep: Vec::new(), drop: Vec::new(), pattern: Vec::new() }
    }
}

/// A pattern that is ready to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Bytes of a block.
    pub block: u64,
    at: usize,
    bytes: Vec<u8>,
}

impl Ready {
    /// True if the block has the pattern.
    pub fn matches(&self, block: &[u8]) -> bool {
        block.get(self.at..self.at + self.bytes.len()) == Some(&self.bytes[..])
    }
}

impl Rules {
    /// Reads the rules for a disk of `bytes` bytes.
    ///
    /// # Errors
    /// Names file, line, key and value of what cannot be used.
    pub fn read(path: &Path, bytes: u64) -> Result<Self, String> {
        let failed = |error: wordline_settings::SettingsError| error.to_string();
        let loaded = wordline_settings::load_file::<Self>(path, &[], &|_| None, &[]).map_err(failed)?;
        let place = |key: &str| match loaded.origins.get(key) {
            Some(origin) => origin.to_string(),
            None => path.display().to_string(),
        };
        for (name, ranges) in [("keep", &loaded.value.keep), ("drop", &loaded.value.drop)] {
            for (index, range) in ranges.iter().enumerate() {
                let key = format!("{name}.{index}.to_byte");
                if range.to_byte <= range.from_byte {
                    let (from, to) = (range.from_byte, range.to_byte);
                    return Err(format!("{}: {key} = {to}: not beyond from_byte, which is {from}", place(&key)));
                }
                if range.to_byte > bytes {
                    let told = format!("beyond the disk, which has {bytes} bytes");
                    return Err(format!("{}: {key} = {}: {told}", place(&key), range.to_byte));
                }
            }
        }
        for (index, pattern) in loaded.value.pattern.iter().enumerate() {
            if let Err((field, told)) = pattern.ready() {
                let key = format!("pattern.{index}.{field}");
                return Err(format!("{}: {key}: {told}", place(&key)));
            }
        }
        Ok(loaded.value)
    }

    /// The claims of the ranges; where they overlap, what is kept wins.
    pub fn claims(&self) -> Vec<Claim> {
        let of = |ranges: &[Range], part: Part| -> Vec<Claim> {
            let role = Role { rank: Rank::User, volume: DISK, owner: 0, part };
            ranges.iter().map(|range| Claim { start: range.from_byte, end: range.to_byte, role }).collect()
        };
        [of(&self.drop, Part::Data), of(&self.keep, Part::Kept)].concat()
    }

    /// The patterns, ready to compare.
    pub fn patterns(&self) -> Vec<Ready> {
        self.pattern.iter().filter_map(|pattern| pattern.ready().ok()).collect()
    }
}

impl Pattern {
    /// The pattern ready to compare, or the key that is wrong and why.
    fn ready(&self) -> Result<Ready, (&'static str, String)> {
        let Self { block_bytes, at_byte, hex } = self;
        if !block_bytes.is_power_of_two() {
            return Err(("block_bytes", format!("{block_bytes} is not a power of two")));
        }
        let digits: Option<Vec<u8>> = hex.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
        let digits = digits.filter(|digits| !digits.is_empty() && digits.len() % 2 == 0);
        let Some(digits) = digits else {
            return Err((
                "hex",
                format!("\"{hex}\" is not a row of bytes of two hexadecimal digits, such as \"58465342\""),
            ));
        };
        let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        if bytes.iter().all(|byte| *byte == 0) {
            return Err(("hex", format!("\"{hex}\" is all zeros, as any unwritten block is")));
        }
        if u64::from(*at_byte) + bytes.len() as u64 > u64::from(*block_bytes) {
            return Err((
                "at_byte",
                format!("{at_byte} is too far on: the pattern does not fit into {block_bytes} bytes"),
            ));
        }
        Ok(Ready { block: u64::from(*block_bytes), at: *at_byte as usize, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read(name: &str, text: &str) -> Result<Rules, String> {
        let path = std::env::temp_dir().join(format!("wordline-rules-{name}-{}.toml", std::process::id()));
        fs::write(&path, text).unwrap();
        let read = Rules::read(&path, 1 << 30);
        fs::remove_file(&path).unwrap();
        read
    }

    #[test]
    fn ranges_and_patterns_are_read() {
        let text = "late_bytes = 4096\n[[keep]]\nfrom_byte = 0\nto_byte = 1024\n[[pattern]]\nblock_bytes = 4096\nhex = \"58465342\"\n";
        let rules = read("good", text).unwrap();
        assert_eq!((rules.late_bytes, rules.claims().len()), (4096, 1));
        let pattern = &rules.patterns()[0];
        assert!(pattern.matches(b"XFSB and more") && !pattern.matches(b"XFSC") && !pattern.matches(b"XFS"));
        assert_eq!(read("empty", "[[drop]]\nfrom_byte = 1\nto_byte = 2").unwrap().late_bytes, LATE_BYTES);
    }

    #[test]
    fn mistakes_name_line_key_and_value() {
        let range = "[[keep]]\nfrom_byte = 512\nto_byte = ";
        let pattern = "[[pattern]]\nblock_bytes = 4096\n";
        let wrong = [
            ("late_byte = 1", ":1", "late_bytes"),
            (&format!("{range}512"), ":3", "keep.0.to_byte = 512"),
            (&format!("{range}2000000000"), ":3", "1073741824 bytes"),
            (&format!("{range}-1"), ":3", "to_byte"),
            (&format!("{pattern}hex = \"5\""), ":3", "pattern.0.hex"),
            (&format!("{pattern}hex = \"xy\""), ":3", "hexadecimal"),
            (&format!("{pattern}hex = \"0000\""), ":3", "all zeros"),
            (&format!("{pattern}at_byte = 4095\nhex = \"1234\""), ":3", "does not fit"),
            ("[[pattern]]\nhex = \"12\"\nblock_bytes = 1000", ":3", "not a power of two"),
            ("[[pattern]]\nhex = \"12\"\nblock_bytes = 100", ":3", "512"),
        ];
        for (index, (text, line, word)) in wrong.into_iter().enumerate() {
            let told = read(&index.to_string(), text).unwrap_err();
            assert!(told.contains(&format!(".toml{line}")) && told.contains(word), "{text}: {told}");
        }
    }
}
