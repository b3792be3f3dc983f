"""Entitlements: policies in a file, a decision for each request of a log, and the reason for each refusal.

Run it with `python examples/entitlements/decide.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from ruledex import Index

HERE = Path(__file__).parent


def decide(policies: Index, request: dict[str, Any]) -> tuple[bool, list[str]]:
    """Return whether a request is allowed, and the policies that decided: a denial wins."""
    true = [str(policy) for policy in policies.match(request)]
    denials = [policy for policy in true if policy.startswith("deny/")]
    return (False, denials) if denials else (bool(true), true)


def main() -> None:
    """Decide all requests, and change a condition that policies share."""
    policies = Index.build(HERE / "policies.jsonl")
    for line in (HERE / "requests.jsonl").read_bytes().splitlines():
        request = orjson.loads(line)
        allowed, by = decide(policies, request)
        asked = f"{request['user']['id']} wants to {request['action']} a {request['resource']['kind']}"
        print(f"{asked}: {'allowed' if allowed else 'refused'} by {', '.join(by) or 'no policy'}")
        if not allowed and not by:  # the smallest change that some policy would accept
            allowing = [policy for policy, _ in policies if policy.startswith("allow/")]
            reasons = [(policy, policies.why_not(request, policy)) for policy in allowing]
            policy, reason = min(reasons, key=lambda pair: len(pair[1].changes))
            print(f"  {policy} needs: {'; '.join(change.words for change in reason.changes)}")

    # A shared condition changes all policies that use it, in one step.
    n_changed = policies.define("office", "cidr(ip) IN ('10.0.0.0/8')")
    print(f"the office moved; policies changed: {n_changed}")


if __name__ == "__main__":
    main()
