// Faults that the audit must see, each as a piece of the built product replaced by another. A window that is naturally a
// few milliseconds wide is widened where a kill has to fall into it; the widening alone is then the control.

const slowCommits = {
  file: 'ledger/batcher.js',
  find: `        setImmediate(recordGathered);`,
  put: `        setTimeout(recordGathered, 200);`,
}

/** Between the answer that is kept and its charge. */
const slowSettles = {
  file: 'gateway/serve-turn.js',
  find: `    const settled = await turn.hold.settle(ending);`,
  put: `    if (turn.claim) await new Promise((resolve) => setTimeout(resolve, 1000));
    const settled = await turn.hold.settle(ending);`,
}

/** The procedure is in `procedures.mjs`; `caughtBy` are the invariants that must be among those which see it. */
const MUTANTS = [
  {
    name: 'settle-after-end',
    says: 'the end of an answer leaves before its charge is durable',
    procedure: 'kill-at-end',
    caughtBy: ['I7'],
    replacements: [
      {
        file: 'gateway/serve-turn.js',
        find: `    const settled = await turn.hold.settle(ending);
    // A keep-alive may have sent the head meanwhile.
    const wasQuiet = sink.phase === 'quiet';
    if (wasQuiet)
        sink.announce(limitHeaders(ledger.limitStatuses(turn.admitRequest.limits)));
    const sentProblem = deliverEnd(turn, { result: run.result, owed: ending.owed, keptFrames }, settled);`,
        put: `    const wasQuiet = sink.phase === 'quiet';
    const { owed } = ending;
    const guessed = owed ? { kind: 'settled', charge: owed.cost, shortfall: 0n, tier: owed.tier } : { kind: 'released' };
    const sentProblem = deliverEnd(turn, { result: run.result, owed, keptFrames }, guessed);
    await new Promise((resolve) => setTimeout(resolve, 40));
    const settled = await turn.hold.settle(ending);`,
      },
    ],
  },
  {
    name: 'no-marks',
    says: 'the progress of a running stream is not recorded',
    procedure: 'kill-in-the-middle',
    caughtBy: ['I8'],
    replacements: [
      {
        file: 'gateway/stream.js',
        find: 'turn.hold.mark(turn.streamedTokens)',
        put: 'true',
      },
    ],
  },
  {
    name: 'content-before-hold',
    says: 'the first content does not wait for the hold',
    procedure: 'kill-at-first-content',
    caughtBy: ['I8'],
    control: [slowCommits],
    replacements: [
      slowCommits,
      { file: 'gateway/stream.js', find: 'return releaseGate.opened', put: 'return undefined' },
    ],
  },
  {
    name: 'hang-up-is-free',
    says: 'the hold of a client that hung up is released',
    procedure: 'hang-up',
    caughtBy: ['I8'],
    replacements: [
      {
        file: 'gateway/serve-turn.js',
        find: 'await turn.hold.settle(ending)',
        put: "await turn.hold.settle(ending.outcome === 'client_gone' ? { ...ending, owed: undefined } : ending)",
      },
    ],
  },
  {
    name: 'debit-twice',
    says: 'the wallet pays each charge twice',
    procedure: 'no-kill',
    caughtBy: ['I2', 'verify'],
    replacements: [
      {
        file: 'ledger/state/turns.js',
        find: 'posted: -charge, held: -turn.heldAmount',
        put: 'posted: -2n * charge, held: -turn.heldAmount',
      },
    ],
  },
  {
    name: 'round-down',
    says: 'the fraction of a nano-dollar is dropped, not rounded up',
    procedure: 'no-kill',
    caughtBy: ['I7', 'priced'],
    replacements: [
      {
        file: 'model/money.js',
        find: 'pico % PICO_PER_NANO > 0n ? nano + 1n : nano',
        put: 'nano',
      },
    ],
  },
  {
    name: 'claims-in-memory',
    says: 'the claim of an idempotency key is not recorded with its hold',
    procedure: 'kill-and-sendTurn-again',
    caughtBy: ['I10'],
    replacements: [
      {
        file: 'db/record-changes.js',
        find: 'function addClaim({ claims }, step, row) {',
        put: 'function addClaim({ claims }, step, row) {\n    return;',
      },
    ],
  },
  {
    name: 'key-is-forgotten',
    says: 'an idempotency key is dropped when its request ends, charged or not',
    procedure: 'sendTurn-again',
    caughtBy: ['I10'],
    replacements: [
      { file: 'ledger/state/turns.js', find: "(owed === undefined ? 'dropped'", put: "(true ? 'dropped'" },
    ],
  },
  {
    name: 'charge-before-answer',
    says: 'an answer is charged for before it is kept',
    procedure: 'kill-at-end-and-sendTurn-again',
    caughtBy: ['I10'],
    replacements: [
      {
        file: 'gateway/keep-answer.js',
        find: 'return this.#answers.keep({ ...head, body, facts: writeEnding(ending), expiresAt: claim.expiresAt });',
        put: `const answer = { ...head, body, facts: writeEnding(ending), expiresAt: claim.expiresAt };
        setTimeout(() => void this.#answers.keep(answer).catch(() => { }), 500);
        return true;`,
      },
    ],
  },
  {
    name: 'kept-facts-ignored',
    says: 'recovery does not sendTurn whether the answer was kept already',
    procedure: 'kill-before-the-charge',
    caughtBy: ['I10'],
    control: [slowSettles],
    replacements: [slowSettles, { file: 'ledger/recovery.js', find: 'if (kept !== undefined)', put: 'if (false)' }],
  },
]

/** All of them, or the one that is named. */
export function chooseMutants(only) {
  if (only === '') return MUTANTS
  return only.split(',').map((wanted) => {
    const found = MUTANTS.find(({ name }) => name === wanted)
    if (found) return found
    throw new Error(`there is no mutant ${wanted}; there are ${MUTANTS.map(({ name }) => name).join(', ')}`)
  })
}
