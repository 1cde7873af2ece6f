//! The memory of this machine, and the drives that fit into it.

use crate::failure::Failure;
use wordline_drive::config::Parts;

/// Rejects a drive that does not fit into this machine's memory: otherwise the program would be killed without a
/// message.
pub fn fits_memory(parts: &Parts) -> Result<(), Failure> {
    fits(parts.derived().state_bytes)
}

/// The same for so many bytes of state.
pub fn fits(needed: u64) -> Result<(), Failure> {
    let free = free_memory();
    let granted = usize::try_from(needed).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok());
    if granted && free.is_none_or(|free| needed <= free) {
        return Ok(());
    }
    let gib = |bytes: u64| bytes as f64 / (1_u64 << 30) as f64;
    let has = free.map_or(String::new(), |free| format!(", and this machine has {:.1} GiB free", gib(free)));
    Err(Failure::Input(format!(
        "the drive's state would take {:.1} GiB of memory{has}: give fewer or larger pages in [geometry], or larger mapping \
         units by mapping.unit_kib",
        gib(needed)
    )))
}

/// Available memory in bytes, if the system reports it.
fn free_memory() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
