"""Benchmarks: each prints a table, writes bench/results/<name>.json and ends with name=value pairs.

Bars are ratios or rates measured in one run; nothing here is part of a timed test.
"""
