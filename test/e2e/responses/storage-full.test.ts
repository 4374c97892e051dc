import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { get } from '../../support/send-chat.ts'
import { respond, streamResponse } from '../../support/send-responses.ts'
import { openAccount } from '../../support/test-account.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const ROOM = 32 * 1024
/** Chance does not become smaller by packing. */
const tooMuch = () => randomBytes(ROOM).toString('base64')

describe('a response that does not fit into storage', () => {
  const server = useServer({ config: `${TEST_CONFIG}\nretention: { state_bytes: ${ROOM} }\n` })

  it('is delivered and charged, marked as not stored, and not retrievable', async () => {
    const account = await openAccount(server())
    const { status, json } = await respond(server(), account, { input: tooMuch() })
    expect([status, json.status, json.store]).toEqual([200, 'completed', false])
    expect((await account.receipts()).map(({ outcome }) => outcome)).toEqual(['completed'])
    expectProblem(await get(server(), account, `/responses/${json.id}`), 'response_not_found')
  })

  it('is not retrievable after its stream', async () => {
    const account = await openAccount(server())
    const { id, response } = await streamResponse(server(), account, { input: tooMuch() })
    expect(response.status).toBe('completed')
    expectProblem(await get(server(), account, `/responses/${id}`), 'response_not_found')
    const next = await respond(server(), account, { previous_response_id: id, input: 'And then?' })
    expectProblem(next, 'previous_response_not_found')
  })

  it('does not evict responses that fit', async () => {
    const account = await openAccount(server())
    await respond(server(), account, { input: tooMuch() })
    const { json } = await respond(server(), account)
    expect(json.store).toBe(true)
    expect((await get(server(), account, `/responses/${json.id}`)).json).toMatchObject({ id: json.id })
  })
})
