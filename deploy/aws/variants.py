"""Containers for a SageMaker endpoint: TGI and LMI (DJL), on GPU and on Inferentia.

The images are those of AWS's Deep Learning Containers. Newer ones are in AWS's list of available images; --image names
one of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Container = Literal["tgi", "lmi"]
Accelerator = Literal["gpu", "neuron"]

ACCOUNT = "763104351884"
"""AWS account of the images, in most regions; the others need --image."""

AMI_WITH_CUDA_12 = "al2-ami-sagemaker-inference-gpu-3-1"
"""Version of the instance's system with GPU driver 550; the default on g5 has 470, older than these images expect."""

VOLUME_GB = 128
"""Volume of instances without a disk, instead of 30 GB: model, compiled model and the copies in between."""

CONTEXT_TOKENS = 4096
ANSWER_TOKENS = 512

PRICES_USD_PER_HOUR: Mapping[str, float] = MappingProxyType(
    {
        "ml.g4dn.xlarge": 0.736,
        "ml.g5.xlarge": 1.408,
        "ml.g5.2xlarge": 1.515,
        "ml.g6.xlarge": 1.006,
        "ml.inf2.xlarge": 0.99,
        "ml.inf2.8xlarge": 2.36,
    }
)
"""List prices for inference in us-east-1, of 2025, for a rough idea; AWS's price list decides."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A container on an accelerator.

    Attributes:
        image: Repository and tag.
        instance_type: Smallest instance that fits the default model.
        model: Default model, by its name on the Hugging Face hub.
        environment: Environment variables of the container, besides the model's name.
        startup_s: Longest time until the container answers; Inferentia compiles models.
        ami: Version of the instance's system; "" for SageMaker's default.
    """

    image: str
    instance_type: str
    model: str
    environment: Mapping[str, str]
    startup_s: int
    ami: str = ""


VARIANTS: Mapping[tuple[Container, Accelerator], Variant] = MappingProxyType(
    {
        ("tgi", "gpu"): Variant(
            "huggingface-pytorch-tgi-inference:2.4.0-tgi3.0.1-gpu-py311-cu124-ubuntu22.04-v2.0",
            "ml.g5.xlarge",
            "Qwen/Qwen2.5-7B-Instruct",
            {
                "SM_NUM_GPUS": "1",
                "MESSAGES_API_ENABLED": "true",
                "MAX_INPUT_TOKENS": str(CONTEXT_TOKENS - ANSWER_TOKENS),
                "MAX_TOTAL_TOKENS": str(CONTEXT_TOKENS),
            },
            900,
            AMI_WITH_CUDA_12,
        ),
        ("lmi", "gpu"): Variant(
            "djl-inference:0.36.0-lmi20.0.0-cu128",
            "ml.g5.xlarge",
            "Qwen/Qwen2.5-7B-Instruct",
            {
                "TENSOR_PARALLEL_DEGREE": "max",
                "OPTION_ROLLING_BATCH": "disable",
                "OPTION_ASYNC_MODE": "true",
                "OPTION_ENTRYPOINT": "djl_python.lmi_vllm.vllm_async_service",
                "OPTION_MAX_MODEL_LEN": str(CONTEXT_TOKENS),
            },
            900,
            AMI_WITH_CUDA_12,
        ),
        ("tgi", "neuron"): Variant(
            "huggingface-pytorch-tgi-inference:2.1.2-optimum0.0.28-neuronx-py310-ubuntu22.04-v1.2",
            "ml.inf2.xlarge",
            "HuggingFaceH4/zephyr-7b-beta",
            {
                "HF_NUM_CORES": "2",
                "HF_AUTO_CAST_TYPE": "bf16",
                "HF_BATCH_SIZE": "1",
                "HF_SEQUENCE_LENGTH": str(CONTEXT_TOKENS),
                "MESSAGES_API_ENABLED": "true",
                "MAX_BATCH_SIZE": "1",
                "MAX_INPUT_TOKENS": str(CONTEXT_TOKENS - ANSWER_TOKENS),
                "MAX_TOTAL_TOKENS": str(CONTEXT_TOKENS),
            },
            1800,
        ),
        ("lmi", "neuron"): Variant(
            "djl-inference:0.30.0-neuronx-sdk2.20.1",
            "ml.inf2.8xlarge",
            "HuggingFaceH4/zephyr-7b-beta",
            {
                "OPTION_ROLLING_BATCH": "auto",
                "OPTION_TENSOR_PARALLEL_DEGREE": "2",
                "OPTION_DTYPE": "bf16",
                "OPTION_N_POSITIONS": str(CONTEXT_TOKENS),
                "OPTION_MODEL_LOADING_TIMEOUT": "3000",
            },
            3600,
        ),
    }
)


def image_uri(image: str, region: str) -> str:
    """Returns the address of an image of AWS; an image with a registry of its own is returned as it is."""
    return image if "/" in image else f"{ACCOUNT}.dkr.ecr.{region}.amazonaws.com/{image}"


def volume_gb(instance_type: str) -> int:
    """Returns the size of the volume that an instance needs; 0 if it has a disk, for which AWS refuses a size."""
    return VOLUME_GB if instance_type.startswith("ml.inf") else 0


def cost_hint(instance_type: str, hours: float) -> str:
    """Returns one sentence about the price of an instance."""
    price = PRICES_USD_PER_HOUR.get(instance_type)
    if price is None:
        return f"{instance_type}: no price is known here; see AWS's price list."
    return (
        f"{instance_type}: about {price:.2f} USD an hour (list price, us-east-1), {price * hours:.2f} for {hours:g} h."
    )
