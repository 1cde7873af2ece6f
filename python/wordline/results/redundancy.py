"""Superblocks, parity, and reads that were rebuilt from it, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wordline.base import units


def summed_up(result: dict[str, Any]) -> str:
    """Parity and rebuilt reads in a sentence; empty on a drive without superblocks, or with nothing to tell of them."""
    told = result.get("superblocks")
    if not told or not told["parity_pages"]:
        return ""
    share = told["parity_pages"] / result["flash"]["programs"]
    written = f"{units.percent(share)} of programmed pages hold parity"
    if not told["rebuilt_reads"]:
        return f"{written}; no read was rebuilt"
    rebuilt = units.some(told["rebuilt_reads"], "read")
    return f"{written}; {rebuilt} rebuilt by reading {units.some(told['rebuilding_reads'], 'page')}"


def listed(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The same as rows of a table."""
    told = result.get("superblocks")
    if not told:
        return
    yield "Blocks of a superblock", units.count(told["blocks"])
    if told["parity_pages"]:
        yield "Pages of parity", units.count(told["parity_pages"])
        yield "Reads rebuilt around busy dies", units.count(told["rebuilt_reads"])
        yield "Pages read to rebuild them", units.count(told["rebuilding_reads"])
