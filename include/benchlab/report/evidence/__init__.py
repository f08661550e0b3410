"""Evidence: everything a report rests on, in one bundle, and its verification offline.

A bundle is a ZIP archive with the published report, the campaign's rows, raw outputs, the gates'
definitions and the A/A campaigns that calibrate it (:mod:`benchlab.report.evidence.contents`).
Every figure of the report can be recomputed from it.
"""

from benchlab.report.evidence.contents import make
from benchlab.report.evidence.verification import Difference, Unverified, Verification
from benchlab.report.evidence.verify import verify

__all__ = ["Difference", "Unverified", "Verification", "make", "verify"]
