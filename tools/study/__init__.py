"""What the decision rule promises, simulated: ``python -m tools.study``, or ``make study``."""
