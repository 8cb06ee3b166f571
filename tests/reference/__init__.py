"""A naive scheduler that the real one is compared with.

Plain loops over one object per pod, node, job and queue, written from the description of behaviour and
the definitions below; no arrays, no caches, nothing of the real one's logic. Slow, and short enough to be
read. Where the description leaves a choice, it is made here once, and the real scheduler makes the same:

- Nodes: the highest score, then the first by name. Pods: by priority, then by task, index and name.
- Queue order: by priority, then by share of what they deserve from the top of the tree down, then by age,
  uid and name. Job order in a queue: by the end of their waiting time (where sla is on), by priority, then
  those without their minimum, then by dominant share, then by age, uid and key.
- A job's priority is the lower of its class's and its unfinished pods'.
- The enqueued resources of a job are what it was enqueued with, until it had that once; nothing, where it requests
  more than the cluster has or one of its queues may have.
- A job whose waiting time is over is enqueued whatever other plugins vote.
- What pods have whose queue does not exist is `root`'s (the cluster's where there is none): other queues
  share the rest, and it is never reclaimed. Jobs of such a queue wait.
- Jobs of a queue whose parent is missing or below it wait; for sums it is at the top of the tree. Jobs of `root`
  wait, too: no queue could reclaim from them.
- In a FIFO queue an enqueued job whose own pods are gated or not all there keeps its position before others; a job
  without any pods does not.
- All jobs that can get their minimum get it, whole, in turn; then, in turn, a sixteenth of a job's waiting pods (one
  to eight) while other jobs wait. A job that got its minimum less than `delay` ago gets no surplus pods yet.
- Shares are whole millionths; amounts are whole thousandths of a CPU or bytes.
- Victims are evicted in bundles: surplus pods one by one, or all pods of a job. Sets of bundles are
  compared by `victims.Order`. From the lowest level on (no gang broken, then by priority) bundles are taken
  in the order of `Order.key`, as many as are needed; those that turn out not to be needed stay: first all
  on nodes that the preemptor would not use, then one by one, most pods first. Where there are few sets (`SETS`),
  all of them are compared; else single victims are exchanged for cheaper ones.

Pod affinity terms select by labels in the same namespace; a node without the topology key is in no domain.

Left out: volumes, terms with expressions or other namespaces, preferred spread, hdrf, quotas, budgets,
task-topology, preemption within a job, reservations of earlier sessions.
"""
