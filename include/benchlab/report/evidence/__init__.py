"""Evidence bundles: everything a report's figures rest on, and their verification offline.

:mod:`benchlab.report.evidence.contents` lists what a bundle contains.

>>> verify(Path("reports/c1/evidence.zip")).outcome
'holds'
"""

from benchlab.report.evidence.contents import make
from benchlab.report.evidence.verification import Difference, Verification
from benchlab.report.evidence.verify import verify

__all__ = ["Difference", "Verification", "make", "verify"]
