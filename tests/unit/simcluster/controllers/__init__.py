"""Tests of vc.simcluster.controllers."""
