"""Tests of vc.simcluster.kubelet."""
