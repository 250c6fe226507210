"""What diff and explain return."""

from __future__ import annotations

import dataclasses
import html
import pathlib
from typing import Any


def _numbers(where: str | None) -> tuple[int, ...] | None:
    return None if where is None else tuple(int(number) for number in where.split(",") if number)


@dataclasses.dataclass(frozen=True)
class ResultVerdict:
    """One array of the results. Distances are between the device and what it is compared with."""

    name: str
    """"result", "result[0]['loss']" ...: where it is in what the function returns; of a program "result_0", "result_1" ..."""
    agrees: bool
    judged_by: str
    """"tolerance", "operation" (a program of one operation, by that operation's bound) or "conditioning" (docs/guides/diff.md)"""
    elements: int
    differing: int
    """elements with other bits"""
    outside: int
    """elements outside the tolerance"""
    max_ulp: float
    """the largest distance in units in the last place, and the element that has it (None: no such element)"""
    max_ulp_where: tuple[int, ...] | None
    max_abs: float
    max_abs_where: tuple[int, ...] | None
    max_rel: float
    max_rel_where: tuple[int, ...] | None
    amplification: float | None
    """how far the program lets rounding errors grow, where that decided"""


@dataclasses.dataclass(frozen=True)
class Bisected:
    """The first wrong instruction as a program of its own: `vxla.diff(b.program, *b.arguments)` shows the same difference."""

    instruction: str
    program: str
    """HLO text"""
    arguments: list[Any]
    """numpy arrays"""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether a device computes a program right. True in an `if` when it does."""

    agrees: bool
    summary: str
    """the verdict in a line"""
    device: str
    reference: str
    """what the device is compared with"""
    results: tuple[ResultVerdict, ...]
    first_bad: str | None
    """the first instruction that is wrong by itself, or the result"""
    fault: str | None
    """whose the difference is: "algorithm", "driver", "order", "rounding", "expected file" or "other device" (docs/guides/diff.md)"""
    amplification: float | None
    notes: tuple[str, ...]
    bisected: Bisected | None
    """with `bisect=True`, where an instruction by itself is wrong"""
    report: str = dataclasses.field(repr=False)
    """the page of HTML"""
    json: dict[str, Any] = dataclasses.field(repr=False, compare=False)
    """all that `vxla diff --json` prints"""

    def __bool__(self) -> bool:
        return self.agrees

    def __str__(self) -> str:
        return self.summary

    def save(self, path: "str | pathlib.Path") -> None:
        """Writes the page."""
        pathlib.Path(path).write_text(self.report, encoding="utf-8")

    def _repr_html_(self) -> str:
        return (f'<iframe title="{html.escape(self.summary)}" srcdoc="{html.escape(self.report)}" '
                'style="width: 100%; height: 480px; border: 0"></iframe>')


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def verdict(report: dict[str, Any], notes: list[str], page: str, names: list[str] | None, bisected: Bisected | None) -> Verdict:
    """Of what the command reports."""
    results = []
    for entry in report["results"]:
        index = entry["index"]
        amplification = entry["amplification"]
        results.append(ResultVerdict(
            name=f"result_{index}" if names is None else names[index], agrees=entry["agrees"], judged_by=entry["judged_by"],
            elements=entry["elements"], differing=entry["differing"], outside=entry["count"],
            max_ulp=_number(entry["max_ulp"]), max_ulp_where=_numbers(entry["max_ulp_where"]),
            max_abs=_number(entry["max_abs"]), max_abs_where=_numbers(entry["max_abs_where"]),
            max_rel=_number(entry["max_rel"]), max_rel_where=_numbers(entry["max_rel_where"]),
            amplification=None if amplification is None else float(amplification)))
    amplification = report["amplification"]
    return Verdict(agrees=report["verdict"] == "agree", summary=report["summary"], device=report["device"],
                   reference=report["reference"], results=tuple(results), first_bad=report["first_bad"], fault=report["fault"],
                   amplification=None if amplification is None else float(amplification), notes=tuple(notes),
                   bisected=bisected, report=page, json=report)


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What a program becomes on a device."""

    summary: str
    """dispatches, kernels and memory in a few lines"""
    dispatches: int
    kernels: tuple[dict[str, Any], ...]
    """name, key, groups of each"""
    fallbacks: tuple[dict[str, Any], ...]
    """instruction, opcode and reason of each that the CPU computes"""
    peak_bytes: int
    """arguments, results, constants and scratch"""
    lower_bound_bytes: int
    notes: tuple[str, ...]
    json: dict[str, Any] = dataclasses.field(repr=False, compare=False)
    """all that `vxla explain --json` prints: the plan"""

    def __str__(self) -> str:
        return self.summary


def explanation(report: dict[str, Any], notes: list[str]) -> Explanation:
    """Of what the command reports."""
    return Explanation(summary=report["summary"].rstrip("\n"), dispatches=report["dispatches"], kernels=tuple(report["kernels"]),
                       fallbacks=tuple(report["fallbacks"]), peak_bytes=report["peak_bytes"],
                       lower_bound_bytes=report["lower_bound_bytes"], notes=tuple(notes), json=report)
