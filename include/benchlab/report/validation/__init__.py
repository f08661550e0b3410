"""Validates a report before it is published, against plan and store.

No gate detects a wrong sign, unit or join in Benchlab's own code. Here every figure is computed a
second time from the trials' rows, and Great Expectations compares the results.
"""
