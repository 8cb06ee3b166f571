"""Tests of vc.simcluster.apply."""
