import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { conversationIn } from '../../../test/fixtures/protocols/conversation-in.ts'
import { CLIENT_REQUESTS } from '../../../test/fixtures/protocols/responses/client-requests.ts'
import { composedRequest } from '../../../test/fixtures/protocols/responses/composed-request.ts'
import { read } from '../../../test/fixtures/protocols/responses/read-request.ts'
import { isObject } from '../../lib/types.ts'
import type { ContentPart, ConversationItem } from '../../model/conversation.ts'
import { PROBLEMS } from '../../model/problem.ts'
import { RESPONSES_FIELDS } from './fields.ts'

const seed = Number(process.hrtime.bigint() % 1_000_000_000n)

/** Known strings, so that random values get past the first check. */
const WORDS = [
  ...['message', 'function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output', 'reasoning'],
  ...['additional_tools', 'item_reference', 'compaction', 'web_search_call', 'user', 'assistant', 'developer'],
  ...['input_text', 'output_text', 'refusal', 'input_image', 'input_file', 'input_audio', 'input_video', 'text'],
  ...['function', 'custom', 'namespace', 'web_search', 'allowed_tools', 'auto', 'required', 'none', 'grammar'],
  ...['json_schema', 'json_object', 'call_1', 'call_2', 'f', '', '__proto__', 'toString', '\u0000', '\ud800'],
]
const NAMES = [
  ...['type', 'role', 'content', 'text', 'refusal', 'call_id', 'name', 'namespace', 'arguments', 'input', 'output'],
  ...['summary', 'encrypted_content', 'tools', 'parameters', 'strict', 'description', 'format', 'syntax', 'definition'],
  ...['image_url', 'file_id', 'file_data', 'input_audio', 'data', 'mode', 'id', 'phase', '__proto__', 'constructor'],
  ...['toString', 'length', 'effort', 'schema', 'verbosity'],
]

const word = fc.constantFrom(...WORDS)
const { anything } = fc.letrec<{ anything: unknown }>((tie) => ({
  anything: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    word,
    fc.constantFrom(null, true, false, 0, -1, 1.5, 1e308, 'x'.repeat(600)),
    fc.array(tie('anything'), { maxLength: 4 }),
    objectOf(fc.constantFrom(...NAMES), tie('anything'), 6),
  ),
}))

/** Objects with own members of any name, `__proto__` too, as JSON.parse builds them. */
function objectOf(names: fc.Arbitrary<string>, values: fc.Arbitrary<unknown>, maxLength: number) {
  return fc.array(fc.tuple(names, values), { maxLength }).map((members) => Object.fromEntries(members))
}

const randomRequest = fc
  .tuple(anything, objectOf(fc.constantFrom(...Object.keys(RESPONSES_FIELDS), ...NAMES), anything, 5))
  .map(([input, fields]) => ({ model: 'demo', input, ...fields }))

type Path = readonly (string | number)[]

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([name, inner]) => pathsOf(inner, [...path, name]))]
}

/** A copy with another value at one place; undefined leaves the place out. */
function replaced(value: unknown, [name, ...rest]: Path, change: unknown): unknown {
  if (name === undefined) return change
  const members = Object.entries(value as object).flatMap(([own, inner]) => {
    const next = own === name ? replaced(inner, rest, change) : inner
    return next === undefined ? [] : [[own, next] as const]
  })
  return Array.isArray(value) ? members.map(([, inner]) => inner) : Object.fromEntries(members)
}

const mutatedRequest = fc
  .tuple(
    fc.constantFrom(...Object.values<object>(CLIENT_REQUESTS)),
    fc.array(fc.tuple(fc.nat(), fc.oneof(anything, word, fc.constant(undefined))), { minLength: 1, maxLength: 3 }),
  )
  .map(([request, mutations]) =>
    mutations.reduce<object>((mutated, [place, change]) => {
      const paths = pathsOf(mutated).slice(1)
      return paths.length === 0 ? mutated : (replaced(mutated, paths[place % paths.length]!, change) as object)
    }, request),
  )

interface Covered {
  accepted: number
  items: number
  tools: number
  readonly codes: Map<string, number>
}

const inputTypes = ({ input }: { readonly input?: unknown }): unknown[] =>
  Array.isArray(input) ? input.map((item) => (isObject(item) ? item.type : undefined)) : []

/** Accepted requests convert, refused ones have a short message. Neither throws. */
function expectReadable(request: object, covered: Covered): void {
  const outcome = read(request)
  if (outcome.kind === 'refused') {
    const { code, message, param } = outcome.problem
    expect(PROBLEMS[code].status).toBe(400)
    expect(message.length).toBeLessThan(500)
    expect(param?.length).toBeGreaterThan(0)
    covered.codes.set(code, (covered.codes.get(code) ?? 0) + 1)
    return
  }
  if (outcome.request.protocol !== 'responses') throw new Error(outcome.request.protocol)
  covered.accepted++
  // What a provider has made short goes to that provider, and is never translated.
  if (inputTypes(request).includes('compaction')) return
  const { items, tools } = conversationIn(outcome.request)
  for (const item of items) expectWhole(item)
  for (const { name, namespace } of tools) expect([typeof name, typeof (namespace ?? '')]).toEqual(['string', 'string'])
  covered.items += items.length
  covered.tools += tools.length
  for (const value of outcome.request.rewritten.values()) if (value !== null) JSON.parse(String(value))
  const results = items.flatMap((item) => (item.type === 'tool-result' ? [item.callId] : []))
  const calls = new Set(items.flatMap((item) => (item.type === 'tool-call' ? [item.callId] : [])))
  expect(results.filter((id) => !calls.has(id))).toEqual([])
}

/** The writers of lane requests trust the types: each text is a string. */
function expectWhole(item: ConversationItem): void {
  const texts: unknown[] = []
  const addParts = (parts: readonly ContentPart[]) => {
    for (const part of parts) {
      if (part.type === 'image') texts.push(part.url, part.detail ?? '')
      else if (part.type === 'audio') texts.push(part.data, part.format)
      else if (part.type === 'file') texts.push(part.data ?? part.url ?? part.id, part.name ?? '')
      else texts.push(part.text)
    }
  }
  if (item.type === 'message') {
    texts.push(item.role)
    addParts(item.content)
  } else if (item.type === 'reasoning') texts.push(...item.summary, item.text, item.opaque?.data ?? '')
  else if (item.type === 'tool-call') texts.push(item.callId, item.name, item.namespace ?? '', item.text)
  else {
    texts.push(item.callId)
    addParts(item.content)
  }
  for (const text of texts) if (typeof text !== 'string') throw new Error(`No text: ${JSON.stringify(item)}`)
}

describe('random and mutated requests', () => {
  it.each([
    ['random requests', randomRequest, { numRuns: 6000, acceptedMin: 20 }],
    ['mutated requests of real clients', mutatedRequest, { numRuns: 4000, acceptedMin: 500 }],
    ['requests of pieces', composedRequest, { numRuns: 4000, acceptedMin: 500 }],
  ] as const)(
    '%s never make the parser throw, and accepted ones convert',
    (name, requests, { numRuns, acceptedMin }) => {
      const covered: Covered = { accepted: 0, items: 0, tools: 0, codes: new Map() }
      fc.assert(
        fc.property(requests as fc.Arbitrary<object>, (request) => expectReadable(request, covered)),
        { seed, numRuns },
      )
      const { accepted, items, tools, codes } = covered
      console.info(
        `${name}: seed ${seed}, ${numRuns} read, ${accepted} accepted with ${items} items and ${tools} tools`,
      )
      console.info(JSON.stringify(Object.fromEntries(codes)))
      expect(accepted).toBeGreaterThan(acceptedMin)
      expect(codes.size).toBeGreaterThan(4)
    },
  )
})
