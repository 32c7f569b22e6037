"""HTTP requests of the page that OpenAI's API does not have, below /v1/repartee.

May import `access`, `http_api` and `wire`.
"""
