"""Tests of vc.simcluster.store."""
