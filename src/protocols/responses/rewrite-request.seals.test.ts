import { describe, expect, it } from 'vitest'
import { relayTarget } from '../../../test/fixtures/protocols/lane-target.ts'
import { requestOf } from '../../../test/fixtures/protocols/responses/read-request.ts'
import type { Opaque } from '../../model/event.ts'
import { responsesDialect } from './dialects.ts'
import { rewriteRequest } from './rewrite-request.ts'

const OWN: Opaque = { wire: 'responses', origin: 'here', data: 'gA"A\\A' }
const SEALED = new Map<string, Opaque>([
  ['mr1.own', OWN],
  ['mr1.foreign', { ...OWN, origin: 'elsewhere' }],
  ['mr1.chat', { ...OWN, wire: 'chat' }],
])

interface Sent {
  readonly dialect?: string
  readonly sealed?: Map<string, Opaque>
}

/** The items of an input as a lane gets them. */
function sent(input: readonly object[], { dialect = 'openai', sealed = SEALED }: Sent = {}): unknown {
  const request = { ...requestOf({ model: 'm', input }), sealed }
  const { body } = rewriteRequest(request, relayTarget(responsesDialect(dialect), { origin: 'here' }))
  return JSON.parse(String(body)).input
}

const reasoning = (envelope: string, more: object = {}) => ({
  ...{ type: 'reasoning', id: 'rs_ours', summary: [], encrypted_content: envelope },
  ...more,
})
const WORDS = { content: [{ type: 'reasoning_text', text: 'a' }] }
const SUMMARY = { summary: [{ type: 'summary_text', text: 's' }] }
const NATIVE = { type: 'reasoning', summary: [], encrypted_content: OWN.data }
const HI = { role: 'user', content: 'Hi' }

describe('sealed reasoning on its way to a lane of Responses', () => {
  it("is the lane's own seal, without our id and without raw text", () => {
    expect(sent([HI, reasoning('mr1.own', { ...WORDS, status: 'completed' })])).toEqual([HI, NATIVE])
    expect(sent([reasoning('mr1.own', SUMMARY)])).toEqual([{ ...NATIVE, ...SUMMARY }])
    const withoutSummary = { type: 'reasoning', encrypted_content: 'mr1.own' }
    expect(sent([withoutSummary])).toEqual([NATIVE])
  })

  it('may come as Codex sends it', () => {
    expect(sent([reasoning('mr1.own', { content: null })])).toEqual([NATIVE])
    expect(sent([HI, reasoning('mr1.foreign', { content: null })])).toEqual([HI])
  })

  it('is left out where another lane, or one of another wire, has sealed it', () => {
    for (const envelope of ['mr1.foreign', 'mr1.chat', 'mr1.unopened'])
      expect(sent([HI, reasoning(envelope, { ...WORDS, ...SUMMARY })])).toEqual([HI])
  })

  it('goes as raw text to a lane that takes text, and never in our envelope', () => {
    const readable = { type: 'reasoning', ...SUMMARY, ...WORDS }
    expect(sent([reasoning('mr1.foreign', { ...SUMMARY, ...WORDS })], { dialect: 'generic' })).toEqual([readable])
    expect(sent([HI, reasoning('mr1.foreign')], { dialect: 'generic' })).toEqual([HI])
    // A lane can open its own seal, even if its server is unknown.
    expect(sent([reasoning('mr1.own', WORDS)], { dialect: 'generic' })).toEqual([NATIVE])
  })

  it('is found too where the input is rewritten because some items go to no model', () => {
    const hosted = { type: 'web_search_call', id: 'ws_1', status: 'completed' }
    expect(sent([HI, hosted, reasoning('mr1.own')])).toEqual([HI, NATIVE])
  })

  it('is left out where the lane gets no seals', () => {
    expect(sent([HI, reasoning('mr1.own', SUMMARY)], { sealed: new Map() })).toEqual([HI])
    const plain = { dialect: 'generic', sealed: new Map<string, Opaque>() }
    expect(sent([reasoning('mr1.own', WORDS)], plain)).toEqual([{ type: 'reasoning', summary: [], ...WORDS }])
  })
})
