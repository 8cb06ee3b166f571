"""The pure core: accounts of pods, rows of hours, and their stored form.

`pod_account` derives an account from a pod, `ledger` keeps the accounts of open hours, `rows` sums
them by hour, and `documents` encodes hours and open accounts for ConfigMaps.
"""
