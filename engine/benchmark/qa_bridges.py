"""Two facts are looked up among many of the same form."""

from campaign.engine.benchmark.solutions import answer
from campaign.engine.benchmark.task import QA, READER, Task, Turn, answer_schema
from campaign.engine.grading import all_of, answer_holds, only_changed

TEXT = """The bridges of the river Tarn Water, from the spring to the sea

Alder Bridge is the first bridge below the spring. It was opened in 1834. Its engineer was Mary Colvin. It is built \
of stone, it has two arches, and it is 31 metres long. Carts paid a toll of one penny until 1871.

Beck Bridge stands beside the mill. It was opened in 1902. Its engineer was Tom Ashdown. It is built of steel, it has \
one span, and it is 44 metres long. It replaced a ford that was closed by every flood.

Cutler Bridge carries the road to the market. It was opened in 1788. Its engineer was John Pell. It is built of \
stone, it has three arches, and it is 58 metres long. Two of its arches were rebuilt after the flood of 1856.

Dyer Bridge is a bridge for people on foot. It was opened in 1967. Its engineer was Ruth Ferris. It is built of \
concrete, it has four spans, and it is 72 metres long. It is lit at night.

Easter Bridge carries the railway. It was opened in 1849. Its engineer was Hugh Lorne. It is built of iron, it has \
five spans, and it is 120 metres long. Trains cross it at walking pace.

Fuller Bridge stands where the river meets the canal. It was opened in 1911. Its engineer was Anne Teviot. It is \
built of brick, it has two arches, and it is 39 metres long. Boats pass below it with their masts down.

Gale Bridge is the last bridge before the sea. It was opened in 1983. Its engineer was Paul Orrin. It is built of \
steel, it has six spans, and it is 310 metres long. It is closed when the wind is strong.
"""

TASK = Task(
    name="qa-bridges",
    kind=QA,
    system=READER,
    files={},
    turns=(
        Turn(f"{TEXT}\nHow many metres is Gale Bridge long?", 30, answer_schema=answer_schema(metres="integer")),
        Turn("Who was the engineer of Gale Bridge?", 40, answer_schema=answer_schema(engineer="string")),
        Turn(
            "Give both once more: the length and the engineer of Gale Bridge.",
            60,
            answer_schema=answer_schema(metres="integer", engineer="string"),
        ),
    ),
    grade=all_of(answer_holds({"metres": 310, "engineer": "Paul Orrin"}), only_changed({})),
    reference=(
        answer(metres=310),
        answer(engineer="Paul Orrin"),
        answer(metres=310, engineer="Paul Orrin"),
    ),
    wrong={
        name: (answer(metres=310), answer(engineer="Paul Orrin"), last)
        for name, last in {
            "another bridge's length": answer(metres=39, engineer="Paul Orrin"),
            "another bridge's engineer": answer(metres=310, engineer="Anne Teviot"),
            "the year in place of the length": answer(metres=1983, engineer="Paul Orrin"),
            "half of a name": answer(metres=310, engineer="Orrin"),
            "a sentence in place of a name": answer(metres=310, engineer="Its engineer was Paul Orrin."),
            "the length as a text": answer(metres="310", engineer="Paul Orrin"),
            "the length with a point": answer(metres=310.0, engineer="Paul Orrin"),
            "a fact left out": answer(metres=310),
            "a fact too many": answer(metres=310, engineer="Paul Orrin", year=1983),
            "text behind the answer": answer(metres=310, engineer="Paul Orrin") + ".",
            "an empty answer": "",
        }.items()
    },
)
