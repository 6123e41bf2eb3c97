"""The benchmark: six tasks of the shape of W01, small enough for a model of a hundred million parameters.

A draw is one pass over all of them, in this order.
"""

from campaign.engine.benchmark import (
    add_function,
    count_lines,
    fix_constant,
    qa_bridges,
    qa_sentence,
    rename_key,
)
from campaign.engine.benchmark.task import Task

TASKS: tuple[Task, ...] = (
    fix_constant.TASK,
    rename_key.TASK,
    count_lines.TASK,
    add_function.TASK,
    qa_bridges.TASK,
    qa_sentence.TASK,
)
