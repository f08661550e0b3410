"""Gates that are no column between bounds. A module in this package is one, found by presence.

Such a module judges all rows of a table at once, in the stage ``validate``; a trial's own task
knows its own row only, and so nothing of these gates makes a trial measured again. It has:

``ID``, ``SENTENCE``
    As in ``configs/quality``; the sentence says what holds when it passes.
``KIND``, ``TABLE``
    ``validity`` or ``symptom``; ``trials`` or ``cells``.
``UNSTABLE_FROM``
    Of a symptom, as in ``configs/quality``; None otherwise.
``passes(rows) -> list of bool or None``
    An answer for each row, in their order; None: not evaluated. A row is a mapping: of a trial
    its columns and ``trial``, ``attempt``, ``planned`` (it is in the plan) and ``used`` (its
    figures are those of the report).
"""
