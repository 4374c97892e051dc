// Faults in what is kept for later, and in how it is found again.

export const OF_WHAT_IS_KEPT = [
  {
    name: 'damaged-is-given',
    says: 'a kept answer that cannot be opened is given as it lies there',
    caughtBy: ['src/db/content/kept-answers.test.ts'],
    replacements: [
      {
        file: 'src/db/content/kept-answers.ts',
        find: '(await openBytes(keyFor(key, requestId), requestId, sealed))',
        put: '((await openBytes(keyFor(key, requestId), requestId, sealed)) ?? sealed)',
      },
    ],
  },
  {
    name: 'expired-is-shown',
    says: 'a deleted or expired response is still shown',
    caughtBy: ['src/db/content/stored-responses.test.ts'],
    replacements: [
      {
        file: 'src/db/content/response-rows.ts',
        find: 'account = ? AND id = ? AND expires_at > ? AND',
        put: 'account = ? AND id = ? AND ? > 0 AND',
      },
    ],
  },
  {
    name: 'answers-of-others',
    says: 'a kept answer is given to another account',
    caughtBy: ['src/db/content/kept-answers.test.ts'],
    replacements: [{ file: 'src/db/content/kept-answers.ts', find: ' || head.account !== account', put: '' }],
  },
  {
    name: 'a-log-is-as-good',
    says: 'the log of a stream is given again for the stream, though other bytes were sent between its frames',
    caughtBy: ['src/db/content/event-log.test.ts'],
    replacements: [
      {
        file: 'src/db/content/event-log.ts',
        find: 'DONE_FRAME.length) === stream.length',
        put: 'DONE_FRAME.length) <= stream.length',
      },
    ],
  },
  {
    name: 'content-of-any-ledger',
    says: 'content.db is used whatever ledger it belongs to, and however far that had got',
    caughtBy: ['src/app/open-content.test.ts'],
    replacements: [
      {
        file: 'src/app/open-content.ts',
        find: `    if (of.ledger !== ledger) return 'other-ledger'\n    return (await ofLedger(hasReached(db, of.mark))) ? of.mark : 'ahead'`,
        put: '    return of.mark',
      },
    ],
  },
  {
    name: 'journal-of-any-ledger',
    says: 'the ends that another ledger has written down are taken for this one',
    caughtBy: ['src/db/settle-journal.test.ts'],
    replacements: [
      {
        file: 'src/db/settle-journal.ts',
        find: `if (read.ledger !== undefined && read.ledger !== ledger) return await replace('other-ledger')`,
        put: '',
      },
    ],
  },
  {
    name: 'paths-share-keys',
    says: 'an idempotency key of one endpoint is that of another',
    caughtBy: ['src/gateway/idempotency.request-digests.test.ts'],
    replacements: [
      {
        file: 'src/gateway/idempotency.ts',
        find: 'scopeOf: ({ key, method, path, idempotencyKey }) =>',
        put: `scopeOf: ({ key, method, idempotencyKey }, path = '') =>`,
      },
    ],
  },
  {
    name: 'first-slice-is-all',
    says: 'of a long body only the beginning is compared',
    caughtBy: ['src/gateway/idempotency.request-digests.test.ts'],
    replacements: [
      {
        file: 'src/gateway/idempotency.ts',
        find: `        if (at > 0) await immediate()\n`,
        put: `        if (at > 0) break\n`,
      },
    ],
  },
  {
    name: 'quotes-are-letters',
    says: 'a key in quotes is another one than the bare key',
    caughtBy: ['src/gateway/idempotency.read-idempotency-key.test.ts'],
    replacements: [
      {
        file: 'src/gateway/idempotency.ts',
        find: `text.startsWith('"') ? QUOTED`,
        put: `text.startsWith('""') ? QUOTED`,
      },
    ],
  },
]
