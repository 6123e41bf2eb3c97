"""The kernels' command line, without a GPU: what is refused at the start, what a broken run leaves, exit codes."""

import csv
import json
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from campaign.kernels import __main__ as commands
from campaign.kernels.errors import CampaignError


def run(*arguments):
    """The command's outcome."""
    return CliRunner().invoke(commands.main, list(map(str, arguments)))


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch):
    """No GPU is looked for and nothing compiled: a command that comes so far fails its test."""

    def reached(*_, **__):
        pytest.fail("the command went on to its work")

    for name in ("_ready", "_built"):
        monkeypatch.setattr(commands, name, reached)
    monkeypatch.setattr(commands.builds, "build", reached)


@pytest.fixture
def timed(monkeypatch):
    """What stands in for bench and pairs: they give what is put here, and raise what is an exception."""
    pytest.importorskip("torch", reason="the kernels' benches need torch: run `make engine`")
    from campaign.kernels import bench, environment, pairs

    results = []

    def given():
        for each in results:
            if isinstance(each, BaseException):
                raise each
            yield each

    monkeypatch.setattr(commands, "_ready", lambda: None)
    monkeypatch.setattr(environment, "environment", lambda: {"gpu": "a stand-in"})
    monkeypatch.setattr(bench, "vllm_version", lambda: "0.26.0")
    monkeypatch.setattr(bench, "bench", lambda **_: given())
    monkeypatch.setattr(pairs, "starts", lambda *_, **__: ([each] for each in given()))
    return results


def timing(kernel, **changed):
    """One timing of a bench."""
    from campaign.kernels.bench import Timing

    return Timing(**{"kernel": kernel, **_cell(), "hot_us": 5.0, "cold_us": 6.0, "wrong_entries": 0, **changed})


def _cell():
    return {"k": 512, "columns": 4_096, "rows": 1, "input_class": "normal"}


def pair(number):
    """One pair."""
    from campaign.kernels.pairs import Pair

    return Pair(1, "full", "auto", "served_topk", 512, 6, 8_192, number, "auto", "2026-11-30", 4.0, 8.0, 0)


MAKES = {"bench": lambda number: timing(f"kernel{number}"), "pairs": pair}


def rows_of(path):
    """The records of a table."""
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("command", ["bench", "pairs"])
def test_a_table_and_its_environment_are_two_files(timed, tmp_path, command):
    """The CSV has the records, the JSON beside it what they were taken on."""
    timed += [MAKES[command](1), MAKES[command](2)]
    done = run(command, "--record", tmp_path / "a.csv")
    assert done.exit_code == 0, done.output
    assert len(rows_of(tmp_path / "a.csv")) == 2
    kept = json.loads((tmp_path / "a.json").read_text())
    assert (kept["gpu"], kept["seed"], kept["complete"]) == ("a stand-in", 0, True)


@pytest.mark.parametrize("command", ["bench", "pairs"])
@pytest.mark.parametrize("name", ["x.json", "x", "x.CSV.json"])
def test_a_table_must_end_in_csv(tmp_path, command, name):
    """Under another name the environment could be written over it."""
    done = run(command, "--record", tmp_path / name)
    assert done.exit_code == 2
    assert f"found {name}, expected a name that ends in .csv" in done.output
    assert not list(tmp_path.iterdir())


OUTPUTS = {
    "bench --record": ["bench", "--record", "gone/x.csv"],
    "pairs --record": ["pairs", "--record", "gone/x.csv"],
    "check --record": ["check", "--record", "gone/x.json"],
    "check --table": ["check", "--recorded", "--oracle", "calls.npz", "--table", "gone/x.csv"],
    "sanitize --record": ["sanitize", "--record", "gone/x.json"],
    "sanitize --logs": ["sanitize", "--logs", "gone/x.log"],
}


@pytest.mark.parametrize("arguments", OUTPUTS.values(), ids=OUTPUTS)
def test_a_file_in_no_folder_is_refused_at_the_start(monkeypatch, tmp_path, arguments):
    """What could not be written at the end is said before any work."""
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code == 2
    assert "cannot be written (No such file or directory); name a file in a folder that takes it" in done.output


def test_an_environment_that_cannot_be_written_is_refused_at_the_start(tmp_path):
    """The file beside is tried too."""
    (tmp_path / "x.json").mkdir()
    done = run("bench", "--record", tmp_path / "x.csv")
    assert done.exit_code == 2
    assert "x.json: cannot be written (Is a directory)" in done.output


def test_the_trial_leaves_files_as_they_are(timed, tmp_path):
    """A file that is there keeps its bytes, and none is left where a run ends with nothing to write."""
    (tmp_path / "a.csv").write_text("old\n")
    assert run("bench", "--record", tmp_path / "a.csv").exit_code == 2
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("a.csv", "old\n")]


@pytest.mark.parametrize("command", ["bench", "pairs"])
@pytest.mark.parametrize(
    ("wrong", "code"), [(RuntimeError("a launch failed"), 2), (ValueError("no"), 2), (KeyboardInterrupt(), 130)]
)
def test_what_was_timed_before_a_break_is_kept(timed, tmp_path, command, wrong, code):
    """A run that breaks off leaves its records, says that they are not all, and ends with no code of a wrong answer."""
    timed += [MAKES[command](1), MAKES[command](2), wrong]
    done = run(command, "--record", tmp_path / "a.csv")
    assert done.exit_code == code
    assert len(rows_of(tmp_path / "a.csv")) == 2
    assert json.loads((tmp_path / "a.json").read_text())["complete"] is False
    assert "broken off; what was timed by then is in" in done.output


def test_a_start_that_breaks_off_gives_its_pairs_first(monkeypatch):
    """The pairs that a start had timed come before what broke it off."""
    pytest.importorskip("torch", reason="the kernels' benches need torch: run `make engine`")
    from campaign.kernels import pairs

    def broken(*_, start, **__):
        yield start
        raise RuntimeError("a launch failed")

    class Here:
        """A pool of processes that is none."""

        __init__ = __exit__ = lambda *_, **__: None
        __enter__ = lambda self: self  # noqa: E731

        def submit(self, function, *arguments):
            return SimpleNamespace(result=lambda: function(*arguments))

    monkeypatch.setattr(pairs, "ProcessPoolExecutor", Here)
    monkeypatch.setattr(pairs, "pairs", broken)
    starts = pairs.starts([], 3)
    assert next(starts) == [1]
    with pytest.raises(RuntimeError, match="a launch failed"):
        next(starts)


def test_the_version_of_the_peers_is_recorded(timed, tmp_path):
    """With peers, vLLM's version; without them there is none."""
    timed += [timing("auto")]
    for options, version in (((), "0.26.0"), (("--no-peers",), None)):
        assert run("bench", "--record", tmp_path / "a.csv", *options).exit_code == 0
        assert json.loads((tmp_path / "a.json").read_text())["vllm"] == version


BAD = [
    "build --jobs 0",
    "build --target sm_80",
    "check --seed -1",
    "check --seconds -1",
    "bench --rows 0",
    "bench --k 0",
    "bench --k 4097",
    "bench --length 0",
    "bench --length 2000000",
    "bench --seed -1",
    "pairs --rows 0",
    "pairs --k 0",
    "pairs --length 2000000",
    "pairs --starts 0",
    "pairs --pairs 0",
    "sanitize --jobs 0",
    "sanitize --limit -1",
]


@pytest.mark.parametrize("line", BAD)
def test_a_value_that_cannot_be_is_refused(line):
    """It is named before anything is built or timed, and is no wrong answer."""
    done = run(*line.split())
    assert done.exit_code == 2
    assert f"Invalid value for '{line.split()[1]}'" in done.output


@pytest.mark.parametrize("wrong", [ValueError("k is too large"), TypeError("no int32"), OSError(28, "No space left")])
def test_what_a_kernel_refuses_is_one_line(timed, wrong):
    """A refusal is told without a traceback, and ends with 2."""
    timed.append(wrong)
    done = run("bench")
    assert (done.exit_code, done.output) == (2, f"kernels: {type(wrong).__name__}: {wrong}\n")


def test_a_bench_of_no_cell_ends_with_2(monkeypatch):
    """Where no row has more columns than k nothing was timed, which is no success."""
    pytest.importorskip("torch", reason="the kernels' benches need torch: run `make engine`")
    from campaign.kernels import environment

    monkeypatch.setattr(commands, "_ready", lambda: None)
    monkeypatch.setattr(environment, "environment", dict)
    done = run("bench", "--length", "5", "--no-peers")
    assert done.exit_code == 2
    assert done.output.startswith("kernels: nothing was timed: no cell has more columns than k.")


@pytest.mark.parametrize(("kernel", "code"), [("rs8", 1), ("persistent_topk", 0)])
def test_a_wrong_answer_of_ours_ends_with_1(timed, kernel, code):
    """A peer's wrong entries are counted and no failure."""
    timed.append(timing(kernel, wrong_entries=3))
    assert run("bench").exit_code == code


def test_without_a_gpu_recorded_calls_point_to_the_oracle(monkeypatch):
    """Whoever has no GPU is told what can be compared without one."""

    def no_gpu():
        raise CampaignError("no CUDA driver here.")

    monkeypatch.setattr(commands, "_built", no_gpu)
    done = run("check", "--recorded", "calls.npz")
    assert done.exit_code == 2
    assert done.output == (
        "kernels: no CUDA driver here. Without a GPU, --oracle compares the recorded calls with the oracle alone.\n"
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--recorded --oracle calls.npz --seed 3", "--seed and --seconds have no effect beside --recorded"),
        ("--recorded --oracle calls.npz --seconds 9", "--seed and --seconds have no effect beside --recorded"),
        ("--name mine", "--name has no effect without --recorded"),
    ],
)
def test_an_option_without_effect_is_refused(line, said):
    """What would be ignored is said to be."""
    done = run("check", *line.split())
    assert done.exit_code == 2
    assert said in done.output


@pytest.mark.parametrize(
    "line",
    [
        "check --recorded --oracle calls.npz --record calls.npz",
        "check --recorded --oracle calls.npz --record x --table ./x",
        "sanitize --record x --logs x",
    ],
)
def test_a_file_is_written_once_and_not_read(monkeypatch, tmp_path, line):
    """Two things to write need two files, and neither is one of the recorded calls."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calls.npz").write_bytes(b"calls")
    done = run(*line.split())
    assert done.exit_code == 2
    assert "is named twice; expected a file of its own for each thing to write" in done.output
    assert (tmp_path / "calls.npz").read_bytes() == b"calls"
