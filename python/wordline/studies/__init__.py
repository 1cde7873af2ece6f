"""Studies: the experiments of the source papers, published value beside measured.

A study is a folder of ``studies/``: ``study.toml`` describes it and its claims, ``study.py`` runs it,
``discussion.md`` explains deviations. ``catalogue`` finds them, ``runner`` runs one, ``judge`` holds the one rule by
which every claim is judged, ``page`` and ``charts`` make the result page, ``show`` prints to the terminal.
"""
