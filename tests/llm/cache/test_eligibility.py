"""Requests and answers that may be cached."""

import pytest

from llm.cache.eligibility import answer_exclusion, exclusion, lexicon_of
from llm.cache.lexicon import Lexicon

ASKED_BEFORE = {
    "en": "What is the capital of Italy?",
    "de": "Was ist die Hauptstadt von Italien?",
    "fr": "Quelle est la capitale de l'Italie ?",
}


def lexicon(language: str) -> Lexicon:
    found = lexicon_of(language)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("language", "request_text", "why"),
    [
        ("en", "What's the weather like?", "time or place"),
        ("en", "What is the capital of France right now?", "time or place"),
        ("en", "Is there a pharmacy nearby?", "time or place"),
        ("en", "Who won the game last night?", "time or place"),
        ("en", "What's on my calendar?", "personal"),
        ("en", "What is your name?", "personal"),
        ("en", "How old am I?", "personal"),
        ("en", "Tell me a joke.", "varied"),
        ("en", "Recommend a book.", "varied"),
        ("en", "Say that again.", "varied"),
        ("en", "Turn on the lamp.", "no question"),
        ("en", "Play the Beatles", "no question"),
        ("en", "Can you turn on the lamp?", "personal"),
        ("de", "Mach die Lampe an.", "no question"),
        ("fr", "Allume la lampe.", "no question"),
        ("de", "Wie wird das Wetter heute?", "time or place"),
        ("de", "Wo ist hier eine Apotheke?", "time or place"),
        ("de", "Wie heißt mein Lehrer?", "personal"),
        ("de", "Erzähl einen Witz.", "varied"),
        ("fr", "Quel temps fait-il aujourd'hui ?", "time or place"),
        ("fr", "Comment s'appelle mon professeur ?", "personal"),
        ("fr", "Raconte une blague.", "varied"),
        ("en", "How " + "very " * 50 + "long is the Nile?", "long"),
        ("en", "?!", "no words"),
        ("en", "What is C++?", "symbols"),
        ("en", "What is the square root of -4?", "symbols"),
        ("de", "Was ist .5 in Prozent?", "symbols"),
        ("en", "How many people live in 🇫🇷?", "symbols"),
        ("en", "Is the pharmacy open?", "time or place"),
        ("de", "Ist die Apotheke offen?", "time or place"),
        ("fr", "La pharmacie est-elle ouverte ?", "time or place"),
        ("en", "How many days are left until Christmas?", "time or place"),
        ("en", "Was habe ich heute gegessen?", "another language"),
        ("de", "Is the shop open now?", "another language"),
        ("fr", "Wo ist die Apotheke?", "another language"),
    ],
)
def test_request_is_excluded(language: str, request_text: str, why: str) -> None:
    assert exclusion(request_text, [], lexicon(language)) == why


@pytest.mark.parametrize(
    ("language", "request_text"),
    [
        ("en", "What is it made of?"),
        ("en", "And in Spain?"),
        ("en", "Why?"),
        ("en", "How about Spain?"),
        ("en", "What is the population?"),
        ("en", "Who is the author?"),
        ("en", "How many people live there?"),
        ("en", "What languages do people speak?"),
        ("en", "How many inhabitants?"),
        ("en", "What foods should tourists try?"),
        ("en", "Do people speak English?"),
        ("en", "Is Naples bigger?"),
        ("en", "What do people eat on Sunday?"),
        ("de", "Was sollten Touristen probieren?"),
        ("de", "Welche Sprache spricht man?"),
        ("fr", "Quelle langue parle-t-on ?"),
        ("de", "Und in Spanien?"),
        ("de", "Warum?"),
        ("de", "Wie alt ist er?"),
        ("de", "Wer ist der Autor?"),
        ("fr", "Et en Espagne ?"),
        ("fr", "Pourquoi ?"),
        ("fr", "Qui est l'auteur ?"),
    ],
)
def test_request_that_refers_back_is_excluded_after_the_first_turn(language: str, request_text: str) -> None:
    assert exclusion(request_text, [ASKED_BEFORE[language]], lexicon(language)) == "refers back"


@pytest.mark.parametrize(
    ("language", "request_text"),
    [
        ("en", "What is a compass?"),
        ("en", "Why is the sky blue?"),
        ("en", "Where is the Taj Mahal?"),
        ("en", "Can you tell me what the capital of France is?"),
        ("de", "Was ist ein Kompass?"),
        ("de", "Warum ist der Himmel blau?"),
        ("de", "Was ist die Hauptstadt von Peru?"),
        ("en", "How many inhabitants does Paris have?"),
        ("de", "Welche Sprache spricht man in Brasilien?"),
        ("fr", "Qu'est-ce qu'une boussole ?"),
        ("fr", "Quelle est la capitale du Pérou ?"),
    ],
)
def test_request_that_stands_alone_is_looked_up_in_every_turn(language: str, request_text: str) -> None:
    assert exclusion(request_text, [], lexicon(language)) == ""
    assert exclusion(request_text, [ASKED_BEFORE[language]], lexicon(language)) == ""


@pytest.mark.parametrize(
    ("language", "request_text"),
    [("en", "Is the cucumber a fruit?"), ("de", "Ist die Tomate eine Frucht?"), ("en", "Is the Louvre big?")],
)
def test_question_for_what_something_is_does_not_ask_for_its_state(language: str, request_text: str) -> None:
    assert exclusion(request_text, [], lexicon(language)) == ""


@pytest.mark.parametrize(
    "earlier", ["I am a vegetarian.", "From now on answer in French.", "My car is broken.", "Talk like a pirate."]
)
def test_nothing_is_looked_up_after_a_statement(earlier: str) -> None:
    assert exclusion("What is a compass?", [earlier], lexicon("en")) == "conversation has context"


@pytest.mark.parametrize(
    ("answer", "reason", "why"),
    [
        ("Paris.", "stop", ""),
        ("Paris.", "end_turn", ""),
        ("Paris.", "done", ""),
        ("Paris and", "done", "incomplete"),
        ("Paris", "length", "incomplete"),
        ("Paris.", "content_filter", "incomplete"),
        ("", "stop", "length"),
        ("Word. " * 500, "stop", "length"),
        ("Which one do you mean?", "stop", "asks back"),
        ("Currently it is Paris.", "stop", "time or person"),
        ("Sorry, I cannot help with that.", "stop", "time or person"),
        ("I don’t know.", "stop", "time or person"),
        ("As I said, it is Paris.", "stop", "time or person"),
        ("Derzeit ist es Paris.", "stop", "time or person"),
        ("Je ne sais pas.", "stop", "time or person"),
    ],
)
def test_answer_is_stored_only_if_it_holds_for_everybody(answer: str, reason: str, why: str) -> None:
    assert answer_exclusion(answer, reason) == why


def test_language_without_a_lexicon_has_no_cache() -> None:
    assert lexicon_of("de-AT") is lexicon_of("de")
    assert lexicon_of("nl") is None
