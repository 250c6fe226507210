"""The command `vxla` of this package: where it is, how it is called, what its failures raise."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from vxla import _lapack

_HERE = pathlib.Path(__file__).parent


class Error(RuntimeError):
    """What went wrong: what, where, value and limit, in the library's words.

    `code` is the library's name of its kind, `where` the place in the program ("f.mlir:3:7"), or empty.
    """

    def __init__(self, message: str, code: str = "internal", where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where and not message.startswith(where) else message)
        self.code = code
        self.where = where


class InvalidArgumentError(Error, ValueError):
    """A program, an argument or an option that is wrong."""


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not done by vxla."""


class DeviceError(Error):
    """No device, a lost device, an error or a crash of the driver."""


class ResourceExhaustedError(Error, MemoryError):
    """Memory of the device or of the host that is not there."""


class InternalError(Error):
    """vxla's own fault: please report it."""


_ERRORS: dict[str, type[Error]] = {
    "invalid_argument": InvalidArgumentError,
    "unsupported": UnsupportedError,
    "device_failure": DeviceError,
    "resource_exhausted": ResourceExhaustedError,
    "internal": InternalError,
}


def _existing(path: pathlib.Path, what: str) -> str:
    if not path.exists():
        raise FileNotFoundError(f"{path}: this installation of vxla has no {what}")
    return str(path)


def command_path() -> str:
    """The path of the command `vxla`."""
    return _existing(_HERE / "bin" / "vxla", "command")


def library_path() -> str:
    """The path of libvxla, the C and C++ library (docs/guides/embedding.md); FileNotFoundError where the package has none."""
    return _existing(next((_HERE / "lib").glob("libvxla.so*"), _HERE / "lib" / "libvxla.so"), "library")


def include_folder() -> str:
    """The folder to include `vxla/vxla.h` and `vxla/vxla.hpp` from."""
    return _existing(_HERE / "include", "headers")


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    _lapack.name_in(environment)
    return environment


def _notes(text: str) -> list[str]:
    start = "vxla: note: "
    return [line[len(start):] for line in text.splitlines() if line.startswith(start)]


def _raise(report: Any, done: "subprocess.CompletedProcess[str]") -> None:
    """The exception of a call that failed; returns if it did not."""
    if isinstance(report, dict) and "error" in report:
        error = report["error"]
        raise _ERRORS.get(error["code"], Error)(error["message"], error["code"], error.get("where") or "")
    if done.returncode == 130:
        raise KeyboardInterrupt
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        raise DeviceError(f"the process that ran the program was ended by {name}: {done.stderr.strip()[-2000:]}", "device_failure")
    if report is None:
        raise InternalError(f"vxla ended with {done.returncode} and no report: {done.stderr.strip()[-2000:]}")


def call(words: Sequence[str], folder: str) -> tuple[dict[str, Any], list[str]]:
    """Runs the command in a folder: its JSON report, and the notes that it made."""
    done = subprocess.run([command_path(), *words, "--json"], cwd=folder, env=_environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = None
    _raise(report, done)
    return report, _notes(done.stderr)


def main() -> None:
    """The command itself, in this process's place."""
    path = command_path()
    os.execve(path, ["vxla", *sys.argv[1:]], _environment())
