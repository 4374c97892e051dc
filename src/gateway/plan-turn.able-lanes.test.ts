import { describe, expect, it } from 'vitest'
import { requestOf, withItems } from '../../test/fixtures/protocols/responses/read-request.ts'
import type { Lane } from '../catalog/catalog.ts'
import type { Wire } from '../model/wire.ts'
import { parseRequest } from '../protocols/chat/parse-request.ts'
import { scanJson } from '../protocols/json/scan-json.ts'
import { ableLanes } from './plan-turn.ts'

const laneOn = (wire: Wire) => ({ id: `${wire}/m`, upstream: { wire } }) as Lane

function asked(more: object, wires: readonly Wire[]) {
  const value = { model: 'm', messages: [{ role: 'user', content: 'Hello' }], ...more }
  const bytes = Buffer.from(JSON.stringify(value))
  const scanned = scanJson(bytes, { depthMax: 64, valuesMax: 1000 })
  const read = scanned.kind === 'scanned' ? parseRequest({ bytes, members: scanned.members, value }) : undefined
  if (read?.kind !== 'read') throw new Error('the request of this test is malformed')
  const able = ableLanes({ id: 'm', lanes: wires.map(laneOn) }, read.request)
  return 'code' in able ? `${able.code} ${able.param}` : able.map(({ upstream }) => upstream.wire)
}

function askedInResponses(content: readonly object[], wires: readonly Wire[]) {
  const able = ableLanes({ id: 'm', lanes: wires.map(laneOn) }, requestOf(withItems({ role: 'user', content })))
  return 'code' in able ? `${able.code} ${able.param}` : able.map(({ upstream }) => upstream.wire)
}

describe('the lanes of a request', () => {
  it.each([{}, { n: 1 }, { stop: null }, { stop: [] }, { seed: 1 }])('are all of them where it asks for %j', (more) => {
    expect(asked(more, ['responses', 'chat'])).toEqual(['responses', 'chat'])
  })

  it.each([{ n: 2 }, { stop: 'x' }, { stop: ['x'] }])('are those that know what %j means', (more) => {
    expect(asked(more, ['responses', 'chat', 'demo'])).toEqual(['chat', 'demo'])
  })

  it('are none for an unsupported part; the error names the field', () => {
    expect(asked({ stop: 'x' }, ['responses'])).toBe('unsupported_parameter stop')
    expect(asked({ n: 3 }, ['responses'])).toBe('unsupported_parameter n')
  })

  it('are those that support every part', () => {
    const image = (url: string) => ({ type: 'image_url', image_url: { url } })
    const shows = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
    const address = image('https://a/b.png')
    expect(asked(shows(address), ['responses', 'chat', 'demo'])).toEqual(['responses', 'chat', 'demo'])
    expect(asked({ ...shows(address), n: 2 }, ['responses', 'chat'])).toEqual(['chat'])
    const file = { type: 'input_file', file_url: 'https://a/b.pdf' }
    expect(askedInResponses([file], ['responses', 'chat', 'demo'])).toEqual(['responses'])
    const parts = [{ type: 'input_image', image_url: 'https://a/b.png' }, file]
    expect(askedInResponses(parts, ['chat', 'demo'])).toBe('unsupported_content input[0].content[1]')
  })

  it('may be none at all', () => {
    expect(asked({ n: 3 }, [])).toEqual([])
  })
})
