"""Model management for `repartee models`: which models a configuration needs, which are downloaded, and downloading."""
