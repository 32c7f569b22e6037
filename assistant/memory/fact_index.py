"""Finds facts that a question is about: by words (SQLite FTS5, in memory) and by meaning (embeddings).

The index is in memory only, so that a deleted fact leaves nothing in a file. Thread-safe.
"""

import re
import sqlite3
import threading
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from llm.cache import Vector

LEAST_SIMILARITY = 0.84
ABOVE_MEAN = 0.05
"""A fact is about a question if their embeddings are so similar, and so much more than those of other facts.

Chosen by 16 questions and 16 facts in four languages, for multilingual-e5-small: facts that answered the question had
0.85 to 0.92 and were 0.055 to 0.13 above the mean; all others were below one of the limits.
"""

MIN_WORD_CHARS = 3
MAX_WORDS = 24
"""Words of a question that are searched; shorter ones, and what is beyond, say little."""

LONG_WORD_CHARS = 6
"""A word is searched by its beginning, so that "daughters" finds "daughter": without its last two characters from this
length on, a shorter one without the last."""

_WORD = re.compile(r"\w+")

_COMMON = frozenset(
    """
    about after all also and any are ask but can could did does for from give going had has have her here him his how
    into its know let like make many may mean mine more much must need not now one our out please remember say said
    shall she should some tell than thank thanks that the their them then there these they thing things think this time
    today tomorrow tonight want was were what when where which who whom whose why will with would yes you your
    aber alle alles als also auch auf aus bei bin bist bitte danke dann das dass dein deine dem den der des dich die dir
    doch ein eine einem einen einer eines einmal erzähl etwas für gib habe haben hast hat ich ihm ihn ihr ist jetzt
    kann kannst kein keine mal mehr mein meine meinem meinen meiner mich mir mit morgen nach nicht noch nun nur oder
    sag sage sein seine sich sie sind soll sollte über und uns unser von vor war warum was weißt welche welcher wenn wer
    werde wie wieder will wir wird wissen zum zur heute
    alors aussi avec avez avoir bien car ceci cela ces cet cette comme comment dans des dire dis dois donc elle elles
    est être fait faire fais ils leur lui mais mes moi mon même nos notre nous ont pas peux plus pour pourquoi quand que
    quel quelle quels quelles qui quoi sais sans ses son sont suis sur tes toi ton tous tout toute une veux vos votre
    vous aujourd hui demain
    algo ahora como cómo con cual cuál cuando cuándo cuanto cuánto debo del desde dime donde dónde ella ellos era eres
    esa ese eso esta está están este esto estoy fue gracias hacer hago hasta hay los las mañana más mis muy nada nos
    nuestra nuestro para pero por porque puede puedes puedo que qué quién quiero sabes sea ser sido sin sobre son soy
    sus también tengo tiene todo una uno unos unas hoy
    """.split()
)
"""Words of four languages that no fact is about."""


def content_words(text: str) -> tuple[str, ...]:
    """Returns the words of a text that tell what it is about, each once."""
    words = (word for word in _WORD.findall(text.casefold()) if len(word) >= MIN_WORD_CHARS and word not in _COMMON)
    return tuple(dict.fromkeys(words))[:MAX_WORDS]


@dataclass(slots=True)
class FactIndex:
    """The index of the facts of one owner."""

    _texts: dict[str, str] = field(default_factory=dict)
    _vectors: dict[str, Vector] = field(default_factory=dict)
    _matrix: "tuple[list[str], np.ndarray[tuple[int, int], np.dtype[np.float32]]] | None" = None
    _database: sqlite3.Connection | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_busy(self) -> bool:
        """Whether another thread uses it, so that a call would wait."""
        return self._lock.locked()

    @property
    def has_vectors(self) -> bool:
        """Whether facts can be found by meaning."""
        return bool(self._vectors)

    def update(self, texts: Mapping[str, str]) -> None:
        """Takes these facts, texts by key, in place of those before. Blocks."""
        with self._lock:
            gone = [key for key, text in self._texts.items() if texts.get(key) != text]
            new = [(key, text) for key, text in texts.items() if self._texts.get(key) != text]
            if not gone and not new:
                return
            database = self._opened()
            for key in gone:
                del self._texts[key]
                self._vectors.pop(key, None)
            with database:
                database.executemany("DELETE FROM facts WHERE key = ?", [(key,) for key in gone])
                database.executemany("INSERT INTO facts (key, text) VALUES (?, ?)", [(k, _plain(t)) for k, t in new])
            self._texts.update(new)
            self._matrix = None

    def add_vector(self, key: str, text: str, vector: Vector) -> None:
        """Adds the embedding of a fact, unless its text has changed."""
        with self._lock:
            if self._texts.get(key) == text:
                self._vectors[key] = vector
                self._matrix = None

    def without_vector(self) -> tuple[tuple[str, str], ...]:
        """Returns key and text of the facts that have no embedding yet."""
        with self._lock:
            return tuple((key, text) for key, text in self._texts.items() if key not in self._vectors)

    def by_words(self, question: str, limit: int) -> tuple[str, ...]:
        """Returns the keys of the facts that share words with a question, the best first. Blocks."""
        words = content_words(question)
        with self._lock:
            if not words or not self._texts:
                return ()
            query = " OR ".join(f'"{word_beginning(word)}"*' for word in words)
            rows = self._opened().execute(
                "SELECT key FROM facts WHERE facts MATCH ? ORDER BY bm25(facts), rowid DESC LIMIT ?", (query, limit)
            )
            return tuple(key for (key,) in rows)

    def by_meaning(self, vector: Vector, limit: int) -> tuple[str, ...]:
        """Returns the keys of the facts whose embeddings are similar to that of a question, the best first."""
        with self._lock:
            if not self._vectors:
                return ()
            if self._matrix is None:
                self._matrix = list(self._vectors), np.stack(list(self._vectors.values()))
            keys, matrix = self._matrix
            similarity = matrix @ vector
        least = max(LEAST_SIMILARITY, float(similarity.mean()) + ABOVE_MEAN if len(keys) > 1 else 0.0)
        best = np.argsort(-similarity)[:limit]
        return tuple(keys[place] for place in best if similarity[place] >= least)

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            self._database = sqlite3.connect(":memory:", check_same_thread=False)
            self._database.execute("CREATE VIRTUAL TABLE facts USING fts5(key UNINDEXED, text)")
        return self._database


def word_beginning(word: str, *, whole: bool = False) -> str:
    """Returns the beginning by which a word is found; `whole`: the whole word, in the same form."""
    plain = _plain(word)
    return plain if whole else plain[: max(MIN_WORD_CHARS, len(plain) - (2 if len(plain) >= LONG_WORD_CHARS else 1))]


def _plain(text: str) -> str:
    """Returns text without case and accents, and without half surrogate pairs, which SQLite does not store."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char)).encode(errors="replace").decode()
