"""Semantic cache: answers a request that was answered before, without asking the language model.

    request ─▶ may it be cached? ─▶ requests of the same form ─▶ same words? lexical gate, embedding ─▶ stored answer
               eligibility.py       form.py, store               gate.py, embedder

A wrong answer is worse than a slow one: what is not certainly the same request is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]

MAX_FOUND = 8
"""Most requests of one form that a new request is compared with."""


STORE_TIMEOUT_S = 0.05
"""Longest wait of a store in a conversation, in seconds, for each request to it. Commands wait longer."""


def entry_id(scope: str, words: str) -> str:
    """Returns the id of an entry: equal for the same scope and words, so that processes need not agree on it."""
    return blake2b(f"{scope} {words}".encode(), digest_size=8).hexdigest()


class CacheStoreError(Exception):
    """The store cannot be read or written. The text is one sentence without words of the conversation."""


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A request and its answer.

    Attributes:
        id: Id, from `entry_id`.
        scope: Hash of what the answer depends on besides the request (`scope_of`). Requests match only within it.
        form: Key of the request's form (`form.py`). Only requests of the same form are compared.
        words: The normalized words of the request.
        language: Base language of the conversation, such as "en".
        request: The request, as it was said.
        answer: The answer, as the language model wrote it.
        by: Name of the LLM endpoint that answered.
        created_s: When it was stored, in seconds since 1970.
        vector: Embedding of the request, of length 1; None if there is no embedder.
        hits: How often it answered a later request.
    """

    id: str
    scope: str
    form: str
    words: str
    language: str
    request: str
    answer: str
    by: str
    created_s: float
    vector: Vector | None = None
    hits: int = 0


class CacheStore(Protocol):
    """Keeps entries. All methods block and are called in one thread. They raise CacheStoreError.

    A store has a limit on its entries and on their age. The least recently used entry is removed first.

    Attributes:
        name: Kind and place, for messages.
    """

    name: str

    def find(self, scope: str, form: str, words: str) -> list[CacheEntry]:
        """Returns at most `MAX_FOUND` entries of a form: first the one of the same words, if there is one."""
        ...

    def store_entry(self, entry: CacheEntry) -> None:
        """Stores an entry. It replaces one of the same id."""
        ...

    def used(self, entry: CacheEntry) -> None:
        """Records that the entry answered a request."""
        ...

    def entries(self) -> list[CacheEntry]:
        """Returns all entries, the most recently used first."""
        ...

    def forget(self, ids: Sequence[str]) -> int:
        """Removes entries. Returns how many were removed."""
        ...

    def close(self) -> None:
        """Closes the store. Idempotent."""
        ...


class Embedder(Protocol):
    """Embeds requests.

    Attributes:
        name: Name of the model; embeddings of different models are never compared.
        threshold: Cosine similarity from which two requests may be the same, calibrated for the model.
    """

    name: str
    threshold: float

    def load(self) -> None:
        """Loads the model, which blocks. Raises CacheStoreError if it is missing or damaged."""
        ...

    def embed(self, text: str) -> Vector:
        """Returns the embedding of a short text, of length 1. Blocks for some milliseconds."""
        ...
