"""diff, run and explain."""

from __future__ import annotations

import contextlib
import logging
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Union

from vxla import _arrays, _command, _program, _results

ProgramLike = Union[Callable[..., Any], str, bytes, "os.PathLike[str]"]
_logger = logging.getLogger("vxla")


@contextlib.contextmanager
def _folder_with(program: _program.Program) -> Iterator[tuple[str, list[str]]]:
    """A folder that holds the program and its arguments, and the words that name them."""
    with tempfile.TemporaryDirectory(prefix="vxla-") as folder:
        pathlib.Path(folder, program.file).write_bytes(program.data)
        words = ["./" + program.file if program.file.startswith("-") else program.file]
        if any(argument is not None for argument in program.arguments):
            _arrays.write(os.path.join(folder, "arguments.npz"), "arg", program.arguments)
            words += ["--args", "arguments.npz"]
        yield folder, words


def _options(options: Sequence[str], **given: Any) -> list[str]:
    if isinstance(options, str):
        raise TypeError(f"options is a list of words, such as ['--seed', '1'], not the text {options!r}")
    words = []
    for name, value in given.items():
        option = "--" + name
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, str(value)]
    return words + [os.fspath(word) for word in options]


def diff(program: ProgramLike, *args: Any, device: str | None = None, against: Any = None, rtol: float | None = None,
         atol: float | None = None, ulp: float | None = None, isolate: bool = False, bisect: bool = False,
         options: Sequence[str] = ()) -> _results.Verdict:
    """Runs a program on a Vulkan device and on the CPU reference, and compares.

    Args:
      program: a function of JAX, jitted or not; or HLO text, StableHLO text or bytecode, or the path of a file with one.
      *args: a function's own arguments: pytrees of arrays, static ones too. A program's are its parameters in order, tuples taken
        apart: numpy arrays, or what `numpy.asarray` takes, of the program's shapes and types (ml_dtypes for bfloat16, int4, float8
        and so on). A `jax.ShapeDtypeStruct`, None, and parameters that are not given stand for seeded values.
      device: "vulkan:0", "lavapipe", a part of a name; the best one where it is not given.
      against: instead of the reference: another device's name, the path of an .npz, or the expected results as a pytree of arrays.
      rtol, atol, ulp: a tolerance instead of the default, which is the program's own error bound (docs/guides/diff.md).
      isolate: each instruction is run by itself too (`verdict.json["instructions"]`).
      bisect: the first instruction that is wrong becomes a program of its own (`verdict.bisected`).
      options: further words of the command `vxla diff`, such as ["--fill", "special"].

    Raises:
      InvalidArgumentError (a ValueError): the program, an argument or an option is wrong. UnsupportedError, DeviceError,
      ResourceExhaustedError: as they say. TypeError, FileNotFoundError: what is given is no program, no array, no file.
      A difference is no exception: ask the verdict.
    """
    given = _program.of(program, args)
    with _folder_with(given) as (folder, words):
        if isinstance(against, os.PathLike) or (isinstance(against, str) and against.lower().endswith((".npz", ".npy"))):
            against = os.path.abspath(against)
        elif against is not None and not isinstance(against, str):
            _arrays.write(os.path.join(folder, "expected.npz"), "result", _leaves(against))
            against = "expected.npz"
        report, notes = _command.call(
            ["diff", *words, "--report", "report.html",
             *_options(options, device=device, against=against, rtol=rtol, atol=atol, ulp=ulp, isolate=isolate, bisect=bisect)], folder)
        if "results" not in report:
            raise _command.InvalidArgumentError("vxla.diff compares one device at a time: --device all is the command's alone",
                                                "invalid_argument")
        page = pathlib.Path(folder, "report.html").read_text(encoding="utf-8")
        bisected = None
        if report.get("bisect"):
            found = report["bisect"]
            bisected = _results.Bisected(found["instruction"], pathlib.Path(folder, found["program"]).read_text(encoding="utf-8"),
                                         list(_arrays.read(os.path.join(folder, found["arguments"]), "arg")))
    return _results.verdict(report, notes, page, given.result_names, bisected)


def _leaves(expected: Any) -> list[Any]:
    if isinstance(expected, (list, tuple)) and all(hasattr(value, "dtype") for value in expected):
        return list(expected)
    if hasattr(expected, "dtype"):
        return [expected]
    import jax
    return jax.tree.leaves(expected)


def run(program: ProgramLike, *args: Any, device: str | None = None, options: Sequence[str] = ()) -> Any:
    """Runs a program on a Vulkan device, or with device="cpu" on the reference.

    Args and errors are those of `diff`; options are words of the command `vxla run`.

    Returns:
      A function's results as it returns them, with numpy arrays for leaves; a program's as a list of numpy arrays, tuples taken apart.
    """
    given = _program.of(program, args)
    with _folder_with(given) as (folder, words):
        _, notes = _command.call(["run", *words, "-o", "results.npz", *_options(options, device=device)], folder)
        results = _arrays.read(os.path.join(folder, "results.npz"), "result")
    for note in notes:
        _logger.info(note)
    return results if given.rebuild is None else given.rebuild(results)


def explain(program: ProgramLike, *args: Any, device: str | None = None, options: Sequence[str] = ()) -> _results.Explanation:
    """What a program becomes on a Vulkan device: kernels, memory, barriers, and what the CPU computes and why. Nothing runs.

    Args and errors are those of `diff` (a `jax.ShapeDtypeStruct` will do for an argument); options are words of the command
    `vxla explain`.
    """
    given = _program.of(program, args)
    with _folder_with(given) as (folder, words):
        report, notes = _command.call(["explain", *words, *_options(options, device=device)], folder)
    return _results.explanation(report, notes)
