"""A scratch home with a small project in it, in which one guard works."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
PROJECT = {
    "README.md": "# Shop\n\nA small shop.\n",
    "Makefile": "lint:\n\tpython3 -m compileall -q src\nbuild:\n\tmkdir -p build && cp src/app.py build/\n",
    "package.json": '{"name": "shop", "version": "1.0.0", "scripts": {"test": "node --test"}}\n',
    "src/app.py": "def count():\n    return 1\n",
    "tests/test_app.py": "from src.app import count\n\n\ndef test_count():\n    assert count() == 1\n",
    ".gitignore": "build/\n.env\n",
}
LOOSE = {
    "build/app.py": "def count():\n    return 1\n",
    "drafts/letter.txt": "written today, kept nowhere else\n",
    ".env": "DATABASE_URL=postgres://shop:not-a-real-password@db.example.com/shop\n",
}
HOME_FILES = {
    ".ssh/id_ed25519": "a private key would be here\n",
    ".bashrc": "# settings of the shell\n",
    ".claude/settings.json": "{}\n",
}


class Box:
    """The home, the project and the environment of one guard. Both folders are made anew."""

    def __init__(self, folder: Path, path: list[Path]):
        shutil.rmtree(folder, ignore_errors=True)
        self.home = folder / "home"
        self.project = self.home / "shop"
        temporary = folder / "tmp"
        for place in (self.project, temporary):
            place.mkdir(parents=True)
        folders = [*map(str, path), *os.environ.get("PATH", "").split(os.pathsep)]
        self.environment = {
            "PATH": os.pathsep.join(folders),
            "HOME": str(self.home),
            "TMPDIR": str(temporary),
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        self.write(self.home, HOME_FILES)
        self.write(self.project, PROJECT)
        git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com"]
        for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "Begin"]):
            self.run([*git, *command]).check_returncode()
        self.write(self.project, LOOSE)
        with (self.project / "README.md").open("a") as file:
            file.write("\nA change that is not committed.\n")

    @staticmethod
    def write(folder: Path, files: dict[str, str]) -> None:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)

    def run(self, command: list, text: str = "", timeout: float = 300, extra: dict | None = None):
        """Runs a command in the project. Output goes to files, since a resident process may hold a pipe open."""
        with open(self.home.parent / "out", "w+") as out, open(self.home.parent / "err", "w+") as err:
            ended = subprocess.run(
                list(map(str, command)), input=text, text=True, stdout=out, stderr=err, cwd=self.project,
                env={**self.environment, **(extra or {})}, timeout=timeout,
            )
            for file in (out, err):
                file.seek(0)
            return subprocess.CompletedProcess(command, ended.returncode, out.read(), err.read())

    def processes(self) -> dict[int, int]:
        """The processes that the guard left running, with their resident memory in bytes."""
        found = {}
        for process in descendants(os.getpid()):
            try:
                folder = Path(f"/proc/{process}")
                words = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
                pages = int((folder / "statm").read_text().split()[1])
            except (OSError, IndexError):
                continue
            if os.fsencode(self.home) in words:
                found[process] = pages * os.sysconf("SC_PAGE_SIZE")
        return found

    def stop_processes(self) -> None:
        stop(lambda: self.processes())


def adopt_orphans() -> None:
    """Makes this process the parent of each daemon that a guard detaches, so that all can be ended."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("release/compare: the system does not let this process adopt the daemons of guards (PR_SET_CHILD_SUBREAPER)")


def stop_everything() -> None:
    stop(lambda: descendants(os.getpid()))


def stop(find) -> None:
    """Ends processes until none is left: one may start another while it ends."""
    for signal_number in [signal.SIGTERM] * 20 + [signal.SIGKILL] * 20:
        left = list(find())
        if not left:
            return
        for process in left:
            try:
                os.kill(process, signal_number)
            except ProcessLookupError:
                pass
        time.sleep(0.1)
        reap()
    raise RuntimeError(f"processes do not end: {left}")


def reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def descendants(root: int) -> list[int]:
    reap()
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                state, parent = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[:2]
            except OSError:
                continue
            if state != "Z":
                parents[int(entry)] = int(parent)
    found, fresh = [], [root]
    while fresh:
        fresh = [process for process, parent in parents.items() if parent in fresh]
        found += fresh
    return found


def size_of(*places: Path) -> int:
    """Bytes of all files; one with several names counts once."""
    files = {}
    for place in places:
        for path in [place, *place.rglob("*")]:
            if path.is_file() and not path.is_symlink():
                found = path.stat()
                files[(found.st_dev, found.st_ino)] = found.st_size
    return sum(files.values())
