"""What every test shares: how Hypothesis looks for examples.

The gate takes the same examples each time, so that a change is judged by what it changed; `make search` takes new ones.
Neither has a deadline: how long an example takes says how busy the machine is.
"""

from hypothesis import HealthCheck, settings

settings.register_profile("gate", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gate")
