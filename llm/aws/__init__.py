"""Models on AWS: SageMaker and Bedrock, signed requests and event streams."""
