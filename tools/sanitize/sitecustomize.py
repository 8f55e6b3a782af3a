"""Import the sanitized package on PYTHONPATH instead of the editable install.

Python runs this file at start-up because `make sanitize` puts it on PYTHONPATH. The finder of an
editable install has priority over the path, so it is removed.
"""

import sys

sys.meta_path[:] = [
    finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildRedirectingFinder"
]
