"""Superblocks, parity, and reads that were rebuilt from it, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wordline.base import units


def of_either(result: dict[str, Any]) -> tuple[dict[str, Any], float] | None:
    """What the result has of parity of superblocks or of logical pages, and the pages programmed for it."""
    if told := result.get("superblocks"):
        return told, told["parity_pages"]
    if told := result.get("parity"):
        return told, told["programmed_pages"]
    return None


def summed_up(result: dict[str, Any]) -> str:
    """Parity and rebuilt reads in a sentence; empty on a drive without parity, or with nothing to tell of it."""
    either = of_either(result)
    if not either or not either[1]:
        return ""
    told, pages = either
    written = f"{units.percent(pages / result['flash']['programs'])} of programmed pages hold parity"
    if reads := told.get("reads"):
        written += f", for which {units.some(reads, 'page')} {'was' if reads == 1 else 'were'} read"
    if not told["rebuilt_reads"]:
        return f"{written}; no read was rebuilt"
    rebuilt = units.some(told["rebuilt_reads"], "read")
    return f"{written}; {rebuilt} rebuilt by reading {units.some(told['rebuilding_reads'], 'page')}"


def listed(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The same as rows of a table."""
    either = of_either(result)
    if not either:
        return
    told, pages = either
    if "blocks" in told:
        yield "Blocks of a superblock", units.count(told["blocks"])
    if pages:
        yield "Pages of parity", units.count(round(pages))
        if "reads" in told:
            yield "Pages read for it", units.count(told["reads"])
        yield "Reads rebuilt around busy dies", units.count(told["rebuilt_reads"])
        yield "Pages read to rebuild them", units.count(told["rebuilding_reads"])
