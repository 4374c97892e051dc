// What recorded exchanges cost: the same streamed and not, and never nothing when the client hangs up. See
// ../acceptance/README.md.
//
//   node test/recordings/cost.mjs [--id REGEX] [--dist FOLDER]
import { join } from 'node:path'
import { copyAcceptance } from '../acceptance/acceptance-folder.mjs'
import { runToEnd } from '../acceptance/own-processes.mjs'
import { serveGateway } from '../acceptance/serve-gateway.mjs'
import { readOptions } from '../program/options.mjs'
import { readLedgerRows } from '../program/read-ledger.mjs'
import { createTally } from '../program/tally.mjs'
import { checkCut, checkWhole } from './lib/check-costs.mjs'
import { checkEstimates } from './lib/estimate-errors.mjs'
import { loadExchanges } from './lib/recorded-exchanges.mjs'
import { startRecordedProvider } from './lib/recorded-provider.mjs'
import { PROTOCOLS, sendAndDisconnect, sendWhole } from './lib/send-recorded.mjs'
import { visibleBytes } from './lib/visible.mjs'

const WIRES = ['openai-chat', 'openai-responses', 'anthropic', 'gemini']
const AT_ONCE = 8
/** More bytes than any recorded prompt had tokens: no account is charged for more tokens than it sent bytes. */
const longPromptOf = ({ usage: { uncached_input, cached_input, cache_write } }) =>
  'as long as the prompt that was recorded, or longer '.repeat(
    20 + Math.ceil((uncached_input + cached_input + cache_write) / 50),
  )

/** Of a shorter one, what stands around it in a request would be most. */
const PROMPT_TOKENS_MIN = 100

const options = readOptions({ id: '' })
const tally = createTally()
const copy = copyAcceptance('recordings')
let numbers = 0
if (copy) await priceAll(copy)
tally.close()

async function priceAll(copy) {
  const recorded = await loadExchanges(copy, WIRES)
  const exchanges = recorded.filter(({ id }) => new RegExp(options.id).test(id))
  const provider = await startRecordedProvider(exchanges)
  const args = ['gen-config.mjs', '--replay', provider.url, '--wire', WIRES.join(',')]
  const printed = await runToEnd(process.execPath, args, { cwd: join(copy, 'harness'), withinMs: 20_000 })
  const config = JSON.parse(printed.stdout)
  const gateway = await serveGateway({ dist: options.dist, config })
  const prompts = recorded.filter(({ plain, edited, usage }) => plain && !edited && usage.output >= PROMPT_TOKENS_MIN)
  const scene = { provider, gateway, prompts }
  // First, while nothing is known of the lanes: an answer that is replayed to another prompt would teach them a wrong count.
  const cut = await hangUpOnAll(scene, exchanges)
  const whole = []
  for (const exchange of exchanges) {
    for (const protocol of PROTOCOLS) {
      for (const stream of [true, false]) whole.push(await requestWhole(scene, { exchange, protocol, stream }))
    }
  }
  await gateway.stop(tally)
  provider.close()
  const { receipts } = await readLedgerRows(gateway.place)
  const prices = new Map(config.models.map(({ id, price }) => [id, price]))
  const receiptOf = new Map(receipts.map((receipt) => [receipt.request_id, receipt]))
  tally.check(receipts.length === whole.length + cut.length, `${whole.length + cut.length} requests, as many receipts`)
  checkWhole(tally, { exchanges, whole, receiptOf, prices })
  const known = cut.flatMap((one) => (receiptOf.has(one.id) ? [{ ...one, receipt: receiptOf.get(one.id) }] : []))
  checkCut(tally, { cut, known, receipts: receipts.slice(0, cut.length), prices })
  checkEstimates(tally, known)
}

async function requestWhole({ gateway }, { exchange, protocol, stream }) {
  const content = `${++numbers}: ${longPromptOf(exchange)}`
  const receivedRequest = await sendWhole(gateway, { protocol, model: exchange.id, content, stream })
  return { exchange, protocol, stream, ...receivedRequest }
}

/** The words of a recorded answer are the prompt: its provider has counted their tokens. */
async function hangUpOnAll({ provider, gateway, prompts }, exchanges) {
  const jobs = exchanges.flatMap((exchange, index) =>
    exchange.chunks.map((_, after) => ({
      exchange,
      // By turns, so that every recording is hung up on by clients of both.
      protocol: PROTOCOLS[after % PROTOCOLS.length],
      after: after + 1,
      prompt: promptFor(prompts, exchange, index),
    })),
  )
  const cut = []
  const worker = async () => {
    for (let job = jobs.shift(); job; job = jobs.shift()) {
      const { exchange, protocol, after, prompt } = job
      const number = ++numbers
      const bytes = visibleBytes(exchange.chunks.slice(0, after))
      const silence = provider.fallSilent(number, after)
      const content = `${number}: ${prompt.words}`
      const receivedRequest = { protocol, model: exchange.id, content }
      cut.push({
        ...job,
        bytes,
        ...(await sendAndDisconnect(gateway, receivedRequest, { silent: silence.sent, bytes })),
      })
      silence.goOn()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return cut
}

function promptFor(prompts, exchange, index) {
  return prompts.includes(exchange) ? exchange : prompts[index % prompts.length]
}
