// Faults in what becomes of a turn whose client goes.

const TURN = 'src/gateway/money-of-a-turn.test.ts'

export const OF_TURNS = [
  {
    name: 'rights-of-the-door',
    says: 'the rights of a caller are not judged again when its body has arrived',
    caughtBy: [TURN],
    replacements: [
      {
        file: 'src/gateway/serve-turn.ts',
        find: 'const found = callers.findAgain(input.caller)',
        put: "const found = { kind: 'caller', caller: input.caller }",
      },
    ],
  },
  {
    name: 'rights-change-unnoticed',
    says: 'a change of rights between their judgement and the decision goes unnoticed',
    caughtBy: ['src/ledger/admit.test.ts'],
    replacements: [
      { file: 'src/ledger/admit.ts', find: 'check.callers.changes !== check.changesBefore', put: 'false' },
    ],
  },
  {
    name: 'a-cancel-is-no-cancel',
    says: 'a provider works on for a client that has gone',
    caughtBy: ['src/gateway/cancellation.test.ts'],
    replacements: [
      {
        file: 'src/gateway/cancellation.ts',
        find: `if (this.disconnectPolicy === 'drain')`,
        put: `if (this.disconnectPolicy === 'cancel_estimate' || this.disconnectPolicy === 'drain')`,
      },
    ],
  },
  {
    name: 'drains-of-one-account',
    says: 'one account may take every place to drain',
    caughtBy: ['src/gateway/cancellation.drains.test.ts'],
    replacements: [
      { file: 'src/gateway/cancellation.ts', find: `    if (own >= perAccountMax) return false\n`, put: '' },
    ],
  },
  {
    name: 'drains-stay-where-they-are',
    says: 'when every place to drain is taken, no other turn gets one',
    caughtBy: ['src/gateway/cancellation.drains.test.ts'],
    replacements: [
      {
        file: 'src/gateway/cancellation.ts',
        find: 'if (most === undefined || most.size < own + 2) return false',
        put: 'if (most !== undefined) return false',
      },
    ],
  },
  {
    name: 'cancel-costs',
    says: 'a hang-up before the provider has accepted the request costs',
    caughtBy: ['src/gateway/ending.test.ts'],
    replacements: [
      {
        file: 'src/gateway/ending.ts',
        find: `if (!result.accepted && !providerHadStarted(result, bounds)) return free(outcome)\n`,
        put: '',
      },
    ],
  },
  {
    name: 'endless-drains',
    says: 'any number of answers is read on without their clients',
    caughtBy: ['src/gateway/cancellation.drains.test.ts'],
    replacements: [
      {
        file: 'src/gateway/cancellation.ts',
        find: '    if (running < bounds.atOnceMax) return true',
        put: '    if (running >= 0) return true',
      },
    ],
  },
]
