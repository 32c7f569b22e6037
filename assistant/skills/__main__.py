"""Writes `understood.txt`, the sentences that the skills understand. Run it after a change of the templates."""

from pathlib import Path

from assistant.skills.skills import UNDERSTOOD, Skills

if __name__ == "__main__":
    skills = Skills()
    skills.load()
    Path(__file__).with_name(UNDERSTOOD).write_text("".join(f"{line}\n" for line in skills.sample()), encoding="utf-8")
