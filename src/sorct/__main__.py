"""``python -m sorct``: the command line."""

import sys

from sorct.cli import main

if __name__ == "__main__":
    sys.exit(main())
