"""The 24 orders of page allocation: figures 3.4 to 3.12 of jung13."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from wordline.studies.catalogue import parsed
from wordline.studies.context import Context
from wordline.studies.outcome import Bars, Cell, Outcome, Published, Stack, Table
from wordline.studies.packages import KIB, mean, resolved

ORDERS = tuple(sorted(("".join(it) for it in permutations("CWDP")), key=lambda it: ["CWDP".index(c) for c in it]))
CHANNEL, WAY, DIE, PLANE = ("channel-first", "way-first", "die-first", "plane-first")
FAMILIES = {name: tuple(it for it in ORDERS if it[0] == name[0].upper()) for name in (CHANNEL, WAY, DIE, PLANE)}
FLASH_FIRST = FAMILIES[DIE] + FAMILIES[PLANE]
REFERENCE = "CWDP"
"""All figures are normalised to it."""
BEST = "PWCD"
"""The order that the chapter finds best."""
WRITES, READS, SHOWN_WRITES, SHOWN_READS, MIXED = "msnfs", "fin2", "msnfs", "web", "sql1"
"""The write- and the read-intensive workload of 3.5.1, and those of figures 3.10, 3.11 and 3.8."""
OPS = ("read", "write")
KINDS = ("single", "planes", "dies", "dies_and_planes")
KIND_NAMES = ("one page", "several planes", "several dies", "several dies and planes")
LEAST = 0.1
"""Stands for a share of nothing, in percent of pages, to which no other could be compared."""
SECTOR = 512
QUEUE = 32
ALONE = 0.25
"""Length of the runs for latency, in lengths of the others."""
SPANNING = 2
"""Requests of the sequential workload, in times what spans all planes."""
TRIED_ORDERS = ("CWDP", "CPDW", "WCDP", "WPDC", "DCWP", "DPWC", "PCWD", "PWDC")
"""Two orders of each family, for the experiments on causes."""
TRIED = (READS, WRITES, MIXED, "web")
CHOSEN, DIRECT, OTHER_BUS, FASTER, SMALL = (
    "as above",
    "nothing is held up",
    "the other choice for a taken channel",
    "a bus of 200 MT/s",
    "requests of one page",
)
"""The experiments on causes."""
WITHIN, FEW, STATIC = ("packing within a request", "4 requests outstanding", "static placement")
"""More of them, on what the full queue and the placement do."""
FEW_OUTSTANDING = 4
STRAIGHT = "sequential writes"
EVEN = "all pages take the same time"
EVEN_PAGES = {"nand.program_us": 700.0, "nand.page_order": "cyclic"}
FAST_BUS = {"nand.interface": "nv-ddr", "nand.rate_mt_s": 200}
"""A bus of four times the rate."""
KEPT = ("iops", "bandwidth_mib_s", "latency_us", "utilisation", "transactions", "execution")
"""The parts of the results that are used: hundreds of whole ones would take two gigabytes."""

Runs = dict[tuple[str, str], dict[str, Any]]
"""Results by order and workload."""
Every = Mapping[tuple[str, ...], dict[str, Any]]
"""The same, and those of the experiments on causes, by order, workload and experiment."""
Values = Mapping[tuple[str, str], float]
"""Figures by order and workload."""


@dataclass(frozen=True)
class Change:
    """What an experiment on causes changes."""

    also: Mapping[str, Any] = field(default_factory=dict)
    """Overrides of the system."""
    small: bool = False
    """Requests of one page."""
    outstanding: int = QUEUE
    static: bool = False
    """Pages have their planes by their addresses."""


class Drive:
    """The drive of 3.4 in the simulated size, and the workloads of Table 3.1."""

    def __init__(self, context: Context) -> None:
        """Takes the choices of the study."""
        self.context = context
        self.chapter = parsed(context.study.folder.parent / f"{context.study.chapter}.toml")
        config = resolved(self.chapter["preset"])
        geometry, blocks = config["geometry"], self.chapter["blocks"]
        context.choice("blocks")
        self.page_bytes = geometry["page_kib"] * KIB
        self.planes = math.prod(
            geometry[it] for it in ("channels", "packages_per_channel", "dies_per_package", "planes_per_die")
        )
        start = math.ceil(blocks * self.chapter["collect_below"])
        self.sets = {
            "geometry.blocks_per_plane": blocks,
            "collect.start_blocks": start,
            "collect.stop_blocks": start + 1,
            "queue.depth": QUEUE,
        }
        bytes_in_all = self.planes * blocks * geometry["pages_per_block"] * self.page_bytes
        whole_block = geometry["pages_per_block"] * self.page_bytes
        part = 0.75 / config["capacity"]["raw_over_logical"]
        self.extent = int(bytes_in_all * part) // whole_block * whole_block
        self.length = context.requests(context.choice("length"))
        """Pages of a run."""

    def system(self) -> dict[str, Any]:
        """The choices that make the chapter's drive of the preset."""
        choice = self.context.choice
        return {
            "dispatch": {"policy": "in-order", "unit": choice("unit"), "wait_for_bus": choice("bus")},
            "pack": {"policy": "planes", "across_requests": choice("scope")},
        }

    def pages(self, size: float) -> float:
        """The mean number of pages of a request with a size of Table 3.1."""
        if self.context.choice("sizes") == "pages":
            return size
        return 1 + (size * KIB - SECTOR) / self.page_bytes

    def mean_pages(self, name: str) -> float:
        """The mean number of pages of a request of a workload."""
        row = self.chapter["workload"][name]
        writes = row["write_percent"] / 100
        return writes * self.pages(row["write_size"]) + (1 - writes) * self.pages(row["read_size"])

    def job(self, name: str, outstanding: int, part_of_length: float = 1) -> dict[str, Any]:
        """A workload, as fast as so many outstanding requests allow: the true trace, or its stand-in."""
        replay = {"pace": "asap", "iodepth": outstanding}
        requests = round(part_of_length * self.length / self.mean_pages(name))
        part = self.context.recorded(name, self.page_bytes, requests)
        if part is not None:
            return part.job(**replay)
        row = self.chapter["workload"][name]
        return {
            "stand_in": {
                "requests": requests,
                "write_percent": row["write_percent"],
                "write_size": f"{self.pages(row['write_size']) * self.page_bytes / KIB:.2f}k",
                "read_size": f"{self.pages(row['read_size']) * self.page_bytes / KIB:.2f}k",
                "random_percent": row["random_percent"],
                "align": self.page_bytes,
                "extent": self.extent,
                # Requests come as fast as the queue takes them, whatever their times.
                "gap_mean_us": 100,
            },
            "replay": replay,
        }

    def experiment(
        self, order: str, job: dict[str, Any], also: Mapping[str, Any], *, static: bool = False
    ) -> dict[str, Any]:
        """An experiment of :meth:`Context.drives`.

        :param also: overrides of the system.
        :param static: pages have their planes by their addresses, whatever the choice.
        """
        policy = self.context.choice("allocation")
        placement = {"placement": {"policy": "static" if static else policy, "order": order}}
        return {
            "drive": self.chapter["preset"],
            "sets": {**self.sets, **placement},
            "precondition": {},
            "then": {**self.system(), **also},
            "jobs": [job],
        }

    def straight(self, op: str) -> dict[str, Any]:
        """Sequential requests that span the drive."""
        spanning = self.planes * self.page_bytes * SPANNING
        return {"rw": op, "bs": spanning, "iodepth": QUEUE, "number_ios": 64, "size": self.extent}


def run(context: Context) -> Outcome:
    """All figures."""
    drive = Drive(context)
    names = list(drive.chapter["workload"])
    context.choice("parallelism")
    outstanding = context.choice("latency")
    jobs = {name: drive.job(name, QUEUE) for name in names}
    alone = {f"{name}, alone": drive.job(name, outstanding, ALONE) for name in names}
    straight = {f"sequential {op}s": drive.straight(op) for op in OPS}
    work = {**jobs, **alone, **straight}
    # Order by order, so that each drive is preconditioned once.
    experiments: dict[tuple[str, ...], dict[str, Any]] = {}
    for order in ORDERS:
        experiments |= {(order, name): drive.experiment(order, job, {}) for name, job in work.items()}
        # They explain the choices; a run with another choice does without them.
        if order in TRIED_ORDERS and not context.instead:
            experiments |= variants(drive, order, jobs)
    every = context.drives(experiments, KEPT)
    full = {(order, name): every[order, name] for order in ORDERS for name in names}
    slow = {(order, name): every[order, f"{name}, alone"] for order in ORDERS for name in names}
    iops = {key: result["iops"] for key, result in full.items()}
    latency = {key: result["latency_us"]["all"]["mean"] for key, result in slow.items()}
    parts = [
        throughput(context, names, iops),
        latencies(context, names, latency),
        transactions(names, full),
        parallelism(context, names, full),
        utilisation(context, names, full),
        performance_map(names, iops, latency),
        sequential(every),
        causes(every),
    ]
    return Outcome(
        measured={name: value for part in parts for name, value in part.measured.items()},
        tables=[table for part in parts for table in part.tables],
        figures=[figure for part in parts for figure in part.figures],
        discussed={name: value for part in parts for name, value in part.discussed.items()},
    )


def against(values: Values, names: Sequence[str], orders: Sequence[str], others: Sequence[str]) -> float:
    """The mean over workloads of what some orders have on average over what others have, in percent more."""
    ratios = [mean(values[it, name] for it in orders) / mean(values[it, name] for it in others) for name in names]
    return 100 * (mean(ratios) - 1)


def normalised(values: Values, names: Sequence[str]) -> dict[str, float]:
    """By order, the mean over workloads against the reference."""
    return {order: mean(values[order, name] / values[REFERENCE, name] for name in names) for order in ORDERS}


def by_order(title: str, names: Sequence[str], values: Values, note: str = "") -> Table:
    """Figures of each order, in percent of the reference."""
    rows: list[list[Cell]] = []
    for order in ORDERS:
        row = [100 * values[order, name] / values[REFERENCE, name] for name in names]
        rows.append([order, *row, mean(row)])
    return Table(title, ("order", *names, "mean"), rows, note)


def bars(name: str, title: str, words: str, y: str, values: Sequence[float], marks: Sequence[Published] = ()) -> Bars:
    """A bar for each order."""
    return Bars(name, title, words, y, ORDERS, {"": values}, marks)


def split(orders: Sequence[str]) -> dict[str, list[str]]:
    """Orders that use all channels before all ways, and the others."""
    before = [it for it in orders if it.index("C") < it.index("W")]
    return {"channels before ways": before, "ways before channels": [it for it in orders if it not in before]}


def throughput(context: Context, names: Sequence[str], iops: Values) -> Outcome:
    """Figure 3.4."""
    mean_of = normalised(iops, names)
    ranked = sorted(ORDERS, key=lambda it: -mean_of[it])
    over_reference = {(it, name): iops[it, name] / iops[REFERENCE, name] for it in FLASH_FIRST for name in names}
    published = 100 + context.published("jung13.palloc-flash-first-cwdp")[0]
    rows = [(name, *(mean(iops[it, name] for it in orders) for orders in FAMILIES.values())) for name in names]
    return Outcome(
        measured={
            "jung13.palloc-best": {"mean of all workloads": ranked[0] == BEST},
            "jung13.palloc-flash-first-iops": against(iops, names, FLASH_FIRST, FAMILIES[CHANNEL]),
            "jung13.palloc-flash-first-cwdp": 100 * (mean(over_reference.values()) - 1),
            "jung13.palloc-write-intensive": against(iops, [WRITES], FAMILIES[CHANNEL], FLASH_FIRST),
            "jung13.palloc-read-intensive": against(iops, [READS], FAMILIES[CHANNEL], FLASH_FIRST),
        },
        tables=[
            by_order("Throughput, in percent of CWDP (figure 3.4)", names, iops),
            Table("Requests a second, means of the families", ("workload", *FAMILIES), rows),
        ],
        figures=[
            bars(
                "throughput",
                "Throughput (figure 3.4)",
                "Requests a second of each order against CWDP, mean over the workloads.",
                "% of CWDP",
                [100 * mean_of[it] for it in ORDERS],
                [
                    Published(
                        "jung13.palloc-flash-first-cwdp", "published mean of die- and plane-first orders",
                        ORDERS.index(it), published, published,
                    )
                    for it in ("DPWC", BEST)
                ],
            )
        ],
        discussed={
            **{what: 100 * mean(mean_of[it] for it in some) for what, some in split(ORDERS).items()},
            "rank of PWCD": ranked.index(BEST) + 1,
            "best order": 100 * mean_of[ranked[0]],
            "best gain": 100 * (max(over_reference.values()) - 1),
            "PWCD": 100 * mean_of[BEST],
            "PDWC": 100 * mean_of["PDWC"],
        }
        | {f"{it} on fin2": 100 * over_reference[it, READS] for it in (BEST, "PDWC")},
    )  # fmt: skip


def latencies(context: Context, names: Sequence[str], latency: Values) -> Outcome:
    """Figure 3.5."""
    claim = "jung13.palloc-latency-cost"
    mean_of = normalised(latency, names)
    published = 100 + context.published(claim)[0]
    return Outcome(
        measured={claim: 100 * (mean(mean_of[it] for it in FLASH_FIRST) - 1)},
        tables=[by_order("Latency, in percent of CWDP (figure 3.5)", names, latency)],
        figures=[
            bars(
                "latency",
                "Latency (figure 3.5)",
                "Mean latency of each order against CWDP, mean over the workloads.",
                "% of CWDP",
                [100 * mean_of[it] for it in ORDERS],
                [
                    Published(claim, "published mean of most of them", ORDERS.index(it), published, published)
                    for it in ("DPWC", BEST)
                ],
            )
        ],
        discussed={f"latency, {it}": 100 * (mean_of[it] - 1) for it in ("PDCW", "PDWC", BEST)}
        | {
            f"latency, {what}": 100 * (mean(mean_of[it] for it in some) - 1)
            for what, some in split(FLASH_FIRST).items()
        }
        | {f"latency, {name}": against(latency, [name], FLASH_FIRST, [REFERENCE]) for name in (READS, WRITES, "web")},
    )


def kinds(result: Mapping[str, Any], of: str, ops: Sequence[str] = OPS) -> list[int]:
    """Transactions, or their pages, by kind."""
    told = result["transactions"]
    return [sum(told[op][of][kind] for op in ops) for kind in KINDS]


def transactions(names: Sequence[str], full: Runs) -> Outcome:
    """Figures 3.6 and 3.7: numbers of transactions, and what the oldest operation waits for."""
    counts = {key: float(sum(kinds(result, "count"))) for key, result in full.items()}
    mean_of = normalised(counts, names)
    taken = {
        what: [100 * mean(full[order, name]["transactions"][key] for name in names) for order in ORDERS]
        for what, key in (("package taken", "package_taken"), ("bus taken", "bus_taken"))
    }
    waited = {
        (order, op): mean(full[order, name]["transactions"][op]["waited_us"] or 0.0 for name in names)
        for order in ORDERS
        for op in OPS
    }
    rows = [
        (order, 100 * mean_of[order], *(taken[what][n] for what in taken), *(waited[order, op] / 1000 for op in OPS))
        for n, order in enumerate(ORDERS)
    ]
    return Outcome(
        measured={},
        tables=[
            Table(
                "Transactions and conflicts (figures 3.6 and 3.7)",
                ("order", "transactions, % of CWDP", *(f"{it}, % of time" for it in taken), "read, ms", "write, ms"),
                rows,
                "Means over the workloads. The last columns: the time until operations are committed.",
            )
        ],
        figures=[
            bars(
                "transactions",
                "Number of transactions (figure 3.6)",
                "Flash transactions of each order against CWDP, mean over the workloads.",
                "% of CWDP",
                [100 * mean_of[it] for it in ORDERS],
            ),
            Stack(
                "conflicts",
                "Waiting for resource conflicts (figure 3.7)",
                "Share of time in which the oldest operation waits for its package, or for the bus of its channel.",
                "% of time",
                ORDERS,
                taken,
            ),
        ],
        discussed={f"fewer transactions, {it}": 100 * (1 - mean_of[it]) for it in ("PWDC", "DPWC")},
    )  # fmt: skip


def share_of(result: Mapping[str, Any], wanted: Sequence[str], ops: Sequence[str] = OPS) -> float:
    """The share of pages in transactions of some kinds, in percent."""
    pages = dict(zip(KINDS, kinds(result, "pages", ops), strict=True))
    total = sum(pages.values())
    return 100 * sum(pages[it] for it in wanted) / total if total else 0.0


def parallelism(context: Context, names: Sequence[str], full: Runs) -> Outcome:
    """Figure 3.8, and what is parallel by operation."""
    counted = KINDS[1:] if context.choice("parallelism") == "both" else ("planes", "dies_and_planes")
    flash = {key: share_of(result, counted) for key, result in full.items()}
    of = {name: mean(flash[it, n] for it in orders for n in names) for name, orders in FAMILIES.items()}
    single = {it: mean(flash[it, name] for name in names) for it in ORDERS}
    worst = min(
        100 * (flash[it, name] / usual - 1)
        for name in names
        if (usual := mean(flash[other, name] for other in FAMILIES[PLANE]))
        for it in FAMILIES[CHANNEL]
    )
    rows: list[list[Cell]] = []
    for order in ORDERS:
        row: list[Cell] = [order]
        for op in OPS:
            told = [full[order, name]["transactions"][op] for name in names]
            count = sum(sum(it["count"].values()) for it in told)
            row += [100 * sum(it[key] for it in told) / count for key in ("beside_channels", "beside_ways")]
            pages = {kind: sum(it["pages"][kind] for it in told) for kind in KINDS}
            all_pages = sum(pages.values())
            row += [100 * (pages[kind] + pages["dies_and_planes"]) / all_pages for kind in ("dies", "planes")] + [
                100 * pages["dies_and_planes"] / all_pages
            ]
        rows.append(row)
    heads = ("channels", "ways", "dies", "planes", "dies and planes")
    return Outcome(
        measured={
            "jung13.palloc-flash-parallelism": [
                100 * (single[it] / max(single[REFERENCE], LEAST) - 1) for it in ("PWDC", "DPWC")
            ],
            "jung13.palloc-interference": 100 * (of[CHANNEL] / of[PLANE] - 1),
            "jung13.palloc-interference-way": 100 * (of[WAY] / of[PLANE] - 1),
        },
        tables=[
            Table(
                "Parallelism by operation, in percent",
                ("order", *(f"{op}: {it}" for op in OPS for it in heads)),
                rows,
                "Over all workloads. Channels and ways: transactions committed while another channel, or another "
                "package of the channel, has one under way. Dies and planes: pages in transactions of several dies, of "
                "several planes of a die, of both.",
            ),
        ],
        figures=[
            Stack(
                "parallelism",
                f"Pages of {MIXED} by kind of transaction (figure 3.8)",
                f"Share of the pages of {MIXED} in transactions of each kind, by order.",
                "% of pages",
                ORDERS,
                {
                    told: [share_of(full[order, MIXED], [kind]) for order in ORDERS]
                    for kind, told in zip(KINDS, KIND_NAMES, strict=True)
                },
            )
        ],
        discussed={f"parallel, {name}": value for name, value in of.items()}
        | {f"parallel, {it}": single[it] for it in (REFERENCE, "PWDC", "DPWC")}
        | {
            "worst interference": worst,
            "interference of planes": plane_share(full, names, CHANNEL),
            "interference of planes, way-first": plane_share(full, names, WAY),
        }
        | {f"both, {it}": mean(share_of(full[it, n], KINDS[3:]) for n in names) for it in ("PDCW", "PDWC", REFERENCE)},
    )  # fmt: skip


def plane_share(full: Runs, names: Sequence[str], family: str) -> float:
    """Pages in transactions with several planes of a die: a family against plane-first orders, in percent more."""
    found = [
        mean(share_of(full[it, name], ("planes", "dies_and_planes")) for it in FAMILIES[which] for name in names)
        for which in (family, PLANE)
    ]
    return 100 * (found[0] / found[1] - 1)


def utilisation(context: Context, names: Sequence[str], full: Runs) -> Outcome:
    """Figures 3.9 to 3.11."""
    claim = "jung13.palloc-channel-utilisation"
    used = {key: 100 * mean(result["utilisation"]["channels"]) for key, result in full.items()}
    published = context.published(claim)[0]
    parts = ("cell", "bus", "contention", "idle")
    whole = {part: 100 * mean(result["execution"][part] for result in full.values()) for part in parts}

    def breakdown(name: str, number: str, what: str) -> Stack:
        return Stack(
            f"execution-{name}",
            f"Execution breakdown of {name}, {what} (figure {number})",
            f"Shares of the time of all dies under {name}, by order.",
            "% of the time of dies",
            ORDERS,
            {part: [100 * full[order, name]["execution"][part] for order in ORDERS] for part in parts},
        )

    rows = [
        (name, *(mean(used[it, name] for it in orders) for orders in FAMILIES.values()),
         *(100 * mean(full[it, name]["execution"][part] for it in ORDERS) for part in parts))
        for name in names
    ]  # fmt: skip
    return Outcome(
        measured={claim: mean(used.values())},
        tables=[
            Table(
                "Channels in use and time of dies, in percent",
                ("workload", *(f"channels, {it}" for it in FAMILIES), *parts),
                rows,
                "The last columns: means over all orders.",
            )
        ],
        figures=[
            bars(
                "channels",
                "Channel utilisation (figure 3.9)",
                "Share of time in which the buses of channels are in use, by order, mean over the workloads.",
                "% of time",
                [mean(used[order, name] for name in names) for order in ORDERS],
                [Published(claim, "published mean", 0, published, published)],
            ),
            breakdown(SHOWN_WRITES, "3.10", "write-intensive"),
            breakdown(SHOWN_READS, "3.11", "read-intensive"),
        ],
        discussed={"idle": whole["idle"], "active": whole["cell"] + whole["bus"]},
    )


def performance_map(names: Sequence[str], iops: Values, latency: Values) -> Outcome:
    """Figure 3.12: throughput and latency of the families."""
    against_reference = {
        what: [100 + against(values, names, orders, [REFERENCE]) for orders in FAMILIES.values()]
        for what, values in (("throughput", iops), ("latency", latency))
    }
    return Outcome(
        measured={},
        figures=[
            Bars(
                "map",
                "Throughput and latency of the families (figure 3.12)",
                "Throughput and latency of each family of orders against CWDP, mean over the workloads.",
                "% of CWDP",
                list(FAMILIES),
                against_reference,
            )
        ],
        discussed={f"throughput, {name}": against_reference["throughput"][n] for n, name in enumerate(FAMILIES)},
    )


def sequential(every: Every) -> Outcome:
    """3.5.5: sequential requests that span the drive."""
    farthest, rows = [], []
    for op in OPS:
        rates = {order: every[order, f"sequential {op}s"]["bandwidth_mib_s"] for order in ORDERS}
        changes = {order: 100 * (rate / rates[REFERENCE] - 1) for order, rate in rates.items()}
        order = max(ORDERS, key=lambda it: abs(changes[it]))
        farthest.append(changes[order])
        rows.append((f"{op}s", rates[REFERENCE], order, changes[order], mean(abs(it) for it in changes.values())))
    apart: dict[str, float] = {}
    for title in dict.fromkeys(key[2] for key in every if len(key) > len(("order", "name")) and key[1] == STRAIGHT):
        rates = {order: every[order, STRAIGHT, title]["bandwidth_mib_s"] for order in TRIED_ORDERS}
        changes = {order: 100 * (rate / rates[REFERENCE] - 1) for order, rate in rates.items()}
        order = max(TRIED_ORDERS, key=lambda it: abs(changes[it]))
        apart[f"sequential, {title}"] = abs(changes[order])
        rows.append(
            (f"writes, {title}", rates[REFERENCE], order, changes[order], mean(abs(it) for it in changes.values()))
        )
    return Outcome(
        measured={"jung13.palloc-sequential": farthest},
        tables=[
            Table(
                "Sequential requests",
                ("requests", "CWDP, MiB/s", "farthest order", "its change, %", "mean change of all, %"),
                rows,
                f"Requests of {SPANNING} pages in each plane. Rows with an experiment: two orders of each family.",
            )
        ],
        discussed=apart | {f"sequential {op}s": value for op, value in zip(OPS, farthest, strict=True)},
    )


def variants(drive: Drive, order: str, jobs: Mapping[str, dict[str, Any]]) -> dict[tuple[str, ...], dict[str, Any]]:
    """The experiments on causes with an order: one thing is changed at a time."""
    direct = {"dispatch": {"policy": "fifo"}}
    other_bus = {
        "dispatch": {**drive.system()["dispatch"], "wait_for_bus": not drive.system()["dispatch"]["wait_for_bus"]}
    }
    within = {"pack": {**drive.system()["pack"], "across_requests": False}}
    changes = {
        CHOSEN: Change(),
        DIRECT: Change(direct),
        OTHER_BUS: Change(other_bus),
        FASTER: Change(FAST_BUS),
        f"{DIRECT}, {FASTER}": Change({**direct, **FAST_BUS}),
        SMALL: Change(small=True),
        f"{DIRECT}, {SMALL}": Change(direct, small=True),
        WITHIN: Change(within),
        FEW: Change(outstanding=FEW_OUTSTANDING),
        EVEN: Change(EVEN_PAGES),
        STATIC: Change(static=True),
    }

    def job(name: str, change: Change) -> dict[str, Any]:
        if change.small:
            return small_job(drive, name)
        return jobs[name] if change.outstanding == QUEUE else drive.job(name, change.outstanding)

    experiments: dict[tuple[str, ...], dict[str, Any]] = {
        (order, name, title): drive.experiment(order, job(name, change), change.also, static=change.static)
        for title, change in changes.items()
        for name in TRIED
    }
    return experiments | {
        (order, STRAIGHT, title): drive.experiment(order, drive.straight("write"), also)
        for title, also in {
            CHOSEN: {},
            DIRECT: direct,
            EVEN: EVEN_PAGES,
            f"{DIRECT}, {EVEN}": {**direct, **EVEN_PAGES},
        }.items()
    }


def causes(every: Every) -> Outcome:
    """What keeps die- and plane-first orders from more throughput."""
    results = {key: result for key, result in every.items() if len(key) > len(("order", "name")) and key[1] in TRIED}
    titles = list(dict.fromkeys(title for _, _, title in results))
    few = {name: [it for it in TRIED_ORDERS if it in orders] for name, orders in FAMILIES.items()}
    rows: list[list[Cell]] = []
    found: dict[str, float] = {}
    for title in titles:
        iops = {(order, name): it["iops"] for (order, name, which), it in results.items() if which == title}
        busy = mean(mean(it["utilisation"]["channels"]) for (*_, which), it in results.items() if which == title)
        gains = {name: against(iops, [name], few[DIE] + few[PLANE], few[CHANNEL]) for name in TRIED}
        rows.append(
            [title, 100 * busy, *gains.values(), mean(gains.values()), against(iops, TRIED, few[WAY], few[CHANNEL])]
        )
        found |= {f"{name}, {title}": gain for name, gain in gains.items()}
        found |= {f"mean, {title}": mean(gains.values()), f"channels, {title}": 100 * busy}
        found |= {
            f"{name}, {family}, {title}": against(iops, [name], orders, few[CHANNEL])
            for name in TRIED
            for family, orders in few.items()
        }
    company, of_company = in_company(results, titles, few)
    return Outcome(
        measured={},
        tables=[
            company,
            Table(
                "Throughput of die- and plane-first orders over channel-first orders, in percent",
                ("experiment", "channels in use, %", *TRIED, "mean", "way-first, mean"),
                rows,
                f"Two orders of each family: {', '.join(TRIED_ORDERS)}.",
            ),
        ],
        discussed=found | of_company,
    )


def in_company(
    results: Every, titles: Sequence[str], few: Mapping[str, Sequence[str]]
) -> tuple[Table, dict[str, float]]:
    """The share of pages in transactions of several, by family, in the experiments that have any; and by name."""
    rows: list[list[Cell]] = []
    found: dict[str, float] = {}
    for title in (it for it in titles if not it.startswith(DIRECT)):
        shares = {
            (name, family): mean(share_of(results[order, name, title], KINDS[1:]) for order in orders)
            for name in TRIED
            for family, orders in few.items()
        }
        of_family = {family: mean(shares[name, family] for name in TRIED) for family in few}
        rows.append([title, *of_family.values(), *(shares[WRITES, family] for family in few)])
        found |= {f"company, {family}, {title}": share for family, share in of_family.items()}
        found[f"interference, {title}"] = 100 * (of_family[CHANNEL] / of_family[PLANE] - 1)
        found |= {f"company, {name}, {family}, {title}": share for (name, family), share in shares.items()}
    heads = ("experiment", *few, *(f"{family}, {WRITES}" for family in few))
    note = f"The first columns: means over {', '.join(TRIED)}."
    return Table("Pages in transactions of several, in percent", heads, rows, note), found


def small_job(drive: Drive, name: str) -> dict[str, Any]:
    """Random requests of one page with the share of writes of a workload."""
    percent = drive.chapter["workload"][name]["write_percent"]
    return {
        "rw": "randrw",
        "rwmixread": round(100 - percent),
        "bs": drive.page_bytes,
        "iodepth": QUEUE,
        "norandommap": True,
        "size": drive.extent,
        "number_ios": drive.length,
    }
