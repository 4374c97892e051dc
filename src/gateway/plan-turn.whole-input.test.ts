import { expect, it } from 'vitest'
import { requestOf } from '../../test/fixtures/protocols/responses/read-request.ts'
import type { Lane } from '../catalog/catalog.ts'
import type { AccountRow } from '../model/ids.ts'
import type { Wire } from '../model/wire.ts'
import { parseRequest } from '../protocols/chat/parse-request.ts'
import { scanJson } from '../protocols/json/scan-json.ts'
import { SUMMARY_REQUEST_BYTES } from '../protocols/shared/summary.ts'
import { wholeInput } from './plan-turn.ts'
import { createCallSealMemory } from './seals.ts'

const laneOn = (wire: Wire, origin: string) => ({ origin, upstream: { wire } }) as Lane
const LANES = [laneOn('chat', 'chat/m'), laneOn('responses', 'here/m'), laneOn('responses', 'there/m')]

/** A Chat request that goes on from a call. */
function afterCall() {
  const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
  const emitted = { role: 'assistant', tool_calls: [call] }
  const result = { role: 'tool', tool_call_id: 'call_1', content: 'rain' }
  const value = { model: 'm', messages: [{ role: 'user', content: 'Look' }, emitted, result] }
  const bytes = Buffer.from(JSON.stringify(value))
  const scanned = scanJson(bytes, { depthMax: 64, valuesMax: 1000 })
  const read = scanned.kind === 'scanned' ? parseRequest({ bytes, members: scanned.members, value }) : undefined
  if (read?.kind !== 'read') throw new Error('the request of this test is malformed')
  return read.request
}

/** What is known of that call: two seals of one lane, and one of another. */
function knownSeals() {
  const seals = createCallSealMemory({ nowMicros: () => 0 }).of(1 as AccountRow)
  const sealed = [
    ['here/m', 'gAAA'],
    ['here/m', 'gBBBBB'],
    ['there/m', 'gCC'],
  ] as const
  seals.keep(
    'call_1',
    sealed.map(([origin, data]) => ({ opaque: { wire: 'responses', origin, data }, textBetween: false })),
  )
  return seals
}

it('what a client has sent is the whole input where we add nothing', async () => {
  const request = afterCall()
  expect(await wholeInput(request, LANES, undefined)).toBe(request)
  expect(await wholeInput(request, LANES.slice(0, 1), knownSeals())).toBe(request)
})

it('what is given back before a call is as long as for the lane that gets the most of it', async () => {
  const request = afterCall()
  const { bodyBytes, inputBytes, messages, tools } = request.inputSize
  const bytes = 'gAAA'.length + 'gBBBBB'.length
  expect(await wholeInput(request, LANES, knownSeals())).toEqual({
    inputSize: { bodyBytes: bodyBytes + bytes, inputBytes: inputBytes + bytes, messages, tools },
    otherInputs: [],
  })
})

it('who makes a conversation short is asked for that, in one message more', async () => {
  const request = { ...requestOf({ model: 'm', input: 'Hello' }), compacts: 'by-trigger' } as const
  const { bodyBytes, inputBytes, messages, tools } = request.inputSize
  const bytes = SUMMARY_REQUEST_BYTES
  expect(await wholeInput(request, LANES, undefined)).toEqual({
    inputSize: { bodyBytes: bodyBytes + bytes, inputBytes: inputBytes + bytes, messages: messages + 1, tools },
    otherInputs: [],
  })
})
