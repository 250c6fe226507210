#!/usr/bin/env python3
"""Makes the generated parts of docs/reference: cli.md from the command's own help, c_api.md from the C headers.

    tools/reference_pages.py [--vxla build/vxla]            writes them
    tools/reference_pages.py [--vxla build/vxla] --check    says what is out of date (exit code 1); ctest runs this

And each variable that the sources read from the environment has to be in the command's help.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# No user's business: one side of the plugin tells the other.
OF_NO_INTEREST = {"VXLA_PJRT_PROFILER_ENTRIES"}


def cli(vxla):
    return subprocess.run([vxla, "help", "--markdown"], check=True, capture_output=True, text=True).stdout


def declarations(text):
    """Yields (comment, declaration): what an empty line ends, one or several functions under their comment."""
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip("\n").split("\n")
        head = 0
        while head < len(lines) and lines[head].startswith("//"):
            head += 1
        comment = " ".join(line.lstrip("/ ").strip() for line in lines[:head])
        yield comment, "\n".join(lines[head:]), block.strip("\n")


def first_sentence(text):
    found = re.match(r"(.*?\.)(\s|$)", text)
    return (found.group(1) if found else text).rstrip(".:").replace("|", "\\|")


def header(name):
    text = (ROOT / "include" / "vxla" / name).read_text()
    out, rows, bodies = [], [], []
    for comment, declared, block in declarations(text):
        names = re.findall(r"\b(vxla[A-Z]\w*)\(", re.sub(r"//[^\n]*", "", declared))
        names = [n for n in names if re.search(r"VXLA_API[^;]*\b" + n + r"\(", declared)]
        types = re.findall(r"^typedef (?:struct|enum) (\w+) \{", declared, re.M)
        if not names and not types:
            continue
        title = ", ".join(f"`{each}`" for each in names or types)
        rows.append(f"| {title} | {first_sentence(comment)} |")
        bodies.append(f"```c\n{block}\n```\n")
    out.append(f"## {name}\n\n| declared | what it is |\n|---|---|\n" + "\n".join(rows) + "\n\n" + "\n".join(bodies))
    return "\n".join(out)


def c_api(_):
    return header("vxla.h") + "\n" + header("vxla_vulkan.h")


PAGES = {"docs/reference/cli.md": cli, "docs/reference/c_api.md": c_api}
BEGIN, END = "<!-- made by tools/reference_pages.py -->\n", "<!-- end -->\n"


def unlisted(help_text):
    """Variables of the environment that sources read and the help does not name."""
    wrong = []
    for folder in ("core", "backend", "scheduler", "api", "tools", "integrations"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".cc", ".h", ".py"):
                continue
            for name in re.findall(r"(?:getenv\(|IsSet\(|environ\.get\(|environ\[)\"([A-Z_]+)\"", path.read_text()):
                if name not in help_text and name not in OF_NO_INTEREST:
                    wrong.append(f"{path.relative_to(ROOT)}: reads {name}, which the help's \"Environment\" does not name (tools/command_line.cc)")
    return wrong


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--vxla", default=ROOT / "build" / "vxla")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wrong = unlisted(cli(options.vxla))
    for page, make in PAGES.items():
        path = ROOT / page
        text = path.read_text()
        if text.count(BEGIN) != 1 or not text.endswith(END):
            sys.exit(f"{page}: wants the marks {BEGIN.strip()} and, last, {END.strip()}")
        made = text[: text.index(BEGIN)] + BEGIN + "\n" + make(options.vxla).strip("\n") + "\n\n" + END
        if made == text:
            continue
        if options.check:
            wrong.append(f"{page}: out of date; tools/reference_pages.py makes it")
        else:
            path.write_text(made)
            print(f"{page}: made anew")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
