"""Synonyms of keys: the terms of papers, data sheets, fio and other simulators."""

from __future__ import annotations

import re

RESULTS = "results."
"""Prefix of result keys, where keys of drives and workloads are also possible."""

WORDS: tuple[tuple[str, str], ...] = (
    # The shape of the drive.
    ("geometry.channels", "channel, channel count, number of channels, num channels, buses"),
    (
        "geometry.packages_per_channel",
        "package, packages, chip, chips, chips per channel, way, ways, chip enable, ce, targets",
    ),
    ("geometry.packages_per_channel geometry.channels", "bank, banks, banking, interleaving"),
    ("geometry.gang", "gang, ganging, ganged, lockstep, linked packages"),
    ("geometry.dies_per_package", "die, dies, lun, luns, dies per chip, luns per package"),
    ("geometry.planes_per_die", "plane, planes, number of planes, planes per lun"),
    ("geometry.blocks_per_plane", "blocks, block count, number of blocks, blocks per die"),
    ("geometry.page_kib", "page size, page bytes, flash page size"),
    ("job.bs geometry.pages_per_block geometry.page_kib", "block size, block bytes"),
    ("geometry.pages_per_block", "erase block size, erase unit, block pages"),
    (
        "capacity.raw_over_logical",
        "op, overprovision, over provisioning, over provisioning ratio, op ratio, op percent, provisioning, spare, "
        "spare space, spare area, spare factor, spare capacity",
    ),
    ("capacity.raw_over_logical results.drive.logical_bytes", "user capacity, logical capacity, drive size"),
    ("capacity.replacement_blocks nand.reliability.factory_bad_percent", "bad block, bad blocks, spare blocks"),
    # The NAND.
    ("nand.read_us", "tR, tRead, read time, read latency, page read time, sense time, array read time"),
    ("nand.program_us", "tPROG, tPGM, program time, program latency, page program time, write time"),
    ("nand.erase_us", "tBERS, tErase, erase time, erase latency, block erase time"),
    ("nand.dummy_busy_us", "tDBSY, tPLEBSY"),
    ("nand.cache_read_busy_us", "tRCBSY"),
    ("nand.cache_program_busy_us", "tCBSY, tPCBSY"),
    ("nand.suspend_us nand.resume_us", "suspend time, suspend latency, resume time, resume latency"),
    (
        "nand.read_us nand.program_us nand.page_order nand.reliability.coefficients",
        "slc, mlc, tlc, qlc, plc, cell type, cell mode, bits per cell, page class, page type, lsb, csb, msb",
    ),
    (
        "nand.interface nand.rate_mt_s",
        "onfi, toggle, nand interface, flash interface, bus speed, channel speed, bus rate, bus clock, transfer rate, "
        "channel bandwidth, channel rate, data rate, mtps",
    ),
    (
        "nand.reliability.endurance",
        "pe, p/e cycles, p/e cycle, pec, program erase cycles, erase limit, rated cycles, lifetime, wear out",
    ),
    (
        "nand.reliability.model nand.reliability.coefficients",
        "rber, ber, bit error rate, bit errors, raw bit error rate",
    ),
    ("nand.reliability.ecc_bits nand.reliability.ecc_codeword_bytes", "ecc, ldpc, bch, error correction, codeword"),
    ("nand.reliability.read_retries", "read retry, retry, retries"),
    ("nand.reliability.retention_hours nand.reliability.beta", "retention, retention time, data retention"),
    ("nand.reliability.gamma nand.reliability.reads_per", "read disturb, read disturbance"),
    ("nand.energy results.energy", "power, power consumption, current, currents"),
    # The firmware.
    (
        "collect results.gc",
        "gc, garbage collection, garbage collector, garbage, cleaning, cleaner, reclaim, reclamation, collector",
    ),
    ("victim.policy collect.policy", "gc policy, gc algorithm, cleaning policy"),
    ("victim.policy", "victim selection, victim block, victim policy, block selection"),
    (
        "collect.start_blocks collect.stop_blocks",
        "gc threshold, gc trigger, gc start, gc watermark, watermark, low watermark, high watermark, threshold",
    ),
    ("collect.reserve_blocks", "gc reserve, reserved blocks"),
    ("collect.copyback", "copy back, internal copy, internal data move, internal move"),
    (
        "free_block.policy wear.policy results.wear",
        "wear leveling, wear levelling, wear, wl, dynamic wear leveling, block allocation",
    ),
    (
        "wear.policy free_block.policy results.wear",
        "static wear leveling, global wear leveling, cold data migration, dual pool",
    ),
    (
        "slc.policy fold.policy results.slc",
        "slc cache, pslc, pseudo slc, slc mode, turbowrite, dynamic write acceleration, write booster, slc buffer",
    ),
    ("fold.policy", "folding, destage, migration to tlc"),
    ("mapping", "ftl, l2p, map, page map, page mapping, address mapping, address translation, translation"),
    (
        "mapping.policy",
        "block mapping, block level mapping, nftl, replacement block, full merge, switch merge, dftl, map cache",
    ),
    (
        "mapping.unit_kib",
        "mapping unit, mapping granularity, mapping size, indirection unit, iu, sector size, lba size, "
        "logical page size",
    ),
    (
        "placement",
        "allocation, page allocation, plane allocation, write allocation, data placement, striping, stripe, CWDP",
    ),
    ("pack.policy", "multi plane, two plane, multi plane command, multi plane operation, plane interleaving"),
    ("pack.policy pack.cache", "cache mode, cache read, cache program, cache command"),
    (
        "arbiter dispatch",
        "scheduler, scheduling, io scheduler, die scheduler, transaction scheduling, tsu, priority, read priority",
    ),
    (
        "suspend",
        "suspension, suspend resume, program suspend, program suspension, erase suspend, erase suspension, preemption",
    ),
    ("trim job.rw", "discard, deallocate, unmap, dsm, dataset management"),
    # Between flash and host.
    ("buffer", "write buffer, write cache, write back cache, cache, dram, dram cache, dram buffer, data cache"),
    ("buffer.capacity_kib", "buffer size, cache size, write buffer size, write cache size, dram size"),
    ("link", "host interface, host link, pcie, pci express, nvme, sata, ata, pata, ide, ultra dma, protocol"),
    ("nand.interface link", "interface"),
    ("nand.bus_bits", "bus width, io width, data lines, bus bits, x8, x16"),
    ("nand.cycle_ns nand.rate_mt_s", "bus frequency, io clock, bus cycle, cycle time"),
    ("link.pcie_generation", "pcie gen, pcie version, gen"),
    ("link.pcie_lanes", "lanes, pcie width, link width"),
    (
        "job.iodepth trace.iodepth queue.depth",
        "queue depth, qd, iodepth, io depth, outstanding, outstanding requests, ncq",
    ),
    ("queue.queues", "queue count, number of queues, num queues, io queues, submission queues, nvme queues"),
    # The state at the start.
    ("precondition", "preconditioning, prefill, ageing, aging, age, initial state, initial occupancy"),
    ("precondition job.ramp_time_s", "warm up, warmup time"),
    ("verify.shadow", "data integrity, integrity check, integrity, shadow disk, self check"),
    # The workload.
    (
        "job.random_distribution",
        "zipf, zipfian, zipf theta, theta, pareto, skew, skewness, distribution, hot cold, hotness, locality, zoned, "
        "access distribution",
    ),
    (
        "job.rw",
        "readwrite, access pattern, io pattern, io type, workload type, random, sequential, randwrite, randread",
    ),
    ("job.rwmixread", "read ratio, read percent, read percentage, read fraction, write ratio, rwmixwrite, rwmix, mix"),
    ("job.bs", "request size, transfer size, access size"),
    ("job.bs job.io_size", "io size"),
    ("job.numjobs", "threads, thread count, workers, processes, clients, jobs"),
    ("job.rate_iops", "arrival rate, request rate, iops limit, rate limit, throttle"),
    ("results.iops job.rate_iops", "iops"),
    ("job.rate_process", "poisson, arrival process, inter arrival, inter arrival time, arrivals"),
    ("job.thinktime_us", "think time, idle time"),
    ("job.size", "working set, working set size, wss, footprint, region, span, address range"),
    (
        "job.number_ios trace.limit",
        "request count, number of requests, num requests, nr ios, number of ios, total requests",
    ),
    ("job.runtime_s runtime_s", "runtime, run time, duration, simulation time"),
    ("job.fsync", "flush, flushes, sync"),
    ("trace.pace", "replay mode, open loop, closed loop, timestamps"),
    ("trace.speed", "acceleration, speed up, time scale, replay speed"),
    ("trace.loops job.loops", "repeat, repetitions, replay count"),
    # Results.
    ("results.write_amplification", "waf, wa, write amp, write amplification factor"),
    (
        "results.latency_us",
        "latency, latencies, response time, tail, tail latency, percentile, percentiles, quantiles, service time",
    ),
    ("results.bandwidth_mib_s", "bandwidth, throughput, bw, transfer speed"),
    ("results.time_of", "breakdown, latency breakdown, time breakdown, where time went"),
    ("results.gc_affected_requests results.time_of.read.wait_die_gc", "gc stall, gc stalls, gc interference, gc delay"),
    ("results.gc.moved_pages", "gc writes, gc copies, page copies, valid page copies, migrations, relocations"),
    ("results.flash.erases results.wear", "erase count, erase counts, erase cycles"),
    ("results.utilisation results.activity", "utilization, busy time, idleness"),
)
"""Keys and sections with their synonyms; case, blanks, dashes and underscores are ignored."""


def plain(word: str) -> str:
    """A word as the table compares it: ``Over-Provisioning`` as ``overprovisioning``."""
    return re.sub(r"[\s_\-/]+", "", word).lower()


MEANT = {plain(word): tuple(keys.split()) for keys, words in WORDS for word in words.split(", ")}
"""The keys that each word may mean."""


UNIT = re.compile(r"_(ps|ns|us|ms|s|[kmg]i?b|bytes|pct|percent|mhz|mt_s)$", re.IGNORECASE)
"""A unit at the end of a word, as other simulators and this one name keys."""


def words() -> list[str]:
    """All words of the table, as people write them."""
    return [word for _, words in WORDS for word in words.split(", ")]


def meant(word: str) -> tuple[str, ...]:
    """The keys that ``word`` may mean; none for a word that is not in the table."""
    return MEANT.get(plain(word)) or MEANT.get(plain(UNIT.sub("", word)), ())
