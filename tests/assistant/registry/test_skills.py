"""Skills that are installed as packages: they are asked, and broken ones harm no other."""

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.engines.scripted_engines import SequenceModel

from assistant.registry.skills import SKILLS, shared_skills, skills_in_order
from assistant.skills.answers import Asking, Reply, Said, SkillAnswer, SkillContext
from assistant.skills.chat import SkillsChat, SkillsFirst
from assistant.skills.dialog.memory import Confirm, Memory
from assistant.skills.installed import sentence_skills
from assistant.skills.kinds import SentenceSkill
from assistant.skills.languages.language import LANGUAGES, Language, ability_of, read_skill
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.skills import Skills
from assistant.skills.tables import SeparateSentences
from declarations.settings import NoSettings
from declarations.skill import Service, Skill
from llm.chat import ChatEvent, Message, Token

NOW = datetime(2026, 11, 20, 22, 43, tzinfo=UTC)
SENTENCES = """
can: hammer tin
answers: {sure: "Should I hammer?", done: "Hammered."}
intents:
  time: {data: [{sentences: [hammer the tin]}]}
  coin: {data: [{sentences: [is tin heavy], metadata: {answer: "It is not."}}]}
"""
Package = Callable[..., SeparateSentences]


def hammer(found: TemplateMatch, language: Language) -> Reply:
    def reply(_context: SkillContext) -> str | Asking:
        if "sure" in found.values:
            return language.say("done")
        return Asking(language.say("sure"), Confirm(replace(found, values={"sure": "yes"})))

    return reply


@pytest.fixture
def declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Skill]:
    """Returns what declares a skill of another package, with English sentences."""
    monkeypatch.syspath_prepend(tmp_path)

    def made(sentences: str = SENTENCES, *, before_llm: bool = True, needs: frozenset[Service] = frozenset()) -> Skill:
        name = f"tin_{tmp_path.name.replace('-', '_')}_{len(sys.modules)}"
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / "en.yaml").write_text(sentences)
        return Skill("tin", lambda _request: None, "", name, ("en", "it"), needs=needs, before_llm=before_llm)

    return made


@pytest.fixture
def package(declared: Callable[..., Skill]) -> Package:
    """Returns what makes such a skill, with one reply."""

    def made(sentences: str = SENTENCES, *, reply: object = hammer, **declaration: object) -> SeparateSentences:
        skill = SentenceSkill(declared(sentences, **declaration), {"tin": {"time": reply}})  # type: ignore[dict-item]
        return SeparateSentences(skill)

    return made


def loaded(skill: SeparateSentences) -> Skills:
    skills = Skills([skill])
    for code in ("en", "de"):
        skills.load(code)
    return skills


def ask(skills: Skills, said: str, **context: object) -> SkillAnswer | None:
    return skills.answer(said, SkillContext(NOW, **context))  # type: ignore[arg-type]


def answered(skills: Skills, said: str, **context: object) -> SkillAnswer:
    answer = ask(skills, said, **context)
    assert answer is not None
    return answer


# ---- the program's own ----


def test_skills_of_the_program_are_entry_points_without_sections() -> None:
    assert {"clock", "home", "lists", "timers", "weather"} <= set(SKILLS.names)
    assert SKILLS.broken() == ()
    assert SKILLS.of_other_packages() == ()
    assert all(skill.settings is NoSettings and skill.languages == LANGUAGES for skill in SKILLS.all())


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_intent_has_one_skill_with_a_reply_or_an_answer(code: str) -> None:
    intents: list[str] = []
    for skill in sentence_skills():
        own = read_skill(skill.declaration.package, code).get("intents", {})
        intents += own
        for intent, data in own.items():
            assert intent in skill.replies or all("answer" in block.get("metadata", {}) for block in data["data"]), (
                intent
            )
    assert len(intents) == len(set(intents))


@pytest.mark.parametrize("code", LANGUAGES)
def test_languages_name_the_same_abilities(code: str) -> None:
    for skill in SKILLS.all():
        assert bool(ability_of(skill.package, code)) == bool(ability_of(skill.package, "en")), skill.name
    assert sum(bool(ability_of(skill.package, code)) for skill in shared_skills()) == 8


# ---- of another package ----


def test_skill_of_another_package_answers_and_names_its_ability(package: Package) -> None:
    skills = loaded(package())
    assert ask(skills, "is tin heavy") == SkillAnswer("It is not.", "tin")
    assert "roll dice, and hammer tin." in answered(skills, "what can you do").text
    assert ask(skills, "is tin heavy", language="de") is None


def test_its_intents_are_not_mistaken_for_those_of_the_program(package: Package) -> None:
    skills = loaded(package())
    for said, name in (("what time is it", "time"), ("flip a coin", "chance")):
        assert answered(skills, said).skill == name


def test_its_question_is_answered_in_the_next_turn(package: Package) -> None:
    skills = loaded(package())
    asked = answered(skills, "Hammer the tin!")
    assert asked.text == "Should I hammer?"
    memory = Memory(question=asked.question, question_text=asked.question_text)
    assert answered(skills, "yes please", last_reply=asked.text, memory=memory).text == "Hammered."


def test_one_skill_object_may_be_used_twice(declared: Callable[..., Skill]) -> None:
    one = SentenceSkill(declared(), {"tin": {"time": hammer}})
    for skills in (loaded(SeparateSentences(one)), loaded(SeparateSentences(one))):
        assert answered(skills, "hammer the tin").text == "Should I hammer?"


@pytest.mark.parametrize(("needs", "is_answered"), [({"home"}, False), ({"weather"}, True)], ids=["home", "weather"])
def test_skill_that_needs_the_home_does_not_answer_telephone_callers(
    package: Package, needs: set[Service], *, is_answered: bool
) -> None:
    replied: list[str] = []

    def noted(found: TemplateMatch, language: Language) -> Reply:
        def reply(context: SkillContext) -> Said:
            replied.append("")
            return hammer(found, language)(context)

        return reply

    skills = loaded(package(reply=noted, needs=frozenset(needs)))
    asked = answered(skills, "hammer the tin")
    memory = Memory(question=asked.question, question_text=asked.question_text)
    assert ask(skills, "yes please", last_reply=asked.text, memory=memory) is not None
    replied.clear()
    assert (ask(skills, "hammer the tin", at_home=False) is not None) == is_answered
    answer = ask(skills, "yes please", at_home=False, last_reply=asked.text, memory=memory)
    assert (answer is not None) == is_answered
    assert bool(replied) == is_answered


def test_skills_of_the_program_are_asked_before_those_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Skill("tin", lambda _request: None, "", "tin", ("en",), order=-1)
    monkeypatch.setattr(SKILLS, "all", lambda: (first, *(SKILLS.get(name) for name in ("weather", "clock"))))
    assert [skill.name for skill in skills_in_order()] == ["clock", "weather", "tin"]


def test_skill_that_does_not_answer_before_the_model_answers_without_one(package: Package) -> None:
    async def first(chat: SkillsChat | SkillsFirst) -> str:
        events: list[ChatEvent] = [event async for event in chat.stream([Message("user", "is tin heavy")])]
        return "".join(event.text for event in events if isinstance(event, Token)).strip()

    skills = loaded(package(before_llm=False))
    assert asyncio.run(first(SkillsChat(skills, lambda: NOW))) == "It is not."
    assert asyncio.run(first(SkillsFirst(skills, SequenceModel(("Ask me.",)), lambda: NOW))) == "Ask me."


@pytest.mark.parametrize(
    "sentences",
    [
        "intents: {time: {data: [{sentences: ['hammer (the']}]}}",
        "intents: {time: {data: [{sentences: ['hammer {nothing}']}]}}",
        "intents: {time: {data: [{sentences: ['hammer [<nothing>]']}]}}",
        "intents: {time: {data: [{sentences: [hammer]}]}, more: {data: [{sentences: [more tin]}]}}",
        "intents: [",
        "",
        "answers: {}",
    ],
    ids=["template", "list", "rule", "no reply", "YAML", "empty", "no intents"],
)
def test_skill_whose_sentences_are_wrong_is_left_out(
    package: Package, sentences: str, caplog: pytest.LogCaptureFixture
) -> None:
    skills = loaded(package(sentences))
    assert "the skill tin is not asked any more" in caplog.text
    assert ask(skills, "hammer") is None
    assert ask(skills, "flip a coin") is not None


def test_skill_that_fails_is_not_asked_again(package: Package, caplog: pytest.LogCaptureFixture) -> None:
    def fails(_found: TemplateMatch, _language: Language) -> Reply:
        def reply(_context: SkillContext) -> str:
            raise RuntimeError("said: hammer the tin")

        return reply

    caplog.set_level(logging.WARNING)
    skills = loaded(package(reply=fails))
    assert ask(skills, "hammer the tin") is None
    assert "RuntimeError" in caplog.text
    assert "hammer the tin" not in caplog.text
    assert ask(skills, "is tin heavy") is None
    assert ask(skills, "flip a coin") is not None


BROKEN = {
    "imports": "import nothing_of_this_name",
    "none": "SKILL = 3",
    "raises": "SKILL = Skill('raises', lambda request: 1 / 0, '', 'tin_sentences', ('en',))",
    "other": "SKILL = Skill('other', lambda request: 3, '', 'tin_sentences', ('en',))",
    "lost": "SKILL = Skill('lost', lambda request: SentenceSkill(SKILL, {}), '', 'tin_sentences', ('en',))",
}


def test_broken_packages_are_named_and_harm_no_other(tmp_path: Path) -> None:
    for name, text in BROKEN.items():
        head = "from declarations.skill import Skill\nfrom assistant.skills.kinds import SentenceSkill\n"
        (tmp_path / f"tin_{name}.py").write_text(head + text)
        info = tmp_path / f"tin_{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tin_{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[repartee.skills]\n{name} = tin_{name}:SKILL\n")
    program = (
        "from assistant.config.settings import Settings\n"
        "from assistant.registry.installed import broken_engines\n"
        "from assistant.setup.answering.services import check_skills, service_skills\n"
        "from assistant.skills.skills import Skills\n"
        "skills = Skills(service_skills(Settings(), {}))\n"
        "skills.load('en')\n"
        "check_skills(Settings(), {})\n"
        "print(skills.match('flip a coin').skill, sorted(one.name for one in broken_engines()))"
    )
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    assert ran.stdout == f"chance {sorted(BROKEN)}\n"


def test_settings_are_read_without_the_skills_of_the_program() -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from assistant.config.loading import load_settings\n"
        "load_settings(Path('config.toml'), {}, [])\n"
        "print('assistant.skills' in sys.modules)"
    )
    root = Path(__file__).parents[3]
    ran = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
