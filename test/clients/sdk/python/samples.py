"""Runs programs one after the other, given a folder and their names. What GameCreate prints goes to GameCreate.out in there."""

import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path

folder = Path(sys.argv[1])
for name in sys.argv[2:]:
    with (folder / f"{name}.out").open("w") as output, redirect_stdout(output):
        runpy.run_path(str(folder / f"{name}.py"), run_name="__main__")
