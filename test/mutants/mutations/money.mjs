// Faults of money.

const ANY_SEQUENCE = 'src/ledger/state/any-sequence.test.ts'
const BOOKS = 'src/ledger/state/state.test.ts'
const CEILING = 'src/pricing/price.test.ts'
const CLAIMS = 'src/ledger/state/turns.claims.test.ts'
const DRAWS = 'src/ledger/state/turns.draws.test.ts'
const ENDS = 'src/ledger/ends-are-replayed.test.ts'
const KEYED = 'src/ledger/claims.test.ts'
const PERIODS = 'src/ledger/state/allowances.test.ts'
const PLANNED = 'src/gateway/plan-turn.plan-admission.test.ts'
const PROOF = 'src/ledger/every-rule-of-the-proof.test.ts'
const PRICES = 'src/ledger/prices.test.ts'
const STORED_CLAIMS = 'src/db/receipts.claims.test.ts'
const SUBSCRIPTIONS = 'src/ledger/state/subscriptions.test.ts'
const TRANSFERS = 'src/ledger/state/transfer-money.test.ts'
const TURN = 'src/gateway/money-of-a-turn.test.ts'

export const OF_MONEY = [
  {
    name: 'skip-dedup',
    says: 'an idempotency key that another request has taken is not looked at',
    caughtBy: [CLAIMS, ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/ledger/state/turns.ts',
        find: "  if (claim) return { kind: 'claimed', claim, sameBody: claim.fingerprint === op.claim?.fingerprint }\n",
        put: '',
      },
    ],
  },
  {
    name: 'two-claims-on-one-scope',
    says: 'a key may be taken again when its time is over, although its turn still runs',
    caughtBy: [CLAIMS, ANY_SEQUENCE],
    replacements: [{ file: 'src/ledger/state/turns.ts', find: "claim.state === 'running' || ", put: '' }],
  },
  {
    name: 'settle-twice',
    says: 'a hold that was closed stays open',
    caughtBy: [BOOKS, ANY_SEQUENCE],
    replacements: [{ file: 'src/ledger/state/turns.ts', find: '  ledgerState.turns.delete(op.requestId)\n', put: '' }],
  },
  {
    name: 'context-is-a-discount',
    says: 'the bound of the input is clamped by context_tokens, so that what is longer is held and charged for less',
    caughtBy: [CEILING],
    replacements: [
      {
        file: 'src/pricing/price.ts',
        find: '  return bound\n',
        put: '  return Math.min(bound, model.contextTokens)\n',
      },
    ],
  },
  {
    name: 'shortfall-is-not-counted',
    says: 'what a provider counts beyond the bound of the input is cut away, and no receipt shows what it cost',
    caughtBy: ['src/gateway/ending.test.ts'],
    replacements: [
      {
        file: 'src/pricing/price.ts',
        find: 'Math.max(inputBound, contextTokens, INPUT_TOKENS_BELIEVED)',
        put: 'inputBound',
      },
    ],
  },
  {
    name: 'one-token-is-sent',
    says: 'where the estimated input leaves no room, a cap of one token is made up',
    caughtBy: ['src/gateway/call-lane.test.ts'],
    replacements: [
      {
        file: 'src/gateway/call-lane.ts',
        find: 'return room < Math.min(ANSWER_TOKENS, contextTokens / 16) ? cap : Math.min(cap, room)',
        put: 'return Math.min(cap, Math.max(room, 1))',
      },
    ],
  },
  {
    name: 'zero-usage-is-absent',
    says: '|| on usage: a reported count of zero is estimated',
    caughtBy: [TURN],
    replacements: [
      {
        file: 'src/protocols/chat/usage.ts',
        find: 'if (input === undefined || output === undefined) return undefined',
        put: 'if (!(input || output)) return undefined',
      },
    ],
  },
  {
    name: 'zero-cost-is-absent',
    says: '|| on the cost: a turn that cost nothing pays its hold',
    caughtBy: [BOOKS, ANY_SEQUENCE],
    replacements: [{ file: 'src/ledger/state/turns.ts', find: 'owed?.cost ?? ZERO', put: 'owed?.cost || heldAmount' }],
  },
  {
    name: 'release-on-throw',
    says: 'a fault of our own gives the hold back, and with it the answer away',
    caughtBy: [TURN],
    replacements: [
      {
        file: 'src/gateway/serve-turn.ts',
        find: '    sendInternalError(turn)\n',
        put: `    sendInternalError(turn)
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
        file: 'src/gateway/attempt-lanes.ts',
        find: '  failures.push({ lane, result })\n',
        put: `  failures.push({ lane, result })
    const usage = { uncachedInput: 1, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }
    const owed = { usage, tier: 0, cost: turn.hold.heldAmount }
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
        file: 'src/gateway/attempt-lanes.ts',
        find: 'Math.min(capOn(lane, outputCap), hold.cap)',
        put: 'capOn(lane, outputCap)',
      },
    ],
  },
  {
    name: 'granted-cap-above-hold',
    says: 'admission grants one token more than it holds for',
    caughtBy: [DRAWS, ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/ledger/state/turns.ts',
        find: "kind: 'held', receipt, cap, heldAmount",
        put: "kind: 'held', receipt, cap: cap + 1, heldAmount",
      },
    ],
  },
  {
    name: 'expire-under-a-hold',
    says: 'a window is closed while turns still hold on it',
    caughtBy: [PERIODS, ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/ledger/state/allowances.ts',
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
        file: 'src/ledger/state/turns.ts',
        find: '    bucket.held += heldAmount',
        put: '    if (buckets.length === 0) bucket.held += heldAmount',
      },
    ],
  },
  {
    name: 'change-of-cap-ignored',
    says: 'a spend cap that was changed counts from its next period on',
    caughtBy: [PERIODS, ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/ledger/state/allowances.ts',
        find: 'granted: amount, posted: amount - spent, held }',
        put: 'granted: counter.bound, posted: counter.bound - spent, held }',
      },
    ],
  },
  {
    name: 'cap-counts-an-earlier-period',
    says: 'a turn that ends in a later period of its cap is counted there',
    caughtBy: [PERIODS, ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/ledger/state/allowances.ts',
        find: 'counted.filter(({ counter }) => counter.firstReceipt <= receipt)',
        put: '[...counted]',
      },
      {
        file: 'src/ledger/state/allowances.ts',
        find: 'if (counter.held < amount) throw',
        put: 'if (amount < 0n) throw',
      },
    ],
  },
  {
    name: 'issuing-side-keeps-a-balance',
    says: 'what allowances were granted is added up in a balance that overflows one day',
    caughtBy: [ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/ledger/state/allowances.ts',
        find: "    { kind: 'bucket-moved', bucket: row, posted: amount, held: 0n },\n",
        put: "    { kind: 'bucket-moved', bucket: row, posted: amount, held: 0n },\n    { kind: 'bucket-moved', bucket: counter, posted: -amount, held: 0n },\n",
      },
    ],
  },
  {
    name: 'refused-operation-takes-its-batch',
    says: 'an operation that the file refuses fails its whole batch, and shuts the gate for everybody',
    caughtBy: ['src/ledger/ledger.test.ts'],
    replacements: [
      { file: 'src/db/record-changes.ts', find: 'if (!isOfTheData(error)) throw error', put: 'throw error' },
    ],
  },
  {
    name: 'window-reset-keeps-used',
    says: 'a new window begins with what was left of the one before',
    caughtBy: [PERIODS, ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/ledger/state/allowances.ts',
        find: '  const left = newest ?',
        put: '  const rest = newest?.posted ?? allowance.amount\n  const left = newest ?',
      },
      {
        file: 'src/ledger/state/allowances.ts',
        find: 'grant(ledgerState, account, bucket, allowance.amount, at)',
        put: 'grant(ledgerState, account, bucket, rest, at)',
      },
    ],
  },
  {
    name: 'window-opens-early',
    says: 'a window begins before the one in front of it has ended',
    caughtBy: [PERIODS, ANY_SEQUENCE],
    replacements: [
      { file: 'src/ledger/state/allowances.ts', find: 'Math.max(start, earliestStart(newest))', put: 'start' },
    ],
  },
  {
    name: 'used-up-window-of-a-free-turn',
    says: 'a turn that costs nothing stands on windows that count as unused',
    caughtBy: [PERIODS, ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/ledger/state/turns.ts',
        find: 'if (draw.status !== undefined && amount === 0n) continue',
        put: '',
      },
    ],
  },
  {
    name: 'used-is-forgotten-by-a-larger-plan',
    says: 'another plan grants its whole amount on top of what is left',
    caughtBy: [SUBSCRIPTIONS, ANY_SEQUENCE],
    replacements: [
      { file: 'src/ledger/state/operator-commands.ts', find: 'amount - running.granted, at)', put: 'amount, at)' },
    ],
  },
  {
    name: 'builder-falls-back-to-the-wallet',
    says: 'a builder key draws on the wallet too',
    caughtBy: [DRAWS, ANY_SEQUENCE],
    replacements: [
      { file: 'src/ledger/state/turns.ts', find: "  if (kind === 'wallet') draws.push", put: '  draws.push' },
    ],
  },
  {
    name: 'chosen-cap-takes-all',
    says: 'a cap that we choose takes all of the money, whatever share the operator wants',
    caughtBy: [DRAWS, ANY_SEQUENCE],
    replacements: [{ file: 'src/ledger/state/turns.ts', find: 'BigInt(chosenCap.sharePercent)', put: '100n' }],
  },
  {
    name: 'chosen-cap-without-a-least',
    says: 'a cap that we choose may be too short to help anybody',
    caughtBy: [DRAWS, ANY_SEQUENCE],
    replacements: [{ file: 'src/ledger/state/turns.ts', find: 'Math.max(chosenCap.tokensMin, tokens)', put: 'tokens' }],
  },
  {
    name: 'refund-beyond-available',
    says: 'a refund takes what running turns hold',
    caughtBy: [TRANSFERS, ANY_SEQUENCE],
    replacements: [
      {
        file: 'src/ledger/state/operator-commands.ts',
        find: 'available + op.amount < 0n',
        put: 'wallet.posted + op.amount < 0n',
      },
    ],
  },
  {
    name: 'charge-above-hold',
    says: 'the charge is the cost, whatever was held',
    caughtBy: [BOOKS, ANY_SEQUENCE],
    replacements: [{ file: 'src/ledger/state/turns.ts', find: 'cost < heldAmount ? cost : heldAmount', put: 'cost' }],
  },
  {
    name: 'one-choice-is-held',
    says: 'of several choices the hold covers one',
    caughtBy: [CEILING],
    replacements: [{ file: 'src/pricing/price.ts', find: 'dearestOutput * BigInt(choices)', put: 'dearestOutput' }],
  },
  {
    name: 'one-choice-is-charged',
    says: 'of several choices one is charged',
    caughtBy: [TURN],
    replacements: [{ file: 'src/gateway/ending.ts', find: 'hold.cap) * request.choices', put: 'hold.cap)' }],
  },
  {
    name: 'plan-without-caps',
    says: 'the spend caps of a key do not count for what a plan pays',
    caughtBy: [PLANNED],
    replacements: [{ file: 'src/gateway/plan-turn.ts', find: '[...windows, ...caps]', put: 'windows' }],
  },
  {
    name: 'former-plan-opens-windows',
    says: 'a request that was on its way while the plan changed opens windows of the former one',
    caughtBy: [SUBSCRIPTIONS],
    replacements: [
      {
        file: 'src/ledger/state/operator-commands.ts',
        find: "plan === undefined || plan === running.plan ? undefined : 'plan-changed'",
        put: 'undefined',
      },
    ],
  },
  {
    name: 'price-edited-in-place',
    says: 'a price that has changed keeps its version, and what was charged cannot be explained',
    caughtBy: [PRICES],
    replacements: [
      {
        file: 'src/ledger/prices.ts',
        find: 'known?.terms === written ? known.version : (last?.version ?? 0) + 1',
        put: 'known?.version ?? 1',
      },
    ],
  },
  {
    name: 'lost-end-is-forgotten',
    says: 'an end that was written down is forgotten although the commit that took it over was lost',
    caughtBy: [ENDS],
    replacements: [
      {
        file: 'src/ledger/journal.ts',
        find: "kind === 'recorded' || kind === 'not-open'",
        put: "kind !== 'broken'",
      },
    ],
  },
  {
    name: 'asked-before-the-key-is-taken',
    says: 'a provider is called before it is certain that no other request has the key',
    caughtBy: [KEYED],
    replacements: [{ file: 'src/ledger/admit.ts', find: '  if (claim) return false\n', put: '' }],
  },
  {
    name: 'file-gives-a-running-claim-away',
    says: 'the file gives the key of a request that runs to another one, when memory is wrong',
    caughtBy: [STORED_CLAIMS],
    replacements: [{ file: 'src/db/record-changes.ts', find: "WHERE claims.state <> 'running' AND", put: 'WHERE' }],
  },
  {
    name: 'proof-counts-the-period-before',
    says: 'the proof counts what was opened before the period of a spend cap',
    caughtBy: ['src/ledger/long-periods.test.ts'],
    replacements: [
      {
        file: 'src/db/verify.ts',
        find: 'AND receipts.row >= counted.first',
        put: 'AND counted.first > 0',
      },
      {
        file: 'src/ledger/verify.ts',
        find: 'at: start - 1, otherwise: 0',
        put: 'at: 0, otherwise: 0',
      },
    ],
  },
  {
    name: 'proof-adds-up-in-64-bits',
    says: 'sums of the proof are cut where a number of 64 bits ends',
    caughtBy: ['src/ledger/grants-without-end.test.ts'],
    replacements: [
      {
        file: 'src/db/verify.ts',
        find: '(high_nano << 32n) + low_nano',
        put: 'BigInt.asIntN(64, (high_nano << 32n) + low_nano)',
      },
    ],
  },
  {
    name: 'sweep-closes-a-window-in-use',
    says: 'a window that ended long ago is closed under the turn that still holds on it',
    caughtBy: ['src/ledger/open-ledger.test.ts'],
    replacements: [
      { file: 'src/ledger/open-ledger.ts', find: ' || window.held !== 0n', put: '' },
      { file: 'src/db/allowances.ts', find: ' AND held_nano = 0 AND frozen_at', put: ' AND frozen_at' },
    ],
  },
  {
    name: 'proof-trusts-the-bucket',
    says: "the proof does not see that a receipt stands on another account's wallet",
    caughtBy: [PROOF],
    replacements: [{ file: 'src/db/verify.ts', find: ' AND buckets.account = this.account', put: '' }],
  },
  {
    name: 'written-down-meanwhile',
    says: 'an end that is written down while others are recorded leaves the books shut for ever',
    caughtBy: ['src/ledger/journal.test.ts'],
    replacements: [
      {
        file: 'src/ledger/journal.ts',
        find: 'if (waiting.size === stuck) return true',
        put: 'return waiting.size === stuck',
      },
    ],
  },
]
