"""`vcctl` and its slurm-like tools: parse the command line, query the API server, print.

Start-up time matters: nothing here imports asyncio, aiohttp, msgspec or yaml at module level. The
parser names the function of a command as text, and its module is imported when the command runs. A
small synchronous client is enough for a program that sends a few requests.
"""
