"""The options of a server, and the decorator that adds them to a command."""

import functools
import inspect
from typing import Annotated

import typer

from keras_seqzoo.cli.options import count_option, flag, number_option, refuse_given
from keras_seqzoo.cli.server.served_lines import ServedLines
from keras_seqzoo.serving import TLS, Client

PANEL = {"rich_help_panel": "Server"}
FILE = {"metavar": "FILE", **PANEL}

OPTIONS = {
    "server": (
        Annotated[
            str | None,
            typer.Option(
                metavar="HOST:PORT",
                help="Ask the model --model on this server instead of loading a preset.",
                **PANEL,
            ),
        ],
        None,
    ),
    "model": (
        Annotated[
            str | None, typer.Option(metavar="NAME", help="Name of the served model.", **PANEL)
        ],
        None,
    ),
    "model_version": (
        Annotated[
            str | None,
            typer.Option(
                metavar="N",
                help="Version of the model, or a label; by default the latest.",
                **PANEL,
            ),
        ],
        None,
    ),
    "rest": (
        Annotated[
            bool,
            typer.Option("--rest", help="Use REST (usually port 8501) instead of gRPC.", **PANEL),
        ],
        False,
    ),
    "deadline": (
        Annotated[
            float,
            number_option(
                "Seconds for a request with all its attempts: a server may be away that long.",
                **PANEL,
            ),
        ],
        60.0,
    ),
    "concurrency": (
        Annotated[int, count_option("Number of requests at a time.", **PANEL)],
        4,
    ),
    "header": (
        Annotated[
            list[str] | None,
            typer.Option(
                metavar="NAME=VALUE",
                help="Header of each request; may be given several times.",
                **PANEL,
            ),
        ],
        None,
    ),
    "tls": (
        Annotated[
            bool,
            typer.Option("--tls", help="Encrypt; implied by the files below.", **PANEL),
        ],
        False,
    ),
    "root_certificates": (
        Annotated[
            str | None,
            typer.Option(help="Certificates that verify the server's (PEM).", **FILE),
        ],
        None,
    ),
    "client_key": (
        Annotated[str | None, typer.Option(help="The client's private key (PEM).", **FILE)],
        None,
    ),
    "client_certificate": (
        Annotated[str | None, typer.Option(help="The client's certificate (PEM).", **FILE)],
        None,
    ),
}
FILES = ("root_certificates", "client_key", "client_certificate")


def server_command(*shared):
    """Add the options of a server to a command; a decorator.

    The command is a function of a `typer.Context`, of its own parameters, and of `served`: a
    `ServedLines` if --server was given, otherwise `None`. With --server, --preset and all other
    options that are not shared are refused. Without it, the options of a server are refused, and a
    preset must be given or have a default.

    Args:
        *shared: strings, the parameters of the command that also apply to a server.
    """

    def decorate(function):
        own = [*inspect.signature(function).parameters.values()][:-1]
        parameters = [
            *(parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in own),
            *(_keyword(name, *option) for name, option in OPTIONS.items()),
        ]

        @functools.wraps(function)
        def command(context, **values):
            names = [parameter.name for parameter in own[1:]]
            others = [name for name in names if name not in (*shared, "preset")]
            served = _served(context, others)
            return function(context, **{name: values[name] for name in names}, served=served)

        command.__signature__ = inspect.Signature(parameters)
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command

    return decorate


def _keyword(name, annotation, default):
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _served(context, others):
    """Return the `ServedLines` of a command line, or `None` without --server."""
    given = context.params
    if given["server"] is None:
        refuse_given(context, [*OPTIONS][1:], "can only be used with --server.")
        if not given["preset"]:
            raise ValueError("--preset or --server must be given.")
        return None
    refuse_given(context, ["preset"], "cannot be used with --server.")
    refuse_given(
        context, others, "cannot be used with --server: it is chosen at export, or not served."
    )
    if given["model"] is None:
        raise ValueError("--model must be given with --server.")
    files = {name: given[name] for name in FILES if given[name] is not None}
    return ServedLines(
        functools.partial(
            Client,
            given["server"],
            given["model"],
            protocol="rest" if given["rest"] else "grpc",
            version=_version(given["model_version"]),
            deadline=given["deadline"],
            concurrency=given["concurrency"],
            tls=TLS(**files) if files or given["tls"] else None,
            headers=dict(_header(text) for text in given["header"] or ()),
            **{"batch_size": given["batch_size"]} if "batch_size" in given else {},
        ),
        truncate=given.get("truncate", True),
    )


def _version(text):
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


def _header(text):
    name, separator, value = text.partition("=")
    if not name or not separator:
        raise ValueError(f"{flag('header')} must be NAME=VALUE, got {text}.")
    return name, value
