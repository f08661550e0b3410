"""Why a workload changed, as far as the servers' counts can tell."""
