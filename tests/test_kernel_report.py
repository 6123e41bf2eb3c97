"""The page of what the kernels' bench measured: each figure is the records', and each sentence is true of them."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from campaign.kernels import comparisons, model, report, report_model, report_tables
from campaign.kernels.names import OWN
from campaign.kernels.plots import apart

DATA = Path(report.__file__).parent / "data"
OUT = Path("MEASURED.md")


@pytest.fixture(scope="module")
def records():
    """The committed records."""
    return comparisons.read(DATA)


def cells(**times):
    """Timings of one cell, k 8 and 100 columns, four rows of normal data: kernel=µs."""
    return pd.DataFrame(
        [
            {
                "kernel": kernel,
                "k": 8,
                "columns": 100,
                "rows": 4,
                "input_class": "normal",
                "hot_us": time,
                "cold_us": 2 * time,
                "wrong_entries": 0,
                "candidates": 0,
            }
            for kernel, time in times.items()
        ]
    )


def masked_cells(**times):
    """Timings of F and its reference in one cell of 2,048 candidate ids."""
    return cells(**times).assign(candidates=2_048)


def test_committed_page_is_what_the_records_give(tmp_path):
    """No figure of the page is older than its records, and none is typed."""
    out = tmp_path / "MEASURED.md"
    report.write(DATA, out)
    assert out.read_text() == (DATA.parent / "MEASURED.md").read_text()
    for name in ("MEASURED.svg", "MEASURED-rows.svg", "MEASURED-model.svg"):
        assert (tmp_path / name).exists() and f"({name})" in out.read_text()


def test_certificate_is_of_the_sources_that_were_timed():
    """What was timed is what was checked."""
    bench, check = (json.loads((DATA / f"{name}.json").read_text()) for name in ("bench", "certificate"))
    assert bench["sources"] == check["sources"] and not check["wrong"]


def test_wrong_answer_of_ours_has_no_time(records):
    """A cell in which one of our kernels is wrong shows no time."""
    own = records.timings[records.timings.kernel.isin(OWN)]
    assert own[own.wrong_entries > 0].hot_us.isna().all() and (own.wrong_entries == 0).all()


@pytest.mark.parametrize(
    ("ratio", "said"), [(0.97, "quicker"), (0.981, "level"), (1, "level"), (1.019, "level"), (1.03, "slower")]
)
def test_two_per_cent_either_way_is_level(ratio, said):
    """A ratio closer to one than the width of level decides nothing."""
    assert comparisons.verdict(ratio) == said


def test_quickest_peer_is_the_yardstick():
    """The ratio is auto's time over the least of the peers' times; our own kernels are no peers."""
    (cell,) = comparisons.against_quickest(
        cells(auto=6.0, rs8=1.0, persistent_topk=9.0, cooperative_topk=4.0)
    ).itertuples()
    assert (cell.own, cell.peer, cell.name, cell.ratio) == (6.0, 4.0, "cooperative_topk", 1.5)


def test_lost_cell_says_so():
    """Where a peer is quicker than auto the table says lost, with both times, the peer and the ratio."""
    found = report_tables.times(cells(auto=6.0, cooperative_topk=4.0))
    assert found.splitlines()[-1] == "| 100 | 6.00 : 4.00 c = 1.50 **lost** |"


def test_won_and_level_cells_say_so():
    """A quicker cell has no mark, a level one the word."""
    assert report_tables.times(cells(auto=3.0, persistent_topk=4.0)).endswith("| 3.00 : 4.00 p = 0.75 |")
    assert report_tables.times(cells(auto=4.04, persistent_topk=4.0)).endswith("| 4.04 : 4.00 p = 1.01 level |")


def test_cold_table_has_the_cold_times():
    """The same table of the other column."""
    assert "12.00 : 8.00 c" in report_tables.times(cells(auto=6.0, cooperative_topk=4.0), "cold_us")


def test_cell_without_a_time_is_not_measured():
    """A cell whose kernel was wrong, or that was left out, stands as not measured; one without peers says that."""
    assert report_tables.times(cells(auto=float("nan"), cooperative_topk=4.0)).endswith("| not measured |")
    assert report_tables.times(cells(cooperative_topk=4.0)).endswith("| not measured |")
    assert report_tables.times(cells(auto=6.0)).endswith("| 6.00 : no peer |")


def test_summary_counts_the_cells_of_each_length(records):
    """The summary's counts of a length are those of the table's marks."""
    ratios = comparisons.against_quickest(records.plain)
    tables = [report_tables.times(cells) for _, cells in records.plain.groupby("k")]
    for length, cells in ratios.groupby("columns"):
        lines = [line for table in tables for line in table.splitlines() if line.startswith(f"| {length:,} |")]
        found = comparisons.counts(cells.ratio)
        marks = "".join(lines)
        assert (marks.count("**lost**"), marks.count(" level")) == (found.slower, found.level)
        assert f"| {length:,} | {len(cells)} | {found.quicker} | {found.level} | {found.slower} |" in report.summary(
            records
        )


def test_summary_names_the_lengths_that_are_lost(records):
    """The sentence on speed changes with the data."""
    lost = replace(records, timings=pd.concat([cells(auto=6.0, cooperative_topk=4.0)]))
    assert "slower in 1, at lengths of 100." in report.summary(lost)
    won = replace(records, timings=pd.concat([cells(auto=3.0, cooperative_topk=4.0)]))
    assert "quicker than every peer in 1 of 1 cells, level with the quickest in 0, slower in 0." in report.summary(won)


def test_a_wrong_entry_is_in_the_summary(records):
    """Wrong entries of ours and of a peer are counted apart."""
    timings = cells(auto=3.0, cooperative_topk=4.0).assign(wrong_entries=[5, 7])
    said = report.summary(replace(records, timings=timings))
    assert "of the 32 entries compared in the bench 5." in said and "peers there: cooperative_topk 7." in said


def test_the_lesser_prototype_is_the_second_yardstick(records):
    """A cell is compared with the quickest of the prototypes that have it, and named where it is above."""
    prototypes = pd.DataFrame(
        [
            {"k": 8, "columns": 100, "rows": 4, "prototype": name, "hot_us": time, "date": "2026-11-29"}
            for name, time in (("H8 t1024", 5.0), ("J1 t512", 4.0))
        ]
    )
    found = report_tables.prototypes(replace(records, timings=cells(auto=6.0), prototypes=prototypes))
    assert "6.00 : 4.00 J1 t512 = 1.50 **above**" in found and "Above the prototype: 100 × 4 rows." in found


def test_f_stands_beside_its_reference():
    """The table of F has the times of each kernel, and F over its reference, hot and cold."""
    found = report_tables.masked(masked_cells(**{"masked_topk c8": 6.0, "mask + auto": 12.0, "masked_topk c1": 9.0}))
    assert found.splitlines()[-1] == "| 8 | 100 | 4 | 6.00 | 9.00 | 12.00 | 0.50 | 0.50 |"
    assert "2,048 candidate ids" in found


def test_f_without_a_time_is_not_measured():
    """A wrong F has no time and no ratio; without any cell the section says that it was not measured."""
    found = report_tables.masked(
        masked_cells(**{"masked_topk c8": float("nan"), "masked_topk c1": 9.0, "mask + auto": 12.0})
    )
    assert found.splitlines()[-1] == "| 8 | 100 | 4 | not measured | 9.00 | 12.00 | not measured | not measured |"
    assert report_tables.masked(cells(auto=1.0)).endswith("Not measured.")


def test_f_is_no_line_of_the_tables_of_times(records):
    """Cells with candidates count neither as peers nor in the model."""
    fused = masked_cells(**{"mask + auto": 0.1, "auto": 0.1})
    assert len(replace(records, timings=pd.concat([cells(auto=6.0), fused])).plain) == 1
    assert len(model.modelled(pd.concat([records.timings, fused]))) == len(model.modelled(records.timings))


def test_a_slow_class_is_bold():
    """A ratio to normal data above the bar is bold."""
    slow = cells(auto=9.0).assign(input_class="few_values")
    fast = cells(auto=7.0).assign(input_class="uniform")
    found = report_tables.classes(pd.concat([cells(auto=4.0), slow, fast]))
    assert found.splitlines()[-1] == "| auto | 8 | 100 | **2.25** | 1.75 |"


def test_lost_section_has_the_lead_text_as_it_is(records):
    """lost.md stands on the page word for word, after the cells that are lost."""
    assert (DATA / "lost.md").read_text().strip() in report.page(records, OUT)
    won = replace(records, timings=cells(auto=3.0, cooperative_topk=4.0), lost="Why.")
    assert report_tables.lost(won) == "## Where it is lost, and what was tried\n\nNo cell is lost.\n\nWhy."


@pytest.mark.parametrize("there", ["one k, normal data", "no peers, other rows", "one cell"])
def test_page_is_made_of_whatever_cells_there_are(tmp_path, records, there):
    """A record with fewer cells gives a page and its plots."""
    timings = records.timings
    kept = {
        "one k, normal data": timings[(timings.k == 2_048) & (timings.input_class == "normal")],
        "no peers, other rows": timings[timings.kernel.isin(OWN) & ~timings["rows"].isin((1, 6))],
        "one cell": timings[(timings["columns"] == 4_096) & (timings["rows"] == 4)],
    }[there]
    for path in DATA.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    kept.drop(columns="candidates").to_csv(tmp_path / "bench.csv", index=False)
    report.write(tmp_path, tmp_path / "page.md")
    assert "not measured" in (tmp_path / "page.md").read_text().lower()


def test_table_of_the_model_has_what_was_predicted_and_measured(records):
    """A line of the model's table has the prediction as it was made and the time as it was measured."""
    found = report_model.section(records, "picture.svg")
    (auto,) = records.plain[
        (records.plain.kernel == "served_topk")
        & (records.plain.k == 512)
        & (records.plain["rows"] == 6)
        & (records.plain["columns"] == 65_536)
    ].itertuples()
    (line,) = [line for line in found.splitlines() if line.startswith("| served_topk |") and "| 65,536 |" in line][:1]
    assert line.split(" | ")[3] == "28.00" and line.split(" | ")[5] == f"{auto.hot_us:.2f}"


def test_sanitizer_is_told_where_there_is_a_record(records, monkeypatch):
    """The paragraph comes from the module that words it; without a record there is none."""
    monkeypatch.setattr(
        report.sanitize, "paragraph", lambda record: f"{record['launches']} launches, nothing reported."
    )
    assert report.page(replace(records, sanitizer={"launches": 66}), OUT).endswith("66 launches, nothing reported.\n")
    assert report._sanitizer(None) == ""


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ({}, "of vLLM 0.26.0 (stated by hand: the record has no version), and"),
        ({"vllm": "0.27.1"}, "of vLLM 0.27.1, and"),
        ({"vllm": None}, "of vLLM (its version was not found), and"),
    ],
)
def test_version_of_the_peers_is_the_records(records, said, version):
    """A record that names vLLM's version decides; an older one has it from us, and the page says so."""
    environment = {name: value for name, value in records.environment.items() if name != "vllm"} | said
    assert version in report.page(replace(records, environment=environment), OUT)


def test_page_says_which_outputs_were_compared(records):
    """Of records that count the entries compared, every set was; of older ones, the first."""
    older = records.timings.drop(columns="compared_entries", errors="ignore")
    assert "output on the first of these sets was compared" in report.page(replace(records, timings=older), OUT)
    newer = older.assign(compared_entries=4 * older.k * older["rows"])
    assert "output on every one of these sets was compared" in report.page(replace(records, timings=newer), OUT)


def test_entries_are_those_compared(records):
    """The summary and the table count what the record says was compared."""
    timings = cells(auto=3.0, cooperative_topk=4.0).assign(compared_entries=[128, 96])
    said = report.page(replace(records, timings=timings), OUT)
    assert "of the 128 entries compared in the bench none." in said
    assert "| cooperative_topk | 96 | 0 |" in said


def test_page_says_that_the_masking_kernels_are_ours_and_untuned(records):
    """Whoever reads F's ratios, in short or in the table, knows beside what they stand."""
    assert "the masking kernels are our own re-creation and were not tuned." in report.summary(records)
    assert "our own re-creation after the served path's and were **not tuned**" in report_tables.masked(records.timings)


def test_page_says_that_a_run_broke_off(records):
    """A record of a part of the cells is not shown as a whole one."""
    broken = replace(records, environment={**records.environment, "complete": False})
    assert "The run broke off" in report.page(broken, OUT)
    whole = replace(records, environment={**records.environment, "complete": True})
    assert "The run broke off" not in report.page(whole, OUT)


def test_labels_do_not_touch():
    """Places are moved apart by no more than needed, in order."""
    assert apart([1.0, 5.0], gap=2) == [1.0, 5.0]
    assert apart([3.0, 3.0], gap=2) == [2.0, 4.0]
    assert apart([3.0, 1.0, 1.5], gap=1) == [3.0, 0.75, 1.75]
