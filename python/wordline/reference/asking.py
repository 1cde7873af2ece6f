"""Look-up of a term: a key of a drive, a workload or a result, or a synonym."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wordline.base.console import hanging
from wordline.base.errors import Trouble, nearest
from wordline.reference import explain, resultkeys, synonyms
from wordline.reference.synonyms import RESULTS

if TYPE_CHECKING:
    from rich.console import Console

Key = dict[str, Any]


@dataclass
class Known:
    """All keys."""

    files: dict[str, list[Key]]
    """Those of ``drive`` and ``workload`` files."""
    results: list[Key]
    """Those of results."""


@dataclass
class Answer:
    """The meaning of a term."""

    found: list[tuple[str, list[Key]]] = field(default_factory=list)
    """Entries, each with the kind of file that they are of: ``drive``, ``workload`` or ``result``."""
    instead: str | None = None
    """The term, if it is a synonym rather than a key."""
    also: list[str] = field(default_factory=list)
    """Other possible meanings."""


def answer(word: str, known: Known) -> Answer:
    """The meaning of ``word``.

    Keys of drives come first, then keys of workloads, synonyms, and keys of results. The end of a key is enough.
    """
    word = word.strip().strip(".").replace("[]", "")
    if word.startswith(RESULTS):
        results = resultkeys.find(known.results, word.removeprefix(RESULTS))
        return Answer([("result", results)] if results else [])
    meant = synonyms.meant(word)
    found = {file: explain.find(keys, word) for file, keys in known.files.items()}
    for file, entries in found.items():
        # An exact key wins; between a synonym and the end of a key, the synonym wins.
        if entries and (not meant or explain.bare(entries[0]["key"]) == word):
            shown = {explain.bare(entry["key"]) for entry in entries}
            inside = [RESULTS + word] if any(_in(key, word) for key in known.results) else []
            others = [key for key in meant if key not in shown] + inside
            return Answer([(file, entries)], also=list(dict.fromkeys(others)))
    if meant:
        ends = [explain.bare(entry["key"]) for entries in found.values() for entry in entries]
        also = [key for key in dict.fromkeys(ends) if key not in meant]
        return Answer([_entries(key, known) for key in meant], instead=word, also=also)
    results = resultkeys.find(known.results, word)
    return Answer([("result", results)] if results else [])


def _in(key: Key, word: str) -> bool:
    return any(f"{name}.".startswith(f"{word}.") for name in resultkeys.names(key))


def _entries(key: str, known: Known) -> tuple[str, list[Key]]:
    """The entries of a key of the table of words."""
    if key.startswith(RESULTS):
        return "result", resultkeys.find(known.results, key.removeprefix(RESULTS))
    file = next(file for file, keys in known.files.items() if any(explain.bare(it["key"]) == key for it in keys))
    return file, explain.find(known.files[file], key)


def documents(told: Answer, known: Known) -> list[dict[str, Any]]:
    """An answer for programs."""
    return [
        resultkeys.document(entry) if file == "result" else explain.document(entry, known.files[file], file)
        for file, entries in told.found
        for entry in entries
    ]


def show_all(console: Console, kinds: dict[str, list[Key]], sections: list[dict[str, Any]]) -> None:
    """Prints the sections of all files."""
    from rich.text import Text

    explain.show_sections(console, kinds)
    resultkeys.show_sections(console, sections)
    hint = "'wordline explain SECTION' lists a section's keys, 'wordline explain results' those of a result."
    hanging(console, Text(hint, style="dim"), 0, 0)


def show(console: Console, told: Answer, known: Known) -> None:
    """Prints an answer."""
    from rich.text import Text

    if told.instead is not None:
        names = [key for file, entries in told.found for key in _names(file, entries)]
        hanging(console, Text(f"For '{told.instead}' see {', '.join(names)}.", style="dim"), 0, 2)
        console.print()
    for n, (file, entries) in enumerate(told.found):
        if n:
            console.print()
        if file == "result":
            resultkeys.show(console, entries)
        else:
            explain.show(console, entries, known.files[file])
    if told.also:
        console.print()
        hanging(console, Text(f"See also: {', '.join(told.also)}.", style="dim"), 0, 2)


def _names(file: str, entries: list[Key]) -> list[str]:
    if file != "result":
        return [explain.bare(entry["key"]) for entry in entries]
    names = [name for entry in entries for name in resultkeys.names(entry)]
    # Keys of one object go by its name.
    tops = {name.split(".", 1)[0] for name in names}
    return [f"{RESULTS}{tops.pop()}"] if len(names) > 2 and len(tops) == 1 else [RESULTS + name for name in names]


def unknown(word: str, known: Known, policies: list[dict[str, Any]]) -> Trouble:
    """The message for an unknown term."""
    homes = [policy["family"] for policy in policies if policy["name"] == word]
    if homes:
        # Names of policies are not keys, but users ask for them.
        return Trouble(f"'{word}' is a policy of the family {' and '.join(homes)}; try 'wordline policies {word}'")
    if word.startswith(RESULTS):
        wanted, names = word.removeprefix(RESULTS), [name for key in known.results for name in resultkeys.names(key)]
        near = nearest(wanted, [*names, *(name.split(".", 1)[0] for name in names)])
        hint = f"did you mean '{RESULTS}{near}'?" if near else "'wordline explain results' lists them"
        return Trouble(f"no key '{wanted}' in results; {hint}")
    others = ["results", *synonyms.words(), *(name for key in known.results for name in resultkeys.names(key))]
    return explain.unknown([key for keys in known.files.values() for key in keys], word, others)
