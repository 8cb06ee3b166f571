"""Tests of vc.simcluster.webhooks."""
