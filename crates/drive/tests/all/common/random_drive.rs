//! Random drives: a value for every option, within what is accepted.

use super::{between, chance, config_unless_refused, pick, shuffled};
use wordline_base::Stream;
use wordline_drive::{Drive, DriveConfig};

fn order(random: &mut Stream) -> String {
    shuffled(random, &['C', 'W', 'D', 'P']).into_iter().collect()
}

/// Cache mode of a packer of planes.
fn cache(random: &mut Stream) -> String {
    format!("cache = {}, passes = {}", chance(random, 50), between(random, 0, 20))
}

/// Operations that reads may suspend, and limits.
fn suspension(random: &mut Stream) -> String {
    let (programs, erases) = *pick(random, &[(true, true), (true, false), (false, true)]);
    let least = pick(random, &["0.0", "1.0", "100.0", "500.0"]);
    format!("programs = {programs}, erases = {erases}, most = {}, least_left_us = {least}", between(random, 1, 6))
}

/// A drive file with random values for everything except over-provisioning, and whether TRIM invalidates.
fn random_text(random: &mut Stream) -> String {
    let page_kib = *pick(random, &[4, 8, 16]);
    let units: Vec<u64> = [1, 2, 4, 8, 16].into_iter().filter(|&unit| unit <= page_kib).collect();
    let unit_kib = *pick(random, &units);
    let (in_flash, by_block) = (chance(random, 35), chance(random, 20));
    // Pages that a program writes.
    let together = if !by_block && chance(random, 25) { between(random, 2, 4) } else { 1 };
    let mapping = match in_flash {
        _ if by_block => "policy = \"block\"".to_owned(),
        true => {
            format!("policy = \"cached\", unit_kib = {unit_kib}, cache_kib = {}", unit_kib * between(random, 1, 12))
        }
        false => format!("policy = \"page\", unit_kib = {unit_kib}"),
    };
    let [channels, packages, dies] = [between(random, 1, 4), between(random, 1, 2), between(random, 1, 2)];
    let redundancy = match !by_block && chance(random, 20) {
        true => redundancy(random, channels * packages * dies),
        false => None,
    };
    let (pages, together) = (together, redundancy.is_some());
    let fixed = !together && chance(random, 50);
    let raid = fixed && !in_flash && !by_block && channels > 1 && chance(random, 40);
    let redundancy = redundancy.or_else(|| raid.then(|| ttflash(random, channels)));
    let placement = match fixed {
        true if raid => {
            let order: String = shuffled(random, &['W', 'D', 'P']).into_iter().collect();
            format!("policy = \"static\", order = \"C{order}\"")
        }
        true => format!("policy = \"static\", order = \"{}\"", order(random)),
        false => "policy = \"least-busy\"".into(),
    };
    let scope = if !together && (fixed || (!by_block && chance(random, 50))) { "plane" } else { "drive" };
    let mut collect = format!("policy = \"on-demand\", scope = \"{scope}\"");
    if !together && chance(random, 30) {
        let reserve = between(random, 1, 3);
        let start = reserve + between(random, 1, 3);
        collect += &format!(", reserve_blocks = {reserve}, start_blocks = {start}");
        collect += &format!(", stop_blocks = {}", start + between(random, 0, 2));
    }
    if chance(random, 50) {
        collect += &format!(", window_pages = {}", between(random, pages, 12));
    }
    if chance(random, 50) {
        collect += &format!(", blocks_at_a_time = {}", between(random, 1, 4));
    }
    if chance(random, 40) {
        let least = if together { 4 } else { 1 };
        collect += &format!(", blocks_per_die = {}", between(random, least, least + 2));
    }
    if !by_block && chance(random, 40) {
        collect += ", pacing = true";
    }
    let into = *pick(random, &["own-block", "own-block", "shared-block", "paired-blocks"]);
    if scope == "plane" && !by_block {
        collect += &format!(", into = \"{into}\"");
    }
    let (dispatch, shares) = commit(random);
    // What lets GC hold a die, or take no time.
    let (alone, staged) = (chance(random, 30), !dispatch.contains("fifo"));
    if alone && !staged && !together && !by_block && chance(random, 60) {
        collect += &format!(", hold_below_blocks = {}", between(random, 1, 6));
    }
    let joins = chance(random, 40);
    if alone && !joins && chance(random, 50) {
        collect += ", instant = true";
    }
    let copyback = *pick(random, &["off", "off", "internal", "checked"]);
    let wishes = scope == "drive" && !together && !by_block && chance(random, 50);
    if wishes {
        collect += &format!(", moves_to = \"{}\"", pick(random, &["same-channel", "same-die"]));
    }
    let in_place = !wishes && !together && !by_block && pages == 1;
    collect += &format!(", copyback = \"{}\"", if in_place { copyback } else { "off" });
    let steps = !by_block && !collect.contains("instant") && !collect.contains("hold_below");
    if steps && chance(random, 45) {
        let ahead = format!("background\", idle_us = {}, foresight = {}", between(random, 0, 500), chance(random, 50));
        let policy = *pick(random, &["preemptive\"", "preemptive\"", &ahead]);
        collect = collect.replace("on-demand\"", policy);
    }
    let victim = match random.below(6) {
        5 if scope == "plane" && !in_flash => {
            format!("policy = \"read-aligned\", candidates = {}", between(random, 1, 12))
        }
        0 => "policy = \"greedy\"".into(),
        1 => "policy = \"cost-benefit\"".into(),
        2 => "policy = \"fifo\"".into(),
        3 => "policy = \"random\"".into(),
        _ => format!("policy = \"best-of\", d = {}", between(random, 1, 12)),
    };
    let pack = match random.below(10) {
        0..=4 if alone || joins => {
            format!("policy = \"planes\", window = {}, join_gc = {joins}", between(random, 1, 16))
        }
        0..=4 => {
            let gather = scope == "drive" && !by_block && chance(random, 50);
            let (window, cache) = (between(random, 1, 16), cache(random));
            let cache = if together || by_block { "cache = false".into() } else { cache };
            format!("policy = \"planes\", window = {window}, gather = {gather}, {cache}")
        }
        5 | 6 if !alone && !together && !by_block => format!("policy = \"cache\", passes = {}", between(random, 0, 20)),
        _ => "policy = \"none\"".into(),
    };
    let victim = match victim.contains("read-aligned") && !pack.contains("join_gc = true") {
        true => "policy = \"greedy\"".into(),
        false => victim,
    };
    let suspend = match chance(random, 50) && !alone && !joins {
        true => format!("policy = \"reads\", {}", suspension(random)),
        false => "policy = \"none\"".into(),
    };
    let arbiter = match chance(random, 60) {
        true => {
            let classes = ["gc-erase", "gc-write", "gc-read", "host-read", "host-write"];
            format!("policy = \"priority\", order = {:?}", shuffled(random, &classes))
        }
        false => match random.below(3) {
            0 => format!(
                "policy = \"slack\", read_deadline_us = {}, write_deadline_us = {}, background_deadline_us = {}",
                between(random, 1, 4_000),
                between(random, 1, 20_000),
                between(random, 1, 50_000)
            ),
            1 => "policy = \"first-come\"".into(),
            _ => "policy = \"reads-first\"".into(),
        },
    };
    let buffer = match chance(random, 50) {
        true => format!("policy = \"fifo\", capacity_kib = {}", 4 * page_kib + between(random, 0, 20 * page_kib)),
        false => "policy = \"none\"".into(),
    };
    let (link, queues, depth) = match chance(random, 50) {
        true => (format!("policy = \"sata\", rate_gb_s = {}", pick(random, &["1.5", "3.0", "6.0"])), 1, 32),
        false => {
            let generation = between(random, 1, 6);
            let lanes = *pick(random, &[1, 2, 4, 8, 16]);
            let rest = format!(
                "pcie_generation = {generation}, pcie_lanes = {lanes}, latency_us = {}",
                pick(random, &["0.0", "0.5"])
            );
            (format!("policy = \"nvme\", {rest}"), between(random, 1, 4), 64)
        }
    };
    let refresh = match chance(random, 40) {
        true => {
            // Reads of a mapping table in flash may come to the units of a block.
            let start = if in_flash { between(random, 385, 900) } else { between(random, 1, 60) };
            format!("policy = \"scrub\", start_reads = {start}, stop_reads = {}", between(random, 1, start))
        }
        false => "policy = \"none\"".into(),
    };
    let apart = scope == "drive" || by_block || into == "own-block";
    let wear = match apart && chance(random, 40) {
        true => {
            let window = between(random, pages, 12);
            format!("{}, window_pages = {window}", wear(random, !together, by_block))
        }
        false => "policy = \"none\"".into(),
    };
    let has_cache = pack.contains("cache = true") || pack.contains("\"cache\"");
    let has_own_blocks = scope == "drive" || into == "own-block";
    let may_slc = !by_block
        && has_own_blocks
        && (together || pages > 1 || copyback == "off")
        && !has_cache
        && redundancy.as_ref().is_none_or(|redundancy| redundancy.contains("superblock"))
        && !(staged && pages > 1);
    let (slc, fold) = if may_slc && chance(random, 40) { slc(random, scope) } else { Default::default() };
    let (interface, rate) =
        *pick(random, &[("sdr", 50), ("nv-ddr", 200), ("nv-ddr2", 400), ("nv-ddr3", 800), ("nv-lpddr4", 3600)]);
    let program = match pages {
        1 => *pick(random, &["200.0", "[200.0, 800.0]", "[200.0, 400.0, 900.0]"]),
        _ => "200.0",
    };
    let text = format!(
        r#"
        geometry = {{ channels = {}, packages_per_channel = {}, dies_per_package = {}, planes_per_die = {},
                      blocks_per_plane = {}, pages_per_block = {}, page_kib = {page_kib}, pages_per_program = {pages} }}
        nand = {{ interface = "{interface}", rate_mt_s = {rate}, read_us = 20.0, program_us = {program}, erase_us = 1500.0,
                  slc_read_us = 20.0, slc_program_us = 150.0 }}
        mapping = {{ {mapping} }}
        placement = {{ {placement} }}
        victim = {{ {victim} }}
        collect = {{ {collect} }}
        free_block = {{ policy = "{}" }}
        pack = {{ {pack} }}
        suspend = {{ {suspend} }}
        arbiter = {{ {arbiter} }}
        trim = {{ policy = "{}" }}
        link = {{ {link} }}
        queue = {{ queues = {queues}, depth = {} }}
        dispatch = {{ {dispatch} }}
        shares = {{ {shares} }}
        buffer = {{ {buffer} }}
        refresh = {{ {refresh} }}
        wear = {{ {wear} }}
        slc = {{ {slc} }}
        fold = {{ {fold} }}
        redundancy = {{ {} }}
        processor = {{ {} }}
        verify = {{ shadow = true }}
        "#,
        channels,
        packages,
        dies,
        between(random, 1, 4),
        between(random, 7, 24),
        pages * between(random, 2, 24 / pages),
        pick(random, &["least-erased", "fifo"]),
        pick(random, &["invalidate", "invalidate", "ignore"]),
        between(random, 1, depth),
        redundancy.unwrap_or_else(|| "policy = \"none\"".into()),
        match chance(random, 30) {
            true => format!("policy = \"uniform\", host_us = [0.0, {}.5]", between(random, 0, 30)),
            false => "policy = \"none\"".into(),
        },
    );
    joins_in_planes(text)
}

/// A drive file without what dies of one plane cannot have: operations of the host in commands of GC.
pub fn joins_in_planes(text: String) -> String {
    if !text.contains("planes_per_die = 1,") {
        return text;
    }
    let alone = text.replace("join_gc = true", "join_gc = false");
    match alone.find("policy = \"read-aligned\"").and_then(|at| Some((at, at + alone[at..].find(" }")?))) {
        Some((at, end)) => format!("{}policy = \"greedy\"{}", &alone[..at], &alone[end..]),
        None => alone,
    }
}

/// Wear leveling that soon has something to do, for blocks that stand alone or not, with a mapping of whole blocks or another.
fn wear(random: &mut Stream, alone: bool, whole_blocks: bool) -> String {
    match random.below(5) {
        0 if whole_blocks => {
            let tuning = format!(", lambda_percent = -0.{}", between(random, 1, 9));
            let tuning = if chance(random, 50) { tuning } else { String::new() };
            let (delta, session) = (pick(random, &["0.5", "1.0", "3.0"]), between(random, 1, 20));
            format!("policy = \"lazy\", delta_cycles = {delta}, session_erases = {session}{tuning}")
        }
        1 if alone => {
            format!("policy = \"recency\", erases_per_block = {}", pick(random, &["1.1", "2.0", "5.0"]))
        }
        2 if alone => format!("policy = \"hot-cold\", threshold_cycles = {}", between(random, 1, 6)),
        3 if alone => format!("policy = \"dual-pool\", threshold_cycles = {}", between(random, 1, 6)),
        _ => {
            let start = between(random, 1, 6);
            format!("policy = \"static\", start_cycles = {start}, stop_cycles = {}", between(random, 1, start))
        }
    }
}

/// An SLC cache and its folding.
fn slc(random: &mut Stream, scope: &str) -> (String, String) {
    let slc = match scope == "drive" && chance(random, 30) {
        true => format!("policy = \"static\", blocks = {}", between(random, 1, 8)),
        false if chance(random, 50) => "policy = \"dynamic\"".into(),
        false => format!("policy = \"dynamic\", free_blocks = {}", between(random, 0, 7)),
    };
    let start = between(random, 0, 4);
    let fold = match chance(random, 60) {
        true => format!(
            "policy = \"coldest\", idle_us = {}.0, start_blocks = {start}, stop_blocks = {}, blocks_at_a_time = {}, window_pages = {}",
            pick(random, &[0, 10, 300, 5_000]),
            start + between(random, 0, 3),
            between(random, 1, 3),
            between(random, 4, 16)
        ),
        false => String::new(),
    };
    (slc, fold)
}

/// Superblocks of a drive with so many dies; none if it has one.
fn redundancy(random: &mut Stream, dies: u64) -> Option<String> {
    let fit: Vec<u64> = (2..=dies).filter(|&count| dies.is_multiple_of(count)).collect();
    if fit.is_empty() {
        return None;
    }
    let dies = pick(random, &fit);
    Some(match chance(random, 70) {
        true => format!(
            "policy = \"rain\", dies = {dies}, rebuild_reads = {}, erase_in_turn = {}",
            chance(random, 80),
            chance(random, 70)
        ),
        false => format!("policy = \"superblock\", dies = {dies}"),
    })
}

/// Parity of logical pages over the channels.
fn ttflash(random: &mut Stream, channels: u64) -> String {
    let dies = if channels == 4 && chance(random, 30) { 2 } else { channels };
    format!(
        "policy = \"ttflash\", dies = {dies}, rebuild_reads = {}, collect_in_turn = {}, open_stripes = {}",
        chance(random, 80),
        chance(random, 70),
        pick(random, &[1, 2, 5, 40, 1_000])
    )
}

/// Dispatch, and shares where it takes them.
fn commit(random: &mut Stream) -> (String, String) {
    let depth = between(random, 1, 8);
    let share = between(random, 1, 80);
    let policy = match random.below(14) {
        10 => return ("policy = \"vaq\"".into(), String::new()),
        11 => {
            let (interleave, packing) = (chance(random, 50), chance(random, 50));
            let more = pick(random, &["", ", bound_us = 300.0", ", decision_us = 1.77"]);
            return (format!("policy = \"paq\", interleave = {interleave}, packing = {packing}{more}"), String::new());
        }
        12 => return ("policy = \"out-of-order\"".into(), String::new()),
        13 => {
            let (aware, read) = (chance(random, 70), pick(random, &["60.0", "500.0", "20000.0"]));
            let background = pick(random, &["100.0", "3000.0", "1000000.0"]);
            let more = pick(random, &["", ", depth = 1", ", margin_us = 0.0", ", stream_deadline_us = { 0 = 100.0 }"]);
            let deadline =
                format!("gc_aware = {aware}, read_deadline_us = {read}, background_deadline_us = {background}{more}");
            return (format!("policy = \"deadline\", {deadline}"), String::new());
        }
        0..=2 => return (format!("policy = \"fifo\", window = {depth}"), String::new()),
        3 => return (format!("policy = \"one-queue\", depth = {depth}"), String::new()),
        4 if chance(random, 50) => {
            let order = pick(random, &["\"host\", \"gc\"", "\"gc\"", "\"gc\", \"host\"", ""]);
            return (format!("policy = \"priority\", depth = {depth}, order = [{order}]"), String::new());
        }
        4 | 5 => "debit",
        6 | 7 => "weighted-fair",
        _ => return ("policy = \"fifo\"".into(), String::new()),
    };
    let shares = match chance(random, 50) {
        true => format!("policy = \"fixed\", percent = {{ gc = {share} }}"),
        false => {
            let p = pick(random, &["0.0", "0.01", "1.0", "1e3"]);
            let interval = pick(random, &["0.01", "1.0", "100.0"]);
            format!("policy = \"feedback\", interval_ms = {interval}, p = {{ gc = {p} }}, least = 1.0, most = 90.0")
        }
    };
    (format!("policy = \"{policy}\", depth = {depth}"), shares)
}

/// The smallest accepted over-provisioning from a list of ratios; none if even the last is rejected.
fn just_accepted(config: &mut DriveConfig) -> bool {
    (0..400).any(|step| {
        config.firmware.capacity.raw_over_logical = 1.005 * 1.01_f64.powi(step);
        config.parts().is_ok()
    })
}

/// A random drive that is accepted; none if what was drawn is refused.
pub fn random_config(random: &mut Stream) -> Option<DriveConfig> {
    let text = random_text(random);
    accepted(&text, random, &["capacity.raw_over_logical"])
}

/// The same without write buffer and redundancy, whose multi-plane commands are `across` requests or of one only.
pub fn random_config_of_commands(random: &mut Stream, across: bool) -> Option<DriveConfig> {
    let pack = format!("pack = {{ policy = \"planes\", across_requests = {across} }}");
    let lines = [("pack = {", &*pack), ("buffer = {", "buffer = { policy = \"none\" }"), ("redundancy = {", "")];
    let text = random_text(random);
    let changed = text.lines().map(|line| {
        let other = lines.iter().find(|(start, _)| line.trim_start().starts_with(start));
        other.map_or(line, |&(_, other)| other)
    });
    accepted(&changed.collect::<Vec<_>>().join("\n"), random, &["capacity.raw_over_logical"])
}

/// The same where planes take turns; none for drives that cannot have that.
pub fn random_config_in_turn(random: &mut Stream) -> Option<DriveConfig> {
    let text = random_text(random);
    if !text.contains("policy = \"least-busy\"") || !text.contains("scope = \"plane\"") {
        return None;
    }
    let turns = if chance(random, 50) { "policy = \"in-turn\"" } else { "policy = \"by-request\"" };
    let mut text = text.replace("policy = \"least-busy\"", turns);
    if chance(random, 50) {
        let bad = format!("nand = {{ reliability = {{ factory_bad_percent = {}.0 }},", between(random, 1, 6));
        text = text.replace("nand = {", &bad);
    }
    accepted(&text, random, &["capacity.raw_over_logical", "placement.policy"])
}

/// The same with log blocks, whose merges may be `scheduled` over idle periods; none for drives that do not fix pages.
pub fn random_config_with_logs(random: &mut Stream, scheduled: bool) -> Option<DriveConfig> {
    let text = random_text(random);
    if !text.contains("mapping = { policy = \"block\" }") {
        return None;
    }
    // Where the mapping says which blocks are emptied, nothing else does.
    let without = ["victim = {", "refresh = {", "wear = {"];
    let kept = text.lines().filter(|line| !without.iter().any(|start| line.trim_start().starts_with(start)));
    let few = if chance(random, 50) { format!(", log_blocks = {}", between(random, 2, 4)) } else { String::new() };
    let mapping = match random.below(4) {
        0 => format!("policy = \"bast\"{few}"),
        1 => {
            let (size, logs) = (between(random, 1, 5), between(random, 1, 5));
            let whole = chance(random, 70);
            let group = format!("group_blocks = {size}, group_log_blocks = {logs}, whole_groups = {whole}");
            format!("policy = \"sast\", {group}{few}")
        }
        2 => format!("policy = \"pftl\"{few}"),
        _ => format!("policy = \"fast\"{few}"),
    };
    let zones = match !mapping.contains("pftl") && chance(random, 40) {
        true => format!(", zone_blocks = {}, zone_tables = {}", between(random, 1, 6), between(random, 1, 3)),
        false => String::new(),
    };
    let mapping = format!("{mapping}{zones}");
    let mut text = kept.collect::<Vec<_>>().join("\n").replace("policy = \"block\"", &mapping);
    if scheduled {
        let scope = if text.contains("scope = \"plane\"") { "plane" } else { "drive" };
        let (idle, threshold) = (between(random, 0, 60_000), between(random, 1, 12));
        let compacts = if chance(random, 70) { "full" } else { "any" };
        let ahead = format!(", idle_us = {idle}.0, threshold_blocks = {threshold}, compacts = \"{compacts}\"");
        let steps = format!(", threshold_blocks = {}, steps_per_page = {}", threshold + 40, between(random, 1, 8));
        let (policy, more) =
            *pick(random, &[("agc", &*ahead), ("dgc", ""), ("agc-dgc", &*ahead), ("partial", &*steps)]);
        let collect = format!("collect = {{ policy = \"{policy}\", scope = \"{scope}\"{more} }}");
        let of_line =
            |line: &str| if line.trim_start().starts_with("collect = {") { collect.clone() } else { line.into() };
        text = text.lines().map(of_line).collect::<Vec<_>>().join("\n");
    }
    if chance(random, 60) {
        text += &format!("\nwear = {{ {}, window_pages = {} }}\n", wear(random, true, true), between(random, 1, 12));
    }
    for key in ["blocks_at_a_time", "blocks_per_die"] {
        (1..=8).for_each(|value| text = text.replace(&format!(", {key} = {value}"), ""));
    }
    accepted(&text, random, &["capacity.raw_over_logical", "mapping.log_blocks", "mapping.zone_blocks"])
}

/// A drive of this text with random over-provisioning, if it is accepted; refused it is for one of some keys.
fn accepted(text: &str, random: &mut Stream, keys: &[&str]) -> Option<DriveConfig> {
    // Parsing is separate from the check, so that over-provisioning can be chosen.
    let ample = format!("capacity = {{ raw_over_logical = 100.0 }}\n{text}");
    let mut config = config_unless_refused(&ample)?;
    if chance(random, 50) {
        return just_accepted(&mut config).then_some(config);
    }
    config.firmware.capacity.raw_over_logical = 1.05 + random.unit();
    match config.parts() {
        Ok(_) => Some(config),
        Err(error) => {
            assert!(keys.contains(&error.key.as_str()), "{}", error.key);
            assert!(Drive::new(&config, 1).is_err(), "what is refused once is refused always");
            None
        }
    }
}
