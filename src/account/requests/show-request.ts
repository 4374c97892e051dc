import type { z } from 'zod'
import type { foundRequest } from '../../contract/operate.ts'
import type { chargeLine, requestDetail } from '../../contract/requests.ts'
import { loadPrice } from '../../ledger/record-prices.ts'
import type { AccountRow } from '../../model/ids.ts'
import { formatPico, formatPricePerMillion, picoFromNano } from '../../model/money.ts'
import type { Price, Rates } from '../../model/price.ts'
import { findAccountByRow } from '../../store/accounts.ts'
import { findClaimOfReceipt } from '../../store/claims.ts'
import { findKeyByRow } from '../../store/keys.ts'
import { findReceipt } from '../../store/receipts.ts'
import type { LedgerDb, ReceiptsTable } from '../../store/tables.ts'
import { isoTime } from '../moments.ts'
import { quoted } from '../naming.ts'
import { done, type Outcome, refused } from '../outcome.ts'
import { describeReceipt } from './describe-receipt.ts'
import { attemptsView, requestItemOf } from './receipt-view.ts'

type RequestDetail = z.output<typeof requestDetail>

/** All that an account may know of one of its requests. Somebody else's is answered like one that never was. */
export async function showRequest(
  { db }: { readonly db: LedgerDb },
  account: AccountRow,
  id: string,
): Promise<Outcome<RequestDetail>> {
  const receipt = await findReceipt(db, id)
  if (receipt?.account === account) return done(await detailOf(db, receipt))
  return refused(
    'request_not_found',
    `This account has no request ${quoted(id)}. One that was refused is not in the books.`,
  )
}

/** Any request of anybody, for an operator who answers a question by its id. */
export async function findAnyRequest(
  { db }: { readonly db: LedgerDb },
  id: string,
): Promise<Outcome<z.output<typeof foundRequest>>> {
  const receipt = await findReceipt(db, id)
  const account = receipt && (await findAccountByRow(db, receipt.account))
  if (receipt === undefined || account === undefined) {
    return refused('request_not_found', `No request has the id ${quoted(id)}.`)
  }
  return done({ account: { id: account.id, email: account.email }, request: await detailOf(db, receipt) })
}

async function detailOf(db: LedgerDb, receipt: ReceiptsTable): Promise<RequestDetail> {
  const key = await findKeyByRow(db, receipt.key)
  if (key === undefined) throw new Error(`Receipt ${receipt.request_id} names a key that is not there`)
  const { cost, shortfall, price_version, tier, output_cap, input_estimate, compaction, cache_lost, paid_by } =
    await describeReceipt({ db }, receipt)
  const { windows, caps, ...payer } = paid_by
  const claim = await findClaimOfReceipt(db, receipt.row)
  return {
    ...requestItemOf(receipt, key),
    ...{ cost, shortfall, price_version, tier, output_cap, input_estimate, compaction, cache_lost },
    lines: chargeLinesOf(receipt, await loadPrice(db, receipt.model, receipt.price_version)),
    attempts: attemptsView(receipt),
    paid_by: { ...payer, windows: [...windows], caps: [...caps] },
    idempotency: claim === undefined ? null : { state: claim.state, until: isoTime(claim.expires_at) },
    movement: isOnStatement(receipt) ? receipt.movement : null,
  }
}

/** What cost nothing, and what a plan has paid, is no line of the wallet's statement. */
const isOnStatement = ({ kind, charge_nano }: ReceiptsTable): boolean => kind === 'wallet' && (charge_nano ?? 0n) > 0n

type ChargeLine = z.output<typeof chargeLine>

/**
 * What the cost of a request is made of. Each amount is exact; their sum, rounded up once to a nano-dollar, is the cost.
 * Nothing where nothing was used: what was given back, and what still runs.
 */
function chargeLinesOf(receipt: ReceiptsTable, price: Price): ChargeLine[] {
  if (receipt.state !== 'settled') return []
  const rates: Rates = price.tiers.find(({ aboveInputTokens }) => aboveInputTokens === receipt.tier) ?? price
  const classes = [
    ['uncached_input', receipt.uncached_input, rates.input],
    ['cached_input', receipt.cached_input, rates.cachedInput],
    ['cache_write', receipt.cache_write, rates.cacheWrite],
    ['output', receipt.output, rates.output],
  ] as const
  const lines = classes.flatMap(([what, tokens, rate]) =>
    tokens === null || tokens === 0 ? [] : [lineOf(what, tokens, rate)],
  )
  if (price.perRequest === 0n) return lines
  const amount = formatPico(picoFromNano(price.perRequest))
  return [...lines, { what: 'per_request', tokens: null, per_million: null, amount }]
}

const lineOf = (what: ChargeLine['what'], tokens: number, rate: bigint): ChargeLine => ({
  what,
  tokens,
  per_million: formatPricePerMillion(rate),
  amount: formatPico(BigInt(tokens) * rate),
})
