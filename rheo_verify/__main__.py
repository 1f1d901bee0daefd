"""`python -m rheo_verify`."""

import sys

from rheo_verify.cli import main

sys.exit(main())
