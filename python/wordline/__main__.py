"""The command ``wordline``, also as ``python -m wordline``."""

from __future__ import annotations

import gc
import signal
from typing import NoReturn


def main() -> NoReturn:
    """Loads the program and runs it."""
    # Until it is loaded there is nothing to keep, and Ctrl-C just ends the process.
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Almost nothing that is loaded or drawn is ever garbage, and to look for it often takes a twentieth of the time.
    gc.set_threshold(100_000)
    from wordline.cli.program import main as program

    signal.signal(signal.SIGINT, usual)
    program()


if __name__ == "__main__":
    main()
