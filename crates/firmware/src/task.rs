//! Tasks: the users of the flash. Each has page reads, page programs and block erases of its own: a *class* of operations
//! each. Queues, times and counts are kept by class.
//!
//! Source: kim18 (3.1): each task has its own queues. `upkeep_tasks` is the list of
//! background tasks.

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use wordline_base::Time;

/// Kind of a flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Action {
    /// A page read.
    Read,
    /// A page program.
    Program,
    /// A block erase.
    Erase,
}

impl Action {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Read, Self::Program, Self::Erase];
}

/// Description of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name in keys and columns.
    pub name: &'static str,
    /// Its name in sentences: "pages read for ...".
    pub title: &'static str,
    /// The name of its classes in the configuration, by kind of operation; none if it has no such operations.
    classes: [Option<&'static str>; 3],
}

/// A task, by its number in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task(u8);

impl Task {
    /// Its number.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Its description.
    #[must_use]
    pub fn about(self) -> &'static About {
        &ABOUT[self.index()]
    }

    /// Its classes that are used.
    pub fn classes(self) -> impl Iterator<Item = Class> {
        Action::ALL.into_iter().map(move |action| Class::new(self, action)).filter(|class| class.name().is_some())
    }

    /// Of sums by class, that of all its classes.
    #[inline]
    #[must_use]
    pub fn sum(self, by_class: &[Time; CLASSES]) -> Time {
        by_class[self.index() * STRIDE as usize..][..STRIDE as usize].iter().sum()
    }

    /// All tasks, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..TASKS as u8).map(Self)
    }
}

/// Tasks of a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tasks(u8);

// A set of tasks has a bit for each, as sets of classes have: a ninth task needs a wider number in both.
const _: () = assert!(TASKS <= u8::BITS as usize && CLASSES <= u32::BITS as usize);

impl Tasks {
    /// All tasks that a drive may have.
    pub const ALL: Self = Self(((1_u16 << TASKS) - 1) as u8);
    /// The tasks of every drive.
    pub const BASIC: Self = Self(1 << Task::HOST.0 | 1 << Task::GC.0);

    /// Those of which something is true by their numbers: all are asked about, as this is faster than to pick some.
    #[inline(always)]
    pub(crate) fn that(is: impl Fn(usize) -> bool) -> Self {
        Self((0..TASKS).fold(0, |tasks, task| tasks | u8::from(is(task)) << task))
    }

    /// The first of these, which is none of them any more.
    #[inline]
    pub fn pop(&mut self) -> Option<Task> {
        let first = self.0.trailing_zeros() as u8;
        self.0 &= self.0.wrapping_sub(1);
        (first < u8::BITS as u8).then_some(Task(first))
    }

    /// The task that is the only one of these; none if there are several, or none.
    #[inline]
    #[must_use]
    pub const fn only(self) -> Option<Task> {
        if self.0.is_power_of_two() {
            Some(Task(self.0.trailing_zeros() as u8))
        } else {
            None
        }
    }

    /// These and another.
    #[must_use]
    pub const fn with(self, task: Task) -> Self {
        Self(self.0 | 1 << task.0)
    }

    /// These without one.
    #[must_use]
    pub const fn without(self, task: Task) -> Self {
        Self(self.0 & !(1 << task.0))
    }

    /// These and others.
    #[must_use]
    pub const fn or(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Those that are among others, too.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// These without others.
    #[must_use]
    pub const fn but(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// True if a task is one of them.
    #[must_use]
    pub const fn has(self, task: Task) -> bool {
        self.0 >> task.0 & 1 == 1
    }

    /// These, in the order of their numbers.
    #[inline]
    pub fn iter(mut self) -> impl Iterator<Item = Task> {
        std::iter::from_fn(move || self.pop())
    }

    /// These but the host's.
    pub fn background(self) -> impl Iterator<Item = Task> {
        self.iter().filter(|&task| task != Task::HOST)
    }
}

/// A figure for each task.
pub type ByTask<T> = [T; TASKS];

/// Classes of a task: reads, programs, erases, and programs of the mapping table, which wait in queues of their own.
const STRIDE: u8 = 4;

/// Rows of writes: data and mapping table, of each task.
pub(crate) const ROWS: usize = TASKS * 2;

/// Number of classes: length of lists by [`Class::index`].
pub const CLASSES: usize = TASKS * STRIDE as usize;

/// A task and a kind of operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class(u8);

impl Class {
    /// Page reads for the host.
    pub const HOST_READ: Self = Self::new(Task::HOST, Action::Read);
    /// Page programs for the host.
    pub const HOST_WRITE: Self = Self::new(Task::HOST, Action::Program);

    /// The class of a task for a kind of operation.
    #[inline]
    #[must_use]
    pub const fn new(task: Task, action: Action) -> Self {
        Self(task.0 * STRIDE + action as u8)
    }

    /// The class of a task for programs of the mapping table. They are counted and named as its other programs.
    #[inline]
    #[must_use]
    pub const fn map_write(task: Task) -> Self {
        Self(task.0 * STRIDE + 3)
    }

    /// The class with a number.
    #[inline]
    pub(crate) const fn numbered(number: u8) -> Self {
        Self(number)
    }

    /// Its number.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Its task.
    #[inline]
    #[must_use]
    pub const fn task(self) -> Task {
        Task(self.0 / STRIDE)
    }

    /// Its kind of operation.
    #[inline]
    #[must_use]
    pub const fn action(self) -> Action {
        match self.0 % STRIDE {
            0 => Action::Read,
            2 => Action::Erase,
            _ => Action::Program,
        }
    }

    /// The class under which its operations are counted.
    #[inline]
    #[must_use]
    pub const fn counted(self) -> Self {
        if self.is_map_write() {
            Self::new(self.task(), Action::Program)
        } else {
            self
        }
    }

    /// True for programs of the mapping table.
    #[inline]
    #[must_use]
    pub const fn is_map_write(self) -> bool {
        self.0 % STRIDE == 3
    }

    /// True for programs of data that a background task moves.
    #[inline]
    #[must_use]
    pub const fn moves(self) -> bool {
        // One bit for each class: the programs of all tasks but the host's.
        const MOVING: u64 = 0x2222_2222_2222_2220;
        MOVING >> self.0 & 1 == 1
    }

    /// The row of a class of writes: see [`ROWS`].
    #[inline]
    pub(crate) const fn row(self) -> usize {
        self.0 as usize / 2
    }

    /// The class of writes with a row.
    #[inline]
    pub(crate) const fn of_row(row: usize) -> Self {
        Self(row as u8 * 2 + 1)
    }

    /// True if it belongs to the host's task.
    #[inline]
    #[must_use]
    pub const fn is_host(self) -> bool {
        self.0 < STRIDE
    }

    /// True for page programs.
    #[inline]
    #[must_use]
    pub const fn is_write(self) -> bool {
        self.0 & 1 == 1
    }

    /// Its name in the configuration; none for a class that is not used.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        self.task().about().classes[self.action() as usize]
    }

    /// All classes that are used, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        Task::all().flat_map(Task::classes)
    }
}

impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name().unwrap_or("unused"))
    }
}

impl Serialize for Class {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name().unwrap_or("unused"))
    }
}

impl<'de> Deserialize<'de> for Class {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Cow::<'de, str>::deserialize(deserializer)?;
        Self::all().find(|class| class.name() == Some(&*given)).ok_or_else(|| {
            let names: Vec<&str> = Self::all().filter_map(Self::name).collect();
            serde::de::Error::custom(format!("unknown class '{given}', expected one of {}", names.join(", ")))
        })
    }
}

impl JsonSchema for Class {
    fn schema_name() -> Cow<'static, str> {
        "Class".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let classes: Vec<Schema> = Self::all()
            .filter_map(|class| {
                let what = match class.action() {
                    Action::Read => "A page read",
                    Action::Program => "A page written",
                    Action::Erase => "A block erase",
                };
                let description = format!("{what} for {}.", class.task().about().title);
                Some(json_schema!({"type": "string", "const": class.name()?, "description": description}))
            })
            .collect();
        json_schema!({"description": "A task and its kind of operation.", "oneOf": classes})
    }
}

/// The list of background tasks that move blocks (families of [`crate::policy::upkeep`]), for the macro `$then`: constant, name,
/// name in sentences, module and types of its family. To add a task, write its family in `policy` and add its line here.
macro_rules! upkeep_tasks {
    ($then:ident $($more:tt)*) => {
        $then! {
            $($more)*
            /// Moves data before reads disturb them too much.
            REFRESH "refresh" "read refresh" refresh RefreshConfig RefreshPolicy;
            /// Moves data that stay, so that their blocks wear like the others.
            WEAR "wear" "wear leveling" wear WearConfig WearPolicy;
            /// Moves data from the SLC cache to blocks with all bits of their cells.
            FOLD "fold" "SLC folding" fold FoldConfig FoldPolicy;
        }
    };
}
pub(crate) use upkeep_tasks;

macro_rules! tasks {
    (
        first { $( $(#[$doc:meta])* $TASK:ident $name:literal $title:literal $erases:literal; )+ }
        $( $(#[$upkeep_doc:meta])* $UPKEEP:ident $upkeep:literal $upkeep_title:literal $module:ident $Config:ident
            $Policy:ident; )*
    ) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Number { $( $TASK, )+ $( $UPKEEP, )* }

        /// Number of tasks.
        pub const TASKS: usize = [$( Number::$TASK, )+ $( Number::$UPKEEP, )*].len();

        const ABOUT: [About; TASKS] = [
            $( About { name: $name, title: $title, classes: names!($name $erases) }, )+
            $( About { name: $upkeep, title: $upkeep_title, classes: names!($upkeep true) }, )*
        ];

        impl Task {
            $( $(#[$doc])* pub const $TASK: Self = Self(Number::$TASK as u8); )+
            $( $(#[$upkeep_doc])* pub const $UPKEEP: Self = Self(Number::$UPKEEP as u8); )*
        }
    };
}

macro_rules! names {
    ($name:literal $erases:literal) => {
        [
            Some(concat!($name, "-read")),
            Some(concat!($name, "-write")),
            if $erases { Some(concat!($name, "-erase")) } else { None },
        ]
    };
}

upkeep_tasks! { tasks
    first {
        /// Requests of the host.
        HOST "host" "the host" false;
        /// Garbage collection.
        GC "gc" "garbage collection" true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_its_task_and_action_and_one_name() {
        for task in Task::all() {
            for action in Action::ALL {
                let class = Class::new(task, action);
                assert_eq!((class.task(), class.action()), (task, action));
                assert_eq!(class.is_write(), action == Action::Program);
                assert_eq!(class.is_host(), task == Task::HOST);
                assert_eq!(class.counted(), class);
                assert_eq!(class.moves(), class.is_write() && task != Task::HOST);
            }
            let of_map = Class::map_write(task);
            assert!(of_map.is_map_write() && of_map.is_write() && !of_map.moves());
            assert_eq!((of_map.task(), of_map.counted()), (task, Class::new(task, Action::Program)));
            for class in [of_map, of_map.counted()] {
                assert_eq!(Class::of_row(class.row()), class);
            }
        }
        let names: Vec<_> = Class::all().filter_map(Class::name).collect();
        assert_eq!(names[..5], ["host-read", "host-write", "gc-read", "gc-write", "gc-erase"]);
        let text = serde_json::to_string(&Class::HOST_WRITE).unwrap();
        assert_eq!(serde_json::from_str::<Class>(&text).unwrap(), Class::HOST_WRITE);
        let error = serde_json::from_str::<Class>("\"gc-trim\"").unwrap_err().to_string();
        assert!(error.contains("host-read, host-write, gc-read"), "{error}");
    }
}
