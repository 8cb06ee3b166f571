"""Defaults and validation of the API's objects, asked synchronously by the API server.

The rules are pure (`logic`): a request and a `World` give a response, on the server and offline in
`vcctl validate`. The shell keeps the world fresh from the bus, looks live at what it does not know
yet, and serves HTTPS with certificates it makes and rotates itself.
"""
