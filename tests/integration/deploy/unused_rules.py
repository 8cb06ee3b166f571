"""Rights that a run of everything need not use, each with its reason. There is no other such list.

A right that is neither used nor named here fails the test, and so does a line here for a right that
the chart does not grant.
"""

from tests.integration.deploy.asked import Right

_BATCH, _SCHEDULING = "batch.volcano.sh", "scheduling.volcano.sh"
_CRASH = "after a crash between create and the fact of it: whose is the object that is there?"
_STALE = "an object that an older job of the same name left behind is removed first"
_NAMESAKE = "before an object of another job of the same name is removed: is that job gone?"
_COUNTED = "the same event again after a minute, or after a restart, is counted up"
_CALLER = "a caller with a token: whose it is, and what they may list"
_LEFT_OUT = "an object that cannot be processed, or is larger than a message, is told so"
_OWNER = (
    "checked, not asked: whoever makes an object that holds back its owner's deletion must be "
    "allowed to (admission plugin OwnerReferencesPermissionEnforcement, on in this test)"
)

UNUSED: dict[Right, str] = {
    Right("watcher", "", "events", "create"): _LEFT_OUT,
    Right("watcher", "", "events", "patch"): _COUNTED,
    Right("job-controller", "", "pods", "get"): _CRASH,
    Right("job-controller", _SCHEDULING, "podgroups", "get"): _CRASH,
    Right("job-controller", "", "persistentvolumeclaims", "get"): _CRASH,
    Right("job-controller", "", "persistentvolumeclaims", "delete"): _STALE,
    Right("job-controller", "", "events", "patch"): _COUNTED,
    **{
        Right(service, _BATCH, "jobs", "get"): _NAMESAKE for service in ("plugin-svc", "plugin-ray")
    },
    Right("plugin-ssh", "", "events", "patch"): _COUNTED,
    Right("podgroup-controller", _SCHEDULING, "podgroups", "get"): _CRASH,
    Right("podgroup-controller", "", "events", "create"): _LEFT_OUT,
    Right("podgroup-controller", "", "events", "patch"): _COUNTED,
    Right("queue-controller", _SCHEDULING, "queues", "get"): _CRASH,
    Right("queue-controller", "", "events", "patch"): _COUNTED,
    Right("usage-ledger", "", "events", "create"): _LEFT_OUT,
    Right("usage-ledger", "", "events", "patch"): _COUNTED,
    Right("usage-ledger", "", "configmaps", "get"): "the usage of hours that are over",
    Right("usage-ledger", "", "configmaps", "create"): "an hour of usage is over",
    Right("usage-ledger", "", "configmaps", "patch"): "the second hour of a day is over",
    Right("usage-ledger", "", "configmaps", "delete"): "usage is older than it is kept",
    Right("scheduler", "", "pods", "get"): "a bind that was not answered: did it happen?",
    Right("scheduler", "", "pods", "patch"): "a gang that cannot be completed is marked, released",
    Right("scheduler", "", "events", "patch"): _COUNTED,
    Right(
        "admission", _BATCH, "jobs", "list"
    ): "a maximum of jobs is set (maxima.jobsPerNamespace)",
    Right("admission", "", "namespaces", "get"): "a namespace younger than the view",
    Right("admission", _SCHEDULING, "queues", "get"): "a queue younger than the view",
    Right("dashboard", "authentication.k8s.io", "tokenreviews", "create"): _CALLER,
    Right("dashboard", "authorization.k8s.io", "subjectaccessreviews", "create"): _CALLER,
    **{
        Right(service, _BATCH, "jobs/finalizers", "update"): _OWNER
        for service in ("job-controller", "plugin-svc", "plugin-ssh", "plugin-ray")
    },
    Right("podgroup-controller", "batch", "jobs/finalizers", "update"): _OWNER,
    **{
        Right("podgroup-controller", "apps", f"{plural}/finalizers", "update"): _OWNER
        for plural in ("replicasets", "statefulsets", "daemonsets")
    },
}
