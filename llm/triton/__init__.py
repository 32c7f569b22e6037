"""Models on Triton: its generate extension over HTTP, and KServe's protocol over gRPC."""
