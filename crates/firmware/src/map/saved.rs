//! The map in a snapshot. It is most of a drive's state, so it is kept in a form that is read as fast as memory allows.
//!
//! What is kept is which places are valid, and the unit in each of these; the forward map follows from them. What a place
//! held before its data became invalid is not kept: nothing asks for it.
//!
//! A *chunk* is what a range of places holds: a word of 64 bits for the validity of 64 places each, then the differences of
//! successive units, as 32 bits that wrap, all their lowest bytes first, then all bytes above, and so on. Numbers are
//! little-endian. In this form the upper bytes are nearly all alike, and units that were written in order differ by one.

use super::Map;
use wordline_base::prefetch;

/// Places of a chunk: a multiple of 64, enough that a chunk compresses well, and that another thread is worth asking.
const PLACES: usize = 1 << 19;
/// The most bytes of a chunk.
pub const MOST_CHUNK_BYTES: usize = PLACES / 8 + 4 * PLACES;
/// So many units ahead, an entry of the forward map is asked for.
const AHEAD: usize = 24;

/// What a range of places holds, as it was read.
#[derive(Debug)]
pub struct Chunk {
    number: u32,
    valid: Vec<u64>,
    units: Vec<u32>,
}

impl Chunk {
    /// Reads a chunk of a map with so many places; none if the bytes are not one.
    #[must_use]
    pub fn read(number: u32, places: u32, bytes: &[u8]) -> Option<Self> {
        let places = (places as usize).saturating_sub(number as usize * PLACES).min(PLACES);
        let (valid, units) = bytes.split_at_checked(places.div_ceil(64) * 8)?;
        let valid: Vec<u64> = valid.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect();
        // There is no place after the last.
        let beyond = !places.is_multiple_of(64) && valid.last()? >> (places % 64) != 0;
        let count = valid.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        if beyond || units.len() != 4 * count {
            return None;
        }
        let (low, high) = units.split_at(2 * count);
        let ((first, second), (third, fourth)) = (low.split_at(count), high.split_at(count));
        let bytes = first.iter().zip(second).zip(third.iter().zip(fourth));
        let mut before = 0_u32;
        let unit = |((&first, &second), (&third, &fourth))| {
            before = before.wrapping_add(u32::from_le_bytes([first, second, third, fourth]));
            before
        };
        let units = bytes.map(unit).collect();
        Some(Self { number, valid, units })
    }
}

impl Map {
    /// In how many chunks it is saved.
    #[must_use]
    pub fn chunks(&self) -> u32 {
        self.reverse.len().div_ceil(PLACES) as u32
    }

    /// Writes a chunk over what `bytes` hold.
    pub fn write_chunk(&self, number: u32, bytes: &mut Vec<u8>) {
        let first = number as usize * PLACES;
        let end = self.reverse.len().min(first + PLACES);
        bytes.clear();
        let (mut differences, mut before) = (Vec::with_capacity(PLACES), 0);
        for at in first / 64..end.div_ceil(64) {
            let mut word = self.valid.at(at);
            bytes.extend(word.to_le_bytes());
            while word != 0 {
                let unit = self.reverse.at(at * 64 + word.trailing_zeros() as usize);
                differences.push(unit.wrapping_sub(before));
                before = unit;
                word &= word - 1;
            }
        }
        for byte in 0..4 {
            bytes.extend(differences.iter().map(|difference: &u32| difference.to_le_bytes()[byte]));
        }
    }

    /// Takes a chunk that was read for as many places as this map has. The map is new but for other chunks, and not shared. Whatever the chunk says, each
    /// valid place then holds the unit that lies there, and each unit lies in one place at most.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn take_chunk(&mut self, chunk: &Chunk) -> Result<(), String> {
        let (Some(forward), Some(reverse), Some(valid)) =
            (self.forward.own_mut(), self.reverse.own_mut(), self.valid.own_mut())
        else {
            return Err("its map is shared".into());
        };
        let first = chunk.number as usize * PLACES;
        valid[first / 64..][..chunk.valid.len()].copy_from_slice(&chunk.valid);
        let mut at = 0;
        for (index, &word) in chunk.valid.iter().enumerate() {
            let mut word = word;
            while word != 0 {
                let place = first + index * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                if let Some(&later) = chunk.units.get(at + AHEAD) {
                    prefetch(forward, later as usize);
                }
                let unit = chunk.units[at];
                at += 1;
                let Some(entry) = forward.get_mut(unit as usize) else {
                    return Err(format!("place {place} holds unit {unit}, which does not exist"));
                };
                if *entry != 0 {
                    return Err(format!("unit {unit} lies in places {} and {place}", *entry - 1));
                }
                *entry = place as u32 + 1;
                reverse[place] = unit;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_base::Stream;

    /// A map of three chunks, the last of which ends within a word.
    fn written() -> Map {
        let (units, places) = (500_000, (2 * PLACES + 1000) as u32);
        let mut map = Map::new(units, places);
        let mut random = Stream::new(1, "map-test", 0);
        for nth in 0..800_000 {
            let unit = if nth < 300_000 { nth } else { random.below(u64::from(units)) as u32 };
            let place = if nth < 300_000 { nth } else { random.below(u64::from(places)) as u32 };
            if !map.is_valid(place) {
                map.bind(unit, place).into_iter().for_each(|old| map.invalidate(old));
            }
        }
        map
    }

    fn read(map: &Map, like: &Map, alter: impl Fn(u32, &mut Vec<u8>)) -> Result<Map, String> {
        let (mut read, mut bytes) = (Map::new(like.forward.len() as u32, like.reverse.len() as u32), Vec::new());
        for number in 0..map.chunks() {
            map.write_chunk(number, &mut bytes);
            assert!(bytes.len() <= MOST_CHUNK_BYTES);
            alter(number, &mut bytes);
            let chunk = Chunk::read(number, like.reverse.len() as u32, &bytes).ok_or("no chunk")?;
            read.take_chunk(&chunk)?;
        }
        Ok(read)
    }

    #[test]
    fn a_map_is_read_as_it_was_written() {
        let mut map = written();
        for shared in [false, true] {
            let read = read(&map, &map, |_, _| ()).unwrap();
            assert!((0..map.logical_units()).all(|unit| read.place(unit) == map.place(unit)));
            assert!(read.valid.iter().eq(map.valid.iter()));
            assert!((0..map.reverse.len() as u32)
                .all(|place| !map.is_valid(place) || read.unit_at(place) == map.unit_at(place)));
            map.share();
            assert!(shared || map.take_chunk(&Chunk { number: 0, valid: vec![], units: vec![] }).is_err());
        }
    }

    /// By hand: places 1, 2 and 65 hold units 7, 8 and 3; the differences are 7, 1, and five less.
    #[test]
    fn a_chunk_is_what_the_description_says() {
        let mut map = Map::new(10, 70);
        [(7, 1), (8, 2), (3, 65)].into_iter().for_each(|(unit, place)| assert!(map.bind(unit, place).is_none()));
        let mut bytes = vec![9; 5];
        map.write_chunk(0, &mut bytes);
        let words = [0b110, 0, 0, 0, 0, 0, 0, 0, 0b10, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(bytes, [&words[..], &[7, 1, 0xfb], &[0, 0, 0xff], &[0, 0, 0xff], &[0, 0, 0xff]].concat());
        assert_eq!(map.chunks(), 1);
    }

    #[test]
    fn what_is_no_map_is_refused() {
        let map = written();
        let refused = |alter: &dyn Fn(u32, &mut Vec<u8>)| read(&map, &map, alter).map(drop).unwrap_err();
        assert_eq!(refused(&|_, bytes| bytes.truncate(7)), "no chunk");
        assert_eq!(refused(&|_, bytes| bytes.truncate(bytes.len() - 1)), "no chunk");
        assert_eq!(refused(&|_, bytes| bytes.push(0)), "no chunk");
        // A place behind the last; the words of the third chunk are 16.
        assert_eq!(refused(&|number, bytes| bytes[16 * 8 - 1] |= 0x80 * u8::from(number == 2)), "no chunk");
        // The second chunk once more as the third is no longer of its size; the first chunk's units twice.
        let second = |number, bytes: &mut Vec<u8>| {
            if number == 1 {
                map.write_chunk(0, bytes);
            }
        };
        let told = refused(&second);
        assert!(told.starts_with("unit ") && told.contains("lies in places"), "{told}");
        let beyond = |_, bytes: &mut Vec<u8>| bytes.last_mut().into_iter().for_each(|byte| *byte = 0x7f);
        let told = refused(&beyond);
        assert!(told.contains("which does not exist"), "{told}");
    }
}
