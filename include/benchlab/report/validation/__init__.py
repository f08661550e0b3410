"""Validates what is about to be published: tables of it, against plan and store.

A wrong sign, unit or join of Benchlab's own is seen by no gate. Here every figure is computed a
second time from the trials' rows, and Great Expectations compares the tables.
"""
