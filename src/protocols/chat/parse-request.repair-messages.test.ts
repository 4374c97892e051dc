import { describe, expect, it } from 'vitest'
import { scanJson } from '../json/scan-json.ts'
import { parseRequest } from './parse-request.ts'

const BOUNDS = { depthMax: 64, valuesMax: 10_000 }

function repaired(text: string): string | undefined {
  const bytes = Buffer.from(`{"model":"m","messages":${text}}`)
  const scanned = scanJson(bytes, BOUNDS)
  if (scanned.kind !== 'scanned') throw new Error(scanned.kind)
  const read = parseRequest({ bytes, members: scanned.members, value: JSON.parse(bytes.toString()) })
  if (read.kind === 'refused') throw new Error(read.problem.message)
  return read.request.rewritten.get('messages')?.toString()
}

const repairedAssistant = (message: object): unknown => {
  const written = repaired(JSON.stringify([{ role: 'assistant', ...message }]))
  return written === undefined ? 'as it came' : JSON.parse(written)[0]
}

const tool_calls = [{ id: '1', type: 'function', function: { name: 'look', arguments: '' } }]

describe('the repair of messages', () => {
  it('does not change messages that every server takes', () => {
    expect(
      repaired('[{"role":"user","content":""},{"role":"assistant","content":""},{"role":"system","content":[]}]'),
    ).toBe(undefined)
    for (const content of ['', null, 'words', undefined])
      expect(repairedAssistant({ content, tool_calls })).toBe('as it came')
    expect(repairedAssistant({ content: [{ type: 'text', text: '' }] })).toBe('as it came')
    expect(repairedAssistant({ content: null, function_call: { name: 'look', arguments: '' } })).toBe('as it came')
  })

  it('writes an empty text where an assistant has neither content nor calls', () => {
    const silent = { role: 'assistant', content: '' }
    for (const emitted of [{}, { content: null }, { content: [] }]) {
      for (const calls of [{}, { tool_calls: null }, { tool_calls: [] }, { function_call: null }]) {
        expect(repairedAssistant({ ...emitted, ...calls })).toEqual(silent)
      }
    }
    expect(repairedAssistant({ content: [], tool_calls })).toEqual({ ...silent, content: null, tool_calls })
  })

  it('leaves out null members of any message, except its content', () => {
    expect(repaired('[{"role":"user","name":null,"content":"Hi"}]')).toBe('[{"role":"user","content":"Hi"}]')
    expect(repairedAssistant({ content: 'Hi', refusal: null, audio: null, tool_calls: [] })).toEqual({
      ...{ role: 'assistant', content: 'Hi' },
    })
    expect(repaired('[{"role":"function","name":"look","content":null}]')).toBe(undefined)
  })

  it('keeps every other byte: spaces, escapes, numbers and unknown members', () => {
    const others = [
      '{ "role": "user", "content": "caf\\u00e9" }',
      '{"role":"tool","tool_call_id":"1","content":"1.0e2"}',
    ]
    const odd = '{"role":"assistant", "x": 1.50, "content":"[\\"}", "tool_calls":null}'
    expect(repaired(`[ ${others[0]} ,${odd},\n${others[1]}]`)).toBe(
      `[ ${others[0]} ,{"role":"assistant", "x": 1.50, "content":"[\\"}"},\n${others[1]}]`,
    )
  })
})
