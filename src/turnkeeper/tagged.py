"""What of a model's text is for the user: the inside of tags such as `<reply>`, or all of it when it wrote none.

The rules, for a whole text and for one that arrives in pieces alike:

- With at least one opening tag, what the tags hold is shown, trimmed, with a blank line between two passages; the rest
  is the model's own business. A tag that is never closed goes on to the end. Tags inside a passage are dropped, their
  text is not.
- Without an opening tag, or when every passage is blank, nothing may be lost: the whole text is shown.
- A tag in Markdown code is text. Code begins with a run of backticks and ends with a run as long (a fence of three or
  more also with a longer one); code of one or two backticks ends before a blank line. A run that nothing ends is text.
- Capital letters make no difference in a tag.

No rule looks at how the text was cut, so every cut of a text gives the same output.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import Literal

__all__ = ("TagFilter", "extract")

_FENCE = 3  # backticks
_NAME = re.compile(r"[A-Za-z]+")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_BLANK_START = re.compile(r"[ \t\r]*\n")
_BLANK_END = re.compile(r"\n[ \t\r]*\Z")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: Literal["text", "ticks", "open", "close"]
    text: str


def extract(tag: str, text: str) -> str:
    """What a user should read of a finished text; `tag` is a name such as `reply`."""
    chosen = TagFilter(tag)
    return chosen.feed(text) + chosen.finish()


class TagFilter:
    """The same for a text that streams in: `feed` gives what can be shown by now, `finish` what was held back.

    One filter serves one reply of the model; when that is thrown away (`updates.ReplyDiscarded`), so is the filter.
    What comes before the first tag is held back, since a tag may still come; inside a tag only what may turn out to
    be a tag, or white space at the passage's end, has to wait. ValueError for a tag that is not letters only.
    """

    def __init__(self, tag: str) -> None:
        if not _NAME.fullmatch(tag):
            raise ValueError(f"a tag is letters a-z only, not {tag!r}")
        self._tokens = _Tokens(tag)
        self._code = _Code()
        self._depth = 0
        self._tagged = False  # there was an opening tag
        self._raw: list[str] = []  # all of the text, kept until the first opening tag
        self._plain: list[str] = []  # all of the text but its tags, kept until something of a reply is shown
        self._blank: list[str] = []  # white space in a reply, shown once the same reply goes on
        self._begun = False  # something of this reply was shown
        self._shown = False  # something of any reply was shown

    def feed(self, delta: str) -> str:
        """Take the next piece; the text that can be shown now, often none."""
        return "".join(self._take(self._code.feed(self._tokens.feed(delta))))

    def finish(self) -> str:
        """The text has ended; what was held back. Call it once, after the last `feed`."""
        rest = self._take(self._code.feed(self._tokens.finish()) + self._code.finish())
        if not self._tagged:
            return "".join(self._raw)
        if not rest and not self._shown:
            return "".join(self._plain).strip()
        return "".join(rest)

    def _take(self, tokens: list[_Token]) -> list[str]:
        out: list[str] = []
        for token in tokens:
            if token.kind == "open":
                self._depth += 1
                self._tagged = True
                self._raw.clear()
            elif token.kind == "close" and self._depth:
                self._depth -= 1
                if not self._depth:
                    self._blank.clear()
                    self._begun = False
            elif token.kind == "text":
                out += self._text(token.text)
            if not self._tagged:
                self._raw.append(token.text)
        return out

    def _text(self, text: str) -> list[str]:
        if not self._shown:
            self._plain.append(text)
        if not self._depth:
            return []
        if not self._begun:
            text = text.lstrip()
        body = text.rstrip()
        if not body:
            self._blank.append(text)
            return []
        before = self._blank if self._begun else ["\n\n"] * self._shown
        self._blank = [text[len(body) :]]
        self._begun = self._shown = True
        self._plain.clear()
        return [*before, body]


class _Tokens:
    """Cuts text into runs of backticks, tags, and the text between; keeps what is not whole yet."""

    def __init__(self, tag: str) -> None:
        self._whole = re.compile(rf"`+|</?{tag}>", re.IGNORECASE)
        starts = "|".join(tag[:length] for length in range(len(tag), 0, -1))
        self._start = re.compile(rf"</?(?:{starts})?$", re.IGNORECASE)
        self._longest = len(tag) + 2
        self._ticks = 0  # a run that may go on
        self._tag = ""  # what may become a tag

    def feed(self, delta: str) -> list[_Token]:
        out: list[_Token] = []
        if self._ticks and delta:
            rest = delta.lstrip("`")
            self._ticks += len(delta) - len(rest)
            delta = rest
            if delta:
                out.append(self._run())
        text, self._tag = self._tag + delta, ""
        at = 0
        for match in self._whole.finditer(text):
            self._add_text(out, text[at : match.start()])
            at = match.end()
            if match[0][0] != "`":
                out.append(_Token("close" if match[0][1] == "/" else "open", match[0]))
            elif at < len(text):
                out.append(_Token("ticks", match[0]))
            else:
                self._ticks = len(match[0])
        partial = self._start.search(text, max(at, len(text) - self._longest))
        end = partial.start() if partial else len(text)
        self._tag = text[end:]
        self._add_text(out, text[at:end])
        return out

    def finish(self) -> list[_Token]:
        out: list[_Token] = []
        if self._ticks:
            out.append(self._run())
        self._add_text(out, self._tag)
        self._tag = ""
        return out

    def _run(self) -> _Token:
        run, self._ticks = "`" * self._ticks, 0
        return _Token("ticks", run)

    @staticmethod
    def _add_text(out: list[_Token], text: str) -> None:
        if text:
            out.append(_Token("text", text))


class _Code:
    """Turns what stands in code into text, backticks included: out come text and real tags only.

    Whether a run of backticks begins code shows only where the code ends. Text is the same either way and passes at
    once; from the first tag or other run on, everything waits, to be read again if no code it was.
    """

    def __init__(self) -> None:
        self._opened = 0  # backticks that began the code, 0 outside of code
        self._held: list[_Token] = []
        self._line_blank = False  # only white space since the last line break

    def feed(self, tokens: list[_Token]) -> list[_Token]:
        out: list[_Token] = []
        todo = deque(tokens)
        while todo:
            token = todo.popleft()
            if not self._opened:
                out.append(self._outside(token))
            elif token.kind == "ticks" and self._closes(len(token.text)):
                out += [_Token("text", one.text) for one in (*self._held, token)]
                self._leave()
            elif self._opened < _FENCE and self._has_blank_line(token):
                todo.appendleft(token)
                todo.extendleft(reversed(self._leave()))
            elif self._held or token.kind != "text":
                self._held.append(token)
            else:
                out.append(token)
        return out

    def finish(self) -> list[_Token]:
        out: list[_Token] = []
        while self._opened:
            out += self.feed(self._leave())
        return out

    def _outside(self, token: _Token) -> _Token:
        if token.kind != "ticks":
            return token
        self._opened = len(token.text)
        self._line_blank = False
        return _Token("text", token.text)

    def _closes(self, run: int) -> bool:
        return run == self._opened or run > self._opened >= _FENCE

    def _leave(self) -> list[_Token]:
        held, self._held, self._opened = self._held, [], 0
        return held

    def _has_blank_line(self, token: _Token) -> bool:
        if token.kind != "text":
            self._line_blank = False
            return False
        found = _BLANK_LINE.search(token.text) or (self._line_blank and _BLANK_START.match(token.text))
        if not self._line_blank or token.text.strip(" \t\r"):
            self._line_blank = _BLANK_END.search(token.text) is not None
        return bool(found)
