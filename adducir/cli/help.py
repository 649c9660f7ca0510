"""Help as plain text, and errors of the command line in one sentence."""

import textwrap
from collections.abc import Iterable
from typing import Any

import click

from adducir.core.errors import UsageError
from adducir.core.texts import nearest, sentence

_ALIASES = {"topic-field": "query-field"}
"""Options by other names."""
_WIDEST = 100
"""Columns of the widest help; a narrower terminal gets narrower lines."""
_FIRST_COLUMN = 30
"""The widest first column; the meaning of a longer option starts on the next line."""


class _Formatter(click.HelpFormatter):
    """Breaks lines at blanks only, so that names and options stay whole."""

    def write_text(self, text: str) -> None:
        indent = " " * self.current_indent
        paragraphs = [self._filled(part, indent, indent) for part in text.split("\n\n")]
        self.write("\n".join(paragraphs))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = _FIRST_COLUMN, col_spacing: int = 2
    ) -> None:
        """Rows of a term and its meaning, which starts in the same column of every list."""
        indent, column = " " * self.current_indent, self.current_indent + col_max + col_spacing
        for term, meaning in rows:
            start = f"{indent}{term}".ljust(column)
            if len(term) > col_max:
                self.write(f"{indent}{term}\n")
                start = " " * column
            self.write(self._filled(meaning, start, " " * column))

    def _filled(self, text: str, first: str, others: str) -> str:
        lines = textwrap.wrap(
            " ".join(text.split()),
            self.width,
            initial_indent=first,
            subsequent_indent=others,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return "".join(f"{line}\n" for line in lines or [first.rstrip()])


class _Context(click.Context):
    formatter_class = _Formatter


class Argument(click.Argument):
    """An argument with its meaning, which click's own have since 8.5."""

    hidden = False

    def __init__(self, name: str, *, meaning: str, **details: Any) -> None:
        super().__init__([name], **details)
        self.help = meaning

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        return str(self.metavar), f"{self.help}{'  [required]' if self.required else ''}"


class Explained(click.Command):
    """A command or group with plain help, whose errors are Adducir's."""

    context_class = _Context

    def __init__(self, name: str | None, **settings: Any) -> None:
        context_settings = {
            "help_option_names": ["-h", "--help"],
            "max_content_width": _WIDEST,
            "token_normalize_func": lambda token: _ALIASES.get(token, token),
        }
        super().__init__(name, context_settings=context_settings, **settings)

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
        flags = [flag for param in self.get_params(ctx) for flag in param.opts]
        guess = nearest(option, flags) or "."
        return UsageError(f"no such option: {option}{guess}", hint=see_help(ctx))

    def sections(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """Terms with their meanings by heading."""
        records = [param.get_help_record(ctx) for param in self.get_params(ctx)]
        return {"Options": [record for record in records if record]}

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        sections = {title: rows for title, rows in self.sections(ctx).items() if rows}
        lengths = [len(term) for rows in sections.values() for term, _ in rows]
        column = max(length for length in lengths if length <= _FIRST_COLUMN)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows, column)
        self.format_epilog(ctx, formatter)


def see_help(ctx: click.Context) -> str:
    return f"See '{ctx.command_path} --help'."
