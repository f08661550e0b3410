"""Evidence: everything a report rests on, in one bundle, and its verification offline.

What a bundle holds is in :mod:`benchlab.report.evidence.contents`.
"""

from benchlab.report.evidence.contents import make
from benchlab.report.evidence.verification import Difference, Verification
from benchlab.report.evidence.verify import verify

__all__ = ["Difference", "Verification", "make", "verify"]
