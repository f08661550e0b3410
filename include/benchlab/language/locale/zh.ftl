### 报告文字，简体中文。

## 两方

side-baseline = 基线
side-candidate = 候选

## 结论的原因

reason-rounds = 完整轮次数为 { $rounds }：太少，至少需要三个完整轮次才能把变化与噪声区分开
reason-small = 两方确有差异（校正后的 p 值为 { $p }），但估计值小于 { $limit }%，而 90% 置信区间超出了这一范围
reason-certain = 候选一方确实{ $how ->
    [faster] 更快
    [slower] 更慢
    [cheaper] 更省
    [dearer] 更费
    [better] 更好
   *[worse] 更差
}（校正后的 p 值为 { $p }），但幅度小于 { $limit }%
reason-holm = 单独看，置信区间不包含零；但计入报告的全部检验后则不然（校正后的 p 值为 { $p }）
reason-coarse = 数据的有效位数太少，既不能证明也不能排除 { $limit }% 的变化
reason-noise = 各轮次之间差异过大，既不能证明也不能排除 { $limit }% 的变化
reason-the-same = 双方每次试验的消耗都相同：{ $after }
reason-by-construction = 双方的差异是确定的：一方每次试验都是 { $before }，另一方是 { $after }
reason-none-on-one-side = 一方每次试验都没有，另一方每次约为 { $some }
reason-undecidable = 本计划无法判定：按其数据的离散程度，既不能证明也不能排除 { $limit }% 的变化；{ $unit ->
    [none] 增加轮次没有帮助，因为服务器之间的差异是假定的
   *[other] 要判定需要{ $most ->
        [yes] 超过 { $count }
       *[no] 约 { $count }
    } { $unit ->
        [rounds] 个轮次
       *[deployments] 次部署（每一方）
    }
}
reason-before-look = { $planned } 次部署中完成了 { $done } 次，第一次查看在第 { $first } 次之后
reason-not-yet = 在 { $planned } 次部署中的 { $done } 次之后尚无结论
reason-looked = { $planned } 次部署中的 { $done } 次得出了结论，而变化的大小决定了何时结束：考虑到这一点，变化为 { $change }%
reason-winners-curse = 真实变化很可能小于这一估计值（赢家诅咒）：置信区间延伸到了 { $limit }% 以内
reason-nothing-seen = 没有看到新的变化；{ $chances }
watch-chances = { $large }% 的损失在其开始的那次测试活动中被报告的概率至少为 { $now }%，到下一次为 { $soon }%；{ $small }% 的损失在 { $weeks } 次之内为 { $later }%
reason-flagged = 已被标记（{ $weeks } 次测试活动平均 { $change }%），但{ $why ->
    [missing] 全新部署上没有有效数值
   *[budget] 因预算不足没有再次测量
}
reason-confirmed = 先被标记（{ $weeks } 次测试活动平均 { $change }%），又在 { $deployments } 次全新部署上得到证实，数值即来自这些部署；在其他构建也显示出来之前，只能说是本构建的变化
reason-confirmed-beside = 因为该负载的另一项数值被标记，它也在 { $deployments } 次全新部署上测量，数值即来自这些部署；在其他构建也显示出来之前，只能说是本构建的变化
reason-not-confirmed = 曾被标记（{ $weeks } 次测试活动平均 { $change }%），但 { $deployments } 次全新部署没有证实{ $goes_on ->
    [yes] 也没有否定，它们计入后续证据
   *[no] {""}
}，数值即来自这些部署
reason-known = 已知的变化（{ $lasts ->
    [yes] 在 { $build } 中证实，之后的构建也显示出来
   *[no] 在 { $build } 中证实，尚无其他构建显示出来
}）：相对于锚点为 { $change }%，估计值由此起算
reason-quieter = 各轮次或各次部署的离散程度大于之前的测试活动（方差为其 { $times } 倍），因此它们所显示的部署差异按同样的倍数放大
reason-threads-absent = 半数或更多轮次中缺少某一方数据的并发数已排除：{ $threads }
reason-lost-one-side = 有 { $count } 次试验没有有效结果，且都在{ $side }一方
reason-lost = 有 { $count } 次试验没有有效结果（基线一方 { $baseline } 次，候选一方 { $candidate } 次）
reason-lost-beside-one-side = 有 { $count } 次试验没有 { $metric }，且都在{ $side }一方
reason-lost-beside = 有 { $count } 次试验没有 { $metric }（基线一方 { $baseline } 次，候选一方 { $candidate } 次）
reason-left-out = 有 { $count } 次试验不参与比较：检查项 { $gate } 未通过（预期：{ $sentence }）
reason-again = 其所在的测试块已重新测试
reason-cut = 其所在的测试块因中断而被切断
diagnosis-foreign = 不是由 Benchlab 部署的服务器不做诊断
diagnosis-stopped = 测量已停止，没有做诊断
diagnosis-gone = 两侧已不在部署状态，没有做诊断
diagnosis-late = { $workload }：{ $kind }缺失或不完整，因为诊断最多占用计划时间的四分之一
diagnosis-dear = { $workload }：{ $kind }缺失或不完整，因为预算不够支付更多试验
diagnosis-ended = { $kind }：{ $said }。可能正是因为被观察而终止，因此不再以这种方式观察同类服务器
look-statements = 语句和执行计划
look-cpu = CPU 剖析
look-allocations = 内存分配剖析
reason-not-executed = 尝试 { $tries } 次均未能执行：{ $why }
reason-host-lost = 其间失去了主机 { $host }：{ $why }
reason-invalid = 检查项 { $gate } 未通过：实际为 { $found }，允许范围：{ $bounds }（预期：{ $sentence }）
no-number = 非数值
ended-server = { $host } 上的 { $server } { $how }；日志的最后几行：{ $log }
ended-again = 于 { $at } 终止，systemd 于 { $again } 将其重新启动
ended-waiting = 于 { $at } 终止；查询时 systemd 尚未将其重新启动
ended-stays = 于 { $at } 终止，systemd 不会将其重新启动
ended-unseen = 没有应答或曾被重新启动，其主机的 systemd 没有其终止的记录
ended-host-silent = 没有应答，其主机也没有应答（{ $why }）
ended-code = 以退出码 { $code } 终止
ended-signal = 被信号 { $signal } 终止
ended-unknown = 已经终止，退出码未知
ended-no-log = 没有可以读取的内容
ended-in-stage = { $phase }（{ $side }）：{ $said }
bounds-most = 不超过 { $most }
bounds-least = 不低于 { $least }
bounds-both = { $least } 到 { $most }
bounds-unknown = 未知
reason-unsound = { $side }一方：{ $why }
reason-after-last-trial = 最后一次试验之后，{ $fault }
condition-fault = 不满足 TPC-C 一致性条件 { $clause }：{ $sentence }（{ $violations } 处违反）
reason-symptom = 症状 { $gate } { $where }（预期：{ $sentence }）
reason-errors = 客户端遇到错误，{ $where }
reason-gate = 检查项 { $gate } 未通过（预期：{ $sentence }）
reason-rejected = 在所有负载和所有尝试中，{ $side }一方有 { $count } 次试验未通过有效性检查，另一方有 { $against } 次（p 值为 { $p }），其中本负载有 { $own } 次；{ $bounds }
reason-rejected-change = { $side }一方未通过有效性检查的试验较多，共 { $count } 次{ $times ->
    [none] {""}
   *[other] ，可能掩盖 { $times } 倍阈值的变化
}，因此不判为持平；{ $bounds }
rejected-bounds = 计入被剔除的数据时吞吐量变化为 { $rejected }%，不计入时为 { $without }%
rejected-unbounded = 被剔除的试验没有数据，无法估计其影响的范围
reason-headroom = 在 { $threads } 个线程时，{ $side }一方的客户端或负载均衡器用掉了分配给它的 CPU 的 { $share }%：达到极限的客户端会掩盖服务器的真实能力
reason-plateau = 两方在 { $threads } 个线程时的吞吐量都没有比 { $fewer } 个线程时高出 5% 以上，而客户端的 CPU 用量未知：达到极限的客户端也会呈现同样的现象
reason-never-both = 没有一轮在两方都有结果
reason-one-side-twice = { $of } 轮中有 { $rounds } 轮两方的数值直到最后一位都相同：很可能把一方的数据误贴成了另一方的
reason-rounds-twice = 以下轮次的数值与之前轮次的直到最后一位都相同，很可能重复粘贴：{ $rounds }
reason-moved = 在 { $threads } 个线程时吞吐量变化了 { $change }%，与其他线程数不同：平均相等并不等于相等
where-trials-only = 只出现在{ $side }一方，共 { $count } 次试验
where-trials-more = 在{ $side }一方明显更多，{ $count } 次试验对 { $against } 次
where-cells-only = 只出现在{ $side }一方，共 { $count } 个线程数
where-cells-more = 在{ $side }一方明显更多，{ $count } 个线程数对 { $against } 个
where-errors-only = 只出现在{ $side }一方，共 { $count } 个错误
where-errors-more = 在{ $side }一方明显更多，{ $count } 个错误对 { $against } 个

## 文字之间的连接

between-sentences = { "" }
separator-items = 、
separator-clauses = ；
at = { $where }：{ $what }
clauses = { $first }；{ $more }
and-more = { $shown } 等，另有 { $more } 项
of-each-side = 基线：{ $baseline }；候选：{ $candidate }
of-both-sides = { $value }（两方相同）
time-pattern = yyyy 年 M 月 d 日 HH:mm:ss (UTC)
campaign-page = 测试活动的页面，包含每次试验
also-in = 其他语言：{ $pages }
recorded-texts = 服务器、主机、试验和报告类型所记录的文字保留英文原文。

## 标题与概况

title = { $system } 性能对比测试报告 - { $candidate } 对比 { $baseline }
title-aa = { $system } 性能测试报告 - { $version } 与自身对比 (A/A)
label-apart = { $version } ({ $apart })
label-slowdown = 人为减速 { $limit }
measured-how = { $client ->
    [none] { "" }
   *[other] 使用 { $client }{ " " }
}{ $where ->
    [machine] { "" }
    [rented] 在 { $hosts } 台 EC2 主机上
   *[owned] 在 { $hosts } 台主机上
}
subject = 本次测试{ measured-how }对比了 { $engine } { $candidate }（候选）与 { $baseline }（基线）：吞吐变化了多少？测得的数字是否可信？
subject-aa = 两方均为 { $engine } { $version }，各自独立部署并导入数据：这是一次{ measured-how }进行的 A/A 测试，只用于衡量测量本身的噪声，不说明其他版本的性能。
subject-slowdown = 本次测试{ measured-how }对比了人为减速 { $limit } 的 { $engine } { $candidate }（候选）与 { $baseline }（基线），目的是检验 Benchlab 能否发现这一幅度的减速。测试结论不代表候选版本的性能。

## 开头两句

opening = { $said }。
opening-so-far = 截至目前：{ $said }
opening-side = { $side } { $does }
opening-at = { $workload }（{ $change }）
opening-improvement = 在 { $each }上更快
opening-regression = 在 { $each }上更慢
opening-shorter = 在 { $each }上{ $latency }更短
opening-longer = 在 { $each }上{ $latency }更长
opening-cheaper = 每个事务更省：{ $each }
opening-dearer = 每个事务更费：{ $each }
opening-equivalent = { $aa ->
    [yes] 两方在 { $each } 上持平
   *[no] 在 { $each } 上持平
}
opening-unstable = { $each } 不作结论（{ verdict-unstable }）
opening-undecided = { of-undecided }无法判定
opening-beside = { $each }的吞吐无法判定
opening-beside-watch = { $each }的吞吐未见变化
opening-undecided-watch = { of-undecided }未见变化
of-undecided = { $which ->
    [one] { $workload } { "" }
    [all] 全部{ opening-count }个负载都
   *[others] 其余{ opening-count }个负载
}
opening-count = { $count ->
    [2] 两
    [3] 三
    [4] 四
    [5] 五
    [6] 六
    [7] 七
    [8] 八
    [9] 九
   *[other] { " " }{ $count }{ " " }
}
opening-known = 此前已知、不重复计入：{ $each }（相对于 { $baseline }）
opening-one-version = { $side } 达到 { $each }；仅单独测量，因此没有结论
opening-highest = { $workload } { $highest } { $metric }（{ $threads } 个线程）
opening-canary = 金丝雀测试：人为减速 { $limit }，{ $found ->
    [yes] 已被发现：{ $workload } { $change }
   *[no] 未被发现：{ $workload } { $change }，{ $verdict }
}
opening-aa = { $version } 的 A/A 测试：{ $count ->
    [0] 没有误报
   *[other] { $count } 个误报，{ $each }
}
trust = { $trials }；{ $setting }：{ $reach }。
trust-alone = { $trials }；{ $setting }。
trust-trials = { $ended ->
    [live] 截至目前 { $planned } 次试验中 { $used } 次有效，其余尚待测量
   *[other] { $planned } 次试验中 { $used } 次有效
}{ $again ->
    [0] {""}
   *[other] ，{ $again } 次重新测量
}{ $ended ->
    [stopped] ，测量提前停止
   *[other] {""}
}
trust-machine = { $cores ->
    [none] 同一台机器
   *[other] 共用 { $cores } 个核
}
trust-seconds = 每次试验 { $seconds } 秒
trust-slowdown = 候选被人为减速 { $limit }
trust-sequential = 两方先后测量
trust-two-campaigns = 不同时间的两次测试活动
trust-prior = 部署之间的差异是假定的
trust-deployments = 每一方 { $deployments } 次部署
trust-aa-campaigns = 部署之间的差异由 { $campaigns } 次 A/A 测试{ and-earlier }得知
trust-earlier-campaigns = 部署之间的差异由之前的 { $earlier } 次测试活动得知
trust-weeks = 部署之间的差异由之前的测试活动得知
trust-few-rounds = 不足三轮，无法区分变化与噪声
trust-reach-none = 即使减半或翻倍也可能是噪声
trust-reach = { $each ->
    [yes] { $least } 至 { $most } 以内（因负载而异）
   *[no] { $most } 以内
}的变化可能是噪声

## 结论

about-cores = { $cores } 核
about-hosts = { $hosts } 台{ $rented ->
    [yes] EC2 主机
   *[no] 主机
}
about-separator = { " · " }
taken-of-load = 不作判定：取决于负载
answer-dearer = { $count } 项更费
answer-cheaper = { $count } 项更省
change-dearer-none = 从无到有
change-cheaper-none = 从有到无
answer-regression = { $count } 个退化
answer-improvement = { $count } 个提升
answer-false-alarm = { $count } 个误报
answer-unstable = { $count } 个结果不稳定
answer-inconclusive = { $count } 个无法判定
answer-inconclusive-watch = { $count } 个未见变化
answer-equivalent = { $count } 个持平
answer-named = { $count }（{ $each }）
answer-change = { $workload } { $change }
answer-nothing = 没有测试任何负载
answer-more = 另有 { $more } 行见测试活动页面。
answer-later = 事后才知：计入本测试活动之后结束的 { $campaigns } 个 A/A 测试活动，结论将是：{ $answer }
answer-page = 测试活动页面
answer-reasons = 原因与可信程度
and-earlier = { $earlier ->
    [0] {""}
   *[other] 和之前的 { $earlier } 次测试活动
}

## 结论

verdict-dearer = 更费
verdict-cheaper = 更省
verdict-regression = 性能退化
verdict-improvement = 性能提升
verdict-equivalent = 持平
verdict-inconclusive = 无法判定
verdict-inconclusive-watch = 未见变化
verdict-unstable = 结果不稳定
verdict-false-alarm = { $verdict }（误报）
false-alarm = 两方为同一版本，因此这是一次误报。
estimate-alone = 估计值 { $estimate }
estimate-without-interval = 估计值 { $estimate }（无置信区间）
estimate-with-interval = 估计值 { $estimate }（95% 置信区间 { $interval }）
interval-told = 95% 置信区间 { $interval }，校正后的 p 值 { $p }
arithmetic-sentence = 各线程数变化百分比的算术平均值为 { $mean }。
outcome-change = { $verdict ->
    [improvement] 与 { $baseline } 相比，{ $candidate } 的 { $workload } { $metric } 提升了 { $size }（{ $told }）。
   *[regression] 与 { $baseline } 相比，{ $candidate } 的 { $workload } { $metric } 下降了 { $size }（{ $told }）。
}
outcome-at-rate = { $workload }：两侧每秒都收到相同的 { $rate } 个事务。
outcome-equivalent = { $candidate } 与 { $baseline } 的 { $workload } { $metric } 持平：变化的 90% 置信区间在 ±{ $limit } 之内；{ $figures }。
outcome-unstable = { $workload } 结果不稳定，不作结论，原因是{ $because }；{ $figures }。
outcome-inconclusive = { $workload } 无法判定：既未证实、也未排除 { $limit } 或更大的变化（{ $because }）；{ $figures }。
outcome-inconclusive-watch = { $workload }：没有可报告的 { $limit } 或更大的变化（{ $because }）；{ $figures }。
note = 注意：{ $because }。
note-label = 注意：
reach = { $low } 与 { $high } 之间的任何变化都在噪声范围之内
reach-none = 即使减半或加倍也在噪声范围之内
reach-of-several = 单看该负载，估计值超出了噪声范围（{ $low } 至 { $high }），但计入报告的全部检验后则不然
why-sequential = 两方先后测试，因此无法区分主机状态的漂移与版本带来的差异
rounds-used = 估计值来自 { $rounds } 个轮次中完整的 { $used } 个；表中每一行来自该行两方均有有效试验的轮次。
rounds-used-watch = 估计值来自 { $used } 个轮次，每个轮次各有一次部署；表中每一行来自该行两方均有有效试验的所有轮次。
latency-unknown = { $reasons ->
    [0] { $workload } 的 { $latency }：估计值 { $missing }。
   *[other] { $workload } 的 { $latency }：估计值 { $missing }，原因是{ $because }。
}
latency-change = { $verdict ->
    [improvement] 与 { $baseline } 相比，{ $candidate } 的 { $workload } { $latency }缩短了 { $size }（{ verdict-improvement }；{ $told }）。
   *[regression] 与 { $baseline } 相比，{ $candidate } 的 { $workload } { $latency }增加了 { $size }（{ verdict-regression }；{ $told }）。
}
latency-otherwise = { $reasons ->
    [0] { $workload } 的 { $latency }：{ $verdict }（估计值 { $estimate }，{ $told }）。
   *[other] { $workload } 的 { $latency }：{ $verdict }（估计值 { $estimate }，{ $told }），原因是{ $because }。
}
latency-otherwise-watch = { $reasons ->
    [0] { $workload } 的 { $latency }：{ $verdict }（估计值 { $estimate }，{ $told }）。
   *[other] { $workload } 的 { $latency }：{ $verdict }（估计值 { $estimate }，{ $told }）：{ $because }。
}
latency-in-short = { $latency }：{ $verdict }，{ $estimate }
latency-in-short-unknown = { $latency }：{ $missing }
moved = 线程数为 { $threads } 时，吞吐变化了 { $change }，相对其余线程数变化了 { $against }：仅看所有线程数的平均值无法发现这一点。

## 结论的适用范围

basis-of-intervals = { $which ->
    [all] 这些置信区间
   *[some] { $workloads } 的置信区间
}针对两个版本本身，而不仅限于本次部署
basis-deployments = { basis-of-intervals }：每一方部署并写入数据 { $deployments } 次，各次部署之间的差异已计入其中。
basis-aa-campaigns = { basis-of-intervals }：不同部署之间的差异已由该报告类型的 { $campaigns } 次 A/A 测试{ and-earlier }得知，并已计入其中。
basis-earlier-campaigns = { basis-of-intervals }：不同部署之间的差异已由该报告类型之前的 { $earlier } 次测试活动得知，并已计入其中。
basis-weeks = 该报告类型的每次测试活动都以少量部署把一个构建与同一锚点比较；各次合起来所显示的变化先被标记，再在全新部署上测量，证实后才报告。部署之间和各次测试活动之间的差异由这些测试活动得知，并已计入置信区间。
basis-prior = { basis-of-intervals }：{ $again ->
    [no] 没有测量结果能说明同一版本的服务器之间的差异，因此假定每一方为 ±{ $side }。服务器不会重新部署，多次部署和 A/A 测试都无法取代这一假定；再比较同一版本的两次测试活动，可以了解没有变化时差异有多大。
    [again] 每一方在测试活动中途重新部署并重新写入数据，几乎没有测量结果能说明不同部署之间的差异，因此假定每一方为 ±{ $side }（目前已有 { $campaigns } 次 A/A 测试）。多次部署或该报告类型的 A/A 测试可取代这一假定，并且通常会使区间变窄。
   *[yes] 每一方只部署一次、写入数据一次，几乎没有测量结果能说明不同部署之间的差异，因此假定每一方为 ±{ $side }（目前已有 { $campaigns } 次 A/A 测试）。多次部署或该报告类型的 A/A 测试可取代这一假定，并且通常会使区间变窄。
}
calibration-age = { $days ->
    [0] 最近一次 A/A 测试与本次测试在同一天。
   *[other] 最近一次 A/A 测试与本次测试相距 { $days } 天。
}
rounds-alone-each = { $workload } { $interval }
rounds-alone = { $deployments ->
    [one] 仅就本次部署的各轮次而言
   *[other] 仅就这几次部署的各轮次而言
}（不能说明下一次部署），95% 置信区间为：{ $each }。
scope-two-campaigns = 这是在不同时间进行的两次测试活动（{ $before } 和 { $after }），未交错执行：其间服务器、主机或网络上发生的任何其他变化都会计入差异，而任何置信区间都没有考虑这些变化。
scope-sequential = 两方测试之间发生的其他变化也会计入两方的差异：基线的所有测试均在候选之前完成。
scope-few-rounds = 由于轮次少于三个，无法区分变化与噪声，因此所有结论都只能是“无法判定”或“结果不稳定”。

## 客户端

client-made = 以上数据由 { $client } 测得。不同客户端测得的数据不可相互比较。
client-unknown = 未记录的客户端（{ $missing }）
client-tpmc = tpmC 为每分钟完成的 New Order 事务数，不含 TPC-C 规定的键入时间与思考时间，也未经审计：仅用于比较两方，并非 TPC 意义上的测试结果。
client-qpm = QPM 为这些线程按平均延迟每分钟完成的查询数。go-tpc 以 67 ms 为步长统计延迟，区间已包含其影响。单条查询且未经审计，并非 TPC 意义上的测试结果。
details = 各线程数下的其他数据：各轮次的几何平均值。
details-go-tpc = go-tpc 的百分位值较为粗略：其延迟统计的步长在 17 ms 以内为 0.5 ms，超过后为 3% 至 6%，且不超过 16 s。

## 结果质量

trials-counted = 试验：计划 { $planned } 个，执行 { $executed } 个，采用 { $used } 个。
repeats-none = 重新测试的测试块：无。
repeats = 重新测试的测试块（{ $count }）：{ $each }。
repeats-many = 重新测试的测试块（{ $count }）：{ $each }。原因见“未采用的试验”。
repeats-of = { $workload } { $count } 个
repeat = 第 { $round } 轮的 { $workload }，共测试 { $attempts } 次
repeat-because = { repeat }（{ $because }）
servers-ended = 在准备或检查数据的阶段期间或即将开始前自行终止的服务器（{ $count }）：{ $each }。各阶段自身的检查均已通过，因此继续进行；其用时不用于以后的估算。
missing-none = 计划内但没有有效结果的试验：无。
missing-trials = 计划内但没有有效结果的试验（{ $count }）：{ $trials }。
stopped-by-limit = 测试提前结束：若再执行一次试验，主机费用将超过预算上限 ${ $limit }。
stopped-by-lost = 测试提前结束：有主机丢失且无法替换。
stopped-by-deployment = 测试提前结束：无法重新部署两方。
stopped-by-changed = 测试提前结束：有服务器在测试期间被升级，后续试验测到的将是另一个版本。
stopped-by-lifetime = 测试提前结束：主机的租用时间不足以再执行一次试验。
trials-reporting = 在报告了该项的 { $trials } 次试验中
errors-unknown = 客户端忽略的错误：{ $missing }，没有试验报告该项。
errors-none = 客户端忽略的错误：{ trials-reporting }均无。
errors-counted = 客户端忽略的错误：{ trials-reporting }共 { $total } 个（{ $each }）。
reconnects-unknown = 客户端重连：{ $missing }，没有试验报告该项。
reconnects-none = 客户端重连：{ trials-reporting }均无。
reconnects-counted = 客户端重连：{ trials-reporting }共 { $total } 次（{ $each }）。
rounds-used-each = 计划 { $rounds } 个轮次，实际采用的轮次数：{ $each }。
rounds-used-each-watch = 估计值所用的轮次：{ $each }。
gates-counted = { $passed } 项通过，{ $failed } 项未通过，{ $unseen } 项从未评估
gates-none = 未评估任何检查项。
gates-validity = 有效性检查项，覆盖所有已执行的试验（{ $counted }）；任一项未通过的试验不予采用。
validation-holds = 本报告满足 { $tables } 张表的 { $count } 项期望。
validation-failed = { $tables } 张表的 { $count } 项期望中有 { $failed } 项不成立：本报告仅为草稿。
validation-about = 发布之前，Great Expectations 已将本报告的内容与计划、结果库以及由试验重新计算的数值作了比对。
validation-failure = 表 { $table }，行 { $row }，列 { $column }：实为 { $found }，应 { $expected }
gates-unseen-work = background_work 从未评估：{ $engine ->
    [tidb] TiDB 不向该账户显示所有库的 DDL（需要 PROCESS 权限以及 mysql.analyze_jobs 的 SELECT 权限），或者版本早于 v6.1 而无从得知
   *[other] 对于他人运行的 MariaDB 和 MySQL，Benchlab 不统计其他人的 ANALYZE、DDL 和备份
}。试验期间是否执行过这些操作，不得而知。
gates-symptom = 症状检查项，覆盖所有已执行的试验、每一方的各个线程数，或整个测试活动的各个负载（{ $counted }）；这些现象可能由候选自身引起，因此予以保留。
symptom = 症状 { $gate }（预期：{ $sentence }）：{ $places }。
symptom-places = { $side }一方 { $count } 处（{ $places }）
excluded-summary = 数据未被采用的已执行试验：{ $count }
quality-cell = { $workload }，{ $threads } 线程

## 变量与参数

variables-unknown = 生效的变量：{ $missing }；两方除要求的差异之外是否还有其他差异，无从得知。
variables-found = 两方共有的生效设置项：{ $compared } 个。取值不同、而报告类型并未作此要求的（通常是默认值发生了变化）：{ $changed } 个。仅基线有的：{ $baseline } 个；仅候选有的：{ $candidate } 个。因在任意两台服务器之间都不同（版本、端口、路径、标识）而未列出的：{ $trivial } 个。
variables-changed = 在两方取值不同：{ $count }
variables-only = 仅 { $side } 有：{ $count }
variables-asked-alike = 要求两方相同、实际却不同的项：{ $names }。
parameters-none = { $baseline } 和 { $candidate } 均未指定任何参数，使用默认值。
parameters-same = 对 { $baseline } 和 { $candidate } 要求了相同的参数。
parameters-different = 对 { $baseline } 和 { $candidate } 要求了不同的参数，如下所列。
parameters-not-set = 以下参数仅为所要求的值，并未生效：只有 TiDB Cloud 的技术支持才能修改。所有负载均使用 TiDB Cloud 自身的配置。
parameters-defaults = { $whose ->
    [others] 无，按服务器现有的配置测试。
   *[ours] 无，使用默认值。
}
parameters-items = { $service } 参数配置
parameters-variables = TiDB 全局变量配置
parameters-of-side = { $heading }，仅{ $side }（{ $version }）
parameters-of-workload = { $heading }，仅在测量 { $workload } 时
value-cut = { $value }…（共 { $length } 个字符）

## 测试环境

environment = 测试环境
environment-ec2 = 测试环境 (AWS EC2)
shared-machine = { $balancer ->
    [none] 客户端和服务器共用
   *[haproxy] 客户端、负载均衡器和服务器共用
}一台机器（核数：{ $cores }）：所得数据只能用于两方之间的相互比较，不能与其他环境测得的数据比较。
haproxy-settings = HAProxy 按报告类型中的设置运行：{ $settings }。
note-cloud = 版本与配置由 TiDB Cloud 决定，集群由其运维：看不到其主机，也没有这些主机的指标。恢复数据即重新导入各表，行数相同，值不同。
note-existing = 服务器由他人运行：看不到服务器及其主机上的其他负载，也没有这些主机的指标。报告中的核数、内存和系统均为客户端所在主机的。恢复数据即重新导入各表，行数相同，值不同。
engine-chosen = 引擎 { $engine }（选用原因：{ $reason }）。
fleet-same-hosts = 两方的集群部署在相同的主机上，同一时刻只运行其中一个，因此两方的差异不可能由主机之间的差异造成。
fleet-client-host = 其所在主机
fleet-entry = 客户端连接到本机（{ $host }，端口 { $port }）上的 HAProxy，{ $others ->
    [none] 该主机上没有运行其他服务
   *[other] 该主机同时运行 { $others }：压测客户端与服务器会相互争用资源
}。HAProxy 将连接轮流 (roundrobin) 转发到 { $servers ->
    [0] 唯一的 TiDB 服务器
    [1] 唯一的 TiDB 服务器
   *[other] { $servers } 台 TiDB 服务器
}。
fleet-entry-direct = 客户端位于其所在主机（{ $host }），{ $others ->
    [none] 该主机上没有运行其他服务
   *[other] 该主机同时运行 { $others }：压测客户端与服务器会相互争用资源
}；{ $to ->
    [endpoint] 它连接到 TiDB Cloud 的端点。
   *[server] 它直接连接到唯一的 TiDB 服务器，没有负载均衡器。
}
fleet-sequential = 两方按先后顺序测试：基线的所有测试均在候选之前完成。其间主机或云环境发生的任何变化都会计入两方的差异，而不体现在任何置信区间中。
fleet-restored-dataset = 两方的数据集均从数据集快照恢复。其中的数据行与当初导入时相同，但在磁盘上按恢复时的写入顺序存放，没有导入过程留下的痕迹：吞吐可能与重新导入数据集的测试不同。
published-document = 本次测试按照文档“{ $document }”的方案重新进行。该文档的数据来自其他主机和其他时间：其中的变化幅度可以与本报告的变化幅度对照，吞吐的绝对值则不可对照。
published-differences = 除启动测试时所作的选择之外，本方案与该文档的不同之处如下：
published-tool = { $version }（已发布的文档：{ $published }）
machine-hostname = 主机名
machine-os = 操作系统
machine-kernel = 内核
machine-cpu = CPU
machine-cores = 核数
machine-memory = 内存
machine-disk = 磁盘
machine-filesystem = 文件系统
tool-client = 客户端
tool-tiup-script = TiUP 安装脚本
tool-tiup-mirror = TiUP 镜像源

## 测试方案

step-cloud = 为本次测试创建一个 TiDB Cloud Dedicated 集群（{ $engine } { $versions }），测试结束后删除。
step-existing = 就地测试现有的 { $engine } { $versions }：不部署、不配置、不停止、不重启任何服务器，只创建并删除一个 schema。
step-deploy = { $where ->
    [tiup] 通过 TiUP 在相同的主机上
    [fleet] 在相同的主机上
   *[machine] 在同一台机器上
}部署 { $engine } { $baseline }（基线）和{ $candidate ->
    [same] 另一套相同的版本
   *[other] { " " }{ $candidate }
}（候选），{ $where ->
    [tiup] 各自为独立的集群，使用各自的目录和端口
    [fleet] 各自为独立的集群，使用各自的目录和端口
   *[machine] 各自使用独立的数据目录，端口相同
}；{ $loaded ->
    [together] 除同时导入数据外，
   *[apart] { "" }
}同一时刻只运行其中一方。
step-ports = { $deployments ->
    [one] 哪一方使用哪组端口由随机决定。
   *[other] 哪一方使用哪组端口由随机决定，并在每次新的部署时互换。
}
dataset-tables = { $tables } 张表（每张表 { $rows } 行数据）
dataset-warehouses = { $warehouses } 个 TPC-C warehouse
dataset-records = { $records } 条 YCSB 记录
dataset-scale-factor = scale factor 为 { $factor } 的 TPC-H 数据
step-load = 向每一方导入 { $dataset }。
step-restore-dataset = { $by ->
    [this] 用客户端导入 { $dataset }，保存为数据集快照，再从该快照恢复到每一方。
   *[earlier] 从数据集快照向每一方恢复 { $dataset }；这些数据由此前的一次测试通过客户端导入。
}
contents-tpcc = 由校验和可知，两方的数据行类型相同，但内容不同：TPC-C 要求取随机值，且每个订单有 5 至 15 个订单行。
contents-sysbench = 由校验和可知，两方的数据行数量和类型相同，但内容不同：sysbench 以随机值填充表，且 --rand-seed 不能使 prepare 的结果可复现。
contents-differ = 由校验和可知，两方的数据行数量和类型相同，但内容不同。
step-analyze = 对每张表执行 ANALYZE。
step-consistency = { $moments ->
    [load] 导入数据之后，
    [last-trial] 最后一次试验之后，
   *[both] 导入数据之后以及最后一次试验之后，
}在每一方检查 TPC-C 的一致性条件（条款 3.3.2）。
step-snapshot = 停止每一方，并为其数据创建快照。
step-deployments = 以上步骤共进行 { $deployments } 次，每次都从空的服务器开始：各轮次分布在每一方的 { $deployments } 次部署中；先准备哪一方在各次部署间保持均衡，其余随机决定。
step-deployments-looked = 以上步骤最多进行 { $deployments } 次，每次都从空的服务器开始：每次部署对尚无结论的负载测量相同的轮数。先准备哪一方在各次部署间保持均衡，其余随机决定。
step-deployments-watch = 以上步骤进行 { $screening } 次，每次都从空的服务器开始，各测试一个轮次的全部负载；然后对被标记的负载最多再进行 { $confirming } 次，各一个轮次。先准备哪一方在各次部署间保持均衡，其余随机决定。
step-resumed = 测试曾经中断，当时已执行的试验数：{ $after }。{ $again ->
    [no] 之后重新写入数据，因此此前与此后的试验属于不同的写入。
   *[yes] 之后重新部署并重新写入数据，因此此前与此后的试验属于不同的部署。
}
step-slowdown = 测试候选期间，以 20 ms 为周期，使其每个 SQL 服务器在 { $limit } 的时间内暂停：这是人为的减速，用于检验能否发现它。
step-sequential = 按先后顺序测试 { $rounds } 个轮次：先完成基线的所有负载，再完成候选的所有负载，均依次以 { $threads } 个客户端线程进行测试。
step-interleaved = 测试 { $rounds } 个轮次。在每个轮次中，每个负载紧接着先后在两方进行测试（构成一个测试块），分别使用 { $threads } 个客户端线程。每个轮次中各负载的顺序、每个测试块中各线程数的顺序均随机决定，两方相同；两方的先后顺序在各轮次间保持均衡，其余随机决定（随机种子 { $seed }）。
restored-from = { $source ->
    [client] 由客户端重新导入
   *[snapshot] 从快照恢复
}
restore-every-trial = 每次试验之前，均{ restored-from }该方的数据。
restore-after-writes = 如果上次恢复之后写入过数据，则在试验之前{ restored-from }该方的数据。
restore-per-workload = 在每个测试块中某一方的第一次试验之前，{ restored-from }该方的数据；其后的试验依次使用前一次试验留下的数据。
restore-never = 不恢复数据：每次试验都在之前的试验留下的数据上运行。
after-restore = 恢复之后，主机的缓存中没有任何数据。
step-leaders = 试验的集群启动后，在限定时间内等到每个 Region 都有 leader 和全部副本，且 PD 不再迁移 Region{ $leaders ->
    [as-placed] ；leader 保持 PD 调度后的分布。
   *[level] ；然后迁移 leader，使各 TiKV 上的 leader 数量相差不超过一个，数据集的 leader 数量也是如此。
}
step-trial = { $where ->
    [existing] 对于每次试验：等待服务器响应，
    [fleet] 对于每次试验：启动集群，等待所有服务器响应{ $balancer ->
        [none] {""}
       *[haproxy] 且负载均衡器报告所有 TiDB 服务器可用
    }，
   *[machine] 对于每次试验：启动服务器，等待其响应{ $balancer ->
        [none] {""}
       *[haproxy] 且负载均衡器报告其可用
    }，
}{ $warmup ->
    [cold] 不预热，然后{ $balancer ->
            [none] {""}
           *[haproxy] 通过负载均衡器
        }运行客户端 { $seconds } 秒。
   *[other] { $when ->
        [started] 然后{ $balancer ->
            [none] {""}
           *[haproxy] 通过负载均衡器
        }运行客户端 { $seconds } 秒。每个测试块中某一方的第一次试验之前，以及服务器为试验启动或恢复之后，预热 { $warmup } 秒（不计入结果）。预热是否充分，由症状检查项“漂移”（drift）显示。
       *[each] 预热 { $warmup } 秒（不计入结果），然后{ $balancer ->
            [none] {""}
           *[haproxy] 通过负载均衡器
        }运行客户端 { $seconds } 秒。
    }
}
step-repeat = { $limit ->
    [0] 含有无效试验的测试块不再重新测试。
   *[other] 如果一个测试块中有无效的试验，则将其整体重新测试，最多重测 { $limit } 次；采用第一次全部有效的测试。
}
commands-load = 在每一方各导入一次数据
commands-loaded-before = 导入数据（在制作数据集快照之前已执行）
commands-run = 运行一次试验
commands-run-of = 运行 { $workload } 的一次试验

## 如何阅读本报告

read-round = { $placement ->
    [sequential] 每个轮次将两方的结果相互对照，但基线的所有测试均在候选之前完成；
   *[interleaved] 每个轮次紧接着先后测试两方；
}以候选除以基线，再对各线程数取几何平均，得到该轮次提供的唯一数值。
read-estimate = { $deployments ->
    [known] 估计值是这些数值的几何平均值。95% 置信区间（学生 t 分布）表示这些数值的离散程度以及不同部署之间的差异：区间越宽，所知越少。
   *[unknown] 估计值是这些数值的几何平均值。95% 置信区间（学生 t 分布）表示这些数值的离散程度：区间越宽，所知越少。
}
read-change = 性能退化或性能提升：估计值达到 { $limit } 或以上，且校正后的 p 值小于 { $alpha }，从而将整份报告因轮次间波动而出现任何一次误报的概率控制在 { $level }：吞吐、p95 延迟与计数各占其中一份，各自在 { $workloads } 个负载内按 Holm 方法校正。计数另有自己的限值。
read-equivalent = 持平：90% 置信区间在 ±{ $limit } 之内。
read-unstable = { $dataset ->
    [checked] 结果不稳定：症状只出现在其中一方；或一方缺失、被剔除或遇到错误的试验多于随机波动所能解释的数量；或客户端接近极限；或一方的数据集在最后一次试验之后不再满足某项一致性条件，因此不能直接采信其数据。
   *[other] 结果不稳定：症状只出现在其中一方；或一方缺失、被剔除或遇到错误的试验多于随机波动所能解释的数量；或客户端接近极限，因此不能直接采信其数据。
}
read-inconclusive = 无法判定：除此之外的情况。数据不足以说明任何一个方向；增加轮次或延长试验可能有帮助。
read-inconclusive-few-rounds = 无法判定：除此之外的情况。轮次少于三个时总是如此：无法区分变化与噪声。
read-rows = 表中各线程数的数据仅供描述，不用于判定，但与其余线程数走势不同的会被指出。已发布的报告采用的是各线程数百分比的算术平均值；它赋予提升的权重大于下降。

## 来源

provenance-campaign = 测试编号
provenance-report-type = 报告类型
provenance-report-type-value = { $report } ({ $title })
provenance-state = 状态
provenance-origin = 启动方式
provenance-started = 开始时间
provenance-duration = 持续时间
provenance-estimate = 计划的时间与费用
provenance-estimate-value = { $duration }，${ $dollars }（{ $day } 的标价）
provenance-approved = 批准人
provenance-approved-value = { $who }，{ $when }
provenance-spent = 主机的实际费用
provenance-spent-value = 约 ${ $dollars }；计划 ${ $planned }，上限 ${ $limit }
provenance-topology = 拓扑
provenance-placement = 测试顺序
provenance-seed = 顺序的随机种子
provenance-calibration = 用于校准的测试
provenance-earlier = 所用的较早测试活动
provenance-checksum = 数据集校验和
provenance-rows = 导入的行数
provenance-benchlab = Benchlab
state-running = 进行中
state-complete = 已完成
state-failed = 失败
placement-sequential = 先后进行
sources-raw = { $kept ->
    [0] 未保留客户端的原始输出。
   *[other] 在 { $executed } 个已执行的试验中，保留了 { $kept } 个的客户端原始输出，路径见 raw 列，相对于结果库的根目录。
}
sources = trials.csv 中每个已执行的试验占一行。某一方在某一线程数下的数据，是该负载、该方、该线程数所采用的各行的几何平均值。{ sources-raw }comparison.csv 和 report.json 中为未经舍入的数据。如本报告旁有 evidence.zip，可用 benchlab verify 命令由原始输出重新计算各项数据，该命令也会指出无法重新计算的内容。

## 小标题与表头

head-overview = 测试概况
head-published = 已发布的文档
head-hardware = 硬件配置
head-parameters = 参数配置
head-both-sides = 两方相同
head-only-side = 仅{ $side } ({ $version })
head-declared = 所声明的差异的实际取值
head-undeclared = 未作要求的差异
head-plan = 测试方案
head-results = 测试结果
head-workload = { $workload } 性能
head-quality = 结果质量
head-gates = 检查项
head-hosts = 主机
head-each-host = 各主机的数据
head-how-to-read = 如何阅读本报告
head-provenance = 来源
picture-overview = 各负载的吞吐变化
picture-workload = { $workload }：吞吐和 { $latency }随线程数的变化；数据见下表
card-arithmetic = 算术平均值
about-looked = 经过几次部署判定，及其原因
about-watched = 各测试活动的标记，以及每个构建相对锚点的变化
about-cost = 每一方的成本及其区间
about-moved = 随负载一同变化的计数
about-statements = 被诊断负载的时间、执行次数与执行计划
about-functions = 来自被诊断负载的性能剖析
about-quality = 试验、重测、错误、检查项、主机
about-environment = 硬件、软件、参数、不同的设置
about-plan = 每个步骤及其命令
about-published = 其计划，以及与之不同之处
about-how-to-read = 比较了什么，区间与结论如何得出
about-provenance = 测试活动、种子、校验和、数据来源
column-item = 项目
column-value = 值
column-version = 软件版本
column-service = 服务类型
column-hash = Git hash
column-parameter = 参数
column-variable = 变量
column-workload = 负载
column-metric = 指标
column-count-of-query = 每条查询消耗
column-count = 每个事务消耗
column-change = 变化
column-interval = 95% 置信区间
column-p = 校正后的 p 值
column-verdict = 结论
column-build = 构建
column-gate = 检查项
column-gate-holds = 通过时成立的条件
column-passed = 通过
column-failed = 未通过
column-not-evaluated = 未评估
column-table = 表
column-rows = 行数
column-expectations = 期望数
column-trial = 试验
column-attempt = 第几次测试
column-why = 原因

## 计数：每个事务对服务器的消耗

head-taken = 每个事务的消耗
head-looked = 各负载何时有了结论
looked-about = 在 { $first } 次部署之后以及此后每次部署之后，都查看到目前为止的全部结果，已有结论的负载不再测量。计划 { $planned } 次部署：{ $each }。所有 p 值和置信区间都考虑了这些查看。
looked-left = { $workload } 用了 { $after } 次（{ $why ->
    [regression] 变慢
    [improvement] 变快
    [equivalent] 等效
   *[other] 无法得出结论：其余部署几乎不可能得出结论
}）
looked-all = { $workload } 用了全部
looked-stopped = { $workload } 测量了 { $after } 次，之后测量停止
looked-so-far = { $workload } 仍在测量
head-watched = 多次测试活动的证据
watched-screening = 筛查尚未结束。
watched-quiet = 没有标记任何变化，测试活动在筛查之后结束。
watched-confirmed = 被标记并在全新部署上再次测量：{ $confirming }。
watched-left-out = 被标记并在全新部署上再次测量：{ $confirming }。被标记但因预算不足没有再次测量：{ $left }。
watched-about = 一旦出现的变化会一直存在，因此考察以本次结束的每一段连续测试活动。各负载最强的证据：{ $each }。吞吐量的 p 值低于 { $slower } 时标记为变慢，低于 { $faster } 时标记为变快。表中是筛查轮次的吞吐量相对于锚点的变化。
watched-strongest = { $workload } { $change }，{ $weeks ->
    [one] 本次
   *[other] 最近 { $weeks } 次
}（p { $p }）
taken-left-out = { $workload }：{ $why }。
taken-about = 由服务器自身在客户端运行期间计数，按每个事务折算。计数只说明更费或更省，不说明更慢或更快；变化达到 { $limit } 才算变化。
change-with-interval = { $change }（{ $interval }）
taken-dearer = { $workload } 的每个事务，{ $candidate } 比 { $baseline } 更费：{ $each }。
taken-cheaper = { $workload } 的每个事务，{ $candidate } 比 { $baseline } 更省：{ $each }。
unit-b = 字节
unit-us = µs
count-rows-read = 读取的行数
count-rows-written = 写入的行数
count-redo-bytes = redo 日志
count-tidb-allocated-bytes = TiDB：分配的内存
count-tidb-allocated-objects = TiDB：分配的对象数
count-kv-get = KV 请求：Get
count-kv-cop = KV 请求：coprocessor
count-kv-pessimistic-lock = KV 请求：悲观锁
count-kv-prewrite = KV 请求：Prewrite
count-kv-commit = KV 请求：Commit
count-written-keys = 写入的键数
count-applied-bytes = TiKV：应用的字节数
count-raft-log-bytes = TiKV：Raft 日志
count-tidb-cpu = TiDB CPU
count-tikv-cpu = TiKV CPU
count-server-cpu = 服务器 CPU
count-handler-reads = 通过 handler 读取的行数
count-handler-commits = 存储引擎提交次数
count-server-cpu-user = 服务器 CPU：用户态
count-server-cpu-system = 服务器 CPU：内核态
count-minor-faults = 次要缺页次数
count-major-faults = 主要缺页次数
count-context-switches = 上下文切换次数
count-disk-read-bytes = 从磁盘读取的字节数
count-disk-written-bytes = 写入磁盘的字节数
count-redo-writes = redo 日志：写入次数
count-redo-requests = redo 日志：写入请求数
count-fsyncs = fsync 次数
count-data-written-bytes = InnoDB：写入的字节数
count-page-requests = 请求的页数
count-page-reads = 从磁盘读取的页数
count-pages-written = 刷出的页数
count-rows-sent = 发送的行数
count-sorted-rows = 排序的行数
count-temporary-tables = 临时表数
count-temporary-disk-tables = 磁盘临时表数
count-full-scans = 全表扫描次数
count-row-lock-waits = 行锁等待次数
count-bytes-received = 从客户端接收的字节数
count-bytes-sent = 发送给客户端的字节数
count-tidb-gc-cpu = TiDB CPU：垃圾回收
count-kv-requests = KV 请求：全部
count-kv-batch-get = KV 请求：BatchGet
count-kv-scan = KV 请求：Scan
count-kv-pessimistic-rollback = KV 请求：悲观回滚
count-kv-batch-rollback = KV 请求：BatchRollback
count-kv-resolve-lock = KV 请求：ResolveLock
count-kv-check-txn-status = KV 请求：CheckTxnStatus
count-kv-check-secondary-locks = KV 请求：CheckSecondaryLocks
count-kv-txn-heart-beat = KV 请求：TxnHeartBeat
count-cop-cache-hits = coprocessor 缓存命中次数
count-keys-processed = 处理的键数
count-timestamps = 请求的时间戳数
count-written-bytes = 事务写入的字节数
count-one-phase-commits = 一阶段提交次数
count-async-commits = 异步提交次数
count-backoffs = 退避次数
count-region-errors = Region 错误次数
count-locks-resolved = 清理的锁数
count-transaction-retries = 事务重试次数
count-pessimistic-retries = 悲观语句重试次数
count-plan-cache-hits = 执行计划缓存命中次数
count-plan-cache-misses = 执行计划缓存未命中次数
count-statements = 语句数
count-statements-select = 语句数：SELECT
count-statements-insert = 语句数：INSERT
count-statements-replace = 语句数：REPLACE
count-statements-update = 语句数：UPDATE
count-statements-delete = 语句数：DELETE
count-statements-begin = 语句数：BEGIN
count-statements-commit = 语句数：COMMIT
count-statements-rollback = 语句数：ROLLBACK
count-affected-rows = 影响的行数
count-tikv-cpu-grpc = TiKV CPU：gRPC
count-tikv-cpu-unified-read = TiKV CPU：统一读线程池
count-tikv-cpu-sched = TiKV CPU：scheduler
count-tikv-cpu-raftstore = TiKV CPU：raftstore
count-tikv-cpu-store-write = TiKV CPU：store 写线程
count-tikv-cpu-apply = TiKV CPU：apply
count-tikv-cpu-rocksdb = TiKV CPU：RocksDB
count-grpc-get = TiKV 消息：Get
count-grpc-batch-get = TiKV 消息：BatchGet
count-grpc-scan = TiKV 消息：Scan
count-grpc-pessimistic-lock = TiKV 消息：悲观锁
count-grpc-prewrite = TiKV 消息：Prewrite
count-grpc-commit = TiKV 消息：Commit
count-grpc-coprocessor = TiKV 消息：coprocessor
count-scheduler-commands = TiKV scheduler：全部命令
count-scheduler-pessimistic-lock = TiKV scheduler：悲观锁
count-scheduler-prewrite = TiKV scheduler：Prewrite
count-scheduler-commit = TiKV scheduler：Commit
count-write-conflicts = 写冲突次数
count-raft-proposals = Raft 提案数
count-raft-log-writes = Raft 日志：写入次数
count-applied-keys = TiKV：应用的键数
count-coprocessor-bytes = coprocessor：返回的字节数
count-keys-scanned = coprocessor：扫描的键数
count-keys-returned = coprocessor：返回的键数
count-keys-skipped = RocksDB：跳过的键数
count-tombstones-skipped = RocksDB：跳过的墓碑数
count-blocks-read = RocksDB：读取的块数
count-rocksdb-gets = RocksDB：读取的键数
count-rocksdb-seeks = RocksDB：seek 次数
count-rocksdb-nexts = RocksDB：迭代器步进次数
count-rocksdb-read-bytes = RocksDB：读取的字节数
count-rocksdb-scanned-bytes = RocksDB：扫描的字节数
count-rocksdb-written-bytes = RocksDB：写入的字节数
count-rocksdb-flushed-bytes = RocksDB：刷盘的字节数
count-rocksdb-compaction-read-bytes = RocksDB：compaction 读取的字节数
count-rocksdb-compaction-written-bytes = RocksDB：compaction 写入的字节数
count-rocksdb-block-cache-misses = RocksDB：块缓存未命中次数
count-stall-time = TiKV：写停顿时间
count-throttle-time = TiKV：写限流时间
count-refused-writes = TiKV：拒绝的写入数
count-pd-cpu = PD CPU
count-tso-requests = PD：时间戳请求数
count-region-heartbeats = PD：Region 心跳数
count-store-heartbeats = PD：Store 心跳数
why = { $workload }（{ $change }）：{ $told }。
why-settings = 无人设置却不同的配置：{ $names }。
head-moved = 同时发生的变化
moved-about = 按每条查询折算，来自服务器自身的计数器。同步变化的计数合为一行，以变化最明确的一项为首。比较相同版本时，至多二十次中有一次会列出内容。与负载同时变化的，不一定就是变化的原因。
moved-some = { $workload }：{ $counts } 项计数中有 { $moved } 项随之变化；最明确的是：每条查询的{ $count }（{ $change }）。
moved-by-load = { $workload }：{ $counts } 项计数中有 { $moved } 项随之变化，且都取决于负载；最明确的是：每条查询的{ $count }（{ $change }）。
moved-in-short = { $counts } 项计数中有 { $moved } 项随之变化，最明确的是每条查询的{ $count }（{ $change }）{ $load ->
    [yes] ，它取决于负载
   *[no] {""}
}
moved-none = { $workload }：{ $counts } 项计数中没有一项的变化超出偶然。
moved-few = { $workload }：没有一项计数有三个完整的轮次，因此无法判断同时发生的变化。
moved-uncounted = 无法得知与这些负载同时发生的变化：没有服务器的计数。
moved-unread = { $trials } 次试验中有 { $unread } 次的计数无法读取，未参与此处的计算。
moved-appeared = 出现
moved-vanished = 消失
moved-of-load = { $count }（取决于负载）
moved-more = 另有 { $more } 组计数。
column-with-it = 一同变化
head-statements = 语句
column-statement = 语句
column-of-transaction = 每个事务所用，{ $side }
column-execution-time = 单次执行时间
column-executions = 每个事务的执行次数
column-stands-out = 每次执行的其他差异
statements-told = { $workload }：一个事务的语句在基线上用时 { $before }，在候选上用时 { $after }；差异主要来自 { $statement }（{ $more }）。
statements-spread = { $workload }：一个事务的语句在基线上用时 { $before }，在候选上用时 { $after }；没有哪一条语句的差异既占大部分又超出试验的波动。
statements-most = 差异主要来自 { $statement }{ $figures }
statements-most-taken = 差异主要来自 { $statement }（每次执行：{ $figures }）
statements-figure = { $figure }先为 { $before }，后为 { $after }
statements-unclear = （{ $change }）
statements-more = 另有 { $more } 条语句。
statements-plan = { $statement } 的执行计划变了，涉及其 { $share } 的执行：{ $change }。
statements-plans = { $count } 条语句的执行计划变了：{ $change }
statements-no-plan = 执行计划没有变化
statements-no-plan-changed = 执行计划没有变化。
statements-without = 不再有 { $operators }
statements-with = 多了 { $operators }
statements-same-operators = 算子相同，但表、索引或范围不同
statements-difference = 两个执行计划的逐行对比
statements-replayers = 供 TiDB 开发者使用，evidence.zip 中有变化最大的语句的 PLAN REPLAYER：{ $names }。
statements-otherwise = 这些试验中，服务器启用了 performance_schema，客户端发送文本而不是预处理语句（--db-ps-mode=disable）：其数据只能相互比较。
statements-plans-unknown = MariaDB 不保留执行计划，因此无法得知是否有变化。
statements-untold = 语句太多，服务器无法全部区分：基线有 { $before } 次执行、候选有 { $after } 次执行不在任何一行中。
statements-trials = { $trials ->
    [one] 每一方 1 次试验：看不出同一方各次试验之间的差距。
   *[other] 每一方 { $trials } 次试验。
}
statements-about = 来自得出结论之后、不参与结论的少量试验，由服务器自身汇总；表名仅编号不同的语句合并计算。未做检验：差异只是线索。括号中：两方的差距不大于同一方各次试验之间的差距。
statements-not = 无法得知语句的情况：{ $why }
statements-none = { $engine } 不保留语句汇总
statements-too-old = TiDB { $version } 不保留语句汇总；从 v4.0.0 起才有
statements-prepared = MariaDB 的汇总不含 { $client } 预处理的语句
statement-coprocessor-tasks = 协处理器任务
statement-keys-scanned = 扫描的键
statement-keys-returned = 返回的键
statement-keys-written = 写入的键
statement-rows-examined = 检查的行
statement-rows-sent = 发送的行
statement-rows-affected = 影响的行
statement-memory-bytes = 内存字节
statement-plans-from-cache = 命中缓存的计划
statement-without-index = 未用索引的执行
statement-temporary-tables = 临时表
statement-temporary-disk-tables = 磁盘临时表
statement-sorted-rows = 排序的行
statement-errors = 错误
head-cost = 每百万{ $metric ->
    [tpmc] 笔 New Order
    [qpm] 次查询
   *[other] 个事务
}的费用（美元）
cost-about = 服务器所在主机每小时共 ${ $hourly }（{ $day } 的标价），每个版本测试时独占全部主机。不包括客户端主机、单独计费的存储和流量。每一行中两个版本按同一线程数计价：合计吞吐量最高的线程数。区间至少需要三轮，反映各次部署之间吞吐量的差异；只部署一次时，反映各轮之间的差异。变化是该线程数下吞吐量变化的倒数；是否超出噪声，见吞吐量的结论。
cost-at-most = 以下负载的费用至多为表中数值：{ $workloads }。吞吐量在所测的最大线程数下最高，增加线程数可能降低费用。

## 哪些函数发生了变化

head-functions = 哪些函数
functions-told = { $workload }：{ $role } 的{ $kind }，基线 { $baseline } 份，候选 { $candidate } 份：{ $changed ->
    [few] 差异可能出于偶然。
    [0] 没有函数的变化超出噪声。
   *[other] 有 { $changed } 个函数发生了变化。
}
functions-about = 取自得出结论之后的几次试验，从运行的五分之一处到结束，不参与结论。某个函数的开销是它在样本中的占比乘以每个查询的开销；各次试验一致且超出偶然时才列出。发生变化的函数的调用者从略。
functions-modules = 模块
functions-picture = 火焰图：{ $role } 的{ $kind }
functions-files = 诊断试验的发现，例如剖析
functions-lacking = { $role }，{ $kind }：{ $why }
functions-cost-cpu = 每个查询的 CPU
functions-cost-allocations = 每个查询分配的字节数
functions-first = { $role } 中的 { $function }{ $unit ->
    [cost] 每个查询的 CPU
   *[share] 的 CPU 占比
} { $change }（{ $pairs } 份剖析中的 { $pairs } 份）{ $more ->
    [0] {""}
   *[other] ，另有 { $more } 个函数
}
functions-none = 没有函数的 CPU 变化超出其剖析的噪声
functions-few = 剖析太少，无法指出函数
functions-not = 不知道是哪些函数：{ $why }
profiles-nothing = 服务器没有这种剖析
profiles-unpaired = 没有任何一轮双方都有剖析
profiles-refused = { $server } 返回的不是剖析：{ $why }
profiles-no-perf = perf 在此无法记录：{ $why }
profiles-mariadb-without = MariaDB 没有内存分配剖析
profiles-tikv-without = TiKV 没有内存分配剖析
profiles-allocations-old = { $first } 之前的内存分配剖析（此处为 { $version }）包含服务器启动以来的全部分配
profiles-tikv-old = TiKV { $version } 在剖析其 CPU 时可能崩溃；从 { $first } 起不会
column-function = 函数
column-module = 模块
column-time = 时间
column-difference = 差异
column-found = 结论

## 吞吐量有变化的负载，时间用在了哪里

split-told = 时间用在哪里：{ $waits }；{ $cpu }。
split-unclear = 从这些试验看不出时间用在了哪里：{ $waits }；{ $cpu }。
split-waits = { $how ->
    [more] 等待更多，服务器 CPU 的忙碌减少 { $size }（{ $interval }）
    [less] 等待更少，服务器 CPU 的忙碌增加 { $size }（{ $interval }）
   *[same] 等待的变化没有超出噪声（CPU 的忙碌 { $change }，{ $interval }）
}
split-cpu = { $how ->
    [more] 每个查询多用 { $size } 的 CPU（{ $interval }）
    [less] 每个查询少用 { $size } 的 CPU（{ $interval }）
   *[same] 每个查询所用 CPU 的变化没有超出噪声（{ $change }，{ $interval }）
}
split-part = { $share ->
    [most] ，其中大部分在 { $part }（{ $size }）
    [some] ，其中主要在 { $part }（{ $size }）
   *[apart] ，但 { $part } 并非如此（{ $size }）
}
split-summary = 时间用在哪里的数据
split-about = 每秒查询数 = 忙碌的 CPU 数 / 每个查询的 CPU 时间：这是恒等式，并不指出原因。等待是指在此负载下使服务器 CPU 不那么忙碌的一切：锁、磁盘、网络、限流，或者客户端发送得更少。所有数据都由服务器自身计数，从每次运行的五分之一处到结束。右列是每一行单独对吞吐量的影响及其 95% 区间；等待与每个查询的 CPU 相乘即为总变化，其下各行相乘即为 CPU 一行，它们是该 CPU 的组成部分。
split-busy = { $figure } 个 CPU 忙碌
split-of-query = { $figure } µs
split-fewer = 这里依据的是结论所依据的 { $of } 轮中的 { $rounds } 轮{ $threads ->
    [all] {""}
   *[other] ，线程数为 { $threads }
}：其余试验没有可比较的计数。
split-apart = 在这些试验的计数时段内，吞吐量变化为 { $own }；结论中为 { $verdict }。
split-lacking = { $workloads }：看不出时间用在了哪里，因为{ $why }。
split-unread = 没有服务器的计数
split-foreign = 服务器不是由 Benchlab 部署的，其 CPU 计数器无法读取
split-without = 有一侧的所有试验都没有 { $what } 的 CPU 时间
split-few = 两侧都有可比较计数的轮次太少（{ $rounds } 轮，至少需要 { $least } 轮）
chart-split = 从 { $baseline } 到 { $candidate }：各部分对吞吐量的影响
column-part = 部分
column-effect = 对吞吐量的影响
part-waits = 等待
part-cpu = 每个查询的 CPU
part-tidb-cpu = TiDB
part-tidb-cpu-rest = TiDB：GC 以外
part-tidb-gc-cpu = TiDB：垃圾回收
part-tikv-cpu = TiKV
part-tikv-cpu-rest = TiKV：其他线程
part-tikv-cpu-grpc = TiKV：gRPC
part-tikv-cpu-unified-read = TiKV：统一读线程池
part-tikv-cpu-sched = TiKV：调度器
part-tikv-cpu-raftstore = TiKV：Raft 存储
part-tikv-cpu-store-write = TiKV：Raft 日志写入
part-tikv-cpu-apply = TiKV：应用
part-tikv-cpu-rocksdb = TiKV：RocksDB
part-pd-cpu = PD
part-server-cpu = MariaDB
part-server-cpu-rest = MariaDB：用户态
part-server-cpu-system = MariaDB：内核态

## 检查项：通过时成立的内容；$least 和 $most 是其界限

gate-summary = 客户端输出了汇总结果
gate-query-time = 查询足够慢，超出 go-tpc 的计时步长；又足够快，每个线程至少完成一次
gate-client-exit = 客户端自行结束且没有报错
gate-duration = 客户端的运行时间与要求的时间相差不超过 { $most }
gate-effective-threads = 客户端线程至少有 { $least } 的时间处于工作状态
gate-printed-rate = 输出的速率乘以时间等于输出的总数，误差不超过 { $most }
gate-latency-order = 各延迟值的大小顺序正确且不为负（平均值和 p95 均不超过最大值）
gate-unexpected-errors = 除死锁和冲突外，客户端没有遇到其他错误
gate-tpcc-efficiency = 输出的 efficiency 等于 tpmC /（12.86 x 所导入的 warehouse 数）
gate-tpcc-mix = New Order 占全部事务的 45%，偏差不超过 { $most }
gate-consistency = 数据集满足导入之后所检查的每一项 TPC-C 一致性条件
gate-client-cpu = 客户端和负载均衡器的 CPU 使用率均低于其可用 CPU 的 { $most }
gate-cpu-steal = 在每台主机上，被虚拟化层占用的 CPU 不超过 { $most }
gate-other-work = 在每台主机上，其他程序使用的 CPU 不超过 { $most }
gate-disk-space = 在每台被采样的主机上，数据目录的可用空间都不少于其所需，包括 TiKV 的预留空间
gate-version = 每台服务器均为所要求的版本
gate-parameters = 所要求的每个参数均已生效
gate-configuration = 两方生效的变量除要求的差异之外没有其他差异
gate-dataset = 在某一方的首次试验之前，数据集与快照中的一致
gate-server-alive = 为该试验启动的服务器一直运行到试验结束
gate-balance = 各 TiKV 所承担的 leader 数量不多于也不少于均衡（或按 PD 调度）后的数量
gate-settled = 运行前后，每个 Region 都有 leader 和全部副本，且 PD 没有迁移任何 Region
gate-background-work = 试验期间没有运行 ANALYZE、DDL 或备份
gate-load-balancer = 试验前后，负载均衡器的每个后端均为 UP 状态
gate-balanced-connections = 负载均衡器将连接均匀分配到各后端，相差不超过一个
gate-clock = 各主机的时钟相差不超过 { $most }
gate-errors = 没有失败的读操作；包括被忽略的错误在内，失败的写操作不超过事务数的 { $most }
gate-reconnects = 客户端没有断开过连接
gate-stalls = 序列的每个时间间隔内都有事务完成
gate-behind = 以给定速率发送时，结束时仍在等待的事务不超过 { $most }，即服务器跟得上
gate-missing-intervals = 客户端输出了序列的每个时间间隔，最后一个除外
gate-drift = 扣除序列自身的噪声后，试验前三分之一与后三分之一相差不超过 { $most }
gate-variation = 各时间间隔吞吐的变异系数（标准差 / 平均值）不超过 { $most }
gate-write-stall = 没有存储服务器因 compaction 落后而延迟、停止或拒绝写入
gate-auto-analyze = 预热和试验期间，TiDB 没有自动运行 ANALYZE；否则该试验的所有计数均不参与比较
gate-region-merge = 预热和试验期间，PD 没有合并 Region；否则该试验的所有计数均不参与比较
gate-sweep = 预热和试验期间，TiKV 清除的旧版本数据不超过 { $most } 个；否则不比较该试验中 TiKV 每个事务的 CPU 用量
gate-hosts-alike = 同一角色的主机具有相同的类型、核数、内存、CPU、操作系统和内核
gate-round-variation = 各轮次之间吞吐的变异系数（标准差 / 平均值）不超过 { $most }
gate-p95-monotone = 与前一个较小的线程数相比，p95 延迟的降幅不超过 { $most }
gate-throughput-curve = 与相邻线程数的连线相比，吞吐的降幅不超过 { $most }
gate-rejected-by-side = 两方未通过有效性检查的频率相同（在随机波动范围内）
gate-rejected-change = 被剔除的试验不可能掩盖超过阈值的变化（计入其数据后，90% 置信区间至多为 { $most } 阈值）
gate-errors-by-side = 两方客户端遇到错误的频率相同（在随机波动范围内）
gate-read-errors = 没有只在一方失败的读操作
gate-headroom = 在每个线程数下，客户端和负载均衡器所用的 CPU 都低于分配给它们的 { $most }
gate-plateau = 吞吐量随线程数增长，或客户端的 CPU 用量已知
gate-complete-rounds = 每一轮在两方的每个线程数上都有数据
gate-planned-once = 每个计划内的试验在被采用的试验中恰好出现一次
gate-balanced-order = 两方先被测量的轮次数相同，最多相差一轮
gate-aa-unbiased = A/A 测试的平均值为零（在随机波动范围内）
gate-aa-alike = 各轮次的波动与 A/A 测试相同（在随机波动范围内）
gate-aa-recent = 最近一次 A/A 测试与本次测试相距不超过 { $most }

## 引擎的说明

caveat-tidb = TiDB 使用其内置存储 (unistore) 运行，该存储仅用于测试：所得数据反映的是其 SQL 层，而非 TiKV。

## 数字

number-interval = { $low } 至 { $high }
number-hours = { $hours } 小时 { $minutes } 分
number-minutes = { $minutes } 分 { $seconds } 秒
number-seconds = { $seconds } 秒

## 数据表

figures-threads = Threads
figures-p95 = p95 延迟
figures-rate = 每秒发送
figures-p50 = p50 延迟
figures-p99 = p99 延迟
figures-mean = 平均延迟
figures-new-order-p50 = New Order p50 延迟
figures-new-order-p90 = New Order p90 延迟
figures-new-order-p99 = New Order p99 延迟
figures-change = { $metric } 变化
figures-details = 其他数据
figures-new-order-p95 = New Order p95 延迟
layout-own = 全部数据，以及结论所依据的变化
layout-mean = { $metric } 提升的算术平均值为 { $mean }。

## 图表

chart-title = { $engine } { $candidate } 对比 { $baseline }
chart-title-aa = { $engine } { $version } 与自身对比 (A/A)
chart-slower = ← 候选更慢
chart-faster = 候选更快 →
chart-cheaper = ← 更省
chart-dearer = 候选更费 →
chart-throughput = { $metric } ({ $unit })，越高越好
chart-latency = { $latency } (ms)，越低越好
chart-marks = 折线：几何平均值；浅色点：单个轮次
chart-mean = { $label }，{ $threads } 线程：{ $mean }（各轮次 { $low } 至 { $high }）
chart-zoom-in = 放大
chart-zoom-out = 缩小
chart-earlier = 更早
chart-later = 更晚
chart-whole = 整个图表
chart-threads = 客户端线程数
chart-no-trial = 没有有效试验

## 剖析的比较

profiles-title = { $type } 剖析：基线 { $baseline } 份，候选 { $candidate } 份
profiles-cost = 每个事务的 CPU
profiles-own = 自身
profiles-cumulative = 合计
profiles-module = 自身
profiles-more-cost = 开销变大
profiles-less-cost = 开销变小
profiles-more-share = 占比变大
profiles-less-share = 占比变小
profiles-few = 有一方的剖析不足三份：差异可能出于偶然，因此不判定任何变化。请每方至少取三份。
profiles-none = 对函数和模块的 { $tested } 次检验均未发现变化。
profiles-moved = 只是转移，开销并未变大：在 { $caller } 之下，以下各项之和不变，很可能是改名、拆分或内联：{ $parts }。
profiles-shares = 数值是 { $type } 的占比：某个函数变大时，其余函数的占比会变小。
profiles-nameless = 没有名称的函数在基线中占 { $baseline }，在候选中占 { $candidate }；请剖析带符号的构建以便查看。
flame-remark = 宽度：两方的均值，因此已消失的调用栈也会显示。窄于 { $least } 的框合并显示。浅色可能出于偶然。
flame-everything = 全部
flame-merged = { $count } 个更窄的框
flame-step-1 = 候选为两倍或以上
flame-step-2 = +10% 或以上
flame-step-3 = 一半或以下
flame-step-4 = -9% 或以上
flame-step-5 = 描边：判定有变化
flame-step-6 = 虚线：仅一方有
flame-sides = { $which ->
    [gone] 基线 { $baseline }，候选中已消失
    [new] 新出现，候选 { $candidate }
   *[both] 基线 { $baseline }，候选 { $candidate }
}
flame-find = 查找
flame-found = 找到 { $count } 个：基线 { $baseline }，候选 { $candidate }

## Series of trials

series-summary = 逐秒曲线：{ $count } 对试验
series-about = 双方的 { $metric }；下方是最繁忙主机的 CPU 与磁盘，从空闲到完全繁忙。每张图的 { $metric } 刻度各自独立。
series-caption = { $attempt ->
    [1] { $threads } 线程，第 { $round } 轮
   *[other] { $threads } 线程，第 { $round } 轮，第 { $attempt } 次尝试
}
series-cpu = CPU
series-disk = 磁盘

## 软件

software-component = { $service }（{ $side }）
software-servers = { $service }（{ $side }，{ $count } 台服务器）
software-servers-on = { $service }（{ $side }，位于 { $hosts } 的 { $count } 台服务器）
software-version = { $asked }（服务器报告：{ $reported }）
software-alike = 每一方中，同一组件的各台服务器配置一致：其生效配置的摘要相同。
software-odd = 以下组件的各台服务器配置不完全一致：{ $servers }。
software-untold = { $said }以下组件未能提供配置：{ $servers }。
software-script = TiUP 安装脚本的哈希只涵盖脚本本身，不涵盖脚本所下载的 TiUP 程序。
software-script-changed = 该脚本与之前（{ $day }）见到的脚本（SHA-256 { $sha256 }）不同。

## 硬件

hardware-service = 服务类型
hardware-instance-type = EC2 类型
hardware-hosts = 主机
hardware-number = 实例数
hardware-cores = CPU 核数
hardware-memory = 内存 (GiB)
hardware-cpu = CPU
hardware-system = 操作系统
hardware-data-on = 数据所在文件系统
hardware-client = { $client }、HAProxy
hardware-some-client = 客户端
hardware-rented = 全部 { $total } 台主机均为本次测试租用，位于同一可用区（{ $zone }）。
hardware-unknown-zone = 未记录是哪一个
hardware-other-types = 首选的实例类型没有可用容量，实际租用的类型如下（括号内为首选类型）：{ $types }。
hardware-other-region = 首选区域 { $region } 没有可用容量。
hardware-spot = 其中 { $count } 台主机为竞价实例：{ $hosts }。
hardware-replaced = 执行 { $after } 次试验之后有 { $count } 台主机丢失并被替换：{ $hosts }。之后两侧均重新部署并重新导入数据，因此此前与此后的试验属于两次部署。
hardware-shared-system = 所有主机均运行 { $system }。
hardware-shared = 共 { $total } 台主机，其中承担多个角色的有：{ $each }。
hardware-roles = { $host }（{ $roles }）

## TPC-C 一致性条件

consistency-both = 两方的 TPC-C 一致性条件（条款 3.3.2）：{ $told }。
consistency-side = { $side }的 TPC-C 一致性条件（条款 3.3.2）：{ $told }。
consistency-after-load = 导入数据之后，{ $outcome }
consistency-after-last-trial = 最后一次试验之后，{ $outcome }
consistency-after-both = 导入数据之后以及最后一次试验之后，{ $outcome }
consistency-unchecked = 未做检查
consistency-hold = 所检查的 { $count } 项条件全部满足（{ $conditions }）
consistency-violated = 所检查的 { $count } 项条件中有 { $violated } 项不满足（{ $each }）
consistency-violations = { $condition }，{ $sentence }：{ $violations } 处违反

## 负载下的主机

hosts-side = 测试方
hosts-name = 主机
hosts-trials = 试验数
hosts-cpu-busy = CPU 使用率
hosts-cpu-steal = CPU steal
hosts-cpu-iowait = 磁盘等待
hosts-memory-used-bytes = 内存 (GiB)
hosts-disk-busy = 磁盘繁忙率
hosts-disk-read-bytes-per-s = 磁盘读取 (MB/s)
hosts-disk-write-bytes-per-s = 磁盘写入 (MB/s)
hosts-net-rx-bytes-per-s = 网络接收 (MB/s)
hosts-net-tx-bytes-per-s = 网络发送 (MB/s)
hosts-of-role = { $role }（{ $count } 台主机）
hosts-table = 客户端运行期间，每秒对每台主机采样一次。单元格中的数值为平均值 / 任一主机的单秒最大值，统计范围为 { $used } 个被采用的试验中有主机数据的 { $sampled } 个；环回流量不计入网络流量。
hosts-processes = 在分配给客户端和负载均衡器的 CPU（每线程一核，最多为全部核数）中，实际使用：{ $each }。
hosts-process = { $name } 平均 { $mean }，最忙的试验中 { $max }
hosts-not-recorded = 未记录试验期间主机的运行情况。
hosts-not-recorded-because = 未记录试验期间主机的运行情况（{ $gaps }）。
hosts-without-figures = 缺少主机数据：{ $gap }。
hosts-gap = { $host }，{ $trials } 次试验，{ $reason }

## 已发布报告：标题与概况

published-subject = { $candidate } 与 { $baseline } 的 { $tool } 吞吐对比。
published-subject-one = { $candidate } 的 { $tool } 吞吐。
published-origin = 本页根据 { $source }（SHA-256 { $sha256 }）重新生成。吞吐与延迟逐位照录原页，百分比、平均值和文字均由这些数据计算得出。原页对每个数据只给出一个值，由此无法计算置信区间，也无法得出结论。
published-outcome = { $direction ->
    [up] { $workload }：{ $candidate } 的 { $metric } 相比 { $baseline } 提升了 { $pct }%
    [down] { $workload }：{ $candidate } 的 { $metric } 相比 { $baseline } 下降了 { $pct }%
   *[same] { $workload }：{ $candidate } 的 { $metric } 与 { $baseline } 持平（精确到百分数的两位小数）
}（{ $count ->
    [one] 1 行
   *[other] { $count } 行的平均值
}）。
published-no-mean = { $workload }：线程数为 { $threads } 时缺少数据，因此不计算平均值。

## 已发布报告：结果

published-threads = 线程数
published-version = 版本
published-latency = 95% 延迟 (ms)
published-improvement = { $metric } 提升
published-no-figures = 原页没有给出 { $workload } 的数据，因此无从重新计算。

## 已发布报告：来源

published-claims = 原页的说法
published-claims-note = 原页各句的说法，以及与原页数据不符的提升值，均附所在行。本页不对原页的说法作任何断言。
published-line = 行
published-versions = 提到的版本
published-claimed = 原页的说法
published-recomputed = 重新计算
published-all = 全部
published-unread = 未能读取
published-unread-note = 原页中未能完整理解的表格和句子。本页没有使用其中的任何内容。
published-what = 内容
published-unread-sentence = 句子“{ $sentence }”：其中百分比的表述方式无法理解
published-unread-html = HTML 表格；请改用 Markdown
published-unread-quoted = 位于引文中的表格；只读取页面正文中的结果
published-unread-bars = 含有竖线但不是 Markdown 表格的几行：标题行之下须有单元格数相同的一行短横线
published-unread-unit = 单位可能不同的结果表格：“{ $sentence }”
published-unread-columns = 列为 { $columns } 的表格：无法理解“{ $strange }”；结果表格由线程数、QPS、TPS 或 tpmC，以及 95% 延迟 (ms) 组成，各列写明版本
published-unread-no-threads = 列为 { $columns } 的表格：没有线程数列
published-unread-no-workload = “{ $name }”下的结果表格，但这不是负载名称；标题必须是负载名称，例如 Point Select
published-unread-no-version = 未写明版本的结果表格；须在列名或紧接表格之上的一行中写明
published-unread-no-throughput = 没有吞吐的表格：QPS、TPS、tpmC 均没有
published-unread-twice = 含有重复列的表格
published-unread-some-versions = 只为部分数据写明版本，或重复写明版本的表格
published-unread-versions = 含有两个以上版本的表格：{ $versions }
published-unread-row = 含有一行 { $cells } 个单元格而标题有 { $headings } 个的表格
published-unread-cell = { $column } 列中有单元格“{ $cell }”的表格，该处只能理解数字和版本
published-unread-threads-twice = 线程数 { $threads } 出现两次的表格
published-unread-further = 负载的第二个表格，第一个位于第 { $first } 行；一个负载只有一个表格

## 测试活动失败的原因（没有阶段说明时）
failure-none = 计划的 { $planned } 次试验均未执行
failure-all = { $planned } 次试验中有 { $missing } 次没有有效结果
failure-some = { $planned } 次试验中有 { $missing } 次没有有效结果：{ $trials }
failure-trial = { $trial }：{ $why }
failure-unscreened = 所有负载都已测量，但尚未决定哪些需要证实；请用同一标识再次运行该测试活动，或清除任务 confirm.screen 及其之后的全部任务
failure-consistency = 数据库的一致性已丧失或未知时，其数据不可信；若已丧失，请检查是否有其他程序写入该数据库，并查看其日志；若未知，请重新测量：
failure-side = { $side }：{ $why }
failure-unchecked = { $side }：最后一次试验之后的一致性未知
failure-interrupted = 已被中断
failure-given-back = 已由人工通过“benchlab give-back”结束
failure-run-deleted = 它的运行已在 Airflow 中被删除
failure-rejected = 被 { $who } 拒绝；没有租用任何主机
failure-approved-by-other = 由无权批准的 { $who } 批准（configs/budget.yaml）；没有租用任何主机
failure-not-approved = { $days } 天内无人批准；没有租用任何主机
failure-unforeseen = 意外错误（{ $kind }）；见日志
disk-full = { $host }：{ $path } 只剩 { $free } GiB，至少需要 { $needed } GiB：请在那里腾出空间，再重做失败的步骤；已测得的结果都保留
failure-too-long = 因超过时间上限而被终止
failure-unknown = { $task } 失败；原因见其日志

## 网站：框架

site-name = 性能测试
site-skip = 跳到正文
site-part-overview = 总览
site-part-findings = 发现
site-part-campaigns = 测试活动
site-as-json = 此页面的 JSON
site-part-compare = 比较
site-part-history = 历史
site-part-plan = 计划
site-problem = 错误 { $status }
site-no-page = { $place }：没有此页面
site-no-report = { $report }：没有此报告类型
site-no-workload = { $workload }：没有关于此负载的任何数据
site-no-campaign = { $campaign }：没有此测试活动
site-no-finding = 没有编号为 { $number } 的发现。
site-no-file = { $campaign }：没有文件 { $name }
site-no-trial = { $campaign }：其计划中没有试验 { $trial }
site-no-attempt = 试验 { $trial }：没有第 { $attempt } 次测量
site-bad-fields = { $fields }：无法读取
site-from-elsewhere = 此表单由其他网站发送。
site-too-old = 此表单所在的页面已过期：请重新打开。
site-may-not-trigger = 你无权触发 DAG { $dag }。
site-run = 运行对应的测试活动
site-to-run = Airflow 中的运行
site-to-dag = Airflow 中的 DAG
site-run-none = 此次运行没有测试活动：其任务 `plan` 尚未结束，或没有需要测量的内容。原因见其日志。活动一旦出现，本页会自动显示。

## 网站：总览与测试活动

site-nothing-measured = 尚未测量任何内容。
site-begin = 请在 Airflow 中触发一个 DAG，例如只需要本机的 sysbench_local；或在终端中运行：
site-begin-files = 完成第一个测试活动并重新生成本站点后，结果会显示在这里。下面的命令只需要一台机器：
site-none = 无
glance-failed = { $failed } 个报告类型的最新测试活动失败或未能开始
glance-regressions = { $regressions } 个尚未判定的性能退化
glance-look = { $failed ->
    [0] 请查看：{ glance-regressions }。
   *[other] { $regressions ->
        [0] 请查看：{ glance-failed }。
       *[other] 请查看：{ glance-failed }，以及 { glance-regressions }。
    }
}
glance-fine = 一切正常：没有报告类型的最新测试活动失败，也没有等待判定的性能退化。
glance-failing = 最新测试活动失败或未能开始
glance-waiting = 等待开始
mark-latest = 最近的测试活动
mark-fine = 正常
mark-running = 进行中
mark-failed = 失败
mark-no-campaign-failed = 在测试活动开始前失败
mark-no-campaign-waiting = 等待中，尚无测试活动
mark-no-campaign-skipped = 已跳过，没有可测量的内容
site-never = 从未测量
site-at-work = 进行中
site-next = 下次运行
site-next-release = 下一个版本发布时（{ $types }）
release-type = { $key ->
    [patch] 补丁版本
    [LTS-patch] LTS 补丁版本
    [pre-release] 预发布版本
   *[other] { $type }
}
site-next-aa = A/A 测试活动
site-canary = 金丝雀测试
site-canary-found = 金丝雀已发现，{ site-days-ago }
site-canary-missed = 金丝雀未被发现，{ $on }
site-next-paused = 其 DAG 在 Airflow 中已暂停，不会运行
site-no-notifier = 不会通知任何人：{ $file } 中没有通知方式。
site-next-by-hand = 仅由人工启动
site-cost = 本月费用
site-cost-before = 上月 { $dollars } 美元
site-committed = 另有至多 { $dollars } 美元已预留
site-month-budget = 所有测试活动合计上限 { $dollars } 美元
site-vcpus-held = { $region } 占用 { $count } 个 vCPU
site-month-before = 上月
site-dollars = { $dollars } 美元
site-dollars-of = 计划 { $planned } 美元，已用 { $dollars } 美元
site-dollars-unknown = { $campaigns } 个测试活动的费用未知
site-nothing-rented = 未租用主机
site-newest-verdicts = 最新结论
site-report-types = 报告类型
site-report-types-note = 下次运行时间取自日程；在 Airflow 中被暂停的 DAG 不会运行。费用为当月（UTC）开始的测试活动所租主机按目录价计算的费用。没有 A/A 测试活动，也没有多次部署的测试活动时，部署之间的差异只是假定值；触发该报告类型时将 sides 设为“same”即可测量。
site-column-newest = 最新测试活动
site-column-took = 用时
site-column-cost = 费用（美元）
site-calibration = 最新 A/A 测试活动和金丝雀测试
site-aa-campaigns = { $count } 个 A/A 测试活动
site-days-ago = { $days ->
    [0] 不到一天前
   *[other] { $days } 天前
}
site-campaigns = { $count } 个测试活动
site-aa = { $version } 与自身比较（A/A）
site-metric-throughput = 吞吐
site-metric-latency = p95 延迟
site-metric-counts = 计数
site-state-running = 进行中
site-state-complete = 完成
site-state-failed = 失败
site-work-progress = 已测量的试验
site-work-elsewhere = 其进度保存在执行测量的机器上。
site-work-trial = 第 { $trial } 次试验，共 { $planned } 次
site-work-late = 已超过预计时间
site-work-left = 约剩 { $left }
site-work-silent = 已很久没有新进展，测试活动可能已中断。再次启动同一测试活动可继续，或用“benchlab give-back { $campaign }”结束。最后一次进展：
site-stale = 内容已停止更新：Airflow 无响应或登录已失效。请重新加载页面。
site-as-of = 截至
site-filter = 筛选
site-filter-any = 不限
site-filter-version = 版本或构建
site-filter-since = 开始日期不早于
site-filter-until = 不晚于
site-filter-tag = 标签
site-filter-wrong = { $field }：“{ $value }”无法使用，已忽略
site-all-campaigns = 全部测试活动
site-no-match = { $count } 个测试活动中没有符合全部条件的。
site-listed = 第 { $from }–{ $until } 个，共 { $count } 个测试活动
site-newer = 上一页
site-older = 下一页
site-pages = 列表分页
site-no-verdict = 没有结论
site-unpublished = 尚无结论
site-one-version = 单一版本，没有结论

## 网站：单个测试活动

site-trial-title = 第 { $number } 次试验（共 { $trials } 次）：{ $title }
site-trial-name = { $workload }，{ $threads } 线程，第 { $round } 轮，{ $side }
site-trial-not-yet = 该试验已在计划中，尚未测量。
site-trial-never = 该试验已在计划中，但从未测量。测试活动页面说明该测试活动如何结束。
site-trial-rejected = 已剔除：不使用该试验的数据。
site-trial-not-used = 不使用该试验的数据。
site-trial-rejected-then = 被剔除的试验不会只是略过：它所在的测试块（该轮中该工作负载的双方、全部线程数）会整体重新测量，次数不超过报告类型所允许的。
site-trial-used = 有效：使用该试验的数据。
site-trial-adopted = 其客户端由一个被中断的任务启动，随后被接管
site-attempts = 各次测量
site-series = 逐秒数据
site-series-about = 基线：虚线。候选：实线。所有图共用同一时间轴。
site-series-none = 客户端没有输出逐秒数据。
site-series-errors-per-s = 错误（1/s）
site-seconds = 客户端启动后的秒数
site-host = 主机 { $host }
site-partner = 与另一方的对应试验比较：
site-no-partner = 另一方的对应试验在这次测量中没有测量。
site-gone-series = { $side }的逐秒数据（{ $object }）有记录，但已无法读取：可能已被删除，或对象存储无法访问。数据和结论都不依赖于它。{ $why }
site-gone-hosts = { $side }的主机指标（{ $object }）有记录，但已无法读取：可能已被删除，或对象存储无法访问。数据和结论都不依赖于它。{ $why }
site-gate-status = 结果
site-gate-observed = 观测值
site-gate-bounds = 允许范围
site-gate-fail = 未通过
site-gate-pass = 通过
site-gate-not-evaluated = 未评估
site-kind-validity = 使试验无效
site-kind-symptom = 保留并显示
site-figures = 数据
site-counts = 每条查询的消耗
site-counts-about = 该试验中服务器的全部计数
site-file-counts = 每条查询的消耗（CSV）
site-gone-counts = { $side }每条查询的消耗（{ $object }）有记录，但已无法读取：可能已被删除，或对象存储无法访问。数据和结论都不依赖于它。{ $why }
site-figures-none = 该试验没有数据：客户端没有运行，或没有输出。
site-phases = 各阶段
site-downloads = 下载
site-file-raw = 客户端原始输出
site-file-series = 客户端逐秒数据（CSV）
site-file-hosts = 主机指标（CSV）
site-other-files = 图表：{ $count }
site-not-published = 本机没有报告：尚未发布，或已被删除。以下命令可生成报告：
site-notes = 备注
site-how-far = 进度
site-trial-of = { $trial } / { $planned }
site-phase = 阶段
site-left = 预计剩余时间
site-costs = 费用
site-dollars-so-far = 已花费 ${ $dollars }，计划 ${ $planned }
site-so-far = 目前已测量 { $count } 次试验，最新的：
site-ended = 测试活动已结束。
site-ended-open = 显示结论
site-failed-failed = 测试活动失败。已测量的内容如下。
site-failed-complete = 全部测量均已完成；此后有步骤失败。
site-failed-in = 失败的阶段：{ $stage }。
site-failed-run = 日志见其 Airflow 运行。
site-failed-resume = 问题解决之后，以下命令可继续该测试活动，已存储的试验不会重新测量：
site-failed-again = 无法继续：请启动另一个测试活动。
site-no-results-yet = 尚无完整的一轮，因此还没有可比较的内容。
site-no-results-ever = 没有完整的一轮：无法得出结论。下面的试验说明测量了什么，以及为什么不使用。
site-equal-load = 两侧相同
site-forest-throughput = 吞吐量变化及其 95% 区间；阴影：±{ $limit } 以内
site-forest-latency = p95 延迟变化及其 95% 区间；阴影：±{ $limit } 以内
site-forest-count = 每个事务消耗的变化及其 95% 区间；阴影：±{ $limit } 以内；箭头：超出刻度
site-shorter = ← 候选延迟更短
site-longer = 更长 →
site-trials = 试验
site-trials-about = 共 { $count } 次，其中未采用 { $rejected } 次
site-to-history = { $workload } 的历次测试活动
site-all-trials = 全部试验（按计划顺序）：{ $count }
site-number = 编号
site-throughput = 吞吐量（TPS、tpmC 或 QPM）
site-p95-ms = p95（ms）
site-why-not-used = 不使用的原因
site-to-rejected = 被拒绝或重测的试验：{ $count }
site-not-measured = 未测量
site-rejected-about = 每次试验的页面列出未通过的检查项、其观测值与允许范围，以及逐秒数据。

## 网站：两个测试活动

site-compare = 两个测试活动并排
site-compare-with = 与之并排
site-compare-choose = 选择两个测试活动
site-compare-first = 第一个
site-compare-second = 第二个
site-compare-too-few = 还没有两个测试活动。请运行一个：`benchlab run`，或触发某个报告类型的 DAG。
site-compare-choice = 比较 { $campaign }
site-compare-chosen = 比较勾选的两个
site-compare-not-two = 勾选了 { $count } 个测试活动：需要勾选两个才能比较。
site-versions = 在所有负载上比较两个版本
site-versions-campaigns = 两个测试活动并排
site-versions-why = 为什么没有区间
site-versions-about = 每一行由从一个版本通向另一个版本的测试活动衔接而成，每个区间只针对该行：即使没有任何变化，二十行中仍会有一行看似有变化。结论会考虑这一点；测试活动有结论，此表没有。
site-two-campaigns = 这是两个测试活动。
site-two-campaigns-why = 它们的试验没有交替进行，因此一个测试活动的吞吐量和延迟不能与另一个测试活动的比较：同一版本在不同测试活动之间曾相差 -14% 至 +6%。
site-two-campaigns-changes = 可以比较的是各自相对于自身基线的变化。
site-two-campaigns-pair = 它们是先后测量的：其间服务器、主机或网络上发生的任何其他变化都会计入差异，而任何区间都没有考虑这些变化。同一版本在不同测试活动之间曾相差 -14% 至 +6%。
site-other-versions = 两个测试活动比较的版本不同，因此它们的变化回答的是不同的问题。
site-changes-beside = 各自相对于自身基线的变化
site-overlap = 两个区间不重叠，说明变化不同；区间重叠并不说明变化相同。
site-differ-plan = 计划的差异
site-differ-environment = 主机与程序的差异
site-differ-nothing = 无。
site-not-alike = 未作比较
site-not-alike-why = 只有当两个测试活动先后以相同方式测量时，单一版本的测试活动才会与另一个比较。
site-pair-not-ended = { $campaign } 尚未结束，或在测得任何数据之前就已结束。
site-pair-at-once = 它们是同时测量的。
site-values-beside = 数值
site-values-about = 两个测试活动各方在各轮次上的几何平均值；两个测试活动之间的差异并不等于已证实的变化。

## Findings

findings-about = 一项发现是一个负载的一次变化，无论有多少次测试活动、多少个指标显示了它。幅度取自最近一次测试活动，附 95% 区间。由人来判定：已知（属实，原因已查明）、预期（有意为之或可以接受）、已修复（已回退或已改正）或噪声（并无变化）。
findings-waiting = 尚未判定的发现
findings-none = 还没有测试活动显示出变化。
findings-all = 全部发现
findings-listed = 显示 { $shown } 项；符合条件 { $count } 项，共 { $known } 项发现。
finding-number = 编号
finding-changes = 变化
finding-shown = 始于
finding-newest = 最近一次
finding-state = 状态
finding-state-new = 新
finding-state-known = 已知
finding-state-wanted = 预期
finding-state-fixed = 已修复
finding-state-noise = 噪声
finding-dearer = 更费：{ $counts }
finding-cheaper = 更省：{ $counts }
finding-by = 由 { $by }
finding-again = 再次出现
finding-closed = 由 { $campaign } 关闭
table-markdown = 复制为 Markdown
table-csv = 复制为 CSV
table-copied = 已复制。
table-refused = 浏览器不允许复制。
table-search = 在此表中搜索
feed-title = Benchlab 的发现
feed-about = 订阅：
finding-history = 历史（{ $count }）
finding-judge = 判定为…
finding-note = 原因是什么？
finding-link = 问题链接
finding-save = 保存
finding-take-back = 撤回
finding-no-verdict = 该测试活动的判定并未显示这一变化
trust-right = 已判定的 { $judged } 项发现中有 { $right } 项属实：{ $share }（95% 区间 { $interval }）。尚未判定：{ $count } 项。
trust-nobody = 还没有人判定过任何发现，因此不知道其中有多少属实。尚未判定：{ $count } 项。
trust-few = 被判定为噪声的有 { $false } 项：数量太少，无法判断误报是否偏向某一方。
trust-even = { $false } 项误报中有 { $some } 项是性能退化；若无偏差，约为 { $expected } 项（p { $p }）。没有迹象表明存在偏差。
trust-worse = { $false } 项误报中有 { $some } 项是性能退化；若无偏差，约为 { $expected } 项（p { $p }）：有某种因素偏向基线，除非性能提升较少被判定（尚未判定：{ $others } 项）。可用一次 A/A 测试活动查明。
trust-better = { $false } 项误报中有 { $some } 项是性能提升；若无偏差，约为 { $expected } 项（p { $p }）：有某种因素偏向候选，除非性能退化较少被判定（尚未判定：{ $others } 项）。可用一次 A/A 测试活动查明。

## 网站：历史

site-history-about = 将各测试活动测得的变化逐一衔接：不同测试活动的吞吐从不直接比较，因为主机之间的差异大于版本之间的差异。
site-newest-verdict = 最新结论
site-newest-regression = 最近一次尚未判定的性能退化
site-history-none = 还没有测试活动对比过两个版本。设有日程的报告类型会自动测量新版本；回填可测量过去的版本。
site-history-published = 仅见于已发布的报告
site-history-published-about = 他人对这些负载发布的结果；本站没有测量过。
site-unreadable = 因无法读取而略去：{ $what }
site-change-point-slower = { $candidate } 使 { $workload } 变慢：相对 { $previous }，吞吐 { $change }（95% 区间 { $interval }），首次见于 { $day }。
site-change-point-faster = { $candidate } 使 { $workload } 变快：相对 { $previous }，吞吐 { $change }（95% 区间 { $interval }），首次见于 { $day }。
site-change-point-dearer = { $candidate } 使 { $workload } 更费：相对 { $previous }，每个事务的 { $what } { $change }（95% 区间 { $interval }），首次见于 { $day }。
site-change-point-cheaper = { $candidate } 使 { $workload } 更省：相对 { $previous }，每个事务的 { $what } { $change }（95% 区间 { $interval }），首次见于 { $day }。
site-drift = { $what }在缓慢漂移：从 { $oldest } 到 { $newest }，经 { $releases } 个版本，共 { $change }（99% 区间 { $interval }）；没有哪个版本能单独解释。
site-no-change = 自 { $first } 以来没有发现持久的变化。
site-lacks-points = 测试活动太少，无法查找持久的变化：现有 { $there } 个，需要 { $needed } 个。
site-suspect = 存疑且无法区分：若基线 { $baseline } 与 { $bridged } 没有差异，则 { $candidate } 相对 { $previous } 变化了 { $change }（95% 区间 { $interval }）。两者在同一次测试中首次出现，因此变化也可能来自基线。以下测试可以区分：
site-suspect-takes = 大约需要 { $duration }。
site-suspect-costs = 大约需要 { $duration }，费用约 { $dollars } 美元。
news-change-point = 变化点
news-suspect = 疑似变化
news-drift = 缓慢漂移
news-verdict = { $verdict }：{ $report }，{ $candidate } 对比 { $baseline }
news-finding = { $how ->
    [larger] { $workload } 是发现 { $number }，比判定时更大。
    [again] { $workload } 是发现 { $number }，再次出现。
   *[first] { $workload } 是发现 { $number }。
}
news-canary-missed = 金丝雀未被发现：{ $report }
site-noise = { $campaigns } 个 A/A 测试的离散程度为 { $sd }%（标准差）。
site-noise-unknown = 测试活动之间的离散程度未知：有 { $campaigns } 个 A/A 测试，需要 5 个。
site-between-title = 任意两个版本之间
site-between-first = 从
site-between-second = 到
site-between-go = 比较
site-between = { $second } 相对 { $first }：{ $change }（95% 区间 { $interval }），由 { $campaigns } 个测试活动衔接而成。
site-between-unmeasured = { $second } 相对 { $first }：{ $change }，前提是 { $unmeasured } 没有带来任何变化。没有测试测量过这一步，因此没有区间。
site-between-unknown = { $second } 相对 { $first }：{ $change }。区间未知，因为其间某个测试的误差未知。
site-between-nothing = { $first } 与 { $second } 之间没有联系：没有一连串测试活动能从其中一个通向另一个。
site-levels = 水平
site-level-chart = 相对 { $first } 的水平（百分比），按日期；竖线为 95% 区间。
site-level-hint = 每个点是一个测试活动：点击可打开其页面。
site-level-bridged = 空心：其基线此前没有作为候选测量过，因此水平中含有没有测量过的一步
site-level-outlier = 叉号：离群，未计入
site-changes = 持久的变化
site-column-day = 日期
site-column-candidate = 候选
site-column-baseline = 基线
site-column-level = 水平
site-column-level-interval = 水平的 95% 区间
site-column-campaign = 测试活动
site-first-after = 其后第一个
site-last-before = 其前最后一个
site-other-setting = 在另一种设置下：{ $differs }
site-line = 版本线 { $line }
setting-differs = { $name } 为 { $here }，后为 { $newer }
site-left-out = 未纳入衔接
left-out-state = { $state }，未完成
left-out-slowed = 候选被人为减速 { $pct }%
left-out-restored = 从数据集快照恢复的 A/A 测试：各次部署之间没有差异
left-out-aa-rounds = A/A 测试没有两个完整的轮次
left-out-no-round = 没有完整的轮次
left-out-no-count = 没有这项计数
left-out-from-none = 一方的该项消耗为零，因此没有比值
left-out-few-rounds = 完整的轮次少于三个：无法区分变化与噪声
left-out-at-rate = 按给定速率发送：吞吐不是其自身的
left-out-unstable = 结果不稳定：{ $why }
left-out-bisection = 由二分查找测量，而发布日历中没有其候选版本的日期
left-out-itself = 版本与自身对比
left-out-older = 候选早于基线
left-out-sides = 两方除版本之外还有其他差异：{ $names }
left-out-of-line = { $fault }；请用 `--on DAY` 测量，或将其版本加入发布日历（`benchlab releases update`）
line-order = 候选 { $candidate } 不符合版本线 { $line } 中的版本顺序
line-baseline-before = 候选 { $candidate } 此前曾是基线
line-candidate-later = 基线 { $baseline } 之后才成为候选
site-published-title = 他人发布的结果
site-published-about = 每个数字只有一个值：没有区间，也没有结论。每个变化都相对其所在页面的基线；不同页面的吞吐不可比较。
site-column-versions = 版本
site-column-recomputed = 变化（重新计算）
site-column-printed = 变化（页面所载）
site-column-highest = 最高吞吐
site-column-discrepancies = 问题数
site-column-pages = 页面

## 网站：测试活动之后可以做什么

next-steps = 下一步
next-again = 再次测量
next-again-about = { $versions }，与本次测试活动相同
next-rounds = 增加轮数
next-rounds-about = 每一方部署 { $deployments } 次、共 { $rounds } 轮，{ $decides ->
    [yes] 应能对 { $workloads } 得出结论
   *[no] 可看出 { $workloads } 更小的变化
}
next-diagnose = 诊断
next-diagnose-about = 再次测量 { $workloads }，并进一步观察服务器：语句、执行计划、函数
next-bisect = 二分查找
next-bisect-about = 查找 { $first } 之后、直到 { $last } 为止，是哪个版本改变了 { $workloads }：最多 { $campaigns } 次测试活动，从命令行运行
next-takes = { $duration }，{ $price }
next-not-loaded = 未能加载；打开链接可查看原因。
next-may-not = 任何人都可以查看这些计划。要启动其中一个，需要触发 DAG { $dag } 的权限；Airflow 的角色 User、Op 和 Admin 具有该权限。

## 网站：计划

site-store-failed = 无法读取结果库；原因见 Airflow API server 的日志。
site-plan-about = 一次测试活动需要多久、花费多少、能发现多大的变化。填写表单不会启动任何测试。
site-plan-none = 没有你可以查看的有效报告类型；`benchlab validate` 会指出其他报告类型的问题。
site-plan-published = 已发布文档的计划
site-plan-baseline = 基线版本
site-plan-candidate = 候选版本
site-plan-workloads = 负载
site-plan-threads = 客户端线程数
site-plan-rounds-field = 轮数
site-plan-deployments-field = 每一方的部署次数
site-plan-seconds-field = 每次试验秒数
site-plan-diagnose-field = 诊断
site-plan-diagnose = { $when ->
    [on_change] 仅当工作负载有变化时
    [always] 总是
   *[never] 从不
}
site-plan-diagnosis = 诊断
site-plan-more = { $when ->
    [on_change] 有工作负载发生变化时，最多另加 { $takes }
   *[always] 最多另加 { $takes }
}
site-plan-like = 以 { $campaign } 的版本和字段为起点，也包括此处未列出的字段。
site-plan-own = 改用报告类型自己的值
site-plan-not-like = like：{ $campaign }：无法沿用其字段和版本：它不是 { $report } 的测试活动，或报告类型的文件已改变，或它测量的是构建，可用 `benchlab reproduce { $campaign }` 重新部署
site-plan-show = 显示计划
site-plan-asking = 正在计算计划……
site-plan-being-asked = 其余信息正向镜像和服务器查询；若本机正在测量测试活动，则暂不查询。
site-plan-stale = 下面的数字对应之前的值：Airflow 没有响应，或登录已失效。请修改一个值重试，或重新加载本页。
site-plan-faults = 无法制定计划：
site-plan-not-whole = { $field }：{ $found } 不是整数
site-plan-below-one = { $field }：{ $found } 小于 1
site-plan-no-report = report：{ $report }：没有此报告类型；已有：{ $known }
fault-every-engine = { $side }：{ $version } 对每个引擎（{ $engines }）都指定了一个版本；请用 engine= 指明是哪个引擎
fault-two-engines = { $side }：{ $version } 是 { $engine } 的版本，而本次测试活动的引擎是 { $other }：两方必须是同一引擎
fault-no-version = { $side }：{ $version } 不是此报告类型任何引擎（{ $engines }）的版本，也不是版本规则；TiDB 的版本写作 v6.5.0，MariaDB 的写作 10.11.5，版本规则有：{ $rules }
fault-not-published = { $side }：{ $version }：{ $why }；发布日历中最新的是 { $newest }
not-on-maven = Maven Central 上没有 MariaDB { $version }
not-on-tiup = TiUP 的镜像中没有 TiDB { $version }
fault-no-release = { $rule }（{ $on }）：发布日历中没有；{ $has }。请将其加入 configs/releases.csv（`benchlab releases update`），或直接写明版本
calendar-newest = 届时其中最新的版本是 { $version }
calendar-none = 届时其中没有任何版本
fault-one-version = engines.{ $engine }：候选与基线相同（{ $version }）；如需测量同一版本与自身相比的噪声，请写 `sides: same`（A/A 测试活动）
fault-twice = { $field }：{ $values } 中有重复；每种组合只测一次
fault-rounds = deployments：每一方 { $deployments } 次部署，每次至少需要一轮，而 rounds 为 { $rounds }
fault-pairs = deployments：{ $deployments }：两方成对部署，这需要 `placement: interleaved` 和两方；请写 1，或不填
fault-design-restore = restore：after_writes：使用 design: { $design } 时无法预知各次试验的先后；请写 per_workload 或 every_trial
fault-design-sides = design: { $design }：比较轮流测量的两个版本，这需要 `sides: different` 和 `placement: interleaved`
fault-release-deployments = design: release：最早在三次部署之后查看是否已有结论；{ $deployments } 次部署没有可节省的；请至少写 { $least }，或写 design: fixed
fault-release-rounds = design: release：每次部署的轮数必须相同，但 rounds 为 { $rounds }，deployments 为 { $deployments }；请写成整数倍
fault-watch-deployments = design: watch：每个轮次各有一次部署，但 rounds 为 { $rounds }，deployments 为 { $deployments }；请写成相同的数
fault-watch-rounds = design: watch：共 { $rounds } 轮，减去用于筛查的 { $screening } 轮之后太少：证实被标记的变化至少需要 { $least } 轮；请增加 rounds，或减少 `screening_rounds`
fault-watch-release = schedule.release_every：{ $every }：使用 design: watch 时锚点保持不变；请写 0
looked-nothing = 第 { $after } 次部署之后：没有新的结论
looked-some = 第 { $after } 次部署之后：不再测量：{ $left }
screened-nothing = 没有标记任何变化，因此没有再次测量
screened-flagged = 已标记并再次测量：{ $confirming }
screened-left-out = 已标记：{ $flagged }；再次测量：{ $confirming }；因预算不足没有再次测量：{ $left_out }
fault-trials = 计划有 { $trials } 次试验，超过 { $most } 次；请减少轮次、线程数或负载
fault-at-most = { $field }：最多为 { $most }，实际为 { $found }
fault-engine = engine：{ $engine }：{ $why }
fault-topology = topology { $topology }：{ $why }
cloud-price-undecided = usd_per_hour：未知；请写明 TiDB Cloud 控制台为此类集群显示的价格，并在 `priced_on` 中写明日期
site-plan-undecided = 目前还不能运行：
site-plan-duration = 大约需要
site-plan-cost = 费用
site-plan-on-average = 没有差异时平均
site-plan-with-everything = 全部负载都证实时
site-plan-at-the-earliest = 最早
site-plan-takes = { $duration }，约 { $dollars } 美元
site-plan-finds = 能发现
site-plan-cheapest = 能发现 1.5 倍阈值变化的最低成本方案
site-plan-trials = 试验数
site-plan-rounds-of = { $rounds }{ $deployments ->
    [1] {""}
   *[other] （每一方部署 { $deployments } 次）
}
site-plan-rounds = 轮数
site-plan-hosts = 主机数
site-plan-steps = 步骤
site-plan-command = 命令行
site-plan-start = 启动此测试
site-plan-start-hint = 以你的身份用这些值触发其 DAG。需要批准的报告类型在批准之后才会租用主机。
site-plan-paused = DAG 在 Airflow 中已暂停：在此启动的测试会一直等待，直到有人取消暂停。如果该 DAG 有调度计划，取消暂停后它也会自动运行。
site-plan-not-started = 未能启动：
site-plan-free = 不租用任何主机
site-plan-unpriced = 未知：缺少价格
site-plan-dollars = 约 { $dollars } 美元
site-plan-at-most = ，最多 { $dollars }
site-plan-approval = ；需要有人批准
site-plan-finds-nothing = 无：只有一方或轮次少于三个时，不会得出任何变化的结论
site-plan-finds-told = { $told }（{ $campaigns ->
    [0] { $assumed }
   *[other] 依据 { $campaigns } 个测试活动的噪声
}）
site-plan-cheapest-is = 每一方 { $deployments } 次部署、共 { $rounds } 轮，{ $duration }：可发现 { $change } 的变化
site-plan-finds-little = 五次中有四次连 50% 的变化也发现不了，{ $by }
site-plan-finds-counts = 每个事务的消耗：{ $counts }
site-plan-finds-change = 五次中有四次可发现 { $change } 的变化，{ $by }
site-plan-by-assumption = 噪声为假定值：此设置在这些主机上还没有测试活动
site-plan-by-campaigns = 依据 { $campaigns } 个测试活动（最近一个为 { $latest }）的轮次{ $deployments ->
    [0] ，部署间差异为假定值：每一方 1%
   *[other] {""}及其每一方 { $deployments } 次部署
}

## 网站：计划的步骤

plan-in-deployment = 第 { $deployment } 次部署：{ $what }
plan-prepare = 部署、导入 { $dataset }、收集统计信息、创建快照
plan-prepare-checked = 部署、导入 { $dataset }、收集统计信息、检查、创建快照
plan-prepare-existing = 创建库、导入 { $dataset }、收集统计信息
plan-prepare-existing-checked = 创建库、导入 { $dataset }、收集统计信息、检查
plan-build-sysbench = 从 { $archive } 编译 sysbench
plan-publish-local = 检查、对比、生成报告；测试的启动和结束
plan-publish = 检查、对比、生成报告
plan-end = 结束服务器和作业，删除数据
plan-give-back = 归还租用的全部资源
plan-deploy = 用 TiUP 在所有主机上部署集群并启动
plan-deploy-anew = { plan-deploy }：重新部署较旧的一方
plan-load = 导入 { $dataset }
plan-load-both = 同时向两方导入 { $dataset }
plan-load-older = 向较旧的一方导入 { $dataset }
plan-keep = 用 BR 保存为数据集快照
plan-from-snapshot = 用 BR 从数据集快照恢复 { $dataset }，各方依次进行
plan-analyze = ANALYZE TABLE，每次同时处理 { $tables } 张表；计算校验和
plan-check-load = 导入的数据集是否一致
plan-check-end = 最后一次试验之后数据集是否仍然一致
plan-back-up = 停止集群，同时在所有存储主机上复制数据
plan-watch-and-back-up = 观察空闲的集群，停止集群，同时在所有存储主机上复制数据
plan-round = 第 { $round } 轮
plan-measure = { $portion }，{ $trials } 次试验，每次 { $seconds } s{ $restores ->
    [0] {""}
   *[other] ，恢复快照 { $restores } 次
}{ $changes ->
    [0] {""}
   *[other] ，修改配置 { $changes } 次
}
plan-rent = 在 { $region } 租用 { $hosts } 台主机
plan-cloud = 在 { $region } 创建 TiDB Cloud 集群
plan-cloud-and-client = { plan-cloud }，并租用客户端主机
plan-log-in = 登录 { $hosts } 台主机并检查
site-plan-step = { $stage }：{ $what }

## 网站：计划的说明

site-plan-engine = 引擎 { $engine }：{ $reason }
side-both = 两方
rule-of-side = { $side }：{ $named }
rule-named = { $on } 按规则“{ $rule }”选定 { $label }（{ $why }）
rule-released = { $day } 发布
rule-of-day = { $day } 的构建
rule-measured = 已由测试活动 { $campaign } 测量
rule-newest-before = { $label } 之前的最新版本，{ $day } 发布；{ $missing }
rule-none-measured = 此前没有测量过其他版本
rule-none-good = 此前 { $series } 系列没有测量结果良好的版本
rule-replaced = 以 { $label }（{ $day } 发布）代替规则“{ $rule }”：按 schedule.release_every，本周与最新的正式版本对比
rule-as-if = 制定计划时以 { $label } 代替“{ $rule }”，原因：{ $why }
rule-running = “{ $rule }”为 { $label }，由 Connection { $connection } 得知
rule-bridge = { $new } 取代 { $old } 成为锚点，因此先把两者相互比较：针对 { $old } 的测量结果仍然有效
rule-no-bridge = { $new } 取代 { $old } 成为锚点，而后者无法再次部署（{ $why }）：针对它的测量结果不再有效
rule-aa = A/A 测试：候选与自身对比，用于了解噪声
rule-canary = 金丝雀测试：只测 { $workload }，候选被人为减速 { $pct }%，以检验能否发现
rule-resumed = 沿用测试活动 { $campaign } 的版本，本次运行将继续该活动
warning-warehouses = dataset.warehouses：{ $warehouses } 个 warehouse 对 { $threads } 个线程。warehouse 少于线程时，各线程会在 `warehouse` 和 `district` 表的行上相互等锁，测得的将是锁等待；请使 warehouse 数不少于线程数
warning-records = dataset.records：{ $records }。ycsb_d 主要读取最新的行，执行第一个操作之前要为每一行计算权重，因此实际运行时间短于要求的时间，无法通过检查项；运行 ycsb_d 时请不要超过 { $most } 条记录
warning-deletes = dataset：oltp_delete 对每一行只能删除一次。若每秒删除 { $rate } 次或更多，{ $seconds } 秒内将有超过三分之一的删除在 { $rows } 行中找不到要删除的行，测得的将是空删除；请增加行数或缩短时间
warning-not-set = engines.{ $engine }.by_workload：仅记录，不会生效。TiKV 的参数只能由 TiDB Cloud 的技术支持在已有的集群上修改；请在自己的集群上让其修改，再以 target: existing 测量该集群
warning-dataset-unknown = 无法访问 S3，因此按需要导入数据集制定计划：{ $why }
warning-not-checked = { $side }：无法核实是否存在版本 { $version }：{ $why }
unasked-version = { $side }：版本 { $version } 不在发布日历中，尚未核实其是否存在
unasked-nightly = 尚未查询“{ $rule }”是哪个版本
unasked-servers = 制定计划时假定服务器运行最新版本：尚未查询服务器
maven-silent = Maven Central 没有响应

## 测试活动的阶段，如其进度所记

phase-of-side = { $phase }（{ $side }）
stage-plan = 制定计划
stage-approve = 批准
stage-register = 登记
stage-provision = 准备主机
stage-prepare = 准备
stage-deploy = 部署
stage-load = 导入数据
stage-analyze = 收集统计信息
stage-check = 检查
stage-check-consistency = 检查一致性
stage-compare = 比较
stage-find-invalid = 查找无效试验
stage-back-up = 创建快照
stage-measure = 测量
stage-trial = 试验
stage-repeats = 重测
stage-diagnose = 诊断
stage-validate = 检查结果
stage-publish = 发布
stage-verdict = 结论
stage-notify = 通知
stage-give-back = 归还
stage-failed = 失败
calm-busy = 其他程序占用 { $host } 的 { $share } CPU（允许 { $most }）
calm-waits = { $busy }；等待其结束，最多 { $most } 秒
calm-anyway = { $busy }；仍进行试验，但试验可能无效
calm-after = { $seconds } 秒之后
approval-waits = 等待有人批准约 { $dollars } 美元的费用：见其 Airflow 运行的 Required Actions
phase-wait-for-approval = 等待批准
phase-wait-for-calm = 等待机器空闲
phase-calm = 机器已空闲
phase-planned = 计划已制定
phase-versions = 版本
phase-warning = 警告
phase-check-the-machine = 检查机器
phase-wait-until-it-is-free = 等待机器空闲
phase-local = 本机
phase-hosts = 自有主机
phase-install = 安装
phase-client = 客户端
phase-deploy = 部署
phase-load = 导入数据
phase-load-all-sides = 向各方导入数据
phase-keep-the-dataset-of = 保存数据集
phase-restore-the-dataset-of = 恢复数据集
phase-analyze = 收集统计信息
phase-check-after-load = 导入后的检查
phase-check-after-last-trial = 最后一次试验后的检查
phase-back-up = 创建快照
phase-stop = 停止
phase-screen = 筛查
phase-restore = 恢复快照
phase-configure = 更改配置
phase-start = 启动
phase-ready = 等待就绪
phase-check-dataset = 检查数据集
phase-warm-up = 预热
phase-run = 运行
phase-collect = 收集结果
phase-gates = 检查项
phase-evaluated = 已检查
phase-left-out = 已省略
phase-report = 报告
phase-published = 已发布
phase-sent = 已发送
phase-diagnose = 诊断
phase-failed = 失败
phase-statements = 语句
phase-cpu = CPU 剖析
phase-allocations = 内存分配剖析
phase-done = 完成

## 选用引擎的原因，以及主机没有数据的原因

engine-named = 由报告类型指定
engine-of-servers = 由所连接的服务器得知
engine-mysql = MySQL 按 mariadb 测量
engine-there = 本机可用 { $engine }
engine-absent = { $engine } 不可用：{ $why }
engine-without-tiup = { $path } 处没有 TiDB { $version }，本机也没有可用来下载的 `tiup`
engine-mirror-silent = 本机没有 TiDB { $version }，TiUP 也无法下载：{ $why }
engine-not-on-mirror = 本机没有 TiDB { $version }，TiUP 镜像中也没有该版本：可用 `tiup list tidb --all` 查看镜像中的版本
engine-without-maven = 未安装 MariaDB { $version }，且缺少 `mvn`：请运行 `make setup`
hosts-sampler-refused = 无法在该主机上启动采样程序：{ $said }
hosts-sampler-absent = 未在该主机上启动采样程序
hosts-sampler-silent = 采样程序输出的采样不足两次，最后的输出为：{ $said }

## 单一版本 (`sides: single`)：代替不带 `-single` 的消息

side-baseline-single = 被测版本
of-both-sides-single = { $value }
title-single = { $system } { $baseline } 性能测试报告
subject-single = 本次测试{ measured-how }单独测量了 { $engine } { $baseline }：吞吐能达到多少？事务耗时多久？
column-highest = 最高值
column-at-threads = 对应线程数
column-p95 = 此时的 p95 (ms)
scope-one-version = 这些数据描述的是该版本在本次部署中的表现。与其他测试活动比较时须谨慎：同一版本在不同部署之间的差异可能大于两个版本之间的差异。
read-one-version = 每个数据都是几何平均值，取自该线程数有有效试验的各个轮次；图中的浅色点为单个轮次。
read-one-alone = 没有进行比较：没有变化的置信区间，没有 p 值，也没有结论。试验的各项检查与对比两个版本时相同。
rounds-used-single = { $rounds } 个轮次中有 { $used } 个完整；表中每一行只采用其中有有效试验的轮次。
client-qpm-single = QPM 为这些线程按平均延迟每分钟完成的查询数。go-tpc 以 67 ms 为步长统计延迟。单条查询且未经审计，并非 TPC 意义上的测试结果。
client-tpmc-single = tpmC 为每分钟完成的 New Order 事务数，不含 TPC-C 规定的键入时间与思考时间，也未经审计：并非 TPC 意义上的测试结果。
cost-about-single = 服务器所在主机每小时共 ${ $hourly }（{ $day } 的标价）。不包括客户端主机、单独计费的存储和流量。费用按吞吐量最高的线程数计算；区间至少需要三轮，反映各次部署之间吞吐量的差异；只部署一次时，反映各轮之间的差异。
gates-symptom-single = 症状检查项，覆盖所有已执行的试验，或所有线程数（{ $counted }）；这些现象可能由被测版本自身引起，因此予以保留。
parameters-none-single = { $baseline } 未指定任何参数，使用默认值。
parameters-same-single = 对 { $baseline } 指定了以下参数。
shared-machine-single = { $balancer ->
    [none] 客户端和服务器共用
   *[haproxy] 客户端、负载均衡器和服务器共用
}一台机器（核数：{ $cores }）：所得数据说明该版本在此处的表现，不能与其他环境测得的数据比较。
fleet-restored-dataset-single = 数据集从数据集快照恢复。其中的数据行与当初导入时相同，但在磁盘上按恢复时的写入顺序存放，没有导入过程留下的痕迹：吞吐可能与重新导入数据集的测试不同。
ended-in-stage-single = { $phase }：{ $said }
hardware-replaced-single = 执行 { $after } 次试验之后有 { $count } 台主机丢失并被替换：{ $hosts }。之后重新部署并重新导入数据，因此此前与此后的试验属于两次部署。
step-deploy-single = { $where ->
    [tiup] 通过 TiUP 部署
    [fleet] 在其主机上部署
   *[machine] 使用独立的数据目录和端口部署
} { $engine } { $baseline }。
step-load-single = 导入 { $dataset }。
step-restore-dataset-single = { $by ->
    [this] 用客户端导入 { $dataset }，保存为数据集快照，再从该快照恢复。
   *[earlier] 从数据集快照恢复 { $dataset }；这些数据由此前的一次测试通过客户端导入。
}
step-consistency-single = { $moments ->
    [load] 导入数据之后，
    [last-trial] 最后一次试验之后，
   *[both] 导入数据之后以及最后一次试验之后，
}检查 TPC-C 的一致性条件（条款 3.3.2）。
step-snapshot-single = 停止服务器，并为数据创建快照。
step-sequential-single = 测试 { $rounds } 个轮次：按报告类型中的顺序，每个负载测试一次，依次以 { $threads } 个客户端线程进行测试。
commands-load-single = 导入数据
series-summary-single = 逐秒曲线：{ $count } 次试验
series-about-single = { $metric }；下方是最繁忙主机的 CPU 与磁盘，从空闲到完全繁忙。每张图的 { $metric } 刻度各自独立。
software-alike-single = 同一组件的各台服务器配置一致：其生效配置的摘要相同。
consistency-both-single = TPC-C 一致性条件（条款 3.3.2）：{ $told }。
stopped-by-deployment-single = 测试提前结束：无法重新部署服务器。
head-both-sides-single = 所设参数
sources-single = trials.csv 中每个已执行的试验占一行。某一线程数下的数据，是该负载、该线程数所采用的各行的几何平均值。{ sources-raw }comparison.csv 和 report.json 中为未经舍入的数据。如本报告旁有 evidence.zip，可用 benchlab verify 命令由原始输出重新计算各项数据，该命令也会指出无法重新计算的内容。
restored-alone-from = { $source ->
    [client] 由客户端重新导入
   *[snapshot] 从快照恢复
}
restore-every-trial-single = 每次试验之前，均{ restored-alone-from }数据。
restore-after-writes-single = 如果上次恢复之后写入过数据，则在试验之前{ restored-alone-from }数据。
restore-per-workload-single = 每个测试块之前，{ restored-alone-from }数据；同一测试块内的试验依次使用前一次试验留下的数据。
site-plan-baseline-single = 版本
site-plan-deployments-field-single = 部署次数
