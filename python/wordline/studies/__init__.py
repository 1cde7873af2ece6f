"""Studies: the experiments of the source papers, published value beside measured.

A study is a folder of ``studies/``: ``study.toml`` says what it is and which claims it settles, ``study.py`` runs it,
``discussion.md`` explains what deviates. ``catalogue`` finds them, ``runner`` runs one, ``judge`` holds the one rule by
which every claim is judged, ``page`` and ``charts`` make the result page, ``show`` prints to the terminal.
"""
