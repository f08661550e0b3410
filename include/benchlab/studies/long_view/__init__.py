"""The performance of a workload over the versions, from chained campaigns."""
