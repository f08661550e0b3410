"""Version comparison: is version B faster or slower than version A, by how much?

One Airflow DAG per report type, that is per file in `configs/reports/`. A run is a campaign and
yields one report. Trigger it as it is, or with other versions, workloads, threads or rounds.

1. **plan** reads the report type and the trigger form and orders the trials.
2. **register** takes the machine; another campaign on it is waited for.
3. **provision** fetches the servers; **prepare** deploys, loads, analyzes and backs up each side.
4. **trials** measures, one at a time: restore, start, wait until ready, warm up, run, collect.
5. **repeat** measures a pair of blocks with an invalid trial again; mostly it is skipped.
6. **validate**, **compare** and **publish** write the report. The log of **compare** has the table
   with the verdicts, the log of **publish** the paths of the files.
7. **release** gives the machine back whatever happened, and ends every process of the campaign.

A red run could not measure something: **verdict** says what. A regression is a finding, not a
failure: its run is green.

A report type that does not validate appears as a DAG `invalid_spec_<name>` that shows the error.
"""

from airflow.sdk import DAG  # noqa: F401 - Airflow reads only files that name it and a dag

from benchlab_airflow import report_dags

for _dag in report_dags.build_all(__doc__):
    globals()[_dag.dag_id] = _dag
