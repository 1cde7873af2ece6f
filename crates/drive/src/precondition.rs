//! Preconditioning: bringing a new drive into the state to be measured.
//!
//! The steps and the steady-state test are those of the SNIA Solid State Storage Performance Test Specification 2.0
//! (workload-independent preconditioning; rounds, range and slope of the tracked value).

use crate::config::PreconditionConfig;
use crate::device::Device;
use crate::drive::Drive;
use crate::progress::{amplification, Progress, Start};
pub use crate::rounds::is_steady;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::{Op, Request, Stream};
use wordline_firmware::Fault;

/// Rounds after which it is given up.
const MOST_ROUNDS: usize = 100;
/// Share of the capacity that a round writes.
const ROUND: f64 = 0.25;
/// Requests in flight while preconditioning takes time.
const TIMED_DEPTH: u32 = 64;
/// Units that are drawn together: what is asked for of them comes side by side.
const GROUP: u64 = 8;
/// Groups drawn ahead of their writing.
const AHEAD: u64 = 3;
/// Groups since the drawing when their map entries are at hand.
const KNOWN: u64 = 1;
/// The same when the records of their blocks are at hand, too.
const NEAR: u64 = 2;
/// Units between two reports of progress.
const REPORT: u64 = 1 << 18;

/// Summary of the preconditioning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Preconditioned {
    /// True if it took simulated time.
    pub timed: bool,
    /// Logical pages (mapping units) written in order.
    pub filled_units: u64,
    /// Logical pages (mapping units) written at random.
    pub random_units: u64,
    /// The tracked value of each round: write amplification, or (timed) mapping units per second.
    pub rounds: Vec<f64>,
    /// Blocks that got a number of earlier page reads.
    #[serde(default)]
    pub read_blocks: u32,
    /// True if the rounds reached steady state.
    pub steady: bool,
    /// Write amplification of the last round, or of all random writes if there were no rounds.
    pub write_amplification: Option<f64>,
    /// True if it was interrupted.
    pub interrupted: bool,
}

/// Writes the drive as configured. `report` gets the progress and says whether to go on.
///
/// If an external policy is interrupted while it decides, the drive keeps that state and cannot continue.
///
/// # Errors
/// When the firmware broke a rule.
pub fn precondition(
    drive: &mut Drive,
    config: &PreconditionConfig,
    seed: u64,
    report: &mut dyn FnMut(Progress) -> bool,
) -> Result<Preconditioned, Fault> {
    drive.kernel_mut().0.unshare();
    let mut writer = Writer {
        random: Stream::new(seed, "precondition", 0),
        timed: config.timed,
        written: 0,
        expected: 0,
        begun: Start::new(drive),
        report,
        stopped: false,
    };
    let mut done = Preconditioned { timed: config.timed, ..Preconditioned::default() };
    match write_all(drive, config, &mut writer, &mut done) {
        Err(fault) if fault.is_interrupt() => writer.stopped = true,
        ended => ended?,
    }
    done.interrupted = writer.stopped;
    if config.block_reads > 0 && !done.interrupted {
        let mut random = Stream::new(seed, "block reads", 0);
        done.read_blocks = drive.kernel_mut().0.invent_reads(config.block_reads, &mut random);
    }
    Ok(done)
}

/// Does all steps, until they are done or the writer is stopped.
fn write_all(
    drive: &mut Drive,
    config: &PreconditionConfig,
    writer: &mut Writer<'_>,
    done: &mut Preconditioned,
) -> Result<(), Fault> {
    let units = u64::from(drive.kernel().plan().logical_units);
    let overwrites = (config.overwrites * units as f64).round() as u64;
    writer.expected = overwrites + if config.fill { units } else { 0 };
    // What is written here is as if the drive had rested since.
    drive.kernel_mut().0.use_slc(false);
    if !config.timed {
        drive.drain()?;
        drive.kernel_mut().0.set_timed(false);
    }
    if config.fill {
        drive.kernel_mut().0.expect_filling();
        writer.write(drive, units, false, &mut done.filled_units)?;
    }
    if overwrites > 0 {
        let before = drive.written();
        writer.write(drive, overwrites, true, &mut done.random_units)?;
        done.write_amplification = amplification(drive, before);
    }
    while config.steady_state && !writer.stopped && !done.steady && done.rounds.len() < MOST_ROUNDS {
        let (before, start, earlier) = (drive.written(), drive.now(), done.random_units);
        let round = (ROUND * units as f64).ceil() as u64;
        writer.expected += round;
        writer.write(drive, round, true, &mut done.random_units)?;
        done.write_amplification = amplification(drive, before);
        let seconds = (drive.now() - start) as f64 / 1e12;
        let rate = (done.random_units - earlier) as f64 / seconds;
        let tracked = if config.timed { rate } else { done.write_amplification.unwrap_or(1.0) };
        done.rounds.push(tracked);
        done.steady = is_steady(&done.rounds);
    }
    drive.drain()?;
    if !config.timed {
        drive.kernel_mut().0.set_timed(true);
    }
    drive.kernel_mut().0.use_slc(true);
    Ok(())
}

struct Writer<'a> {
    random: Stream,
    timed: bool,
    written: u64,
    expected: u64,
    begun: Start,
    report: &'a mut dyn FnMut(Progress) -> bool,
    stopped: bool,
}

impl Writer<'_> {
    /// Writes `count` units, and adds those that it came to to `tally`.
    fn write(&mut self, drive: &mut Drive, count: u64, at_random: bool, tally: &mut u64) -> Result<(), Fault> {
        let mut done = 0;
        while done < count && !self.stopped {
            let part = (count - done).min(REPORT);
            let before = drive.kernel().counters().host_units;
            let written = if self.timed {
                self.write_timed(drive, done, part, at_random)
            } else {
                self.write_untimed(drive, done, part, at_random)
            };
            *tally += drive.kernel().counters().host_units - before;
            written?;
            done += part;
            self.written += part;
            let share = self.written as f64 / self.expected as f64;
            self.stopped = !(self.report)(self.begun.progress(drive, Some(share), 0));
        }
        Ok(())
    }

    fn unit(&mut self, units: u64, nth: u64, at_random: bool) -> u64 {
        if at_random {
            self.random.below(units)
        } else {
            nth % units
        }
    }

    fn write_untimed(&mut self, drive: &mut Drive, from: u64, count: u64, at_random: bool) -> Result<(), Fault> {
        let (kernel, queue, now) = drive.kernel_mut();
        let units = u64::from(kernel.plan().logical_units);
        // Units are handed over as many at a time as a die can program in one command, as a host with a queue would have them
        // waiting: the planes of a die then get neighbours, and reads of them share a command later.
        let together = u64::from(kernel.plan().units_per_program * kernel.planes_per_command());
        let direct = kernel.is_direct();
        let runs = together == 1 && kernel.takes_runs();
        let mut batch = Vec::with_capacity(together as usize);
        // Units are drawn some groups ahead, so that their map entries are at hand when they are written.
        let mut drawn = [[0_u32; GROUP as usize]; AHEAD as usize + 1];
        let size = |group: u64| count.saturating_sub(group * GROUP).min(GROUP) as usize;
        let row = |group: u64| (group % (AHEAD + 1)) as usize;
        for group in 0..count.div_ceil(GROUP) + AHEAD {
            for (nth, place) in (from + group * GROUP..).zip(0..size(group)) {
                let unit = self.unit(units, nth, at_random) as u32;
                kernel.expect(unit);
                drawn[row(group)][place] = unit;
            }
            if let Some(known) = group.checked_sub(KNOWN).filter(|_| at_random) {
                drawn[row(known)][..size(known)].iter().for_each(|&unit| kernel.expect_write(unit));
            }
            if let Some(near) = group.checked_sub(NEAR).filter(|_| at_random) {
                drawn[row(near)][..size(near)].iter().for_each(|&unit| kernel.expect_write_soon(unit));
            }
            let Some(group) = group.checked_sub(AHEAD) else { continue };
            for (nth, place) in (from + group * GROUP..).zip(0..size(group)) {
                let due = drawn[row(group)][place];
                if direct {
                    batch.push(due);
                    if (nth + 1) % together == 0 || nth + 1 == from + count {
                        kernel.write_direct(now, &batch, queue)?;
                        batch.clear();
                    }
                    continue;
                }
                if runs && kernel.write_run(now, due, 1)? {
                    kernel.pump(queue)?;
                    continue;
                }
                if !kernel.buffer().has_room() {
                    kernel.pump(queue)?;
                    kernel.done().clear();
                }
                kernel.write(now, u32::MAX, due, true, false);
                if (nth + 1) % together == 0 || nth + 1 == from + count {
                    kernel.pump(queue)?;
                    kernel.done().clear();
                }
            }
        }
        Ok(())
    }

    fn write_timed(&mut self, drive: &mut Drive, from: u64, count: u64, at_random: bool) -> Result<(), Fault> {
        let (units, unit_bytes) = (u64::from(drive.kernel().plan().logical_units), drive.kernel().plan().unit_bytes);
        let (mut submitted, mut completed) = (0, 0);
        while completed < count {
            while submitted < count && submitted - completed < u64::from(TIMED_DEPTH) && drive.has_slot(0) {
                let unit = self.unit(units, from + submitted, at_random);
                let (offset, now) = (unit * u64::from(unit_bytes), drive.now());
                let request = Request { arrival: now, offset, bytes: unit_bytes, op: Op::Write, ..Request::default() };
                drive.submit(now, request).map_err(|e| Fault::books(e.to_string()))?;
                submitted += 1;
            }
            if !drive.step()? {
                return drive.check_idle();
            }
            completed += drive.completions().drain(..).count() as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Header;

    /// A random small drive, often one whose untimed writes go the direct way, or may go to any die.
    fn random_drive(random: &mut Stream) -> String {
        let mut pick = |of: &[&str]| (*of)[random.below(of.len() as u64) as usize].to_owned();
        let victim = ["greedy", "cost-benefit", "fifo", "random", "best-of", "greedy"];
        let pack = [
            "policy = \"none\"",
            "policy = \"planes\"",
            "policy = \"planes\"\nwindow = 1",
            "policy = \"planes\"\ncache = true",
        ];
        let buffer =
            ["policy = \"none\"", "policy = \"fifo\"\ncapacity_kib = 2048", "policy = \"fifo\"\ncapacity_kib = 512"];
        let place = [
            "policy = \"static\"\norder = \"CWDP\"",
            "policy = \"static\"\norder = \"PDWC\"",
            "policy = \"static\"\norder = \"DPCW\"",
            "policy = \"least-busy\"",
        ];
        let placement = pick(&place);
        let scope = if placement.contains("static") { "plane".into() } else { pick(&["plane", "drive", "drive"]) };
        let start = if scope == "plane" { pick(&["2", "3", "5"]) } else { pick(&["12", "24"]) };
        let stop = if scope == "plane" { pick(&["5", "6"]) } else { pick(&["24", "30"]) };
        let small = format!(
            "title = \"small\"\n[geometry]\nchannels = {}\npackages_per_channel = {}\ndies_per_package = {}\nplanes_per_die = {}\n\
             blocks_per_plane = {}\npages_per_block = {}\npage_kib = 16\npages_per_program = {}\n[capacity]\nraw_over_logical = {}\n\
             [mapping]\npolicy = \"page\"\nunit_kib = {}\n[placement]\n{}\n[collect]\npolicy = \"{}\"\nscope = \"{scope}\"\n\
             window_pages = {}\nstart_blocks = {start}\nstop_blocks = {stop}\nblocks_at_a_time = {}\n{}[victim]\npolicy = \"{}\"\n\
             [free_block]\npolicy = \"{}\"\n[pack]\n{}\n[buffer]\n{}\n[verify]\nshadow = {}\n",
            pick(&["1", "2", "3"]),
            pick(&["1", "2"]),
            pick(&["1", "2"]),
            pick(&["1", "2", "2", "4"]),
            pick(&["32", "40", "57"]),
            pick(&["12", "24", "48"]),
            pick(&["1", "1", "3"]),
            pick(&["1.4", "1.6", "2.2"]),
            pick(&["4", "8", "16", "16"]),
            placement,
            pick(&["on-demand", "on-demand", "on-demand", "preemptive"]),
            pick(&["3", "8", "9", "30"]),
            pick(&["1", "1", "2", "3"]),
            pick(&["", "", "blocks_per_die = 1\n", "pacing = true\n"]),
            pick(&victim),
            pick(&["fifo", "least-erased"]),
            pick(&pack),
            pick(&buffer),
            pick(&["false", "false", "false", "false", "true"]),
        );
        if pick(&["plain", "plain", "more"]) == "plain" {
            return small;
        }
        let map = pick(&["", "cache_kib = 16\n", "cache_kib = 64\n"]);
        let small = if map.is_empty() {
            small
        } else {
            small.replace("policy = \"page\"\n", &format!("policy = \"cached\"\n{map}"))
        };
        let debit = "[dispatch]\npolicy = \"debit\"\n[shares]\npolicy = \"feedback\"\n";
        let dispatch = pick(&["", debit, "[dispatch]\npolicy = \"vaq\"\n"]);
        let processor = pick(&["", "[processor]\npolicy = \"uniform\"\n"]);
        let refresh = pick(&["", "[refresh]\npolicy = \"scrub\"\nstart_reads = 90\nstop_reads = 70\n"]);
        format!("{small}{processor}{dispatch}{refresh}")
    }

    #[test]
    fn the_direct_way_leaves_the_state_of_the_general_one() {
        let (mut refused, mut direct, mut anywhere, mut moved) = (0, 0, 0, 0);
        let header = Header { version: String::new(), config: 0.into(), seed: 1, precondition: 0.into() };
        for seed in 0..240 {
            let text = random_drive(&mut Stream::new(seed, "direct-test", 0));
            let Ok(config) = crate::load::from_text("small", &text) else {
                refused += 1;
                continue;
            };
            let Ok(new) = Drive::new(&config, seed) else {
                refused += 1;
                continue;
            };
            let (mut fast, mut slow) = (new.clone(), new);
            slow.kernel_mut().0.avoid_direct();
            fast.kernel_mut().0.set_timed(false);
            direct += u32::from(fast.kernel().is_direct());
            anywhere += u32::from(text.contains("least-busy"));
            fast.kernel_mut().0.set_timed(true);
            let untimed =
                PreconditionConfig { fill: seed % 7 > 0, overwrites: 1.5, timed: false, ..config.precondition.clone() };
            // What a run does afterwards depends on more than a snapshot keeps.
            let timed = PreconditionConfig { fill: false, overwrites: 0.2, timed: true, ..untimed.clone() };
            for (step, config) in [&untimed, &timed, &untimed].into_iter().enumerate() {
                let state = |drive: &mut Drive| {
                    let done = precondition(drive, config, seed + step as u64, &mut |_| true);
                    let done = done.unwrap_or_else(|fault| panic!("seed {seed}, step {step}: {fault}\n{text}"));
                    (done, crate::snapshot::to_bytes(&header, drive).expect("a drive can be saved"))
                };
                let (fast, slow) = (state(&mut fast), state(&mut slow));
                assert_eq!(fast.0, slow.0, "seed {seed}, step {step}\n{text}");
                assert!(fast.1 == slow.1, "seed {seed}, step {step}: the states differ\n{text}");
            }
            assert_eq!(fast.kernel().counters(), slow.kernel().counters());
            fast.kernel().audit().unwrap_or_else(|fault| panic!("seed {seed}: {fault}\n{text}"));
            moved += fast.kernel().counters().moved.iter().sum::<u64>();
        }
        assert!(
            refused < 80 && direct > 40 && anywhere > 40 && moved > 100_000,
            "{refused} {direct} {anywhere} {moved}"
        );
    }

    #[test]
    fn steady_means_range_and_slope() {
        assert!(!is_steady(&[2.0; 4]), "four rounds are not enough");
        assert!(is_steady(&[9.0, 2.0, 2.0, 2.0, 2.0, 2.0]));
        // Range 21 % of the mean.
        assert!(!is_steady(&[1.0, 1.0, 1.21, 1.0, 1.0]));
        // Range 12 %, but the fit climbs 12 % over the window.
        assert!(!is_steady(&[0.94, 0.97, 1.0, 1.03, 1.06]));
        assert!(is_steady(&[0.96, 0.98, 1.0, 1.02, 1.04]));
    }
}
