"""Runs the code of notebooks, cell after cell, and that they hold no outputs: notebooks_test.py NOTEBOOK ..."""
import json
import pathlib
import sys
import traceback


def run(path):
    notebook = json.loads(pathlib.Path(path).read_text())
    names = {"__name__": "__main__"}
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        if cell["outputs"] or cell["execution_count"] is not None:
            return f"{path}: cell {number} holds outputs: they are made, not kept"
        try:
            exec(compile("".join(cell["source"]), f"{path}, cell {number}", "exec"), names)  # a cell is code
        except Exception:
            return f"{path}: cell {number}:\n{traceback.format_exc()}"
    return ""


wrong = [said for path in sys.argv[1:] if (said := run(path))]
print("\n".join(wrong) or f"{len(sys.argv) - 1} notebooks run")
sys.exit(1 if wrong or len(sys.argv) < 2 else 0)
