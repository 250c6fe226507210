#!/usr/bin/env python3
"""Changes a table of docs/*/data, a JSON file that tools/bench_page.py makes pages of; one row is one line of it.

    tools/page_data.py row FILE CELL...    # in the place of the row that begins with the same cell, or as the last one
    tools/page_data.py rows FILE           # all of them, from a table in Markdown on standard input
"""
import json
import pathlib
import sys


def save(path, data):
    fields = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in data.items() if key != "rows"]
    rows = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in data["rows"])
    fields.append(' "rows": [\n' + rows + "\n ]")
    path.write_text("{\n" + ",\n".join(fields) + "\n}\n", encoding="utf-8")


def check(path, data, row):
    if len(row) != len(data["columns"]):
        sys.exit(f"{path}: {row[0] if row else 'a row'}: {len(row)} cells, and the table has {len(data['columns'])} columns")


def put(data, row):
    for k, there in enumerate(data["rows"]):
        if there[0] == row[0]:
            data["rows"][k] = row
            return
    data["rows"].append(row)


def rows_of(markdown):
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines[2:]]


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("row", "rows"):
        sys.exit(__doc__)
    path = pathlib.Path(sys.argv[2])
    data = json.loads(path.read_text(encoding="utf-8"))
    if sys.argv[1] == "row":
        row = sys.argv[3:]
        check(path, data, row)
        put(data, row)
    else:
        data["rows"] = rows_of(sys.stdin.read())
        for row in data["rows"]:
            check(path, data, row)
    save(path, data)


if __name__ == "__main__":
    main()
