"""The page that shows a drive at work: one HTML text that loads nothing but the views."""

from __future__ import annotations

import json
from typing import Any

from wordline.report.page import render


def html(kind: str, may_change: bool, policies: list[dict[str, Any]]) -> str:
    """The page.

    :param kind: ``disk`` or ``run``.
    :param may_change: whether it has controls.
    :param policies: all policies, as the engine lists them.
    """
    families: dict[str, list[str]] = {}
    for policy in policies:
        families.setdefault(policy["family"], []).append(policy["name"])
    about = {"kind": kind, "may_change": may_change, "families": families if kind == "disk" else {}}
    # A text in a script must not end it.
    return render(
        "dashboard.html.j2", about=json.dumps(about).replace("<", "\\u003c"), kind=kind, may_change=may_change
    )
