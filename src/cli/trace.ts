import type { Command } from 'commander'
import type { RequestTrace } from '../admin/requests.ts'
import type { CommandContext } from './command-context.ts'
import { columnsOf, formatFacts, formatTable, type Style } from './format.ts'

export function addTrace(program: Command, context: CommandContext): void {
  program
    .command('trace <request>')
    .description('all that is known about one request, by its req_ id')
    .action(async (request: string) => {
      await context.operate('requests.trace', { request }, (trace, style) => ({ data: formatTrace(style, trace) }))
    })
}

/** One request as a person reads it: who, what, how it went, what it cost and why, and the tries behind it. */
export function formatTrace(style: Style, trace: RequestTrace): string {
  const facts = formatFacts(style, [
    ['request', trace.id],
    ['account', `${trace.account.email} (${trace.account.id})`],
    ['key', `${trace.key.name} (${trace.key.id}, ${trace.kind})`],
    ['model', trace.model],
    ['state', trace.outcome === null ? trace.state : `${trace.state}, ${trace.outcome}`],
    ['opened', trace.opened_at],
    ['closed', trace.closed_at],
    ['first byte', spanOf(trace.first_byte_ms)],
    ['total', spanOf(trace.total_ms)],
    ['lane', trace.lane],
    ['tokens', tokensOf(trace)],
    ['compacted', compactionOf(trace)],
    ['price', priceOf(trace)],
    ['paid by', payerOf(trace)],
    ['held', `${trace.hold} USD, for at most ${trace.output_cap} output tokens`],
    ['cost', moneyOf(trace.cost)],
    ['charge', moneyOf(trace.charge)],
    ['cache lost', cacheLostOf(trace)],
    ['shortfall', trace.shortfall === null || trace.shortfall === '0.00' ? null : moneyOf(trace.shortfall)],
  ])
  return trace.attempts.length === 0 ? facts : `${facts}\n${triesOf(style, trace)}`
}

const spanOf = (ms: number | null): string | null => (ms === null ? null : `${ms} ms`)

const moneyOf = (amount: string | null): string | null => (amount === null ? null : `${amount} USD`)

function tokensOf({ tokens }: RequestTrace): string | null {
  if (tokens === null) return null
  const cached = tokens.cached_input + tokens.cache_write
  const input = cached === 0 ? '' : ` (${tokens.cached_input} from the cache, ${tokens.cache_write} into it)`
  const reasoning = tokens.reasoning === 0 ? '' : ` (${tokens.reasoning} of them reasoning)`
  const flag = tokens.estimated ? ', estimated' : ''
  return `${tokens.uncached_input + cached} in${input}, ${tokens.output} out${reasoning}${flag}`
}

const compactionOf = ({ compaction }: RequestTrace): string | null =>
  compaction && `${grouped(compaction.tokens_before)} → ${grouped(compaction.tokens_after)} tokens`

const cacheLostOf = ({ cache_lost }: RequestTrace): string | null =>
  cache_lost && `${grouped(cache_lost.tokens)} tokens on another lane, ${cache_lost.cost} USD`

/** `48,210` on every machine. */
const grouped = (count: number): string => count.toLocaleString('en-US')

function priceOf({ price_version, tier, price }: RequestTrace): string {
  const rates = `${price.input} in, ${price.cached_input} cached, ${price.cache_write} written, ${price.output} out`
  const fixed = price.per_request === '0.00' ? '' : `, ${price.per_request} a request`
  const above = tier === null || tier === 0 ? '' : `, tier above ${tier} input tokens`
  return `${rates}${fixed} (version ${price_version}${above})`
}

function payerOf({ paid_by }: RequestTrace): string {
  const windows = paid_by.windows.map(({ name, start }) => `${name} from ${start}`).join(', ')
  const payer = paid_by.kind === 'wallet' ? 'the wallet' : `plan ${paid_by.plan ?? 'unknown'}, windows ${windows}`
  const caps = paid_by.caps.map(({ name }) => name).join(' and ')
  return caps === '' ? payer : `${payer}; counted against the key's cap of a ${caps}`
}

const triesOf = (style: Style, { attempts }: RequestTrace): string =>
  formatTable(
    style,
    columnsOf('tried', 'outcome', '>status', '>ms'),
    attempts.map((attempt) => [
      attempt.lane,
      attempt.outcome,
      attempt.status === null ? '' : String(attempt.status),
      String(attempt.ms),
    ]),
  )
