"""French: understood sentences with slots and answers, and sentences left to a model."""

import random
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from support.conversations.loaded_skills import loaded_skills
from support.texts.text_cases import text_cases

from assistant.skills.answers import SkillContext
from assistant.skills.languages.language import load_language
from assistant.skills.languages.sentences import SentenceTemplates
from assistant.skills.skills import Skills

NOW = datetime(2026, 11, 20, 22, 43, tzinfo=ZoneInfo("Europe/Berlin"))
LAST_REPLY = "Sept fois huit font cinquante-six."

# Sentence, skill, slots, and the answer on Friday, 20 November 2026, 22:43 in Berlin.
UNDERSTOOD: tuple[tuple[str, str, dict[str, str], str], ...] = (
    ("Quelle heure est-il ?", "time", {}, "Il est vingt-deux heures quarante-trois."),
    ("Il est quelle heure ?", "time", {}, "Il est vingt-deux heures quarante-trois."),
    ("Peux-tu me dire l'heure ?", "time", {}, "Il est vingt-deux heures quarante-trois."),
    (
        "Quelle heure est-il à Tokyo ?",
        "time",
        {"city": "Asia/Tokyo"},
        "Il est six heures quarante-trois, samedi, à Tokyo.",
    ),
    (
        "Quelle heure est-il au Japon ?",
        "time",
        {"city": "Asia/Tokyo"},
        "Il est six heures quarante-trois, samedi, au Japon.",
    ),
    (
        "Quelle heure est-il à New York ?",
        "time",
        {"city": "America/New_York"},
        "Il est seize heures quarante-trois à New York.",
    ),
    ("Quel jour sommes-nous ?", "date", {}, "Nous sommes le vendredi vingt novembre deux mille vingt-six."),
    ("On est le combien aujourd'hui ?", "date", {}, "Nous sommes le vendredi vingt novembre deux mille vingt-six."),
    ("Quelle est la date de demain ?", "date", {"other_day": "1"}, "Demain, c'est le samedi vingt et un novembre."),
    ("Quel jour était hier ?", "date", {"other_day": "-1"}, "Hier, c'était le jeudi dix-neuf novembre."),
    ("En quelle année sommes-nous ?", "date", {}, "Nous sommes en deux mille vingt-six."),
    ("Quel mois sommes-nous ?", "date", {}, "Nous sommes au mois de novembre."),
    (
        "Combien de jours jusqu'à Noël ?",
        "days",
        {"span": "days", "holiday": "12-25"},
        "Il reste trente-cinq jours jusqu'à Noël.",
    ),
    (
        "Combien de jours reste-t-il avant Noël ?",
        "days",
        {"span": "days", "holiday": "12-25"},
        "Il reste trente-cinq jours jusqu'à Noël.",
    ),
    (
        "Combien de semaines jusqu'au premier mars ?",
        "days",
        {"span": "weeks", "o": "1", "m": "3"},
        "Il reste quatorze semaines et trois jours jusqu'au premier mars.",
    ),
    (
        "Combien de jours avant le 1er janvier ?",
        "days",
        {"d": "1", "span": "days", "ending": "er", "m": "1"},
        "Il reste quarante-deux jours jusqu'au premier janvier.",
    ),
    ("Combien de jours avant lundi ?", "days", {"span": "days", "weekday": "0"}, "Il reste trois jours jusqu'à lundi."),
    (
        "Combien de jours jusqu'à la Saint-Valentin ?",
        "days",
        {"span": "days", "holiday": "2-14"},
        "Il reste quatre-vingt-six jours jusqu'à la Saint-Valentin.",
    ),
    (
        "Combien de jours depuis le premier janvier ?",
        "days",
        {"span": "days", "o": "1", "m": "1"},
        "Trois cent vingt-trois jours depuis le premier janvier.",
    ),
    (
        "Combien de jours entre le trois mars et le premier juin ?",
        "days",
        {"d": "3", "span": "days", "m": "3", "oo": "1", "om": "6"},
        "Il y a quatre-vingt-dix jours entre le trois mars et le premier juin.",
    ),
    (
        "Quel jour tombe le quatre juillet ?",
        "days",
        {"d": "4", "m": "7", "tense": "tombe"},
        "Le quatre juillet deux mille vingt-sept est un dimanche.",
    ),
    (
        "Quel jour était le 14 juillet 1789 ?",
        "days",
        {"d": "14", "y": "1789", "m": "7", "tense": "past"},
        "Le quatorze juillet mille sept cent quatre-vingt-neuf était un mardi.",
    ),
    ("Quand est Noël ?", "days", {"holiday": "12-25"}, "Noël tombe le vendredi vingt-cinq décembre."),
    (
        "Quel jour tombe le trente février ?",
        "days",
        {"d": "30", "m": "2", "tense": "tombe"},
        "Le trente février n'existe pas.",
    ),
    ("Mets un minuteur de dix minutes", "timers", {"a": "10", "ua": "60"}, "Le minuteur de dix minutes est lancé."),
    ("Lance un minuteur d'une minute", "timers", {"a": "1", "ua": "60"}, "Le minuteur d'une minute est lancé."),
    (
        "Mets un minuteur de une heure et demie",
        "timers",
        {"a": "1", "ua": "3600", "half": "demie"},
        "Le minuteur d'une heure et trente minutes est lancé.",
    ),
    (
        "Minuteur de quatre-vingt-dix secondes",
        "timers",
        {"a": "90", "ua": "1"},
        "Le minuteur d'une minute et trente secondes est lancé.",
    ),
    (
        "Mets un minuteur de cinq minutes pour les œufs",
        "timers",
        {"a": "5", "ua": "60", "name": "œufs"},
        "Le minuteur œufs de cinq minutes est lancé.",
    ),
    (
        "Mets un minuteur pizza de vingt minutes",
        "timers",
        {"a": "20", "name": "pizza", "ua": "60"},
        "Le minuteur pizza de vingt minutes est lancé.",
    ),
    ("Mets un minuteur d'une demi-heure", "timers", {"part": "1800"}, "Le minuteur de trente minutes est lancé."),
    (
        "Mets un minuteur de trente heures",
        "timers",
        {"a": "30", "ua": "3600"},
        "C'est trop long : un minuteur dure vingt-quatre heures au plus.",
    ),
    ("Mets un minuteur", "timers", {}, "Pour combien de temps ?"),
    ("Combien de temps reste-t-il ?", "timers", {}, "Il n'y a pas de minuteur."),
    ("Combien de temps reste-t-il sur le minuteur ?", "timers", {}, "Il n'y a pas de minuteur."),
    ("Annule le minuteur", "timers", {}, "Il n'y a pas de minuteur."),
    ("Mets le minuteur en pause", "timers", {}, "Il n'y a pas de minuteur."),
    ("Reprends le minuteur", "timers", {}, "Il n'y a pas de minuteur."),
    (
        "Mets une alarme à sept heures et demie",
        "alarms",
        {"h": "7", "from_hour": "30"},
        "L'alarme sonnera demain à sept heures trente.",
    ),
    (
        "Réveille-moi à sept heures moins le quart",
        "alarms",
        {"h": "7", "from_hour": "-15"},
        "L'alarme sonnera demain à six heures quarante-cinq.",
    ),
    (
        "Réveille-moi demain matin à six heures",
        "alarms",
        {"h": "6", "day": "1 am"},
        "L'alarme sonnera demain à six heures.",
    ),
    (
        "Réveille-moi à sept heures moins dix",
        "alarms",
        {"h": "7", "m": "10", "side": "to"},
        "L'alarme sonnera demain à six heures cinquante.",
    ),
    ("Mets une alarme à 7h30", "alarms", {"h": "7", "m": "30"}, "L'alarme sonnera demain à sept heures trente."),
    (
        "Mets le réveil à une heure du matin",
        "alarms",
        {"h": "1", "half_day": "am"},
        "L'alarme sonnera demain à une heure.",
    ),
    ("Réveille-moi à midi", "alarms", {"named_hour": "12"}, "L'alarme sonnera demain à midi."),
    (
        "Réveille-moi dans vingt minutes",
        "alarms",
        {"a": "20", "ua": "60"},
        "L'alarme sonnera aujourd'hui à vingt-trois heures trois.",
    ),
    ("Mets une alarme à vingt-cinq heures", "alarms", {"h": "25"}, "Ce n'est pas une heure du jour."),
    ("Mets une alarme", "alarms", {}, "À quelle heure ?"),
    ("Annule toutes les alarmes", "alarms", {"all": "toutes"}, "Il n'y a pas d'alarme."),
    ("À quelle heure sonne mon réveil ?", "alarms", {}, "Il n'y a pas d'alarme."),
    (
        "Combien font vingt-cinq plus trois virgule cinq ?",
        "arithmetic",
        {"a": "25", "b": "7/2", "f": "plus"},
        "Ça fait vingt-huit virgule cinq.",
    ),
    ("Combien font 15 % de 80 ?", "arithmetic", {"a": "15", "b": "80"}, "Ça fait douze."),
    ("Racine carrée de deux", "arithmetic", {"a": "2"}, "Ça fait environ un virgule quatre un quatre deux."),
    ("Deux puissance dix", "arithmetic", {"a": "2", "b": "10"}, "Ça fait mille vingt-quatre."),
    (
        "Combien font 2 plus 3 fois 4 ?",
        "arithmetic",
        {"a": "2", "b": "3", "c": "4", "f": "plus", "g": "times"},
        "Ça fait quatorze.",
    ),
    (
        "Combien font soixante et onze plus quatre-vingt-dix-neuf ?",
        "arithmetic",
        {"a": "71", "b": "99", "f": "plus"},
        "Ça fait cent soixante-dix.",
    ),
    (
        "Combien font 1 000,5 plus 1 ?",
        "arithmetic",
        {"a": "2001/2", "b": "1", "f": "plus"},
        "Ça fait mille un virgule cinq.",
    ),
    ("La moitié de quatre-vingts", "arithmetic", {"a": "80", "share": "1/2"}, "Ça fait quarante."),
    ("Combien font 10 - -3 ?", "arithmetic", {"a": "10", "b": "-3", "f": "minus"}, "Ça fait treize."),
    ("Combien font 24/6 ?", "arithmetic", {"a": "24", "b": "6", "f": "divided"}, "Ça fait quatre."),
    ("Divise cinq par zéro", "arithmetic", {"a": "5", "b": "0"}, "Je ne peux pas diviser par zéro."),
    (
        "Combien de centimètres dans un mètre ?",
        "conversion",
        {"number": "1", "to": "centimètres", "from": "mètre"},
        "Un mètre fait cent centimètres.",
    ),
    (
        "Combien de kilomètres dans un mile ?",
        "conversion",
        {"number": "1", "to": "kilomètres", "from": "mile"},
        "Un mile fait environ un virgule six zéro neuf kilomètre.",
    ),
    (
        "Convertis cinq kilomètres en miles",
        "conversion",
        {"number": "5", "from": "kilomètres", "to": "miles"},
        "Cinq kilomètres font environ trois virgule un zéro sept miles.",
    ),
    (
        "Vingt degrés Celsius en Fahrenheit",
        "conversion",
        {"number": "20", "from": "degrés celsius", "to": "fahrenheit"},
        "Vingt degrés Celsius font soixante-huit degrés Fahrenheit.",
    ),
    (
        "Combien de minutes dans une demi-heure ?",
        "conversion",
        {"to": "minutes", "from": "heure"},
        "Une demi-heure fait trente minutes.",
    ),
    (
        "Combien de litres dans un kilomètre ?",
        "conversion",
        {"number": "1", "to": "litres", "from": "kilomètre"},
        "Je ne peux pas convertir les kilomètres en litres : d'un côté c'est une longueur, de l'autre un volume.",
    ),
    (
        "Six pieds deux pouces en centimètres",
        "conversion",
        {"number": "6", "more": "2", "from": "pieds", "finer": "pouces", "to": "centimètres"},
        "Six pieds et deux pouces font environ cent quatre-vingt-huit centimètres.",
    ),
    (
        "Combien d'heures dans un jour ?",
        "conversion",
        {"number": "1", "to": "heures", "from": "jour"},
        "Un jour fait vingt-quatre heures.",
    ),
    ("Comment s'écrit rythme ?", "spelling", {}, "R, Y, T, H, M, E."),
    ("Épelle le mot garçon", "spelling", {}, "G, A, R, Ç, O, N."),
    ("Lance une pièce", "chance", {}, "C'est face."),
    ("Pile ou face", "chance", {}, "C'est face."),
    ("Lance un dé", "chance", {}, "C'est un deux."),
    ("Lance deux dés", "chance", {"count": "2"}, "Deux et cinq : sept en tout."),
    ("Lance un dé à vingt faces", "chance", {"sides": "20"}, "C'est un cinq."),
    ("Choisis un nombre entre un et dix", "chance", {"low": "1", "high": "10"}, "Trois."),
    ("Plus fort", "voice", {}, "Plus fort."),
    ("Parle un peu moins fort, s'il te plaît", "voice", {"how_much": "little"}, "Moins fort."),
    ("Parle plus lentement", "voice", {}, "Moins vite."),
    ("Plus vite", "voice", {}, "Plus vite."),
    ("Répète", "repeat", {}, "Sept fois huit font cinquante-six."),
    ("Stop", "never_mind", {}, "D'accord."),
    ("Laisse tomber", "never_mind", {}, "D'accord."),
    ("Merci", "thanks", {}, "De rien."),
    ("Bonjour", "greeting", {}, "Bonjour. Je vous écoute."),
    (
        "Allume la lumière",
        "lights",
        {},
        "Aucune maison n'est connectée.",
    ),
    ("Mets de la musique", "music", {}, "Je ne sais pas encore jouer de la musique."),
    (
        "Quel temps fait-il demain ?",
        "weather",
        {},
        "Aucun service météo n'est connecté.",
    ),
    ("Trois au carré", "arithmetic", {"a": "3"}, "Ça fait neuf."),
    ("Deux au cube", "arithmetic", {"a": "2"}, "Ça fait huit."),
    ("Racine cubique de vingt-sept", "arithmetic", {"a": "27"}, "Ça fait trois."),
    ("La somme de trois et quatre", "arithmetic", {"a": "3", "b": "4"}, "Ça fait sept."),
    ("La différence entre trois et dix", "arithmetic", {"a": "3", "b": "10"}, "Ça fait sept."),
    ("Enlève trois de dix", "arithmetic", {"b": "3", "a": "10"}, "Ça fait sept."),
    ("Multiplie six par sept", "arithmetic", {"a": "6", "b": "7"}, "Ça fait quarante-deux."),
    ("Le produit de trois et quatre", "arithmetic", {"a": "3", "b": "4"}, "Ça fait douze."),
    ("Coupe le son", "voice", {"level": "0"}, "Le volume est à zéro pour cent."),
    ("Mets-toi en sourdine", "voice", {"level": "0"}, "Le volume est à zéro pour cent."),
    (
        "Dans une semaine à partir d'aujourd'hui",
        "date",
        {"ahead": "1", "span": "weeks", "start": "0"},
        "Ce sera vendredi vingt-sept novembre deux mille vingt-six.",
    ),
    ("Snooze", "snooze", {}, "Rien n'a sonné ces dix dernières minutes."),
    (
        "Rappelle-moi demain",
        "reminders",
        {"day": "1"},
        "Que dois-je vous rappeler ?",
    ),
    ("Quelles sont les nouvelles ?", "news", {}, "Je ne peux pas lire les nouvelles : aucun service n'est connecté."),
    (
        "Ferme les volets",
        "devices",
        {"cover": "volets"},
        "Aucune maison n'est connectée.",
    ),
    ("Qui es-tu ?", "identity", {}, "Je suis Repartee, un assistant vocal. Je suis un programme, pas une personne."),
    ("Comment ça va ?", "well_being", {}, "Tout est prêt. Comment puis-je aider ?"),
    ("Au revoir", "goodbye", {}, "Au revoir."),
    ("Parle moins vite", "voice", {}, "Moins vite."),
    (
        "Mets un minuteur de vingt et une minutes",
        "timers",
        {"a": "21", "ua": "60"},
        "Le minuteur de vingt et une minutes est lancé.",
    ),
    (
        "Quelle heure est-il à Hawaï ?",
        "time",
        {"city": "Pacific/Honolulu"},
        "Il est onze heures quarante-trois à Hawaï.",
    ),
    ("Combien font moins cinq plus trois ?", "arithmetic", {"a": "-5", "b": "3", "f": "plus"}, "Ça fait moins deux."),
    (
        "Combien de livres dans deux kilos ?",
        "conversion",
        {"number": "2", "to": "livres", "from": "kilos"},
        "Deux kilogrammes font environ quatre virgule quatre zéro neuf livres.",
    ),
    (
        "Mets un minuteur de deux heures trois minutes et quatre secondes",
        "timers",
        {"a": "2", "b": "3", "c": "4", "ua": "3600", "ub": "60", "uc": "1"},
        "Le minuteur de deux heures, trois minutes et quatre secondes est lancé.",
    ),
    (
        "Combien de semaines jusqu'au jour de l'an ?",
        "days",
        {"span": "weeks", "holiday": "1-1"},
        "Il reste six semaines jusqu'au jour de l'An.",
    ),
    (
        "Racine carrée de moins quatre",
        "arithmetic",
        {"a": "-4"},
        "Un nombre négatif n'a pas de racine carrée parmi les nombres réels.",
    ),
    (
        "Réveille-moi après-demain à huit heures du soir",
        "alarms",
        {"h": "8", "day": "2", "half_day": "pm"},
        "L'alarme sonnera après-demain à vingt heures.",
    ),
    (
        "Combien de secondes dans une année ?",
        "conversion",
        {"number": "1", "to": "secondes", "from": "année"},
        "Une année fait trente et un millions cinq cent trente-six mille secondes.",
    ),
)

NOT_UNDERSTOOD = (
    "annule tous les autres minuteurs",
    "c'est quoi 24/7",
    "24/7",
    "quelle heure est le train",
    "quelle heure est-il sur mars",
    "à quelle heure est la réunion",
    "quel jour est le meilleur",
    "qu'est-ce qu'un minuteur",
    "mets un minuteur de cinq pommes",
    "mets un minuteur et allume la lumière",
    "mets un minuteur de cinq minutes pour toi et moi",
    "annule mon abonnement",
    "réveille-moi quand il fera jour",
    "mets une alarme pour sept personnes",
    "combien font deux plus",
    "combien font amour plus haine",
    "combien d'habitants à paris",
    "combien de kilomètres jusqu'à paris",
    "combien de pattes a un chien",
    "convertis cinq euros en dollars",
    "combien de jours jusqu'à mon anniversaire",
    "quel jour tombe le quarante-cinq mars",
    "quand est la réunion",
    "épelle ça",
    "comment écrire une lettre",
    "lance la balle",
    "choisis une carte",
    "plus fort que jamais",
    "parle espagnol",
    "plus vite que la lumière",
    "allume la lumière quand j'arrive",
    "raconte-moi une blague",
    "qui a gagné la guerre",
    "arrête la voiture",
    "oublie-moi",
    "joue aux échecs",
    "merci pour rien",
    "un",
    "une",
    "le",
    "quoi de plus",
    "combien font cinq euros plus trois euros",
    "la lumière est-elle allumée",
    "mets-moi au courant",
    "racine carrée du mal",
    "dis bonjour à marie",
)


@pytest.fixture(scope="module")
def skills() -> Skills:
    return loaded_skills()


@pytest.fixture(scope="module")
def sentences() -> SentenceTemplates:
    return SentenceTemplates(load_language("fr"))


def context() -> SkillContext:
    return SkillContext(NOW, LAST_REPLY, language="fr", rng=random.Random(1))


@text_cases(("said", "skill", "slots", "text"), UNDERSTOOD)
def test_sentence_is_understood_and_answered(
    skills: Skills, sentences: SentenceTemplates, said: str, skill: str, slots: dict[str, str], text: str
) -> None:
    answer = skills.answer(said, context())
    assert answer is not None
    assert (answer.skill, answer.text) == (skill, text)
    found = sentences.find(said)  # no template contains a word to spell
    heard = {**{slot: str(number) for slot, number in found.numbers.items()}, **found.values} if found else {}
    assert heard == slots


@text_cases("said", NOT_UNDERSTOOD)
def test_sentence_is_left_to_a_model(skills: Skills, said: str) -> None:
    assert skills.answer(said, context()) is None


def test_tables_are_large_enough() -> None:
    assert len({said for said, *_rest in UNDERSTOOD}) >= 90
    assert len(set(NOT_UNDERSTOOD)) >= 35
