/** The endings as `docs/operate/charges.md` calls them: a test keeps both lists equal. */
export const ROWS = {
  complete: 'The answer is complete',
  uncounted: 'The answer is complete, but the provider reported no usage, or an impossible one',
  tooMuch: 'The answer is complete, but the provider counted more than any model can read, or more output than the cap',
  beyondHold: 'The answer is complete, and the provider counted more input than the hold covers',
  countsMissing: 'The provider broke off after the finish reason and before its usage',
  failover: 'A provider failed before any content, and another lane answered',
  notStored: 'The response of a stored stream could not be written (the client gets 503)',
  rejected: 'The provider refused the request',
  failed: 'The provider failed before any content, on every lane',
  noSummary: 'Compaction failed: no lane produced a summary',
  brokeOff: 'The provider broke off after content was sent',
  changed: 'The key, account or plan changed, or a window ended, during the answer',
  disconnectedWithKey: 'The client of a request with an `Idempotency-Key` disconnected',
  disconnectedInBackground: 'The client of a response in the background disconnected',
  cancelled: 'A response in the background was cancelled',
  isReplayable: 'An answer was replayed for an `Idempotency-Key`',
  disconnectedEarly: 'The client disconnected before the provider accepted the request',
  disconnectedLater: 'The client disconnected later',
  disconnectedAtEnd: 'The client disconnected after the finish reason',
  drainedEarly:
    'The drain timeout passed before the response head was sent (the client gets 503), or before the provider accepted the request',
  drainedLater: 'The drain timeout passed later',
  outageEarly:
    'The ledger could not be written for 30 s, before the response head was sent or before the provider accepted the request',
  outageLater: 'The ledger could not be written for 30 s, later: the stream ends with `ledger_unavailable`',
  diedKept:
    'The process died after the whole answer was kept, for an `Idempotency-Key` or as a stored streamed response',
  diedCharged: 'The process died after the charge was recorded and before the end was sent',
  diedInside: 'The process died during the answer',
  refused: 'Refused before it began (any 4xx from Millrace, or 503)',
  notHeld: 'The hold did not become durable, or the process died before; nothing was delivered',
} as const
