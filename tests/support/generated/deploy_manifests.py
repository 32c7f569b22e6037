"""Reads and validates the Kubernetes manifests of deploy/."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[3] / "deploy"
KUBERNETES = "1.34"
Manifest = dict[str, Any]


def kustomization(folder: Path) -> Manifest:
    """Returns kustomization.yaml of a folder."""
    loaded = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def documents_of(file: Path) -> list[Manifest]:
    """Returns the manifests of a file."""
    return [document for document in yaml.safe_load_all(file.read_text(encoding="utf-8")) if document]


def manifests_of(folder: Path) -> list[Manifest]:
    """Returns the manifests that the kustomization of a folder names, without those of other folders."""
    files = [folder / name for name in kustomization(folder)["resources"] if name.endswith(".yaml")]
    return [document for file in files for document in documents_of(file)]


def only(manifests: list[Manifest], kind: str, name: str) -> Manifest:
    """Returns the manifest of a kind and name."""
    (found,) = [each for each in manifests if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


def check_with_schemas(manifests: list[Manifest], folder: Path) -> None:
    """Validates manifests with the schemas of Kubernetes, unknown fields included.

    Args:
        manifests: Of kinds that Kubernetes itself has.
        folder: Where a file may be written.

    Raises:
        AssertionError: With the validator's words.
    """
    file = folder / "manifests.yaml"
    file.write_text(yaml.safe_dump_all(manifests), encoding="utf-8")
    checking = [sys.executable, "-m", "kubernetes_validate", "--strict", "-k", KUBERNETES, str(file)]
    done = subprocess.run(checking, capture_output=True, text=True, check=False, timeout=100)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert said.count(" passed ") == len(manifests), said
