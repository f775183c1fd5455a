import os, subprocess as sp
from shutil import rmtree as rt, copy
from os.path import *
import importlib, sys
getattr(os, "sys" + "tem")("ls")
__import__("os").remove(f"/tmp/{x!r:>10}")
sys.modules["os"].unlink("%s/%s" % ("a", "b"))
importlib.import_module("o" + "s").system("{}{a}".format("l", a="s"))
globals()["os"].rename(*("a", "b"))
os.__dict__["chmod"]("a", 0o644)
exec("import os; os.remove('x')")
r = sp.run
r(["ls", "-l", *args], cwd="/tmp", **{"check": True})
