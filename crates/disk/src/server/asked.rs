//! The event loop grants what others asked of it.

use super::Server;
use crate::control::{Refused, View, Wish};
use std::time::Instant;

impl Server {
    /// Grants the wishes that wait.
    pub(super) fn grant(&mut self) {
        for wish in self.control.asked.take() {
            let now = Instant::now();
            match wish {
                Wish::View { export, cells, tell } => {
                    if let Some(view) = self.view(now, export, cells) {
                        // Who does not wait any more needs none.
                        let _ = tell.send(view);
                    }
                }
                Wish::Pause(paused) => self.clock.run(now, !paused),
                Wish::Pace { pace, tell } => {
                    let set = self.clock.set_pace(now, pace);
                    let _ = tell.send(if set { Ok(()) } else { Err(Refused::Jumps) });
                }
                Wish::Swap { export, drive, tell } => {
                    if self.clock.runs() {
                        let clock = (!self.clock.jumps()).then(|| self.clock.at(now));
                        self.exports[export].swap(clock, drive, tell);
                    } else {
                        let _ = tell.send(Err(Refused::Paused));
                    }
                }
                Wish::Settle { export } => self.exports[export].drive.unshare(),
            }
        }
    }

    /// An export as it is now.
    fn view(&mut self, now: Instant, export: usize, cells: bool) -> Option<View> {
        let clients = self.clients.iter().flatten().filter(|client| client.export == Some(export)).count();
        let name = self.entries.get(export)?.name.clone();
        let clock = self.clock.at(now);
        let jumps = self.clock.jumps();
        let of = &mut self.exports[export];
        let at = of.instant((!jumps).then_some(clock));
        Some(View {
            export: name,
            clock_s: at.saturating_sub(of.base()) as f64 / 1e12,
            wall_s: self.clock.age(now).as_secs_f64(),
            pace: self.clock.pace(),
            paused: !self.clock.runs(),
            swapping: of.is_swapping(),
            clients,
            in_progress: of.in_progress(),
            lag_us: (if jumps { 0.0 } else { of.behind(clock) as f64 / 1e6 }, of.stats.lag as f64 / 1e6),
            server: of.stats.document(),
            store_bytes: of.held_bytes(),
            fault: of.fault.as_ref().map(ToString::to_string),
            drive: wordline_drive::probe::Probe::of(&of.drive, at, cells),
        })
    }
}
