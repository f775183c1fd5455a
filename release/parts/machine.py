"""Machines for release/try: each is a folder with a system of its own, into which commands change their root."""

import ctypes
import fcntl
import os
import pty
import re
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

COMPILERS = ["cc", "gcc", "clang", "make", "cargo", "rustc"]
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8"}
WITHIN = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && cd "$0" && exec chroot "$0" /bin/sh -euc "cd; $1"'
"""Every system has /proc and /dev; those of this one end with the command."""
NOT_OURS = re.compile(
    r"(dev|files|proc|run|sys"
    r"|tmp/(cc-socks|claude-\d+)"
    r"|var/(cache/(apt|debconf|ldconfig)|lib/(apt|dpkg|rpm)|log/(apt|alternatives\.log|dpkg\.log)))(/|$)"
)
"""What belongs to the system, to its package managers, to Claude Code, or to release/try."""
KEPT_IN_HOME = re.compile(
    r"(root|home/\w+)/(\.cache/uv|\.claude(?!/settings)(\.json[^/]*)?|\.npm|\.rpmdb|\.local/share/uv|letters)(/|$)"
)
"""What clients and installers keep in a home for themselves: `npx` and `uvx` a copy of each package, for example."""

NEW_NETWORK, SET_FLAGS, IS_UP = 0x40000000, 0x8914, 1
"""CLONE_NEWNET, SIOCSIFFLAGS and IFF_UP of Linux."""


class Machine:
    """A system in a folder, in which commands run as a person with a home of their own."""

    def __init__(self, name: str, root: Path, home: str = "/root"):
        self.name, self.root, self.home = name, root, home
        for folder in ("files", home.removeprefix("/")):
            (root / folder).mkdir(parents=True, exist_ok=True)
        compilers = [name for name in COMPILERS for folder in ("usr/bin", "usr/local/bin", "bin") if (root / folder / name).exists()]
        if compilers:
            sys.exit(f"release/try: {name}: this system has {', '.join(compilers)}")
        self.before = self.list_paths()

    @property
    def own_home(self) -> Path:
        """The home as this machine sees it."""
        return self.root / self.home.removeprefix("/")

    def run(self, step: str, command: str, **variables: str) -> None:
        """Runs a command of a shell, and prints how long it took."""
        begun = time.monotonic()
        ended = subprocess.run(self.enter(command), env=self.environment | variables, capture_output=True, text=True)
        self.report(step, begun, ended.returncode, ended.stdout + ended.stderr)

    def run_outside(self, step: str, command: list, code: int = 0) -> None:
        """Runs a command of this machine, which changes the system in the folder."""
        begun = time.monotonic()
        ended = subprocess.run(command, capture_output=True, text=True)
        self.report(step, begun, ended.returncode, ended.stdout + ended.stderr, code)

    def confirm(self, step: str, command: str) -> None:
        """Runs a command at a terminal for a person, who types the word that it asks for."""
        begun = time.monotonic()
        process, ours = pty.fork()
        if process == 0:
            os.execvpe("unshare", self.enter(command), self.environment | {"TERM": "dumb"})
        shown, typed = "", False
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                # How a terminal says that nobody has it open any more.
                break
            if not part:
                break
            shown += part.decode(errors="replace")
            if not typed and (word := re.search(r"Type `(\w+)` to go on", shown)):
                os.write(ours, f"{word[1]}\n".encode())
                typed = True
        os.close(ours)
        self.report(step, begun, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), shown)

    @property
    def environment(self) -> dict[str, str]:
        return ENVIRONMENT | {"HOME": self.home}

    def enter(self, command: str) -> list:
        return ["unshare", "--mount", "/bin/sh", "-c", WITHIN, self.root, command]

    def report(self, step: str, begun: float, code: int, output: str, expected: int = 0) -> None:
        """Prints how long a step took; ends this program if it failed."""
        print(f"{self.name:<10} {step:<50} {time.monotonic() - begun:6.2f} s", flush=True)
        if code != expected:
            self.fail(f"{step}: exit code {code}\n{output}")

    def fail(self, what: str) -> None:
        sys.exit(f"release/try: {self.name}: {what}")

    def list_paths(self) -> set[str]:
        """Lists the files and folders of this system, without what belongs to others."""
        found = set()
        for folder, folders, names in os.walk(self.root):
            found |= {str((Path(folder) / name).relative_to(self.root)) for name in folders + names}
        return {place for place in found if not NOT_OURS.match(place) and not KEPT_IN_HOME.match(place)}

    def list_new(self) -> list[str]:
        """Lists what is there now and was not when this began."""
        return sorted(self.list_paths() - self.before)

    def expect_something(self) -> None:
        """Ends this program if nothing new is found while the programs are installed: then finding nothing later would prove nothing."""
        if not any(place.endswith("/portcullis") for place in self.list_new()):
            self.fail("the installed program is not among what is new here")

    def expect_nothing(self) -> None:
        left = self.list_new()
        if left:
            self.fail(f"{len(left)} files and folders are left: {', '.join(left[:20])}")
        if self.is_guarded():
            self.fail("settings of Claude Code still name portcullis")
        print(f"{self.name:<10} nothing is left", flush=True)

    def is_guarded(self) -> bool:
        """Tells whether settings of Claude Code name this program. The client itself writes into these files too."""
        settings = [*self.own_home.glob(".claude/settings*"), *self.own_home.glob(".claude.json*")]
        return any("portcullis" in path.read_text() for path in settings)


@contextmanager
def leave_network() -> Iterator[None]:
    """Gives this thread, and all that it starts, a network that has the loopback interface alone."""
    system = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as before:
        if system.unshare(NEW_NETWORK) != 0:
            sys.exit(f"release/try: there can be no network without a way out: {os.strerror(ctypes.get_errno())}")
        try:
            with socket.socket() as any_socket:
                fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sH14x", b"lo", IS_UP))
            yield
        finally:
            if system.setns(before.fileno(), NEW_NETWORK) != 0:
                sys.exit(f"release/try: there is no way back to the network: {os.strerror(ctypes.get_errno())}")


def make_debian(name: str, suite: str, kept: Path, folder: Path, packages: tuple[str, ...] = ()) -> Machine:
    """Copies a minimal Debian with these packages and what they need. It is made once, in `kept`."""
    plain = kept / suite
    if not plain.exists():
        half = make_half(plain)
        make_system(name, ["debootstrap", "--variant=minbase", suite, half], os.environ)
        half.rename(plain)
    system = kept / "-".join((suite, *packages))
    if not system.exists():
        half = make_half(system)
        subprocess.run(["cp", "-a", plain, half], check=True)
        install = f"apt-get update -qq; apt-get install -y -qq --no-install-recommends {' '.join(packages)}; apt-get clean; rm -r /var/lib/apt/lists"
        machine = Machine(name, half)
        environment = machine.environment | {"DEBIAN_FRONTEND": "noninteractive"}
        make_system(name, machine.enter(install), environment)
        half.rename(system)
    root = folder / name.replace(" ", "-")
    subprocess.run(["cp", "-a", system, root], check=True)
    return Machine(name, root)


def make_system(name: str, command: list, environment: Mapping[str, str]) -> None:
    """Runs a command that downloads; shows what it said if it fails."""
    ended = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ended.returncode != 0:
        said = "\n".join(ended.stdout.splitlines()[-20:])
        sys.exit(f"release/try: {name}: this system cannot be made: exit code {ended.returncode}\n{said}")


def make_half(whole: Path) -> Path:
    """Returns where a system is made that gets its name once it is whole."""
    half = whole.with_name(f"{whole.name}.half")
    shutil.rmtree(half, ignore_errors=True)
    half.parent.mkdir(parents=True, exist_ok=True)
    return half


def make_bare(name: str, folder: Path, folders: tuple[str, ...] = ()) -> Machine:
    """Makes a system whose only program is a shell that needs no library, with these empty folders."""
    root = folder / name
    for place in ("bin", "root", "tmp", "dev", "proc", *folders):
        (root / place).mkdir(parents=True, exist_ok=True)
    shutil.copy("/bin/busybox", root / "bin/busybox")
    for program in ("sh", "ls", "mkdir", "rm", "cat", "grep"):
        (root / "bin" / program).symlink_to("busybox")
    return Machine(name, root)
