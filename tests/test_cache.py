"""What is kept between runs: whole, private, bounded, and true only under its key."""

import json
import os

import pytest

from campaign.notes import cache as module
from campaign.notes.cache import FORMAT, Cache, Hashes, digest, tree, user_folder


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "kept"


def only_file(folder):
    (path,) = folder.iterdir()
    return path


# Entries


def test_entry_is_given_under_its_key_only(folder):
    """What was kept is true under the key that it was kept under, and under no other."""
    Cache(folder).put("part-1", "a", {"said": [1, 2.5, None, "µ"]})
    again = Cache(folder)
    assert again.get("part-1", "a") == {"said": [1, 2.5, None, "µ"]}
    assert again.get("part-1", "b") is None
    assert again.get("part-2", "a") is None


def test_newer_entry_takes_the_place_of_the_older(folder):
    """A slot holds one entry."""
    cache = Cache(folder)
    cache.put("part-1", "a", 1)
    cache.put("part-1", "b", 2)
    assert (cache.get("part-1", "a"), cache.get("part-1", "b")) == (None, 2)
    only_file(folder)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: b"",
        lambda data: b"\xff" + data[1:],
        lambda data: b"[" * 100_000,
        lambda data: b"null",
        lambda data: b"[]",
        lambda data: data.replace(b'"said":1', b'"said":2'),
        lambda data: data.replace(b'"key":"a"', b'"key":"b"'),
    ],
    ids=["torn", "empty", "not text", "deep", "null", "list", "other content", "other key"],
)
def test_damaged_entry_is_as_good_as_none(folder, damage):
    """An entry that does not fit its own digest is not read, under any key."""
    cache = Cache(folder)
    cache.put("part-1", "a", 1)
    path = only_file(folder)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("part-1", "a") is None
    assert cache.get("part-1", "b") is None
    cache.put("part-1", "a", 3)
    assert cache.get("part-1", "a") == 3


@pytest.mark.parametrize("change", [{"format": FORMAT + 1}, {"slot": "part-2"}])
def test_entry_of_another_version_or_slot_is_not_read(folder, change):
    """An entry that is whole and was not written for this place by this version is foreign."""
    cache = Cache(folder)
    cache.put("part-1", "a", 1)
    body = {"format": FORMAT, "slot": "part-1", "key": "a", "said": 1} | change
    only_file(folder).write_text(json.dumps(body | {"sha256": digest(body)}))
    assert cache.get("part-1", "a") is None


def test_what_json_cannot_say_is_refused(folder):
    """Nothing is kept that would come back as something else."""
    with pytest.raises(TypeError):
        Cache(folder).put("part-1", "a", {1, 2})
    assert Cache(folder).get("part-1", "a") is None


# The folder


def test_folder_is_the_users_own(folder):
    """It is made so that only the user can enter it."""
    Cache(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_folder_that_others_may_write_to_is_not_used(folder, mode):
    """What others could have written is not believed, and nothing is written there."""
    Cache(folder).put("part-1", "a", 1)
    folder.chmod(mode)
    cache = Cache(folder)
    assert cache.get("part-1", "a") is None
    cache.put("part-1", "a", 2)
    folder.chmod(0o700)
    assert Cache(folder).get("part-1", "a") == 1


def test_link_in_place_of_the_folder_is_not_used(tmp_path, folder):
    """A folder that is somewhere else is not the user's own."""
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    Cache(folder).put("part-1", "a", 1)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_without_a_folder_nothing_is_kept(tmp_path):
    """Where the folder cannot be made a cache keeps nothing and says nothing."""
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "kept")
    cache.put("part-1", "a", 1)
    assert cache.get("part-1", "a") is None


@pytest.mark.parametrize(
    ("said", "below"), [("/some/where", "/some/where"), ("", "/home/x/.cache"), ("a", "/home/x/.cache")]
)
def test_user_folder_is_that_of_the_user(monkeypatch, said, below):
    """XDG_CACHE_HOME says where, if it is a whole path; ~/.cache otherwise."""
    monkeypatch.setenv("XDG_CACHE_HOME", said)
    monkeypatch.setenv("HOME", "/home/x")
    assert str(user_folder()) == f"{below}/campaign-notes"


def test_oldest_entries_go_first(folder):
    """What is kept stays below a bound; what was written last stays."""
    cache = Cache(folder)
    for number in range(10):
        cache.put(f"part-{number}", "a", "x" * 1000)
        os.utime(cache._path(f"part-{number}"), (number, number))
    cache.prune(most=5000)
    assert [number for number in range(10) if cache.get(f"part-{number}", "a")] == [6, 7, 8, 9]


# Hashes of files


@pytest.fixture
def later(monkeypatch):
    """A moment long after every file of the test was written."""
    now = module.time.time_ns()
    monkeypatch.setattr(module.time, "time_ns", lambda: now + 10**11)


@pytest.fixture
def opened(monkeypatch):
    """The paths of the files that were read for their hash."""
    paths = []

    def told(path, mode):
        paths.append(path)
        return open(path, mode)

    monkeypatch.setattr(module, "open", told, raising=False)
    return paths


def test_unchanged_file_is_not_read_again(tmp_path, later, opened):
    """A file that looks as it did is known, in a later run too."""
    path = str(tmp_path / "a")
    (tmp_path / "a").write_text("one")
    first = Hashes()
    sha256 = first.of(path)
    second = Hashes(first.as_json())
    assert second.of(path) == second.of(path) == sha256
    assert opened == [path]


def test_file_that_changed_just_now_is_read_again(tmp_path, opened):
    """A change in the same moment could not be seen otherwise."""
    path = str(tmp_path / "a")
    (tmp_path / "a").write_text("one")
    hashes = Hashes()
    assert hashes.of(path) == hashes.of(path)
    assert opened == [path, path]
    assert hashes.as_json() == {}


def test_change_with_the_same_length_and_time_is_seen(tmp_path, later):
    """The time that a program can set does not decide alone."""
    path = tmp_path / "a"
    path.write_text("one")
    state = path.stat()
    hashes = Hashes()
    before = hashes.of(str(path))
    path.write_text("two")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert hashes.of(str(path)) != before


@pytest.mark.parametrize("known", [{"a": []}, {"a": ["x"]}, {"a": None}, {"a": [1, 2, 3, 4, 5, 6, "wrong"]}])
def test_what_is_known_wrongly_is_not_used(tmp_path, known):
    """A damaged list of hashes is as good as none."""
    (tmp_path / "a").write_text("one")
    path = str(tmp_path / "a")
    assert Hashes({path: known["a"]}).of(path) == Hashes().of(path)


# Trees


def changes(folder):
    """Ways to change a tree, by name."""
    return {
        "a byte": lambda: (folder / "a").write_text("two"),
        "a new file": lambda: (folder / "new").write_text(""),
        "a new folder": lambda: (folder / "new").mkdir(),
        "another name": lambda: (folder / "a").rename(folder / "b"),
        "a file below": lambda: (folder / "inner" / "c").write_text("x"),
        "no file": lambda: (folder / "a").unlink(),
        "a link in its place": lambda: ((folder / "a").rename(folder.parent / "z"), (folder / "a").symlink_to("../z")),
        "behind a link": lambda: (folder.parent / "outside" / "d").write_text("x"),
    }


@pytest.mark.parametrize("name", changes(None))
def test_tree_tells_every_change(tmp_path, name):
    """Content, names, kinds, links and what is behind them are all in it."""
    folder = tmp_path / "part"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (folder / "linked").symlink_to("../outside")
    (folder / "a").write_text("one")
    (folder / "loop").symlink_to(".")
    before = tree(str(folder), Hashes())
    changes(folder)[name]()
    assert tree(str(folder), Hashes()) != before


def test_tree_with_something_that_is_no_file_cannot_be_told(tmp_path):
    """A pipe has no content to be known by."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="neither file nor folder"):
        tree(str(tmp_path), Hashes())


def test_user_without_a_home_keeps_nothing(monkeypatch):
    """No folder can be made for one, and the cache takes what it is given without keeping it."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert user_folder().is_absolute() and not user_folder().is_relative_to(os.getcwd())
    kept = Cache(user_folder())
    assert kept.get("slot", "key") is None
