/** The events of the server that concern the session, and the error codes and problems that it knows. */

import { fromBase64 } from "../audio/pcm.js";
import { noticeText } from "../texts/texts.js";

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
  "session.created": (client, { session }) => client.sessionCreated(session),
  "session.updated": (client, { session }) => client.sessionUpdated(session),
  "input_audio_buffer.speech_started": (client) => client.speechStarted(),
  "input_audio_buffer.speech_stopped": (client, { audio_end_ms, repartee }) => client.speechStopped(audio_end_ms, repartee.inserted_ms),
  "input_audio_buffer.committed": (client, { repartee }) => repartee && client.turnCommitted(repartee.audio_end_ms, repartee.inserted_ms),
  "repartee.nothing_said": (client, { why }) => client.nothingSaid(why),
  "response.created": (client, { response }) => client.responseCreated(response.id),
  "response.output_text.delta": (client, { response_id }) => client.textArrived(response_id),
  "response.output_audio.delta": (client, { response_id, delta }) => client.playAudio(response_id, delta),
  "response.output_audio.done": (client, { response_id }) => client.audio.output.end(response_id),
  "response.done": (client, { response }) => client.responseDone(response),
  "conversation.item.truncated": (client, { item_id }) => client.interruption.truncated(item_id),
  "output_audio_buffer.cleared": (client) => client.interruption.stop(),
  "repartee.duck": (client) => client.interruption.duck(true),
  "repartee.unduck": (client) => client.interruption.duck(false),
  "repartee.listening_sound": (client, { audio }) => client.audio.output.playSound(fromBase64(audio)),
  "repartee.listening_sound_stopped": (client) => client.audio.output.stopSound(),
  "repartee.language": (client, { language }) => client.emit("spoken-language", (client.spokenLanguage = language)),
  "repartee.lists": (client, { lists }) => client.emit("lists", lists),
  "repartee.announcement": (client, { response_id }) => client.wake.announced(response_id),
  "repartee.wake_word": (client) => client.wakeWordHeard(),
  "repartee.wake_word.yielded": (client) => client.wakeWordYielded(),
  "repartee.timers": (client, { timers }) => client.emit("timers", timers),
  "repartee.trace": (client, event) => client.addTrace(event),
  "repartee.choices": (client, { pending }) => client.choicesPending(pending),
  "repartee.conversation": (client, event) => client.conversationKept(event),
  "repartee.notice": (client, notice) => (notice.language ? client.emit("other-language", notice.language) : client.emit("notice", noticeText(notice))),
  "error": (client, { error }) => client.handleError(error),
};
