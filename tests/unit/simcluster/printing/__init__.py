"""Tests of vc.simcluster.printing."""
