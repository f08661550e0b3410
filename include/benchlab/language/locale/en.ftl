### What reports say, in English.

## Sides

side-baseline = baseline
side-candidate = candidate

## Why a verdict is what it is

reason-rounds = { $rounds ->
    [one] 1 complete round is too few: at least three are needed to distinguish a change from noise
   *[other] { $rounds } complete rounds are too few: at least three are needed to distinguish a change from noise
}
reason-small = the sides differ (adjusted p { $p }), but the estimate is below { $limit }% and the 90% interval extends beyond it
reason-certain = the candidate is { $how ->
    [faster] faster
    [slower] slower
    [cheaper] cheaper
    [dearer] dearer
    [better] better
   *[worse] worse
} for certain (adjusted p { $p }), by less than { $limit }%
reason-the-same = both sides take the same in every trial: { $after }
reason-by-construction = the sides differ by construction: { $before } in every trial of one side, { $after } of the other
reason-none-on-one-side = one side takes none in any trial, the other about { $some } in each
reason-holm = taken alone the interval excludes zero, but not after correcting for all that the report tests (adjusted p { $p })
reason-coarse = the figures are printed too coarsely to show or rule out a change of { $limit }%
reason-noise = the rounds vary too much to show or rule out a change of { $limit }%
reason-undecidable = this plan cannot decide: the figures vary too much to show or rule out a change of { $limit }%; { $unit ->
    [none] more rounds would not help, because the variation between servers is assumed, not measured
   *[other] { $most ->
        [yes] more than { $count }
       *[no] about { $count }
    } { $unit ->
        [rounds] rounds would be needed
       *[deployments] deployments per side would be needed
    }
}
reason-winners-curse = the true change is probably smaller than this estimate (winner's curse): the interval extends below { $limit }%
reason-before-look = { $done } of { $planned } deployments are complete, and the first look is after { $first }
reason-not-yet = it was not decided after { $done } of { $planned } deployments
reason-looked = { $done } of { $planned } deployments decided it, and its size decided when to end: allowing for that, the change is { $change }%
reason-nothing-seen = nothing new was seen; { $chances }
watch-chances = a loss of { $large }% is detected by the campaign in which it begins with a chance of at least { $now }%, and by the next one with { $soon }%; a loss of { $small }% within { $weeks } campaigns with { $later }%
reason-flagged = it was flagged ({ $change }% over { $weeks ->
    [one] 1 campaign
   *[other] { $weeks } campaigns
}), but { $why ->
    [missing] no fresh deployment has a valid figure
   *[budget] not measured again, because the budget did not suffice
}
reason-confirmed = it was flagged ({ $change }% over { $weeks ->
    [one] 1 campaign
   *[other] { $weeks } campaigns
}) and confirmed on { $deployments } fresh deployments, on which the figure rests; until another build shows it as well, it is a change in this build
reason-confirmed-beside = it was measured on { $deployments } fresh deployments, on which the figure rests, because another figure of this workload was flagged; until another build shows it as well, it is a change in this build
reason-not-confirmed = it was flagged ({ $change }% over { $weeks ->
    [one] 1 campaign
   *[other] { $weeks } campaigns
}), and { $deployments } fresh deployments, on which the figure rests, do not confirm it{ $goes_on ->
    [yes] {" "}nor refute it: they are further evidence
   *[no] {""}
}
reason-known = { $lasts ->
    [yes] a change that was confirmed in { $build }, and that later builds show as well, is known
   *[no] a change that was confirmed in { $build }, and that no other build has shown yet, is known
}: { $change }% against the anchor, from which the estimate is counted
reason-quieter = the rounds or deployments vary more than those of the campaigns before (variance { $times } times as large), so the variation that those show is scaled up accordingly
reason-threads-absent = { $threads } threads excluded: at least half the rounds have no result on one side
reason-lost-one-side = { $count ->
    [one] 1 trial has no valid result, only on the { $side } side
   *[other] { $count } trials have no valid result, only on the { $side } side
}
reason-lost = { $count } trials have no valid result ({ $baseline } on the baseline side, { $candidate } on the candidate side)
reason-lost-beside-one-side = { $count ->
    [one] 1 trial has no { $metric }, only on the { $side } side
   *[other] { $count } trials have no { $metric }, only on the { $side } side
}
reason-lost-beside = { $count } trials have no { $metric } ({ $baseline } on the baseline side, { $candidate } on the candidate side)
reason-left-out = { $count ->
    [one] 1 trial is left out: gate { $gate } failed (expected: { $sentence })
   *[other] { $count } trials are left out: gate { $gate } failed (expected: { $sentence })
}
reason-again = its block was measured again
reason-cut = its block was cut by an interruption
diagnosis-foreign = Servers that Benchlab did not deploy are not diagnosed
diagnosis-stopped = Nothing was diagnosed, as measuring had stopped
diagnosis-gone = Nothing was diagnosed, as the sides were no longer deployed
diagnosis-late = { $workload }: { $kind } are missing or incomplete, as diagnosis takes at most a quarter of the planned time
diagnosis-dear = { $workload }: { $kind } are missing or incomplete, as the budget did not pay for more trials
diagnosis-ended = { $kind }: { $said }. It may have ended because it was looked at, so servers of its kind are not looked at in this way again
look-statements = statements and plans
look-cpu = CPU profiles
look-allocations = allocation profiles
reason-not-executed = not executed in { $tries } tries: { $why }
reason-host-lost = { $host } was lost during it: { $why }
reason-invalid = gate { $gate } failed: found { $found }, allowed { $bounds } ({ $sentence })
no-number = no number
ended-server = { $server } on { $host } { $how }; the last lines of its log: { $log }
ended-again = ended at { $at } and was started again by systemd at { $again }
ended-waiting = ended at { $at }; systemd had not restarted it yet when asked
ended-stays = ended at { $at }, and systemd does not start it again
ended-unseen = did not answer or was restarted, but systemd on its host has no record that it ended
ended-host-silent = does not answer, and neither does its host ({ $why })
ended-code = ended with exit code { $code }
ended-signal = was ended by signal { $signal }
ended-unknown = ended with an unknown exit code
ended-no-log = none could be read
ended-in-stage = { $phase } ({ $side }): { $said }
bounds-most = at most { $most }
bounds-least = at least { $least }
bounds-both = { $least } to { $most }
bounds-unknown = unknown
reason-unsound = on the { $side } side { $why }
reason-after-last-trial = after the last trial { $fault }
condition-fault = { $violations ->
    [one] condition { $clause } of TPC-C does not hold: { $sentence } (1 violation)
   *[other] condition { $clause } of TPC-C does not hold: { $sentence } ({ $violations } violations)
}
reason-symptom = symptom { $gate } appears { $where } (expected: { $sentence })
reason-errors = the client saw errors { $where }
reason-gate = the gate { $gate } failed (expected: { $sentence })
reason-rejected = across all workloads and attempts, { $count } trials failed validity gates on the { $side } side against { $against } on the other (p { $p }), { $own } of them in this workload; { $bounds }
reason-rejected-change = validity gates failed more often on the { $side } side, in { $count ->
    [one] 1 trial
   *[other] { $count } trials
}{ $times ->
    [none] {""}
   *[other] , which could hide a change of { $times } times the threshold
}, so this is not called equivalent; { $bounds }
rejected-bounds = throughput changes by { $rejected }% with the rejected figures and by { $without }% without them
rejected-unbounded = the rejected trials have no figures, so their effect cannot be bounded
reason-headroom = client or load balancer used { $share }% of the CPU available to them at { $threads } threads on the { $side } side: a saturated client hides what the servers can do
reason-plateau = throughput at { $threads } threads is at most 5% above that at { $fewer } on both sides, and the client's CPU is unknown: a saturated client would look the same
reason-never-both = no round has a result on both sides
reason-one-side-twice = in { $rounds } of { $of } rounds both sides have the same figures to the last digit: those of one were probably pasted in place of the other's
reason-rounds-twice = the figures of these rounds are those of earlier rounds to the last digit, so they were probably pasted twice: { $rounds }
reason-moved = at { $threads } threads throughput changed by { $change }%, unlike at the others: equal on average is not equal
where-trials-only = { $count ->
    [one] only on the { $side } side, in 1 trial
   *[other] only on the { $side } side, in { $count } trials
}
where-trials-more = much more often on the { $side } side, in { $count } trials against { $against }
where-cells-only = { $count ->
    [one] only on the { $side } side, at 1 thread count
   *[other] only on the { $side } side, at { $count } thread counts
}
where-cells-more = much more often on the { $side } side, at { $count } thread counts against { $against }
where-errors-only = { $count ->
    [one] only on the { $side } side, 1 error
   *[other] only on the { $side } side, { $count } errors
}
where-errors-more = much more often on the { $side } side, { $count } errors against { $against }

## Joints between texts

between-sentences = { " " }
separator-items = { ", " }
separator-clauses = { "; " }
at = { $where }: { $what }
clauses = { $first }; { $more }
and-more = { $shown } and { $more } more
of-each-side = baseline: { $baseline }, candidate: { $candidate }
of-both-sides = { $value } (both sides)
time-pattern = yyyy-MM-dd HH:mm:ss 'UTC'
campaign-page = The campaign's page, with every trial
also-in = Also in: { $pages }
recorded-texts = Output of servers, hosts, trials and report types is quoted in English, as recorded.

## Title and overview

title = { $system } Performance Test Report – { $candidate } vs. { $baseline }
title-aa = { $system } Performance Test Report – { $version } against itself (A/A)
label-apart = { $version } ({ $apart })
label-slowdown = slowed down by { $limit } on purpose
measured-how = { $client ->
    [none] { "" }
   *[other] { " " }with { $client }
}{ $where ->
    [machine] { "" }
    [rented] { " " }on { $hosts } EC2 hosts
   *[owned] { " " }on { $hosts } hosts
}
subject = { $engine } { $candidate } (candidate) was measured{ measured-how } against { $baseline } (baseline): how much does throughput change, and can the figure be trusted?
subject-aa = Both sides are { $engine } { $version }, deployed and loaded twice: an A/A campaign{ measured-how }, which measures noise and says nothing about any other version.
subject-slowdown = { $engine } { $candidate } (candidate), slowed down by { $limit } on purpose, was measured{ measured-how } against { $baseline } (baseline), to see whether Benchlab finds a slowdown of that size. The verdicts say nothing about the candidate's version.

## The two opening sentences

opening = { $said }.
opening-so-far = So far: { $said }
opening-side = { $side } is { $does }
opening-at = { $workload } ({ $change })
opening-improvement = faster at { $each }
opening-regression = slower at { $each }
opening-shorter = faster by { $latency } at { $each }
opening-longer = slower by { $latency } at { $each }
opening-cheaper = cheaper per transaction: { $each }
opening-dearer = dearer per transaction: { $each }
opening-equivalent = { $aa ->
    [yes] both sides are equivalent at { $each }
   *[no] equivalent at { $each }
}
opening-unstable = nothing is concluded about { $each } ({ verdict-unstable })
opening-undecided = no answer for { of-undecided }
opening-beside = no answer for the throughput of { $each }
opening-beside-watch = no change of the throughput was seen at { $each }
opening-undecided-watch = no change was seen at { of-undecided }
of-undecided = { $which ->
    [one] { $workload }
    [all] the { opening-count } workloads
   *[others] the other { opening-count }
}
opening-count = { $count ->
    [2] two
    [3] three
    [4] four
    [5] five
    [6] six
    [7] seven
    [8] eight
    [9] nine
   *[other] { $count }
}
opening-known = known before, and not counted again: { $each } against { $baseline }
opening-one-version = { $side } reaches { $each }; it was measured alone, so there is no verdict
opening-highest = { $highest } { $metric } at { $workload } ({ $threads } threads)
opening-canary = Canary: the slowdown of { $limit } on purpose was { $found ->
    [yes] found: { $workload } { $change }
   *[no] missed: { $workload } { $change }, { $verdict }
}
opening-aa = A/A campaign of { $version }: { $count ->
    [0] no false alarm
    [one] 1 false alarm, { $each }
   *[other] { $count } false alarms, { $each }
}
trust = { $trials }; { $setting }: { $reach }.
trust-alone = { $trials }; { $setting }.
trust-trials = { $used } of { $planned } trials valid{ $again ->
    [0] {""}
   *[other] , { $again } measured again
}{ $ended ->
    [live] {" "}so far, with more to come
    [stopped] , and measuring stopped early
   *[yes] {""}
}
trust-machine = { $cores ->
    [none] one shared machine
    [1] 1 shared core
   *[other] { $cores } shared cores
}
trust-seconds = trials of { $seconds } s
trust-slowdown = candidate slowed down by { $limit } on purpose
trust-sequential = one side measured after the other
trust-two-campaigns = two campaigns at different times
trust-prior = variation between deployments assumed
trust-deployments = { $deployments } deployments per side
trust-aa-campaigns = variation between deployments from { $campaigns } A/A campaigns{ and-earlier }
trust-earlier-campaigns = variation between deployments from { $earlier } earlier campaigns
trust-weeks = variation between deployments from the campaigns before
trust-few-rounds = fewer than three rounds cannot distinguish a change from noise
trust-reach-none = even half or twice as much can be noise
trust-reach = changes of up to { $each ->
    [yes] { $least } (or { $most }, depending on the workload)
   *[no] { $most }
} can be noise

## The answer

about-cores = { $cores ->
    [1] 1 core
   *[other] { $cores } cores
}
about-hosts = { $hosts } { $rented ->
    [yes] EC2 hosts
   *[no] hosts
}
about-separator = { " · " }
taken-of-load = not decided: it depends on the load
answer-dearer = { $count } dearer
answer-cheaper = { $count } cheaper
change-dearer-none = from none
change-cheaper-none = to none
answer-regression = { $count ->
    [one] 1 regression
   *[other] { $count } regressions
}
answer-improvement = { $count ->
    [one] 1 improvement
   *[other] { $count } improvements
}
answer-false-alarm = { $count ->
    [one] 1 false alarm
   *[other] { $count } false alarms
}
answer-unstable = { $count } unstable
answer-inconclusive = { $count } inconclusive
answer-inconclusive-watch = { $count } without a change seen
answer-equivalent = { $count } equivalent
answer-named = { $count } ({ $each })
answer-change = { $workload } { $change }
answer-nothing = No workload was measured
answer-more = { $more ->
    [one] 1 more row is
   *[other] { $more } more rows are
} on the campaign's page.
answer-later = Known only later: with the { $campaigns ->
    [one] A/A campaign
   *[other] { $campaigns } A/A campaigns
} that ended after this campaign, the answer would be: { $answer }
answer-page = The campaign's page
answer-reasons = Why, and how far to trust it
and-earlier = { $earlier ->
    [0] {""}
   *[other] {" "}and { $earlier } earlier ones
}

## Verdicts

verdict-dearer = dearer
verdict-cheaper = cheaper
verdict-regression = regression
verdict-improvement = improvement
verdict-equivalent = equivalent
verdict-inconclusive = inconclusive
verdict-inconclusive-watch = nothing seen
verdict-unstable = unstable
verdict-false-alarm = { $verdict } (false alarm)
false-alarm = Both sides are the same version, so this is a false alarm.
estimate-alone = estimate { $estimate }
estimate-without-interval = estimate { $estimate } without an interval
estimate-with-interval = estimate { $estimate } (95% interval { $interval })
interval-told = 95% interval { $interval }, adjusted p { $p }
arithmetic-sentence = Arithmetic mean of the per-thread percentages { $mean }.
outcome-change = { $verdict ->
    [improvement] The { $workload } { $metric } of { $candidate } is improved by { $size } against { $baseline } ({ $told }).
   *[regression] The { $workload } { $metric } of { $candidate } is reduced by { $size } against { $baseline } ({ $told }).
}
outcome-at-rate = { $workload }: both sides were sent the same { $rate } transactions a second.
outcome-equivalent = The { $workload } { $metric } of { $candidate } and { $baseline } is equivalent: the 90% interval of the change lies within ±{ $limit }; { $figures }.
outcome-unstable = { $workload } is unstable, so no conclusion is drawn: { $because }; { $figures }.
outcome-inconclusive = { $workload } is inconclusive. No change of { $limit } or more was shown, and none was ruled out ({ $because }); { $figures }.
outcome-inconclusive-watch = { $workload }: no change of { $limit } or more was seen ({ $because }); { $figures }.
note = Note: { $because }.
note-label = Note:
reach = any change between { $low } and { $high } is within the noise
reach-none = even half or twice as much would be within the noise
reach-of-several = taken alone, this workload's estimate is outside the noise ({ $low } to { $high }), but not after correcting for all that the report tests
why-sequential = the sides were measured one after the other, so drift of the hosts cannot be distinguished from a change of the version
rounds-used = The estimate uses the { $used } of { $rounds } rounds that are complete; each row of the table uses the rounds in which both sides have a valid trial for it.
rounds-used-watch = The estimate uses { $used } rounds, each on a deployment of its own; each row of the table uses all rounds in which both sides have a valid trial for it.
latency-unknown = { $reasons ->
    [0] The { $workload } { $latency }: estimate { $missing }.
   *[other] The { $workload } { $latency }: estimate { $missing }: { $because }.
}
latency-change = { $verdict ->
    [improvement] The { $workload } { $latency } of { $candidate } is shorter by { $size } than that of { $baseline } ({ verdict-improvement }; { $told }).
   *[regression] The { $workload } { $latency } of { $candidate } is longer by { $size } than that of { $baseline } ({ verdict-regression }; { $told }).
}
latency-otherwise = { $reasons ->
    [0] The { $workload } { $latency } is { $verdict } (estimate { $estimate }, { $told }).
   *[other] The { $workload } { $latency } is { $verdict } (estimate { $estimate }, { $told }): { $because }.
}
latency-otherwise-watch = { $reasons ->
    [0] The { $workload } { $latency }: { $verdict } (estimate { $estimate }, { $told }).
   *[other] The { $workload } { $latency }: { $verdict } (estimate { $estimate }, { $told }): { $because }.
}
latency-in-short = { $latency }: { $verdict }, { $estimate }
latency-in-short-unknown = { $latency }: { $missing }
moved = At { $threads } threads, throughput changed by { $change }, { $against } relative to the other thread counts; the mean over all of them does not show it.

## Scope

basis-of-intervals = { $which ->
    [all] The intervals are
   *[some] The intervals of { $workloads } are
} valid for the versions, not only for this deployment
basis-deployments = { basis-of-intervals }: each side was deployed and loaded { $deployments } times, and the intervals include deployment-to-deployment variation.
basis-aa-campaigns = { basis-of-intervals }: deployment-to-deployment variation was measured in { $campaigns } A/A campaigns{ and-earlier } of this report type, and the intervals include it.
basis-earlier-campaigns = { basis-of-intervals }: deployment-to-deployment variation was measured in the deployments of { $earlier } earlier campaigns of this report type, and the intervals include it.
basis-weeks = Every campaign of this report type compares a build with the same anchor, in few deployments. What several campaigns show together is flagged and measured again on fresh deployments; only what these confirm is reported. How much deployments and campaigns vary was learned from the campaigns before, and the intervals include it.
basis-prior = { basis-of-intervals }: { $again ->
    [no] the variation between servers of one version has not been measured, and ±{ $side } a side is assumed. These servers are not deployed again, so neither several deployments nor A/A campaigns can replace the assumption. To see how large a difference is without a change, compare two campaigns of one version.
    [again] each side was deployed and loaded again in the middle of the campaign, and little or nothing is known about deployment-to-deployment variation, so ±{ $side } a side is assumed (A/A campaigns so far: { $campaigns }). Several deployments, or A/A campaigns of this report type, replace the assumption and usually narrow the intervals.
   *[yes] each side was deployed and loaded once, and little or nothing is known about deployment-to-deployment variation, so ±{ $side } a side is assumed (A/A campaigns so far: { $campaigns }). Several deployments, or A/A campaigns of this report type, replace the assumption and usually narrow the intervals.
}
calibration-age = { $days ->
    [0] The newest A/A campaign is from the same day.
    [one] The newest A/A campaign is 1 day away from this one.
   *[other] The newest A/A campaign is { $days } days away from this one.
}
rounds-alone-each = { $workload } { $interval }
rounds-alone = { $deployments ->
    [one] The rounds of this deployment alone, which say nothing about the next one, give
   *[other] The rounds of these deployments alone, which say nothing about the next one, give
} these 95% intervals: { $each }.
scope-two-campaigns = These are two campaigns measured at different times, { $before } and { $after }, with nothing interleaved: whatever else changed in between, on the servers, their hosts or the network, is part of the difference, and no interval allows for it.
scope-sequential = Whatever else changed between measuring the two sides is part of their difference: all of the baseline was measured before the candidate.
scope-few-rounds = Fewer than three rounds cannot distinguish a change from noise, so every verdict is inconclusive or unstable.

## Clients

client-made = These figures were measured with { $client }. Figures of different clients must not be compared.
client-unknown = a client that is not recorded ({ $missing })
client-tpmc = tpmC is the number of New Order transactions per minute, measured without TPC-C's keying and think times and without an audit: it compares the two sides and is not a TPC result.
client-qpm = QPM is the number of queries per minute that these threads complete at the mean latency. go-tpc counts latencies in steps of 67 ms, which the intervals include. A single query without an audit is not a TPC result.
details = Further figures at each thread count: geometric means over the rounds.
details-go-tpc = go-tpc's percentiles are coarse: it counts latencies in steps of 0.5 ms up to 17 ms, in steps of 3% to 6% above that, and none above 16 s.

## Result quality

trials-counted = Trials: { $planned } planned, { $executed } executed, { $used } used.
repeats-none = Blocks measured again: none.
repeats = Blocks measured again ({ $count }): { $each }.
repeats-many = Blocks measured again ({ $count }): { $each }. The reasons are listed under Excluded trials.
repeats-of = { $workload } { $count }
repeat = { $workload } in round { $round }, measured { $attempts } times
repeat-because = { repeat } ({ $because })
servers-ended = Servers that ended unexpectedly during, or just before, a stage that prepares or checks the data ({ $count }): { $each }. Each stage continued because its own checks passed; its time is not used for later estimates.
missing-none = Planned trials without a valid result: none.
missing-trials = Planned trials without a valid result ({ $count }): { $trials }.
stopped-by-limit = Measuring stopped early: with another trial the hosts would have cost more than the budget's limit of ${ $limit }.
stopped-by-lost = Measuring stopped early: hosts were lost and could not be replaced.
stopped-by-deployment = Measuring stopped early: the sides could not be deployed again.
stopped-by-changed = Measuring stopped early: a server was upgraded during the campaign, and later trials would have measured another version.
stopped-by-lifetime = Measuring stopped early: the hosts were not rented for long enough for another trial.
trials-reporting = { $trials ->
    [one] in 1 trial that reports them
   *[other] in { $trials } trials that report them
}
errors-unknown = Errors ignored by the client: { $missing }, no trial reports them.
errors-none = Errors ignored by the client: none { trials-reporting }.
errors-counted = Errors ignored by the client: { $total } { trials-reporting } ({ $each }).
reconnects-unknown = Reconnects of the client: { $missing }, no trial reports them.
reconnects-none = Reconnects of the client: none { trials-reporting }.
reconnects-counted = Reconnects of the client: { $total } { trials-reporting } ({ $each }).
rounds-used-each = Rounds used, of { $rounds }: { $each }.
rounds-used-each-watch = Rounds that the estimates use: { $each }.
gates-counted = { $passed } passed, { $failed } failed, { $unseen } never evaluated
gates-none = No gate was evaluated.
gates-validity = Validity gates, over all executed trials ({ $counted }); a trial that fails one is not used.
validation-holds = { $count } expectations of { $tables } tables hold for this report.
validation-failed = { $failed } of { $count } expectations of { $tables } tables do not hold: this report is a draft.
validation-about = Before it was published, Great Expectations compared what this report says with the plan, the store, and figures that were computed a second time from the trials.
validation-failure = table { $table }, row { $row }, column { $column }: { $found } found, { $expected } expected
gates-unseen-work = background_work was never evaluated: { $engine ->
    [tidb] TiDB does not show this account the DDL of every schema (that takes PROCESS, and SELECT on mysql.analyze_jobs), or shows it to nobody (before v6.1)
   *[other] on MariaDB and MySQL that somebody else runs, Benchlab does not count ANALYZE, DDL and backups of others
}. Whether any ran during a trial is unknown.
gates-symptom = Symptom gates, over all executed trials, each side's thread counts, or the workloads of the whole campaign ({ $counted }); the candidate may be the cause, so no trial is excluded.
symptom = Symptom { $gate } (expected: { $sentence }): { $places }.
symptom-places = { $count } on the { $side } side ({ $places })
excluded-summary = Executed trials whose figures are not used: { $count }
quality-cell = { $workload } at { $threads }

## Variables and parameters

variables-unknown = Effective variables: { $missing }; whether the sides differ in more than was requested is unknown.
variables-found = Effective settings that both sides have: { $compared }. Different although not requested (usually changed defaults): { $changed }. Only on the baseline: { $baseline }; only on the candidate: { $candidate }. Excluded, because they differ between any two servers (version, ports, paths, identity): { $trivial }.
variables-changed = With another value on each side: { $count }
variables-only = Only on { $side }: { $count }
variables-asked-alike = Set to the same value on both sides, yet different in effect: { $names }.
parameters-none = No parameters are set for { $baseline } and { $candidate }: their defaults apply.
parameters-same = The same parameters are set for { $baseline } and { $candidate }.
parameters-different = Different parameters are set for { $baseline } and { $candidate }, as listed.
parameters-not-set = These parameters were requested but not set: only TiDB Cloud's support can change them. All workloads ran with TiDB Cloud's own.
parameters-defaults = { $whose ->
    [others] None: the servers are measured as they are configured.
   *[ours] None: the defaults apply.
}
parameters-items = { $service } parameter configuration
parameters-variables = TiDB global variable configuration
parameters-of-side = { $heading }, only the { $side } ({ $version })
parameters-of-workload = { $heading }, while { $workload } is measured
value-cut = { $value }… ({ $length } characters)

## Where it was measured

environment = Test environment
environment-ec2 = Test environment (AWS EC2)
shared-machine = { $balancer ->
    [none] Client and server share
   *[haproxy] Client, load balancer and server share
} one machine (cores: { $cores }): the figures compare the two sides with each other, and with nothing measured elsewhere.
haproxy-settings = HAProxy was configured as the report type says: { $settings }.
note-cloud = TiDB Cloud chose the version and the configuration and operates the cluster: Benchlab does not see its hosts and has no figures of them. A restore reloads the tables, with the same number of rows but different values.
note-existing = Somebody else runs the servers: Benchlab does not see background load on them or on their hosts, and has no figures of these hosts; cores, memory and system in this report are those of the client's host. A restore reloads the tables, with the same number of rows but different values.
engine-chosen = Engine { $engine }: { $reason }.
fleet-same-hosts = The clusters of both sides are deployed on the same hosts and run one at a time, so no difference between hosts can explain a difference between the sides.
fleet-client-host = its host
fleet-entry = The client connects to HAProxy on its own host ({ $host }, port { $port }), { $others ->
    [none] where nothing else runs
   *[other] which also runs { $others }: client and servers compete for it
}. HAProxy passes the connections on to { $servers ->
    [0] the one TiDB server
    [one] the one TiDB server
   *[other] the { $servers } TiDB servers
} in turn (roundrobin).
fleet-entry-direct = The client on its own host ({ $host }), { $others ->
    [none] where nothing else runs
   *[other] which also runs { $others }: client and servers compete for it
}, connects to { $to ->
    [endpoint] the endpoint of TiDB Cloud.
   *[server] the one TiDB server; there is no load balancer.
}
fleet-sequential = Placement is sequential: all of the baseline was measured before the candidate. Anything that changed on the hosts or in the cloud in the meantime is part of the difference between the sides, and no interval allows for it.
fleet-restored-dataset = The dataset was restored from a dataset snapshot on both sides. It has the rows that were loaded once, but a restore writes them to disk in order and without the traces of loading: throughput may differ from that of a campaign that loads its dataset.
published-document = This report measures the plan of “{ $document }” again. The document's figures come from other hosts and another time: its changes can be compared with those in this report, its throughputs cannot.
published-differences = Differences from the document, besides what was chosen when the campaign was started:
published-tool = { $version } (the published document: { $published })
machine-hostname = hostname
machine-os = os
machine-kernel = kernel
machine-cpu = cpu
machine-cores = cores
machine-memory = memory
machine-disk = disk
machine-filesystem = filesystem
tool-client = client
tool-tiup-script = TiUP's install script
tool-tiup-mirror = TiUP's mirror

## Test plan

step-cloud = Create a TiDB Cloud Dedicated cluster for the campaign, with { $engine } { $versions }, and delete it at the end.
step-existing = Measure { $engine } { $versions } where it is: nothing is deployed, configured, stopped or restarted, and one schema is created and dropped.
step-deploy = { $candidate ->
    [same] Deploy { $engine } { $baseline } (baseline) and the same once more (candidate)
   *[other] Deploy { $engine } { $baseline } (baseline) and { $candidate } (candidate)
} { $where ->
    [tiup] with TiUP on the same hosts, each as a cluster with its own directories and ports
    [fleet] on the same hosts, each as a cluster with its own directories and ports
   *[machine] side by side, each with its own data directory, on the same port
}; { $loaded ->
    [together] except while both are loaded, only one runs at a time
   *[apart] only one runs at a time
}.
step-ports = { $deployments ->
    [one] Which side has which ports is random.
   *[other] Which side has which ports is random, and the sides swap them from one deployment to the next.
}
dataset-tables = { $tables } tables of { $rows } rows
dataset-warehouses = { $warehouses } warehouses of TPC-C
dataset-records = { $records } records of YCSB
dataset-scale-factor = TPC-H at scale factor { $factor }
step-load = Load { $dataset } into each side.
step-restore-dataset = { $by ->
    [this] Load { $dataset } with the client, save them as a dataset snapshot, and restore them into each side from that.
   *[earlier] Restore { $dataset } into each side from a dataset snapshot; an earlier campaign loaded them with the client.
}
contents-tpcc = The two sides hold the same kind of rows with different contents, as their checksums show: TPC-C requires random values, and 5 to 15 lines per order.
contents-sysbench = The two sides hold the same number and kind of rows with different contents, as their checksums show: sysbench fills its tables at random, and --rand-seed does not make its load repeatable.
contents-differ = The two sides hold the same number and kind of rows with different contents, as their checksums show.
step-analyze = Run ANALYZE on every table.
step-consistency = Check TPC-C's consistency conditions (clause 3.3.2) on each side, { $moments ->
    [load] after the load
    [last-trial] after its last trial
   *[both] after the load and once more after its last trial
}.
step-snapshot = Stop each side and take a snapshot of its data.
step-deployments = All of this is done { $deployments } times, each time from empty servers: the rounds are spread over { $deployments } deployments of each side, and which side is prepared first is balanced over them and otherwise random.
step-deployments-looked = All of this is done up to { $deployments } times, each time from empty servers: each deployment measures as many rounds as the others, of the workloads that are not decided yet. Which side is prepared first is balanced over them and otherwise random.
step-deployments-watch = All of this is done { $screening } times, each time from empty servers, with one round each in which every workload is measured; then up to { $confirming } times more, with one round each of the workloads that were flagged. Which side is prepared first is balanced over them and otherwise random.
step-resumed = Measuring was interrupted; trials measured by then: { $after }. { $again ->
    [no] The dataset was then loaded again: trials before and after that are of different loads.
   *[yes] The servers were then deployed and loaded again: trials before and after that belong to different deployments.
}
step-slowdown = While the candidate is measured, stop each of its SQL servers for { $limit } of the time, in periods of 20 ms: a deliberate slowdown, to see whether it is found.
step-sequential = { $rounds ->
    [one] Measure 1 round, sequentially:
   *[other] Measure { $rounds } rounds, sequentially:
} all workloads of the baseline, then all of the candidate, each at { $threads } client threads.
step-interleaved = { $rounds ->
    [one] Measure 1 round.
   *[other] Measure { $rounds } rounds.
} In a round, each workload is measured on both sides, one right after the other, at { $threads } client threads (a block). The order of workloads in a round and of thread counts in a block is random, and the same on both sides; which side comes first is balanced over the rounds and otherwise random (seed { $seed }).
restored-from = { $source ->
    [client] loaded anew by the client
   *[snapshot] restored from its snapshot
}
restore-every-trial = Before every trial the side's data are { restored-from }.
restore-after-writes = Before a trial the side's data are { restored-from } if anything was written since the last restore.
restore-per-workload = Before a side's first trial in a block its data are { restored-from }; each later trial runs on what the one before it left.
restore-never = The data are never restored: each trial runs on what the trials before it left.
after-restore = After a restore the hosts' caches are empty.
step-leaders = Once a trial's cluster is up, wait until every region has a leader and all its peers and PD moves no region, for a limited time{ $leaders ->
    [as-placed] {""}; the leaders stay where PD has placed them.
   *[level] {""}; then move leaders until all TiKV servers lead equally many regions, and equally many of the dataset's, to within one.
}
step-trial = { $where ->
    [existing] For each trial: wait until the server answers,
    [fleet] For each trial: start the cluster, wait until every server answers{ $balancer ->
        [none] {""}
       *[haproxy] {" "}and the load balancer reports all TiDB servers up
    },
   *[machine] For each trial: start the server, wait until it answers{ $balancer ->
        [none] {""}
       *[haproxy] {" "}and the load balancer reports it up
    },
} { $warmup ->
    [cold] then run the client{ $balancer ->
            [none] {""}
           *[haproxy] {" "}through the load balancer
        } for { $seconds } s, without a warm-up.
   *[other] { $when ->
        [started] then run the client{ $balancer ->
            [none] {""}
           *[haproxy] {" "}through the load balancer
        } for { $seconds } s. A warm-up of { $warmup } s (not counted) comes before a side's first trial in a block, and before each trial whose server was started or restored for it. The gate drift shows whether that is enough.
       *[each] warm up for { $warmup } s (not counted), then run the client{ $balancer ->
            [none] {""}
           *[haproxy] {" "}through the load balancer
        } for { $seconds } s.
    }
}
step-repeat = { $limit ->
    [0] A block with an invalid trial is not measured again.
   *[other] Measure a block again if a trial in it is invalid, as a whole and at most { $limit } more times; the first wholly valid attempt counts.
}
commands-load = Load the tables, once on each side
commands-loaded-before = Load the tables, as was done before their dataset snapshots were taken
commands-run = Run one trial
commands-run-of = Run one trial of { $workload }

## How to read this

read-round = { $placement ->
    [sequential] A round compares the two sides, though all of the baseline was measured before the candidate;
   *[interleaved] A round measures the two sides right after each other;
} its one value is candidate divided by baseline, as a geometric mean over the thread counts.
read-estimate = { $deployments ->
    [known] The estimate is the geometric mean of these values. The 95% interval (Student's t) shows how much they scatter and how much deployments differ: the wider, the less is known.
   *[unknown] The estimate is the geometric mean of these values. The 95% interval (Student's t) shows how much they scatter: the wider, the less is known.
}
read-change = Regression or improvement: the estimate is { $limit } or more, and p is below { $alpha } after adjustment, which keeps the chance of even one false alarm from scatter between rounds at { $level } for the whole report: by Holm's method within throughput, p95 latency and counts (workloads: { $workloads }), each of which has a share of it. Counts have a limit of their own.
read-equivalent = Equivalent: the 90% interval lies within ±{ $limit }.
read-unstable = { $dataset ->
    [checked] Unstable: symptoms appear on one side only; its trials are missing, were rejected or had errors more often than chance explains; the client was near its limit; or a side's dataset no longer met a consistency condition after the last trial. The figures cannot be taken at face value.
   *[other] Unstable: symptoms appear on one side only; its trials are missing, were rejected or had errors more often than chance explains; or the client was near its limit. The figures cannot be taken at face value.
}
read-inconclusive = Inconclusive: anything else. The data do not decide, in either direction; more rounds or longer trials might.
read-inconclusive-few-rounds = Inconclusive: anything else. With fewer than three rounds the verdict is always inconclusive: a change cannot be distinguished from noise.
read-rows = Rows per thread count are descriptive and decide nothing, but one that moved against the rest is pointed out. Published reports print the arithmetic mean of their percentages; it gives gains more weight than losses.

## Provenance

provenance-campaign = Campaign
provenance-report-type = Report type
provenance-report-type-value = { $report } ({ $title })
provenance-state = State
provenance-origin = Started by
provenance-started = Started
provenance-duration = Duration
provenance-estimate = Planned time and cost
provenance-estimate-value = { $duration }, ${ $dollars } (list prices of { $day })
provenance-approved = Approved by
provenance-approved-value = { $who }, { $when }
provenance-spent = Spent on the hosts
provenance-spent-value = about ${ $dollars }; planned ${ $planned }, limit ${ $limit }
provenance-topology = Topology
provenance-placement = Placement
provenance-seed = Order seed
provenance-calibration = Calibrated by
provenance-earlier = Earlier campaigns used
provenance-checksum = Dataset checksum
provenance-rows = Rows loaded
provenance-benchlab = Benchlab
state-running = running
state-complete = complete
state-failed = failed
placement-sequential = sequential
sources-raw = { $kept ->
    [0] No raw output of the client is kept.
   *[other] The client's raw output is kept for { $kept } of { $executed } executed trials, under the path in its column raw, relative to the root of the results store.
}
sources = trials.csv has one row per executed trial. The figure of a side at a thread count is the geometric mean over its used rows. { sources-raw } comparison.csv and report.json have the figures unrounded. If evidence.zip lies beside this report, the command benchlab verify recomputes its figures from the raw outputs, and lists what it could not recompute.

## Headings

head-overview = Test overview
head-published = Published document
head-hardware = Hardware configuration
head-parameters = Parameter configuration
head-both-sides = Both sides
head-only-side = Only the { $side } ({ $version })
head-declared = Declared differences, as they took effect
head-undeclared = Differences that were not requested
head-plan = Test plan
head-results = Test results
head-workload = { $workload } performance
head-quality = Result quality
head-gates = Gates
head-hosts = Hosts
head-each-host = Each host by itself
head-how-to-read = How to read this
head-provenance = Provenance
picture-overview = Change of throughput by workload
picture-workload = { $workload }: throughput and { $latency } against threads; the figures are in the table below
card-arithmetic = arithmetic mean
about-looked = after how many deployments, and why
about-watched = what campaigns flagged, and each build against the anchor
about-cost = each side's, with intervals
about-moved = counts that moved with the workloads that changed
about-statements = of the diagnosed workloads: times, executions, plans
about-functions = from profiles of the diagnosed workloads
about-quality = trials, repeats, errors, gates, hosts
about-environment = hardware, software, parameters, settings that differ
about-plan = each step, and its commands
about-published = its plan, and what differs from it
about-how-to-read = what was compared, how intervals and verdicts are made
about-provenance = campaign, seed, checksums, sources of the figures
column-item = Item
column-value = Value
column-version = Software version
column-service = Service type
column-hash = Git hash
column-parameter = Parameter
column-variable = Variable
column-workload = Workload
column-metric = Metric
column-count-of-query = A query takes
column-count = A transaction takes
column-change = Change
column-interval = 95% interval
column-p = Adjusted p
column-verdict = Verdict
column-build = Build
column-gate = Gate
column-gate-holds = What holds when it passes
column-passed = Passed
column-failed = Failed
column-not-evaluated = Not evaluated
column-table = Table
column-rows = Rows
column-expectations = Expectations
column-trial = Trial
column-attempt = Attempt
column-why = Why

## Counts: what a transaction takes of the servers

head-taken = What a transaction takes
head-looked = When each workload was decided
looked-about = After { $first } deployments, and after each further one, Benchlab looks at what all of them show, and a workload that is decided is not measured any further. Of { $planned } planned deployments, { $each }. All p values and intervals allow for these looks.
looked-left = { $workload } took { $after } ({ $why ->
    [regression] slower
    [improvement] faster
    [equivalent] equivalent
   *[other] out of reach: the others would hardly have decided it
})
looked-all = { $workload } took all
looked-stopped = { $workload } was measured in { $after }, after which measuring stopped
looked-so-far = { $workload } is still measured
head-watched = Evidence of several campaigns
watched-screening = The screening has not ended.
watched-quiet = Nothing was flagged, so that the campaign ended with its screening.
watched-confirmed = Flagged, and measured again on fresh deployments: { $confirming }.
watched-left-out = Flagged, and measured again on fresh deployments: { $confirming }. Flagged, and not measured again because the budget did not suffice: { $left }.
watched-about = What begins in a campaign stays, so every run of campaigns that ends with this one is looked at. The strongest one of each workload: { $each }. A throughput is flagged as slower below a p value of { $slower }, as faster below { $faster }. The table has the change of throughput against the anchor, from the rounds that screen.
watched-strongest = { $workload } { $change } { $weeks ->
    [one] in this campaign
   *[other] over the last { $weeks } campaigns
} (p { $p })
taken-left-out = { $workload }: { $why }.
taken-about = Counted by the servers themselves while the client ran, per transaction. A count says dearer or cheaper, not slower or faster; a change of { $limit } or more is called one.
change-with-interval = { $change } ({ $interval })
taken-dearer = { $workload } is dearer with { $candidate } than with { $baseline }, per transaction: { $each }.
taken-cheaper = { $workload } is cheaper with { $candidate } than with { $baseline }, per transaction: { $each }.
unit-b = bytes
unit-us = µs
count-rows-read = rows read
count-rows-written = rows written
count-redo-bytes = redo log
count-tidb-allocated-bytes = TiDB: memory allocated
count-tidb-allocated-objects = TiDB: objects allocated
count-kv-get = KV requests: Get
count-kv-cop = KV requests: coprocessor
count-kv-pessimistic-lock = KV requests: pessimistic lock
count-kv-prewrite = KV requests: Prewrite
count-kv-commit = KV requests: Commit
count-written-keys = keys written
count-applied-bytes = TiKV: bytes applied
count-raft-log-bytes = TiKV: Raft log
count-tidb-cpu = TiDB CPU
count-tikv-cpu = TiKV CPU
count-server-cpu = server CPU
count-handler-reads = rows fetched through handlers
count-handler-commits = commits in storage engines
count-server-cpu-user = server CPU: user
count-server-cpu-system = server CPU: system
count-minor-faults = minor page faults
count-major-faults = major page faults
count-context-switches = context switches
count-disk-read-bytes = bytes read from disk
count-disk-written-bytes = bytes written to disk
count-redo-writes = redo log: writes
count-redo-requests = redo log: write requests
count-fsyncs = fsyncs
count-data-written-bytes = InnoDB: bytes written
count-page-requests = pages requested
count-page-reads = pages read from disk
count-pages-written = pages flushed
count-rows-sent = rows sent
count-sorted-rows = rows sorted
count-temporary-tables = temporary tables
count-temporary-disk-tables = temporary tables on disk
count-full-scans = full table scans
count-row-lock-waits = row lock waits
count-bytes-received = bytes received from clients
count-bytes-sent = bytes sent to clients
count-tidb-gc-cpu = TiDB CPU: garbage collection
count-kv-requests = KV requests: all
count-kv-batch-get = KV requests: BatchGet
count-kv-scan = KV requests: Scan
count-kv-pessimistic-rollback = KV requests: pessimistic rollback
count-kv-batch-rollback = KV requests: BatchRollback
count-kv-resolve-lock = KV requests: ResolveLock
count-kv-check-txn-status = KV requests: CheckTxnStatus
count-kv-check-secondary-locks = KV requests: CheckSecondaryLocks
count-kv-txn-heart-beat = KV requests: TxnHeartBeat
count-cop-cache-hits = coprocessor cache hits
count-keys-processed = keys processed
count-timestamps = timestamps requested
count-written-bytes = bytes written in transactions
count-one-phase-commits = commits in one phase
count-async-commits = async commits
count-backoffs = backoffs
count-region-errors = region errors
count-locks-resolved = locks resolved
count-transaction-retries = transaction retries
count-pessimistic-retries = retries of pessimistic statements
count-plan-cache-hits = plan cache hits
count-plan-cache-misses = plan cache misses
count-statements = statements
count-statements-select = statements: SELECT
count-statements-insert = statements: INSERT
count-statements-replace = statements: REPLACE
count-statements-update = statements: UPDATE
count-statements-delete = statements: DELETE
count-statements-begin = statements: BEGIN
count-statements-commit = statements: COMMIT
count-statements-rollback = statements: ROLLBACK
count-affected-rows = rows affected
count-tikv-cpu-grpc = TiKV CPU: gRPC
count-tikv-cpu-unified-read = TiKV CPU: unified read pool
count-tikv-cpu-sched = TiKV CPU: scheduler
count-tikv-cpu-raftstore = TiKV CPU: raftstore
count-tikv-cpu-store-write = TiKV CPU: store writers
count-tikv-cpu-apply = TiKV CPU: apply
count-tikv-cpu-rocksdb = TiKV CPU: RocksDB
count-grpc-get = TiKV messages: Get
count-grpc-batch-get = TiKV messages: BatchGet
count-grpc-scan = TiKV messages: Scan
count-grpc-pessimistic-lock = TiKV messages: pessimistic lock
count-grpc-prewrite = TiKV messages: Prewrite
count-grpc-commit = TiKV messages: Commit
count-grpc-coprocessor = TiKV messages: coprocessor
count-scheduler-commands = TiKV scheduler: all commands
count-scheduler-pessimistic-lock = TiKV scheduler: pessimistic lock
count-scheduler-prewrite = TiKV scheduler: Prewrite
count-scheduler-commit = TiKV scheduler: Commit
count-write-conflicts = write conflicts
count-raft-proposals = Raft proposals
count-raft-log-writes = Raft log: writes
count-applied-keys = TiKV: keys applied
count-coprocessor-bytes = coprocessor: bytes returned
count-keys-scanned = coprocessor: keys scanned
count-keys-returned = coprocessor: keys returned
count-keys-skipped = RocksDB: keys skipped
count-tombstones-skipped = RocksDB: tombstones skipped
count-blocks-read = RocksDB: blocks read
count-rocksdb-gets = RocksDB: keys read
count-rocksdb-seeks = RocksDB: seeks
count-rocksdb-nexts = RocksDB: steps of iterators
count-rocksdb-read-bytes = RocksDB: bytes read
count-rocksdb-scanned-bytes = RocksDB: bytes scanned
count-rocksdb-written-bytes = RocksDB: bytes written
count-rocksdb-flushed-bytes = RocksDB: bytes flushed
count-rocksdb-compaction-read-bytes = RocksDB: bytes read by compactions
count-rocksdb-compaction-written-bytes = RocksDB: bytes written by compactions
count-rocksdb-block-cache-misses = RocksDB: block cache misses
count-stall-time = TiKV: time of write stalls
count-throttle-time = TiKV: time of throttled writes
count-refused-writes = TiKV: writes refused
count-pd-cpu = PD CPU
count-tso-requests = PD: timestamp requests
count-region-heartbeats = PD: region heartbeats
count-store-heartbeats = PD: store heartbeats
why = { $workload } ({ $change }): { $told }.
why-settings = Settings that differ though nobody set them: { $names }.
head-moved = What else changed
moved-about = Per query, by the servers' own counters. Counts that go together are one line, led by the one that moved most clearly. Anything is listed in at most one of 20 comparisons of equal versions. What changed with a workload need not be why it changed.
moved-some = { $workload }: of { $counts } counts, { $moved } moved with it; the clearest: { $count } per query ({ $change }).
moved-by-load = { $workload }: of { $counts } counts, { $moved } moved with it, all of which depend on the load; the clearest: { $count } per query ({ $change }).
moved-in-short = of { $counts } counts, { $moved } moved with it, the clearest { $count } per query ({ $change }){ $load ->
    [yes] , which depends on the load
   *[no] {""}
}
moved-none = { $workload }: none of { $counts } counts moved with it beyond the noise.
moved-few = { $workload }: no count has three complete rounds, so what changed with it is unknown.
moved-uncounted = What changed with these workloads is not known: there are no counts of the servers.
moved-unread = The counts of { $unread } of { $trials } trials could not be read, and take no part here.
moved-appeared = appeared
moved-vanished = vanished
moved-of-load = { $count } (depends on the load)
moved-more = { $more ->
    [one] And 1 more group of counts.
   *[other] And { $more } more groups of counts.
}
column-with-it = Moved along
head-statements = Statements
column-statement = Statement
column-of-transaction = Of a transaction, { $side }
column-execution-time = Time of an execution
column-executions = Executions in a transaction
column-stands-out = What else differs, of an execution
statements-told = { $workload }: the statements of a transaction took { $before } with the baseline and { $after } with the candidate; most of the difference is in { $statement } ({ $more }).
statements-spread = { $workload }: the statements of a transaction took { $before } with the baseline and { $after } with the candidate; no single statement has most of the difference beyond the spread of the trials.
statements-most = most of the difference is in { $statement }{ $figures }
statements-most-taken = most of the difference is in { $statement } (of an execution: { $figures })
statements-figure = { $figure } { $before }, then { $after }
statements-unclear = ({ $change })
statements-more = { $more ->
    [one] And 1 more statement.
   *[other] And { $more } more statements.
}
statements-plan = The plan of { $statement } changed, for { $share } of its executions: { $change }.
statements-plans = { $count ->
    [one] the plan of 1 statement changed
   *[other] the plans of { $count } statements changed
}: { $change }
statements-no-plan = no plan changed
statements-no-plan-changed = No plan changed.
statements-without = without { $operators }
statements-with = with { $operators } besides
statements-same-operators = the same operators, on other tables, indexes or ranges
statements-difference = Both plans, line by line
statements-replayers = For TiDB's developers, evidence.zip has the PLAN REPLAYER of what changed most: { $names }.
statements-otherwise = In these trials the servers ran with performance_schema, and the client sent text in place of prepared statements (--db-ps-mode=disable): compare their figures with each other only.
statements-plans-unknown = MariaDB keeps no plans, so whether one changed is not known.
statements-untold = The servers had too many distinct statements to record each of them: { $before } executions with the baseline and { $after } with the candidate are in no row.
statements-trials = { $trials ->
    [one] From 1 trial of each side: nothing shows how far trials of one side differ.
   *[other] From { $trials } trials of each side.
}
statements-about = Taken in a few trials after the verdict that are no part of it, by the servers' own summaries; statements on tables whose names differ by a number are added up. Nothing is tested: what differs is a hint. In brackets: the sides are no farther apart than the trials of one of them.
statements-not = statements are not known: { $why }
statements-none = { $engine } keeps no summary of statements
statements-too-old = TiDB { $version } keeps no summary of statements; it does from v4.0.0 on
statements-prepared = MariaDB's summary misses statements that { $client } prepares
statement-coprocessor-tasks = coprocessor tasks
statement-keys-scanned = keys scanned
statement-keys-returned = keys returned
statement-keys-written = keys written
statement-rows-examined = rows examined
statement-rows-sent = rows sent
statement-rows-affected = rows affected
statement-memory-bytes = bytes of memory
statement-plans-from-cache = plans from the cache
statement-without-index = executions without an index
statement-temporary-tables = temporary tables
statement-temporary-disk-tables = temporary tables on disk
statement-sorted-rows = rows sorted
statement-errors = errors
head-cost = Dollars per million { $metric ->
    [tpmc] New Orders
    [qpm] queries
   *[other] transactions
}
cost-about = The servers' hosts cost ${ $hourly } an hour (list prices of { $day }), and each version had all of them to itself. The client's host, storage billed separately, and traffic are not included. Each row prices both versions at one thread count: the one with the highest combined throughput. Intervals need three rounds; they reflect how throughput varies between deployments or, with only one deployment, between its rounds. The change is the inverse of the throughput change at that thread count; the throughput verdict says whether it exceeds the noise.
cost-at-most = At most these prices: { $workloads }. Throughput was highest at the largest thread count measured; more threads may lower the price.

## Which functions changed

head-functions = Which functions
functions-told = { $workload }: { $kind } of { $role }, { $baseline } of the baseline and { $candidate } of the candidate: { $changed ->
    [few] differences may be chance.
    [0] no function changed beyond the noise.
    [one] 1 function changed.
   *[other] { $changed } functions changed.
}
functions-about = Taken from a fifth of the run to its end, in a few trials after the verdict that are no part of it. A function took its share of the samples times what a query takes; it is listed if the trials agree more than noise explains. Callers of what changed are left out.
functions-modules = Modules
functions-picture = Flame graph: { $kind } of { $role }
functions-files = What the diagnosis trials found, such as profiles
functions-lacking = { $role }, { $kind }: { $why }
functions-cost-cpu = CPU per query
functions-cost-allocations = Bytes allocated per query
functions-first = in { $role } { $function } { $change } { $unit ->
    [cost] of CPU per query
   *[share] of its CPU
} (in { $pairs } of { $pairs } profiles){ $more ->
    [0] {""}
    [one] , and 1 more function
   *[other] , and { $more } more functions
}
functions-none = no function's CPU changed beyond the noise of its profiles
functions-few = there are too few profiles to name a function
functions-not = functions are not known: { $why }
profiles-nothing = the servers have no profiles of this kind
profiles-unpaired = no round has profiles of both sides
profiles-refused = { $server } answered with no profile: { $why }
profiles-no-perf = perf cannot record here: { $why }
profiles-mariadb-without = MariaDB has no profiles of allocations
profiles-tikv-without = TiKV has no profiles of allocations
profiles-allocations-old = allocation profiles before { $first }, here of { $version }, have everything since the server started
profiles-tikv-old = TiKV { $version } may crash while its CPU is profiled; from { $first } on it does not
column-function = Function
column-module = Module
column-time = Time
column-difference = Difference
column-found = Found

## Where the time went of a workload whose throughput changed

split-told = Where the time went: { $waits }; { $cpu }.
split-unclear = These trials do not show where the time went: { $waits }; { $cpu }.
split-waits = { $how ->
    [more] more waiting, the servers' CPUs were { $size } less busy ({ $interval })
    [less] less waiting, the servers' CPUs were { $size } busier ({ $interval })
   *[same] the change of waiting is within the noise (CPUs busy { $change }, { $interval })
}
split-cpu = { $how ->
    [more] a query takes { $size } more CPU ({ $interval })
    [less] a query takes { $size } less CPU ({ $interval })
   *[same] the change of CPU per query is within the noise ({ $change }, { $interval })
}
split-part = { $share ->
    [most] , most of that in { $part } ({ $size })
    [some] , above all in { $part } ({ $size })
   *[apart] , except in { $part } ({ $size })
}
split-summary = Where the time went, in figures
split-about = Queries per second = CPUs busy / CPU time of a query: this is an identity, and names no cause. Waiting is what keeps the servers' CPUs less busy at this load: locks, disks, network, throttling, or a client that sends less. All figures are the servers' own, from a fifth of each run to its end. The right column says what each row alone does to throughput, with its 95% interval; waiting and CPU of a query multiply to the whole change, and the rows below to that of CPU, of which they are the parts.
split-busy = { $figure } CPUs busy
split-of-query = { $figure } µs
split-fewer = This rests on { $rounds } of the { $of } rounds that the verdict rests on{ $threads ->
    [all] {""}
   *[other] , and on { $threads } threads
}: the other trials have no counts that can be compared.
split-apart = In these trials, in the part of the run that was counted, throughput changed by { $own }; by the verdict it is { $verdict }.
split-lacking = { $workloads }: where the time went is unknown, because { $why }.
split-unread = there are no counts of the servers
split-foreign = Benchlab does not reach the CPU counters of servers that it did not deploy
split-without = no trial of one side, or of both, has the CPU time of { $what }
split-few = too few rounds have comparable counts on both sides ({ $rounds }; at least { $least } are needed)
chart-split = From { $baseline } to { $candidate }: what each part does to throughput
column-part = Part
column-effect = Effect on throughput
part-waits = Waiting
part-cpu = CPU of a query
part-tidb-cpu = TiDB
part-tidb-cpu-rest = TiDB: all but GC
part-tidb-gc-cpu = TiDB: garbage collection
part-tikv-cpu = TiKV
part-tikv-cpu-rest = TiKV: other threads
part-tikv-cpu-grpc = TiKV: gRPC
part-tikv-cpu-unified-read = TiKV: unified read pool
part-tikv-cpu-sched = TiKV: scheduler
part-tikv-cpu-raftstore = TiKV: Raft store
part-tikv-cpu-store-write = TiKV: Raft log writers
part-tikv-cpu-apply = TiKV: apply
part-tikv-cpu-rocksdb = TiKV: RocksDB
part-pd-cpu = PD
part-server-cpu = MariaDB
part-server-cpu-rest = MariaDB: user
part-server-cpu-system = MariaDB: system

## Gates: what holds when one passes; $least and $most are its bounds

gate-summary = the client printed its summary
gate-query-time = the query is slow enough for go-tpc's steps and quick enough for each thread to end one
gate-client-exit = the client ended by itself and without an error
gate-duration = the client ran within { $most } of the requested time
gate-effective-threads = the client's threads were at work { $least } of the time or more
gate-printed-rate = printed rate times duration gives the printed count within { $most }
gate-latency-order = latencies are in order and not negative (average and p95 at most the maximum)
gate-unexpected-errors = the client ignored no errors but deadlocks and conflicts
gate-tpcc-efficiency = the printed efficiency is tpmC / (12.86 x the warehouses that were loaded)
gate-tpcc-mix = New Orders are 45 % of the transactions, to within { $most }
gate-consistency = the dataset met each of TPC-C's consistency conditions that was checked after the load
gate-client-cpu = client and load balancer stayed below { $most } of the CPU available to them
gate-cpu-steal = the hypervisor took { $most } of the CPU or less, on every host
gate-other-work = other programs used { $most } of the CPU or less, on every host
gate-disk-space = on every sampled host the data directory had the free space that it needs, including TiKV's reserve
gate-version = every server is the requested version
gate-parameters = every requested parameter is in effect
gate-configuration = the sides' effective variables differ only as requested
gate-dataset = the dataset equals the snapshot's before a side's first trial
gate-server-alive = the server that was started for the trial ran to its end
gate-balance = no TiKV server led more, or fewer, regions than levelling (or, as placed, PD) leaves it
gate-settled = before and after the run, every region had a leader and all its peers, and PD was moving none
gate-background-work = no analyze, DDL or backup ran during the trial
gate-load-balancer = every backend of the load balancer was UP before and after
gate-balanced-connections = the load balancer spread the connections over its backends to within one
gate-clock = the hosts' clocks differ by { $most } or less
gate-errors = no read failed, and of writes at most { $most } of the transactions, ignored errors counted
gate-reconnects = the client lost no connection
gate-stalls = transactions ended in every interval of the series
gate-behind = at a given rate, at most { $most } of the transactions still waited at the end, so the servers kept up
gate-missing-intervals = the client printed every interval of the series, except perhaps the last
gate-drift = the first and last third of the trial differ by at most { $most } beyond the noise of the series
gate-variation = the throughput of the intervals varies by at most { $most } (standard deviation / mean)
gate-write-stall = no storage server delayed, stopped or refused writes because compaction fell behind
gate-auto-analyze = TiDB ran no ANALYZE of its own during the warm-up or the trial; else no count of the trial is compared
gate-region-merge = PD merged no regions during the warm-up or the trial; else no count of the trial is compared
gate-sweep = TiKV swept at most { $most } old versions of rows during the warm-up or the trial; else its CPU per transaction is not compared
gate-hosts-alike = the hosts of a role have the same type, cores, memory, CPU, system and kernel
gate-round-variation = the throughput varies by at most { $most } between rounds (standard deviation / mean)
gate-p95-monotone = p95 latency is at most { $most } below that of the next smaller thread count
gate-throughput-curve = throughput is at most { $most } below the line through the neighbouring thread counts
gate-rejected-by-side = validity gates failed about equally often on both sides
gate-rejected-change = the rejected trials could not hide a change larger than the threshold (with their figures, the 90% interval reaches at most { $most } the threshold)
gate-errors-by-side = the client saw errors about equally often on both sides
gate-read-errors = no reads failed on one side only
gate-headroom = client and load balancer stayed below { $most } of the CPU available to them at every thread count
gate-plateau = throughput grows with the threads, or the client's CPU is known
gate-complete-rounds = every round has a figure for every thread count on both sides
gate-planned-once = every planned trial is present exactly once among those whose figures are used
gate-balanced-order = each side was measured first equally often, to within one round
gate-aa-unbiased = the mean of the A/A campaigns is zero within chance
gate-aa-alike = the rounds vary like those of the A/A campaigns, within chance
gate-aa-recent = the newest A/A campaign is at most { $most } away from this one

## What limits the figures of an engine

caveat-tidb = TiDB ran with its embedded storage (unistore), which is a test store: these figures describe its SQL layer, not TiKV.

## Numbers

number-interval = { $low } to { $high }
number-hours = { $hours } h { $minutes } min
number-minutes = { $minutes } min { $seconds } s
number-seconds = { $seconds } s

## Figures

figures-threads = Threads
figures-p95 = p95 latency
figures-rate = sent per second
figures-p50 = p50 latency
figures-p99 = p99 latency
figures-mean = mean latency
figures-new-order-p50 = New Order p50 latency
figures-new-order-p90 = New Order p90 latency
figures-new-order-p99 = New Order p99 latency
figures-change = { $metric } change
figures-details = Further figures
figures-new-order-p95 = New Order p95 latency
layout-own = All figures, with the changes that the verdicts are about
layout-mean = The { $metric } improvements have the arithmetic mean { $mean }.

## Charts

chart-title = { $engine } { $candidate } against { $baseline }
chart-title-aa = { $engine } { $version } against itself (A/A)
chart-slower = ← candidate slower
chart-faster = candidate faster →
chart-cheaper = ← cheaper
chart-dearer = dearer with the candidate →
chart-throughput = { $metric } ({ $unit }), higher is better
chart-latency = { $latency } (ms), lower is better
chart-marks = lines: geometric means; faint points: single rounds
chart-mean = { $label }, { $threads } threads: { $mean } (rounds { $low } to { $high })
chart-zoom-in = Zoom in
chart-zoom-out = Zoom out
chart-earlier = Earlier
chart-later = Later
chart-whole = Whole chart
chart-threads = client threads
chart-no-trial = no valid trial

## Profiles, compared

profiles-title = Profiles of { $type }: { $baseline } of the baseline, { $candidate } of the candidate
profiles-cost = CPU per transaction
profiles-own = own
profiles-cumulative = total
profiles-module = own
profiles-more-cost = dearer
profiles-less-cost = cheaper
profiles-more-share = larger share
profiles-less-share = smaller share
profiles-few = Fewer than three profiles of a side: differences may be chance, and nothing is called a change. Take three or more of each side.
profiles-none = No change was found in { $tested } tests of functions and modules.
profiles-moved = Moved, not dearer: below { $caller } the sum of these stayed, so code was probably renamed, split or inlined: { $parts }.
profiles-shares = Figures are shares of { $type }: where one function grows, the shares of the others shrink.
profiles-nameless = Functions without a name took { $baseline } of the baseline and { $candidate } of the candidate; profile builds with symbols to see them.
flame-remark = Width: mean of both sides, so what is gone is shown as well. Frames narrower than { $least } are merged. Pale colours may be chance.
flame-everything = everything
flame-merged = { $count ->
    [one] 1 narrower frame
   *[other] { $count } narrower frames
}
flame-step-1 = candidate takes twice or more
flame-step-2 = +10% or more
flame-step-3 = half or less
flame-step-4 = -9% or more
flame-step-5 = outlined: found changed
flame-step-6 = dashed: on one side only
flame-sides = { $which ->
    [gone] baseline { $baseline }, gone from the candidate
    [new] new, candidate { $candidate }
   *[both] baseline { $baseline }, candidate { $candidate }
}
flame-find = Find
flame-found = { $count } found: baseline { $baseline }, candidate { $candidate }

## Series of trials

series-summary = Second by second: { $count } pairs of trials
series-about = { $metric } of both sides; below it CPU and disk of the busiest host, from idle to fully busy. Every picture has its own scale of { $metric }.
series-caption = { $attempt ->
    [1] { $threads } threads, round { $round }
   *[other] { $threads } threads, round { $round }, attempt { $attempt }
}
series-cpu = CPU
series-disk = disk

## Software

software-component = { $service } ({ $side })
software-servers = { $count ->
    [one] { $service } ({ $side }, 1 server)
   *[other] { $service } ({ $side }, { $count } servers)
}
software-servers-on = { $count ->
    [one] { $service } ({ $side }, 1 server on { $hosts })
   *[other] { $service } ({ $side }, { $count } servers on { $hosts })
}
software-version = { $asked } (server: { $reported })
software-alike = On each side, the servers of a component are configured alike: the digests of their effective configurations agree.
software-odd = Servers of one component are not all configured alike: { $servers }.
software-untold = { $said } Not reported by: { $servers }.
software-script = The hash of TiUP's install script covers the script alone, not TiUP's program, which the script downloads.
software-script-changed = This script differs from the one seen before (on { $day }, SHA-256 { $sha256 }).

## Hardware

hardware-service = Service type
hardware-instance-type = EC2 type
hardware-hosts = Hosts
hardware-number = Number
hardware-cores = Cores
hardware-memory = Memory (GiB)
hardware-cpu = CPU
hardware-system = System
hardware-data-on = Data on
hardware-client = { $client }, HAProxy
hardware-some-client = Client
hardware-rented = All { $total } hosts were rented for this campaign in one zone ({ $zone }).
hardware-unknown-zone = which one was not recorded
hardware-other-types = The preferred instance types were not available; rented instead of those in brackets: { $types }.
hardware-other-region = The preferred region, { $region }, had no capacity.
hardware-spot = { $count ->
    [one] One host was a spot host: { $hosts }.
   *[other] { $count } hosts were spot hosts: { $hosts }.
}
hardware-replaced = After { $after ->
    [one] one trial
   *[other] { $after } trials
} { $count ->
    [one] a host was lost and replaced
   *[other] hosts were lost and replaced
}: { $hosts }. Both sides were then deployed and loaded again: trials before and after that belong to two deployments.
hardware-shared-system = All run { $system }.
hardware-shared = { $total } hosts in all; with several roles: { $each }.
hardware-roles = { $host } ({ $roles })

## TPC-C's consistency conditions

consistency-both = TPC-C's consistency conditions (clause 3.3.2) on both sides: { $told }.
consistency-side = TPC-C's consistency conditions (clause 3.3.2) on the { $side }: { $told }.
consistency-after-load = after the load { $outcome }
consistency-after-last-trial = after the last trial { $outcome }
consistency-after-both = after the load and after the last trial { $outcome }
consistency-unchecked = they were not checked
consistency-hold = all { $count } that were checked hold ({ $conditions })
consistency-violated = { $violated } of the { $count } that were checked failed ({ $each })
consistency-violations = { $condition }, { $sentence }, violations: { $violations }

## Hosts while they were under load

hosts-side = Side
hosts-name = Hosts
hosts-trials = Trials
hosts-cpu-busy = CPU
hosts-cpu-steal = CPU steal
hosts-cpu-iowait = Waiting for disk
hosts-memory-used-bytes = Memory (GiB)
hosts-disk-busy = Disk busy
hosts-disk-read-bytes-per-s = Disk read (MB/s)
hosts-disk-write-bytes-per-s = Disk write (MB/s)
hosts-net-rx-bytes-per-s = Network in (MB/s)
hosts-net-tx-bytes-per-s = Network out (MB/s)
hosts-of-role = { $role } ({ $count } hosts)
hosts-table = Every host was sampled once a second while the client ran. A cell is the mean / the largest second of any host, over the { $sampled } of { $used } used trials that have figures; loopback traffic is not counted as network.
hosts-processes = CPU used, as a share of what was available (a core per thread, at most all): { $each }.
hosts-process = { $name } { $mean } on average and { $max } in its busiest trial
hosts-not-recorded = What the hosts did during the trials was not recorded.
hosts-not-recorded-because = What the hosts did during the trials was not recorded ({ $gaps }).
hosts-without-figures = Without figures: { $gap }.
hosts-gap = { $trials ->
    [one] { $host } in 1 trial, { $reason }
   *[other] { $host } in { $trials } trials, { $reason }
}

## Published pages: Title and overview

published-subject = { $tool } throughput of { $candidate } against { $baseline }.
published-subject-one = { $tool } throughput of { $candidate }.
published-origin = Reproduced from { $source } (SHA-256 { $sha256 }). Throughputs and latencies are those of the source, digit by digit; percentages, means and sentences are computed from them. The source prints one value for each figure, which allows no interval and no verdict.
published-outcome = { $direction ->
    [up] { $workload }: the { $metric } of { $candidate } is { $pct }% higher than that of { $baseline }
    [down] { $workload }: the { $metric } of { $candidate } is { $pct }% lower than that of { $baseline }
   *[same] { $workload }: the { $metric } of { $candidate } is on a par with that of { $baseline }, to two decimals of a percent
} ({ $count ->
    [one] 1 row
   *[other] mean of { $count } rows
}).
published-no-mean = { $workload }: no mean over all thread counts, for figures are missing at { $threads } threads.

## Published pages: Results

published-threads = Threads
published-version = Version
published-latency = 95% latency (ms)
published-improvement = { $metric } improvement
published-no-figures = The source prints no figures of { $workload }, so there is nothing to recompute.

## Published pages: Provenance

published-claims = Published claims
published-claims-note = What the source states in sentences, or prints for an improvement that its figures do not give, with its lines. Nothing of the former is asserted here.
published-line = Line
published-versions = Versions named
published-claimed = Claimed
published-recomputed = Recomputed
published-all = all
published-unread = Not understood
published-unread-note = Tables and sentences of the source that are not understood whole. Nothing from them is used in this page.
published-what = What
published-unread-sentence = the sentence “{ $sentence }”: its percentage is not stated in a form that is understood
published-unread-html = a table in HTML; write it in Markdown
published-unread-quoted = a table in a quotation; results are read from the page itself
published-unread-bars = lines with bars that are no table in Markdown: below the headings, a line of dashes with as many cells has to follow
published-unread-unit = a table of results whose unit may be another one: “{ $sentence }”
published-unread-columns = a table with the columns { $columns }: “{ $strange }” is not understood; a table of results has Threads, QPS, TPS or tpmC, and 95% latency (ms), each after its version
published-unread-no-threads = a table with the columns { $columns }: none of them is Threads
published-unread-no-workload = a table of results below “{ $name }”, which is no workload's name; the heading has to be one, such as Point Select
published-unread-no-version = a table of results that names no version; its columns, or a line directly over it, have to name one
published-unread-no-throughput = a table without throughput: it has neither QPS nor TPS nor tpmC
published-unread-twice = a table with the same column twice
published-unread-some-versions = a table that names a version for some of its figures only, or names it twice
published-unread-versions = a table with more than two versions: { $versions }
published-unread-row = a table of which a row has { $cells } cells below { $headings } headings
published-unread-cell = a table with the cell “{ $cell }” in the column { $column }, where only numbers and versions are understood
published-unread-threads-twice = a table with { $threads } threads twice
published-unread-further = a second table of a workload, whose first one is in line { $first }; one workload has one table

## Why a campaign failed, where no stage says it
failure-none = none of the { $planned } trials was measured
failure-all = { $missing } of { $planned } trials have no valid result
failure-some = { $missing } of { $planned } trials have no valid result: { $trials }
failure-trial = { $trial }: { $why }
failure-unscreened = all workloads were measured, but it was not decided which of them are confirmed; run the campaign again by its id, or clear the task confirm.screen with all after it
failure-consistency = figures of a database whose consistency is lost or not known cannot be relied on; where it is lost, see whether anything else wrote to it, and what its log says; where it is not known, measure again:
failure-side = { $side }: { $why }
failure-unchecked = { $side }: its consistency after the last trial is not known
failure-interrupted = it was interrupted
failure-given-back = ended by a person with "benchlab give-back"
failure-run-deleted = its run was deleted in Airflow
failure-rejected = rejected by { $who }; nothing was rented
failure-approved-by-other = approved by { $who }, who may not approve it (configs/budget.yaml); nothing was rented
failure-not-approved = nobody approved it within { $days } days; nothing was rented
failure-unforeseen = an unexpected error ({ $kind }); see the log
disk-full = { $host }: only { $free } GiB are free in { $path }, but { $needed } GiB are needed: make room there, then repeat what failed; what was measured is kept
failure-too-long = ended because it exceeded its time limit
failure-unknown = { $task } failed; its log says why

## Site: frame

site-name = Benchmarks
site-skip = Skip to the content
site-part-overview = Overview
site-part-findings = Findings
site-part-campaigns = Campaigns
site-as-json = This page as JSON
site-part-compare = Compare
site-part-history = History
site-part-plan = Plan
site-problem = Problem { $status }
site-no-page = { $place }: there is no such page
site-no-report = { $report }: there is no such report type
site-no-workload = { $workload }: nothing is known about this workload
site-no-campaign = { $campaign }: there is no such campaign
site-no-finding = There is no finding { $number }.
site-no-file = { $campaign }: it has no file { $name }
site-no-trial = { $campaign }: its plan has no trial { $trial }
site-no-attempt = Trial { $trial }: it has no attempt { $attempt }
site-bad-fields = { $fields }: it cannot be read
site-from-elsewhere = This form was sent by another site.
site-too-old = The page with this form is too old: open it again.
site-may-not-trigger = You may not trigger the DAG { $dag }.
site-run = Campaign of a run
site-to-run = Its run in Airflow
site-to-dag = Its DAG in Airflow
site-run-none = This run has no campaign: its task `plan` has not ended yet, or had nothing to measure; its log says why. This page shows the campaign as soon as there is one.

## Site: overview and campaigns

site-nothing-measured = Nothing has been measured yet.
site-begin = Trigger a DAG in Airflow, such as sysbench_local, which needs no more than this machine; or run the same from a terminal:
site-begin-files = The first campaign appears here when this site is written again after it. This one needs no more than one machine:
site-none = none
glance-failed = { $failed ->
    [one] a report type whose newest campaign failed or did not begin
   *[other] { $failed } report types whose newest campaign failed or did not begin
}
glance-regressions = { $regressions ->
    [one] a regression that nobody has judged
   *[other] { $regressions } regressions that nobody has judged
}
glance-look = { $failed ->
    [0] Look at { glance-regressions }.
   *[other] { $regressions ->
        [0] Look at { glance-failed }.
       *[other] Look at { glance-failed }, and at { glance-regressions }.
    }
}
glance-fine = All is well: no report type's newest campaign failed, and no regression waits for a judgement.
glance-failing = Newest campaign failed or did not begin
glance-waiting = Waiting to begin
mark-latest = Latest campaigns
mark-fine = fine
mark-running = in progress
mark-failed = failed
mark-no-campaign-failed = failed before a campaign began
mark-no-campaign-waiting = waiting, no campaign yet
mark-no-campaign-skipped = skipped, nothing to measure
site-never = never measured
site-at-work = In progress
site-next = Next run
site-next-release = with the next release ({ $types })
release-type = { $key ->
   *[other] { $type }
}
site-next-aa = A/A campaign
site-canary = canary
site-canary-found = canary found { site-days-ago }
site-canary-missed = canary missed on { $on }
site-next-paused = will not run: its DAG is paused in Airflow
site-no-notifier = Nobody is notified of anything: { $file } names no notifier.
site-next-by-hand = only when somebody starts it
site-cost = Cost this month
site-cost-before = last month { $dollars } dollars
site-committed = up to { $dollars } dollars more committed
site-month-budget = budget of the month for all campaigns: { $dollars } dollars
site-vcpus-held = { $count } vCPUs held in { $region }
site-month-before = Last month
site-dollars = { $dollars } dollars
site-dollars-of = { $dollars } of { $planned } planned dollars
site-dollars-unknown = unknown for { $campaigns ->
    [one] 1 campaign
   *[other] { $campaigns } campaigns
}
site-nothing-rented = nothing rented
site-newest-verdicts = Newest verdicts
site-report-types = Report types
site-report-types-note = Next runs are those of the schedule: a DAG that is paused in Airflow does not run. The cost is that of rented hosts at list prices, of the campaigns that began in the month (UTC). Without A/A campaigns, or campaigns of several deployments, deployment-to-deployment variation is assumed; trigger the report type with the sides "same" to measure it.
site-column-newest = Newest campaign
site-column-took = Took
site-column-cost = Cost ($)
site-calibration = Newest A/A campaign, canary
site-aa-campaigns = { $count ->
    [one] 1 A/A campaign
   *[other] { $count } A/A campaigns
}
site-days-ago = { $days ->
    [0] less than a day ago
    [one] 1 day ago
   *[other] { $days } days ago
}
site-campaigns = { $count ->
    [one] 1 campaign
   *[other] { $count } campaigns
}
site-aa = { $version } against itself (A/A)
site-metric-throughput = Throughput
site-metric-latency = p95 latency
site-metric-counts = Counts
site-state-running = in progress
site-state-complete = complete
site-state-failed = failed
site-work-progress = Trials measured
site-work-elsewhere = Its progress is kept on the machine that measures it.
site-work-trial = trial { $trial } of { $planned }
site-work-late = longer than estimated
site-work-left = about { $left } left
site-work-silent = It has been silent for a long time and may have been interrupted. Start the same campaign again to resume it, or end it with "benchlab give-back { $campaign }". Last sign of life:
site-stale = No longer updated: Airflow does not answer, or your login has expired. Reload the page.
site-as-of = As of
site-filter = Show
site-filter-any = any
site-filter-version = Version or build
site-filter-since = Started since
site-filter-until = until
site-filter-tag = Tag
site-filter-wrong = { $field }: "{ $value }" cannot be used here and was ignored
site-all-campaigns = all campaigns
site-no-match = None of the { $count } campaigns matches all of that.
site-listed = { $from }–{ $until } of { $count } campaigns
site-newer = Previous page
site-older = Next page
site-pages = Pages of the list
site-no-verdict = no verdict
site-unpublished = no verdict yet
site-one-version = one version, no verdict

## Site: one campaign

site-trial-title = Trial { $number } of { $trials }: { $title }
site-trial-name = { $workload }, { $threads ->
    [1] 1 thread
   *[other] { $threads } threads
}, round { $round }, { $side }
site-trial-not-yet = This trial is planned and has not been measured yet.
site-trial-never = This trial was planned and never measured. The campaign's page says how the campaign ended.
site-trial-rejected = Rejected: the figures of this trial are not used.
site-trial-not-used = The figures of this trial are not used.
site-trial-rejected-then = A rejected trial is not just excluded: its block (both sides, all thread counts of this workload in this round) is measured again as a whole, as often as the report type allows.
site-trial-used = Valid: the figures of this trial are used.
site-trial-adopted = its client had been started by a task that was interrupted, and was taken over
site-attempts = Attempts
site-series = Second by second
site-series-about = Baseline: broken line. Candidate: solid line. All pictures have the same axis of time.
site-series-none = The client printed no values second by second.
site-series-errors-per-s = Errors (1/s)
site-seconds = seconds since the client's start
site-host = Host { $host }
site-partner = Compared with its partner on the other side:
site-no-partner = Its partner on the other side was not measured in this attempt.
site-gone-series = The series of the { $side } ({ $object }) is recorded but cannot be read any more: it was deleted, or the object store cannot be reached. The figures and the verdict do not depend on it. { $why }
site-gone-hosts = The host metrics of the { $side } ({ $object }) are recorded but cannot be read any more: they were deleted, or the object store cannot be reached. The figures and the verdict do not depend on them. { $why }
site-gate-status = Outcome
site-gate-observed = Observed
site-gate-bounds = Allowed
site-gate-fail = failed
site-gate-pass = passed
site-gate-not-evaluated = not evaluated
site-kind-validity = makes the trial invalid
site-kind-symptom = is kept and shown
site-figures = Figures
site-counts = What a query took
site-counts-about = All counts of the servers in this trial
site-file-counts = What a query took (CSV)
site-gone-counts = What a query of the { $side } took ({ $object }) is recorded but cannot be read any more: it was deleted, or the object store cannot be reached. The figures and the verdict do not depend on it. { $why }
site-figures-none = This trial has no figures: its client did not run, or printed none.
site-phases = Phases
site-downloads = Downloads
site-file-raw = Raw output of the client
site-file-series = Series of the client (CSV)
site-file-hosts = Host metrics (CSV)
site-other-files = Charts: { $count }
site-not-published = No report is on this machine: it has not been published yet, or was deleted. This writes it:
site-notes = Notes
site-how-far = Progress
site-trial-of = { $trial } of { $planned }
site-phase = Phase
site-left = Time left, about
site-costs = Costs
site-dollars-so-far = ${ $dollars } so far, ${ $planned } planned
site-so-far = { $count } measured so far; the latest:
site-ended = The campaign has ended.
site-ended-open = Show the answer
site-failed-failed = The campaign failed. What was measured is shown.
site-failed-complete = Everything was measured; something failed afterwards.
site-failed-in = The stage that failed: { $stage }.
site-failed-run = Its run in Airflow has the log.
site-failed-resume = Once that is mended, this resumes it, and measures no stored trial again:
site-failed-again = It cannot be resumed: start another campaign.
site-no-results-yet = No round is complete yet, so there is nothing to compare.
site-no-results-ever = No round is complete: no verdict is possible. The trials below say what was measured and why it is not used.
site-equal-load = the same for both sides
site-forest-throughput = Change of throughput with its 95% interval; shaded: within ±{ $limit }
site-forest-latency = Change of p95 latency with its 95% interval; shaded: within ±{ $limit }
site-forest-count = Change of what a transaction takes with its 95% interval; shaded: within ±{ $limit }; arrows: beyond the scale
site-shorter = ← candidate's latency shorter
site-longer = longer →
site-trials = Trials
site-trials-about = { $count }, { $rejected } not used
site-to-history = { $workload } over all campaigns
site-all-trials = All trials in the order of the plan: { $count }
site-number = No.
site-throughput = Throughput (TPS, tpmC or QPM)
site-p95-ms = p95 (ms)
site-why-not-used = Why not used
site-to-rejected = Rejected or repeated trials: { $count }
site-not-measured = not measured
site-rejected-about = Each trial's own page has the gate that failed with what it observed and what is allowed, and its series.

## Site: two campaigns

site-compare = Two campaigns side by side
site-compare-with = Put beside it
site-compare-choose = Choose two campaigns
site-compare-first = First
site-compare-second = Second
site-compare-too-few = There are not two campaigns yet. Run one: `benchlab run`, or trigger a report type's DAG.
site-compare-choice = Compare { $campaign }
site-compare-chosen = Compare the two that are ticked
site-compare-not-two = { $count ->
    [1] One campaign is ticked: tick two.
   *[other] { $count } campaigns are ticked: tick two.
}
site-versions = Two versions over all workloads
site-versions-campaigns = Two campaigns side by side
site-versions-why = Why there is no interval
site-versions-about = Each row is chained from campaigns that lead from one version to the other, and each interval is for its row alone: where nothing changed, one row in twenty still seems to have changed. A verdict takes that into account; campaigns have verdicts, this table has none.
site-two-campaigns = These are two campaigns.
site-two-campaigns-why = Their trials did not take turns, so throughputs and latencies of one must not be compared with those of the other: the same version has been seen to differ by -14% to +6% between campaigns.
site-two-campaigns-changes = What can be compared are the changes, each against the baseline of its own campaign.
site-two-campaigns-pair = One was measured after the other: whatever else changed in between, on the servers, their hosts or the network, is part of the difference, and no interval allows for it. The same version has been seen to differ by -14% to +6% between campaigns.
site-other-versions = The campaigns compare different versions, so their changes answer different questions.
site-changes-beside = Changes, each against its own baseline
site-overlap = Two intervals that do not overlap show that the changes differ. Intervals that overlap do not show that they are the same.
site-differ-plan = What differs in the plans
site-differ-environment = What differs in hosts and programs
site-differ-nothing = Nothing.
site-not-alike = Not compared
site-not-alike-why = A campaign of one version is compared with another one only where both were measured alike, one after the other.
site-pair-not-ended = { $campaign } has not ended, or ended before anything was measured.
site-pair-at-once = They were measured at the same time.
site-values-beside = Figures
site-values-about = Geometric means of the rounds, for each side of both campaigns; a difference between two campaigns is not a change that was shown.

## Findings

findings-about = A finding is one change of one workload, however many campaigns and metrics show it. Sizes are those of the newest campaign, with 95% intervals. People say what it is: known (real and explained), wanted (intended or accepted), fixed (reverted or mended) or noise (nothing changed).
findings-waiting = Findings that nobody has judged
findings-none = No campaign has shown a change yet.
findings-all = All findings
findings-listed = { $shown } of { $count } that match, of { $known } findings.
finding-number = No.
finding-changes = Changes
finding-shown = Since
finding-newest = the newest
finding-state = State
finding-state-new = new
finding-state-known = known
finding-state-wanted = wanted
finding-state-fixed = fixed
finding-state-noise = noise
finding-dearer = Dearer: { $counts }
finding-cheaper = Cheaper: { $counts }
finding-by = by { $by }
finding-again = shown again
finding-closed = closed by { $campaign }
table-markdown = Copy as Markdown
table-csv = Copy as CSV
table-copied = Copied.
table-refused = The browser does not allow it.
table-search = Search in this table
feed-title = Findings of Benchlab
feed-about = As a feed:
finding-history = History ({ $count })
finding-judge = Judge as…
finding-note = What was it?
finding-link = Link to an issue
finding-save = Save
finding-take-back = Take back
finding-no-verdict = no verdict of that campaign shows it
trust-right = { $right } of { $judged } judged findings are right: { $share } (95% interval { $interval }). Not judged: { $count }.
trust-nobody = Nobody has judged a finding yet, so it is not known how many are right. Not judged: { $count }.
trust-few = Marked as noise: { $false }, too few to show whether false findings favour a side.
trust-even = { $some } of { $false } false findings are regressions; without a bias about { $expected } would be (p { $p }). Nothing points to a bias.
trust-worse = { $some } of { $false } false findings are regressions; without a bias about { $expected } would be (p { $p }): something favours the baseline, unless improvements are judged less often (not judged: { $others }). An A/A campaign would show it.
trust-better = { $some } of { $false } false findings are improvements; without a bias about { $expected } would be (p { $p }): something favours the candidate, unless regressions are judged less often (not judged: { $others }). An A/A campaign would show it.

## Site: history

site-history-about = Changes of campaigns, chained: throughputs of different campaigns are never compared, because hosts differ by more than versions do.
site-newest-verdict = Newest verdict
site-newest-regression = Newest regression that nobody has judged
site-history-none = No campaign has compared two versions yet. A report type with a schedule measures new releases by itself; a backfill measures past ones.
site-history-published = Published only
site-history-published-about = What others published about these workloads; nothing was measured here.
site-unreadable = Left out, because it cannot be read: { $what }
site-change-point-slower = { $candidate } made { $workload } slower: { $change } throughput (95% interval { $interval }) against { $previous }, first seen on { $day }.
site-change-point-faster = { $candidate } made { $workload } faster: { $change } throughput (95% interval { $interval }) against { $previous }, first seen on { $day }.
site-change-point-dearer = { $candidate } made { $workload } dearer: { $change } { $what } per transaction (95% interval { $interval }) against { $previous }, first seen on { $day }.
site-change-point-cheaper = { $candidate } made { $workload } cheaper: { $change } { $what } per transaction (95% interval { $interval }) against { $previous }, first seen on { $day }.
site-drift = { $what } drifts: { $change } (99% interval { $interval }) over { $releases } releases, from { $oldest } to { $newest }; no single release explains it.
site-no-change = No lasting change was found since { $first }.
site-lacks-points = Too few campaigns to look for lasting changes: { $there } of { $needed }.
site-suspect = Suspected, but not separable: { $candidate } against { $previous } is { $change } (95% interval { $interval }) if the baseline { $baseline } does not differ from { $bridged }. Both were new in the same campaign, so the change may be the baseline's. This campaign would separate them:
site-suspect-takes = It takes about { $duration }.
site-suspect-costs = It takes about { $duration } and costs about { $dollars } dollars.
news-change-point = Change point
news-suspect = Suspected change
news-drift = Slow drift
news-verdict = { $verdict }: { $report }, { $candidate } against { $baseline }
news-finding = { $how ->
    [larger] { $workload } is finding { $number }, which is larger than when it was judged.
    [again] { $workload } is finding { $number }, shown again.
   *[first] { $workload } is finding { $number }.
}
news-canary-missed = Canary missed: { $report }
site-noise = The { $campaigns } A/A campaigns of this setting scatter by { $sd }% (standard deviation).
site-noise-unknown = How much campaigns vary is unknown: { $campaigns ->
    [0] there is no A/A campaign of this setting
    [one] there is 1 A/A campaign of this setting
   *[other] there are { $campaigns } A/A campaigns of this setting
}, and 5 are needed.
site-between-title = Any version against any other
site-between-first = from
site-between-second = to
site-between-go = Compare
site-between = { $second } against { $first }: { $change } (95% interval { $interval }), chained from { $campaigns ->
    [one] 1 campaign
   *[other] { $campaigns } campaigns
}.
site-between-unmeasured = { $second } against { $first }: { $change }, if { $unmeasured } did not change anything. No campaign has measured that step, so there is no interval.
site-between-unknown = { $second } against { $first }: { $change }. Its interval is unknown, because the error of a campaign in between is unknown.
site-between-nothing = Nothing connects { $first } and { $second }: no chain of campaigns leads from one to the other.
site-levels = Levels
site-level-chart = Level against { $first }, in percent, by day; bars are 95% intervals.
site-level-hint = Each point is a campaign: select it to open its page.
site-level-bridged = hollow: its baseline had not been measured as a candidate, so its level contains a step that nobody measured
site-level-outlier = crossed out: an outlier, which did not count
site-changes = Lasting changes
site-column-day = Day
site-column-candidate = Candidate
site-column-baseline = Baseline
site-column-level = Level
site-column-level-interval = 95% interval of the level
site-column-campaign = Campaign
site-first-after = first after it
site-last-before = last before it
site-other-setting = In another setting: { $differs }
site-line = Line { $line }
setting-differs = { $name } { $here }, later { $newer }
site-left-out = Not in the chain
left-out-state = { $state }, not complete
left-out-slowed = its candidate was slowed down by { $pct }% on purpose
left-out-restored = an A/A campaign restored from a dataset snapshot: deployments do not differ
left-out-aa-rounds = an A/A campaign without two whole rounds
left-out-no-round = no complete round
left-out-no-count = it has no such count
left-out-from-none = one side takes none of it, so there is no ratio
left-out-few-rounds = fewer than three complete rounds: a change cannot be distinguished from noise
left-out-at-rate = sent at a given rate: its throughput is not its own
left-out-unstable = unstable: { $why }
left-out-bisection = measured by a bisection, and the calendar has no day of its candidate
left-out-itself = compares a version with itself
left-out-older = its candidate is older than its baseline
left-out-sides = its sides differ in more than their versions: { $names }
left-out-of-line = { $fault }; measure it with `--on DAY`, or add its versions to the release calendar (`benchlab releases update`)
line-order = its candidate { $candidate } is out of the order of versions in line { $line }
line-baseline-before = its candidate { $candidate } was a baseline before
line-candidate-later = its baseline { $baseline } becomes a candidate later
site-published-title = Published by others
site-published-about = One value for each figure: no interval and no verdict. Each change is against the baseline of its own page; throughputs of different pages are not comparable.
site-column-versions = Versions
site-column-recomputed = Change, recomputed
site-column-printed = Change as printed
site-column-highest = Highest throughput
site-column-discrepancies = Discrepancies
site-column-pages = Pages

## Site: what can be done after a campaign

next-steps = Next steps
next-again = Measure again
next-again-about = { $versions }, as in this campaign
next-rounds = More rounds
next-rounds-about = { $rounds } rounds in { $deployments ->
    [one] one deployment
   *[other] { $deployments } deployments
} of each side { $decides ->
    [yes] should decide
   *[no] show smaller changes of
} { $workloads }
next-diagnose = Diagnose
next-diagnose-about = { $workloads } again, with a closer look at the servers: statements, plans, functions
next-bisect = Bisect
next-bisect-about = which release after { $first }, up to { $last }, changed { $workloads }; at most { $campaigns } campaigns, from the command line
next-takes = { $duration }, { $price }
next-not-loaded = They could not be loaded; the link says why.
next-may-not = Everybody may look at these plans. To start one, you need the right to trigger the DAG { $dag }, which Airflow's roles User, Op and Admin have.

## Site: plan

site-store-failed = The results store cannot be read; the log of Airflow's API server says why.
site-plan-about = How long a campaign would take, what it would cost and what it could find. Filling in the form starts nothing.
site-plan-none = There is no valid report type that you may see; `benchlab validate` names what is wrong with the others.
site-plan-published = Published plans
site-plan-baseline = Baseline version
site-plan-candidate = Candidate version
site-plan-workloads = Workloads
site-plan-threads = Client threads
site-plan-rounds-field = Rounds
site-plan-deployments-field = Deployments of each side
site-plan-seconds-field = Seconds per trial
site-plan-diagnose-field = Diagnosis
site-plan-diagnose = { $when ->
    [on_change] where a workload changed
    [always] always
   *[never] never
}
site-plan-diagnosis = Diagnosis
site-plan-more = { $when ->
    [on_change] where a workload changed, up to { $takes } more
   *[always] up to { $takes } more
}
site-plan-like = Begins with the versions and fields of { $campaign }, also those that are not shown here.
site-plan-own = Begin with the report type's own
site-plan-not-like = like: { $campaign }: its fields and versions cannot be taken over: it is no campaign of { $report }, the report type's file has changed, or it measured builds, which `benchlab reproduce { $campaign }` deploys again
site-plan-show = Show the plan
site-plan-asking = The plan is being computed …
site-plan-being-asked = Mirrors and servers are being asked for the rest, unless a campaign is being measured on this machine.
site-plan-stale = The figures below belong to earlier values: Airflow does not answer, or your login has expired. Change a value to try again, or reload the page.
site-plan-faults = This cannot be planned:
site-plan-not-whole = { $field }: { $found } is not a whole number
site-plan-below-one = { $field }: { $found } is less than 1
site-plan-no-report = report: { $report }: there is none; known: { $known }
fault-every-engine = { $side }: { $version } names a version of every engine ({ $engines }); say which is meant with engine=
fault-two-engines = { $side }: { $version } is a version of { $engine }, and the engine of this campaign is { $other }: both sides have to be of one engine
fault-no-version = { $side }: { $version } is not a version of any engine of this report type ({ $engines }), and no version rule; TiDB's are written v6.5.0, MariaDB's 10.11.5, and rules are: { $rules }
fault-not-published = { $side }: { $version }: { $why }; the newest in the release calendar is { $newest }
not-on-maven = there is no MariaDB { $version } on Maven Central
not-on-tiup = TiUP's mirror has no TiDB { $version }
fault-no-release = { $rule } on { $on }: there is none in the calendar; { $has }. Add it to configs/releases.csv (`benchlab releases update`), or name a version
calendar-newest = its newest release then is { $version }
calendar-none = it has no release until then
fault-one-version = engines.{ $engine }: candidate equals baseline ({ $version }); to measure the noise of one version against itself, write `sides: same` (an A/A campaign)
fault-twice = { $field }: { $values } names one twice; each cell is run once
fault-rounds = deployments: { $deployments } of each side take a round each at least, and rounds is { $rounds }
fault-pairs = deployments: { $deployments }: sides are deployed in pairs, which takes `placement: interleaved` and two sides; write 1, or leave it out
fault-design-restore = restore: after_writes: with design: { $design } nobody knows beforehand which trials come before which; write per_workload or every_trial
fault-design-sides = design: { $design }: compares two versions that take turns, which takes `sides: different` and `placement: interleaved`
fault-release-deployments = design: release: looks after three deployments at the earliest, so that { $deployments } leave nothing to save; write at least { $least } deployments, or design: fixed
fault-release-rounds = design: release: each deployment needs as many rounds as the others, but rounds is { $rounds } and deployments { $deployments }; write a multiple
fault-watch-deployments = design: watch: each round has a deployment of its own, but rounds is { $rounds } and deployments { $deployments }; write the same number for both
fault-watch-rounds = design: watch: { $rounds } rounds leave too few after the { $screening } that screen: at least { $least } are needed to confirm what they flag; write more rounds, or fewer `screening_rounds`
fault-watch-release = schedule.release_every: { $every }: with design: watch the anchor stays the same; write 0
looked-nothing = after deployment { $after }: nothing is decided that was not before
looked-some = after deployment { $after }: measured no further: { $left }
screened-nothing = nothing is flagged, so that nothing is measured again
screened-flagged = flagged and measured again: { $confirming }
screened-left-out = flagged: { $flagged }; measured again: { $confirming }; not measured again, because the budget does not suffice: { $left_out }
fault-trials = the plan has { $trials } trials, more than { $most }; take fewer rounds, threads or workloads
fault-at-most = { $field }: must be at most { $most }, found { $found }
fault-engine = engine: { $engine }: { $why }
fault-topology = topology { $topology }: { $why }
cloud-price-undecided = usd_per_hour: not known; write what TiDB Cloud's console shows for such a cluster, and the day as `priced_on`
site-plan-undecided = This cannot be run yet:
site-plan-duration = Takes about
site-plan-cost = Costs
site-plan-on-average = On average, if nothing differs
site-plan-with-everything = With every workload confirmed
site-plan-at-the-earliest = At the earliest
site-plan-takes = { $duration }, about { $dollars } dollars
site-plan-finds = Finds
site-plan-cheapest = Cheapest that finds 1.5 thresholds
site-plan-trials = Trials
site-plan-rounds-of = { $rounds }{ $deployments ->
    [1] {""}
   *[other] { " " }in { $deployments } deployments of each side
}
site-plan-rounds = Rounds
site-plan-hosts = Hosts
site-plan-steps = Steps
site-plan-command = On the command line
site-plan-start = Start this campaign
site-plan-start-hint = Triggers its DAG with these values, as you. Hosts are rented only after the approval that the report type asks for.
site-plan-paused = The DAG is paused in Airflow: what you start here waits until somebody unpauses it. If it has a schedule, it then also runs by itself.
site-plan-not-started = It was not started:
site-plan-free = nothing is rented
site-plan-unpriced = not known: a price is missing
site-plan-dollars = about { $dollars } dollars
site-plan-at-most = , at most { $dollars }
site-plan-approval = ; a person has to approve it
site-plan-finds-nothing = nothing: with one side, or fewer than three rounds, nothing is ever called a change
site-plan-finds-told = { $told } ({ $campaigns ->
    [0] { $assumed }
    [one] by the noise of 1 campaign
   *[other] by the noise of { $campaigns } campaigns
})
site-plan-cheapest-is = { $rounds } rounds in { $deployments ->
    [one] 1 deployment
   *[other] { $deployments } deployments
} of each side, { $duration }: a change of { $change }
site-plan-finds-little = not even a change of 50% in 4 of 5 campaigns, { $by }
site-plan-finds-counts = of what a transaction takes: { $counts }
site-plan-finds-change = a change of { $change } in 4 of 5 campaigns, { $by }
site-plan-by-assumption = with noise as assumed: no campaign of this setting was measured on these hosts
site-plan-by-campaigns = by the rounds of { $campaigns ->
    [one] 1 campaign
   *[other] { $campaigns } campaigns
} (the latest { $latest }){ $deployments ->
    [0] , with deployments as assumed, 1% a side
    [one] {" "}and their 1 deployment of each side
   *[other] {" "}and their { $deployments } deployments of each side
}

## Site: steps of a plan

plan-in-deployment = deployment { $deployment }: { $what }
plan-prepare = deploy, load { $dataset }, analyze, back up
plan-prepare-checked = deploy, load { $dataset }, analyze, check, back up
plan-prepare-existing = create a schema, load { $dataset }, analyze
plan-prepare-existing-checked = create a schema, load { $dataset }, analyze, check
plan-build-sysbench = build sysbench from { $archive }
plan-publish-local = checks, comparison, report; start and end of the campaign
plan-publish = checks, comparison, report
plan-end = end servers and jobs, remove data
plan-give-back = give back everything that was rented
plan-deploy = deploy the cluster with TiUP on all hosts, and start it
plan-deploy-anew = { plan-deploy }: the older side anew
plan-load = load { $dataset }
plan-load-both = load { $dataset } on both sides at once
plan-load-older = load { $dataset } on the older side
plan-keep = keep it as a dataset snapshot, by BR
plan-from-snapshot = { $dataset } from the dataset snapshot, by BR, one side after another
plan-analyze = ANALYZE TABLE, { $tables } tables at once; checksums
plan-check-load = whether the loaded dataset is consistent
plan-check-end = whether the last trial has left the dataset consistent
plan-back-up = stop the cluster, copy the data on all storage hosts at once
plan-watch-and-back-up = watch the idle cluster, stop it, copy the data on all storage hosts at once
plan-round = round { $round }
plan-measure = { $portion }, { $trials } trials of { $seconds } s{ $restores ->
    [0] {""}
    [one] , 1 restore
   *[other] , { $restores } restores
}{ $changes ->
    [0] {""}
    [one] , 1 change of configuration
   *[other] , { $changes } changes of configuration
}
plan-rent = rent { $hosts } hosts in { $region }
plan-cloud = create the TiDB Cloud cluster in { $region }
plan-cloud-and-client = { plan-cloud }, rent the client's host
plan-log-in = log in to { $hosts } hosts, check them
site-plan-step = { $stage }: { $what }

## Site: notes on a plan

site-plan-engine = engine { $engine }: { $reason }
side-both = both sides
rule-of-side = { $side }: { $named }
rule-named = { $rule } on { $on } is { $label }, { $why }
rule-released = released { $day }
rule-of-day = of { $day }
rule-measured = measured by { $campaign }
rule-newest-before = the newest release before { $label }, released { $day }: { $missing }
rule-none-measured = nothing else was measured before
rule-none-good = nothing of { $series } was measured and found good before
rule-replaced = { $label }, released { $day }, in place of { $rule }: schedule.release_every compares with the newest release this week
rule-as-if = planned as if { $rule } were { $label }, because { $why }
rule-running = { $rule } is { $label }, as { $connection } says
rule-bridge = { $new } becomes the anchor in place of { $old }, so that both are compared with each other first: what was measured against { $old } stays evidence
rule-no-bridge = { $new } becomes the anchor in place of { $old }, which cannot be deployed again ({ $why }): what was measured against it is no evidence any more
rule-aa = an A/A campaign: the candidate against itself, to know the noise
rule-canary = a canary: { $workload } alone, its candidate slowed down by { $pct }% on purpose, to see whether that is found
rule-resumed = the versions of { $campaign }, which this run resumes
warning-warehouses = dataset.warehouses: { $warehouses } for { $threads } threads: with fewer warehouses than threads the threads wait for each other's locks on the rows of `warehouse` and `district`, and that wait is measured; take as many warehouses as threads, or more
warning-records = dataset.records: { $records }: before its first operation ycsb_d, whose latest rows are read most, computes a weight for each row, so it runs for less time than requested, and its trials are rejected; take at most { $most } records for ycsb_d
warning-deletes = dataset: oltp_delete deletes a row once. From { $rate } deletes a second on, more than a third of those in { $seconds } s find none of the { $rows } rows, and finding none is what is measured; take more rows or fewer seconds
warning-not-set = engines.{ $engine }.by_workload: recorded but not set: only TiDB Cloud's support can change TiKV's parameters, on a cluster that is there; have it done on a cluster of your own, and measure that with the target existing
warning-dataset-unknown = planned as if the dataset had to be loaded, because S3 cannot be asked: { $why }
warning-not-checked = { $side }: could not check whether version { $version } exists: { $why }
unasked-version = { $side }: version { $version } is not in the release calendar, and it was not checked whether it exists
unasked-nightly = it was not checked which version { $rule } is
unasked-servers = planned as if the servers ran the newest release: they were not asked
maven-silent = Maven Central does not answer

## Stages and phases of a campaign, as its progress has them

phase-of-side = { $phase } { $side }
stage-plan = plan
stage-approve = approve
stage-register = register
stage-provision = provision
stage-prepare = prepare
stage-deploy = deploy
stage-load = load
stage-analyze = analyze
stage-check = check
stage-check-consistency = check consistency
stage-compare = compare
stage-find-invalid = find invalid trials
stage-back-up = back up
stage-measure = measure
stage-trial = trial
stage-repeats = repeats
stage-diagnose = diagnose
stage-validate = validate
stage-publish = publish
stage-verdict = verdict
stage-notify = notify
stage-give-back = give back
stage-failed = failed
calm-busy = other programs use { $share } of the CPU of { $host } ({ $most } is allowed)
calm-waits = { $busy }; waiting until they end, at most { $most } s
calm-anyway = { $busy }; trials are measured anyway, and may be invalid
calm-after = after { $seconds } s
approval-waits = waiting for a person to approve about { $dollars } dollars, under Required Actions of its run in Airflow
phase-wait-for-approval = wait for approval
phase-wait-for-calm = wait for calm
phase-calm = calm
phase-planned = planned
phase-versions = versions
phase-warning = warning
phase-check-the-machine = check the machine
phase-wait-until-it-is-free = wait until it is free
phase-local = this machine
phase-hosts = owned hosts
phase-install = install
phase-client = client
phase-deploy = deploy
phase-load = load
phase-load-all-sides = load all sides
phase-keep-the-dataset-of = keep the dataset of
phase-restore-the-dataset-of = restore the dataset of
phase-analyze = analyze
phase-check-after-load = check after load
phase-check-after-last-trial = check after last trial
phase-back-up = back up
phase-stop = stop
phase-screen = screen
phase-restore = restore
phase-configure = configure
phase-start = start
phase-ready = wait until ready
phase-check-dataset = check dataset
phase-warm-up = warm up
phase-run = run
phase-collect = collect
phase-gates = gates
phase-evaluated = evaluated
phase-left-out = left out
phase-report = report
phase-published = published
phase-sent = sent
phase-diagnose = diagnose
phase-failed = failed
phase-statements = statements
phase-cpu = CPU profiles
phase-allocations = allocation profiles
phase-done = done

## Why an engine was taken, and why a host has no figures

# Nothing but words and values: what the store has in English is known by them.
engine-named = the report type names it
engine-of-servers = its servers say so
engine-mysql = MySQL is measured as mariadb
engine-there = { $engine } is available on this machine
engine-absent = { $engine } is not available: { $why }
engine-without-tiup = TiDB { $version } is not in { $path }, and there is no `tiup` on this machine to fetch it
engine-mirror-silent = TiDB { $version } is not here, and TiUP cannot fetch it: { $why }
engine-not-on-mirror = TiDB { $version } is not here, and TiUP's mirror does not have it: `tiup list tidb --all` shows those it has
engine-without-maven = MariaDB { $version } is not installed and `mvn` is missing: run `make setup`
hosts-sampler-refused = no sampler could be started there: { $said }
hosts-sampler-absent = no sampler was started there
hosts-sampler-silent = its sampler printed no two samples; the last it printed: { $said }

## One version (`sides: single`): said in place of the message without `-single`

side-baseline-single = measured version
of-both-sides-single = { $value }
title-single = { $system } Performance Test Report for { $baseline }
subject-single = { $engine } { $baseline } was measured{ measured-how } by itself: how much throughput does it reach, and how long do its transactions take?
column-highest = Highest
column-at-threads = At threads
column-p95 = p95 (ms) there
scope-one-version = The figures describe this version as it was deployed here. Compare them with other campaigns only with care: two deployments of one version may differ by more than two releases do.
read-one-version = A figure is the geometric mean over the rounds in which its thread count has a valid trial; the faint points of the charts are the rounds.
read-one-alone = Nothing is compared: there is no interval of a change, no p value and no verdict. Every gate of a trial was evaluated, as when two versions are compared.
rounds-used-single = { $used } of { $rounds } rounds are complete; each row of the table uses the rounds in which it has a valid trial.
client-qpm-single = QPM is the number of queries per minute that these threads complete at the mean latency. go-tpc counts latencies in steps of 67 ms. A single query without an audit is not a TPC result.
client-tpmc-single = tpmC is the number of New Order transactions per minute, measured without TPC-C's keying and think times and without an audit: it is not a TPC result.
cost-about-single = The servers' hosts cost ${ $hourly } an hour (list prices of { $day }). The client's host, storage billed separately, and traffic are not included. Each price is at the thread count with the highest throughput. Intervals need three rounds; they reflect how throughput varies between deployments or, with only one deployment, between its rounds.
gates-symptom-single = Symptom gates, over all executed trials or over all thread counts ({ $counted }); the measured version may be the cause, so no trial is excluded.
parameters-none-single = No parameters are set for { $baseline }: its defaults apply.
parameters-same-single = These parameters are set for { $baseline }.
shared-machine-single = { $balancer ->
    [none] Client and server share
   *[haproxy] Client, load balancer and server share
} one machine (cores: { $cores }): the figures say what this version reaches here, and cannot be compared with anything measured elsewhere.
fleet-restored-dataset-single = The dataset was restored from a dataset snapshot. It has the rows that were loaded once, but a restore writes them to disk in order and without the traces of loading: throughput may differ from that of a campaign that loads its dataset.
ended-in-stage-single = { $phase }: { $said }
hardware-replaced-single = After { $after ->
    [one] one trial
   *[other] { $after } trials
} { $count ->
    [one] a host was lost and replaced
   *[other] hosts were lost and replaced
}: { $hosts }. The servers were then deployed and loaded again: trials before and after that belong to two deployments.
step-deploy-single = Deploy { $engine } { $baseline } { $where ->
    [tiup] with TiUP
    [fleet] on its hosts
   *[machine] with a data directory and a port of its own
}.
step-load-single = Load { $dataset }.
step-restore-dataset-single = { $by ->
    [this] Load { $dataset } with the client, save them as a dataset snapshot, and restore them from that.
   *[earlier] Restore { $dataset } from a dataset snapshot; an earlier campaign loaded them with the client.
}
step-consistency-single = Check TPC-C's consistency conditions (clause 3.3.2) { $moments ->
    [load] after the load
    [last-trial] after the last trial
   *[both] after the load and once more after the last trial
}.
step-snapshot-single = Stop the servers and take a snapshot of the data.
step-sequential-single = { $rounds ->
    [one] Measure 1 round:
   *[other] Measure { $rounds } rounds:
} each workload once, in the order of the report type, at { $threads } client threads.
commands-load-single = Load the tables
series-summary-single = Second by second: { $count } trials
series-about-single = { $metric }; below it CPU and disk of the busiest host, from idle to fully busy. Every picture has its own scale of { $metric }.
software-alike-single = The servers of a component are configured alike: the digests of their effective configurations agree.
consistency-both-single = TPC-C's consistency conditions (clause 3.3.2): { $told }.
stopped-by-deployment-single = Measuring stopped early: the servers could not be deployed again.
head-both-sides-single = Parameters that were set
sources-single = trials.csv has one row per executed trial. The figure at a thread count is the geometric mean over its used rows. { sources-raw } comparison.csv and report.json have the figures unrounded. If evidence.zip lies beside this report, the command benchlab verify recomputes its figures from the raw outputs, and lists what it could not recompute.
restored-alone-from = { $source ->
    [client] loaded anew by the client
   *[snapshot] restored from the snapshot
}
restore-every-trial-single = Before every trial the data are { restored-alone-from }.
restore-after-writes-single = Before a trial the data are { restored-alone-from } if anything was written since the last restore.
restore-per-workload-single = Before each block the data are { restored-alone-from }; each later trial of the block runs on what the one before it left.
site-plan-baseline-single = Version
site-plan-deployments-field-single = Deployments
