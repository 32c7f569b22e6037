"""Finds the code of a language that the user names, and the language of the user's environment. Pure."""

import difflib
import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from assistant.first_run.voices import LANGUAGE_CODE, SKILL_LANGUAGES, base_of, language_name
from assistant.models.language_names import NAMES

# ISO 639-1, and the longer codes that engines know.
_CODES = frozenset(
    (
        "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee "
        "el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is "
        "it iu ja jv jw ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr "
        "ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si "
        "sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh "
        "yi yo za zh zu ast bpy chr cmn grc hak haw jbo kok ltg nci nds pap piqd py quc smj uzb yue"
    ).split()
)

_OWN_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "ar": "العربية", "cs": "čeština", "da": "dansk", "de": "Deutsch allemand alemán", "el": "ελληνικά",
        "en": "Englisch anglais inglés", "es": "español castellano Spanisch espagnol", "fi": "suomi",
        "fr": "français Französisch francés", "hi": "हिन्दी", "hu": "magyar", "it": "italiano", "ja": "日本語",
        "ko": "한국어", "nl": "Nederlands", "no": "norsk", "pl": "polski", "pt": "português", "ro": "română",
        "ru": "русский", "sv": "svenska", "tr": "Türkçe", "uk": "українська", "zh": "中文",
    }
)  # fmt: skip
"""Names beside the English one, by code: the language's own, and those in German, French and Spanish of these four."""


def language_code(typed: str) -> str | None:
    """Returns the code of a language named by its code or its name, as in de, de_AT, German or deutsch, else None."""
    base, _, region = typed.strip().replace("_", "-").partition("-")
    code = "-".join(filter(None, (base.lower(), region)))
    if base_of(code) in _CODES and LANGUAGE_CODE.fullmatch(code):
        return code
    return _BY_NAME.get(_plain(typed))


def unknown_language(typed: str) -> str:
    """Returns the problem with a language that is not known, with the one that is probably meant."""
    code, plain = _suggestion(_plain(typed)), "name it as in German, or by its code as in de"
    meant = f"did you mean {code} ({language_name(code)})?" if code else plain
    return f'the language "{typed}" is not known; {meant}'


def offered_language(environ: Mapping[str, str]) -> str:
    """Returns the language of the user's environment if the built-in skills answer in it, else ""."""
    locale = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := environ.get(name))), "")
    language = re.split(r"[_.@-]", locale)[0].lower()
    return language if language in SKILL_LANGUAGES else ""


def _plain(name: str) -> str:
    """Returns a name in lower case and without accents."""
    decomposed = unicodedata.normalize("NFKD", name.strip().casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def _suggestion(plain: str) -> str:
    if len(plain) <= 3:
        return next((code for code in SKILL_LANGUAGES if plain.startswith(code)), "")
    names = difflib.get_close_matches(plain, _BY_NAME, n=1)
    return _BY_NAME[names[0]] if names else ""


_BY_NAME: Mapping[str, str] = MappingProxyType(
    {_plain(name): code for code, names in NAMES.items() for name in (names, *_OWN_NAMES.get(code, "").split())}
)
