/** The endings as `docs/operate/charges.md` calls them: a test keeps both lists equal. */
export const ROWS = {
  complete: 'The answer is complete',
  uncounted: 'The answer is complete, and the provider told no counts, or none that can be true',
  tooMuch: 'The answer is complete, and the provider counted more than any model can read, or more output than the cap',
  beyondHold: 'The answer is complete, and the provider counted more input than was held for',
  countsMissing: 'The provider broke off after it had said why the answer ended, before its counts came',
  failover: 'A provider failed before any content, and another lane gave the answer',
  notStored: 'The response of a stream that is to be stored could not be (the client gets 503)',
  rejected: 'The provider refused the request',
  failed: 'The provider failed before any content, on every lane',
  noSummary: 'A conversation was to be made short, and no lane gave a summary',
  brokeOff: 'The provider broke off after content had gone out',
  changed: 'The key, the account or the plan was changed, or a window ended, while the answer was running',
  disconnectedWithKey: 'The client hung up, and had sent an `Idempotency-Key`',
  givenAgain: 'An answer was given again for an `Idempotency-Key`',
  disconnectedEarly: 'The client hung up before the provider accepted the request',
  disconnectedLater: 'The client hung up later',
  disconnectedAtEnd: 'The client hung up after the provider had said why the answer ended',
  drainedEarly:
    'The time to drain ran out before the head of the answer had gone (the client gets 503), or before the provider accepted the request',
  drainedLater: 'The time to drain ran out later',
  outageEarly:
    'The books could not be written for 30 s, before the head of the answer had gone or before the provider accepted the request',
  outageLater: 'The books could not be written for 30 s later: the stream is ended with `ledger_unavailable`',
  diedKept:
    'The process died when the whole answer was kept, for an `Idempotency-Key` or as the stored response of a stream',
  diedCharged: 'The process died when the charge was recorded and the end had not gone out',
  diedInside: 'The process died in mid-answer',
  refused: 'Refused before it began (any 4xx of this server’s own, or 503)',
  notHeld: 'The hold could not be made durable, or the process died before it was; nothing was delivered',
} as const
