"""Writes the programs that tests have as raw string literals into a folder: each form that a test knows is a seed of the fuzzers.

Usage: seeds.py FOLDER [MOST_BYTES]
"""

import hashlib
import pathlib
import re
import sys


def main():
    folder = pathlib.Path(sys.argv[1])
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 4096
    folder.mkdir(parents=True, exist_ok=True)
    tests = pathlib.Path(__file__).resolve().parent.parent
    written = set()
    for path in sorted(tests.rglob("*.cc")):
        for _, text in re.findall(r'R"(\w*)\((.*?)\)\1"', path.read_text(encoding="utf-8"), re.DOTALL):
            data = text.encode()
            # Lines of a few words are parts of programs, and messages.
            if 40 <= len(data) <= most:
                name = hashlib.sha256(data).hexdigest()[:16]
                (folder / name).write_bytes(data)
                written.add(name)
    print(f"{len(written)} seeds")
    return 0 if written else 1


if __name__ == "__main__":
    sys.exit(main())
