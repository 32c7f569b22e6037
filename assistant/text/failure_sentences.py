"""Translates the sentences that are spoken in place of an answer. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

_LANGUAGES = ("de", "fr", "es")

# Each English sentence stands where the failure is detected; here are its translations, in the order of _LANGUAGES.
_TRANSLATIONS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "I can't reach my language model right now.": (
            "Ich erreiche mein Sprachmodell gerade nicht.",
            "Je ne peux pas joindre mon modèle de langage pour le moment.",
            "Ahora mismo no puedo contactar con mi modelo de lenguaje.",
        ),
        "My language model refused the request: the key is not accepted.": (
            "Mein Sprachmodell hat die Anfrage abgelehnt: der Schlüssel wird nicht angenommen.",
            "Mon modèle de langage a refusé la demande : la clé n'est pas acceptée.",
            "Mi modelo de lenguaje ha rechazado la petición: no acepta la clave.",
        ),
        "I can't read these letters aloud. The answer is on the screen.": (
            "Diese Buchstaben kann ich nicht vorlesen. Die Antwort steht auf dem Bildschirm.",
            "Je ne peux pas lire ces lettres à voix haute. La réponse est à l'écran.",
            "No puedo leer estas letras en voz alta. La respuesta está en la pantalla.",
        ),
        "My language model was not found at its address.": (
            "Mein Sprachmodell wurde unter seiner Adresse nicht gefunden.",
            "Mon modèle de langage est introuvable à son adresse.",
            "No se ha encontrado mi modelo de lenguaje en su dirección.",
        ),
        "My language model is too busy right now.": (
            "Mein Sprachmodell ist gerade überlastet.",
            "Mon modèle de langage est surchargé pour le moment.",
            "Mi modelo de lenguaje está sobrecargado ahora mismo.",
        ),
        "The account of my language model has no credit left.": (
            "Das Konto meines Sprachmodells hat kein Guthaben mehr.",
            "Le compte de mon modèle de langage n'a plus de crédit.",
            "La cuenta de mi modelo de lenguaje no tiene saldo.",
        ),
        "This conversation is too long for my language model.": (
            "Dieses Gespräch ist zu lang für mein Sprachmodell.",
            "Cette conversation est trop longue pour mon modèle de langage.",
            "Esta conversación es demasiado larga para mi modelo de lenguaje.",
        ),
        "My language model has a problem right now.": (
            "Mein Sprachmodell hat gerade eine Störung.",
            "Mon modèle de langage a un problème pour le moment.",
            "Mi modelo de lenguaje tiene un problema ahora mismo.",
        ),
        "My language model could not handle the request.": (
            "Mein Sprachmodell konnte die Anfrage nicht verarbeiten.",
            "Mon modèle de langage n'a pas pu traiter la demande.",
            "Mi modelo de lenguaje no ha podido procesar la petición.",
        ),
        "My language model declined to answer that.": (
            "Mein Sprachmodell wollte darauf nicht antworten.",
            "Mon modèle de langage a refusé de répondre à cela.",
            "Mi modelo de lenguaje no ha querido responder a eso.",
        ),
        "Something other than my language model answered.": (
            "Etwas anderes als mein Sprachmodell hat geantwortet.",
            "Autre chose que mon modèle de langage a répondu.",
            "Ha respondido algo que no es mi modelo de lenguaje.",
        ),
        "My language model broke off in the middle of its answer.": (
            "Mein Sprachmodell hat mitten in der Antwort abgebrochen.",
            "Mon modèle de langage s'est interrompu au milieu de sa réponse.",
            "Mi modelo de lenguaje se ha cortado en mitad de la respuesta.",
        ),
        "My language model gave no answer.": (
            "Mein Sprachmodell hat keine Antwort gegeben.",
            "Mon modèle de langage n'a pas donné de réponse.",
            "Mi modelo de lenguaje no ha dado ninguna respuesta.",
        ),
        "My language model gave an empty answer.": (
            "Mein Sprachmodell hat eine leere Antwort gegeben.",
            "Mon modèle de langage a donné une réponse vide.",
            "Mi modelo de lenguaje ha dado una respuesta vacía.",
        ),
        "My language model did not answer in time.": (
            "Mein Sprachmodell hat nicht rechtzeitig geantwortet.",
            "Mon modèle de langage n'a pas répondu à temps.",
            "Mi modelo de lenguaje no ha respondido a tiempo.",
        ),
        "My language model stopped in the middle of its answer.": (
            "Mein Sprachmodell ist mitten in der Antwort stehen geblieben.",
            "Mon modèle de langage s'est arrêté au milieu de sa réponse.",
            "Mi modelo de lenguaje se ha detenido en mitad de la respuesta.",
        ),
        "The language model on this machine is not running right now.": (
            "Das Sprachmodell auf diesem Gerät läuft gerade nicht.",
            "Le modèle de langage de cette machine n'est pas en marche pour le moment.",
            "El modelo de lenguaje de este equipo no está en marcha ahora mismo.",
        ),
        "I have no valid key for my language model.": (
            "Ich habe keinen gültigen Schlüssel für mein Sprachmodell.",
            "Je n'ai pas de clé valable pour mon modèle de langage.",
            "No tengo una clave válida para mi modelo de lenguaje.",
        ),
        "I can't get the key for my language model right now.": (
            "Ich bekomme den Schlüssel für mein Sprachmodell gerade nicht.",
            "Je ne peux pas obtenir la clé de mon modèle de langage pour le moment.",
            "Ahora mismo no puedo obtener la clave de mi modelo de lenguaje.",
        ),
        "This conversation has become too long for me.": (
            "Dieses Gespräch ist mir zu lang geworden.",
            "Cette conversation est devenue trop longue pour moi.",
            "Esta conversación se ha vuelto demasiado larga para mí.",
        ),
        "I looked several things up and came to no answer.": (
            "Ich habe mehreres nachgeschlagen und keine Antwort gefunden.",
            "J'ai fait plusieurs recherches sans trouver de réponse.",
            "He consultado varias cosas y no he llegado a una respuesta.",
        ),
        "Sorry, my answer breaks off there.": (
            "Entschuldigung, meine Antwort bricht dort ab.",
            "Désolé, ma réponse s'arrête là.",
            "Lo siento, mi respuesta se corta ahí.",
        ),
        "Sorry, I could not hear that. My speech recognition stopped, and I am restarting it.": (
            "Entschuldigung, das konnte ich nicht hören. Meine Spracherkennung ist ausgefallen, ich starte sie neu.",
            "Désolé, je n'ai pas pu entendre. Ma reconnaissance vocale s'est arrêtée, je la relance.",
            "Lo siento, no he podido oírlo. Mi reconocimiento de voz se ha detenido y lo estoy reiniciando.",
        ),
        "Sorry, I heard you, but I understood no word. Please say it again.": (
            "Entschuldigung, ich habe Sie gehört, aber kein Wort verstanden. Bitte sagen Sie es noch einmal.",
            "Désolé, je vous ai entendu, mais je n'ai compris aucun mot. Veuillez répéter.",
            "Lo siento, le he oído, pero no he entendido ninguna palabra. Por favor, repítalo.",
        ),
        "Sorry, I could not hear that: other programs keep this machine busy.": (
            "Entschuldigung, das konnte ich nicht hören: Andere Programme lasten dieses Gerät aus.",
            "Désolé, je n'ai pas pu entendre : d'autres programmes occupent cette machine.",
            "Lo siento, no he podido oírlo: otros programas mantienen ocupado este equipo.",
        ),
        "Sorry, too many people are talking to me at once. Please ask me again in a moment.": (
            "Entschuldigung, gerade sprechen zu viele Leute mit mir. Bitte fragen Sie gleich noch einmal.",
            "Désolé, trop de personnes me parlent en même temps. Veuillez me redemander dans un instant.",
            "Lo siento, demasiadas personas me hablan a la vez. Por favor, pregúntemelo de nuevo en un momento.",
        ),
        "I may have misheard you.": (
            "Vielleicht habe ich Sie falsch verstanden.",
            "Je vous ai peut-être mal compris.",
            "Puede que le haya entendido mal.",
        ),
        "An internal error happened.": (
            "Ein interner Fehler ist aufgetreten.",
            "Une erreur interne s'est produite.",
            "Se ha producido un error interno.",
        ),
    }
)


def failure_sentence(english: str, language: str) -> str:
    """Returns a sentence in the conversation's language, such as "de-AT".

    A sentence that is not known is returned as it is, and so is every sentence for other languages.
    """
    base = language.partition("-")[0].lower()
    if base not in _LANGUAGES or english not in _TRANSLATIONS:
        return english
    return _TRANSLATIONS[english][_LANGUAGES.index(base)]
