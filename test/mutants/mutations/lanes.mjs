// Faults in the choice of a lane: which is asked, how often, and for how long it is left alone.

export const OF_LANES = [
  {
    name: 'higher-number-first',
    says: 'lanes of lower priority are tried first',
    caughtBy: ['src/routing/plan-lanes.test.ts'],
    replacements: [
      {
        file: 'src/routing/plan-lanes.ts',
        find: 'a.lane.priority - b.lane.priority',
        put: 'b.lane.priority - a.lane.priority',
      },
    ],
  },
  {
    name: 'conversation-leaves-its-lane',
    says: 'the lane that a conversation is on is not tried first',
    caughtBy: ['src/routing/plan-lanes.test.ts'],
    replacements: [
      {
        file: 'src/routing/plan-lanes.ts',
        find: 'lane.origin === origin ? 0 : 1',
        put: 'lane.origin === origin ? 1 : 0',
      },
    ],
  },
  {
    name: 'tool-order-is-not-told',
    says: 'a receipt takes tools in another order for other tools',
    caughtBy: ['src/routing/prefix-guard.test.ts'],
    replacements: [
      { file: 'src/routing/prefix-guard.ts', find: 'before.toolSet === fingerprint.toolSet', put: 'false' },
    ],
  },
  {
    name: 'client-is-blamed-for-us',
    says: 'what we have written differently is put down to the client',
    caughtBy: ['src/routing/prefix-guard.test.ts'],
    replacements: [
      {
        file: 'src/routing/prefix-guard.ts',
        find: "isShorter ? 'client' : 'gateway'",
        put: "isShorter ? 'gateway' : 'client'",
      },
    ],
  },
  {
    name: 'grown-message-breaks-a-prefix',
    says: 'a message that has grown is named as a break',
    caughtBy: ['src/routing/prefix-guard.test.ts', 'src/gateway/stable-prefixes.test.ts'],
    replacements: [
      {
        file: 'src/protocols/prompt-fingerprint.ts',
        find: 'at === before.messages.length - 1 &&',
        put: 'at === before.messages.length &&',
      },
    ],
  },
  {
    name: 'many-try-at-once',
    says: 'a lane that comes back is tried by all who ask, not by one',
    caughtBy: ['src/routing/circuit-breaker.test.ts'],
    replacements: [
      {
        file: 'src/routing/circuit-breaker.ts',
        find: `this.#now >= state.circuit.until && !(state.kind === 'half-open' && state.trial !== undefined)`,
        put: 'this.#now >= state.circuit.until',
      },
    ],
  },
  {
    name: 'credential-counts-for-one-lane',
    says: 'a credential that is refused puts one lane aside, not all that use it',
    caughtBy: ['src/routing/lane-health.test.ts'],
    replacements: [
      {
        file: 'src/routing/circuit-breaker.ts',
        find: `verdict.kind !== 'locked-out' || verdict.of === 'lane'`,
        put: 'true',
      },
    ],
  },
  {
    name: 'doubt-is-forgotten',
    says: 'after an answer that may be billed any number of lanes is asked',
    caughtBy: ['src/gateway/attempt-lanes.test.ts'],
    replacements: [
      {
        file: 'src/gateway/attempt-lanes.ts',
        find: 'if (result.mayBeBilled) progress.attemptsLeft = Math.min(progress.attemptsLeft, attemptsMax)',
        put: '',
      },
    ],
  },
  {
    name: 'one-client-for-all',
    says: "one client's failures put a lane aside for everybody",
    caughtBy: ['src/routing/circuit-breaker-of-one-client.test.ts'],
    replacements: [
      {
        file: 'src/routing/circuit-breaker.ts',
        find: 'return onlyForAccount !== undefined && onlyForAccount !== account',
        put: 'return false',
      },
    ],
  },
  {
    name: 'last-lane-is-refused',
    says: 'no request probes the last lane of a model while its circuit is open',
    caughtBy: ['src/routing/circuit-breaker.test.ts', 'src/gateway/open-circuits.test.ts'],
    replacements: [
      { file: 'src/routing/circuit-breaker.ts', find: 'const PROBES_FIRST = 3', put: 'const PROBES_FIRST = 0' },
    ],
  },
  {
    name: 'no-patience',
    says: 'a request fails although a lane is asked again in a moment',
    caughtBy: ['src/gateway/open-circuits.test.ts'],
    replacements: [
      {
        file: 'src/gateway/attempt-lanes.ts',
        find: 'if (now + 1000 * waitMs > beganAt + 1000 * retryWait.maxMs()) return false',
        put: 'return false',
      },
    ],
  },
  {
    name: 'sticks-for-ever',
    says: 'a conversation goes back to its lane after days',
    caughtBy: ['src/routing/plan-lanes.sticky-lanes.test.ts'],
    replacements: [
      {
        file: 'src/routing/plan-lanes.ts',
        find: 'stay !== undefined && nowMicros() - stay.at < LIFE_MICROS',
        put: 'stay !== undefined',
      },
    ],
  },
]
