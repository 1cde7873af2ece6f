//! What programs of several pages, and programs that wait for pages of all planes, need.

use super::{ConfigError, FirmwareConfig};
use crate::policy::collect::{CollectPolicy, Copyback, Scope};
use crate::policy::upkeep::{Occasion, UpkeepPolicies};
use crate::task::Task;
use wordline_flash::Geometry;

impl FirmwareConfig {
    /// Checks that each background task moves enough pages at a time to fill a program of all planes.
    pub(super) fn check_gathering_tasks(geometry: &Geometry, upkeep: &UpkeepPolicies) -> Result<(), ConfigError> {
        let row = geometry.planes_per_die * geometry.pages_per_program;
        let waits = |&task: &Task| upkeep.occasion(task) != Occasion::Never && upkeep.window(task) < row;
        let Some(task) = Task::all().find(waits) else { return Ok(()) };
        let problem = Self::row_problem(geometry);
        Err(ConfigError::new(format!("{}.window_pages", task.about().name), upkeep.window(task), problem))
    }

    /// Checks that moved pages can wait for each other.
    pub(super) fn check_gathering(
        &self,
        geometry: &Geometry,
        fixed: bool,
        collect: &CollectPolicy,
        has_stage: bool,
    ) -> Result<(), ConfigError> {
        let wrong = |problem: String| Err(ConfigError::new("pack.gather", true, problem));
        if fixed {
            return wrong(
                "has no effect: the placement fixes the plane of each page; use placement.policy = \"least-busy\""
                    .into(),
            );
        }
        if self.collect.scope() == Scope::Plane {
            return wrong("has no effect: moved pages stay in their plane; use collect.scope = \"drive\"".into());
        }
        if has_stage {
            let policy = self.dispatch.name();
            return wrong(format!(
                "has no effect: dispatch.policy = \"{policy}\" sends pages one by one; use \"fifo\""
            ));
        }
        if collect.window() < geometry.planes_per_die * geometry.pages_per_program {
            return Err(ConfigError::new("collect.window_pages", collect.window(), Self::row_problem(geometry)));
        }
        Ok(())
    }

    /// What a window lacks that cannot fill a program of all planes.
    fn row_problem(geometry: &Geometry) -> String {
        match (geometry.planes_per_die, geometry.pages_per_program) {
            (planes, 1) => format!("must be at least {planes}, the planes of a die, for pack.gather"),
            (planes, pages) => format!(
                "must be at least {}, the pages that a program of all planes of a die writes, for pack.gather",
                planes * pages
            ),
        }
    }

    /// Checks what does not go together with programs of several pages.
    pub(super) fn check_programs(
        &self,
        geometry: &Geometry,
        fixes_pages: bool,
        collect: &CollectPolicy,
        upkeep: &UpkeepPolicies,
    ) -> Result<(), ConfigError> {
        let pages = geometry.pages_per_program;
        if pages == 1 {
            return Ok(());
        }
        let wrong = |key: &str, value: &dyn ToString, problem: &str| {
            let problem = format!("does not go with geometry.pages_per_program = {pages}: {problem}");
            Err(ConfigError::new(key, value.to_string(), problem))
        };
        if fixes_pages {
            return wrong("mapping.policy", &self.mapping.name(), "it writes page by page; use \"page\" or \"cached\"");
        }
        if collect.copyback() != Copyback::Off {
            return wrong("collect.copyback", &collect.copyback().name(), "copyback moves single pages; use \"off\"");
        }
        let short = |window: u32| window < pages;
        let few = format!("the moved pages that may be under way must fill a program; use at least {pages}");
        if short(collect.window()) {
            return wrong("collect.window_pages", &collect.window(), &few);
        }
        let waits = |&task: &Task| upkeep.occasion(task) != Occasion::Never && short(upkeep.window(task));
        if let Some(task) = Task::all().find(waits) {
            return wrong(&format!("{}.window_pages", task.about().name), &upkeep.window(task), &few);
        }
        Ok(())
    }
}
