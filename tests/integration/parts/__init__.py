"""Each real part is started and used by its own protocol; absent ones are skipped with a sentence."""
