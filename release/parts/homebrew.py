"""The formula for Homebrew on Linux, which installs the archive of the machine's processor."""

import hashlib
from pathlib import Path

from parts.compile import TARGETS
from parts.version import Version

ADDRESS = "https://portcullis.invalid/releases"
"""Of the download. It is to be set here and in the manifests of the programs, once there is one."""
FORMULA = """# typed: strict
# frozen_string_literal: true

# Reviews every action of an AI coding agent.
class Portcullis < Formula
  desc "Reviews every action of an AI coding agent with sandboxed WebAssembly plugins"
  homepage "https://portcullis.invalid/"
  version "{version}"
  license "Apache-2.0"
{archives}
  depends_on :linux

  def install
    bin.install Dir["bin/*"]
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/completions/portcullis"
    zsh_completion.install "share/completions/_portcullis"
    fish_completion.install "share/completions/portcullis.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/portcullis --version")
    system bin/"portcullis", "demo"
  end
end
"""
ARCHIVE = """
  on_{processor} do
    url "{address}/{name}"
    sha256 "{digest}"
  end
"""
PROCESSORS = {"x86_64-unknown-linux-musl": "intel", "aarch64-unknown-linux-musl": "arm"}


def write_formula(version: Version, output: Path) -> None:
    """Names the archives that were built."""
    archives = ""
    for target in TARGETS:
        path = output / f"portcullis-{version.text}-{target.triple}.tar.gz"
        if path.exists():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            archives += ARCHIVE.format(processor=PROCESSORS[target.triple], address=ADDRESS, name=path.name, digest=digest)
    (output / "portcullis.rb").write_text(FORMULA.format(version=version.text, archives=archives))
