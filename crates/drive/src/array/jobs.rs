//! Work in stripes with parity: its claims, its reads and then its writes, and the rebuild of a failed member.

use super::layout::{Layout, Parity, Piece};
use super::member::For;
use super::plan::{self, Span, StripePlan};
use super::rebuild::Rebuild;
use super::Array;
use wordline_base::{Op, Request, Time};
use wordline_firmware::Fault;

/// Whom a job is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Aim {
    /// A request of the host, by its slot.
    Host(u32),
    /// The spare.
    #[default]
    Rebuild,
}

/// Work in a stripe; a trim may have several stripes.
#[derive(Clone, Debug, Default)]
struct Job {
    aim: Aim,
    op: Op,
    span: Span,
    stripes: u64,
    /// What it carries on: stream, arrival, forced access.
    request: Request,
    /// Reads or writes under way.
    pending: u32,
    /// What follows its reads; kept for the next job in this place.
    writes: Vec<Piece>,
    gc_affected: bool,
}

/// What parity took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParityCounts {
    /// Stripes, or parts of them, that were written without a read.
    pub full_writes: u64,
    /// Those with bytes whose parity was made from old data and old parity.
    pub modify_writes: u64,
    /// Those with bytes whose parity was made from the data that stay.
    pub reconstruct_writes: u64,
    /// Requests to members that these reads took.
    pub reads_for_writes: u64,
    /// Bytes of old parity read, for writes or in place of a missing member.
    pub parity_read_bytes: u64,
    /// Bytes of parity written.
    pub parity_written_bytes: u64,
    /// Parts of host reads in stripes whose missing member was made from the others.
    pub degraded_reads: u64,
    /// Bytes so made.
    pub degraded_bytes: u64,
    /// Bytes written to the spare.
    pub rebuilt_bytes: u64,
    /// Bytes of trims that went to no member, since they are parts of stripes.
    pub untrimmed_bytes: u64,
    /// Jobs that waited for others in their stripe.
    pub waits: u64,
}

/// All jobs under way.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    list: Vec<Job>,
    free: Vec<u32>,
    counts: ParityCounts,
}

impl Jobs {
    /// What they took since the counts were reset.
    pub fn counts(&self) -> &ParityCounts {
        &self.counts
    }

    /// Counts anew.
    pub fn reset_counts(&mut self) {
        self.counts = ParityCounts::default();
    }

    fn add(&mut self, job: Job) -> u32 {
        let Some(at) = self.free.pop() else {
            self.list.push(job);
            return self.list.len() as u32 - 1;
        };
        let place = &mut self.list[at as usize];
        let writes = std::mem::take(&mut place.writes);
        *place = Job { writes, ..job };
        at
    }
}

impl Array {
    fn parity(&self) -> Parity {
        match self.layout {
            Layout::Parity(parity) => parity,
            _ => unreachable!("jobs are of stripes with parity"),
        }
    }

    /// The member that a stripe has to do without.
    fn missing(&self, stripe: u64) -> Option<u32> {
        let (failed, _) = self.failed()?;
        self.rebuild.as_ref().is_none_or(|rebuild| !rebuild.holds(stripe)).then_some(failed)
    }

    /// Splits a request by stripes: writes and trims, and reads while a member is missing.
    pub(super) fn serve_stripes(&mut self, parity: Parity, slot: u32) -> Result<(), Fault> {
        let request = self.slots[slot as usize].request;
        if request.op == Op::Trim {
            return self.serve_trim(parity, slot);
        }
        let size = parity.stripe_bytes();
        let end = request.offset + u64::from(request.bytes);
        // One more part until all are sent.
        self.slots[slot as usize].parts += 1;
        for stripe in request.offset / size..=(end - 1) / size {
            let from = request.offset.max(stripe * size) - stripe * size;
            let to = end.min((stripe + 1) * size) - stripe * size;
            let span = Span { stripe, from, to };
            if request.op == Op::Read && !self.touches_failed(&parity, span) {
                self.read_span(&parity, slot, span)?;
                continue;
            }
            self.slots[slot as usize].parts += 1;
            let (low, high) = span.rows(&parity);
            self.open(
                Job { aim: Aim::Host(slot), op: request.op, span, stripes: 1, request, ..Job::default() },
                low..high,
            )?;
        }
        self.slots[slot as usize].parts -= 1;
        Ok(())
    }

    /// True if a span has data on the member that failed; those on a spare may be under way there.
    fn touches_failed(&self, parity: &Parity, span: Span) -> bool {
        let Some((failed, _)) = self.failed() else { return false };
        let chunks = span.from / parity.chunk..=(span.to - 1) / parity.chunk;
        chunks.into_iter().any(|chunk| parity.member_of(span.stripe, chunk as u32) == failed)
    }

    fn read_span(&mut self, parity: &Parity, slot: u32, span: Span) -> Result<(), Fault> {
        let request = self.slots[slot as usize].request;
        let mut pieces = std::mem::take(&mut self.pieces);
        self.layout.pieces(span.stripe * parity.stripe_bytes() + span.from, span.to - span.from, &mut pieces);
        self.slots[slot as usize].parts += pieces.len() as u32;
        for &piece in &pieces {
            self.send(piece, Op::Read, For::Host(slot), &request)?;
        }
        self.pieces = pieces;
        Ok(())
    }

    /// A trim takes its whole stripes from all members; parts of stripes stay as they are, since parity covers them.
    fn serve_trim(&mut self, parity: Parity, slot: u32) -> Result<(), Fault> {
        let request = self.slots[slot as usize].request;
        let size = parity.stripe_bytes();
        let bytes = u64::from(request.bytes);
        let (first, end) = (request.offset.div_ceil(size), (request.offset + bytes) / size);
        let stripes = end.saturating_sub(first);
        self.jobs.counts.untrimmed_bytes += bytes - stripes * size;
        if stripes == 0 {
            return Ok(());
        }
        self.slots[slot as usize].parts += 1;
        let span = Span { stripe: first, from: 0, to: size };
        self.open(Job { aim: Aim::Host(slot), op: Op::Trim, span, stripes, request, ..Job::default() }, 0..parity.chunk)
    }

    /// A new job begins when it has its bytes.
    fn open(&mut self, job: Job, rows: std::ops::Range<u64>) -> Result<(), Fault> {
        let stripes = job.span.stripe..job.span.stripe + job.stripes;
        let at = self.jobs.add(job);
        if self.claims.claim(at, stripes, rows) {
            return self.begin(at);
        }
        self.jobs.counts.waits += 1;
        Ok(())
    }

    /// A job has its bytes: its reads, or its writes if it needs none.
    fn begin(&mut self, at: u32) -> Result<(), Fault> {
        let parity = self.parity();
        let Job { aim, op, span, stripes, request, .. } = self.jobs.list[at as usize];
        let mut plan = std::mem::take(&mut self.plan);
        let missing = self.missing(span.stripe);
        match (aim, op) {
            (Aim::Rebuild, _) => plan::rebuild(&parity, span.stripe, missing.expect("it is rebuilt"), &mut plan),
            (_, Op::Trim) => {
                plan.clear();
                let live = (0..parity.members).filter(|&member| self.is_live(member));
                let (offset, bytes) = (span.stripe * parity.chunk, stripes * parity.chunk);
                plan.writes.extend(live.map(|member| Piece { member, offset, bytes }));
            }
            (_, Op::Read) => match missing {
                Some(missing) => {
                    self.jobs.counts.degraded_reads += 1;
                    self.jobs.counts.degraded_bytes += plan::read(&parity, span, missing, &mut plan);
                }
                None => {
                    plan.clear();
                    let from = span.stripe * parity.stripe_bytes() + span.from;
                    self.layout.pieces(from, span.to - span.from, &mut plan.reads);
                }
            },
            _ => plan::write(&parity, span, missing, &mut plan),
        }
        self.count(aim, op, &plan);
        let job = &mut self.jobs.list[at as usize];
        job.writes.clear();
        job.writes.extend_from_slice(&plan.writes);
        job.pending = plan.reads.len() as u32;
        for &piece in &plan.reads {
            self.send(piece, Op::Read, For::Job(at), &Request { op: Op::Read, fua: false, ..request })?;
        }
        let reads = !plan.reads.is_empty();
        self.plan = plan;
        if reads {
            return Ok(());
        }
        self.write(at)
    }

    fn count(&mut self, aim: Aim, op: Op, plan: &StripePlan) {
        let counts = &mut self.jobs.counts;
        counts.parity_read_bytes += plan.parity_read;
        counts.parity_written_bytes += plan.parity_written;
        if op == Op::Write && aim != Aim::Rebuild {
            counts.reads_for_writes += plan.reads.len() as u64;
            counts.modify_writes += u64::from(plan.methods.modify);
            counts.reconstruct_writes += u64::from(plan.methods.reconstruct);
            counts.full_writes += u64::from(plan.methods.full && !plan.methods.modify && !plan.methods.reconstruct);
        }
    }

    /// The writes of a job, whose reads are done.
    fn write(&mut self, at: u32) -> Result<(), Fault> {
        let job = &mut self.jobs.list[at as usize];
        let writes = std::mem::take(&mut job.writes);
        job.pending = writes.len() as u32;
        let op = if job.op == Op::Trim { Op::Trim } else { Op::Write };
        let request = job.request;
        for &piece in &writes {
            self.send(piece, op, For::Job(at), &request)?;
        }
        let none = writes.is_empty();
        let job = &mut self.jobs.list[at as usize];
        job.writes = writes;
        job.writes.clear();
        if none {
            return self.close(at);
        }
        Ok(())
    }

    /// A read or write of a job is done.
    pub(super) fn job_part_done(&mut self, at: u32, gc_affected: bool) -> Result<(), Fault> {
        let job = &mut self.jobs.list[at as usize];
        job.gc_affected |= gc_affected;
        job.pending -= 1;
        if job.pending > 0 {
            return Ok(());
        }
        if job.writes.is_empty() {
            return self.close(at);
        }
        // What follows comes to the members now, whatever the host has waited before.
        job.request.arrival = self.now;
        self.write(at)
    }

    /// A job is done: others may have its bytes.
    fn close(&mut self, at: u32) -> Result<(), Fault> {
        let Job { aim, span, gc_affected, .. } = self.jobs.list[at as usize];
        let mut begins = std::mem::take(&mut self.begins);
        self.claims.release(at, &mut begins);
        match aim {
            Aim::Host(slot) => self.part_done(slot, gc_affected),
            Aim::Rebuild => {
                let chunk = self.parity().chunk;
                self.jobs.counts.rebuilt_bytes += chunk;
                if let Some(rebuild) = &mut self.rebuild {
                    rebuild.done(span.stripe, self.now);
                }
            }
        }
        self.jobs.free.push(at);
        for at in begins.drain(..) {
            let job = &mut self.jobs.list[at as usize];
            job.request.arrival = job.request.arrival.max(self.now);
            self.begin(at)?;
        }
        self.begins = begins;
        if aim == Aim::Rebuild {
            return self.rebuild_on();
        }
        Ok(())
    }

    /// The failed member is rebuilt on the spare, if there is one.
    pub(super) fn begin_rebuild(&mut self) {
        let Some((failed, _)) = self.failed() else { return };
        if self.drives.len() == self.roles.len() {
            return;
        }
        let parity = self.parity();
        let (rate, depth) = self.rebuild_pace;
        self.rebuild = Some(Rebuild::new(self.now, parity.stripes, parity.chunk, rate, depth));
        self.roles[failed as usize] = self.drives.len() as u32 - 1;
    }

    /// Begins the stripes of a rebuild that are due.
    pub(super) fn rebuild_on(&mut self) -> Result<(), Fault> {
        let now: Time = self.now;
        while let Some(stripe) = self.rebuild.as_mut().and_then(|rebuild| rebuild.begin(now)) {
            let parity = self.parity();
            let span = Span { stripe, from: 0, to: parity.stripe_bytes() };
            let request = Request { arrival: now, ..Request::default() };
            let job = Job { aim: Aim::Rebuild, op: Op::Write, span, stripes: 1, request, ..Job::default() };
            self.open(job, 0..parity.chunk)?;
        }
        Ok(())
    }
}
