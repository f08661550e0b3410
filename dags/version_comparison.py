"""Version comparison: is version B faster or slower than version A, by how much?

There is one DAG per report type, that is, per file in `configs/reports/`. A run is a campaign and
yields one report. Trigger it as it is, or with other versions, workloads, threads or rounds.

### What a run does

1. **plan** reads the report type and the trigger form, resolves version rules to versions, and
   orders the trials. A plan that costs more than `budget.limit` is refused. A campaign that would
   spend more stops measuring, publishes what it has, and is red.
2. **approve** exists if hosts are rented. Above `budget.approve_above` dollars it waits, up to
   three days, for a person who sees the estimate: *Required Actions* in the UI. Nothing is rented
   before. If it is rejected or not answered, the run fails and nothing is measured.
3. **register** takes the machine, and waits while another campaign has it.
4. **provision** rents the hosts of a rented fleet and installs what is needed; **prepare** deploys,
   loads, analyzes and backs up each side. For TPC-C, **check** verifies before the snapshot that
   the loaded dataset is consistent; if it is not, the run ends.
5. **trials** measures, one trial at a time: restore, start, wait until ready, warm up, run,
   collect. On a fleet the task is deferred while the client runs, and holds no worker.
6. **repeat** measures pairs of blocks with an invalid trial again; usually it is skipped. For
   TPC-C, **check_consistency** checks each side once more: a database that broke its own
   consistency makes the run red, and the report says so.
7. **validate**, **compare** and **publish** write the report. The log of **compare** has the table
   with the verdicts, the log of **publish** the links of the report.
8. **give_back** gives everything back, whatever happened: it ends every process of the campaign and
   terminates what was rented. To end a campaign, mark its run as failed; **give_back** still runs.
9. **long_view** extends the long view by the campaign and reports change points and drift. It comes
   after **verdict** and changes nothing of the run's state.

If a run is red, something could not be measured or given back: **verdict** and **give_back** say
what. A regression is a finding, not a failure: its run is green.

A report type that does not validate appears as a DAG `invalid_spec_<name>` that shows the error. If
a campaign began by it before, its own DAG stays, without a schedule: nothing new can be started by
it, and a run that is under way gives back what it has.
"""

from airflow.sdk import DAG  # noqa: F401 - Airflow reads only files that name it and a dag

from benchlab_airflow.dags import report_dags

BY_THE_CALENDAR = """
### By the calendar

A report type with a `schedule` runs by itself: on the day of each release in
`configs/releases.csv`, or every week. Its DAG begins paused. Once unpaused, it runs future moments,
and past ones only as far as `schedule.catchup_days` allows (and, if weekly, those of the last ten
minutes). The day of a release counts as future until it ends.

* Version rules (`newest`, `previous`) apply as of the run's logical date, in UTC, or as of
  today if a run has none.
* A backfill measures the past: `benchlab plan REPORT --backfill FROM TO` shows its campaigns with
  hours and dollars, and the command that starts it (`bin/airflow backfill create ...`). The DAG
  has to be unpaused. Creating the same backfill again makes no run that exists already.
* Runs by the calendar are measured one after the other: **plan** waits until all earlier ones of
  this DAG have ended, and any other run of it whose campaign is active, whatever
  `--max-active-runs` says. With `--run-backwards` the earliest of those that Airflow has started
  comes first. If runs need approval, each waits for its own answer. A run that is started by hand
  does not wait, so two fleets may be rented at once.
* A run by the calendar is skipped, and green, if a complete campaign has measured the same plan
  with the same versions and parameters, if its own campaign is complete, if the calendar has no
  release to compare with, or if its moment came while Airflow was not running and was missed by
  more than `schedule.catchup_days` and a day. A scheduled run whose candidate's rule names no
  release fails. The log of **plan** says why, and so does its XCom `no_campaign`. With
  `schedule.measure_again`, or with *Measure again* in the form of a backfill
  (`--dag-run-conf '{"measure_again": true}'`), pairs are measured again. A run that is started by
  hand is never skipped, and an A/A campaign is never skipped because of an earlier one.
"""

ON_EC2 = """
### Five steps to your AWS account

1. Make a user or role with `docs/iam-policy.json` and, in Airflow, the Connection `benchlab_aws`
   (type *Amazon Web Services*) with its keys. Without it the machine's own are taken: environment,
   profile, instance role.
2. Write your own `configs/topologies/<name>.yaml` after `ec2_published.yaml`: region, subnets,
   image and user, and where Airflow's workers are on several machines the range of their addresses
   as `ssh_from`.
3. In `configs/reports/sysbench_ec2.yaml` name the topology, the versions, and your `budget`.
   `benchlab plan sysbench_ec2` needs no account and shows hours, dollars and vCPUs. The published
   fleet has 144 vCPUs: the quota *Running On-Demand Standard instances* has to allow them, which
   **register** checks before anything is rented.
4. Unpause `reap_expired_fleets`, then unpause and trigger `sysbench_ec2`. Unpaused, it also runs by
   its schedule; leave `schedule` out of the report type where it should not.
5. Approve it. When the run has ended, the log of **give_back** says what was given back, and
   `benchlab reap --dry-run` finds nothing that is past its time.

**What it costs**: hours times list prices (`configs/prices.csv`, each with its day; `benchlab
prices update` asks AWS for today's), without traffic to the internet and S3.

**What can be left over**: nothing for longer than twice the planned time and two hours after the
start. By then each host has shut itself down, which terminates it, even if Airflow is gone; and
`reap_expired_fleets` has ended whatever carries the tags of an expired campaign.

**What is deleted, and when**: in **give_back** the instances with their disks, and so the loaded
data and the snapshots on them, the key pair and the security group. Results, raw outputs and
reports are not on the fleet and stay; so do dataset snapshots on S3.
"""

ON_TIDB_CLOUD = """
### On TiDB Cloud

**plan** does not call TiDB Cloud. **register** lets the API check the request, **provision** makes
the cluster and waits for it, which takes half an hour; **give_back** deletes it and waits until it
is gone. If the topology's `client` is a host to be rented on EC2, that is rented first, and given
back as well.

**What it costs**: hours times the topology's `usd_per_hour`, which you copy from TiDB Cloud's
console, and the list price of a rented client. Without the former nothing is made.

**What can be left over**: nothing for longer than twice the planned time and two hours after the
start, as long as `reap_expired_fleets` is unpaused: the cluster's name says when it expires.

`docs/guide/tidb-cloud.md` has the Connection `tidb_cloud`, with API key and CA certificate.
"""

ON_TARGET = {"ec2": ON_EC2, "tidb_cloud": ON_TIDB_CLOUD}
for _dag in report_dags.build_all(__doc__, ON_TARGET, by_the_calendar=BY_THE_CALENDAR):
    globals()[_dag.dag_id] = _dag
