"""Models on AWS: SageMaker and Bedrock, with signed requests and event streams."""
