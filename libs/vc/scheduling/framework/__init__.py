"""The extension points of the scheduler, and the plugins behind them.

An extension point is one question that the framework asks plugins. It is declared once, as an
`ExtensionPoint` value: its Protocol, the `enable*` switch of the configuration that turns a plugin
off there, and how the answers of several plugins are combined. `points.EXTENSION_POINTS` lists all
of them. The modules `order_points`, `node_points`, `job_points`, `queue_points` and
`eviction_points` hold the Protocols with their declarations and, in one class each, the calls that
combine the answers: `framework.jobs.job_starving(session, group)`.

A plugin is a class that is constructed from its arguments. It takes part in every point whose
methods it has. The name of a method is the name of its point in snake case. Volcano's name is used
where Volcano has the point (`JobOrder` for `JobOrderFn`). A suffix says what the answer is:

- `_key`: a sort key, a tuple; the smaller one comes first;
- `_refusal`: the Reason of a refusal, or None;
- `_vote`: PERMIT, ABSTAIN or REJECT;
- `_permit` or no suffix: True or False;
- `_masks`: pairs of the name of a check and a mask over all nodes;
- `_scores`: an array of scores, or None if nodes do not differ;
- any other suffix names the value, as in `job_ready_missing`.

The class of a plugin is checked when it is loaded (`points.check_plugin_class`). A public method
that belongs to no point, or has other parameters than its point, is an error. Everything else of a
plugin is private: its name begins with an underscore.
"""
