import { describe, expect, it } from 'vitest'
import { formatUsd, type NanoUsd } from '../../../src/model/money.ts'
import { FILE_TOKENS, IMAGE_TOKENS, inputCounted } from '../../fakes/content-parts.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { readStream } from '../../support/read-stream.ts'
import { answerOf, send } from '../../support/send-chat.ts'
import { respond } from '../../support/send-responses.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { CONTEXT, INPUT, LONG_TEXT, LOOKERS, OUTPUT, PDF, PICTURE, usePartsServer } from './parts-server.ts'

const setup = usePartsServer()

const image = (url: string) => ({ type: 'image_url', image_url: { url } })
const file = (data: string) => ({ type: 'file', file: { file_data: data, filename: 'a' } })
const looksAt = (model: string, ...parts: object[]) => ({
  model,
  max_tokens: 10,
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Look' }, ...parts] }],
})

/** The input tokens that a hold was for, of a request with the cap of these tests. */
const tokensOf = (hold: bigint): number => Number((hold - 10n * OUTPUT) / INPUT)

async function holdOf(body: object): Promise<bigint> {
  const { server } = setup()
  const person = await openAccount(server)
  expect((await answerOf(await send(server, person, body))).status).toBe(200)
  return (await person.receipts())[0]!.hold_nano
}

describe('the hold', () => {
  it('counts each image at its maximum and text files by their bytes', async () => {
    const words = tokensOf(await holdOf(looksAt('over-chat')))
    const moreBy = async (...parts: object[]) => tokensOf(await holdOf(looksAt('over-chat', ...parts))) - words
    const around = JSON.stringify(image('data:image/png;base64,')).length + 1
    expect(await moreBy(image(PICTURE))).toBe(IMAGE_TOKENS + around)
    expect(await moreBy(image(PICTURE), image(PICTURE))).toBe(2 * (IMAGE_TOKENS + around))
    expect(await moreBy(file(PDF))).toBeGreaterThan(FILE_TOKENS)
    expect(await moreBy(file(LONG_TEXT))).toBe(JSON.stringify(file(LONG_TEXT)).length + 1)
  })

  it('is required exactly: with a nano-dollar less, no provider is called', async () => {
    const { server, far } = setup()
    const body = looksAt('over-chat', image(PICTURE), image('https://a.example/b.png'))
    const hold = await holdOf(body)
    far.forget()
    const short = await openAccount(server, { credit: formatUsd((hold - 1n) as NanoUsd) })
    const refused = await answerOf(await send(server, short, body))
    expectProblem(refused, 'insufficient_balance')
    expect(far.providerAnswers).toEqual([])
    const exact = await openAccount(server, { credit: formatUsd(hold as NanoUsd) })
    expect((await answerOf(await send(server, exact, body))).status).toBe(200)
    expect((await exact.wallet()).balance).toBeGreaterThanOrEqual(0n)
  })

  it('is the sum of all parts, even beyond the context', async () => {
    const parts = Array.from({ length: 200 }, (_, at) => image(`https://a.example/${at}.png`))
    const tokens = tokensOf(await holdOf(looksAt('over-chat', ...parts)))
    expect(tokens).toBeGreaterThan(200 * IMAGE_TOKENS)
    expect(tokens).toBeGreaterThan(CONTEXT)
  })

  it('is the maximum charge, whatever usage the provider reports', async () => {
    const { server } = setup()
    const person = await openAccount(server)
    const answer = await answerOf(await send(server, person, looksAt('liar', image(PICTURE), file(PDF))))
    expect(answer.status).toBe(200)
    const [receipt] = await person.receipts()
    expect(receipt!.uncached_input).toBeGreaterThan(tokensOf(receipt!.hold_nano))
    expect(receipt!.charge_nano).toBe(receipt!.hold_nano)
    expect(receipt!.shortfall_nano).toBe(receipt!.cost_nano! - receipt!.hold_nano)
    expect(receipt!.shortfall_nano).toBeGreaterThan(0n)
  })
})

describe('without usage from the provider', () => {
  it('images and URLs are charged at their maximum, documents by bytes, text by a quarter of its bytes', async () => {
    const { server } = setup()
    const person = await openAccount(server)
    const body = { ...looksAt('breaks', image(PICTURE), image('https://a.example/b.png'), file(PDF)), stream: true }
    const stream = await readStream(await send(server, person, body))
    expect(stream.text).toContain('I see')
    const receipt = await until(async () => (await person.receipts()).find(({ state }) => state === 'settled'))
    const data = PICTURE.length + PDF.length - 'data:image/png;base64,data:application/pdf;base64,'.length
    const pdf = PDF.length - 'data:application/pdf;base64,'.length
    const words = JSON.stringify(body.messages).length - data
    expect(receipt.uncached_input).toBe(Math.ceil(words / 4) + 2 * IMAGE_TOKENS + pdf)
    expect(receipt).toMatchObject({ outcome: 'upstream_failed', estimated: 1, shortfall_nano: 0n })
  })
})

describe('an image from an earlier turn', () => {
  it.each(LOOKERS)('is sent, held and charged again with previous_response_id (%s)', async (model) => {
    const { server, far } = setup()
    const person = await openAccount(server)
    const input = [{ role: 'user', content: [{ type: 'input_image', image_url: PICTURE, detail: 'high' }] }]
    const first = await respond(server, person, { model, input })
    const next = await respond(server, person, { model, input: 'And now?', previous_response_id: first.json.id })
    expect(next.json.output[0].content[0].text).toBe(`I see: image image/png of ${PICTURE.length} high`)
    const receipt = (await person.receipts())[1]!
    expect(receipt).toMatchObject({ estimated: 0, uncached_input: inputCounted(far.providerAnswers[1]!) })
    expect(receipt.charge_nano).toBeLessThanOrEqual(receipt.hold_nano)
    expect(receipt.hold_nano).toBeLessThan(BigInt(PICTURE.length) * INPUT)

    const elsewhere = await respond(server, person, {
      model: 'blind',
      input: 'And now?',
      previous_response_id: first.json.id,
    })
    expectProblem(elsewhere, 'unsupported_content', { param: 'input[0].content[0]' })
  })

  it.each(LOOKERS)('is sent to the compacting model and counts on the receipt (%s)', async (model) => {
    const { server, far } = setup()
    const person = await openAccount(server)
    const input = [
      { role: 'user', content: [{ type: 'input_image', image_url: PICTURE }] },
      { role: 'assistant', content: 'A long story. '.repeat(2000) },
    ]
    const answer = await answerOf(await send(server, person, { model, input }, { path: '/responses/compact' }))
    expect(answer.status, JSON.stringify(answer.json)).toBe(200)
    const [receipt] = await person.receipts()
    expect(receipt).toMatchObject({ estimated: 0, uncached_input: inputCounted(far.providerAnswers[0]!) })
    expect(receipt!.charge_nano).toBeLessThanOrEqual(receipt!.hold_nano)
    expect(receipt!.tokens_before).toBeGreaterThan(IMAGE_TOKENS + 7000)
    expect(receipt!.tokens_before).toBeLessThan(IMAGE_TOKENS + 7200)
  })
})
