"""Tests of vc.simcluster.schema."""
