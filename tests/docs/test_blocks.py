"""The reader of fenced blocks itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import blocks
from tests.docs.blocks import commands, read_blocks

PAGE = """# Заголовок

```python
x = 1
```

<!-- not run: needs a key -->

```python
y = 2
```

Text between a remark and a block ends the remark.

<!-- runs -->
```console
$ turnkeeper ask \\
    "好"
answer

$ turnkeeper models
```

- in a list:

  ```json
  {"a": 1}
  ```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE, "utf-8")
    return path


def test_blocks_come_with_language_line_and_remark(page: Path) -> None:
    assert [(block.language, block.line, block.text, block.remark) for block in read_blocks(page)] == [
        ("python", 4, "x = 1\n", ""),
        ("python", 10, "y = 2\n", "not run: needs a key"),
        ("console", 17, '$ turnkeeper ask \\\n    "好"\nanswer\n\n$ turnkeeper models\n', "runs"),
        ("json", 27, '{"a": 1}\n', ""),
    ]


def test_commands_come_with_the_output_that_is_shown(page: Path) -> None:
    console = read_blocks(page)[2]
    assert [(command.text, command.output) for command in commands(console)] == [
        ('turnkeeper ask \\\n    "好"', ("answer",)),
        ("turnkeeper models", ()),
    ]


def test_a_block_without_an_end_is_reported(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n", "utf-8")
    with pytest.raises(AssertionError, match="has no end"):
        read_blocks(page)


def test_every_page_of_the_repository_is_read() -> None:
    found = {page.relative_to(blocks.ROOT).as_posix() for page in blocks.pages()}
    assert "README.md" in found


def test_the_readme_is_one_that_is_read() -> None:
    lines = (blocks.ROOT / "README.md").read_text("utf-8").splitlines()
    assert 60 <= len(lines) <= 120
