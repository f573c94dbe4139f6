#!/usr/bin/env python3
"""Takes orders for a user as long as the rules let it, and then writes a report, of which only so many
may be under way at a time. It needs nothing but Python, and a daemon with the rules beside it:

    sidecard serve --rules examples/local/rules
    python3 examples/local/client.py bob
"""

import contextlib
import http.client
import json
import os
import socket
import sys
import time


class Refused(Exception):
    """A rule refused; the argument is the decision."""


class Sidecard(http.client.HTTPConnection):
    """A connection to the daemon, made when it is first needed. For one thread at a time."""

    def __init__(self, path, timeout=10):
        super().__init__("sidecard", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def post(self, what, **fields):
        """Returns the answer of /v1/what, which for a decision may be a refusal."""
        self.request("POST", "/v1/" + what, json.dumps(fields))
        response = self.getresponse()
        answer = json.load(response)
        if response.status != 200:
            raise RuntimeError(f"sidecard: {response.status} {answer['error']}")
        return answer

    @contextlib.contextmanager
    def call(self, resource, **attributes):
        """Runs its block as a call to the resource, or raises Refused."""
        decision = self.post("acquire", resource=resource, attributes=attributes, tellWait=True)
        if not decision["allowed"]:
            raise Refused(decision)
        time.sleep(decision.get("waitMs", 0) / 1000)
        failed = True
        try:
            yield
            failed = False
        finally:
            if "token" in decision:  # some rule wants to know of the end
                self.post("complete", token=decision["token"], error=failed)


def main(user):
    path = os.environ.get("SIDECARD_HTTP", "unix:/run/sidecard/http.sock").removeprefix("unix:")
    sidecard = Sidecard(path)
    for _ in range(4):
        attributes = {"path": "/orders", "header.x-user-id": user}
        decision = sidecard.post("decide", resource="orders", attributes=attributes)
        if decision["allowed"]:
            print(f"order: allowed, {decision['remaining']} left")
        else:
            print(f"order: refused by {decision['rule']} ({decision['reason']})")
    with sidecard.call("reports"):
        print("report: written")


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["bob"])
