import { USAGE } from '../../fakes/chat-frames.ts'
import type { Cell, FaultRow } from './fault-row.ts'
import { PRICE } from './fault-server.ts'
import { MESSAGES, type Parsed } from './send-to-faulty.ts'

const BYTES_PER_TOKEN = 4
const TOKEN_BYTES = { min: 2, max: 6.5 }
const MODEL_CAP = 2000
/** What a template may add to the bytes of a request, for the one message that is asked. */
const TEMPLATE_TOKENS = 8 + 64

/** What a cell of the table costs, worked out from what the client sent and received. */
export function chargeOf(cell: Cell, row: FaultRow, parsedOutput: Parsed): bigint {
  if (cell.kind === 'refused') return 0n
  switch (cell.charge) {
    case 'produced':
      return priced(tokensOf(JSON.stringify(MESSAGES)), tokensOfAnswer(parsedOutput))
    case 'bounded':
      return boundedCharge(row, parsedOutput)
    case 'reported':
      return reportedCharge(row)
  }
}

const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)

/** In a stream whose frames are as long as tokens each of them is one. */
function tokensOfAnswer({ chunks, text }: Parsed): number {
  const frames = chunks.filter(({ choices }) => choices?.[0]?.delta?.content).length
  const bytes = Buffer.byteLength(text)
  return bytes >= frames * TOKEN_BYTES.min && bytes <= frames * TOKEN_BYTES.max ? frames : tokensOf(text)
}

const priced = (input: number, output: number, cached = 0): bigint =>
  BigInt(input) * PRICE.input + BigInt(cached) * PRICE.cachedInput + BigInt(output) * PRICE.output

function boundedCharge({ fault, sends }: FaultRow, { receivedBytes }: Parsed): bigint {
  const { max_tokens: cap = MODEL_CAP } = (sends ?? {}) as { max_tokens?: number }
  switch (fault) {
    case 'huge-usage':
      return priced(receivedBytes + TEMPLATE_TOKENS, cap)
    case 'beyond-the-cap':
      return priced(11, cap)
    default:
      return priced(tokensOf(JSON.stringify(MESSAGES)), cap)
  }
}

function reportedCharge({ fault }: FaultRow): bigint {
  if (fault === 'zero-usage') return 0n
  const cached = USAGE.prompt_tokens_details.cached_tokens
  const output = fault === 'usage-then-cut' ? 2 : USAGE.completion_tokens
  return priced(USAGE.prompt_tokens - cached, output, cached)
}
