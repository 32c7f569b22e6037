"""Keys of [[llm.endpoints]] that only the protocols of AWS have."""

from dataclasses import dataclass
from typing import Annotated, Literal

from declarations.settings import KeyInfo

Payload = Literal["auto", "tgi", "lmi-jsonlines", "lmi-sse", "lmi-chat", "djl-0.25"]
Api = Literal["converse", "invoke"]
Family = Literal["anthropic", "llama"]
FamilyChoice = Literal["auto", "anthropic", "llama"]
Latency = Literal["standard", "optimized"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsEndpointSettings:
    """Keys of all services of AWS."""

    profile: Annotated[str, KeyInfo("Profile in ~/.aws with the credentials; empty: chosen by the environment.")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SageMakerSettings(AwsEndpointSettings):
    """Keys of SageMaker."""

    payload: Annotated[
        Payload, KeyInfo("Format of the container's answers; auto: detected from their first bytes.")
    ] = "auto"
    inference_component: Annotated[str, KeyInfo("Name of the model, for SageMaker endpoints with several.")] = ""
    target_variant: Annotated[str, KeyInfo("Name of the SageMaker variant; empty: chosen by SageMaker's weights.")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BedrockSettings(AwsEndpointSettings):
    """Keys of Bedrock."""

    api: Annotated[
        Api, KeyInfo("Bedrock API; converse: the same format for all models; invoke: the model's own format.")
    ] = "converse"
    family: Annotated[FamilyChoice, KeyInfo("Model family, for api invoke; auto: detected from the model id.")] = "auto"
    cache: Annotated[bool, KeyInfo("Whether the service may cache the instructions for the next request.")] = False
    latency: Annotated[
        Latency, KeyInfo("Latency class; optimized: the faster variant, if the model and region have one.")
    ] = "standard"
