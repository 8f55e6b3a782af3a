"""Let the sanitized package on PYTHONPATH win over the editable install.

Python runs this file at start-up because `make sanitize` puts it on PYTHONPATH. An editable
install answers for its package before the path is asked, so its finder is taken out.
"""

import sys

sys.meta_path[:] = [
    finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildRedirectingFinder"
]
