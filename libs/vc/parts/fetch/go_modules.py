"""The Go recipes: modules, versions, and our few lines around them.

`k8s.io/kubernetes` is not meant to be required: its go.mod refers to staging folders (`v0.0.0`)
that exist only in its own repository. Each of them is published as a separate module. The replace
lines below map each to its published version, which is the version of Kubernetes with major version
0 (1.35.4 -> 0.35.4). Commands that are packages of their module (KWOK, Jaeger, Helm) need no main
of ours.
"""

from vc.parts.fetch.recipes import GoModule

KUBERNETES_VERSION = "1.35.4"
ETCD_VERSION = "3.6.5"  # the version with which Kubernetes 1.35 is tested
KWOK_VERSION = "0.8.0"
JAEGER_VERSION = "1.76.0"  # cmd/jaeger of this tag is the binary that is released as Jaeger 2.13
HELM_VERSION = "3.22.0"

STAGING_MODULES = (
    "api",
    "apiextensions-apiserver",
    "apimachinery",
    "apiserver",
    "cli-runtime",
    "client-go",
    "cloud-provider",
    "cluster-bootstrap",
    "code-generator",
    "component-base",
    "component-helpers",
    "controller-manager",
    "cri-api",
    "cri-client",
    "csi-translation-lib",
    "dynamic-resource-allocation",
    "endpointslice",
    "externaljwt",
    "kms",
    "kube-aggregator",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
    "metrics",
    "mount-utils",
    "pod-security-admission",
    "sample-apiserver",
)

KUBERNETES_MAIN = """\
// One binary for the control plane: the first argument chooses the server.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	servers := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	}
	if len(os.Args) < 2 || servers[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: kubernetes kube-apiserver|kube-controller-manager [flags]")
		os.Exit(2)
	}
	name := os.Args[1]
	os.Args = append([]string{name}, os.Args[2:]...)
	os.Exit(cli.Run(servers[name]()))
}
"""

KUBECTL_MAIN = """\
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

func main() { os.Exit(cli.Run(cmd.NewDefaultKubectlCommand())) }
"""

ETCD_MAIN = """\
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
"""


def _staging_version(kubernetes_version: str) -> str:
    """The version of the staging modules: v0.35.4 for Kubernetes 1.35.4."""
    return "v0." + kubernetes_version.split(".", 1)[1]


def _component_version(kubernetes_version: str) -> tuple[tuple[str, str], ...]:
    """The version that kube-apiserver and kubectl report.

    Without it kubectl refuses some commands.
    """
    major, minor, _ = kubernetes_version.split(".")
    package = "k8s.io/component-base/version"
    return (
        (f"{package}.gitVersion", f"v{kubernetes_version}"),
        (f"{package}.gitMajor", major),
        (f"{package}.gitMinor", minor),
    )


def kubernetes(version: str = KUBERNETES_VERSION) -> GoModule:
    """kube-apiserver and kube-controller-manager in one binary, because they share most of their
    code.
    """
    staging = _staging_version(version)
    # Without these lines Go would look for the version v0.0.0, which does not exist.
    replace = tuple(f"k8s.io/{name} => k8s.io/{name} {staging}" for name in STAGING_MODULES)
    return GoModule(
        program="kubernetes",
        go_version="1.25",
        module=f"k8s.io/kubernetes@v{version}",
        replace=replace,
        main_go=KUBERNETES_MAIN,
        set_variables=_component_version(version),
    )


def kubectl(version: str = KUBERNETES_VERSION) -> GoModule:
    """kubectl from its own staging module, which compiles much faster than k8s.io/kubernetes."""
    return GoModule(
        program="kubectl",
        go_version="1.25",
        module=f"k8s.io/kubectl@{_staging_version(version)}",
        main_go=KUBECTL_MAIN,
        set_variables=_component_version(version),
    )


def etcd(version: str = ETCD_VERSION) -> GoModule:
    """etcd, the store of kube-apiserver."""
    return GoModule(
        program="etcd",
        go_version="1.24",
        module=f"go.etcd.io/etcd/server/v3@v{version}",
        main_go=ETCD_MAIN,
    )


def kwok(version: str = KWOK_VERSION) -> GoModule:
    """KWOK, for fake nodes and pods on a real API server."""
    return GoModule(
        program="kwok",
        go_version="1.26",
        module=f"sigs.k8s.io/kwok@v{version}",
        package="sigs.k8s.io/kwok/cmd/kwok",
        set_variables=(("sigs.k8s.io/kwok/pkg/consts.Version", version),),
    )


def jaeger(version: str = JAEGER_VERSION) -> GoModule:
    """Jaeger without its web UI, which is not in the module. The query API works without it."""
    module = "github.com/jaegertracing/jaeger"
    # Jaeger's own replace line. Replaces of a dependency do not apply to our module, and the old
    # import path needs it.
    sarama = "github.com/Shopify/sarama => github.com/Shopify/sarama v1.33.0"
    return GoModule(
        program="jaeger",
        go_version="1.25",
        module=f"{module}@v{version}",
        replace=(sarama,),
        package=f"{module}/cmd/jaeger",
        set_variables=((f"{module}/internal/version.latestVersion", f"v{version}"),),
    )


def helm(version: str = HELM_VERSION) -> GoModule:
    """Helm, which renders and installs the chart."""
    return GoModule(
        program="helm",
        go_version="1.26",
        module=f"helm.sh/helm/v3@v{version}",
        package="helm.sh/helm/v3/cmd/helm",
        set_variables=(("helm.sh/helm/v3/internal/version.version", f"v{version}"),),
    )
