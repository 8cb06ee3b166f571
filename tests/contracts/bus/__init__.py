"""What every bus promises: written once, run on the in-memory twin and on real Kafka.

`backends` gives a bus together with the hands an administrator has on its broker (wipe, compact,
trim, stop); `steps` are the moves that tests are made of. A test knows neither which bus it runs on
nor how long things take there: it waits for what must come, within one named bound.
"""
