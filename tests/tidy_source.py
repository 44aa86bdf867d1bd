"""Reads C++ and Markdown just well enough for tests/tidy.py: no compiler, no dependencies."""

import re

_COMMENT_OR_STRING = re.compile(
    r"//[^\n]*"
    r"|/\*.*?\*/"
    r'|R"([^()\s\\]{0,16})\(.*?\)\1"'
    r'|"(?:\\.|[^"\\\n])*"'
    # Not the separator of digits, 1'000.
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'",
    re.DOTALL)
_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_CLASS_LABEL = re.compile(r"\s*(public|private|protected)\s*:")

# A link's target; of an HTML picture, in the second group.
MARKDOWN_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|<img[^>]*\bsrc=\"([^\"]+)\"")
# `folder/file.ext` in prose.
QUOTED_PATH = re.compile(r"`([a-z_]+/[\w./-]*\w\.(?:h|hpp|cc|py|proto|json|md|sh|service))`")


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def without_comments_and_strings(text):
    """The same lines and columns, with blanks in place of comments and strings."""
    return _COMMENT_OR_STRING.sub(_blank, text)


def leading_comment(text):
    """The comment at the very top; empty if there is none."""
    match = re.match(r"(?://[^\n]*\n)+|/\*.*?\*/", text, re.DOTALL)
    return match.group() if match else ""


def cpp_functions(text):
    """(name, first line, last line) of every function with a body. Lambdas count to their function."""
    code = _PREPROCESSOR.sub(_blank, without_comments_and_strings(text))
    scopes = []  # (kind, name, offset of the head)
    head_start = 0
    for match in re.finditer(r"[{};]", code):
        if match.group() == "{":
            head = _CLASS_LABEL.sub(_blank, code[head_start:match.start()])
            is_inside = any(kind != "outer" for kind, _, _ in scopes)
            kind = "block" if is_inside else _kind_of(head)
            name = re.search(r"([\w:~]+)\s*\(", head)
            first = head_start + len(head) - len(head.lstrip())
            scopes.append((kind, name.group(1) if name else "", first))
        elif match.group() == "}" and scopes:
            kind, name, first = scopes.pop()
            if kind == "function":
                yield name, code.count("\n", 0, first) + 1, code.count("\n", 0, match.end()) + 1
        head_start = match.end()


def _kind_of(head):
    """outer = namespace or class; function; block = all other braces."""
    plain = head
    while True:  # template arguments may hold anything
        shorter = re.sub(r"<[^<>]*>", "", plain)
        if shorter == plain:
            break
        plain = shorter
    before_parameters, parenthesis, _ = plain.partition("(")
    if not parenthesis:
        is_outer = re.search(r"\b(namespace|class|struct|union|extern)\b", plain)
        return "outer" if is_outer else "block"
    if "=" in before_parameters and "operator" not in before_parameters:
        return "block"
    return "function"


def markdown_prose(text):
    """The same lines, with blanks in place of fenced code."""
    return re.sub(r"^```.*?^```", _blank, text, flags=re.MULTILINE | re.DOTALL)


def markdown_anchors(text):
    """The anchors of all headings."""
    anchors = set()
    for match in re.finditer(r"^#+\s+(.*)$", markdown_prose(text), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", match.group(1).strip().lower())
        anchors.add(plain.replace(" ", "-"))
    return anchors
