"""Spanish: understood sentences with slots and answers, and sentences left to a model."""

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
LAST_REPLY = "Siete por ocho son cincuenta y seis."

# Sentence, skill, slots, and the answer on Friday, 20 November 2026, 22:43 in Berlin.
UNDERSTOOD: tuple[tuple[str, str, dict[str, str], str], ...] = (
    ("¿Qué hora es?", "time", {}, "Son las diez y cuarenta y tres de la noche."),
    ("¿Me puedes decir qué hora es?", "time", {}, "Son las diez y cuarenta y tres de la noche."),
    (
        "¿Qué hora es en Tokio?",
        "time",
        {"city": "Asia/Tokyo"},
        "Son las seis y cuarenta y tres de la mañana del sábado en Tokio.",
    ),
    (
        "¿Qué hora es en Nueva York?",
        "time",
        {"city": "America/New_York"},
        "Son las cuatro y cuarenta y tres de la tarde en Nueva York.",
    ),
    (
        "Que hora es en Ciudad de México",
        "time",
        {"city": "America/Mexico_City"},
        "Son las tres y cuarenta y tres de la tarde en Ciudad de México.",
    ),
    ("¿Qué día es hoy?", "date", {}, "Hoy es viernes, veinte de noviembre de dos mil veintiséis."),
    ("¿A qué fecha estamos?", "date", {}, "Hoy es viernes, veinte de noviembre de dos mil veintiséis."),
    ("¿Qué día es mañana?", "date", {"other_day": "1"}, "Mañana es sábado, veintiuno de noviembre."),
    ("¿Qué día fue ayer?", "date", {"other_day": "-1"}, "Ayer fue jueves, diecinueve de noviembre."),
    ("¿En qué año estamos?", "date", {}, "Estamos en dos mil veintiséis."),
    ("¿En qué mes estamos?", "date", {}, "Estamos en noviembre."),
    (
        "¿Cuántos días faltan para Navidad?",
        "days",
        {"span": "days", "holiday": "12-25"},
        "Faltan treinta y cinco días para Navidad.",
    ),
    (
        "¿Cuántas semanas faltan para el primero de marzo?",
        "days",
        {"span": "weeks", "o": "1", "m": "3"},
        "Faltan catorce semanas y tres días para el primero de marzo.",
    ),
    (
        "¿Cuántos días faltan para el 1 de enero?",
        "days",
        {"d": "1", "span": "days", "m": "1"},
        "Faltan cuarenta y dos días para el primero de enero.",
    ),
    ("¿Cuánto falta para el lunes?", "days", {"weekday": "0"}, "Faltan tres días para el lunes."),
    ("¿Cuántos días faltan para el sábado?", "days", {"span": "days", "weekday": "5"}, "El sábado es mañana."),
    (
        "¿Cuántos días faltan para el domingo?",
        "days",
        {"span": "days", "weekday": "6"},
        "Faltan dos días para el domingo.",
    ),
    (
        "¿Cuántos días han pasado desde el uno de enero?",
        "days",
        {"d": "1", "span": "days", "m": "1"},
        "Han pasado trescientos veintitrés días desde el primero de enero.",
    ),
    (
        "¿Cuántos días hay entre el tres de marzo y el uno de junio?",
        "days",
        {"d": "3", "od": "1", "span": "days", "m": "3", "om": "6"},
        "Hay noventa días entre el tres de marzo y el primero de junio.",
    ),
    (
        "¿Qué día de la semana es el cuatro de julio?",
        "days",
        {"d": "4", "m": "7", "tense": "es"},
        "El cuatro de julio de dos mil veintisiete cae en domingo.",
    ),
    ("¿Cuándo es Navidad?", "days", {"holiday": "12-25"}, "Navidad cae el viernes, veinticinco de diciembre."),
    (
        "¿Qué día es el treinta de febrero?",
        "days",
        {"d": "30", "m": "2", "tense": "es"},
        "El treinta de febrero no existe.",
    ),
    (
        "Pon un temporizador de diez minutos",
        "timers",
        {"a": "10", "ua": "60"},
        "El temporizador de diez minutos está en marcha.",
    ),
    (
        "Pon un temporizador de un minuto",
        "timers",
        {"a": "1", "ua": "60"},
        "El temporizador de un minuto está en marcha.",
    ),
    (
        "Pon un temporizador de una hora y media",
        "timers",
        {"a": "1", "ua": "3600", "half": "media"},
        "El temporizador de una hora y treinta minutos está en marcha.",
    ),
    (
        "Temporizador de noventa segundos",
        "timers",
        {"a": "90", "ua": "1"},
        "El temporizador de un minuto y treinta segundos está en marcha.",
    ),
    (
        "Pon un temporizador de cinco minutos para la pasta",
        "timers",
        {"a": "5", "ua": "60", "name": "pasta"},
        "El temporizador de cinco minutos para pasta está en marcha.",
    ),
    (
        "Pon un temporizador para la pizza de veinte minutos",
        "timers",
        {"a": "20", "name": "pizza", "ua": "60"},
        "El temporizador de veinte minutos para pizza está en marcha.",
    ),
    (
        "Pon un temporizador de media hora",
        "timers",
        {"part": "1800"},
        "El temporizador de treinta minutos está en marcha.",
    ),
    (
        "Pon un temporizador de veintiún minutos",
        "timers",
        {"a": "21", "ua": "60"},
        "El temporizador de veintiún minutos está en marcha.",
    ),
    (
        "Pon un temporizador de treinta horas",
        "timers",
        {"a": "30", "ua": "3600"},
        "Es demasiado: un temporizador dura veinticuatro horas como mucho.",
    ),
    ("Pon un temporizador", "timers", {}, "¿De cuánto tiempo?"),
    ("¿Cuánto tiempo queda?", "timers", {}, "No hay ningún temporizador."),
    ("¿Cuánto queda en el temporizador?", "timers", {}, "No hay ningún temporizador."),
    ("Cancela el temporizador", "timers", {}, "No hay ningún temporizador."),
    ("Pausa el temporizador", "timers", {}, "No hay ningún temporizador."),
    ("Reanuda el temporizador", "timers", {}, "No hay ningún temporizador."),
    (
        "Pon una alarma a las siete y media",
        "alarms",
        {"h": "7", "from_hour": "30"},
        "La alarma sonará mañana a las siete y treinta de la mañana.",
    ),
    (
        "Despiértame a las siete menos cuarto",
        "alarms",
        {"h": "7", "from_hour": "-15"},
        "La alarma sonará mañana a las seis y cuarenta y cinco de la mañana.",
    ),
    (
        "Despiértame mañana a las seis",
        "alarms",
        {"h": "6", "day": "1"},
        "La alarma sonará mañana a las seis de la mañana.",
    ),
    (
        "Despiértame a las siete menos diez",
        "alarms",
        {"h": "7", "m": "10", "side": "to"},
        "La alarma sonará mañana a las seis y cincuenta de la mañana.",
    ),
    (
        "Pon una alarma a las 7:30",
        "alarms",
        {"h": "7", "m": "30"},
        "La alarma sonará mañana a las siete y treinta de la mañana.",
    ),
    (
        "Pon una alarma a la una de la tarde",
        "alarms",
        {"h": "1", "half_day": "pm"},
        "La alarma sonará mañana a la una de la tarde.",
    ),
    (
        "Pon una alarma para mañana a las ocho de la mañana",
        "alarms",
        {"h": "8", "day": "1", "half_day": "am"},
        "La alarma sonará mañana a las ocho de la mañana.",
    ),
    ("Despiértame al mediodía", "alarms", {"named_hour": "12"}, "La alarma sonará mañana a las doce del mediodía."),
    (
        "Despiértame dentro de veinte minutos",
        "alarms",
        {"a": "20", "ua": "60"},
        "La alarma sonará hoy a las once y tres de la noche.",
    ),
    ("Pon una alarma a las veinticinco", "alarms", {"h": "25"}, "Esa no es una hora del día."),
    ("Pon una alarma", "alarms", {}, "¿A qué hora?"),
    ("Cancela todas las alarmas", "alarms", {"all": "todas"}, "No hay ninguna alarma."),
    ("¿A qué hora suena mi alarma?", "alarms", {}, "No hay ninguna alarma."),
    (
        "¿Cuánto es veinticinco más tres coma cinco?",
        "arithmetic",
        {"a": "25", "b": "7/2", "f": "plus"},
        "El resultado es veintiocho coma cinco.",
    ),
    ("¿Cuánto es el 15 % de 80?", "arithmetic", {"a": "15", "b": "80"}, "El resultado es doce."),
    (
        "Raíz cuadrada de dos",
        "arithmetic",
        {"a": "2"},
        "El resultado es aproximadamente uno coma cuatro uno cuatro dos.",
    ),
    ("Dos elevado a diez", "arithmetic", {"a": "2", "b": "10"}, "El resultado es mil veinticuatro."),
    (
        "¿Cuánto es 2 más 3 por 4?",
        "arithmetic",
        {"a": "2", "b": "3", "c": "4", "f": "plus", "g": "times"},
        "El resultado es catorce.",
    ),
    (
        "¿Cuánto es treinta y uno más ciento doce?",
        "arithmetic",
        {"a": "31", "b": "112", "f": "plus"},
        "El resultado es ciento cuarenta y tres.",
    ),
    (
        "¿Cuánto es 1.000,5 más 1?",
        "arithmetic",
        {"a": "2001/2", "b": "1", "f": "plus"},
        "El resultado es mil uno coma cinco.",
    ),
    (
        "¿Cuánto es veinte mil más mil?",
        "arithmetic",
        {"a": "20000", "b": "1000", "f": "plus"},
        "El resultado es veintiún mil.",
    ),
    ("¿Cuánto es 10 - -3?", "arithmetic", {"a": "10", "b": "-3", "f": "minus"}, "El resultado es trece."),
    ("¿Cuánto es 24/6?", "arithmetic", {"a": "24", "b": "6", "f": "divided"}, "El resultado es cuatro."),
    ("La mitad de ochenta", "arithmetic", {"a": "80", "share": "1/2"}, "El resultado es cuarenta."),
    ("Divide cinco entre cero", "arithmetic", {"a": "5", "b": "0"}, "No puedo dividir entre cero."),
    (
        "¿Cuántos centímetros hay en un metro?",
        "conversion",
        {"number": "1", "to": "centímetros", "from": "metro"},
        "Un metro equivale a cien centímetros.",
    ),
    (
        "¿Cuántos kilómetros son una milla?",
        "conversion",
        {"number": "1", "to": "kilómetros", "from": "milla"},
        "Una milla equivale a aproximadamente uno coma seis cero nueve kilómetros.",
    ),
    (
        "Convierte cinco kilómetros a millas",
        "conversion",
        {"number": "5", "from": "kilómetros", "to": "millas"},
        "Cinco kilómetros equivalen a aproximadamente tres coma uno cero siete millas.",
    ),
    (
        "¿Cuánto son veinte grados Celsius en Fahrenheit?",
        "conversion",
        {"number": "20", "from": "grados celsius", "to": "fahrenheit"},
        "Veinte grados Celsius equivalen a sesenta y ocho grados Fahrenheit.",
    ),
    (
        "¿Cuántos minutos hay en media hora?",
        "conversion",
        {"to": "minutos", "from": "hora"},
        "Media hora equivale a treinta minutos.",
    ),
    (
        "¿Cuántos litros hay en un kilómetro?",
        "conversion",
        {"number": "1", "to": "litros", "from": "kilómetro"},
        "No puedo convertir kilómetros en litros: lo uno es una longitud, lo otro un volumen.",
    ),
    (
        "Seis pies dos pulgadas en centímetros",
        "conversion",
        {"number": "6", "more": "2", "from": "pies", "finer": "pulgadas", "to": "centímetros"},
        "Seis pies y dos pulgadas equivalen a aproximadamente ciento ochenta y ocho centímetros.",
    ),
    (
        "¿Cuántas horas tiene un día?",
        "conversion",
        {"number": "1", "to": "horas", "from": "día"},
        "Un día equivale a veinticuatro horas.",
    ),
    (
        "¿Cuántas libras son doscientos kilos?",
        "conversion",
        {"number": "200", "to": "libras", "from": "kilos"},
        "Doscientos kilogramos equivalen a aproximadamente cuatrocientos cuarenta coma nueve libras.",
    ),
    ("¿Cómo se escribe ritmo?", "spelling", {}, "R, I, T, M, O."),
    ("Deletrea niño", "spelling", {}, "N, I, Ñ, O."),
    ("Lanza una moneda", "chance", {}, "Cara."),
    ("Tira un dado", "chance", {}, "Ha salido un dos."),
    ("Tira dos dados", "chance", {"count": "2"}, "Dos y cinco: siete en total."),
    ("Lanza un dado de veinte caras", "chance", {"sides": "20"}, "Ha salido un cinco."),
    ("Elige un número entre uno y diez", "chance", {"low": "1", "high": "10"}, "Tres."),
    ("Más alto", "voice", {}, "Más alto."),
    ("Habla un poco más bajo, por favor", "voice", {"how_much": "little"}, "Más bajo."),
    ("Habla más despacio", "voice", {}, "Más despacio."),
    ("Más rápido", "voice", {}, "Más rápido."),
    ("Repite eso", "repeat", {}, "Siete por ocho son cincuenta y seis."),
    ("Para", "never_mind", {}, "De acuerdo."),
    ("Olvídalo", "never_mind", {}, "De acuerdo."),
    ("Gracias", "thanks", {}, "De nada."),
    ("Hola", "greeting", {}, "Hola. Te escucho."),
    (
        "Enciende la luz",
        "lights",
        {},
        "No hay ninguna casa conectada.",
    ),
    ("Pon música", "music", {}, "Todavía no puedo poner música."),
    (
        "¿Qué tiempo hará mañana?",
        "weather",
        {},
        "No hay ningún servicio del tiempo conectado.",
    ),
    ("Tres al cuadrado", "arithmetic", {"a": "3"}, "El resultado es nueve."),
    ("Dos al cubo", "arithmetic", {"a": "2"}, "El resultado es ocho."),
    ("Raíz cúbica de veintisiete", "arithmetic", {"a": "27"}, "El resultado es tres."),
    ("La suma de tres y cuatro", "arithmetic", {"a": "3", "b": "4"}, "El resultado es siete."),
    ("La diferencia entre tres y diez", "arithmetic", {"a": "3", "b": "10"}, "El resultado es siete."),
    ("Resta tres a diez", "arithmetic", {"b": "3", "a": "10"}, "El resultado es siete."),
    ("Multiplica seis por siete", "arithmetic", {"a": "6", "b": "7"}, "El resultado es cuarenta y dos."),
    ("El producto de tres y cuatro", "arithmetic", {"a": "3", "b": "4"}, "El resultado es doce."),
    ("Quita el sonido", "voice", {"level": "0"}, "El volumen está al cero por ciento."),
    ("Silénciate", "voice", {"level": "0"}, "El volumen está al cero por ciento."),
    (
        "Dentro de una semana a partir de hoy",
        "date",
        {"ahead": "1", "span": "weeks", "start": "0"},
        "Será viernes, veintisiete de noviembre de dos mil veintiséis.",
    ),
    ("Pospón la alarma", "snooze", {}, "No ha sonado nada en los últimos diez minutos."),
    (
        "Recuérdame mañana",
        "reminders",
        {"day": "1"},
        "¿Qué debo recordarte?",
    ),
    ("¿Cuáles son las noticias?", "news", {}, "No puedo leer las noticias: no hay ningún servicio conectado."),
    (
        "Cierra las persianas",
        "devices",
        {"cover": "persianas"},
        "No hay ninguna casa conectada.",
    ),
    ("¿Quién eres?", "identity", {}, "Soy Repartee, un asistente de voz. Soy un programa, no una persona."),
    ("¿Cómo estás?", "well_being", {}, "Todo listo. ¿En qué puedo ayudar?"),
    ("Adiós", "goodbye", {}, "Adiós."),
    ("No tan rápido", "voice", {}, "Más despacio."),
    (
        "¿Qué hora es en Hawái?",
        "time",
        {"city": "Pacific/Honolulu"},
        "Son las once y cuarenta y tres de la mañana en Hawái.",
    ),
    (
        "¿Cuánto es menos cinco más tres?",
        "arithmetic",
        {"a": "-5", "b": "3", "f": "plus"},
        "El resultado es menos dos.",
    ),
    (
        "¿Cuántas libras son dos kilos?",
        "conversion",
        {"number": "2", "to": "libras", "from": "kilos"},
        "Dos kilogramos equivalen a aproximadamente cuatro coma cuatro cero nueve libras.",
    ),
    (
        "Pon un temporizador de dos horas, tres minutos y cuatro segundos",
        "timers",
        {"a": "2", "b": "3", "c": "4", "ua": "3600", "ub": "60", "uc": "1"},
        "El temporizador de dos horas, tres minutos y cuatro segundos está en marcha.",
    ),
    (
        "¿Cuántas semanas faltan para Nochevieja?",
        "days",
        {"span": "weeks", "holiday": "12-31"},
        "Faltan cinco semanas y seis días para Nochevieja.",
    ),
    (
        "Raíz cuadrada de menos cuatro",
        "arithmetic",
        {"a": "-4"},
        "Un número negativo no tiene raíz cuadrada entre los números reales.",
    ),
    (
        "Despiértame pasado mañana a las ocho de la tarde",
        "alarms",
        {"h": "8", "day": "2", "half_day": "pm"},
        "La alarma sonará pasado mañana a las ocho de la noche.",
    ),
    (
        "¿Cuántos segundos tiene un año?",
        "conversion",
        {"number": "1", "to": "segundos", "from": "año"},
        "Un año equivale a treinta y un millones quinientos treinta y seis mil segundos.",
    ),
)

NOT_UNDERSTOOD = (
    "cancela todos los otros temporizadores",
    "qué es 24/7",
    "24/7",
    "qué hora es la reunión",
    "qué hora es en marte",
    "a qué hora sale el tren",
    "qué día es el mejor",
    "qué es un temporizador",
    "pon un temporizador de cinco manzanas",
    "pon un temporizador y enciende la luz",
    "pon un temporizador de cinco minutos para ti y para mí",
    "cancela mi suscripción",
    "despiértame cuando amanezca",
    "pon una alarma a las siete personas",
    "cuánto es dos más",
    "cuánto es amor más odio",
    "cuántos habitantes tiene madrid",
    "cuántos kilómetros hay hasta madrid",
    "cuántas patas tiene un perro",
    "convierte cinco euros a dólares",
    "cuántos días faltan para mi cumpleaños",
    "qué día es el cuarenta y cinco de marzo",
    "cuándo es la reunión",
    "deletrea eso",
    "cómo se escribe una carta",
    "lanza la pelota",
    "elige una carta",
    "más alto que una torre",
    "habla francés",
    "más rápido que la luz",
    "enciende la luz cuando llegue",
    "cuéntame un chiste",
    "quién ganó la guerra",
    "para el coche",
    "olvídate de mí",
    "juega al ajedrez",
    "gracias por nada",
    "un",
    "una",
    "el",
    "qué",
    "cuánto son cinco euros más tres euros",
    "está encendida la luz",
    "raíz cuadrada del mal",
    "dile hola a maría",
    "pon la mesa",
)


@pytest.fixture(scope="module")
def skills() -> Skills:
    return loaded_skills()


@pytest.fixture(scope="module")
def sentences() -> SentenceTemplates:
    return SentenceTemplates(load_language("es"))


def context() -> SkillContext:
    return SkillContext(NOW, LAST_REPLY, language="es", rng=random.Random(1))


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
