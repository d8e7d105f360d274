"""What docs/simulator.md shows besides Python: the script file and the commands."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, commands, read_blocks
from tests.simulator.asking import ask, events
from turnkeeper.simulator import IMITATIONS, read_script
from turnkeeper.simulator.faults import BUILDERS
from turnkeeper.testing import MessagesAPI

PAGE = ROOT / "docs" / "simulator.md"


def test_the_script_file_of_the_page_is_one(tmp_path: Path) -> None:
    (block,) = (block for block in read_blocks(PAGE) if block.language == "json")
    path = tmp_path / "script.json"
    path.write_text(block.text, encoding="utf-8")
    api = MessagesAPI(read_script(path))
    assert ask(api).json["content"] == [{"type": "text", "text": "Hello."}]
    assert ask(api).json["content"][0]["input"] == {"id": 7}
    assert ask(api).status == 429
    assert [record.status for record in api.requests] == [200, 200, 429]
    api.clock.advance(2)
    with pytest.raises(Exception, match="peer closed connection"):
        events(api)
    assert [ask(api).json["content"][0]["text"] for _ in range(2)] == ["Done.", "Done."]


def test_the_curl_command_of_the_page_works() -> None:
    shown = [command.text for block in read_blocks(PAGE) for command in commands(block)]
    (curl,) = (text for text in shown if text.startswith("curl "))
    assert any(text.startswith("turnkeeper simulate --port 8765") for text in shown)
    if shutil.which("curl") is None:
        return
    with MessagesAPI("Hello.").listen() as url:
        command = curl.replace("http://127.0.0.1:8765", url).replace("curl ", "curl --noproxy '*' ")
        done = subprocess.run(["sh", "-c", command], capture_output=True, check=True, timeout=20)
    assert json.loads(done.stdout)["content"] == [{"type": "text", "text": "Hello."}]


def test_the_page_lists_every_fault_and_every_imitation() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in BUILDERS if f"`{name}(" not in text] == []
    assert [name for name in IMITATIONS if f"| `{name}` |" not in text] == []
