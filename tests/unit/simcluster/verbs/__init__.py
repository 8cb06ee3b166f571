"""Tests of vc.simcluster.verbs."""
