"""Evidence: all that a report rests on, in one bundle; and its verification, offline.

A bundle is a ZIP archive with the published report, the campaign's rows, raw outputs, the gates'
definitions and the A/A campaigns that calibrate it (:mod:`benchlab.evidence.contents`). Whoever
has it can compute every figure of the report again.
"""

from benchlab.evidence.contents import make
from benchlab.evidence.signature import key_of_environment
from benchlab.evidence.verification import Difference, Unverified, Verification
from benchlab.evidence.verify import verify

__all__ = ["Difference", "Unverified", "Verification", "key_of_environment", "make", "verify"]
