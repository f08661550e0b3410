"""The simulation study of the decision rule: ``python -m tests.study``, or ``make study``."""
