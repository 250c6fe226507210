#!/usr/bin/env python3
"""Sums of GoogleTest's reports: `tools/test_times.py build/test_results`. A line for each suite with its cases and seconds, the longest
cases, what was skipped and why, and at last the totals."""
import collections
import pathlib
import sys
import xml.etree.ElementTree as ET


def read(folder):
    """Yields (suite, case, seconds, outcome, message)."""
    for path in sorted(folder.glob("*.xml")):
        suite = path.name.split(".")[0]
        for case in ET.parse(path).getroot().iter("testcase"):
            skipped, failed = case.find("skipped"), case.find("failure")
            outcome = "failed" if failed is not None else "skipped" if skipped is not None else "passed"
            message = (skipped.get("message") or "").strip().splitlines() if skipped is not None else []
            yield suite, f'{case.get("classname")}.{case.get("name")}', float(case.get("time")), outcome, message[-1] if message else ""


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        sys.exit("usage: test_times.py FOLDER_OF_REPORTS")
    cases = list(read(pathlib.Path(sys.argv[1])))
    suites, counts, reasons = collections.defaultdict(lambda: [0, 0.0]), collections.Counter(), collections.Counter()
    for suite, _, seconds, outcome, message in cases:
        suites[suite][0] += 1
        suites[suite][1] += seconds
        counts[outcome] += 1
        if outcome == "skipped":
            reasons[f"{suite}: {message}"] += 1
    for suite, (number, seconds) in sorted(suites.items(), key=lambda row: -row[1][1]):
        print(f"{suite:32} {number:6} cases {seconds:8.1f} s")
    for suite, case, seconds, _, _ in sorted(cases, key=lambda row: -row[2])[:10]:
        print(f"longest: {seconds:6.1f} s {suite} {case}")
    for reason, number in sorted(reasons.items()):
        print(f"skipped {number}: {reason}")
    print(f'{counts["passed"]} passed, {counts["failed"]} failed, {counts["skipped"]} skipped')


main()
