"""`fixaudit trust`: allow what the project's own configuration would start."""

from __future__ import annotations

from fixaudit.session import open_session
from fixaudit.trust import Trust, command_digest
from fixaudit.workbench import Workbench


def run_trust() -> int:
    """Show the configured agent's command and record it for this user."""
    session = open_session([])
    agent = session.configuration.agent
    if agent is None:
        print("This project's configuration names no command.")
        return 0
    bench = Workbench(session)
    with bench.locked():
        Trust(bench.state.state).record(command_digest(session.root, agent.command, agent.environment))
    print(f"allowed: {' '.join(agent.command)}")
    print("It runs in a private copy when `fixaudit fix` delegates. A changed command asks again.")
    return 0
