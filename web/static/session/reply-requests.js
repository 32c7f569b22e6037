/** Replies that the user requests. While a requested one has not begun, the server rejects another: it is requested after that. */

export class ReplyRequests {
  constructor() {
    /** @type {number | null} context time at which the text of the latest request was entered; null: it was spoken */
    this.typedS = null;
    this.clear();
  }

  /** Forgets the requests. */
  clear() {
    this._waits = false; // a requested reply has not begun
    this._isEmpty = false; // the turn that it was to answer has no words
    this._again = false; // another must be requested when it has begun
  }

  /** Notes a request. @param {number | null} typedS see the attribute @returns {boolean} whether it may be sent now */
  addRequest(typedS) {
    this.typedS = typedS;
    this._again = this._waits;
    return !this._waits;
  }

  /** @param {boolean} sent whether the connection took the request */
  setSent(sent) {
    this.clear();
    this._waits = sent;
  }

  /** The turn has no words: the requested reply has nothing to answer. */
  turnIsEmpty() {
    this._isEmpty = this._waits;
  }

  /**
   * A reply has begun. It is unwanted if the user speaks again or has typed more, so that the next one answers everything, or if there is nothing to answer.
   * @param {boolean} keyDown whether the push-to-talk key is held
   * @returns {{unwanted: boolean, again: boolean}} again: whether another must be requested now
   */
  replyBegan(keyDown) {
    const again = this._again && !keyDown;
    const unwanted = this._waits && (keyDown || this._isEmpty || again);
    this.clear();
    return { unwanted, again };
  }
}
