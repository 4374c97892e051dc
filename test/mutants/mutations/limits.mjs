// Faults in limits and in what is told of them.

export const OF_LIMITS = [
  {
    name: 'own-rate-with-the-others-burst',
    says: 'a debt of the past is paid before it was made',
    caughtBy: ['src/lib/gcra.test.ts'],
    replacements: [
      {
        file: 'src/lib/gcra.ts',
        find: 'rate.reachedAt = Math.max(rate.reachedAt, ticks) + micros',
        put: 'rate.reachedAt += micros',
      },
    ],
  },
  {
    name: 'given-back-to-those-before',
    says: 'what a turn did not use is given back although it was earned back long ago',
    caughtBy: ['src/books/turn-limits.test.ts', 'src/turn/admit/limits-of-all-scopes.test.ts'],
    replacements: [{ file: 'src/lib/gcra.ts', find: 'Math.min(reachedAt, roomOfLater)', put: 'ticks' }],
  },
  {
    name: 'first-of-those-who-reserved-pays',
    says: 'what those who came later have given back is held against whoever came first',
    caughtBy: ['src/lib/gcra.test.ts', 'src/turn/admit/limits-of-all-scopes.test.ts'],
    replacements: [{ file: 'src/lib/gcra.ts', find: 'earlier.takenUpTo += reachedAt - rate.reachedAt', put: '' }],
  },
  {
    name: 'ipv6-by-address',
    says: 'each address of an IPv6 network has a rate of its own',
    caughtBy: ['src/limits/address-rates.test.ts'],
    replacements: [
      {
        file: 'src/limits/address-rates.ts',
        find: 'const network = networkOf(address)',
        put: 'const network = address',
      },
    ],
  },
  {
    name: 'loosest-limit-told',
    says: 'of several limits the one with most left is told',
    caughtBy: ['src/limits/limit-headers.test.ts'],
    replacements: [
      {
        file: 'src/limits/limit-headers.ts',
        find: 'standing.remaining < found.remaining',
        put: 'standing.remaining > found.remaining',
      },
    ],
  },
  {
    name: 'limit-shared-by-accounts',
    says: 'accounts share the limit of an account and a model',
    caughtBy: ['src/limits/limits-for-turn.test.ts'],
    replacements: [{ file: 'src/limits/limits-for-turn.ts', find: 'caller.account}:', put: 'caller.kind}:' }],
  },
  {
    name: 'refused-takes-from-limits',
    says: 'a turn that one limit refuses takes from the others',
    caughtBy: ['src/books/any-sequence.test.ts'],
    replacements: [
      {
        file: 'src/books/turn-limits.ts',
        find: "if (decision.kind === 'wait') wait(limit, decision.waitMs)",
        put: "if (decision.kind === 'wait') wait(limit, decision.waitMs)\n    else books.rates.set(limit.subject, { reachedAt: decision.reachedAt, taken: 0 })",
      },
    ],
  },
  {
    name: 'places-of-lost-holds',
    says: 'a hold that was lost keeps its place under a limit for ever',
    caughtBy: ['src/ledger/read-back.test.ts'],
    replacements: [
      { file: 'src/ledger/read-books.ts', find: ', running: countAllRunning(turns.values()) })', put: ' })' },
    ],
  },
]
