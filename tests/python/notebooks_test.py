"""Runs the code of notebooks, cell after cell, and that they hold no outputs; of pages, what is fenced as Python: notebooks_test.py FILE ..."""
import json
import pathlib
import re
import sys
import traceback


def cells_of(path):
    text = pathlib.Path(path).read_text()
    if path.endswith(".ipynb"):
        return json.loads(text)["cells"]
    return [{"cell_type": "code", "outputs": [], "execution_count": None, "source": code}
            for code in re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)]


def run(path):
    cells = cells_of(path)
    if not cells:
        return f"{path}: holds no code"
    names = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
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
print("\n".join(wrong) or f"{len(sys.argv) - 1} files run")
sys.exit(1 if wrong or len(sys.argv) < 2 else 0)
