"""A day of a log is copied, and then one sentence of it word for word."""

from campaign.engine.benchmark.task import QA, READER, Task, Turn
from campaign.engine.grading import all_of, answer_is, only_changed

TEXT = """From the log of the keeper of Skerry Light

Monday. The wind was from the west all day. I cleaned the lamp and wound the clock. The supply boat came at noon with \
oil, bread and two letters. I painted the north door.

Tuesday. The wind was from the south. I cleaned the lamp and wound the clock. The fog bell was cracked by the frost, \
so I hung the old bell in its place. Three ships passed before dark.

Wednesday. The wind was from the west again. I cleaned the lamp and wound the clock. A gull broke a pane of the \
lantern, and I set a new one before dusk. The supply boat did not come.

Thursday. There was no wind. I cleaned the lamp and wound the clock. I counted the oil and found forty cans. I \
painted the south door and mended the gate.

Friday. The wind was from the north and very cold. I cleaned the lamp and wound the clock. The pump was frozen until \
noon, so I melted snow for water. One ship passed before dark.

Saturday. The wind was from the east. I cleaned the lamp and wound the clock. The supply boat came at noon with oil \
and a new bell. I wrote to my brother.
"""
BELL = "The fog bell was cracked by the frost, so I hung the old bell in its place."
TUESDAY = next(day for day in TEXT.split("\n\n") if BELL in day)

TASK = Task(
    name="qa-sentence",
    kind=QA,
    system=READER,
    files={},
    turns=(
        Turn(f"{TEXT}\nCopy what the keeper wrote on Tuesday, every sentence.", 100),
        Turn(
            "What happened to the fog bell? Answer with the one sentence of the log that says it, copied word for "
            "word, and nothing else.",
            60,
        ),
    ),
    grade=all_of(answer_is(BELL), only_changed({})),
    reference=(TUESDAY, BELL),
    wrong={
        name: (TUESDAY, last)
        for name, last in {
            "the sentence before": "I cleaned the lamp and wound the clock.",
            "the other sentence with a bell": "The supply boat came at noon with oil and a new bell.",
            "half of the sentence": "The fog bell was cracked by the frost.",
            "one word more": BELL.replace("the old bell", "the old fog bell"),
            "the day before it": f"Tuesday. {BELL}",
            "two sentences of which one is right": f"I cleaned the lamp and wound the clock. {BELL}",
            "text behind the answer": f"{BELL} This is the sentence.",
            "an empty answer": "",
        }.items()
    },
)
