//! Data of slices and instants.

/// Name, flows, annotations and group of a slice or an instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event<'a> {
    /// Its label. Each distinct name is kept in memory and written once; data that differ from event to event belong in
    /// `args`.
    pub name: &'a str,
    /// The flows that touch it.
    pub flows: &'a [Flow],
    /// Annotations: names, with the same rule as `name`, and values.
    pub args: &'a [(&'a str, Arg<'a>)],
    /// What it belongs to: the viewer draws events of one group in one colour, whatever their names. The same rule as `name`.
    pub group: Option<&'a str>,
}

/// An arrow through events, with its own number.
///
/// Perfetto orders the events of a flow by their begin in nanoseconds, and on a tie by the order of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The flow starts here or continues. The number is any but 0.
    Through(u64),
    /// The flow ends here; its number may be reused.
    End(u64),
}

/// The value of an annotation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg<'a> {
    /// An unsigned number; the trace processor's tables hold 63 bits of it.
    Uint(u64),
    /// A signed number.
    Int(i64),
    /// A floating-point number.
    Real(f64),
    /// True or false.
    Bool(bool),
    /// A text, written out every time.
    Text(&'a str),
}
