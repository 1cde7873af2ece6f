"""What the site takes in from outside docs: the studies, so that links to them hold there too, the tutorial, and what
makes pages look and search well.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".md", ".svg"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the studies as ``studies/``, the tutorial as a page, and script and style as ``assets/``."""
    for path in sorted((ROOT / "studies").rglob("*")):
        if path.suffix in SUFFIXES and path.name != "discussion.md":
            name = path.relative_to(ROOT).as_posix()
            files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    files.append(File.generated(config, "tutorial.md", content=tutorial(ROOT / "docs" / "tutorial.ipynb")))
    for path in sorted((ROOT / "tools" / "site").iterdir()):
        files.append(File.generated(config, f"assets/{path.name}", abs_src_path=str(path)))
    return files


def tutorial(path: Path) -> str:
    """A notebook as a page: its texts, and its code as it is to be run."""
    book = nbformat.read(path, as_version=4)
    cells = (f"```python\n{cell.source}\n```" if cell.cell_type == "code" else cell.source for cell in book.cells)
    head, *rest = cells
    return "\n\n".join([head, "This page is a notebook to run: [tutorial.ipynb](tutorial.ipynb).", *rest]) + "\n"


def on_page_markdown(markdown: str, **_: object) -> str:
    """In the repository the studies lie beside docs, in the site within; and the tutorial is a page there."""
    markdown = markdown.replace("](../studies/", "](studies/").replace("](examples)", "](examples/victims.py)")
    return re.sub(r"(\[(?:The tutorial|in a notebook)\]\()tutorial\.ipynb\)", r"\1tutorial.md)", markdown)


def on_page_content(html: str, **_: object) -> str:
    """Lets the keys of a table break between their words, and nowhere else."""
    keys = r"(?<=<td><code>)[^<]+(?=</code>(?:<a id=|</td>))"
    return re.sub(keys, lambda key: re.sub(r"([._,])", r"\1<wbr>", key[0]), html)
