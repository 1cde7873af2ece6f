"""What the site takes in from outside docs: the studies, so that links to them hold there too."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".md", ".svg"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the studies as ``studies/``."""
    for path in sorted((ROOT / "studies").rglob("*")):
        if path.suffix in SUFFIXES and path.name != "discussion.md":
            name = path.relative_to(ROOT).as_posix()
            files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """In the repository the studies lie beside docs, in the site within."""
    return markdown.replace("](../studies/", "](studies/").replace("](examples)", "](examples/victims.py)")


def on_post_page(output: str, **_: object) -> str:
    """Drops the one script that the theme fetches from elsewhere: a page must ask nobody for anything."""
    return re.sub(r'<script src="?https?://[^>]*></script>', "", output)


def on_post_template(output_content: str, **_: object) -> str:
    """The same for the page of what is not found."""
    return on_post_page(output_content)
