import { expect, it } from 'vitest'
import { settlement } from '../../test/fixtures/model/ending.ts'
import type { StoredResponses } from '../db/content/stored-responses.ts'
import type { Caller } from '../model/caller.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import type { ResponsesRequest } from '../model/turn.ts'
import type { ResponsesEncoder } from '../protocols/responses/encoder.ts'
import { createStoredResponse } from './keep-answer.ts'

/** A turn that is stored in a file which is slow to take the first row. */
function slowlyBegun(asked: Partial<ResponsesRequest> = {}) {
  const written: string[] = []
  let begin = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const responses: Partial<StoredResponses> = {
    keeps: true,
    async begin() {
      await begun
      written.push('begin')
      return true
    },
    async finish() {
      written.push('finish')
      return true
    },
    async end(_id, _account, status) {
      written.push(status)
    },
    async forget() {
      written.push('forget')
    },
  }
  const request = { protocol: 'responses', delivery: 'stream', previousResponseId: undefined, fields: {}, ...asked }
  const encoder = {
    protocol: 'responses',
    responseId: 'resp_1',
    status: () => 'completed',
    withoutItems: () => '{}',
    storedItems: () => [],
  }
  const stored = createStoredResponse(
    { responses: responses as StoredResponses, stateMs: 1000, now: () => 0 },
    {
      ...{ requestId: 'req_1' as RequestId, caller: { account: 1 as AccountRow } as Caller },
      ...{ input: () => [], recording: undefined },
      ...{ request: request as unknown as ResponsesRequest, encoder: encoder as unknown as ResponsesEncoder },
    },
  )
  return { stored, written, begin }
}

it.each([
  ['finish', (stored) => stored.keep(settlement(1n), false)],
  ['failed', (stored) => stored.end('upstream_failed')],
  ['cancelled', (stored) => stored.end('client_gone')],
  ['forget', (stored) => stored.forget()],
] as const satisfies [string, (stored: ReturnType<typeof slowlyBegun>['stored']) => Promise<unknown>][])(
  'an end (%s) never overtakes the row of the beginning: it would leave a response that runs for ever',
  async (name, finish) => {
    const { stored, written, begin } = slowlyBegun()
    const over = finish(stored)
    await Promise.resolve()
    begin()
    await over
    expect(written).toEqual(['begin', name])
  },
)

it('the first word of a stream waits for its row; what is told when it is whole waits for none', async () => {
  const stream = slowlyBegun()
  stream.begin()
  expect(await stream.stored.begun).toBe(true)
  const goesOn = slowlyBegun({ delivery: 'json', previousResponseId: 'resp_0' })
  expect(goesOn.stored.begun).toBe(undefined)
  expect(slowlyBegun({ compacts: 'by-trigger' }).stored.begun).toBe(undefined)
  goesOn.begin()
  await goesOn.stored.keep(settlement(1n), false)
  expect(goesOn.written).toEqual(['begin', 'finish'])
})
