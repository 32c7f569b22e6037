"""Facts are found by words and by meaning."""

import numpy as np

from assistant.memory.fact_index import FactIndex, content_words

FACTS = {
    "ada": "my daughter is called Ada",
    "nuts": "I am allergic to nuts",
    "rome": "we are planning a trip to Rome in April",
    "mere": "ma mère s'appelle Chloé",
}


def index() -> FactIndex:
    made = FactIndex()
    made.update(FACTS)
    return made


def test_fact_is_found_by_an_inflected_word() -> None:
    assert index().by_words("What are my daughters' names?", 3) == ("ada",)


def test_fact_is_found_without_accents_and_case() -> None:
    assert index().by_words("wie heißt CHLOE?", 3) == ("mere",)


def test_common_words_find_nothing() -> None:
    assert content_words("What is my, und wie ist das? quelle est la") == ()
    assert index().by_words("What is it?", 3) == ()


def test_signs_of_the_search_language_are_words() -> None:
    assert index().by_words('nuts" OR key:* NEAR(', 3) == ("nuts",)


def test_changed_and_deleted_facts_are_found_no_more() -> None:
    made = index()
    made.update({"ada": "my daughter is called Eda"})
    assert made.by_words("nuts Ada trip", 3) == ()
    assert made.by_words("Eda", 3) == ("ada",)


def test_similar_embedding_finds_a_fact_without_common_words() -> None:
    made = index()
    for place, (key, text) in enumerate(FACTS.items()):
        made.add_vector(key, text, np.eye(4, dtype=np.float32)[place])
    question = np.array([0.1, 0.9, 0.1, 0.1], np.float32)
    assert made.by_meaning(question, 3) == ("nuts",)
    assert made.by_meaning(np.float32(0.5) * question, 3) == ()


def test_embedding_of_a_text_that_has_changed_is_ignored() -> None:
    made = index()
    made.add_vector("ada", "an older text", np.ones(4, np.float32))
    assert [key for key, _ in made.without_vector()] == list(FACTS)
