"""What is done of a job, kept beside its output until all of it is: a line of JSON each, written once it is known.

A process that is killed loses what was under way and nothing else. Each line names the text that it belongs to by a
digest, so that a job is gone on with only where it was left: the same texts, in the same places, into the same form.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from turnkeeper.cli.exits import Exit
from turnkeeper.cli.problems import CommandError
from turnkeeper.wire.json import fold_surrogates

__all__ = ("Partial", "digest_of")

_SUFFIX = ".partial"


def digest_of(data: bytes) -> str:
    """Names a text, or a form, for comparison."""
    return hashlib.sha256(data).hexdigest()[:24]


class Partial:
    """The file beside `output`. `form` names what the texts are brought into, `texts` the texts, by their digests.

    Opening it takes it for this process; CommandError if another has it, if it belongs to another job, or if the output
    is there already and complete.
    """

    def __init__(self, output: Path, *, form: str, texts: Sequence[str]) -> None:
        self._output = output
        self._path = output.with_name(output.name + _SUFFIX)
        self._form = form
        self._texts = texts
        self.done: dict[int, dict[str, Any]] = {}

    def __enter__(self) -> Self:
        known = self._path.exists()
        if self._output.exists() and not known:
            raise CommandError(f"--output {self._output}: it is there already; name another file", exit_code=Exit.USAGE)
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise CommandError(f"--output {self._output}: {self._path}: {error.strerror}") from error
        try:
            self._lock()
            self._read()
        except BaseException:
            os.close(self._file)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def add(self, record: Mapping[str, Any]) -> None:
        """Write down what came of one text: at once, in one piece."""
        number = int(record["line"])
        self.done[number] = dict(record)
        self._write({"text": self._texts[number - 1], **record})

    def finish(self, records: Sequence[Mapping[str, Any]], *, complete: bool) -> None:
        """Write the output whole, in order; where it is `complete` there is nothing to go on with any more."""
        beside = self._output.with_name(f"{self._output.name}.{os.getpid()}.new")
        try:
            with beside.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(_line(record) for record in records)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._output)
            if complete:
                self._path.unlink()
        except OSError as error:
            raise CommandError(f"--output {self._output}: {error.strerror}; {self._path} has what is done") from error

    def _lock(self) -> None:
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise CommandError(f"--output {self._output}: another process is at work on it") from error

    def _read(self) -> None:
        with os.fdopen(os.dup(self._file), "rb") as file:
            whole = file.read()
        sound = whole[: whole.rfind(b"\n") + 1]  # the last line may have been cut off by the end of its process
        os.ftruncate(self._file, len(sound))
        os.lseek(self._file, 0, os.SEEK_END)
        head, *rest = sound.splitlines() or [b""]
        if not head:
            self._write({"form": self._form})
            return
        try:
            began, records = json.loads(head), [json.loads(line) for line in rest]
            if began["form"] != self._form:
                raise self._other("another --schema")
            for record in records:
                number, text = int(record["line"]), record.pop("text")
                if not 0 < number <= len(self._texts) or self._texts[number - 1] != text:
                    raise self._other(f"another input (line {number} differs)")
                self.done[number] = record
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CommandError(f"{self._path} can't be read ({error}); remove it to begin again") from error

    def _other(self, what: str) -> CommandError:
        return CommandError(
            f"--output {self._output}: it was begun with {what}; name another file, or remove {self._path} to begin"
            " again",
            exit_code=Exit.USAGE,
        )

    def _write(self, value: Mapping[str, Any]) -> None:
        line = _line(value).encode()
        while line:
            line = line[os.write(self._file, line) :]


def _line(value: Mapping[str, Any]) -> str:
    return fold_surrogates(json.dumps(value, ensure_ascii=False)) + "\n"
