"""The keys that most users change, if any. They stand first wherever settings are shown."""

EVERYDAY_KEYS = (
    "assistant.language",
    "assistant.instructions",
    "assistant.greeting",
    "turn.profile",
    "stt.model",
    "stt.hot_words",
    "tts.voice",
    "tts.speed",
    "tts.lexicon",
    "llm.local_model",
    "skills.before_llm",
    "home.url",
    "weather.enabled",
    "audio.input",
    "audio.output",
    "audio.echo",
    "talk.mode",
    "server.host",
    "trace.dir",
    "trace.words",
)
