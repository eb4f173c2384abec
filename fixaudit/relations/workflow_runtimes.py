"""What GitHub workflows say about runtimes: set-up steps, matrices and job containers.

Contract: expressions are followed to literal lists of the job's matrix and to literal `env` values; any other one is
unreadable. In a repository with several roots a job counts for the roots that it works in (`working-directory`), and
for the top of the repository when it names none.
This module must not know what a version means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fixaudit.facts import Facts
from fixaudit.formats import yaml
from fixaudit.formats.dockerimages import parse_image
from fixaudit.globs import matches
from fixaudit.projects import Root, owner
from fixaudit.relations.places import join, read
from fixaudit.relations.release_lines import Said, image_said

_SETUP = {
    "actions/setup-node": ("node", "node-version"),
    "actions/setup-python": ("python", "python-version"),
    "astral-sh/setup-uv": ("python", "python-version"),
}
_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}\Z")


def workflow_runtimes(facts: Facts, root: Root) -> Iterator[Said]:
    """Yield what the workflows at the top of the repository say about a root."""
    for path in facts.project.paths:
        if not path.startswith(".github/") or not matches(path, ".github/workflows/*.{yml,yaml}"):
            continue
        documents = read(facts, path, "yaml", yaml.parse)
        for workflow in documents[:1] if documents else ():
            jobs = yaml.get(workflow, ["jobs"])
            for _, value in jobs.pairs if isinstance(jobs, yaml.Mapping) else ():
                job = yaml.follow(value)
                if isinstance(job, yaml.Mapping) and _works_in(facts, root, workflow, job):
                    yield from _job(path, workflow, job)


def _works_in(facts: Facts, root: Root, workflow: yaml.Node, job: yaml.Mapping) -> bool:
    roots = facts.project.roots
    if len(roots) == 1:
        return True
    places = [yaml.get(node, ["defaults", "run", "working-directory"]) for node in (workflow, job)]
    places += [yaml.get(step, ["working-directory"]) for step in _steps(job)]
    names = [join("", f"{place.text}/x") for place in places if isinstance(place, yaml.Scalar)]
    if not names:
        return root.path == ""
    return any(name is not None and owner(roots, name) == root for name in names)


def _steps(job: yaml.Mapping) -> tuple[yaml.Node, ...]:
    steps = job.get("steps")
    return steps.items if isinstance(steps, yaml.Items) else ()


def _job(path: str, workflow: yaml.Node, job: yaml.Mapping) -> Iterator[Said]:
    for step in _steps(job):
        uses = yaml.get(step, ["uses"])
        action = uses.text.partition("@")[0].lower() if isinstance(uses, yaml.Scalar) else ""
        runtime, name = _SETUP.get(action, ("", ""))
        value = yaml.get(step, ["with", name]) if name else None
        if isinstance(value, yaml.Scalar) and value.text:
            yield Said(runtime, "workflow", path, value.span, *_versions(value, workflow, job, step))
    container = yaml.get(job, ["container"])
    image = yaml.get(container, ["image"]) if isinstance(container, yaml.Mapping) else container
    if isinstance(image, yaml.Scalar) and "${{" not in image.text:
        said = image_said(parse_image(image.text), "workflow", path, image.span)
        if said is not None:
            yield said


def _versions(
    value: yaml.Scalar, workflow: yaml.Node, job: yaml.Mapping, step: yaml.Node
) -> tuple[str, tuple[str, ...] | None]:
    """Return (text to show, versions) of an input: one, several on lines of their own, or what an expression means."""
    expression = _EXPRESSION.match(value.text.strip())
    if expression is None:
        lines = tuple(line.strip() for line in value.text.splitlines() if line.strip())
        return ", ".join(lines), None if "${{" in value.text else lines
    kind, _, name = expression[1].partition(".")
    found: tuple[str, ...] | None = None
    if kind == "matrix":
        found = _matrix(job, name)
    elif kind == "env":
        literal = next(
            (node for at in (step, job, workflow) if (node := yaml.get(at, ["env", name])) is not None), None
        )
        found = (literal.text,) if isinstance(literal, yaml.Scalar) and "${{" not in literal.text else None
    return ", ".join(found) if found else value.text.strip(), found


def _matrix(job: yaml.Mapping, name: str) -> tuple[str, ...] | None:
    """Return the values of a matrix key, those of `include` too; None when some are computed."""
    matrix = yaml.get(job, ["strategy", "matrix"])
    if not isinstance(matrix, yaml.Mapping):
        return None
    listed, include = matrix.get(name), matrix.get("include")
    if any(part is not None and not isinstance(part, yaml.Items) for part in (listed, include)):
        return None
    nodes = [yaml.follow(item) for item in listed.items] if isinstance(listed, yaml.Items) else []
    for entry in include.items if isinstance(include, yaml.Items) else ():
        found = yaml.get(entry, [name])
        nodes += [found] if found is not None else []
    texts = [node.text for node in nodes if isinstance(node, yaml.Scalar) and "${{" not in node.text]
    return tuple(dict.fromkeys(texts)) if texts and len(texts) == len(nodes) else None
