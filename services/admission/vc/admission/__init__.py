"""Admission webhooks: defaults and validation of the API's objects.

The rules are pure (`logic`): they map a request and a `World` to a response, on the server and
offline in `vcctl validate`. The shell keeps the world up to date from the bus, reads unknown
objects live, and serves HTTPS with certificates that it creates and rotates itself.
"""
