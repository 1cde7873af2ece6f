"""Experiments on single packages, from the devices and workloads of a chapter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

KIB = 1024
BUS_STAGES = ("cle", "ale", "tir", "tor")
"""Stages that occupy the package's bus."""
CELL_STAGES = ("tin", "ton", "ber")
"""Stages in the array."""
STAGES = (*BUS_STAGES, "wait", "dummy", "register", *CELL_STAGES)
"""All stages of an operation; ``wait`` is the standard's waits between cycles, and never waiting for the bus."""

MODES = {
    "legacy": {"planes_per_command": 1, "cache": False},
    "cache": {"planes_per_command": 1, "cache": True},
    "2x": {"planes_per_command": 2, "cache": False},
    "2x cache": {"planes_per_command": 2, "cache": True},
}
"""Operation modes of a host, by the paper's names."""


@cache
def resolved(preset: str) -> dict[str, Any]:
    """The configuration of a preset, with every default."""
    from wordline.api import functions as api

    return api.check(preset)["config"]


@dataclass(frozen=True)
class Chapter:
    """The devices and workloads of a chapter, from its TOML file."""

    table: Mapping[str, Any]
    choice: Callable[[str], Any]
    """The value of an open parameter of the chapter or the study, by its key."""
    held: Mapping[str, Collection[str]]
    """Open parameters that are tables of ``[nand]`` keys, and the devices whose presets have them."""

    def nand(self, device: str) -> dict[str, Any]:
        """The timing of a device."""
        tables = [self.choice(key) for key, devices in self.held.items() if device in devices]
        return reduce(merged, filter(None, tables), self._config(device)["nand"])

    def page_bytes(self, device: str) -> int:
        """The page size of a device."""
        return self._config(device)["geometry"]["page_kib"] * KIB

    def shape(self, device: str) -> dict[str, int]:
        """The shape of a plane of a device, as an experiment's package has it."""
        geometry = self._config(device)["geometry"]
        shape = {key: geometry[key] for key in ("blocks_per_plane", "pages_per_block")}
        return shape | {"page_bytes": self.page_bytes(device)}

    def _config(self, device: str) -> dict[str, Any]:
        return resolved(self.table["device"][device])

    def experiment(
        self,
        load: dict[str, Any],
        device: str = "MLC1",
        *,
        dies: int = 1,
        planes: int = 2,
        package: Mapping[str, Any] | None = None,
        nand: Mapping[str, Any] | None = None,
        host: Mapping[str, Any] | None = None,
        stage_log: bool = False,
    ) -> dict[str, Any]:
        """An experiment for ``wordline.package.run``.

        :param package: keys of the package to change from the device's.
        :param nand: keys of its timing to change.
        :param host: keys of the host to change from: one plane per command, no cache mode, die-first, pages in order
            of arrival, the chapter's bus arbitration, one request at a time.
        """
        plain = {
            "planes_per_command": 1,
            "cache": False,
            "scheduler": "die-first",
            "addressing": "log",
            "bus": self.choice("bus"),
            "queue_depth": 1,
        }
        shape = {"dies": dies, "planes": planes, **self.shape(device)}
        return {
            "package": shape | dict(package or {}),
            "nand": self.nand(device) | dict(nand or {}),
            "host": plain | dict(host or {}),
            "load": load,
            "stage_log": stage_log,
        }

    def workloads(self) -> list[str]:
        """The names of the application workloads."""
        return list(self.table["workload"])

    def mix(self, workload: str, requests: int) -> dict[str, Any]:
        """A workload with the means of an application, at random addresses."""
        self.choice("draw")
        means = {key: value for key, value in self.table["workload"][workload].items() if key != "title"}
        return random_mix(requests, self.footprint_pages, **means)

    @property
    def footprint_pages(self) -> int:
        """Footprint of a random workload, in pages."""
        return self.choice("footprint_pages")

    @property
    def roomy(self) -> dict[str, int]:
        """Keys of a package to change for random writes: nothing is erased, so they need room."""
        return {"blocks_per_plane": self.choice("blocks_per_plane")}

    @property
    def application_depth(self) -> int:
        """Queue depth of application workloads."""
        return self.choice("application_depth")


def merged(table: Mapping[str, Any], instead: Mapping[str, Any]) -> dict[str, Any]:
    """``table`` with the values of ``instead``, and so within tables of it."""
    return {**table, **{key: merged(table[key], it) if isinstance(it, dict) else it for key, it in instead.items()}}


def stream(op: str, request_bytes: int, requests: int) -> dict[str, Any]:
    """A sequential workload: swr for ``write``, srd for ``read``."""
    return {"kind": "stream", "op": op, "request_bytes": request_bytes, "requests": requests}


def random_mix(
    requests: int, footprint_pages: int, *, write_percent: float, write_bytes: int, read_bytes: int
) -> dict[str, Any]:
    """A workload at random page addresses, with sizes drawn around means."""
    return {
        "kind": "mix",
        "write_percent": write_percent,
        "write_bytes": write_bytes,
        "read_bytes": read_bytes,
        "requests": requests,
        "footprint_pages": footprint_pages,
    }


def above(base: float, percent: float) -> float:
    """The value ``percent`` above ``base``."""
    return base * (1 + percent / 100)


def gain(new: float, old: float) -> float:
    """Gain of ``new`` over ``old``, in percent."""
    return 100 * (new / old - 1)


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean."""
    listed = list(values)
    return sum(listed) / len(listed)


def share(stages_us: Mapping[str, float], of: Iterable[str], all_of: Iterable[str] = STAGES) -> float:
    """The time in some stages, in percent of the time in all of them."""
    return 100 * sum(stages_us[stage] for stage in of) / sum(stages_us[stage] for stage in all_of)
