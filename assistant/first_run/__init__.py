"""The first steps: which voices and language models there are, a check of the microphone, and what answers change.

`repartee init` (assistant/commands/init.py) asks in the terminal, the page (web/page_api/setup.py) in the browser.
"""
