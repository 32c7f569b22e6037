"""The commands `repartee cluster ...`: the head of a cluster on this machine, and the engines on a cluster."""
