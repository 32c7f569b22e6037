/** The events of the server that concern the session, and the error codes and problems that it knows. */

import { fromBase64 } from "../audio/pcm.js";
import { noticeText, text } from "../texts/texts.js";

/** Problems about a missing connection; one is shown at a time. */
export const CONNECTION_PROBLEMS = ["lost", "full", "overloaded", "loading", "restarting"];

/** Error code for a committed turn without audio. */
export const COMMIT_EMPTY = "input_audio_buffer_commit_empty";

/** Error code if another reply is in progress. */
export const ACTIVE_RESPONSE = "conversation_already_has_active_response";

/** Errors of cancelling a reply that has just ended by itself, and of deleting one that is not in the history; not shown to the user. */
export const IGNORED_ERRORS = new Set(["response_cancel_not_active", "item_delete_invalid_item_id"]);

/** What the session does on each event of the server. @type {Record<string, (client: import("./realtime-session.js").RealtimeSession, event: object) => void>} */
export const SERVER_EVENTS = {
  "session.created": (client, { session }) => client._sessionCreated(session),
  "session.updated": (client, { session }) => client._sessionUpdated(session),
  "input_audio_buffer.speech_started": (client) => client._speechStarted(),
  "input_audio_buffer.speech_stopped": (client, { audio_end_ms, repartee }) => {
    client._userSpeaking = false;
    client._awaitingReply = true;
    client.turns.speechEnded(audio_end_ms, repartee.inserted_ms);
  },
  "input_audio_buffer.committed": (client, { repartee }) => {
    if (repartee) client.turns.speechEnded(repartee.audio_end_ms, repartee.inserted_ms, client.pushToTalk.enabled ? client._releasedS : null); // a turn that this page ended
  },
  "repartee.nothing_said": (client, event) => {
    client._userSpeaking = client._awaitingReply = false;
    client.turns.expectUntimedReply();
    if (event.why === "called") client.wake.called();
    if (!client.pushToTalk.enabled) return;
    client._requestIsEmpty = client._replyRequested; // the requested reply has nothing to answer
    client._emit("notice", text("notice.no_words"));
  },
  "response.created": (client, { response }) => client._responseCreated(response.id),
  "response.output_text.delta": (client, { response_id }) => client._textArrived(response_id),
  "response.output_audio.delta": (client, { response_id, delta }) => client._playAudio(response_id, delta),
  "response.output_audio.done": (client, { response_id }) => client.audio.output.end(response_id),
  "response.done": (client, { response }) => client._responseDone(response),
  "conversation.item.truncated": (client, { item_id }) => client.interruption.truncated(item_id),
  "output_audio_buffer.cleared": (client) => client.interruption.stop(),
  "repartee.duck": (client) => client.interruption.duck(true),
  "repartee.unduck": (client) => client.interruption.duck(false),
  "repartee.listening_sound": (client, { audio }) => client.audio.output.playSound(fromBase64(audio)),
  "repartee.listening_sound_stopped": (client) => client.audio.output.stopSound(),
  "repartee.lists": (client, { lists }) => client._emit("lists", lists),
  "repartee.timers": (client, { timers }) => client._emit("timers", timers),
  "repartee.trace": (client, event) => client._addTrace(event),
  "repartee.choices": (client, { pending }) => (client._pendingChoices = new Set(pending)),
  "repartee.conversation": (client, event) => client._conversationKept(event),
  "repartee.notice": (client, notice) => (notice.language ? client._emit("other-language", notice.language) : client._emit("notice", noticeText(notice))),
  "error": (client, { error }) => client._handleError(error),
};
