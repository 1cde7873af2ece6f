//! The model's side: the flash under the same hosts, stepped in order of time, and by lane at the same time.

use super::host::Host;
use super::script::BLOCKS;
use super::table::{Durations, Order, Tick, PAGES, TICK_PS};
use super::trace::{Line, Seen, Sums, Trace};
use wordline_base::event::Mark;
use wordline_base::time::END_OF_TIME;
use wordline_base::Time;
use wordline_flash::config::{ByClass, PageOrder};
use wordline_flash::timeline::{Frame, Picture, MOST_SLICES};
use wordline_flash::{Agenda, Flash, Geometry, GeometryConfig, Interface, Logged, NandConfig, Progress, Timing};
use wordline_nand::bus::Turns;

/// Geometry of the flash.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub packages: u32,
    pub dies: u32,
    pub planes: u32,
    /// True if the bus is FCFS for everything.
    pub first_come: bool,
    /// True if nothing uses cache mode: a die then executes one command at a time.
    pub plain: bool,
}

/// No lane is notified: all lanes are checked.
struct Scan;

impl Agenda for Scan {
    fn wake(&mut self, _: Time, _: Mark) {}
}

/// Times are whole ticks; anything else is an error of the model.
fn in_ticks(time: Time) -> Tick {
    assert!(time.is_multiple_of(TICK_PS), "{time} ps is no whole number of ticks");
    time / TICK_PS
}

fn config(durations: &Durations) -> NandConfig {
    let us = |ticks: Tick| ticks as f64 * 0.01;
    let by_class = |times: &[Tick]| ByClass::Each(times.iter().map(|&ticks| us(ticks)).collect());
    NandConfig {
        interface: Interface::Sdr,
        rate_mt_s: 50,
        read_us: by_class(&durations.read),
        program_us: by_class(&durations.program),
        page_order: match durations.order {
            Order::Cyclic => PageOrder::Cyclic,
            Order::Alpha => PageOrder::Alpha,
            Order::Beta => PageOrder::Beta,
        },
        erase_us: us(durations.erase),
        dummy_busy_us: us(durations.dummy),
        cache_read_busy_us: us(durations.cache_read),
        cache_program_busy_us: us(durations.cache_program),
        suspend_us: us(durations.suspend),
        resume_us: us(durations.resume),
        ..NandConfig::default()
    }
}

struct Run<'a> {
    flash: Flash,
    hosts: Vec<Host<'a>>,
    now: Time,
    seen: Vec<Seen>,
    held_back: u64,
    logged: Vec<Logged>,
    /// The timeline for a user: it rejects overlapping slices.
    picture: Picture,
}

/// Runs the hosts to their ends.
pub fn run(shape: Shape, durations: &Durations, hosts: Vec<Host<'_>>) -> Trace {
    let geometry = Geometry::new(&GeometryConfig {
        channels: 1,
        packages_per_channel: shape.packages,
        gang: 1,
        dies_per_package: shape.dies / shape.packages,
        planes_per_die: shape.planes,
        blocks_per_plane: BLOCKS,
        pages_per_block: PAGES,
        page_kib: 1,
        pages_per_program: 1,
        slc_pages_per_block: None,
    });
    let timing = Timing::new(&config(durations), PAGES).expect("the configuration is legal");
    let mut flash = Flash::new(geometry.expect("the geometry is legal"), timing, 0);
    flash.set_turns(if shape.first_come { Turns::FirstCome } else { Turns::CommandsFirst });
    flash.record(true, false);
    let frame = Frame {
        title: "twin".to_owned(),
        window: (0, END_OF_TIME),
        origin: 0,
        most_slices: MOST_SLICES,
        queues: 0,
        depth: 0,
        caches: !shape.plain,
    };
    let picture = Picture::new(Box::new(std::io::sink()), &flash, &frame).expect("it can be written");
    let mut run = Run { flash, hosts, now: 0, seen: Vec::new(), held_back: 0, logged: Vec::new(), picture };
    while let Some((time, lane)) = run.next() {
        assert!(time >= run.now, "lane {lane} is due at {time}, before now");
        run.now = time;
        run.handle(lane);
        run.draw(lane);
    }
    assert!(run.hosts.iter().all(Host::at_rest), "the model has stalled");
    run.trace()
}

impl Run<'_> {
    /// The next lane: the one with the earliest time, or whose host acts first.
    fn next(&self) -> Option<(Time, usize)> {
        let dies = self.hosts.len();
        let wants = |lane: usize| {
            let host = &self.hosts[lane % dies];
            let acts = if lane < dies { host.starts() } else { host.polls() };
            // A start whose time passed while the die was busy comes at once.
            let acts = acts.map(|tick| (tick * TICK_PS).max(self.now));
            let due = Some(self.flash.due(lane as u32)).filter(|&due| due != END_OF_TIME);
            acts.into_iter().chain(due).min().map(|time| (time, lane))
        };
        (0..2 * dies).filter_map(wants).min()
    }

    fn handle(&mut self, lane: usize) {
        let dies = self.hosts.len();
        if self.flash.due(lane as u32) == self.now {
            match self.flash.step(self.now, lane as u32, &mut Scan) {
                Progress::Busy => return,
                Progress::Ready { ended } => self.tell(lane, false, ended),
                Progress::Done => self.tell(lane, lane < dies, lane < dies),
            }
        }
        if lane >= dies {
            self.suspend(lane % dies);
        } else {
            self.begin(lane);
        }
    }

    /// Draws the log of the last step, after which `lane` may have begun a command.
    fn draw(&mut self, lane: usize) {
        let mut recorded = self.flash.recorded().map(std::mem::take).expect("it is recorded");
        self.logged.extend(&recorded);
        self.picture.serve(lane as u32, self.flash.command_number(lane as u32), "host", None);
        self.picture.take(self.now, &mut recorded);
    }

    /// The host gets the notice, and answers.
    fn tell(&mut self, lane: usize, done: bool, ended: bool) {
        let (dies, now, tick) = (self.hosts.len(), self.now, in_ticks(self.now));
        self.seen.push(Seen { time: tick, lane, done, ended });
        let (host, flash) = (&mut self.hosts[lane % dies], &mut self.flash);
        let die = (lane % dies) as u32;
        if lane >= dies {
            match host.beside(tick) {
                Some(read) => flash.begin(now, lane as u32, read, &mut Scan),
                None => flash.resume(now, die, &mut Scan),
            }
        } else if done {
            host.done();
            Ok(())
        } else {
            match host.answer() {
                Some(command) => flash.follow(now, die, command, &mut Scan),
                None => flash.finish(now, die, &mut Scan),
            }
        }
        .expect("the script is legal");
    }

    fn begin(&mut self, die: usize) {
        if let Some(command) = self.hosts[die].begin(in_ticks(self.now)) {
            self.flash.begin(self.now, die as u32, command, &mut Scan).expect("the script is legal");
        }
    }

    fn suspend(&mut self, die: usize) {
        let tick = in_ticks(self.now);
        if self.hosts[die].polls() != Some(tick) {
            return;
        }
        let possible = self.flash.suspendable(self.now, die as u32).is_some();
        if self.hosts[die].suspends(tick, possible) {
            let sent = self.flash.suspend(self.now, die as u32, &mut Scan).expect("it was possible");
            self.held_back += u64::from(!sent);
        }
    }

    fn trace(self) -> Trace {
        let dies_per_package = self.flash.geometry().dies_per_package;
        let logged = self.logged;
        self.picture.finish(self.now, None).expect("a die does one thing at a time");
        let line = |logged: &wordline_flash::Logged| {
            let entry = &logged.entry;
            assert_eq!(entry.die, logged.die % dies_per_package, "the die within its package");
            Line {
                die: logged.die as usize,
                command: logged.command,
                kind: entry.kind,
                held: entry.held,
                what: entry.what,
                page: entry.page,
                planes: usize::from(entry.planes),
                bytes: entry.bytes,
                ready: in_ticks(entry.ready),
                start: in_ticks(entry.start),
                end: in_ticks(entry.end),
            }
        };
        let sums = (0..self.hosts.len() as u32).map(|die| {
            let times = self.flash.die_times(die);
            Sums {
                contention: in_ticks(times.contention),
                dummy: in_ticks(times.dummy),
                register: in_ticks(times.register),
                cells: times.cells.map(|stage| stage.map(in_ticks)),
                bus: times.bus.map(|used| in_ticks(used.time)),
                uses: times.bus.map(|used| used.count),
            }
        });
        let (lines, sums) = (logged.iter().map(line).collect(), sums.collect());
        Trace {
            lines,
            seen: self.seen,
            sums,
            busy: in_ticks(self.flash.channel_times(0).busy),
            held_back: self.held_back,
        }
    }
}
