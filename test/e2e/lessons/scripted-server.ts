import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { WORDS } from '../../fakes/chat-frames.ts'
import { type FaultUpstream, type Script, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'

/** The real house in front of a provider whose scripts the test writes itself. */
export interface ScriptedSetup {
  readonly server: TestServer
  readonly far: FaultUpstream
}

/** One house for the tests of a file; after each of them the books are closed as an auditor would. */
export function useScriptedUpstream(
  scriptOf: (model: string) => Script | undefined,
  configOf: (baseUrl: string) => string,
): () => ScriptedSetup & { readonly config: string } {
  let setup: (ScriptedSetup & { readonly config: string }) | undefined
  const current = () => {
    if (!setup) throw new Error('the house has not been opened yet')
    return setup
  }
  beforeAll(async () => {
    const far = await startFaultUpstream(scriptOf)
    const config = configOf(far.baseUrl)
    setup = { server: await startServer({ config }), far, config }
  })
  afterEach(async () => {
    await expectBalancedLedger(current().server)
    current().far.forget()
  })
  afterAll(async () => {
    await setup?.server.close()
    await setup?.far.close()
  })
  return current
}

/** The same, with a model for each script, by its name. */
export const useScriptedUpstreams = (scripts: Readonly<Record<string, Script>>) =>
  useScriptedUpstream(
    (model) => scripts[model],
    (baseUrl) =>
      configOf(
        baseUrl,
        Object.keys(scripts).map((name) => modelLine(name, [name])),
      ),
  )

/** Every class has a price of its own, and a long input is twice as dear. */
export const EVERY_CLASS =
  '{ input: "1.00", cached_input: "0.25", cache_write: "1.50", output: "2.00", ' +
  'tiers: [{ above_input_tokens: 1000, input: "2.00", cached_input: "0.50", cache_write: "3.00", output: "4.00" }] }'

/** Nano-dollars a token of that price. */
const RATES = { input: 1000n, cached: 250n, written: 1500n, output: 2000n } as const
export const LONG_INPUT = 1000

export interface Classes {
  readonly input?: number
  readonly cached?: number
  readonly written?: number
  readonly output?: number
}

/** What these tokens cost at the price of every class, worked out apart from the program. */
export function priced({ input = 0, cached = 0, written = 0, output = 0 }: Classes): bigint {
  const cost =
    BigInt(input) * RATES.input +
    BigInt(cached) * RATES.cached +
    BigInt(written) * RATES.written +
    BigInt(output) * RATES.output
  return input + cached + written > LONG_INPUT ? 2n * cost : cost
}

const BYTES_PER_TOKEN = 4
/** The estimate for a stream of `WORDS` without usage: where its frames are as long as tokens, each counts as one. */
export function tokensOfWords(text: string): number {
  let [frames, length] = [0, 0]
  for (const word of WORDS) {
    if (length >= text.length) break
    length += word.length
    frames += 1
  }
  const bytes = Buffer.byteLength(text)
  return bytes >= frames * 2 && bytes <= frames * 6.5 ? frames : tokensOf(text)
}

export const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)

/** What a template may add to the bytes of a request with one message. */
const TEMPLATE_TOKENS = 8 + 64
/** The most input tokens that the bytes of this request can become. */
export const boundOf = (body: object): number => Buffer.byteLength(JSON.stringify(body)) + TEMPLATE_TOKENS

interface ModelParts {
  readonly price?: string
  readonly more?: string
  readonly upstream?: string
}

/** A model's entry in the file; its lanes are the names of scripts, in the order in which they are tried. */
export function modelLine(id: string, lanes: readonly string[], parts: ModelParts = {}): string {
  const { price = EVERY_CLASS, more = 'context_tokens: 100000, max_output_tokens: 2000,', upstream = 'far' } = parts
  const written = lanes.map((model, at) => `{ upstream: ${upstream}, model: ${model}, priority: ${at} }`)
  return `  - { id: ${id}, ${more} price: ${price}, lanes: [${written}] }\n`
}

export const upstreamLine = (baseUrl: string, id = 'far', more = ''): string =>
  `  - { id: ${id}, wire: chat, base_url: "${baseUrl}", allow_private: true, ${more} }\n`

/** A file with one provider. */
export const configOf = (baseUrl: string, models: readonly string[], more = ''): string =>
  `${EVERY_LANE_ASKED}upstreams:\n${upstreamLine(baseUrl)}models:\n${models.join('')}${more}`

/** Something that an account draws on, and the turns that do so, as one moment has them. */
export interface Drawn {
  readonly name: string
  readonly kind: 'wallet' | 'window' | 'cap'
  /** What is there, or what is left under a spend cap. */
  readonly posted_nano: bigint
  readonly held_nano: bigint
  /** The holds of its open turns. */
  readonly open_nano: bigint
  /** What its turns have been charged. */
  readonly charged_nano: bigint
}

/** One statement, and so one moment. */
export async function drawnOf({ app }: TestServer, account: string): Promise<readonly Drawn[]> {
  const ofTurns = (what: string, state: string) =>
    sql.raw(`(
    SELECT coalesce(sum(${what}), 0) FROM receipts, json_each(receipts.buckets)
    WHERE receipts.account = buckets.account AND json_each.value = buckets.row AND receipts.state = '${state}')`)
  const ofCapped = (what: string, state: string) =>
    sql.raw(`(
    SELECT coalesce(sum(${what}), 0) FROM receipts, json_each('["' || replace(receipts.caps, ' ', '","') || '"]')
    WHERE receipts.account = counter.account AND receipts.state = '${state}'
      AND counter.subject = 'cap:' || receipts.key || ':' || json_each.value)`)
  const { rows } = await sql<Drawn>`
    SELECT CAST(buckets.row AS TEXT) AS name, buckets.kind, buckets.posted_nano, buckets.held_nano,
      ${ofTurns('hold_nano', 'open')} AS open_nano, ${ofTurns('charge_nano', 'settled')} AS charged_nano
    FROM buckets JOIN accounts ON accounts.row = buckets.account WHERE accounts.id = ${account}
    UNION ALL
    SELECT counter.subject, 'cap', bound_nano - spent_nano, held_nano,
      ${ofCapped('hold_nano', 'open')}, ${ofCapped('charge_nano', 'settled')}
    FROM spend_counters AS counter JOIN accounts ON accounts.row = counter.account WHERE accounts.id = ${account}`.execute(
    app.operations.db,
  )
  return rows
}

/** Looks again and again while the work goes on: nothing is ever overdrawn, and every hold belongs to an open turn. */
export async function watchDrawn(server: TestServer, account: string, work: Promise<unknown>): Promise<number> {
  let over = false
  const watched = work.finally(() => {
    over = true
  })
  const whole = new Map<string, bigint>()
  let moments = 0
  while (!over) {
    for (const { name, posted_nano, held_nano, open_nano, charged_nano } of await drawnOf(server, account)) {
      expect(held_nano).toBe(open_nano)
      expect(held_nano).toBeGreaterThanOrEqual(0n)
      expect(held_nano).toBeLessThanOrEqual(posted_nano)
      // What is there and what was charged is what was once put in, at every moment.
      expect(posted_nano + charged_nano).toBe(whole.get(name) ?? posted_nano + charged_nano)
      whole.set(name, posted_nano + charged_nano)
    }
    moments += 1
  }
  await watched
  return moments
}
