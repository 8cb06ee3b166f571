"""Tests of vc.simcluster.http: the verbs, formats and streams over HTTP."""
