import { readFileSync } from 'node:fs'
import { USAGE, WORDS } from '../../fakes/chat-frames.ts'
import type { Column } from './columns.ts'
import type { Expected } from './ending.ts'

/** A row of the published table. */
export interface PublishedRow {
  readonly ending: string
  /** Undefined: there is no receipt, or it is as if it had been another ending. */
  readonly outcome: string | undefined
  readonly charged: string
}

const PAGE = new URL('../../../docs/operate/charges.md', import.meta.url)

export function readChargesPage(): readonly PublishedRow[] {
  const lines = readFileSync(PAGE, 'utf8').split('\n')
  const head = lines.findIndex((line) => line.startsWith('| How it ended |'))
  const end = lines.findIndex((line, at) => at > head && !line.startsWith('|'))
  return lines.slice(head + 2, end).map((line) => {
    const [ending = '', outcome = '', charged = ''] = line.slice(2, -2).split(' | ')
    return { ending, outcome: /^`(\w+)`$/.exec(outcome)?.[1], charged }
  })
}

/** Nano-dollars a token of every model of the matrix. */
export const PRICE = { input: 1000n, cachedInput: 250n, output: 2000n } as const
export const PRICE_YAML = '{ input: "1.00", cached_input: "0.25", output: "2.00" }'
export const MODEL_CAP = 2000
/** Covers the input of the matrix and most of what a model may write. */
export const RUN_BUDGET = '0.003'
const BYTES_PER_TOKEN = 4
/** What a template may add to the bytes of a request. */
const TEMPLATE = { perMessage: 8, perRequest: 64 }

/** What a charge is worked out from: the request, and what the provider had said when it ended. */
export interface ChargeFacts {
  readonly column: Column
  readonly receivedRequest: string
  readonly body: string
  readonly words: number
  /** The usage that the provider told is all zeros. */
  readonly zero?: boolean
  /** How many of the words were marked as delivered when the process died. */
  readonly marked?: number | undefined
  /** The process that read the provider is gone. */
  readonly isRecovered?: boolean
}

interface Charge {
  readonly nano: bigint
  /** What the receipt says: undefined where nothing was charged. */
  readonly flagged: boolean | undefined
}

const tokensOf = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN)
const priced = (input: number, output: number, cached = 0): bigint =>
  BigInt(input) * PRICE.input + BigInt(cached) * PRICE.cachedInput + BigInt(output) * PRICE.output

const inputOf = ({ column, receivedRequest }: ChargeFacts): number => tokensOf(column.inputBytes(receivedRequest))
const NOTHING: Charge = { nano: 0n, flagged: undefined }

const CACHED = USAGE.prompt_tokens_details.cached_tokens
const INPUT = USAGE.prompt_tokens - CACHED

const counted = ({ zero, column }: ChargeFacts): Charge => {
  // This provider has counted its input before it said a word.
  const zeros = column.wire === 'anthropic' ? priced(INPUT, 0, CACHED) : 0n
  return { nano: zero ? zeros : priced(INPUT, USAGE.completion_tokens, CACHED), flagged: false }
}

const produced = (facts: ChargeFacts): Charge => {
  const bytes = Buffer.byteLength(WORDS.slice(0, facts.words).join(''))
  // In a stream of this provider each frame is as long as a token; marks and JSON answers are bytes.
  const tokens = facts.isRecovered || facts.column.variant === 'json' ? tokensOf(bytes) : facts.words
  const nano =
    facts.column.wire === 'anthropic' && !facts.isRecovered
      ? priced(INPUT, tokens, CACHED)
      : priced(inputOf(facts), tokens)
  return { nano, flagged: true }
}

const mostPossible = ({ column, body }: ChargeFacts): Charge => {
  const input = column.bodyBytes(body) + column.messages * TEMPLATE.perMessage + TEMPLATE.perRequest
  return { nano: priced(input, MODEL_CAP), flagged: true }
}

const marked = (facts: ChargeFacts): Charge =>
  facts.marked === undefined ? NOTHING : produced({ ...facts, words: facts.marked, isRecovered: true })

/** The words of the page, and what they come to. No test proves words that are not here. */
const CHARGES: Readonly<Record<string, (facts: ChargeFacts) => Charge>> = {
  nothing: () => NOTHING,
  'what the provider counted': counted,
  'what that lane’s provider counted': counted,
  'an estimate, flagged': produced,
  'the maximum that it could use, flagged': mostPossible,
  // Without a cap of the client the hold is the most that the request could use.
  'its count, up to the hold; the rest is `shortfall`': (facts) => ({ ...mostPossible(facts), flagged: false }),
  'the input and the output so far': produced,
  'the input and the output marked as delivered; nothing without a mark': marked,
}

export interface PublishedCharge extends Charge {
  readonly outcome: string | undefined
}

/** What the page says of an ending. */
export function publishedCharge({ row, asIf }: Pick<Expected, 'row' | 'asIf'>, facts: ChargeFacts): PublishedCharge {
  const page = readChargesPage()
  const findRow = (ending: string) => {
    const found = page.find((each) => each.ending === ending)
    if (!found) throw new Error(`docs/operate/charges.md has no row: ${ending}`)
    return found
  }
  const first = findRow(row)
  if (asIf !== undefined && !first.charged.startsWith('as if')) throw new Error(`the page has no "as if" for: ${row}`)
  const { outcome, charged } = asIf === undefined ? first : findRow(asIf)
  const charge = CHARGES[charged]
  if (!charge) throw new Error(`unknown charge on the page: ${charged}`)
  return { outcome, ...charge(facts) }
}
