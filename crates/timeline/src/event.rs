//! Data of slices and instants.

/// Name, flows and annotations of a slice or an instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event<'a> {
    /// What is drawn on it. Each different name is kept in memory and written once: what differs from event to event
    /// belongs in `args`.
    pub name: &'a str,
    /// The flows that touch it.
    pub flows: &'a [Flow],
    /// Annotations: names, of which the same holds as of `name`, and values.
    pub args: &'a [(&'a str, Arg<'a>)],
}

/// An arrow's way through events, by a number of its own.
///
/// Perfetto orders the events of a flow by their begin in nanoseconds; those that begin in the same one, as they were
/// written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The flow starts here or goes through. The number is any but 0.
    Through(u64),
    /// The flow ends here; its number may be used anew.
    End(u64),
}

/// The value of an annotation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg<'a> {
    /// A number without a sign; the trace processor's tables hold 63 bits of it.
    Uint(u64),
    /// A number with a sign.
    Int(i64),
    /// A number with a fraction.
    Real(f64),
    /// Yes or no.
    Bool(bool),
    /// A text, written out every time.
    Text(&'a str),
}
