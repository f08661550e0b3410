"""The tests. A folder is a layer; tests/layers.py runs them one after the other."""
