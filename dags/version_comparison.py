"""Version comparison: is version B faster or slower than version A, by how much?

One Airflow DAG per report type, that is per file in `configs/reports/`. A run is a campaign:

1. **plan** reads the report type and the trigger form and orders the trials.
2. **register** takes the machine; another campaign on it is waited for. **release** gives it
   back whatever happens in between, and ends every process of the campaign.
3. **provision** fetches the servers; **prepare** deploys, loads, analyzes and backs up each side.
4. **trials** measures, one at a time: restore, start, wait until ready, warm up, run, collect.
   A pair of blocks with an invalid trial is measured again in **repeat**.
5. **validate**, **compare** and **publish** write the report; **verdict** makes the run red when
   something could not be measured. A regression is a finding, not a failure: its run is green.

Trigger it with other versions, threads, workloads or rounds in the form. A report type that does
not validate appears as a DAG `invalid_spec_<name>` whose page shows the error.
"""

from airflow.sdk import DAG  # noqa: F401 - Airflow reads only files that name it and a dag

from benchlab_airflow import report_dags

for _dag in report_dags.build_all(__doc__):
    globals()[_dag.dag_id] = _dag
