//! Guest: an external policy of a background task.
//!
//! Source: whoever wrote it.
//! Faithful: the block that it names is moved, or the run ends with the reason: the block must be a written one that no task
//! is moving. So does a policy that moves blocks on and on while the host does nothing: the drive would never be idle.

use super::{Erased, Occasion, Upkeep, UpkeepView};
use crate::policy::{Build, GuestOptions, Refusal, Seat, Telling, Tells, Trouble};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

/// The section of a guest.
pub type Options = GuestOptions;

/// An external policy of a background task.
pub trait GuestUpkeep: Tells + std::fmt::Debug + Send {
    /// As [`Upkeep::occasion`]; asked once.
    fn occasion(&self) -> Occasion;

    /// As [`Upkeep::next`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn next(&mut self, view: &UpkeepView<'_>) -> Result<Option<u32>, Refusal>;

    /// As [`Upkeep::follows_erases`]; asked once.
    fn follows_erases(&self) -> bool {
        false
    }

    /// As [`Upkeep::erased`].
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn erased(&mut self, _view: &UpkeepView<'_>, _erased: Erased) -> Result<Option<u32>, Refusal> {
        Ok(None)
    }

    /// As [`Upkeep::tells_error`]; asked once.
    fn tells_error(&self) -> bool {
        false
    }

    /// As [`Upkeep::error`], if it tells it: 0 or more.
    ///
    /// # Errors
    /// Says what went wrong; the run ends.
    fn error(&mut self, _view: &UpkeepView<'_>) -> Result<f64, Refusal> {
        Ok(0.0)
    }

    /// As [`Upkeep::goes_with_logs`]; asked once.
    fn goes_with_logs(&self) -> bool {
        false
    }

    /// An independent copy that decides as this one would. If no copy can be made, its first call is refused.
    fn fork(&self) -> Box<dyn GuestUpkeep>;
}

impl Clone for Box<dyn GuestUpkeep> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}

/// How often a policy may name all blocks of the drive while the host does nothing.
const MOST_ROUNDS: u64 = 2;

/// A family of such policies.
pub trait Family: Clone + std::fmt::Debug {
    /// Its name.
    const NAME: &'static str;
    /// True if data that its policies move open the most worn free blocks, unless they say otherwise.
    const OPENS_WORN: bool;
}

/// An external policy of a family, and its trouble.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "", transparent)]
pub struct Mover<F: Family> {
    state: Box<State>,
    #[serde(skip)]
    family: std::marker::PhantomData<F>,
}

/// Its state, in a box: built-in policies stay small.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    seat: Seat<Box<dyn GuestUpkeep>>,
    occasion: Occasion,
    window: u32,
    most: u32,
    worn: bool,
    #[serde(skip)]
    follows_erases: bool,
    #[serde(skip)]
    goes_with_logs: bool,
    #[serde(skip)]
    tells_error: bool,
    /// Units written and pages read for the host at the last look.
    host: (u64, u64),
    /// Blocks that it has named since.
    named: u64,
}

/// A number from 1 on among the options of a policy: what it is if left out, the highest, and what to say of others.
fn number(
    options: &Options,
    family: &str,
    key: &str,
    (default, highest, problem): (u32, u32, &'static str),
) -> Result<u32, ConfigError> {
    let Some(given) = options.options.get(key) else { return Ok(default) };
    let fits = given.as_u64().and_then(|given| u32::try_from(given).ok()).filter(|given| (1..=highest).contains(given));
    fits.ok_or_else(|| ConfigError::new(format!("{family}.{key}"), given, problem))
}

impl<F: Family> Mover<F> {
    /// Its seat, whatever its family.
    pub(crate) fn seat_mut(&mut self) -> &mut dyn Telling {
        &mut self.state.seat
    }

    pub(in crate::policy) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let window = number(options, F::NAME, "window_pages", (8, 65_535, "must be 1 to 65,535"))?;
        let most = number(options, F::NAME, "blocks_at_once", (1, 1_000, "must be 1 to 1,000"))?;
        let worn = options.options.get("opens_worn").and_then(serde_json::Value::as_bool).unwrap_or(F::OPENS_WORN);
        let object = options.maker(F::NAME)?.upkeep(&options.options, build);
        let object = object.map_err(|problem| options.error(F::NAME, problem))?;
        let occasion = object.occasion();
        if occasion == Occasion::Reads(0) {
            return Err(options.error(F::NAME, "it wants to be asked from 0 page reads on; at least 1 is needed"));
        }
        let (follows_erases, goes_with_logs) = (object.follows_erases(), object.goes_with_logs());
        let tells_error = object.tells_error();
        let seat = Seat::new(&options.policy, object);
        let (host, named) = ((0, 0), 0);
        let state = Box::new(State {
            seat,
            occasion,
            window,
            most,
            worn,
            follows_erases,
            goes_with_logs,
            tells_error,
            host,
            named,
        });
        Ok(Self { state, family: std::marker::PhantomData })
    }

    /// Counts blocks that are named while the host does nothing; true if it is for ever.
    fn goes_on_for_ever(&mut self, view: &UpkeepView<'_>) -> bool {
        let host = (view.host_units(), view.host_reads());
        if self.state.host != host {
            (self.state.host, self.state.named) = (host, 0);
        }
        self.state.named += 1;
        self.state.named > MOST_ROUNDS * view.in_use().count() as u64
    }

    /// The block that it named, if it can be moved; otherwise the run ends.
    fn checked(&mut self, view: &UpkeepView<'_>, block: u32) -> Option<u32> {
        if let Some(objection) = view.objection(block) {
            self.state.seat.refuse(format!("it chose block {block}, which {objection}"));
            return None;
        }
        if self.goes_on_for_ever(view) {
            let story = format!(
                "it chose {} blocks while the host wrote and read nothing; answer None in time",
                self.state.named
            );
            self.state.seat.refuse(story);
            return None;
        }
        Some(block)
    }
}

impl<F: Family> Upkeep for Mover<F> {
    fn occasion(&self) -> Occasion {
        self.state.occasion
    }

    fn tells_error(&self) -> bool {
        self.state.tells_error
    }

    fn error(&mut self, view: &UpkeepView<'_>) -> f64 {
        if self.state.tells_error {
            // Without an answer the run ends.
            return self.state.seat.ask(|guest| guest.error(view)).unwrap_or(0.0);
        }
        // As of the built-in policies: reads beyond those at which it is asked.
        let Occasion::Reads(target) = self.state.occasion else { return 0.0 };
        f64::from(view.most_reads().saturating_sub(target)) / f64::from(target)
    }

    fn next(&mut self, view: &UpkeepView<'_>) -> Option<u32> {
        let block = self.state.seat.ask(|guest| guest.next(view))??;
        self.checked(view, block)
    }

    fn follows_erases(&self) -> bool {
        self.state.follows_erases
    }

    fn erased(&mut self, view: &UpkeepView<'_>, erased: Erased) -> Option<u32> {
        let block = self.state.seat.ask(|guest| guest.erased(view, erased))??;
        let block = self.checked(view, block)?;
        let (from, into) = (view.domain(block), view.domain(erased.block));
        if view.has_logs() && from != into {
            let story = format!(
                "it chose block {block} of domain {from} when block {} of domain {into} was erased, where its data would go",
                erased.block
            );
            self.state.seat.refuse(story);
            return None;
        }
        Some(block)
    }

    fn goes_with_logs(&self) -> bool {
        self.state.goes_with_logs
    }

    fn window(&self) -> u32 {
        self.state.window
    }

    fn most(&self) -> u32 {
        self.state.most
    }

    fn opens_worn(&self) -> bool {
        self.state.worn
    }

    fn trouble(&self) -> Option<&Trouble> {
        self.state.seat.trouble()
    }
}
