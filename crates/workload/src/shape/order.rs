//! Order of requests: sequentiality and seek distance.

use super::{share, Moments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::Histogram;

/// Requests that continue at the end of an earlier one of the same device.
///
/// `chang11` (IWSSPS 2009, section 4) compares a write with the one K writes earlier, since other processes may come
/// between, and uses K = 10. Here any of the last K counts, so K = 1 is the plain definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SequenceInfo {
    /// Share of requests that start at the end of the previous request of their device, 0 to 1.
    pub plain_share: f64,
    /// The same, by bytes.
    pub plain_bytes_share: f64,
    /// K.
    pub window: u32,
    /// Share of requests that start at the end of one of the last K requests of their device, 0 to 1.
    pub window_share: f64,
    /// The same, by bytes.
    pub window_bytes_share: f64,
    /// For writes only, as in the source: share of writes that start at the end of one of the last K writes of their
    /// device; none without writes.
    pub window_write_share: Option<f64>,
    /// The same, by bytes: the source's sequential ratio.
    pub window_write_bytes_share: Option<f64>,
}

/// Distance from the end of a request to the start of the next one of the same device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeekInfo {
    /// Number of seeks: the requests less one, for each device.
    pub seeks: u64,
    /// Mean distance in bytes, without sign.
    pub mean_bytes: f64,
    /// Median distance; at most 0.4 % too large.
    pub p50_bytes: u64,
    /// 90th percentile of the distances; at most 0.4 % too large. None below ten seeks.
    pub p90_bytes: Option<u64>,
    /// Longest distance.
    pub max_bytes: u64,
    /// Standard deviation of the signed distances, in bytes: large for random access.
    pub deviation_bytes: f64,
}

/// The last K ends.
#[derive(Clone, Debug)]
struct Ring {
    ends: Box<[u64]>,
    at: usize,
}

impl Ring {
    fn new(window: u32) -> Self {
        // No request begins at the highest address: the reader rejects it.
        Self { ends: vec![u64::MAX; window as usize].into(), at: 0 }
    }

    /// True if one of the ends is `start`; then `end` replaces the oldest.
    #[inline]
    fn follows(&mut self, start: u64, end: u64) -> bool {
        let found = self.ends.contains(&start);
        self.ends[self.at] = end;
        self.at = if self.at + 1 == self.ends.len() { 0 } else { self.at + 1 };
        found
    }
}

struct Place {
    end: u64,
    all: Ring,
    writes: Ring,
}

/// Number of requests, and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    requests: u64,
    bytes: u64,
}

impl Count {
    #[inline]
    fn add(&mut self, bytes: u32) {
        self.requests += 1;
        self.bytes += u64::from(bytes);
    }
}

/// Collects order statistics of a trace.
pub(crate) struct Order {
    window: u32,
    /// By device; none before its first request.
    places: Vec<Option<Place>>,
    all: Count,
    writes: Count,
    plain: Count,
    windowed: Count,
    windowed_writes: Count,
    distances: Histogram,
    signed: Moments,
}

impl Order {
    /// Uses a window of the last `window` requests, from 1.
    pub fn new(window: u32) -> Self {
        Self {
            window,
            places: Vec::new(),
            all: Count::default(),
            writes: Count::default(),
            plain: Count::default(),
            windowed: Count::default(),
            windowed_writes: Count::default(),
            distances: Histogram::default(),
            signed: Moments::default(),
        }
    }

    /// Counts a request that moves bytes; true if it begins at the byte after the previous one.
    #[inline]
    pub fn add(&mut self, device: u32, offset: u64, bytes: u32, write: bool) -> bool {
        let end = offset + u64::from(bytes);
        self.all.add(bytes);
        let device = device as usize;
        if device >= self.places.len() {
            self.places.resize_with(device + 1, || None);
        }
        let mut plain = false;
        let place = match &mut self.places[device] {
            Some(place) => {
                plain = place.end == offset;
                self.distances.record(offset.abs_diff(place.end));
                self.signed.add(offset as f64 - place.end as f64);
                place
            }
            none => none.insert(Place { end: u64::MAX, all: Ring::new(self.window), writes: Ring::new(self.window) }),
        };
        place.end = end;
        if plain {
            self.plain.add(bytes);
        }
        if place.all.follows(offset, end) {
            self.windowed.add(bytes);
        }
        if write {
            self.writes.add(bytes);
            if place.writes.follows(offset, end) {
                self.windowed_writes.add(bytes);
            }
        }
        plain
    }

    /// Number of requests that did not begin at the byte after the previous one.
    pub fn random(&self) -> u64 {
        self.all.requests - self.plain.requests
    }

    /// Sequentiality; none without requests.
    pub fn sequence(&self) -> Option<SequenceInfo> {
        Some(SequenceInfo {
            plain_share: share(self.plain.requests, self.all.requests)?,
            plain_bytes_share: share(self.plain.bytes, self.all.bytes)?,
            window: self.window,
            window_share: share(self.windowed.requests, self.all.requests)?,
            window_bytes_share: share(self.windowed.bytes, self.all.bytes)?,
            window_write_share: share(self.windowed_writes.requests, self.writes.requests),
            window_write_bytes_share: share(self.windowed_writes.bytes, self.writes.bytes),
        })
    }

    /// Seek distances; none without two requests on a device.
    pub fn seeks(&self) -> Option<SeekInfo> {
        Some(SeekInfo {
            seeks: self.distances.count(),
            mean_bytes: self.distances.mean()?,
            p50_bytes: self.distances.ranked(0.5)?,
            p90_bytes: self.distances.quantile(0.9),
            max_bytes: self.distances.max()?,
            deviation_bytes: self.signed.deviation()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_streams_are_sequential_in_a_window_only() {
        let mut order = Order::new(2);
        // Two alternating streams of 100 bytes each, then a jump.
        for (offset, write) in [(0, true), (1000, false), (100, true), (1100, false), (200, true), (5000, true)] {
            order.add(0, offset, 100, write);
        }
        let found = order.sequence().unwrap();
        assert_eq!((found.plain_share, found.window), (0.0, 2));
        assert_eq!(found.window_share, 3.0 / 6.0);
        assert_eq!(found.window_bytes_share, 3.0 / 6.0);
        // Of the four writes, the second and third follow the one before.
        assert_eq!(found.window_write_share, Some(0.5));
        let seeks = order.seeks().unwrap();
        // From 100 to 1000, 1100 to 100, 200 to 1100, 1200 to 200, 300 to 5000.
        assert_eq!(seeks.seeks, 5);
        assert_eq!(seeks.mean_bytes, (900.0 + 1000.0 + 900.0 + 1000.0 + 4700.0) / 5.0);
        assert_eq!(seeks.max_bytes, 4700);
        let signed = [900.0, -1000.0, 900.0, -1000.0, 4700.0];
        let mean = signed.iter().sum::<f64>() / 5.0;
        let deviation = (signed.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / 5.0).sqrt();
        assert!((seeks.deviation_bytes - deviation).abs() < 1e-9);
    }

    #[test]
    fn devices_do_not_continue_each_other() {
        let mut order = Order::new(10);
        assert!(!order.add(0, 0, 4096, true));
        assert!(!order.add(3, 4096, 4096, true));
        assert!(order.add(0, 4096, 4096, false));
        assert_eq!(order.random(), 2);
        assert_eq!(order.seeks().unwrap().seeks, 1);
        // A write after a read is sequential among all requests and not among writes.
        let found = order.sequence().unwrap();
        assert_eq!((found.plain_share, found.window_write_share), (1.0 / 3.0, Some(0.0)));
        assert_eq!(Order::new(1).sequence(), None);
        assert_eq!(Order::new(1).seeks(), None);
    }
}
