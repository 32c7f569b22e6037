"""`repartee models`: which models a configuration needs, which are at hand, and fetching them."""
