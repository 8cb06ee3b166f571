"""`vcctl` and its slurm-like sisters: parse, ask the API server, print.

Start-up time is a feature: nothing here imports asyncio, aiohttp, msgspec or yaml at the top. The
parser names a command's function as text; its module is imported when that command runs. A small
synchronous client is enough for a program that asks one to three questions and ends.
"""
