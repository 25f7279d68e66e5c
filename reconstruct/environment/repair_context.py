"""What repairs may build on, from a project's facts."""

from packaging.utils import canonicalize_name

from reconstruct.environment.evidence.requirement_lines import name_of
from reconstruct.environment.facts import ProjectFacts
from reconstruct.environment.plan import loose_build_requires
from reconstruct.environment.repair_actions import RepairContext


def repair_context(facts: ProjectFacts) -> RepairContext:
    """Return the distributions that the repository names, what its files import, and what is its own."""
    requested = [
        *(install.requested for install in (*facts.ci, *facts.nox)),
        *(file.requested for file in facts.requirement_files),
        *(file.requested for file in facts.conda_files),
    ]
    texts = [
        *facts.dependencies,
        *(text for group in facts.groups for text in group.requirements),
        *(text for part in requested for text in part.requirements),
        *(name for file in facts.conda_files for name in file.names),
    ]
    return RepairContext(
        named=frozenset(str(canonicalize_name(name)) for name in map(name_of, texts) if name),
        imported=facts.imports.everywhere,
        own_modules=frozenset(facts.layout.local_modules) | frozenset(facts.layout.modules),
        build_requires=loose_build_requires(facts),
    )
