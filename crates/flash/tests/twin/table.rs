//! The twin's own table: cycles of each transfer on the pins, and durations of cycles and waits.
//!
//! Written independently from ONFI 1.0 (timing mode 5) and the command definitions of ONFI 4.2, section 5. The names of
//! the transfers are the model's, so that both can be compared.

use wordline_flash::Segment;

/// A time or duration in units of 10 ns, one half of a bus cycle (WE_n or RE_n low, then high). Half a cycle, because
/// tADL is three and a half cycles.
pub type Tick = u64;

/// Picoseconds per tick.
pub const TICK_PS: u64 = 10_000;

/// A cycle on the pins, or a wait that holds the bus.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pins {
    /// A command byte.
    Cle,
    /// An address byte.
    Ale,
    /// A byte of data to the die.
    In,
    /// A byte of data from the die.
    Out,
    /// No cycle, for this number of ticks.
    Wait(Tick),
}

use Pins::{Ale, Cle, In, Out, Wait};

/// tWC and tRC: 20 ns.
const CYCLE: Tick = 2;
/// tWB: 100 ns.
const WB: Pins = Wait(10);
/// tADL: 70 ns.
const ADL: Pins = Wait(7);
/// tRR: 20 ns.
const RR: Pins = Wait(2);
/// tCCS: 200 ns.
const CCS: Pins = Wait(20);

/// Cycles of a transfer; `In` and `Out` stand for as many cycles as there are bytes.
fn chain(segment: Segment) -> &'static [Pins] {
    match segment {
        // 00h, two column and three row addresses, 30h (31h, 32h, 35h).
        Segment::Read | Segment::ReadQueue | Segment::CacheRandom | Segment::CopybackRead => {
            &[Cle, Ale, Ale, Ale, Ale, Ale, Cle, WB]
        }
        Segment::ReadOut => &[RR, Out],
        // 06h, five addresses, E0h.
        Segment::ReadOutPlane => &[Cle, Ale, Ale, Ale, Ale, Ale, Cle, CCS, Out],
        // 31h; 3Fh.
        Segment::CacheSequential | Segment::CacheEnd => &[Cle, WB],
        // 85h, five addresses, 11h or 10h.
        Segment::CopybackProgramQueue | Segment::CopybackProgram => &[Cle, Ale, Ale, Ale, Ale, Ale, Cle, WB],
        // 80h, five addresses, data, 11h or 10h or 15h.
        Segment::ProgramQueue | Segment::Program | Segment::ProgramCache => {
            &[Cle, Ale, Ale, Ale, Ale, Ale, ADL, In, Cle, WB]
        }
        // 60h, three row addresses, D1h or D0h.
        Segment::EraseQueue | Segment::Erase => &[Cle, Ale, Ale, Ale, Cle, WB],
        // 84h; 13h; 61h; D2h.
        Segment::ProgramSuspend | Segment::ProgramResume | Segment::EraseSuspend | Segment::EraseResume => &[Cle, WB],
        other => panic!("no script carries {other:?}"),
    }
}

/// The cycles of a transfer with `bytes` of data, in order.
pub fn cycles(segment: Segment, bytes: u32) -> Vec<Pins> {
    let mut cycles = Vec::new();
    for &pins in chain(segment) {
        let times = if matches!(pins, In | Out) { bytes as usize } else { 1 };
        cycles.extend(std::iter::repeat_n(pins, times));
    }
    cycles
}

/// Duration of a cycle or wait.
pub fn ticks(pins: Pins) -> Tick {
    match pins {
        Wait(ticks) => ticks,
        Cle | Ale | In | Out => CYCLE,
    }
}

/// True if a transfer has page data; commands and addresses may pass it.
pub fn carries_data(segment: Segment) -> bool {
    chain(segment).iter().any(|pins| matches!(pins, In | Out))
}

/// True if data go to the die.
pub fn carries_in(segment: Segment) -> bool {
    chain(segment).contains(&In)
}

/// Pages of a block in all tests; the page classes below are written out for it.
pub const PAGES: u32 = 12;

/// Order of fast and slow pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The classes in turn.
    Cyclic,
    /// jung13's alpha set, lambda 2.
    Alpha,
    /// jung13's beta set, lambda 4.
    Beta,
}

/// Busy times in ticks.
#[derive(Clone, Debug)]
pub struct Durations {
    /// tR by class.
    pub read: Vec<Tick>,
    /// tPROG by class.
    pub program: Vec<Tick>,
    /// The class of a page.
    pub order: Order,
    /// tBERS.
    pub erase: Tick,
    /// tDBSY.
    pub dummy: Tick,
    /// tRCBSY.
    pub cache_read: Tick,
    /// tCBSY.
    pub cache_program: Tick,
    /// Suspension of the array.
    pub suspend: Tick,
    /// Resumption of the array.
    pub resume: Tick,
}

impl Durations {
    fn class(&self, page: u32) -> usize {
        let page = page as usize;
        match self.order {
            Order::Cyclic => page % self.read.len(),
            Order::Alpha => [0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0][page],
            Order::Beta => [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0][page],
        }
    }

    /// tR of a page.
    pub fn t_r(&self, page: u32) -> Tick {
        self.read[self.class(page)]
    }

    /// tPROG of a page.
    pub fn t_prog(&self, page: u32) -> Tick {
        self.program[self.class(page)]
    }
}
