import { MUTANTS_OF_THE_REST } from './mutations-of-the-rest.mjs'

// Faults of money, each as a piece of the source replaced by another, with the suites that must see it.

const ANY_SEQUENCE = 'src/books/any-sequence.test.ts'
const BOOKS = 'src/books/books.test.ts'
const CLAIMS = 'src/books/claims.test.ts'
const DRAWS = 'src/books/draws.test.ts'
const PERIODS = 'src/books/periods.test.ts'
const SUBSCRIPTIONS = 'src/books/subscriptions.test.ts'
const TRANSFERS = 'src/books/transfer-money.test.ts'
const TURN = 'src/turn/money-of-a-turn.test.ts'

const MUTANTS_OF_MONEY = [
  {
    name: 'skip-dedup',
    says: 'a key that somebody has taken is not looked at',
    caughtBy: [CLAIMS, ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/books/admit-turn.ts',
        find: "  if (claim) return { kind: 'claimed', claim, sameBody: claim.fingerprint === op.claim?.fingerprint }\n",
        put: '',
      },
    ],
  },
  {
    name: 'two-claims-on-one-scope',
    says: 'a key may be taken again when its time is over, although its turn still runs',
    caughtBy: [CLAIMS, ANY_SEQUENCE],
    replacements: [{ file: 'src/books/claims.ts', find: "claim.state === 'running' || ", put: '' }],
  },
  {
    name: 'settle-twice',
    says: 'a hold that was closed stays open',
    caughtBy: [BOOKS, ANY_SEQUENCE],
    replacements: [{ file: 'src/books/close-turn.ts', find: '  books.turns.delete(op.requestId)\n', put: '' }],
  },
  {
    name: 'zero-usage-is-absent',
    says: '|| on usage: a reported count of zero is estimated',
    caughtBy: [TURN],
    replacements: [
      {
        file: 'src/wire/chat/read-usage.ts',
        find: 'if (input === undefined || output === undefined) return undefined',
        put: 'if (!(input || output)) return undefined',
      },
    ],
  },
  {
    name: 'zero-cost-is-absent',
    says: '|| on the cost: a turn that cost nothing pays its hold',
    caughtBy: [BOOKS, ANY_SEQUENCE],
    replacements: [{ file: 'src/books/close-turn.ts', find: 'owed?.cost ?? ZERO', put: 'owed?.cost || hold' }],
  },
  {
    name: 'release-on-throw',
    says: 'a fault of our own gives the hold back, and with it the answer away',
    caughtBy: [TURN],
    replacements: [
      {
        file: 'src/turn/serve-turn.ts',
        find: '    sayInternalError(turn)\n',
        put: `    sayInternalError(turn)
    const ending = { outcome: 'internal_error', owed: undefined, lane: undefined, totalMs: 0, attempts: [], kept: false }
    await turn.hold.settle(ending)
`,
      },
    ],
  },
  {
    name: 'charge-before-failover',
    says: 'a lane is charged before it is decided whether another one is tried',
    caughtBy: [TURN],
    replacements: [
      {
        file: 'src/turn/lane/run-lanes.ts',
        find: '    failures.push(fate)\n',
        put: `    failures.push(fate)
    const usage = { uncachedInput: 1, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }
    const owed = { usage, tier: 0, cost: turn.hold.amount }
    await turn.hold.settle({ outcome: 'upstream_failed', owed, lane: lane.id, attempts })
`,
      },
    ],
  },
  {
    name: 'cap-above-hold',
    says: 'the provider is told the cap that the client asked for, not the one that is held',
    caughtBy: [TURN],
    replacements: [
      {
        file: 'src/turn/lane/ask-lane.ts',
        find: 'Math.min(hold.cap, ',
        put: 'Math.min(request.outputCap ?? hold.cap, ',
      },
    ],
  },
  {
    name: 'granted-cap-above-hold',
    says: 'admission grants one token more than it holds for',
    caughtBy: [DRAWS, ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/books/admit-turn.ts',
        find: "kind: 'held', receipt, cap, hold",
        put: "kind: 'held', receipt, cap: cap + 1, hold",
      },
    ],
  },
  {
    name: 'expire-under-a-hold',
    says: 'a window is closed while turns still hold on it',
    caughtBy: [PERIODS, ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/books/periods.ts',
        find: '  if (bucket.held === 0n) return closePeriod',
        put: '  return closePeriod',
      },
    ],
  },
  {
    name: 'hold-in-the-first-window-only',
    says: 'of several windows only the first is held on',
    caughtBy: [PERIODS, ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/books/admit-turn.ts',
        find: 'for (const bucket of buckets) bucket.held += hold',
        put: 'for (const bucket of buckets.slice(0, 1)) bucket.held += hold',
      },
    ],
  },
  {
    name: 'change-of-cap-ignored',
    says: 'a spend cap that was changed counts from its next period on',
    caughtBy: [PERIODS, ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/books/periods.ts',
        find: "allowance.unit === 'cap' ? allowance.amount : running.granted",
        put: 'running.granted',
      },
    ],
  },
  {
    name: 'window-reset-keeps-used',
    says: 'a new window begins with what was left of the one before',
    caughtBy: [PERIODS, ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/books/periods.ts',
        find: '  const left = newest ?',
        put: '  const rest = newest?.posted ?? allowance.amount\n  const left = newest ?',
      },
      {
        file: 'src/books/periods.ts',
        find: 'grant(books, account, bucket, allowance.amount, at)',
        put: 'grant(books, account, bucket, rest, at)',
      },
    ],
  },
  {
    name: 'window-opens-early',
    says: 'a window begins before the one in front of it has ended',
    caughtBy: [PERIODS, ANY_SEQUENCE],
    replacements: [{ file: 'src/books/periods.ts', find: 'Math.max(start, earliestStart(newest))', put: 'start' }],
  },
  {
    name: 'used-up-window-of-a-free-turn',
    says: 'a turn that costs nothing stands on windows that count as unused',
    caughtBy: [PERIODS, ANY_SEQUENCE],
    replacements: [
      { file: 'src/books/admit-turn.ts', find: 'hold > 0n ? draws : draws.filter(isWallet)', put: 'draws' },
    ],
  },
  {
    name: 'used-is-forgotten-by-a-larger-plan',
    says: 'another plan grants its whole amount on top of what is left',
    caughtBy: [SUBSCRIPTIONS, ANY_SEQUENCE],
    replacements: [{ file: 'src/books/subscriptions.ts', find: 'amount - running.granted, at)', put: 'amount, at)' }],
  },
  {
    name: 'builder-falls-back-to-the-wallet',
    says: 'a builder key draws on the wallet too',
    caughtBy: [DRAWS, ANY_SEQUENCE],
    replacements: [{ file: 'src/books/draws.ts', find: "  if (kind === 'wallet') draws.push", put: '  draws.push' }],
  },
  {
    name: 'chosen-cap-takes-all',
    says: 'a cap that we choose takes all of the money, whatever share the operator wants',
    caughtBy: [DRAWS, ANY_SEQUENCE],
    replacements: [{ file: 'src/books/draws.ts', find: 'BigInt(chosenCap.sharePercent)', put: '100n' }],
  },
  {
    name: 'chosen-cap-without-a-least',
    says: 'a cap that we choose may be too short to help anybody',
    caughtBy: [DRAWS, ANY_SEQUENCE],
    replacements: [{ file: 'src/books/draws.ts', find: 'Math.max(chosenCap.tokensMin, tokens)', put: 'tokens' }],
  },
  {
    name: 'refund-beyond-available',
    says: 'a refund takes what running turns hold',
    caughtBy: [TRANSFERS, ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/books/transfer-money.ts',
        find: 'availableIn(wallet) + op.amount < 0n',
        put: 'wallet.posted + op.amount < 0n',
      },
    ],
  },
  {
    name: 'charge-above-hold',
    says: 'the charge is the cost, whatever was held',
    caughtBy: [BOOKS, ANY_SEQUENCE],
    replacements: [{ file: 'src/books/close-turn.ts', find: 'smallest(cost, hold)', put: 'cost' }],
  },
]

export const MUTANTS = [...MUTANTS_OF_MONEY, ...MUTANTS_OF_THE_REST]
