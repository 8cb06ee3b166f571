"""The answers of the HTTP API: structs, OpenAPI, the page, and their scope."""
