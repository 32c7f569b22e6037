"""Tests of what the assistant's last sentence asks for."""

import time

from support.texts.text_cases import text_cases

from assistant.end_of_turn.questions import NO_QUESTION, Question, question_of


@text_cases(
    ("said", "expected"),
    [
        ("What is your phone number?", "a phone number"),
        ("Okay. Could you tell me your phone number?", "a phone number"),
        ("Please tell me your phone number.", "a phone number"),
        ("What number can we reach you at?", "a phone number"),
        ("Can you spell your last name for me?", "a spelling"),
        ("Please spell that.", "a spelling"),
        ("May I have your name?", "a name"),
        ("What is your e-mail address?", "an e-mail address"),
        ("What's your address?", "an address"),
        ("Where do you live?", "an address"),
        ("What is the card number?", "a card number"),
        ("What is your order number?", "a code"),
        ("Which date would suit you?", "a date"),
        ("What time would you like to come?", "a time"),
        ("How many guests will there be?", "a number"),
        ("Which toppings would you like?", "a list"),
        ("Tell me about your day.", "an open answer"),
        ("What happened?", "an open answer"),
        ("Which one do you mean?", "a phrase"),
        ("Is your phone number 555 1234?", "yes or no"),
        ("Shall I send it to your address?", "yes or no"),
        ("Would you like me to explain?", "yes or no"),
        ("Your phone number is saved.", "anything"),
        ("Your address is saved. Anything else?", "yes or no"),
        ("", "anything"),
        ("Wie ist Ihre Telefonnummer?", "a phone number"),
        ("Bitte nennen Sie mir Ihre Adresse.", "an address"),
        ("Wann sind Sie geboren?", "a date"),
        ("Erzählen Sie mir davon.", "an open answer"),
        ("Quel est votre numéro de téléphone ?", "a phone number"),
        ("Pouvez-vous épeler votre nom ?", "a spelling"),
        ("¿Cuál es su número de teléfono?", "a phone number"),
        ("¿Cómo se llama?", "a name"),
    ],
)
def test_last_sentence_decides_expected_answer(said: str, expected: str) -> None:
    assert question_of(said).expected == expected


def test_question_says_how_many_digits_or_things() -> None:
    assert question_of("What is the four-digit code?") == Question("a code", 4)
    assert question_of("What are the last four digits of your card?") == Question("a code", 4)
    assert question_of("Name three things you like.") == Question("a list", 3)


def test_date_of_birth_needs_its_year() -> None:
    assert question_of("What is your date of birth?") == Question("a date", with_year=True)
    assert question_of("Which date would suit you?") == Question("a date")


def test_only_last_sentence_counts() -> None:
    assert question_of("What is your phone number? Thank you, I have it.") == NO_QUESTION


def test_long_hostile_reply_takes_little_time() -> None:
    for text in ("a " * 20000 + "?", "what " * 20000, "?" * 20000, "number " * 5000 + "?", "tell me, " * 5000):
        began = time.process_time()
        question_of(text)
        assert time.process_time() - began < 0.2, text[:10]
