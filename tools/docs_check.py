#!/usr/bin/env python3
"""Checks the documentation: links and anchors of every Markdown file, mentions of the project's files anywhere, the length of sentences, and words that only
this project's authors use: of every Markdown file, tables and the generated pages of headers and help texts included.

    tools/docs_check.py            # exit code 1 if something is wrong
    tools/docs_check.py --words    # also each page's sentences, mean words, and how many are too long
"""
import os
import re
import subprocess
import sys

MOST_WORDS = 40

# A file of the project's, by its path from the root.
MENTIONED = (r"(?<![\w/.{}<>*-])(?:docs|core|scheduler|api|backend|shaders|tests|tools|cmake|packaging)/[\w/-]+"
             r"\.(?:md|png|svg|h|cc|c|def|comp|glsl|py|sh|cmake)\b(?!\.\w)")

# What a reader from elsewhere would not understand, and what says it.
PRIVATE_WORDS = {
    r"(?<!\bin )(?<!\bin one )(?<!\bin the )(?<!\blast )(?<!\btakes )places?": "device, offset, line, address: whatever it is",
    r"meetings?": "exchange",
    r"(?:run|runs|ran|running) apart": "run by itself, on its own device",
    r"shader math": "shader arithmetic",
    r"by a negation": "negated",
    r"(?:write|writes|wrote|written|writing) out(?! of bounds)": "unroll",
    r"(?:stand|stands|stood|standing)(?! for\b|s? in for\b|-in)": "is, occurs, exists",
    r"made of": "consists of, is computed from",
    r"(?:a|an|one|each|every|first|last|next|many|few|\d+) (?<!half a )turns?": "iteration",
}


def tracked():
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, check=True).stdout
    for name in names.splitlines():
        if not os.path.isfile(name):
            continue
        try:
            with open(name, encoding="utf-8") as file:
                yield name, file.read()
        except UnicodeDecodeError:
            pass


def without_code(text):
    """The text with fenced blocks and indented ones as empty lines."""
    lines, fenced, listed = [], False, False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
            line = ""
        elif fenced or (line.startswith("    ") and not listed):
            line = ""
        elif line.strip():
            listed = bool(re.match(r"\s*([-*]|\d+\.) ", line)) or (listed and line.startswith(" "))
        lines.append(line)
    return "\n".join(lines)


def anchors(text):
    """The names of a page's headings, as GitHub and Python-Markdown make them."""
    found = {}
    for heading in re.findall(r"^#+ +(.*?) *$", without_code(text), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        found[name] = found.get(name, -1) + 1
    return {name if n == 0 else f"{name}-{n}" for name, most in found.items() for n in range(most + 1)}


def cells(text):
    """Of tables."""
    for line in without_code(text).splitlines():
        if line.startswith("|"):
            yield from re.split(r"(?<!\\)\|", line)


def sentences(text):
    """Of paragraphs, list items and tables; headings are none."""
    for cell in cells(text):
        yield from sentences_of_text(cell)
    text = re.sub(r"<!--.*?-->", "", without_code(text), flags=re.S)
    yield from sentences_of_text("\n".join("" if line.startswith(("|", "#")) else line for line in text.splitlines()))


def comments(text):
    """A header's sentences: those of its comments."""
    for block in re.findall(r"(?:^ *//[^\n]*\n)+", text, re.M):
        lines = [line.strip().removeprefix("//").removeprefix(" ") for line in block.splitlines()]
        # Lists and drawings are indented.
        yield from sentences_of_text("\n".join("" if line.startswith(" ") else line for line in lines))


def sentences_of_text(text):
    lines = text.splitlines()
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", "\n".join(lines)):
        block = re.sub(r"^\s*(?:[-*]|\d+\.) ", "", block)
        block = re.sub(r"\]\([^)]*\)", "]", block)
        # What is between backquotes ends no sentence, and counts as the words that it is.
        block = re.sub(r"`[^`]*`", lambda code: re.sub(r"\S+", "code", code[0].strip("`")), block)
        block = " ".join(block.split())
        for sentence in re.split(r"(?<=[.?!])(?<!e\.g\.)\**\)? +(?=[\"'(\[*A-Z`\d]|code|vxla|f\d|dot |[a-z][\w., ]*:)", block):
            if sentence.strip():
                yield sentence.strip()


def main():
    files = dict(tracked())
    pages = {name: text for name, text in files.items() if name.endswith(".md")}
    wrong = []
    for name, text in pages.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            full = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if not os.path.exists(full):
                wrong.append(f"{name}: {target}: no such file")
            elif anchor and anchor not in anchors(pages.get(full, "")):
                wrong.append(f"{name}: {target}: no such heading")
    for name, text in files.items():
        if not name.endswith(".md"):  # of code and scripts, what comments say
            text = "\n".join(re.findall(r"(?://|#) .*", text))
        for mention in set(re.findall(MENTIONED, text)):
            if not os.path.exists(mention):
                wrong.append(f"{name}: mentions {mention}, which is not there")
    headers = {name: text for name, text in files.items() if name.startswith("include/") and name.endswith((".h", ".hpp"))}
    for name, text in sorted((pages | headers).items()):
        found = comments(text) if name in headers else sentences(text)
        lengths = [(len(sentence.split()), sentence) for sentence in found]
        long = [each for each in lengths if each[0] > MOST_WORDS]
        if "--words" in sys.argv and lengths:
            print(f"{name}: {len(lengths)} sentences, mean {sum(n for n, _ in lengths) / len(lengths):.0f} words, {len(long)} long")
        for line in text.splitlines():
            for word, better in PRIVATE_WORDS.items():
                if match := re.search(rf"\b{word}\b", line):
                    wrong.append(f"{name}: '{match[0]}' ({better}): {line.strip()[max(0, match.start() - 60):match.end() + 40]}")
        wrong += [f"{name}: a sentence of {n} words (at most {MOST_WORDS}): {sentence}" for n, sentence in long]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
