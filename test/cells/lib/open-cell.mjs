import pg from 'pg'

const CREDIT = 10_000_000_000n
const HOLD = 1_000_000n
const DAY_MS = 86_400_000
/** Rows of different cells never have the same number, so that an account moves with its own. */
const ROWS_OF_A_CELL = 2 ** 40
const WALLETS_OF_A_CELL = 10_000_000
const NUMBERED = ['accounts', 'keys', 'nodes', 'receipts', 'subscriptions']
const PRICE = { input: '0', cached_input: '0', cache_write: '0', output: '1000000', per_request: '0', tiers: [] }

/** One database with the ledger of a node on it: all that there is of a cell here. */
export async function openCell({ number, postgres, modules }) {
  const { installSchema, openPostgresLedger, FUNCTIONS_SCHEMA, TABLES_SCHEMA, systemClock } = modules
  const options = `-c search_path=${FUNCTIONS_SCHEMA},${TABLES_SCHEMA}`
  const connect = (max) => {
    const pool = new pg.Pool({ host: postgres.host, user: postgres.user, database: `cell_${number}`, max, options })
    pool.on('error', () => {})
    return pool
  }
  const pool = connect(4)
  await installSchema(pool, { mayLoseCommits: true })
  for (const table of NUMBERED) {
    await pool.query(`ALTER TABLE ${table} ALTER COLUMN row RESTART WITH ${number * ROWS_OF_A_CELL + 1}`)
  }
  await pool.query(`ALTER SEQUENCE wallet_rows RESTART WITH ${number * WALLETS_OF_A_CELL + 101}`)
  await pool.query(`ALTER SEQUENCE period_rows RESTART WITH ${1e9 + number * ROWS_OF_A_CELL}`)
  await pool.query(`ALTER SEQUENCE transfer_rows RESTART WITH ${number * ROWS_OF_A_CELL + 1}`)
  await pool.query("INSERT INTO prices VALUES ('demo', 1, $1, 0)", [JSON.stringify(PRICE)])
  const nodePool = connect(4)
  const ledger = await openPostgresLedger({
    ...{ pool: nodePool, clock: systemClock, markIntervalMs: 100, leaseMs: 600_000, retryMs: 5000 },
    observer: { trouble: console.error, recovered() {}, leaseLost() {}, recorded() {}, closed() {} },
  })
  const requestOf = ({ row }, scope) => ({
    ...{ requestId: modules.mintRequestId(Date.now(), modules.secureRandom), account: row, key: 1, kind: 'wallet' },
    ...{ model: 'demo', priceVersion: 1, plan: undefined, choices: 1, limits: [], allowances: [] },
    terms: { inputPico: 0n, outputPicoPerToken: HOLD * 1000n, perRequest: 0n },
    ...{
      clientCap: 1,
      modelCap: 1,
      chosenCap: { sharePercent: 10n, tokensMin: 1 },
      inputEstimate: 0,
      cachedEstimate: 0,
    },
    claim: { scope, fingerprint: 'x', expiresAt: Date.now() + DAY_MS },
  })
  return {
    number,
    pool,
    async addAccount(email) {
      const id = modules.mintAccountId(modules.secureRandom)
      const { rows } = await pool.query('SELECT add_account($1, $2) AS row', [id, email])
      const row = Number(rows[0].row)
      await ledger.credit({ account: row, kind: 'credit', amount: CREDIT, reason: 'test', ref: 'first' })
      return { id, row, credit: CREDIT }
    },
    /** False when the account is on its way to another cell. */
    async ask(account, { scope, charge }) {
      const turn = await ledger.admit(requestOf(account, scope))
      if (turn.kind === 'refused' && turn.refusal.kind === 'frozen') return false
      if (turn.kind === 'refused') throw new Error(`cell ${number} refused: ${turn.refusal.kind}`)
      const usage = { uncachedInput: 0, cachedInput: 0, cacheWrite: 0, output: 1, reasoning: 0, estimated: false }
      const owed = { usage, tier: 0, cost: charge }
      const ending = { outcome: 'completed', lane: 'a', attempts: [], firstByteMs: 1, totalMs: 1, kept: true, owed }
      const settled = await turn.settle({ ...ending, compaction: undefined })
      turn.detach()
      if (settled.kind !== 'settled') throw new Error(`cell ${number}: ${settled.kind}`)
      return true
    },
    async isClaimed(account, scope) {
      const turn = await ledger.admit(requestOf(account, scope))
      return turn.kind === 'refused' && turn.refusal.kind === 'claimed'
    },
    balanceOf: async ({ row }) => (await ledger.accountStatus(row)).balance,
    holds: async () => (await ledger.audit({ whole: true })).ok,
    async close() {
      await ledger.close()
      await Promise.all([pool.end(), nodePool.end()])
    },
  }
}
