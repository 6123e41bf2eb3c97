"""What git knows about a campaign's files."""

import datetime
import enum
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from campaign.notes.errors import CannotTell, UsageError

if TYPE_CHECKING:
    from git import Repo

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


class Repository:
    """The git work tree that a campaign lies in."""

    def __init__(self, repo: "Repo") -> None:
        assert repo.working_tree_dir is not None, "open_history gives work trees only"
        self._repo = repo
        self.top = Path(repo.working_tree_dir).resolve()
        # No prompt ever stops a command, and no replacement object stands in for the real history.
        repo.git.update_environment(GIT_TERMINAL_PROMPT="0", GIT_NO_REPLACE_OBJECTS="1")

    @property
    def is_shallow(self) -> bool:
        """Whether the history here is cut off."""
        return self._line("rev-parse", "--is-shallow-repository") == "true"

    @property
    def head_commit(self) -> str | None:
        """The commit at HEAD, or None before the first commit."""
        # Nothing said with status 1 is "no commit yet"; any other failure is git's own and is passed on.
        return self._output("rev-parse", "--verify", "--quiet", "HEAD^{commit}", fine=(0, 1)).decode().strip() or None

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
        out = self._output(
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
        # Full history, or git leaves out a side branch whose changes a merge dropped.
        found = (
            self._output("--literal-pathspecs", "rev-list", "--topo-order", "--full-history", head, "--", relative)
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

    def holds(self, commit: str, path: Path, blob: str) -> Held:
        """Whether `commit` is in HEAD's history and has `blob` at `path`."""
        absent = Held.MISSING if self.is_shallow else Held.REWRITTEN
        head = self.head_commit
        if head is None or self._try("cat-file", "-e", f"{commit}^{{commit}}")[0] != 0:
            return absent
        base = self._output("merge-base", commit, head, fine=(0, 1)).decode().strip()
        if base != commit:
            return absent
        relative = self._relative(path)
        if self._blob_at(commit, relative) == blob:
            return Held.YES
        # The campaign's folder may have lain elsewhere in the tree at that time; parts/part-4/post.md is the same file.
        tail = "/".join(path.parts[-3:])
        for entry in self._output("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
            facts, _, name = entry.partition(b"\t")
            if facts.endswith(blob.encode()) and f"/{os.fsdecode(name)}".endswith(f"/{tail}"):
                return Held.YES
        return Held.OTHER_BLOB

    def text_of(self, blob: str) -> bytes:
        """The bytes of `blob`; raises CannotTell where they are not here."""
        status, out, _ = self._try("cat-file", "blob", blob)
        if status == 0:
            return out
        if self.is_shallow:
            mend = "`git fetch --unshallow`"
        elif self._is_partial:
            mend = "`git fetch --refetch --no-filter`, or the same command again where the remote can be reached,"
        else:
            mend = "`git fetch --all` (or `git fsck`, where it was here before)"
        raise CannotTell(f"{self.top}: the blob {blob} is not in this clone; expected to read it. {mend} would help.")

    def commit_date(self, commit: str) -> datetime.datetime:
        """When `commit` was made, as its committer's clock had it, with the zone."""
        return datetime.datetime.fromisoformat(self._line("show", "--no-patch", "--format=%cI", commit))

    def commit(self, paths: Sequence[Path], message: str) -> str:
        """The new commit, holding exactly `paths` as they are on disk; what else is staged stays staged."""
        self.require_can_commit()
        if not paths or all(self.is_clean(path) for path in paths):
            raise UsageError(f"{self.top}: nothing to commit; expected a change in the files named. Change one first.")
        names = [self._relative(path) for path in paths]
        new = [self._relative(path) for path in paths if not self._try("ls-files", "-z", "--", self._relative(path))[1]]
        if new:
            self._output("--literal-pathspecs", "add", "--intent-to-add", "--", *new, refused=UsageError)
        try:
            # Guessing a name from the host's name is switched off: who commits is stated, never invented.
            self._output(
                "--literal-pathspecs", "-c", "user.useConfigOnly=true", "commit", "--quiet", "--only", "-m", message,
                "--", *names, refused=UsageError,
            )  # fmt: skip
        except UsageError:
            if new:
                self._try("--literal-pathspecs", "rm", "--cached", "--quiet", "--force", "--", *new)
            raise
        head = self.head_commit
        assert head is not None, "a commit was just made"
        return head

    @property
    def _is_partial(self) -> bool:
        return self._try("config", "--get-regexp", r"^remote\..*\.promisor$")[0] == 0

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
        for entry in self._output("ls-tree", "-z", "--full-tree", commit, "--", relative).split(b"\0"):
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
        return self._output(*arguments).decode().strip()

    def _output(
        self,
        *arguments: str,
        fine: Sequence[int] = (0,),
        refused: type[CannotTell] | type[UsageError] = CannotTell,
    ) -> bytes:
        status, out, problem = self._try(*arguments)
        if status not in fine:
            said = (problem or out.decode(errors="replace")).strip() or f"status {status}"
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
    return Repository(repo)


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
