"""Help as plain text, and errors of the command line in one sentence."""

import textwrap
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import click

from adducir.core.errors import UsageError
from adducir.core.texts import closest, sentence

_WIDEST = 100
"""Columns of the widest help; a narrower terminal gets narrower lines."""
_FIRST_COLUMN = 30
"""The widest first column; the meaning of a longer option starts on the next line."""
_filled = partial(textwrap.fill, break_long_words=False, break_on_hyphens=False)


class _Formatter(click.HelpFormatter):
    """Breaks lines at blanks only, so that names and options stay whole."""

    def write_text(self, text: str) -> None:
        indent = " " * self.current_indent
        paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
        filled = partial(_filled, initial_indent=indent, subsequent_indent=indent)
        self.write("\n\n".join(filled(part, self.width) for part in paragraphs) + "\n")

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = _FIRST_COLUMN, col_spacing: int = 2
    ) -> None:
        """Rows of a term and its meaning, which starts in the same column of every list."""
        column = self.current_indent + col_max + col_spacing
        for term, meaning in rows:
            start = f"{' ' * self.current_indent}{term}{' ' * col_spacing}"
            self.write(f"{start.rstrip()}\n" if len(start) > column else "")
            start = "" if len(start) > column else start
            text = " ".join(meaning.split())
            filled = partial(_filled, subsequent_indent=" " * column)
            self.write(filled(text, self.width, initial_indent=start.ljust(column)) + "\n")


class _Context(click.Context):
    formatter_class = _Formatter


class Explained(click.Command):
    """A command or group with plain help, whose errors are Adducir's."""

    context_class = _Context

    def __init__(
        self, name: str | None, renamed: Callable[[str], str] | None = None, **settings: Any
    ) -> None:
        context = {"help_option_names": ["-h", "--help"], "max_content_width": _WIDEST}
        context |= {"token_normalize_func": renamed}
        super().__init__(name, context_settings=context, **settings)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise self.unknown(error.option_name, ctx) from error
        except click.UsageError as error:
            message = error.format_message()
            raise UsageError(
                sentence(message[0].lower() + message[1:]), hint=see_help(ctx)
            ) from error

    def unknown(self, option: str, ctx: click.Context) -> UsageError:
        """The error of an option that does not exist."""
        return UsageError(f"no such option: {option}{self.guess(option, ctx)}", hint=see_help(ctx))

    def guess(self, option: str, ctx: click.Context) -> str:
        """The end of an error's sentence, with the option that is spelled most alike."""
        flags = {flag.lstrip("-"): flag for param in self.get_params(ctx) for flag in param.opts}
        match = closest(option.lstrip("-"), flags)  # dashes do not count
        return f"; did you mean `{flags[match]}`?" if match else "."

    def sections(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """Terms with their meanings by heading."""
        records = (param.get_help_record(ctx) for param in self.get_params(ctx))
        return {"Options": list(filter(None, records))}

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        sections = {title: rows for title, rows in self.sections(ctx).items() if rows}
        lengths = (len(term) for rows in sections.values() for term, _ in rows)
        column = max(length for length in lengths if length <= _FIRST_COLUMN)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows, column)
        self.format_epilog(ctx, formatter)


def see_help(ctx: click.Context) -> str:
    return f"See '{ctx.command_path} --help'."
