"""The first steps: which voices and language models there are, and what the user's answers change.

`repartee init` (assistant/commands/init.py) asks in the terminal, the page (web/page_api/setup.py) in the browser.
"""
