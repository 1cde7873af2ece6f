//! How tasks stand at the commit stage over time: shares, limits, what waits and what is outstanding, at the end of each
//! interval.

use serde_json::{json, Map, Value};
use wordline_firmware::task::Task;
use wordline_firmware::{Kernel, Standing};

/// One look.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Look {
    standing: Standing,
    free_blocks: u32,
    most_reads: Option<u32>,
}

/// The looks of a run; none without a commit stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Gauges {
    looks: Vec<Look>,
}

impl Gauges {
    /// An interval ends.
    pub fn end(&mut self, kernel: &Kernel) {
        let Some(standing) = kernel.standing() else { return };
        let (free_blocks, most_reads) = (kernel.blocks().free_blocks(), kernel.most_reads());
        self.looks.push(Look { standing, free_blocks, most_reads });
    }

    /// Makes one interval of each two; the second counts.
    pub fn double(&mut self) {
        self.looks = self.looks.chunks_exact(2).map(|pair| pair[1]).collect();
    }

    /// As the result has them.
    pub fn document(&self, kernel: &Kernel) -> Value {
        let Some(standing) = kernel.standing() else { return Value::Null };
        let by_task = |of: &dyn Fn(&Look, usize) -> Value| -> Value {
            let list = |task: Task| self.looks.iter().map(|look| of(look, task.index())).collect::<Value>();
            let told = kernel.tasks().iter().map(|task| (task.about().name.to_owned(), list(task)));
            Value::Object(told.collect::<Map<_, _>>())
        };
        let mut map = Map::new();
        if standing.shares.is_some() {
            map.insert("shares".into(), by_task(&|look, at| json!(look.standing.shares.map(|shares| shares[at]))));
        }
        if standing.limits.is_some() {
            map.insert("limits".into(), by_task(&|look, at| json!(look.standing.limits.map(|limits| limits[at]))));
        }
        map.insert("outstanding".into(), by_task(&|look, at| json!(look.standing.outstanding[at])));
        map.insert("waiting".into(), by_task(&|look, at| json!(look.standing.waiting[at])));
        map.insert("free_blocks".into(), self.looks.iter().map(|look| look.free_blocks).collect());
        if kernel.most_reads().is_some() {
            map.insert("most_reads".into(), self.looks.iter().map(|look| json!(look.most_reads)).collect());
        }
        Value::Object(map)
    }
}
