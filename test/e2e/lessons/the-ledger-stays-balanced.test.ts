import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { findLedgerId } from '../../../src/db/meta.ts'
import { findMarks } from '../../../src/db/receipts.ts'
import { openSettleJournal } from '../../../src/db/settle-journal.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { unpackMarks } from '../../../src/ledger/marks.ts'
import { secureRandom } from '../../../src/lib/random-id.ts'
import { type KeyRow, mintRequestId } from '../../../src/model/ids.ts'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { chunk, USAGE, usageChunk, WORDS } from '../../fakes/chat-frames.ts'
import { delivered } from '../../fakes/delivered.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import { FAULTS } from '../../fakes/faults.ts'
import { problemsOf } from '../../fixtures/config/config.ts'
import { fillDiskFor } from '../../support/full-disk.ts'
import { readStream } from '../../support/read-stream.ts'
import { chat, get, hello, send } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { nanoOf, openAccount, rowOf, type TestAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { configOf, EVERY_CLASS, modelLine, priced, tokensOf, useScriptedUpstreams } from './scripted-server.ts'

const QUESTION = hello('Say good morning, please.')
const INPUT = tokensOf(JSON.stringify(QUESTION))
const REPORTED = priced({ input: 7, cached: 4, output: 7 })

/** What the provider has still to say when it is let go on. */
let goOn = () => {}
const waits = (
  before: (providerAnswer: ProviderAnswer) => readonly (object | string)[],
  after: (providerAnswer: ProviderAnswer) => readonly (object | string)[],
) =>
  (async (providerAnswer) => {
    await providerAnswer.head()
    await providerAnswer.frames(...before(providerAnswer))
    await new Promise<void>((resolve) => {
      goOn = resolve
    })
    await providerAnswer.frames(...after(providerAnswer))
    await providerAnswer.end()
  }) satisfies Script

const role = ({ model }: ProviderAnswer) => chunk(model, { delta: { role: 'assistant', content: '' } })
const words = ({ model }: ProviderAnswer) => WORDS.map((content) => chunk(model, { delta: { content } }))
const stop = ({ model }: ProviderAnswer) => chunk(model, { finish: 'stop' })
const usage = ({ model }: ProviderAnswer) => usageChunk(model, USAGE)

const scripts: Record<string, Script> = {
  good: (providerAnswer) => FAULTS.healthy(providerAnswer),
  silent: async () => {},
  'head-only': waits(
    (providerAnswer) => [role(providerAnswer)],
    () => [],
  ),
  'words-said': waits(
    (providerAnswer) => [role(providerAnswer), ...words(providerAnswer)],
    (providerAnswer) => [stop(providerAnswer), usage(providerAnswer), '[DONE]'],
  ),
  'finish-said': waits(
    (providerAnswer) => [role(providerAnswer), ...words(providerAnswer), stop(providerAnswer)],
    (providerAnswer) => [usage(providerAnswer), '[DONE]'],
  ),
}

const setup = useScriptedUpstreams(scripts)

/** Those that were started from what a kill had left. */
const images: TestServer[] = []
const hangUp = { now: () => {} }
afterEach(async () => {
  vi.restoreAllMocks()
  hangUp.now()
  goOn()
  for (const image of images.splice(0)) {
    await expectBalancedLedger(image)
    await image.close()
  }
})

/** A server on the files as they lie there at this moment: what the next start after a kill finds. */
async function afterKill(): Promise<TestServer> {
  const { server, config } = setup()
  const image = await startServer({
    config,
    prepare: (folder) => cp(server.folder, folder, { recursive: true, filter: (path) => !path.endsWith('.sock') }),
  })
  images.push(image)
  return image
}

const rowIn = async ({ app: { operations } }: TestServer, requestId: string) =>
  (await operations.db.selectFrom('receipts').selectAll().where('request_id', '=', requestId).execute())[0]

const streamed = (model: string) => ({
  model,
  stream: true,
  stream_options: { include_usage: true },
  messages: QUESTION,
})

/** How far the answer of this row has got is durable. */
const marked = async (server: TestServer, row: number, tokens: number): Promise<boolean> =>
  (await findMarks(server.app.operations.db)).some(({ packed }) => unpackMarks(packed).get(row) === tokens)

describe('the ledger stays balanced', () => {
  it('A5: a failed settle goes to the journal, is logged, and is applied once, also after a kill', async () => {
    const { server } = setup()
    const account = await openAccount(server)
    const reported = vi.spyOn(server.app.log, 'error')
    const response = await send(server, account, streamed('finish-said'))
    await until(() => setup().far.providerAnswers.length === 1)
    await delivered()
    const makeRoom = await fillDiskFor(server.app.operations.db, 'UPDATE ON receipts')
    goOn()
    const answer = await readStream(response)
    expect(answer.done).toBe(true)
    expect(nanoOf(answer.chunks.at(-1).usage.millrace.charge)).toBe(REPORTED)

    expect(reported).toHaveBeenCalledWith(expect.anything(), expect.stringMatching(/could not record a batch/))
    const ready = await fetch(`${server.baseUrl.replace('/v1', '')}/readyz`)
    expect([ready.status, await ready.json()]).toMatchObject([503, { status: 'not-ready' }])
    const copy = join(server.folder, 'journal-copy')
    await cp(join(server.folder, 'settles.journal'), copy)
    const ledger = await findLedgerId(server.app.operations.db)
    const journal = await openSettleJournal({ path: copy, ledger, now: () => 0 })
    expect((await journal.read()).filter((record) => record.includes(answer.requestId))).toHaveLength(1)
    await journal.close()

    const image = await afterKill()
    expect(await rowIn(image, answer.requestId)).toMatchObject({ outcome: 'completed', charge_nano: REPORTED })
    await makeRoom()
    await until(() => server.app.ledgerAvailable())
    expect(await rowIn(server, answer.requestId)).toMatchObject({ outcome: 'completed', charge_nano: REPORTED })
    expect((await account.wallet()).balance).toBe(10_000_000_000n - REPORTED)
  })

  it.each([
    ['0.00000015', /price per token.*unit is USD per million tokens/],
    ['0.000003', /price per token.*unit is USD per million tokens/],
    ['-3.00', /no sign/],
    ['3000000.00', /unit is USD per million tokens/],
    ['3,00', /no comma/],
  ])('A20: a price such as "%s" is refused when the file is read, with the unit named', (input, retryRule) => {
    const [problem] = problemsOf({
      yaml: configOf('http://127.0.0.1:1/v1', [
        modelLine('m', ['m'], { price: `{ input: "${input}", output: "1.00" }` }),
      ]),
    })
    expect(problem).toMatchObject({ path: 'models[0].price.input' })
    expect(problem!.message).toMatch(/price in USD per million tokens/)
    expect(problem!.cure).toMatch(retryRule)
  })

  it('A20: a wrong charge is corrected by a new entry with a reason; no row changes', async () => {
    const { server } = setup()
    const account = await openAccount(server)
    const { requestId } = await chat(server, account, { model: 'good' })
    const before = await rowIn(server, requestId)
    const credit = { amount: '0.50', reason: 'priced wrongly', ref: requestId }
    await server.operate('wallet.credit', { account: account.id, ...credit })
    const { items: entries } = await server.operate('wallet.entries', { account: account.id })
    expect(entries[0]).toMatchObject({ kind: 'credit', ...credit })
    expect(await rowIn(server, requestId)).toEqual(before)
    expect((await account.wallet()).balance).toBe(10_500_000_000n - before!.charge_nano!)
  })

  it('A22: a charge can be recomputed from its receipt', async () => {
    const { server } = setup()
    const account = await openAccount(server)
    const { requestId } = await chat(server, account, { model: 'good' })
    const { json } = await get(server, account, `/requests/${requestId}`)
    // Dollars for a million tokens are thousands of nano-dollars for one.
    const rate = (name: string): bigint => nanoOf(json.price[name]) / 1_000_000n
    const { uncached_input, cached_input, cache_write, output } = json.tokens
    const cost =
      BigInt(uncached_input) * rate('input') +
      BigInt(cached_input) * rate('cached_input') +
      BigInt(cache_write) * rate('cache_write') +
      BigInt(output) * rate('output')
    expect([nanoOf(json.cost), nanoOf(json.charge)]).toEqual([cost, cost])
    expect(json).toMatchObject({ id: requestId, tier: 0, price_version: 1, model: 'good' })
    expect(EVERY_CLASS).toContain(`input: "${json.price.input}"`)
  })

  it('A23: a balance is always the sum of its entries, and each names its cause', async () => {
    const { server } = setup()
    const accounts = await Promise.all(Array.from({ length: 4 }, () => openAccount(server, { credit: '0.01' })))
    const work = Promise.all(
      accounts.flatMap((account) =>
        Array.from({ length: 25 }, async (_, index) => {
          const response = await send(server, account, { ...streamed('good'), stream: index % 2 === 0, max_tokens: 20 })
          if (index % 5 === 0) await response.body?.cancel()
          else await response.text()
          if (index % 10 === 0) await account.credit('0.001')
        }),
      ),
    )
    let over = false
    const proofs = (async () => {
      let count = 0
      for (; !over; count++) {
        const { checks } = await server.operate('db.verify', {})
        expect(checks.filter(({ violations }) => violations > 0)).toEqual([])
      }
      return count
    })()
    await work.finally(() => {
      over = true
    })
    expect(await proofs).toBeGreaterThan(0)
    await until(() => server.serving.turnsRunning === 0)
    for (const account of accounts) expect((await account.wallet()).balance).toBe(await sumOfEntries(server, account))
  })

  async function sumOfEntries(server: TestServer, account: TestAccount): Promise<bigint> {
    const { items: entries } = await server.operate('wallet.entries', { account: account.id })
    for (const { reason, ref } of entries)
      expect([reason, ref]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)])
    const receipts = await account.receipts()
    for (const { outcome, request_id } of receipts) {
      expect(outcome).toMatch(/^(completed|client_gone)$/)
      expect(request_id).toMatch(/^req_/)
    }
    const paidIn = entries.reduce((sum, { amount }) => sum + nanoOf(amount), 0n)
    return receipts.reduce((sum, { charge_nano }) => sum - charge_nano!, paidIn)
  }

  const STEPS = [
    { step: 'the hold is durable and the provider silent', model: 'silent', outcome: 'recovered', charge: 0n },
    { step: 'the provider has accepted and said nothing', model: 'head-only', outcome: 'recovered', charge: 0n },
    {
      step: 'words have gone out and are marked',
      model: 'words-said',
      outcome: 'recovered',
      charge: priced({ input: INPUT, output: tokensOf(WORDS.join('')) }),
    },
    {
      step: 'the finish has gone out and the count is awaited',
      model: 'finish-said',
      outcome: 'recovered',
      charge: priced({ input: INPUT, output: tokensOf(WORDS.join('')) }),
    },
    { step: 'the charge is durable', model: 'good', outcome: 'completed', charge: REPORTED },
  ]
  it.each(STEPS)(
    'A30: killed when $step, the next start leaves no hold and charges once',
    async ({ model, outcome, charge }) => {
      const { server, far } = setup()
      const account = await openAccount(server)
      const controller = new AbortController()
      hangUp.now = () => controller.abort()
      const receivedRequest = send(server, account, streamed(model), { signal: controller.signal })
      receivedRequest.catch(() => {})
      await until(() => far.providerAnswers.length === 1)
      const row = () => account.receipts().then((rows) => rows[0])
      await until(row)
      if (charge > 0n) await receivedRequest
      if (model === 'good') await until(async () => (await row())?.state === 'settled')
      else if (charge > 0n) await until(async () => marked(server, (await row())!.row, tokensOf(WORDS.join(''))))
      const { request_id } = (await row())!

      const image = await afterKill()
      expect(await rowIn(image, request_id)).toMatchObject({
        state: charge > 0n ? 'settled' : 'released',
        outcome,
        charge_nano: charge,
        shortfall_nano: 0n,
      })
      const shown = await image.operate('wallet.show', { account: account.id })
      expect([nanoOf(shown.balance), nanoOf(shown.held)]).toEqual([10_000_000_000n - charge, 0n])
      expect((await chat(image, account, { model: 'good' })).status).toBe(200)
    },
  )

  it('A30: the sweeper releases a hold whose turn is lost', async () => {
    const { server } = setup()
    const account = await openAccount(server)
    const { db, clock, ledger } = server.app.operations
    const row = await rowOf(server, account.id)
    const key = await db.selectFrom('keys').select('row').where('account', '=', row).executeTakeFirstOrThrow()
    const admission = await (ledger as Ledger).admit({
      requestId: mintRequestId(clock.now(), secureRandom),
      account: row,
      key: key.row as KeyRow,
      kind: 'wallet',
      model: 'good',
      priceVersion: 1,
      terms: { inputPico: 1_000_000n, outputPicoPerToken: 1_000_000n, perRequest: 0n as never },
      clientCap: 100,
      chosenCap: { sharePercent: 25, tokensMin: 1024 },
      modelCap: 100,
      choices: 1,
      inputEstimate: 1,
      cachedEstimate: 0,
      allowances: [],
      claim: undefined,
      limits: [],
    })
    if (admission.kind !== 'admitted') throw new Error('refused')
    await admission.durable
    expect((await account.wallet()).held).toBeGreaterThan(0n)
    admission.detach()
    // Memory knows it a commit earlier than the file.
    await until(async () => (await account.receipts()).every(({ state }) => state !== 'open'))
    expect(await account.receipts()).toMatchObject([{ state: 'released', outcome: 'recovered', charge_nano: 0n }])
    expect(await account.wallet()).toMatchObject({ balance: 10_000_000_000n, held: 0n })
  })
})
