import { describe, expect, it } from 'vitest'
import { LANES, useLanes } from '../../sdks/lanes.ts'
import { openAccount } from '../../support/test-account.ts'
import { errorOf, expectReplay, type KeyedAnswer, sendTurn } from './keyed.ts'

const server = useLanes()
const ENDPOINT = '/responses/compact'
const RESPONSES = '/responses'

const question = { role: 'user', content: 'The harbour gate opens with code 4711.' }
const TRIGGER = { type: 'compaction_trigger' }

const FORMS = {
  'at the endpoint': { path: ENDPOINT, body: { input: [question] } },
  'by a trigger, as JSON': { path: RESPONSES, body: { input: [question, TRIGGER] } },
  'by a trigger, streamed': { path: RESPONSES, body: { input: [question, TRIGGER], stream: true } },
}

const cases = LANES.flatMap(({ lane, model }) =>
  Object.entries(FORMS).map(([form, { path, body }]) => ({ lane, form, path, body: { model, ...body } })),
)

/** What stands for the conversation in an answer of any form. */
function sealedIn({ text }: KeyedAnswer): object {
  const [, sealed] = /"encrypted_content":"([^"]+)"/.exec(text) ?? []
  return { type: 'compaction', encrypted_content: sealed }
}

describe.each(cases)('a conversation compacted $form over $lane', ({ path, body }) => {
  it('is replayed byte for byte, charged once, and can be continued', async () => {
    const account = await openAccount(server())
    const receivedRequest = { key: account.key, path, idempotencyKey: 'once' }
    const first = await sendTurn(server(), receivedRequest, body)
    expect(first.status).toBe(200)
    const { balance } = await account.wallet()
    for (let times = 0; times < 2; times++) expectReplay(await sendTurn(server(), receivedRequest, body), first)
    expect((await account.wallet()).balance).toBe(balance)
    expect(await account.receipts()).toHaveLength(1)
    const again = await sendTurn(server(), receivedRequest, body)
    const next = { model: body.model, input: [sealedIn(again), question] }
    expect((await sendTurn(server(), { key: account.key, path: RESPONSES }, next)).status).toBe(200)
  })

  it('answers 422 to another body and 409 while it runs', async () => {
    const account = await openAccount(server())
    const receivedRequest = { key: account.key, path, idempotencyKey: 'once' }
    const answers = await Promise.all(Array.from({ length: 6 }, () => sendTurn(server(), receivedRequest, body)))
    const [first, ...others] = answers.filter(({ status }) => status === 200)
    if (first === undefined) throw new Error('none of them ran')
    expect(others.filter(({ headers }) => !headers.has('idempotency-replayed'))).toEqual([])
    for (const answer of answers.filter(({ status }) => status !== 200))
      expect([answer.status, errorOf(answer).code]).toEqual([409, 'idempotency_in_progress'])
    const other = await sendTurn(server(), receivedRequest, { ...body, instructions: 'Be brief.' })
    expect([other.status, errorOf(other).code]).toEqual([422, 'idempotency_key_reused'])
    expect(await account.receipts()).toHaveLength(1)
  })
})

describe('one key', () => {
  it('names separate requests on each endpoint', async () => {
    const account = await openAccount(server())
    const body = { model: 'talker', input: [question] }
    const sendAt = (path: string) => sendTurn(server(), { key: account.key, path, idempotencyKey: 'twice' }, body)
    const [answered, compacted] = [await sendAt(RESPONSES), await sendAt(ENDPOINT)]
    expect(JSON.parse(answered.text).object).toBe('response')
    expect(JSON.parse(compacted.text).object).toBe('response.compaction')
    expect(compacted.headers.get('idempotency-replayed')).toBe(null)
    expectReplay(await sendAt(RESPONSES), answered)
    expectReplay(await sendAt(ENDPOINT), compacted)
    expect(await account.receipts()).toHaveLength(2)
  })

  it('is free again after a refused compaction', async () => {
    const account = await openAccount(server())
    const receivedRequest = { key: account.key, path: ENDPOINT, idempotencyKey: 'refused' }
    const body = { model: 'talker', input: [question] }
    const refused = await sendTurn(server(), receivedRequest, { ...body, stream: true })
    expect([refused.status, errorOf(refused).code]).toEqual([400, 'unsupported_parameter'])
    const first = await sendTurn(server(), receivedRequest, body)
    expect(first.status).toBe(200)
    expectReplay(await sendTurn(server(), receivedRequest, body), first)
  })
})
