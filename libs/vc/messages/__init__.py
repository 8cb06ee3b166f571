"""Messages on the bus: topics, message types, their wire format, and the view of facts.

This package is pure. `topics` declares producers and consumers of each topic. `codec` encodes
structs and rejects unknown schemas. `facts` and `progress` are the watcher's messages. `view`
implements the reader's side of the protocol: which records are accepted, and when a decision may be
made. `effects` are the writes that decisions return.
"""
