"""Requests to remember, to forget and to tell, in four languages."""

from collections.abc import Iterator

import pytest
from support.conversations.skill_talk import Talk

from assistant.memory.facts import ConversationFacts, Fact, UserFacts
from assistant.skills.answers import SkillAnswer
from assistant.skills.languages.language import LANGUAGES
from assistant.skills.memories.sentences import memory_words

TALKS = {
    "en": [
        ("Remember that my daughter is called Ada.", "I'll remember that."),
        ("Please remember: I am allergic to nuts.", "I'll remember that."),
        (
            "What do you know about me?",
            "I remember 2 things. You said on Friday, November 20: I am allergic to nuts. "
            "You said on Friday, November 20: my daughter is called Ada.",
        ),
        ("Do you remember my daughter?", "You said on Friday, November 20: my daughter is called Ada."),
        ("Forget that.", "I've forgotten: my daughter is called Ada."),
        ("Can you remember that our dog is allergic to cats?", "I'll remember that."),
        (
            "Forget that I am allergic.",
            "Which one should I forget: I am allergic to nuts or our dog is allergic to cats?",
        ),
        ("the second one", "I've forgotten: our dog is allergic to cats."),
        ("Forget what I said about the moon.", "I don't remember anything about that."),
        ("Remember this.", "What should I remember?"),
        ("my car is red", "I'll remember that."),
        ("Forget everything you know about me.", "Forget all 2 things?"),
        ("yes", "I've forgotten everything."),
        ("What do you know about me?", "I don't remember anything about you yet."),
    ],
    "de": [
        ("Merk dir, dass meine Tochter Ada heißt.", "Das merke ich mir."),
        ("Merke dir bitte: Ich bin gegen Nüsse allergisch.", "Das merke ich mir."),
        (
            "Was weißt du über mich?",
            "Ich habe mir 2 Sachen gemerkt. "
            "Du hast am Freitag, den 20. November gesagt: Ich bin gegen Nüsse allergisch. "
            "Du hast am Freitag, den 20. November gesagt: dass meine Tochter Ada heißt.",
        ),
        (
            "Erinnerst du dich an meine Tochter?",
            "Du hast am Freitag, den 20. November gesagt: dass meine Tochter Ada heißt.",
        ),
        ("Vergiss das.", "Vergessen: dass meine Tochter Ada heißt."),
        ("Denk daran, dass unser Hund gegen Katzen allergisch ist.", "Das merke ich mir."),
        (
            "Vergiss, was ich über allergisch gesagt habe.",
            "Was davon soll ich vergessen: Ich bin gegen Nüsse allergisch oder "
            "dass unser Hund gegen Katzen allergisch ist?",
        ),
        ("das zweite", "Vergessen: dass unser Hund gegen Katzen allergisch ist."),
        ("Vergiss, dass ich in Rom wohne.", "Dazu habe ich mir nichts gemerkt."),
        ("Merk dir etwas.", "Was soll ich mir merken?"),
        ("mein Auto ist rot", "Das merke ich mir."),
        ("Vergiss alles, was du über mich weißt.", "Alle 2 Sachen vergessen?"),
        ("ja", "Ich habe alles vergessen."),
        ("Was weißt du über mich?", "Ich habe mir noch nichts über dich gemerkt."),
    ],
    "fr": [
        ("Souviens-toi que ma fille s'appelle Ada.", "Je m'en souviendrai."),
        ("Retenez que je suis allergique aux noix.", "Je m'en souviendrai."),
        (
            "Que sais-tu de moi ?",
            "J'ai retenu 2 choses. Vous avez dit le vendredi 20 novembre : je suis allergique aux noix. "
            "Vous avez dit le vendredi 20 novembre : ma fille s'appelle Ada.",
        ),
        ("Te souviens-tu de ma fille ?", "Vous avez dit le vendredi 20 novembre : ma fille s'appelle Ada."),
        ("Oublie ça.", "C'est oublié : ma fille s'appelle Ada."),
        ("N'oublie pas que notre chien est allergique aux chats.", "Je m'en souviendrai."),
        (
            "Oublie que je suis allergique.",
            "Que faut-il oublier : je suis allergique aux noix ou notre chien est allergique aux chats ?",
        ),
        ("le deuxième", "C'est oublié : notre chien est allergique aux chats."),
        ("Oublie ce que je t'ai dit sur la lune.", "Je n'ai rien retenu à ce sujet."),
        ("Retiens quelque chose.", "Que faut-il retenir ?"),
        ("ma voiture est rouge", "Je m'en souviendrai."),
        ("Oublie tout ce que tu sais de moi.", "Oublier les 2 choses ?"),
        ("oui", "J'ai tout oublié."),
        ("Que sais-tu de moi ?", "Je n'ai encore rien retenu à votre sujet."),
    ],
    "es": [
        ("Recuerda que mi hija se llama Ada.", "Lo recordaré."),
        ("Acuérdate de que soy alérgico a las nueces.", "Lo recordaré."),
        (
            "¿Qué sabes de mí?",
            "Recuerdo 2 cosas. Dijiste el viernes, 20 de noviembre: soy alérgico a las nueces. "
            "Dijiste el viernes, 20 de noviembre: mi hija se llama Ada.",
        ),
        ("¿Te acuerdas de mi hija?", "Dijiste el viernes, 20 de noviembre: mi hija se llama Ada."),
        ("Olvida eso.", "He olvidado: mi hija se llama Ada."),
        ("No olvides que nuestro perro es alérgico a los gatos.", "Lo recordaré."),
        (
            "Olvida que soy alérgico.",
            "¿Qué debo olvidar: soy alérgico a las nueces o nuestro perro es alérgico a los gatos?",
        ),
        ("el segundo", "He olvidado: nuestro perro es alérgico a los gatos."),
        ("Olvida lo que te dije sobre la luna.", "No recuerdo nada sobre eso."),
        ("Recuerda algo.", "¿Qué debo recordar?"),
        ("mi coche es rojo", "Lo recordaré."),
        ("Olvida todo lo que sabes de mí.", "¿Olvidar las 2 cosas?"),
        ("sí", "Lo he olvidado todo."),
        ("¿Qué sabes de mí?", "Todavía no recuerdo nada de ti."),
    ],
}
SECRETS = {
    "en": ("Remember that my PIN is 1234.", "passwords"),
    "de": ("Merk dir, dass meine PIN 1234 ist.", "Passwörter"),
    "fr": ("Retiens que mon mot de passe est tournesol.", "mots de passe"),
    "es": ("Recuerda que mi contraseña es girasol.", "contraseñas"),
}
OFF = {
    "en": ["Remember that I live in Rome.", "What do you know about me?", "Forget that I live in Rome."],
    "de": ["Merk dir, dass ich in Rom wohne.", "Was weißt du über mich?", "Vergiss, dass ich in Rom wohne."],
    "fr": ["Retiens que j'habite à Rome.", "Que sais-tu de moi ?", "Oublie que j'habite à Rome."],
    "es": ["Recuerda que vivo en Roma.", "¿Qué sabes de mí?", "Olvida que vivo en Roma."],
}
OTHERS = {
    "en": ["remember to buy milk", "don't forget to buy bread", "what do you know about Rome", "remember the milk",
           "do you know a joke", "I remember that song", "remember when we met"],
    "de": ["denk daran, Milch zu kaufen", "was weißt du über Rom", "merk dir, Brot zu kaufen", "ich vergesse alles"],
    "fr": ["n'oublie pas d'acheter du lait", "que sais-tu de Rome", "j'ai oublié mon parapluie"],
    "es": ["recuerda comprar leche", "qué sabes de Roma", "no olvides comprar pan"],
}  # fmt: skip
REMINDERS = {
    "en": "remember that I have a meeting tomorrow at five",
    "de": "denk daran, morgen um fünf Anna anzurufen",
    "fr": "rappelle-moi d'acheter du lait demain à cinq heures",
    "es": "recuérdame comprar leche mañana a las cinco",
}


UNCLEAR = {
    "en": ("I am allergic to cats", "Forget that I'm allergic to nuts.",
           "Should I forget: I am allergic to cats?", "no"),
    "de": ("ich gegen Katzen allergisch bin", "Vergiss, dass ich gegen Nüsse allergisch bin.",
           "Soll ich das vergessen: dass ich gegen Katzen allergisch bin?", "nein"),
    "fr": ("je suis allergique aux chats", "Oublie que je suis allergique aux noix.",
           "Faut-il oublier : je suis allergique aux chats ?", "non"),
    "es": ("soy alérgico a los gatos", "Olvida que soy alérgico a las nueces.",
           "¿Debo olvidar: soy alérgico a los gatos?", "no"),
}  # fmt: skip
KEEP = {"en": "Remember that", "de": "Merk dir, dass", "fr": "Retiens que", "es": "Recuerda que"}
TWO_REQUESTS = {
    "en": ("Remember that I'm vegetarian and set a timer for ten minutes.", "I'm vegetarian"),
    "de": ("Merk dir, dass ich vegetarisch esse, und stell einen Timer auf zehn Minuten.", "dass ich vegetarisch esse"),
    "fr": ("Retiens que je suis végétarien et mets un minuteur de dix minutes.", "je suis végétarien"),
    "es": ("Recuerda que soy vegetariano y pon un temporizador de diez minutos.", "soy vegetariano"),
}


class Keys:
    """Gives keys in order: facts of the same moment keep the order in which they were said."""

    def __init__(self) -> None:
        self._numbers: Iterator[int] = iter(range(100, 1000))

    def __call__(self) -> str:
        return str(next(self._numbers))


def talk_in(code: str) -> Talk:
    talk = Talk(code)
    talk.effects.facts = ConversationFacts(UserFacts("terminal", make_key=Keys()), "c1")
    return talk


def facts_of(talk: Talk) -> tuple[Fact, ...]:
    assert talk.effects.known_facts is not None
    return talk.effects.known_facts


def answer_of(talk: Talk, said: str) -> SkillAnswer:
    answer = talk.attempt(said)
    assert answer is not None
    return answer


@pytest.mark.parametrize("code", LANGUAGES)
def test_conversation_about_the_memory(code: str) -> None:
    talk = talk_in(code)
    assert [talk.say(said) for said, _ in TALKS[code]] == [answer for _, answer in TALKS[code]]
    assert facts_of(talk) == ()


@pytest.mark.parametrize("code", LANGUAGES)
def test_secret_is_refused_with_the_reason(code: str) -> None:
    talk = talk_in(code)
    said, named = SECRETS[code]
    assert named.casefold() in talk.say(said).casefold()
    assert facts_of(talk) == ()


@pytest.mark.parametrize("code", LANGUAGES)
def test_without_a_memory_nothing_is_claimed(code: str) -> None:
    talk = Talk(code)
    answers = [answer_of(talk, said) for said in OFF[code]]
    assert len({answer.text for answer in answers}) == 1
    assert all("memory.enabled" in answer.hint and answer.effect is None for answer in answers)


@pytest.mark.parametrize("code", LANGUAGES)
def test_owner_who_wants_no_memory_has_none(code: str) -> None:
    talk = talk_in(code)
    assert talk.effects.facts is not None
    talk.effects.facts.user.enabled = False
    assert "memory.enabled" in answer_of(talk, OFF[code][0]).hint


@pytest.mark.parametrize(("code", "said"), [(code, said) for code in LANGUAGES for said in OTHERS[code]])
def test_other_sentences_are_left_to_the_model(code: str, said: str) -> None:
    assert talk_in(code).attempt(said) is None


@pytest.mark.parametrize("code", ["en", "fr", "es"])
def test_reminders_keep_their_sentences(code: str) -> None:
    assert answer_of(talk_in(code), REMINDERS[code]).skill == "reminders"


def test_reply_that_is_retracted_leaves_nothing() -> None:
    talk = talk_in("en")
    talk.say("Remember that I live in Rome.")
    talk.retract()
    assert facts_of(talk) == ()


def test_question_about_one_fact_is_for_the_model_if_there_is_one() -> None:
    talk = talk_in("en")
    assert not answer_of(talk, "Do you remember where I live?").before_llm
    assert answer_of(talk, "What do you know about me?").before_llm


def test_forgetting_something_else_later_means_no_fact() -> None:
    talk = talk_in("en")
    talk.say("Remember that I live in Rome.", "What time is it?")
    assert talk.say("Forget that.") == "All right."
    assert len(facts_of(talk)) == 1


def test_only_the_newest_facts_are_told() -> None:
    talk = talk_in("en")
    for number in range(6):
        talk.say(f"Remember that my dog number {number} is brown.")
    told = talk.say("What do you know about me?")
    assert told.startswith("I remember 6 things.")
    assert told.endswith("There are 2 more.")


def test_fact_that_is_said_twice_is_kept_once() -> None:
    talk = talk_in("en")
    talk.say("Remember that I live in Rome.", "Remember, I live in Rome!")
    assert [fact.text for fact in facts_of(talk)] == ["I live in Rome"]


@pytest.mark.parametrize("code", LANGUAGES)
def test_fact_that_is_only_alike_is_asked_for(code: str) -> None:
    talk = talk_in(code)
    fact, said, question, no = UNCLEAR[code]
    talk.say(f"{KEEP[code]} {fact}.")
    assert talk.say(said) == question
    talk.say(no)
    assert len(facts_of(talk)) == 1


def test_confirmed_fact_is_forgotten() -> None:
    talk = talk_in("en")
    talk.say("Remember that I am allergic to cats.", "Forget that I'm allergic to nuts.")
    assert talk.say("yes") == "I've forgotten: I am allergic to cats."
    assert facts_of(talk) == ()


@pytest.mark.parametrize("said", ["tell me about cats", "what about dogs", "I like cats and nuts"])
def test_sentence_that_chooses_none_deletes_nothing(said: str) -> None:
    talk = talk_in("en")
    talk.say("Remember that I am allergic to nuts.", "Remember that our dog is allergic to cats.")
    talk.say("Forget that I am allergic.")
    assert talk.attempt(said) is None
    assert len(facts_of(talk)) == 2


def test_fact_is_chosen_by_its_words() -> None:
    talk = talk_in("en")
    talk.say("Remember that I am allergic to nuts.", "Remember that our dog is allergic to cats.")
    talk.say("Forget that I am allergic.")
    assert talk.say("the one about cats") == "I've forgotten: our dog is allergic to cats."


@pytest.mark.parametrize(
    "said", ["Forget that, let's talk about dinner.", "Forget that for now.", "forget that please"]
)
def test_everyday_forget_is_left_to_the_model(said: str) -> None:
    talk = talk_in("en")
    talk.say("Remember that I love dinner with Ada.", "What time is it?")
    answer = talk.attempt(said)
    assert answer is None or answer.skill != "memory"
    assert len(facts_of(talk)) == 1


def test_what_is_not_remembered_is_left_to_the_model() -> None:
    answer = answer_of(talk_in("en"), "Forget that I was angry.")
    assert (answer.before_llm, answer.effect) == (False, None)


@pytest.mark.parametrize("code", LANGUAGES)
def test_request_behind_a_fact_is_done_too(code: str) -> None:
    talk = talk_in(code)
    said, fact = TWO_REQUESTS[code]
    talk.say(said)
    assert [known.text for known in facts_of(talk)] == [fact]
    assert len(talk.effects.timers.running(talk.now_s).timers) == 1


@pytest.mark.parametrize("fact", ["I like rock and roll", "my sister is called Ann and she lives in Rome"])
def test_fact_with_and_stays_whole(fact: str) -> None:
    talk = talk_in("en")
    talk.say(f"Remember that {fact}.")
    assert [known.text for known in facts_of(talk)] == [fact]


def test_question_is_no_answer_to_what_to_remember() -> None:
    talk = talk_in("en")
    talk.say("Remember this.")
    assert talk.attempt("how old is Ada") is None
    assert talk.attempt("you know Ada?") is None


@pytest.mark.parametrize("said", ["Forget that I am", "Do you remember my", "Remember that I am"])
def test_request_may_go_on_behind_its_free_words(said: str) -> None:
    match = memory_words("en").find(said)
    assert match is not None
    assert match.open_ended
