"""What git knows about a campaign's files."""

import datetime
import enum
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from campaign.notes.errors import CannotTell, UsageError

if TYPE_CHECKING:
    from git import Repo

SHA1_DIGITS = 40
KEPT_TEXTS = 8
"""How many blobs are kept in memory: one part's checks ask for the same few."""
_CHECKOUT = re.compile(r"`?git checkout (?:(?P<commit>[^\s-]\S*) )?-- (?P<files>[^`;,()]*[^`;,() ])`?")
_LOG = re.compile(r": `git log [^`]*` shows \w+")
DATES_BY_HAND = ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")


def blob_of(data: bytes) -> str:
    """The name git gives a file with these bytes; computed here, so that no git is needed."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def sha256_of(data: bytes) -> str:
    """The sha256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def only_line_ends_differ(found: bytes, expected: bytes) -> bool:
    """Whether the two differ, and by nothing but CRLF against LF."""
    return found != expected and found.replace(b"\r\n", b"\n") == expected.replace(b"\r\n", b"\n")


def mend_line_ends(shown: str) -> str:
    """What a person does about a file whose line ends git changed at checkout."""
    return (
        "put a line `parts/** -text` into .gitattributes (or run `git config core.autocrlf false`), "
        f"then `rm {shown}` and `git checkout -- {shown}`"
    )


class Held(enum.Enum):
    """Whether a commit holds a blob at a path."""

    YES = "the commit is in HEAD's history and holds the blob"
    REWRITTEN = "the commit is not in HEAD's history"
    MISSING = "the history here is cut off before the commit can be found"
    OTHER_BLOB = "the commit is in HEAD's history and does not hold the blob"


class Version(NamedTuple):
    """One state that a file had in the history."""

    commit: str
    """The commit that brought the file into this state."""
    blob: str | None
    """The file's blob there; None where the commit removed the file."""


@dataclass(frozen=True)
class NoHistory:
    """The answer where no git can be asked; hashes alone can still be checked."""

    why: str
    """What is missing, and what would help."""


class _Read(NamedTuple):
    """The history of HEAD below one folder, read by two git commands for all the files in it."""

    commits: frozenset[str]
    """Every commit of HEAD's history that is here."""
    versions: dict[str, list[Version]]
    """The states of each file, newest first, by its path in the work tree."""


class Repository:
    """The git work tree that a campaign lies in; one object for a whole run asks git little for each part."""

    def __init__(self, repo: "Repo", folder: Path | None = None) -> None:
        """`folder` is the one whose files' history is read at once; other files are asked for one by one."""
        assert repo.working_tree_dir is not None, "open_history gives work trees only"
        self._repo = repo
        self.top = Path(repo.working_tree_dir).resolve()
        self._folder = folder
        self._head: str | None = None
        self._texts: dict[str, bytes] = {}
        # No prompt ever stops a command, and neither a replacement object nor a graft stands in for the real history.
        repo.git.update_environment(
            GIT_TERMINAL_PROMPT="0", GIT_NO_REPLACE_OBJECTS="1", GIT_GRAFT_FILE=f"{os.devnull}/none", LANGUAGE="en"
        )

    @property
    def is_shallow(self) -> bool:
        """Whether the history here is cut off."""
        return self._line("rev-parse", "--is-shallow-repository") == "true"

    @property
    def head_commit(self) -> str | None:
        """The commit at HEAD as this object first saw it or made it, or None before the first commit."""
        if self._head is None:
            # Nothing said with status 1 is "no commit yet"; any other failure is git's own and is passed on.
            found = self.output_of("rev-parse", "--verify", "--quiet", "HEAD^{commit}", fine=(0, 1))
            self._head = found.decode().strip() or None
        return self._head

    def committed_blob(self, path: Path) -> str | None:
        """The blob of `path` at HEAD, or None where HEAD has no such file."""
        head = self.head_commit
        return self._blob_at(head, self._relative(path)) if head else None

    def is_clean(self, path: Path) -> bool:
        """Whether `path` is what HEAD holds, line ends aside where git is told to convert them."""
        committed = self.committed_blob(path)
        return committed is not None and path.is_file() and self._as_git_stores(path) == committed

    def changed_below(self, folder: Path) -> list[Path]:
        """Files below `folder` that HEAD does not hold as they are here, ignored ones left out."""
        out = self.output_of(
            "--literal-pathspecs", "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all",
            "--", self._relative(folder),
        )  # fmt: skip
        return [self.top / os.fsdecode(entry[3:]) for entry in out.split(b"\0") if entry]

    def require_committed(self, path: Path, shown: str) -> str:
        """The blob of `path`, byte for byte the same here and at HEAD; raises UsageError where it is not."""
        if not path.is_file():
            raise UsageError(f"{shown}: there is no such file; expected it committed. Make it, then commit it.")
        committed = self.committed_blob(path)
        commit_it = f"`git add {shown}` and `git commit`"
        if committed is None:
            raise UsageError(f"{shown}: not committed; expected it at HEAD. First {commit_it}.")
        found, expected = path.read_bytes(), self.text_of(committed)
        if only_line_ends_differ(found, expected):
            raise UsageError(
                f"{shown}: differs from HEAD by its line ends only; expected the bytes that git holds. "
                f"To mend: {mend_line_ends(shown)}."
            )
        if found != expected:
            raise UsageError(f"{shown}: changed since HEAD; expected it committed as it is. First {commit_it}.")
        return committed

    def versions(self, path: Path) -> list[Version]:
        """The states of `path` in HEAD's history, newest first; where history is cut off, those that are here."""
        head = self.head_commit
        if head is None:
            return []
        relative = self._relative(path)
        if self._folder is not None and path.resolve().is_relative_to(self._folder.resolve()):
            return list(self._known(head).versions.get(relative, ()))
        # Full history, or git leaves out a side branch whose changes a merge dropped.
        found = (
            self.output_of("--literal-pathspecs", "rev-list", "--topo-order", "--full-history", head, "--", relative)
            .decode()
            .split()
        )
        return [Version(commit, self._blob_at(commit, relative)) for commit in found]

    def first_version(self, path: Path) -> Version | None:
        """The first state in which HEAD's history has `path`, or None where it never had it."""
        return next((version for version in reversed(self.versions(path)) if version.blob), None)

    def earlier_commit_with(self, path: Path, blob: str) -> str | None:
        """The newest commit of HEAD's history that gave `path` this blob, or None."""
        return next((version.commit for version in self.versions(path) if version.blob == blob), None)

    def has(self, commit: str) -> bool:
        """Whether a commit, named in full or by its first digits, or HEAD, is in the history that is here."""
        head = self.head_commit
        return head is not None and (commit == "HEAD" or any(k.startswith(commit) for k in self._known(head).commits))

    def holds(self, commit: str, path: Path, blob: str) -> Held:
        """Whether `commit` is in HEAD's history and has `blob` at `path`."""
        head = self.head_commit
        if head is None or commit not in self._known(head).commits:
            return Held.MISSING if self.is_shallow else Held.REWRITTEN
        relative = self._relative(path)
        if self._blob_at(commit, relative) == blob:
            return Held.YES
        # The campaign's folder may have lain elsewhere in the tree at that time; parts/part-4/post.md is the same file.
        tail = "/".join(path.parts[-3:])
        for entry in self.output_of("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
            facts, _, name = entry.partition(b"\t")
            if facts.endswith(blob.encode()) and f"/{os.fsdecode(name)}".endswith(f"/{tail}"):
                return Held.YES
        return Held.OTHER_BLOB

    def text_of(self, blob: str) -> bytes:
        """The bytes of `blob`; raises CannotTell where they are not here, or are not those that the name stands for."""
        if blob in self._texts:
            return self._texts[blob]
        out = self._object(blob)
        if out is None:
            raise CannotTell(
                f"{self.top}: the blob {blob} is not in this clone; expected to read it. {self._mend_missing()}"
            )
        if len(blob) == SHA1_DIGITS and blob_of(out) != blob:
            raise CannotTell(
                f"{self.top}: git gives other bytes for the blob {blob} than its name stands for; expected the bytes "
                "that were committed. `git fsck` names every damaged object; a new `git clone` has them whole."
            )
        while len(self._texts) >= KEPT_TEXTS:
            del self._texts[next(iter(self._texts))]
        self._texts[blob] = out
        return out

    def _mend_missing(self) -> str:
        """The command that would bring an object which is not here."""
        remote = self._promisor or (self._try("remote")[1].decode().split() or ["PATH"])[0]
        if self._promisor:
            return f"`git fetch --refetch --no-filter {remote}` brings it, where {remote} can be reached."
        if self.is_shallow:
            return "`git fetch --unshallow` brings it."
        return f"`git fetch --refetch {remote}` brings it from a clone that has it; `git fsck` names what is damaged."

    def commit_date(self, commit: str) -> datetime.datetime:
        """When `commit` was made, as its committer's clock had it, with the zone."""
        said = (self._object(commit, "commit") or b"").partition(b"\n\n")[0]
        found = re.search(rb"^committer .* (\d+) ([+-])(\d\d)(\d\d)$", said, re.MULTILINE)
        if found is None:
            raise CannotTell(f"{self.top}: the commit {commit} is not here; expected its date. {self._mend_missing()}")
        away = datetime.timedelta(hours=int(found[3]), minutes=int(found[4])) * (-1 if found[2] == b"-" else 1)
        return datetime.datetime.fromtimestamp(int(found[1]), datetime.timezone(away))

    def descends(self, commit: str, earlier: str) -> bool:
        """Whether `earlier` is in the history of `commit`."""
        return self._try("merge-base", "--is-ancestor", earlier, commit)[0] == 0

    def blob_at(self, commit: str, path: Path) -> str | None:
        """The blob that `commit` has at `path`, or None where it has no such file."""
        return self._blob_at(commit, self._relative(path))

    def files_at(self, commit: str, folder: Path) -> dict[str, str]:
        """The blob of each file that `commit` has below `folder`, by its path below it."""
        relative = self._relative(folder) if folder.resolve() != self.top else ""
        beginning = f"{relative}/" if relative else ""
        found = {}
        paths = ["--", beginning] if beginning else []
        for entry in self.output_of("ls-tree", "-r", "-z", "--full-tree", commit, *paths).split(b"\0"):
            facts, _, name = entry.partition(b"\t")
            if facts.startswith(b"100"):
                found[os.fsdecode(name).removeprefix(beginning)] = facts.split()[2].decode()
        return found

    def commit(self, paths: Sequence[Path], message: str) -> str:
        """The new commit, holding exactly `paths` as they are on disk; what else is staged stays staged."""
        self.require_can_commit()
        if not paths or all(self.is_clean(path) for path in paths):
            raise UsageError(f"{self.top}: nothing to commit; expected a change in the files named. Change one first.")
        names = [self._relative(path) for path in paths]
        new = [self._relative(path) for path in paths if not self._try("ls-files", "-z", "--", self._relative(path))[1]]
        if new:
            self.output_of("--literal-pathspecs", "add", "--intent-to-add", "--", *new, refused=UsageError)
        try:
            # Guessing a name from the host's name is switched off: who commits is stated, never invented.
            self.output_of(
                "--literal-pathspecs", "-c", "user.useConfigOnly=true", "commit", "--quiet", "--only", "-m", message,
                "--", *names, refused=UsageError,
            )  # fmt: skip
        except UsageError:
            if new:
                self._try("--literal-pathspecs", "rm", "--cached", "--quiet", "--force", "--", *new)
            raise
        self._head = None
        head = self.head_commit
        assert head is not None, "a commit was just made"
        return head

    @cached_property
    def _promisor(self) -> str:
        """The remote that a partial clone leaves objects with; empty for a clone that has all of its own."""
        status, out, _ = self._try("config", "--name-only", "--get-regexp", r"^remote\..*\.promisor$")
        return "" if status else out.decode().split()[0].removeprefix("remote.").removesuffix(".promisor")

    def _known(self, head: str) -> _Read:
        """The history of `head`, read once for all objects that see the same."""
        shallow = Path(self._repo.common_dir) / "shallow"
        cut = shallow.read_bytes() if shallow.is_file() else b""
        folder = self._relative(self._folder) if self._folder is not None else ""
        return _read_history(self.top, head, folder, cut)

    def _object(self, name: str, kind: str = "blob") -> bytes | None:
        """The bytes of an object, or None where it is not here."""
        if not self._promisor:
            # One process for all of them; it ends where an object that is not here would have to be fetched.
            try:
                return self._repo.git.get_object_data(name)[3]
            except (ValueError, OSError):
                pass
        status, out, _ = self._try("cat-file", kind, name)
        return out if status == 0 else None

    def require_can_commit(self) -> None:
        """Nothing; raises UsageError where git would not commit here: to be asked before anything is written."""
        by_hand = [name for name in DATES_BY_HAND if name in os.environ]
        if by_hand:
            raise UsageError(
                f"{self.top}: {by_hand[0]} is set; expected git to date the commit itself. `unset {by_hand[0]}`."
            )
        for role in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            if self._try("-c", "user.useConfigOnly=true", "var", role)[0] != 0:
                raise UsageError(
                    f"{self.top}: git does not know who commits; expected a name and an address. "
                    '`git config user.name "Your Name"` and `git config user.email you@example.org`.'
                )

    def _as_git_stores(self, path: Path) -> str:
        return self._line("hash-object", "--", self._relative(path))

    def _blob_at(self, commit: str, relative: str) -> str | None:
        if not self._promisor and "\n" not in relative:
            try:
                name, kind, _ = self._repo.git.get_object_header(f"{commit}:{relative}")
                return str(name, "ascii") if kind == b"blob" else None
            except (ValueError, OSError):
                pass
        for entry in self.output_of("ls-tree", "-z", "--full-tree", commit, "--", relative).split(b"\0"):
            facts, _, name = entry.partition(b"\t")
            if os.fsdecode(name) == relative and facts.split()[1] == b"blob":
                return facts.split()[2].decode()
        return None

    def _relative(self, path: Path) -> str:
        # The folder is resolved and the name is not: git knows a link as a file of its own.
        whole = path.parent.resolve() / path.name
        try:
            return whole.relative_to(self.top).as_posix()
        except ValueError:
            raise UsageError(
                f"{path}: outside the git work tree {self.top}; expected a file in it. Name one of its files."
            ) from None

    def _line(self, *arguments: str) -> str:
        return self.output_of(*arguments).decode().strip()

    def output_of(
        self,
        *arguments: str,
        fine: Sequence[int] = (0,),
        refused: type[CannotTell] | type[UsageError] = CannotTell,
    ) -> bytes:
        """What one git command says; raises `refused` where its status is not `fine`."""
        status, out, problem = self._try(*arguments)
        if status not in fine:
            said = (problem or out.decode(errors="replace")).strip() or f"status {status}"
            if refused is CannotTell and "promisor remote" in said:
                raise CannotTell(
                    f"{self.top}: this partial clone lacks objects of its history; expected them here. "
                    f"{self._mend_missing()}"
                )
            raise refused(f"{self.top}: `git {' '.join(arguments)}` did not work. Git says: {said}")
        return out

    def _try(self, *arguments: str) -> tuple[int, bytes, str]:
        """Exit status, output and error text of one git command in the work tree."""
        status, out, problem = self._repo.git.execute(
            ["git", *arguments],
            with_extended_output=True,
            with_exceptions=False,
            stdout_as_string=False,
            strip_newline_in_stdout=False,
        )
        return status, bytes(out), problem if isinstance(problem, str) else problem.decode(errors="replace")


@lru_cache(maxsize=4)
def _read_history(top: Path, head: str, folder: str, cut: bytes) -> _Read:
    """The commits in the history of `head`, and what they did to the files below `folder` of the work tree at `top`.

    `cut` is where a shallow clone ends: with the same commit at HEAD, another cut is another history.
    """
    import git

    repo = Repository(git.Repo(top))
    commits = repo.output_of("rev-list", head).decode().split()
    versions: dict[str, list[Version]] = {}
    # Full history, and a merge against each of its parents, or git leaves out a side branch that a merge dropped.
    log = repo.output_of(
        "--literal-pathspecs", "-c", "log.showSignature=false", "-c", "log.follow=false", "log", "--raw", "-z",
        "--diff-merges=separate", "--root", "--no-abbrev", "--no-renames", "--topo-order",
        "--full-history", "--format=commit %H", head, "--", folder,
    )  # fmt: skip
    commit, fields = "", iter(log.split(b"\0"))
    for said in fields:
        text = said.lstrip(b"\n")
        if text.startswith(b"commit "):
            commit = text[7:].decode()
        elif text.startswith(b":"):
            _, mode, _, blob, _ = text.decode().split()
            states = versions.setdefault(os.fsdecode(next(fields)), [])
            if not states or states[-1].commit != commit:
                states.append(Version(commit, blob if mode.startswith("1") else None))
    return _Read(frozenset(commits), versions)


History = Repository | NoHistory


def open_history(root: Path) -> History:
    """The git work tree that holds `root`, which may be a folder inside it, or why there is none."""
    try:
        # Here, because GitPython looks for the git program when it is imported, and a measuring host may have none.
        import git
    except ImportError:
        return NoHistory(f"{root}: git cannot be run here; install git and GitPython to check the history")
    try:
        repo = git.Repo(root, search_parent_directories=True)
    except (git.InvalidGitRepositoryError, git.NoSuchPathError):
        return NoHistory(f"{root}: not in a git work tree; check in a clone (`git clone`) to see the history")
    if repo.working_tree_dir is None:
        return NoHistory(f"{root}: in a bare git repository; check in a clone of it (`git clone`)")
    return _shared(repo, root / "parts")


_last: dict[int, tuple[tuple[object, ...], Repository]] = {}
"""The repository that was opened last, by the process that opened it: git's own helpers serve one process alone."""


def _shared(repo: "Repo", folder: Path) -> Repository:
    """The repository that was opened last, where it still has the same commit at HEAD; a new one otherwise."""
    try:
        head = repo.head.dereference_recursive(repo, repo.head.path)
    except (ValueError, OSError):  # no commit yet, or a kind of reference that only git itself reads
        return Repository(repo, folder)
    shallow = Path(repo.common_dir) / "shallow"
    seen = (repo.working_tree_dir, repo.git_dir, folder, head, shallow.stat().st_mtime_ns if shallow.is_file() else 0)
    known, kept = _last.get(os.getpid(), ((), None))
    if kept is None or known != seen:
        kept = Repository(repo, folder)
        _last[os.getpid()] = (seen, kept)
    return kept


def workable(mend: str, history: History) -> str:
    """A finding's mend as it can be followed here: a commit that a shallow clone lacks is fetched first.

    Outside of a git work tree nothing can be checked out: the files are to be brought back from elsewhere.
    """
    if isinstance(history, NoHistory):
        mend = _LOG.sub(", from a clone or a backup", mend)
        return _CHECKOUT.sub(lambda found: f"bring {found['files']} back from a clone or a backup", mend)
    named = [found["commit"] for found in _CHECKOUT.finditer(mend) if found["commit"]]
    if history.is_shallow and not all(history.has(commit) for commit in named):
        return f"`git fetch --unshallow`, then {mend}"
    return mend


def require_history(history: History, what: str) -> Repository:
    """`history` as a repository; raises CannotTell, saying that `what` needs one."""
    if isinstance(history, NoHistory):
        raise CannotTell(f"{history.why}. {what} needs it.")
    return history


def require_here(held: Held, commit: str, shown: str) -> None:
    """Nothing; raises CannotTell where the history is cut off before `commit`."""
    if held is Held.MISSING:
        raise CannotTell(
            f"{shown}: names the commit {commit}, which this shallow clone does not reach; "
            "expected the whole history. `git fetch --unshallow` brings it."
        )
