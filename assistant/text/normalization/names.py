"""Normalizes technical names: files, hosts, e-mail addresses, hashtags and handles."""

import re

from assistant.text.normalization.lexicon import Lexicon
from assistant.text.normalization.rule import Rule

_EXTENSIONS = (
    "toml|yaml|yml|json|py|md|txt|csv|html|htm|css|js|ts|tsx|jsx|sh|cfg|ini|xml|pdf|png|jpg|jpeg|gif|svg|mp3|mp4|wav|"
    "zip|gz|tar|exe|dll|log|rs|go|cpp|hpp|java|rb|php|sql|lock|docx|xlsx|pptx|ipynb|onnx|conf|env|bat|webp|flac|ogg"
)
_DOMAINS = "com|org|net|edu|gov|io|ai|dev|app|co|uk|de|fr|es|eu|ch|at|info|us|ca|nl|be|jp|tv|me|wiki|news|tech"
_HIDDEN = "env|gitignore|gitattributes|bashrc|zshrc|dockerignore|editorconfig|vimrc|profile|NET"
_SHARPS = {"C#": "C sharp", "F#": "F sharp", "C++": "C plus plus", "g++": "g plus plus"}
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,40}[A-Za-z0-9])?"


def rules(lexicon: Lexicon) -> tuple[Rule, ...]:
    """Returns the rules: e-mail addresses before hosts before files, because each contains the next."""

    def dotted(name: str) -> str:
        return name.replace(".", f" {lexicon.dot} ")

    def mail(match: re.Match[str]) -> str:
        local = dotted(match[1]).replace("_", f" {lexicon.underscore} ").replace("+", " plus ")
        return f"{local.replace('-', f' {lexicon.dash} ')} {lexicon.at} {dotted(match[2])}"

    def host(match: re.Match[str]) -> str:
        path = [part for part in (match[2] or "").split("/") if part]
        return f" {lexicon.slash} ".join([dotted(match[1]), *(dotted(part) for part in path)])

    def file(match: re.Match[str]) -> str:
        return dotted(match[1].replace("_", " ").strip() or match[1]) + f" {lexicon.dot} {match[2]}"

    def hidden(match: re.Match[str]) -> str:
        return f"{lexicon.dot} {match[1]}"

    def hashtag(match: re.Match[str]) -> str:
        return f"{lexicon.hashtag} {match[1]}"

    def handle(match: re.Match[str]) -> str:
        return f"{lexicon.at} {match[1]}"

    def number(match: re.Match[str]) -> str:
        return f"{lexicon.number} {match[1]}"

    def sharp(match: re.Match[str]) -> str:
        return _SHARPS[match[0]]

    path = r"((?:/[A-Za-z0-9-]{1,30}){1,4}/?)?"
    names = "|".join(re.escape(name) for name in _SHARPS)
    return (
        Rule(
            frozenset("@"),
            re.compile(
                rf"(?<![\w.+-])([\w+-]{{1,40}}(?:\.[\w+-]{{1,40}}){{0,3}})"
                rf"@({_LABEL}(?:\.{_LABEL}){{1,3}})(?!\w)"
            ),
            mail,
        ),
        Rule(
            frozenset("."),
            re.compile(
                rf"(?<![\w.@/-])(?:https?://)?((?:{_LABEL}\.){{1,4}}(?:{_DOMAINS}))"
                rf"{path}(?![\w@/]|[.-]\w)"
            ),
            host,
        ),
        Rule(
            frozenset("."),
            re.compile(
                rf"(?<![\w./@-])(\w[\w-]{{0,40}}(?:\.[A-Za-z][\w-]{{0,20}}){{0,2}})"
                rf"\.({_EXTENSIONS})(?![\w/]|[.-]\w)"
            ),
            file,
        ),
        Rule(frozenset("."), re.compile(rf"(?<![^\s(“\"])\.({_HIDDEN})(?!\w)"), hidden),
        Rule(frozenset("#+"), re.compile(rf"(?<!\w)(?:{names})(?![\w#+])"), sharp),
        Rule(frozenset("#"), re.compile(r"(?<![\w#&])#(\d{1,6})(?![\w-])"), number),
        Rule(frozenset("#"), re.compile(r"(?<![\w#&/])#([^\W\d_]\w{1,40})"), hashtag),
        Rule(frozenset("@"), re.compile(r"(?<![\w@/])@([A-Za-z]\w{1,30})(?![\w@]|\.\w)"), handle),
    )
