"""The chart, the manifests and the rights, on real Helm, kubectl and kube-apiserver."""
