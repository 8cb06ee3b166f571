"""A naive scheduler to compare the real one with.

Plain loops over one object per pod, node, job and queue, written from the description of behaviour and
the definitions below; no arrays, no caches, nothing of the real one's logic. Slow, and short enough to be
read. Where the description leaves a choice, it is made here once, and the real scheduler makes the same:

- Nodes: the highest score, then the first by name. Pods: by priority, then by role, index and name.
- Queues take turns by priority, then by share of what they deserve from the top of the tree down, then
  by age, uid and name; jobs of a queue by when their time is up (where sla is on), by priority, then
  those without their minimum, then by dominant share, then by age, uid and key.
- A job's priority is the lower of its class's and its unfinished pods'.
- What a job is promised is what it was let in with, until it had that once; nothing, where it asks for more than the
  cluster has or one of its queues may have.
- A job whose time is up is let in whatever other plugins say.
- What pods have whose queue does not exist is `root`'s (the cluster's where there is none): other queues
  share the rest, and nobody reclaims it. Jobs of such a queue wait.
- Jobs of a queue whose parent is missing or below it wait; for sums it stands at the top. Jobs of `root` wait, too:
  no queue could reclaim from them.
- In a fifo queue an enqueued job whose own pods are gated or not all there keeps its position before others; a job
  without any pods does not.
- All jobs that can get their minimum, whole, in turn; then, a turn each, a sixteenth of a job's waiting pods (one to
  eight) while other jobs wait. A job that got its minimum less than `delay` ago gets no more yet.
- Shares are whole millionths; amounts are whole thousandths of a CPU or bytes.
- Victims go in bundles: pods that a job can do without one by one, or all that it has. Sets of them are
  compared by `victims.Order`. From the lowest level on (no gang broken, then by priority) bundles are taken
  in the order of `Order.key`, as many as are needed; those that turn out not to be needed stay: first all
  on nodes that the job would not use, then one by one, most pods first. Where there are few sets (`SETS`),
  all of them are compared; else single victims are exchanged for cheaper ones.

Terms between pods speak of labels in the same namespace; a node without the topology key is in no domain.

Left out: volumes, terms with expressions or other namespaces, preferred spread, hdrf, quotas, budgets,
task-topology, what happens inside a job, promises of earlier sessions.
"""
