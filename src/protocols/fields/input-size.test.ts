import { expect, it } from 'vitest'
import { requestOf as responsesRequestOf } from '../../../test/fixtures/protocols/responses/read-request.ts'
import { parseRequest } from '../chat/parse-request.ts'
import { scanJson } from '../json/scan-json.ts'

const schema = { name: 'a', schema: { type: 'object' } }
function inChat(over: object) {
  const bytes = Buffer.from(JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: 'x' }], ...over }))
  const scanned = scanJson(bytes, { depthMax: 64, valuesMax: 1000 })
  if (scanned.kind !== 'scanned') throw new Error(scanned.kind)
  const outcome = parseRequest({ bytes, members: scanned.members, value: JSON.parse(bytes.toString()) })
  if (outcome.kind === 'refused') throw new Error(outcome.problem.message)
  return outcome.request.inputSize.tools
}

const inResponses = (over: object) => responsesRequestOf({ model: 'demo', input: 'x', ...over }).inputSize.tools

it('a form for the answer counts as a tool, as lanes explain it to their model', () => {
  expect(inChat({ response_format: { type: 'json_schema', json_schema: schema } })).toBe(1)
  expect(inChat({ response_format: { type: 'json_object' } })).toBe(0)
  expect(inResponses({ text: { format: { type: 'json_schema', ...schema } } })).toBe(1)
  expect(inResponses({ text: { format: { type: 'text' } } })).toBe(0)
})

it('calls of the past count as a tool where none is declared', () => {
  const called = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
  const messages = [
    { role: 'user', content: 'x' },
    { role: 'assistant', tool_calls: [called] },
    { role: 'tool', tool_call_id: 'c', content: 'y' },
  ]
  expect(inChat({ messages })).toBe(1)
  expect(inChat({ messages, tools: [{ type: 'function', function: { name: 'f' } }] })).toBe(1)
  const input = [
    { role: 'user', content: 'x' },
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: 'y' },
  ]
  expect(inResponses({ input })).toBe(1)
  expect(inResponses({ input, tools: [{ type: 'function', name: 'f' }] })).toBe(1)
})
