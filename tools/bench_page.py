#!/usr/bin/env python3
"""Makes what docs/ shows of docs/benchmarks/data/*.json and docs/internals/data/*.json: tables between the marks <!-- data NAME --> and <!-- /data --> of the pages of
docs/benchmarks and docs/internals, and of programs beside a peer a plot too (NAME.svg in docs/pictures).

    tools/bench_page.py            # writes them
    tools/bench_page.py --check    # exit code 1 if they are not what the data give

A file of programs beside a peer: name, title, device, driver, day, commit (null: not noted), peer, command, note, and rows of case, vxla_ms,
peer_ms and ratio, which is the peer's time over vxla's as it was measured (times are rounded). Any other table: name, columns, and rows of as many
texts; if one run made all of it, also device, day, commit, command, note.
"""
import json
import math
import pathlib
import re
import sys
from xml.sax.saxutils import escape

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
FOLDERS = ("benchmarks", "internals")
NAMES, BARS, ROW, TOP = 190, 520, 18, 64  # of the plot, in pixels


def plot(data):
    """Bars from 1 to the right where vxla is the quicker one, else to the left, on a logarithmic axis."""
    rows = data["rows"]
    reach = math.ceil(max(abs(math.log2(row["ratio"])) for row in rows))
    middle, unit = NAMES + BARS / 2, BARS / 2 / reach
    width, height = NAMES + BARS + 50, TOP + ROW * len(rows) + 12
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
             'font-family="sans-serif" font-size="11">',
             f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
             f'<text x="8" y="18" font-size="14" font-weight="bold" fill="#222222">{escape(data["title"])}</text>',
             f'<text x="8" y="35" fill="#666666">Driver {escape(data["driver"])}, {escape(data["day"])}; {escape(data["note"])}</text>']
    for power in range(-reach, reach + 1):
        x, label = middle + power * unit, f"{2 ** power}" if power >= 0 else f"1/{2 ** -power}"
        lines.append(f'<path d="M{x:.1f} {TOP - 6}V{height - 8}" stroke="{"#888888" if power == 0 else "#e4e4e4"}"/>')
        lines.append(f'<text x="{x:.1f}" y="{TOP - 10}" text-anchor="middle" fill="#666666">{label}</text>')
    for k, row in enumerate(rows):
        y, length = TOP + ROW * k, math.log2(row["ratio"]) * unit
        lines.append(f'<text x="{NAMES - 6}" y="{y + 12}" text-anchor="end" fill="#222222">{escape(row["case"])}</text>')
        lines.append(f'<rect x="{min(middle, middle + length):.1f}" y="{y + 2}" width="{max(abs(length), 0.5):.1f}" height="{ROW - 5}" '
                     f'fill="{"#3b7dd8" if length >= 0 else "#d8843b"}"/>')
        inside = abs(length) > 40
        anchor = ("end" if inside else "start") if length >= 0 else ("start" if inside else "end")
        shift = (-4 if inside else 4) if length >= 0 else (4 if inside else -4)
        lines.append(f'<text x="{middle + length + shift:.1f}" y="{y + 12}" text-anchor="{anchor}" '
                     f'fill="{"#ffffff" if inside else "#222222"}">{row["ratio"]:.2f}</text>')
    return "\n".join([*lines, "</svg>", ""])


def table(data):
    mean = math.exp(sum(math.log(row["ratio"]) for row in data["rows"]) / len(data["rows"]))
    quicker = sum(row["ratio"] > 1 for row in data["rows"])
    lines = [f"![{data['title']}](../pictures/{data['name']}.svg)", "",
             f"{data['device']}, driver {data['driver']}, {data['day']}, `{data['command']}`. Quicker than {data['peer']} on {quicker} of "
             f"{len(data['rows'])}, geometric mean {mean:.2f}.", "",
             f"| case | vxla, ms | {data['peer']}, ms | ratio |", "|---|---|---|---|"]
    lines += [f"| {row['case']} | {row['vxla_ms']:g} | {row['peer_ms']:g} | {row['ratio']:.2f} |" for row in data["rows"]]
    return "\n".join([*lines, ""])


def plain_table(data, file):
    for row in data["rows"]:
        if len(row) != len(data["columns"]):
            sys.exit(f"{file}: {row[0]}: {len(row)} cells, and the table has {len(data['columns'])} columns")
    lines = []
    if "device" in data:
        commit = f", {data['commit']}" if data["commit"] else ""
        note = f" {data['note']}" if data["note"] else ""
        lines = [f"{data['device'][0].upper()}{data['device'][1:]}. {data['day']}{commit}, `{data['command']}`.{note}", ""]
    lines += [f"| {' | '.join(data['columns'])} |", "|" + "---|" * len(data["columns"])]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in data["rows"]), ""])


def main():
    check, stale = "--check" in sys.argv[1:], []
    pages = {path: path.read_text(encoding="utf-8") for folder in FOLDERS for path in sorted((DOCS / folder).glob("*.md"))}
    made = {}
    for file in sorted(file for folder in FOLDERS for file in (DOCS / folder / "data").glob("*.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        if "columns" in data:
            text = plain_table(data, file)
        else:
            for row in data["rows"]:
                if abs(row["peer_ms"] / row["vxla_ms"] / row["ratio"] - 1) > 0.03:
                    sys.exit(f"{file}: {row['case']}: {row['peer_ms']} over {row['vxla_ms']} is not {row['ratio']}")
            made[DOCS / "pictures" / f"{data['name']}.svg"] = plot(data)
            text = table(data)
        marked = re.compile(f"(<!-- data {re.escape(data['name'])} -->\n).*?(<!-- /data -->)", re.S)
        holders = [path for path, page in pages.items() if marked.search(page)]
        if not holders:
            sys.exit(f"{file}: no page has the marks <!-- data {data['name']} --> and <!-- /data -->")
        for path in holders:
            pages[path] = marked.sub(lambda match, text=text: match[1] + text + match[2], pages[path])
    made.update(pages)
    for path, text in made.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
            if not check:
                path.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{path}: {'is not what the data give: tools/bench_page.py' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
