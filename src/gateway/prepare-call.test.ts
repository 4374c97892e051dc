import { describe, expect, it } from 'vitest'
import { countedIds, openEncoder, settledCharge } from '../../test/fixtures/protocols/responses/encoder.ts'
import { added, ended, event } from '../../test/fixtures/protocols/responses/re-emit.ts'
import { requestOf, withItems } from '../../test/fixtures/protocols/responses/read-request.ts'
import type { Lane } from '../catalog/catalog.ts'
import type { Fields } from '../lib/types.ts'
import type { AccountRow } from '../model/ids.ts'
import type { ResponsesRequest } from '../model/turn.ts'
import type { Wire } from '../model/wire.ts'
import { laneDialect } from '../routing/learned-capabilities.ts'
import { prepareCall } from './prepare-call.ts'
import { createCallSealMemory } from './seals.ts'

const laneOn = (wire: Wire, dialect: string, origin = 'here') =>
  ({ id: `${wire}/m`, model: 'm', origin, upstream: { wire, dialect } }) as Lane

async function routeOn(lanes: readonly [Lane, ...Lane[]], over: Partial<ResponsesRequest> = {}) {
  const asked = requestOf({ ...withItems({ role: 'user', content: 'Hi' }), tools: [{ type: 'function', name: 'f' }] })
  const request: ResponsesRequest = { ...asked, compacts: 'by-trigger', ...over }
  const [lane] = lanes
  const encoder = openEncoder({ others: { request } })
  const { laneRequest, conversion } = await prepareCall({
    ...{
      lane,
      dialect: laneDialect(lane),
      request,
      encoder,
      mint: countedIds(),
      callSeals: createCallSealMemory({ nowMicros: () => 0 }),
      account: 1 as AccountRow,
      cacheSalt: 'salt',
    },
    ...{ model: { lanes, passFields: [] }, effort: undefined, outputCap: 500 },
    options: { withoutSeals: false, withoutNativeCompaction: false },
  })
  const body = JSON.parse(String(laneRequest.body)) as Fields
  return { strategy: conversion, body, encoder }
}

const isNative = ({ body }: { body: Fields }) => JSON.stringify(body.input ?? []).includes('compaction_trigger')

describe('a conversation is made short', async () => {
  it('by a provider that can, where all that comes later runs on it', async () => {
    const { strategy, body } = await routeOn([laneOn('responses', 'openai')])
    expect(body).toMatchObject({
      stream: true,
      max_output_tokens: 500,
      input: [{ role: 'user' }, { type: 'compaction_trigger' }],
    })
    expect(strategy.delivery).toBe('stream')
    expect(isNative(await routeOn([laneOn('responses', 'openai'), laneOn('responses', 'openai')]))).toBe(true)
  })

  it.each([
    ['the server cannot', [laneOn('responses', 'generic')]],
    ['it speaks Chat', [laneOn('chat', 'openai')]],
    ['another lane could not read it', [laneOn('responses', 'openai'), laneOn('responses', 'openai', 'there')]],
    ['another lane speaks Chat', [laneOn('responses', 'openai'), laneOn('chat', 'vllm', 'there')]],
  ] as const)('by a summary, without tools, where %s', async (_why, lanes) => {
    const { body, strategy } = await routeOn(lanes as unknown as readonly [Lane])
    expect(JSON.stringify(body)).toMatch(/the summary that will stand/)
    expect([body.tools, body.tool_choice, strategy.nativeCompaction]).toEqual([undefined, undefined, undefined])
  })

  it('by who made it short before, whatever its server has said since', async () => {
    const lane = laneOn('responses', 'generic')
    expect(isNative(await routeOn([lane, laneOn('chat', 'vllm', 'there')], { boundTo: 'here' }))).toBe(true)
    expect((await routeOn([lane], { boundTo: 'here' })).strategy.nativeCompaction).toBeUndefined()
  })

  it('a plain text is one message', async () => {
    const { body } = await routeOn(
      [laneOn('responses', 'openai')],
      requestOf({ model: 'demo', input: 'Hi', stream: true }),
    )
    expect(body.input).toEqual([{ type: 'message', role: 'user', content: 'Hi' }])
    const request = { ...requestOf({ model: 'demo', input: 'Hi' }), compacts: 'at-endpoint' as const }
    expect((await routeOn([laneOn('responses', 'openai')], request)).body.input).toEqual([
      { type: 'message', role: 'user', content: 'Hi' },
      { type: 'compaction_trigger' },
    ])
  })

  it('and an answer without the item says that the server cannot', async () => {
    const { strategy } = await routeOn([laneOn('responses', 'openai')])
    const adapter = strategy.adapter()
    adapter.read(ended({ output: [] }))
    expect(strategy.nativeCompaction?.hasFailed()).toBe(true)
    expect(adapter.state.error).toBeDefined()
  })

  it('what came of it is told as one item, with all that the stream needs', async () => {
    const { strategy, encoder } = await routeOn([laneOn('responses', 'openai')], { delivery: 'stream' })
    const adapter = strategy.adapter()
    const item = { type: 'compaction', id: 'theirs', encrypted_content: 'gAAA' }
    for (const frame of [added(item), event('response.output_item.done', { output_index: 0, item }), ended()]) {
      expect(adapter.read(frame)).toEqual({ bytes: undefined, isContent: false })
    }
    expect(adapter.compactedSize?.()).toEqual({ bytes: 0, hasSealed: true })
    const text = String(adapter.close(settledCharge()))
    expect(text.match(/^event: .*/gm)).toEqual(
      ['created', 'in_progress', 'output_item.added', 'output_item.done', 'completed'].map(
        (name) => `event: response.${name}`,
      ),
    )
    expect(text).not.toContain('"gAAA"')
    expect(encoder.status()).toBe('completed')
    // However often it is worked out, it is the same.
    expect(String(adapter.close(settledCharge()))).toBe(text)
  })
})
