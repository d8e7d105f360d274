"""A front end by the AG-UI protocol: a call that a person approves ends the run, and the next run carries the answer.

Here an ordinary HTTP client stands for CopilotKit, assistant-ui or any other AG-UI client.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import httpx2
import uvicorn

import turnkeeper as tk
from turnkeeper import testing
from turnkeeper.web import Staff, app
from turnkeeper.web.standard import standard_streams

refunds: list[int] = []


@tk.tool(approval="always")
def refund(order: str, amount: int) -> str:
    """Refund an order.

    Args:
        order: Its number.
        amount: In whole euros.
    """
    refunds.append(amount)
    return f"refunded {amount} for {order}"


def run(client: httpx2.Client, path: str, **asked: Any) -> list[dict[str, Any]]:
    """The events of one run."""
    body = {"threadId": "t-1", "runId": "r-1", "messages": [], **asked}
    answer = client.post(path, json=body).raise_for_status()
    return [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]


def main() -> None:
    """Ask for a refund as a customer, approve it as staff, and read the answer."""
    asked = testing.reply(testing.call("refund", {"order": "24601", "amount": 80}))
    api = testing.MessagesAPI(testing.script(asked, "We have refunded 80 euros."))
    agent = tk.Agent(tools=[refund], client=api)
    # On a real address: staff=Staff.from_file("staff.txt"), and a secret that is yours.
    door = app(agent, secret="at least sixteen bytes", staff=Staff(demo="ana"), more=standard_streams)
    server = uvicorn.Server(uvicorn.Config(door, port=0, log_level="error", timeout_graceful_shutdown=2))
    serving = threading.Thread(target=server.run)
    serving.start()
    while not server.started:
        time.sleep(0.01)
    base = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        with httpx2.Client(base_url=base, headers={"origin": base}) as client:
            client.post("/api/session").raise_for_status()
            message = {"id": "m-1", "role": "user", "content": "I want my 80 euros back."}
            outcome = run(client, "/api/agui", messages=[message])[-1]["outcome"]
            (question,) = outcome["interrupts"]
            print(question["message"])

            answer = {"interruptId": question["id"], "status": "resolved", "payload": {"approved": True}}
            own = run(client, "/api/agui", resume=[answer])[-1]
            assert (own["type"], own["code"], refunds) == ("RUN_ERROR", "not_allowed", [])

            events = run(client, "/api/console/agui", resume=[answer])
            text = "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
            print(text)
            assert (text, refunds) == ("We have refunded 80 euros.", [80])
            assert events[-1]["outcome"] == {"type": "success"}
    finally:
        server.should_exit = True
        serving.join()
    api.assert_all_accepted()


if __name__ == "__main__":
    main()
