// Faults in what becomes of a turn whose client goes.

export const OF_TURNS = [
  {
    name: 'reasoning-is-cut',
    says: 'a provider that may be reasoning unseen is cut when the client goes',
    caughtBy: ['src/turn/turn-stop.test.ts'],
    replacements: [
      {
        file: 'src/turn/turn-stop.ts',
        find: `dialect.hidesReasoning && mayReason(asked.model, asked.effort) ? 'drain' : 'cut'`,
        put: `'cut'`,
      },
    ],
  },
  {
    name: 'cancel-costs',
    says: 'a hang-up before the provider has accepted the request costs',
    caughtBy: ['src/turn/end/resolve-ending.test.ts'],
    replacements: [
      { file: 'src/turn/end/resolve-ending.ts', find: `if (!fate.accepted) return free(outcome)\n`, put: '' },
    ],
  },
  {
    name: 'endless-drains',
    says: 'any number of answers is read on without their clients',
    caughtBy: ['src/turn/turn-stop.test.ts'],
    replacements: [
      { file: 'src/turn/drains.ts', find: `      if (running >= bounds.atOnceMax) return undefined\n`, put: '' },
    ],
  },
]
