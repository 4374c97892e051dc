// Faults in limits and in what is told of them.

export const OF_LIMITS = [
  {
    name: 'forward-steps-are-followed-at-once',
    says: 'ledger time follows a wall clock that jumps, without waiting until the step has held',
    caughtBy: ['src/lib/clock.steady-clock.test.ts'],
    replacements: [
      { file: 'src/lib/clock.ts', find: 'seenMicros - step.sinceMicros >= HOLD_MICROS', put: 'seenMicros > 0' },
      {
        file: 'src/lib/clock.ts',
        find: '      step = { sinceMicros: seenMicros, aheadMicros }\n',
        put: '      step = { sinceMicros: seenMicros, aheadMicros }\n      followStep()\n',
      },
    ],
  },
  {
    name: 'own-rate-with-the-others-burst',
    says: 'a debt of the past is paid before it was made',
    caughtBy: ['src/lib/rate-limit.gcra.test.ts'],
    replacements: [
      {
        file: 'src/lib/rate-limit.ts',
        find: 'Math.max(nowMicros, Math.max(reachedAt, nowMicros) + cost',
        put: 'Math.max(nowMicros, reachedAt + cost',
      },
    ],
  },
  {
    name: 'ipv6-by-address',
    says: 'each address of an IPv6 network has a rate of its own',
    caughtBy: ['src/limits/limits.address-limiter.test.ts'],
    replacements: [
      {
        file: 'src/limits/limits.ts',
        find: 'const network = networkOf(address)',
        put: 'const network = address',
      },
    ],
  },
  {
    name: 'loosest-limit-told',
    says: 'of several limits the one with most left is told',
    caughtBy: ['src/limits/limits.limit-headers.test.ts'],
    replacements: [
      {
        file: 'src/limits/limits.ts',
        find: 'status.remaining < found.remaining',
        put: 'status.remaining > found.remaining',
      },
    ],
  },
  {
    name: 'limit-shared-by-accounts',
    says: 'accounts share the limit of an account and a model',
    caughtBy: ['src/limits/limits.limits-for-turn.test.ts'],
    replacements: [{ file: 'src/limits/limits.ts', find: 'caller.account}:', put: 'caller.kind}:' }],
  },
  {
    name: 'refused-takes-from-limits',
    says: 'a turn that one limit refuses takes from the others',
    caughtBy: ['src/ledger/state/any-sequence.test.ts'],
    replacements: [
      {
        file: 'src/ledger/state/turn-limits.ts',
        find: "if (decision.kind === 'wait') retryAfterMs = decision.waitMs",
        put: "if (decision.kind === 'wait') retryAfterMs = decision.waitMs\n      else ledgerState.rateLimits.set(limit.subject, decision.reachedAt)",
      },
    ],
  },
  {
    name: 'unused-tokens-saved-up',
    says: 'what a turn did not use comes back to before now, and is let through on top of the burst',
    caughtBy: ['src/lib/rate-limit.gcra.test.ts'],
    replacements: [
      {
        file: 'src/lib/rate-limit.ts',
        find: 'Math.max(nowMicros, Math.max(reachedAt, nowMicros) + cost * (MINUTE_MICROS / rule.perMinute))',
        put: 'Math.max(reachedAt, nowMicros) + cost * (MINUTE_MICROS / rule.perMinute)',
      },
    ],
  },
  {
    name: 'places-of-lost-holds',
    says: 'a hold that was lost keeps its place under a limit for ever',
    caughtBy: ['src/ledger/recovery.test.ts'],
    replacements: [
      { file: 'src/ledger/recovery.ts', find: ', running: countAllRunning(turns.values()) })', put: ' })' },
    ],
  },
]
