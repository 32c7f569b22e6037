"""The conversation entity: pick it as the conversation agent of an assistant."""

from collections.abc import AsyncGenerator
from typing import Any

from homeassistant.components import conversation
from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers import intent
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.helpers.translation import async_get_translations

from . import ReparteeConfigEntry
from .agent import Agent
from .connection import Question
from .const import DOMAIN, LOGGER
from .home import room_of
from .server import ServerError

_QUESTION_MARKS = ("?", "？", ";")
"""Ends of a question, as Home Assistant knows them."""


async def async_setup_entry(
    hass: HomeAssistant, entry: ReparteeConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Adds the entity."""
    async_add_entities([ReparteeConversationEntity(entry)])


class ReparteeConversationEntity(conversation.ConversationEntity):
    """Answers with Repartee."""

    _attr_has_entity_name = True
    _attr_name = None
    _attr_supported_features = conversation.ConversationEntityFeature.CONTROL
    _attr_supports_streaming = True  # Home Assistant 2025.4 does not read it yet

    def __init__(self, entry: ReparteeConfigEntry) -> None:
        self._entry = entry
        self._attr_unique_id = entry.entry_id
        self._attr_device_info = dr.DeviceInfo(
            identifiers={(DOMAIN, entry.entry_id)},
            name=entry.title,
            manufacturer="Repartee",
            entry_type=dr.DeviceEntryType.SERVICE,
        )

    @property
    def supported_languages(self) -> list[str]:
        """The languages that the server offers."""
        return list(self._agent.offer.languages)

    @property
    def _agent(self) -> Agent:
        return self._entry.runtime_data

    async def _async_handle_message(
        self, user_input: conversation.ConversationInput, chat_log: conversation.ChatLog
    ) -> conversation.ConversationResult:
        """Streams the answer into the chat log. A fault is a sentence in the user's language."""
        response = intent.IntentResponse(language=user_input.language)
        try:
            async for _ in chat_log.async_add_delta_content_stream(
                user_input.agent_id, self._deltas(user_input, chat_log)
            ):
                pass
        except ServerError as error:
            LOGGER.warning("no answer: %s", error)
            if error.key == "invalid_auth":
                self._entry.async_start_reauth(self.hass)
            response.async_set_error(
                intent.IntentResponseErrorCode.FAILED_TO_HANDLE, await self._sentence(error, user_input.language)
            )
            return conversation.ConversationResult(response, chat_log.conversation_id)
        text = _text_of(chat_log.content[-1])
        response.async_set_speech(text)
        return conversation.ConversationResult(
            response, chat_log.conversation_id, continue_conversation=text.endswith(_QUESTION_MARKS)
        )

    async def _deltas(
        self, user_input: conversation.ConversationInput, chat_log: conversation.ChatLog
    ) -> AsyncGenerator[conversation.AssistantContentDeltaDict]:
        """Yields the answer in Home Assistant's form. Raises ServerError, also for an empty answer."""
        question = Question(
            user_input.text,
            self._agent.language_of(user_input.language),
            room_of(self.hass, user_input.device_id),
            user_input.device_id,
            user_input.context,
            [(content.role, text) for content in chat_log.content[:-1] if (text := _text_of(content))],
        )
        yield {"role": "assistant"}
        blanks, any_text = "", False
        async for part in self._agent.ask(chat_log.conversation_id, question):
            text = blanks + part if any_text else part.lstrip()
            kept = text.rstrip()
            blanks = text[len(kept) :]  # an answer ends with a line end, which is not spoken
            if kept:
                any_text = True
                yield {"content": kept}
        if not any_text:
            raise ServerError("failed", self._agent.server.url)

    async def _sentence(self, error: ServerError, language: str) -> str:
        texts = await async_get_translations(self.hass, language.partition("-")[0], "exceptions", {DOMAIN})
        text = texts.get(f"component.{DOMAIN}.exceptions.{error.key}.message", str(error))
        return text.replace("{address}", error.address)


def _text_of(content: Any) -> str:
    """Returns the text of a message of the user or the assistant; "" for any other."""
    is_message = content.role in {"user", "assistant"}
    return content.content if is_message and isinstance(content.content, str) else ""
