//! The assembled drive, seen from outside. One program: the engine is instantiated and linked once.

mod adversarial;
mod afterwards;
mod ahead;
mod alone;
mod arrays;
mod bandwidth;
mod block_map;
mod block_mapping;
mod collecting;
mod commit;
mod common;
mod company;
mod conservation;
mod deadlines;
mod device_queue;
mod energy;
mod equality;
mod full_drive;
mod guests;
mod latency;
mod lazy_wear;
mod log_blocks;
mod map_cache;
mod map_zones;
mod moves;
mod one_shot;
mod options_cache;
mod options_copyback;
mod options_suspend;
mod organisations;
mod parallel_gc;
mod probe;
mod processor;
mod rain;
mod refresh;
mod refused;
mod reliability;
mod schedule;
mod scheduled_merges;
mod slc;
mod snapshots;
mod staged;
mod steps;
mod straight;
mod streams;
mod stretches;
mod stripes;
mod tables;
mod theory;
mod traces;
mod transactions;
mod ttflash;
mod untimed;
mod wear;
mod within_requests;
mod worn_out;
mod write_buffer;

#[allow(dead_code, reason = "the tests of the flash use the rest")]
#[path = "../../../flash/tests/twin"]
mod twin {
    pub mod acts;
    pub mod host;
    pub mod machine;
    pub mod script;
    pub mod table;
    pub mod trace;
}
