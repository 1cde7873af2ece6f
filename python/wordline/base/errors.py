"""Exit statuses and error messages."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

import click

from wordline.base import units

DONE, FAILED, WRONG_USE, INTERRUPTED, UNREAD = 0, 1, 2, 130, 141
"""Exit statuses: done; the run failed; wrong use or input; interrupted from the keyboard; output pipe closed, as
after SIGPIPE."""


class Trouble(click.ClickException):
    """A message for the user and the exit status that goes with it."""

    def __init__(self, message: str, status: int = WRONG_USE) -> None:
        super().__init__(message)
        self.exit_code = status


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice most similar to ``word``, if any is similar."""
    plain = {choice.lower().replace("_", "-"): choice for choice in choices}
    wanted = word.lower().replace("_", "-")
    if wanted in plain:
        return plain[wanted]
    import difflib

    found = difflib.get_close_matches(wanted, plain, n=1, cutoff=0.6)
    return plain[found[0]] if found else None


def or_nearest(word: str, choices: list[str], what: str) -> str:
    """``Did you mean 'x'? The presets are: a, b``, as an end of a message."""
    listed = f"the {what} are: {', '.join(choices)}" if choices else f"there are no {what}"
    near = nearest(word, choices)
    return f"did you mean '{near}'? {listed[0].upper()}{listed[1:]}" if near else listed


def usage_text(error: click.UsageError) -> str:
    """Wrong use of the command line, with the help that would show the right one."""
    path = error.ctx.command_path if error.ctx else "wordline"
    if isinstance(error, click.NoSuchOption):
        near = nearest(error.option_name, _options(error.ctx)) or next(iter(error.possibilities or []), None)
        text = f"no such option: {error.option_name}" + (f"; did you mean {near}?" if near else "")
    else:
        text = error.format_message().rstrip(".")
        text = text[:1].lower() + text[1:]
    return f"{text}\nTry '{path} --help' for help."


def _options(context: click.Context | None) -> list[str]:
    if context is None:
        return []
    return [name for parameter in context.command.get_params(context) for name in parameter.opts if name[:2] == "--"]


def tell(message: str) -> None:
    """Writes ``wordline: message`` to standard error."""
    # Where a closed terminal was, there is nobody to tell.
    with suppress(OSError):
        print(f"wordline: {units.visible(message)}", file=sys.stderr)


def status_of(action: Callable[[], object]) -> int:
    """Does ``action``; a user's mistake becomes a message and an exit status, never a traceback."""
    try:
        action()
        sys.stdout.flush()
        return DONE
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else DONE if left.code is None else FAILED
    except click.UsageError as error:
        tell(usage_text(error))
        return WRONG_USE
    except click.ClickException as error:
        tell(error.format_message())
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        tell("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe, as 'head' does: no message.
        _forget_output()
        return UNREAD
    except OSError as error:
        if error.filename is None:
            _forget_output()
        # Without a name, printing failed.
        tell(f"{error.filename or 'standard output'}: {error.strerror or error}")
        return FAILED
    except Exception as error:
        if _from_interrupt(error):
            tell("interrupted")
            return INTERRUPTED
        return _status_of_core(error)


def _from_interrupt(error: BaseException | None) -> bool:
    """True if Ctrl-C caused this error: a module being imported may turn it into another error."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _forget_output() -> None:
    """Drops buffered standard output, so that it does not raise again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _status_of_core(error: Exception) -> int:
    """Messages of the engine as they are; anything else is a mistake of the program, and keeps its traceback."""
    from wordline import _core

    if isinstance(error, _core.InputError):
        tell(str(error))
        return WRONG_USE
    if isinstance(error, _core.RunError):
        tell(str(error))
        return FAILED
    raise error
