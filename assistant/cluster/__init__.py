"""Speech engines on a Ray cluster: the replicas, and what deploys them. The gateways' side is `audio/cluster/`."""
