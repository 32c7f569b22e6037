"""Helpers of the tests, by topic; tests import them as `support.TOPIC.MODULE`."""
