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

VERSION = 2
"""Of tasks and graders together; rows keep it, and rows of two versions are not compared.

1 (rows that name none): as in Part 7. 2: the same tasks; white space around a text of an answer, quotes around it and
a full stop at its end do not count, nor do line ends in files; a function is called in a process that does not hold the
right results. No outcome of Part 7's rows is another under version 2.
"""

TASKS: tuple[Task, ...] = (
    fix_constant.TASK,
    rename_key.TASK,
    count_lines.TASK,
    add_function.TASK,
    qa_bridges.TASK,
    qa_sentence.TASK,
)
