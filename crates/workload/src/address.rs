//! Mapping of a trace's bytes to the drive: sectors, stacked devices, and requests beyond the end.

use crate::options::PastEnd;

/// Requests are rounded outwards to this many bytes.
pub(crate) const SECTOR: u64 = 512;
/// Wrapping and stacking keep alignment up to this many bytes.
const STEP: u64 = 1 << 20;
/// Scaling keeps alignment up to this many bytes.
const SCALED: u64 = 4096;

/// One piece of a request on the drive.
pub(crate) type Piece = (u64, u32);

/// Turns traced addresses into the drive's.
#[derive(Clone, Debug)]
pub(crate) struct AddressMap {
    past_end: PastEnd,
    drive: u64,
    /// Size for modulo or scaling of addresses.
    modulus: u64,
    /// Size of the traced device or stack of devices; only for scaling.
    extent: u64,
    /// First byte of each device in a stack; empty when devices share their addresses.
    bases: Vec<u64>,
    /// By device: its member of an array of joined drives; empty on anything else.
    on: Vec<OnMember>,
}

/// A device on a member of joined drives.
#[derive(Clone, Debug)]
struct OnMember {
    /// First byte of the member.
    start: u64,
    /// The place of its addresses there.
    map: AddressMap,
    /// Its number among the devices of the member.
    nth: u32,
}

impl OnMember {
    #[inline(never)]
    fn place(&self, offset: u64, bytes: u32) -> Result<(Piece, Option<Piece>), NoPlace> {
        let (first, rest) = self.map.place_here(self.nth, offset, bytes)?;
        let moved = |(offset, bytes): Piece| (self.start + offset, bytes);
        Ok((moved(first), rest.map(moved)))
    }
}

/// Why a request has no place on the drive.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// It exceeds the end of the drive, and no remedy was chosen.
    PastEnd {
        /// First byte after the request.
        end: u64,
    },
    /// It is larger than the whole drive.
    TooLarge,
}

/// Rounds `bytes` down to a multiple of `step`, or of a smaller power of two when that would be nothing.
fn whole_steps(bytes: u64, step: u64) -> u64 {
    let mut step = step;
    while bytes < step && step > SECTOR {
        step /= 2;
    }
    bytes / step * step
}

impl AddressMap {
    /// A map for a drive of `drive` bytes. `extents` is the highest byte of each device, when known; devices are stacked
    /// when `stack` says so. `extent` is the size of the traced device for scaling, instead of the highest byte.
    pub fn new(past_end: PastEnd, drive: u64, extents: &[u64], stack: bool, extent: Option<u64>) -> Self {
        let mut bases = Vec::new();
        let mut top = extents.iter().copied().max().unwrap_or(0);
        if stack {
            top = 0;
            for device in extents {
                bases.push(top);
                top = top.saturating_add(device.div_ceil(STEP).saturating_mul(STEP));
            }
        }
        let extent = extent.unwrap_or(top).max(1);
        Self { past_end, drive, modulus: whole_steps(drive, STEP), extent, bases, on: Vec::new() }
    }

    /// A map for joined drives, where each device has its member, and follows the earlier devices of that member.
    pub fn on_members(past_end: PastEnd, starts: &[u64], extents: &[u64], member_of: &[u32]) -> Self {
        let mut whole = Self::new(past_end, starts.last().copied().unwrap_or(0), extents, false, None);
        let all = |member: u32| (0..extents.len()).filter(move |&device| member_of[device] == member);
        let on = |device: usize| {
            let member = member_of[device];
            let (start, end) = (starts[member as usize], starts[member as usize + 1]);
            let there: Vec<u64> = all(member).map(|device| extents[device]).collect();
            let nth = all(member).position(|other| other == device).unwrap_or(0) as u32;
            OnMember { start, map: Self::new(past_end, end - start, &there, true, None), nth }
        };
        whole.on = (0..extents.len()).map(on).collect();
        whole
    }

    /// How many devices have addresses of their own; 0 where they share them.
    pub fn stacked(&self) -> usize {
        self.bases.len().max(self.on.len())
    }

    /// The place of `bytes` bytes at `offset` of `device`, in one piece or two.
    #[inline(always)]
    pub fn place(&self, device: u32, offset: u64, bytes: u32) -> Result<(Piece, Option<Piece>), NoPlace> {
        match self.on.get(device as usize) {
            Some(member) => member.place(offset, bytes),
            None => self.place_here(device, offset, bytes),
        }
    }

    /// The same for what has its place in one piece.
    #[inline(always)]
    pub fn piece(&self, device: u32, offset: u64, bytes: u32) -> Option<Piece> {
        match self.place(device, offset, bytes) {
            Ok((piece, None)) => Some(piece),
            _ => None,
        }
    }

    /// The same where no device has a member of its own.
    #[inline(always)]
    fn place_here(&self, device: u32, offset: u64, bytes: u32) -> Result<(Piece, Option<Piece>), NoPlace> {
        let base = self.bases.get(device as usize).copied().unwrap_or(0);
        let Some(offset) = base.checked_add(offset) else { return Err(NoPlace::PastEnd { end: u64::MAX }) };
        let Some(end) = offset.checked_add(u64::from(bytes) + SECTOR - 1) else {
            return Err(NoPlace::PastEnd { end: u64::MAX });
        };
        let start = offset / SECTOR * SECTOR;
        let end = end / SECTOR * SECTOR;
        // At most 1 GiB and two sectors.
        let length = (end - start) as u32;
        match self.past_end {
            PastEnd::Error if end <= self.drive => Ok(((start, length), None)),
            PastEnd::Error => Err(NoPlace::PastEnd { end }),
            PastEnd::Wrap => self.wrap(start, length),
            PastEnd::Scale => self.scale(start, length),
        }
    }

    #[inline]
    fn wrap(&self, start: u64, length: u32) -> Result<(Piece, Option<Piece>), NoPlace> {
        if u64::from(length) > self.modulus {
            return Err(NoPlace::TooLarge);
        }
        let start = if start < self.modulus { start } else { start % self.modulus };
        let room = self.modulus - start;
        if u64::from(length) <= room {
            Ok(((start, length), None))
        } else {
            Ok(((start, room as u32), Some((0, length - room as u32))))
        }
    }

    #[inline(never)]
    fn scale(&self, start: u64, length: u32) -> Result<(Piece, Option<Piece>), NoPlace> {
        if u64::from(length) > self.modulus {
            return Err(NoPlace::TooLarge);
        }
        if start + u64::from(length) > self.extent.div_ceil(SECTOR) * SECTOR {
            return Err(NoPlace::PastEnd { end: start + u64::from(length) });
        }
        let align = 1 << start.trailing_zeros().min(SCALED.trailing_zeros());
        let scaled = (u128::from(start) * u128::from(self.modulus) / u128::from(self.extent)) as u64;
        let last = self.modulus - u64::from(length);
        let start = scaled.min(last) / align * align;
        Ok(((start, length), None))
    }

    /// Size of the drive of a device in bytes.
    pub fn drive(&self, device: u32) -> u64 {
        self.on.get(device as usize).map_or(self.drive, |on| on.map.drive)
    }

    /// Size of the traced device in bytes, as used for scaling.
    pub fn extent(&self) -> u64 {
        self.extent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_base::Stream;

    const MIB: u64 = 1 << 20;

    #[test]
    fn sectors_are_rounded_outwards() {
        let map = AddressMap::new(PastEnd::Error, MIB, &[], false, None);
        assert_eq!(map.place(0, 0, 512), Ok(((0, 512), None)));
        assert_eq!(map.place(0, 1, 511), Ok(((0, 512), None)));
        assert_eq!(map.place(0, 511, 2), Ok(((0, 1024), None)));
        assert_eq!(map.place(0, MIB - 1, 1), Ok(((MIB - 512, 512), None)));
        assert_eq!(map.place(0, MIB - 1, 2), Err(NoPlace::PastEnd { end: MIB + 512 }));
    }

    #[test]
    fn wrapping_keeps_alignment_and_splits_at_the_end() {
        let map = AddressMap::new(PastEnd::Wrap, 4 * MIB + 1536, &[], false, None);
        assert_eq!(map.place(0, 8192, 4096), Ok(((8192, 4096), None)));
        assert_eq!(map.place(0, 9 * MIB + 8192, 4096), Ok(((MIB + 8192, 4096), None)));
        assert_eq!(map.place(0, 4 * MIB - 4096, 12_288), Ok(((4 * MIB - 4096, 4096), Some((0, 8192)))));
        assert_eq!(map.place(0, 4 * MIB, 512), Ok(((0, 512), None)));
        assert_eq!(map.place(0, 0, 5 << 20), Err(NoPlace::TooLarge));
        let tiny = AddressMap::new(PastEnd::Wrap, 12_288, &[], false, None);
        assert_eq!(tiny.place(0, 8192, 4096), Ok(((0, 4096), None)), "12 KiB keep 8 KiB of power-of-two alignment");
    }

    #[test]
    fn scaling_fills_the_drive_and_stays_inside() {
        let map = AddressMap::new(PastEnd::Scale, 8 * MIB, &[2 * MIB], false, None);
        assert_eq!(map.place(0, MIB, 4096), Ok(((4 * MIB, 4096), None)));
        assert_eq!(map.place(0, 2 * MIB - 4096, 4096), Ok(((8 * MIB - 16_384, 4096), None)));
        let shrink = AddressMap::new(PastEnd::Scale, MIB, &[], false, Some(10 * MIB));
        assert_eq!(shrink.place(0, 10 * MIB - 4096, 4096), Ok(((MIB - 4096, 4096), None)));
        assert_eq!(shrink.place(0, 10 * MIB, 512), Err(NoPlace::PastEnd { end: 10 * MIB + 512 }));
    }

    #[test]
    fn stacked_devices_lie_one_behind_another() {
        let map = AddressMap::new(PastEnd::Error, 4 * MIB, &[MIB + 1, 512], true, None);
        assert_eq!(map.place(0, 0, 512), Ok(((0, 512), None)));
        assert_eq!(map.place(1, 0, 512), Ok(((2 * MIB, 512), None)));
        assert_eq!(map.place(1, u64::MAX - 4096, 512), Err(NoPlace::PastEnd { end: u64::MAX }));
    }

    #[test]
    fn devices_lie_on_their_members() {
        // Members of 4 and 6 MiB; devices 0 and 2 on the second, device 1 on the first.
        let starts = [0, 4 * MIB, 10 * MIB];
        let map = AddressMap::on_members(PastEnd::Error, &starts, &[MIB, 512, 3 * MIB], &[1, 0, 1]);
        assert_eq!(map.stacked(), 3);
        assert_eq!(map.place(0, 4096, 512), Ok(((4 * MIB + 4096, 512), None)));
        assert_eq!(map.place(1, 4096, 512), Ok(((4096, 512), None)));
        assert_eq!(map.place(2, 4096, 512), Ok(((5 * MIB + 4096, 512), None)));
        // The end of the first member is the end for its device.
        assert_eq!(map.place(1, 4 * MIB, 512), Err(NoPlace::PastEnd { end: 4 * MIB + 512 }));
        assert_eq!((map.drive(0), map.drive(1)), (6 * MIB, 4 * MIB));
        let wrapped = AddressMap::on_members(PastEnd::Wrap, &starts, &[MIB, 512], &[1, 0]);
        assert_eq!(wrapped.place(0, 6 * MIB + 512, 512), Ok(((4 * MIB + 512, 512), None)));
    }

    #[test]
    fn no_piece_ever_leaves_the_drive() {
        for seed in 0..200 {
            let mut random = Stream::new(seed, "address-test", 0);
            let drive = (random.below(1 << 26) + 8) * 512;
            let extent = random.below(1 << 40) + MIB;
            for past_end in [PastEnd::Error, PastEnd::Wrap, PastEnd::Scale] {
                let map = AddressMap::new(past_end, drive, &[extent], false, None);
                for _ in 0..100 {
                    let bytes = random.below(65_536) as u32 + 1;
                    let offset = random.below(extent - u64::from(bytes));
                    if let Ok((first, second)) = map.place(0, offset, bytes) {
                        for (start, length) in [Some(first), second].into_iter().flatten() {
                            assert!(length > 0 && start + u64::from(length) <= drive, "seed {seed}");
                            assert!(start % 512 == 0 && length % 512 == 0, "seed {seed}");
                        }
                    }
                }
            }
        }
    }
}
