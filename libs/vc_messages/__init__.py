"""What travels on the bus: topics as data, messages, their wire format, and the view of the facts.

Pure. `topics` says who writes what to whom; `codec` turns structs into bytes and refuses what it
does not know; `facts` and `progress` are the watcher's messages; `view` is the protocol's memory:
what may be believed, and when one may act on it; `effects` are the commands that decisions return.
"""
