"""Time per phase, on stderr and only when asked for: no result may depend on it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Timings:
    """Wall and CPU seconds by phase, in order of first use."""

    wanted: bool
    phases: dict[str, list[float]] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what happens inside towards a phase."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            total = self.phases.setdefault(name, [0.0, 0.0])
            total[0] += time.perf_counter() - wall
            total[1] += time.process_time() - cpu

    def print(self) -> None:
        if self.wanted:
            for name, (wall, cpu) in self.phases.items():
                print(f"{name:<12} {wall * 1000:9.1f} ms wall {cpu * 1000:9.1f} ms cpu", file=sys.stderr)
