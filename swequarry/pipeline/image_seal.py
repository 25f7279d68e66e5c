"""No image of a task keeps its name before its layers, history, variables and labels were searched."""

from reconstruct.leaks.images import scan_image
from swequarry.errors import RefusedByPolicyError
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.stages.seal import answer_of
from swequarry.records import Task
from swequarry.sandbox.docker_engine import DockerEngine
from swequarry.sandbox.task_image import base_of


def require_sealed(house: House, engine: DockerEngine, task: Task, tag: str) -> None:
    """Search the image of a task for its answer; take its name away if something is found.

    Raises:
        RefusedByPolicyError: the answer is in the image; says where.
        SandboxError: the engine doesn't give the image.
    """
    answer, base = answer_of(house, task.candidate, task.environment)
    findings = scan_image(engine, tag, answer, base, base_of(engine, tag)).findings
    if findings:
        engine.remove_image(tag)
        raise RefusedByPolicyError(
            f"the answer of {task.instance_id} can be had from its image, so {tag} was removed: "
            + " | ".join(map(str, findings[:5]))
        )
