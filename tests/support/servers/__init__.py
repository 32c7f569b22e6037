"""The real server and the page's server with scripted engines, gateways, proxies, Redis and Ray."""
