//! Numbers in little-endian order out of blocks that anybody may have written: beyond the end of a block there are zeros.

/// The number of `N` bytes at `at`.
fn number<const N: usize>(data: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    if let Some(found) = at.checked_add(N).and_then(|end| data.get(at..end)) {
        bytes.copy_from_slice(found);
    }
    bytes
}

/// The 16 bits at `at`.
pub fn u16_at(data: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(number(data, at))
}

/// The 32 bits at `at`.
pub fn u32_at(data: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(number(data, at))
}

/// The 64 bits at `at`.
pub fn u64_at(data: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(number(data, at))
}

/// True if `what` is at `at`.
pub fn has(data: &[u8], at: usize, what: &[u8]) -> bool {
    at.checked_add(what.len()).and_then(|end| data.get(at..end)) == Some(what)
}
