import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { loadKeyring } from '../../src/app/key-ring.ts'
import { openContent } from '../../src/db/content/open-content.ts'
import { createStoredResponses, type StoredResponses } from '../../src/db/content/stored-responses.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { AccountId } from '../../src/model/ids.ts'
import { FrameWriter } from '../../src/protocols/responses/response-frames.ts'
import { ended, started } from '../fixtures/db/content/stored-responses.ts'
import { requestWith } from '../fixtures/protocols/responses/encoder.ts'
import { expectProblem } from '../support/expect-problem.ts'
import { answerOf, get } from '../support/send-chat.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { openAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'

const HOUR_MS = 3_600_000

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-stored-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** What a server that has stopped since has stored. */
async function storing(work: (responses: StoredResponses) => Promise<void>): Promise<void> {
  const keyring = await loadKeyring({ dataDir: folder, secretFromEnvironment: undefined })
  const file = await openContent({ path: join(folder, 'content.db'), clock: systemClock })
  const onFailure = (error: unknown) => expect(error).toBe(undefined)
  await work(
    createStoredResponses({ file, sealingKeys: keyring.keys, now: systemClock.now, bytesMax: 1_000_000, onFailure }),
  )
  await file.close()
}

const objectOf = (responseId: string, status: 'completed' | 'in_progress'): Buffer => {
  const request = requestWith({}, { storedInput: () => [] })
  const frames = new FrameWriter({ request, model: 'm', effort: undefined, responseId, createdAt: 1 })
  return Buffer.from(frames.responseJson({ status, output: [] }))
}

const MESSAGE = Buffer.from(
  JSON.stringify({
    ...{ id: 'msg_done', type: 'message', role: 'assistant', status: 'completed' },
    content: [{ type: 'output_text', text: 'answer done', annotations: [], logprobs: [] }],
  }),
)

const remove = async (server: TestServer, { key }: { key: string }, id: string) =>
  answerOf(
    await fetch(`${server.baseUrl}/responses/${id}`, { method: 'DELETE', headers: { authorization: `Bearer ${key}` } }),
  )

it('stored responses survive restarts, fail when interrupted, expire, and stay private', async () => {
  const first = await startServer({ folder })
  const [mine, theirs] = [await openAccount(first), await openAccount(first)]
  const account = mine.id as AccountId
  await first.close()
  const expiresAt = systemClock.now() + HOUR_MS
  await storing(async (responses) => {
    const done = { account, expiresAt, object: objectOf('resp_done', 'completed'), output: [MESSAGE] }
    expect(await responses.finish(ended('done', done))).toBe(true)
    const running = { ...started('running', { account, expiresAt }), object: objectOf('resp_running', 'in_progress') }
    expect(await responses.begin(running)).toBe(true)
    expect(await responses.finish(ended('other', { account, expiresAt }))).toBe(true)
  })

  const second = await startServer({ folder })
  const receivedRequest = (who: { key: string }, id: string) => get(second, who, `/responses/${id}`)
  expect((await receivedRequest(mine, 'resp_done')).json).toMatchObject({
    status: 'completed',
    output: [{ id: 'msg_done' }],
  })
  expect((await receivedRequest(mine, 'resp_running')).json).toMatchObject({
    status: 'failed',
    error: { code: 'server_error' },
  })
  expectProblem(await receivedRequest(theirs, 'resp_done'), 'response_not_found')
  expectProblem(await remove(second, theirs, 'resp_done'), 'response_not_found')
  expect((await remove(second, mine, 'resp_other')).json).toEqual({
    ...{ id: 'resp_other', object: 'response.deleted' },
    deleted: true,
  })
  expectProblem(await receivedRequest(mine, 'resp_other'), 'response_not_found')
  second.advance(HOUR_MS)
  expectProblem(await receivedRequest(mine, 'resp_done'), 'response_not_found')
  await second.close()
})

it('a server without storage shows no stored response', async () => {
  const first = await startServer({ folder })
  const mine = await openAccount(first)
  const account = mine.id as AccountId
  await first.close()
  await storing(async (responses) => {
    await responses.finish(ended('done', { account, expiresAt: systemClock.now() + HOUR_MS }))
  })
  const second = await startServer({ folder, config: `${TEST_CONFIG}\nretention: { state: 1h, state_bytes: 0 }\n` })
  expectProblem(await get(second, mine, '/responses/resp_done'), 'response_not_found')
  await second.close()
})
