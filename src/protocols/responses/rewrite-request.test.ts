import { describe, expect, it } from 'vitest'
import { relayTarget } from '../../../test/fixtures/protocols/lane-target.ts'
import { requestWith } from '../../../test/fixtures/protocols/responses/encoder.ts'
import { requestOf as parsedRequestOf } from '../../../test/fixtures/protocols/responses/read-request.ts'
import { effortOf } from '../../model/effort.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { scanJson } from '../json/scan-json.ts'
import { type RelayTarget, withTraits } from '../shared/lane-target.ts'
import { type ResponsesDialect, responsesDialect } from './dialects.ts'
import { rewriteRequest } from './rewrite-request.ts'

function requestOf(text: string, over: Partial<ResponsesRequest> = {}): ResponsesRequest {
  const bytes = Buffer.from(text)
  const scanned = scanJson(bytes, { depthMax: 64, valuesMax: 10_000 })
  if (scanned.kind !== 'scanned') throw new Error('the test body cannot be scanned')
  const { input: _input, ...fields } = JSON.parse(text)
  return requestWith(fields, {
    body: { bytes, members: scanned.members },
    model: 'public',
    inputSize: { bodyBytes: bytes.length, inputBytes: bytes.length, messages: 1, tools: 0 },
    storedInput: () => [],
    ...over,
  })
}

type Target = Partial<RelayTarget<ResponsesDialect>>

const relayed = (request: ResponsesRequest, { dialect = responsesDialect('generic'), ...over }: Target = {}) =>
  rewriteRequest(request, relayTarget(dialect, { outputCap: 100, delivery: request.delivery, ...over }))
const leftOutOf = (...args: Parameters<typeof relayed>) => relayed(...args).leftOut
const rewrite = (...args: Parameters<typeof relayed>) => String(relayed(...args).body)
const rewritten = (...args: Parameters<typeof rewrite>) => JSON.parse(rewrite(...args))
const inputOf = (input: string, dialect = 'generic') =>
  rewrite(requestOf(`{"input":${input}}`), { dialect: responsesDialect(dialect) }).replace(
    /^\{"input":(.*),"model":.*$/s,
    '$1',
  )

describe('an earlier answer that a request names by our id', () => {
  const OPENAI = { dialect: responsesDialect('openai') }
  const OURS = '"comparison_response_id":"resp_ours"'

  it('goes to no provider, and is named', () => {
    const request = parsedRequestOf(
      `{"model":"m","input":"hi","prompt_cache_options":{"mode":"explicit",${OURS},"ttl":"30m"}}`,
    )
    expect(rewritten(request, OPENAI).prompt_cache_options).toEqual({ mode: 'explicit', ttl: '30m' })
    expect(leftOutOf(request, OPENAI)).toEqual(['prompt_cache_options.comparison_response_id'])
    const alone = parsedRequestOf(`{"model":"m","input":"hi","prompt_cache_options":{${OURS}}}`)
    expect(rewritten(alone, OPENAI)).not.toHaveProperty('prompt_cache_options')
    expect(leftOutOf(alone, OPENAI)).toEqual(['prompt_cache_options.comparison_response_id'])
    expect(leftOutOf(alone)).toEqual(['prompt_cache_options'])
  })

  it('is looked for where the operator passes the field on, and nothing else is changed', () => {
    const target = { passFields: ['diagnostics', 'other'] }
    const request = parsedRequestOf(
      '{"model":"m","input":"hi","diagnostics":{"previous_message_id":"msg_ours"},"other":{"a": 1.10}}',
    )
    expect(rewrite(request, target)).toContain('"other":{"a": 1.10}')
    expect(rewrite(request, target)).not.toContain('diagnostics')
    expect(leftOutOf(request, target)).toEqual(['diagnostics.previous_message_id'])
    for (const value of ['{"mode": "explicit"}', '"comparison_response_id"', '[]', '7']) {
      const plain = parsedRequestOf(`{"model":"m","input":"hi","prompt_cache_options":${value}}`)
      expect(rewrite(plain, OPENAI)).toContain(`"prompt_cache_options":${value}`)
      expect(leftOutOf(plain, OPENAI)).toEqual([])
    }
  })
})

describe('a Responses request for a lane of its own protocol', () => {
  it('is the client’s own bytes except for the control fields', () => {
    const request = requestOf(
      '{ "model":"public", "stream":false,"input" : [{"role":"user","content":"caf\\u00e9 \\/ 1.0"}],"temperature":1.50,"max_output_tokens":9,"store":true,"previous_response_id":"resp_x","vendor":1e2}',
    )
    expect(rewrite(request)).toBe(
      '{ "model":"lane", "stream":true,"input" : [{"role":"user","content":"caf\\u00e9 \\/ 1.0"}],"temperature":1.50,"max_output_tokens":100,"store":false,"vendor":1e2}',
    )
  })

  it('asks for a stream only when the client did', () => {
    expect(rewritten(requestOf('{"input":"x","stream":true}', { delivery: 'json' }))).not.toHaveProperty('stream')
  })

  it('rewrites the effort and keeps the summary setting, but nothing that changes the price', () => {
    const body = '{"input":"x","reasoning":{"effort":"low","summary":"auto","context":"all_turns","mode":"pro","x":1}}'
    expect(rewritten(requestOf(body), { effort: effortOf('high') }).reasoning).toEqual({
      effort: 'high',
      summary: 'auto',
      context: 'all_turns',
    })
    expect(rewritten(requestOf('{"input":"x","reasoning":{"summary":null}}'))).not.toHaveProperty('reasoning')
    expect(rewritten(requestOf('{"input":"x"}'), { effort: effortOf('low') }).reasoning).toEqual({ effort: 'low' })
    const rule = { ...responsesDialect('openai'), withoutFields: ['reasoning'] }
    expect(rewritten(requestOf(body), { effort: effortOf('low'), dialect: rule })).not.toHaveProperty('reasoning')
  })

  it('spells an effort as the model does, and names one that it cannot express', () => {
    const request = requestOf('{"input":"x","reasoning":{"effort":"medium","summary":"auto"}}')
    const reasoningFor = (efforts: Record<string, string | number>) => {
      const target = {
        dialect: withTraits(responsesDialect('generic'), { traits: { efforts } }),
        effort: effortOf('medium'),
      }
      return [rewritten(request, target).reasoning, leftOutOf(request, target)]
    }
    expect(reasoningFor({ low: 'low', high: 'high' })).toEqual([{ effort: 'low', summary: 'auto' }, []])
    expect(reasoningFor({ medium: 'disabled' })).toEqual([{ effort: 'none', summary: 'auto' }, []])
    expect(reasoningFor({ medium: 9000 })).toEqual([{ summary: 'auto' }, ['reasoning.effort']])
    expect(reasoningFor({})).toEqual([{ summary: 'auto' }, ['reasoning.effort']])
    const rule = { ...responsesDialect('openai'), withoutFields: ['reasoning'] }
    const plain = requestOf('{"input":"x"}')
    expect(leftOutOf(plain, { dialect: rule, effort: effortOf('high') })).toEqual(['reasoning.effort'])
  })

  it('leaves out all sampling fields for a model that refuses them, also inside another field', () => {
    const dialect = withTraits(responsesDialect('generic'), { traits: { sampling: false } })
    const request = requestOf(
      '{"input":"x","temperature":1,"top_p":1,"presence_penalty":0,"frequency_penalty":0,"top_logprobs":2,"include":["message.output_text.logprobs"]}',
    )
    const target = { dialect, effort: undefined }
    const leftOut = leftOutOf(request, target)
    expect(leftOut).toEqual([
      ...['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'top_logprobs', 'include'],
    ])
    expect(Object.keys(rewritten(request, target))).toEqual([
      ...['input', 'model', 'stream', 'max_output_tokens', 'store'],
    ])
  })

  it('includes sealed reasoning where the server has it, and nothing of hosted tools', () => {
    const request = requestOf('{"input":"x","include":["file_search_call.results","message.output_text.logprobs"]}')
    expect(rewritten(request, { dialect: responsesDialect('openai') }).include).toEqual([
      'reasoning.encrypted_content',
      'message.output_text.logprobs',
    ])
    expect(rewritten(request).include).toEqual(['message.output_text.logprobs'])
    expect(rewritten(requestOf('{"input":"x","include":["reasoning.encrypted_content"]}'))).not.toHaveProperty(
      'include',
    )
    const rule = { ...responsesDialect('openai'), withoutFields: ['include'] }
    expect(rewritten(request, { dialect: rule })).not.toHaveProperty('include')
  })

  it('leaves out and names fields that the server refuses or that are not passed on', () => {
    const request = requestOf('{"input":"x","safety_identifier":"u","top_k":3,"odd":1,"store":true}', {
      optionalFields: ['top_k', 'odd'],
    })
    const groq = responsesDialect('groq')
    const left = (dialect = groq, passFields: string[] = []) => leftOutOf(request, { dialect, passFields })
    expect(left(groq, ['odd'])).toEqual(['top_k', 'safety_identifier'])
    expect(left(responsesDialect('vllm'))).toEqual(['odd'])
    expect(rewritten(request, { dialect: groq })).toEqual({
      input: [{ type: 'message', role: 'user', content: 'x' }],
      model: 'lane',
      stream: true,
      max_output_tokens: 100,
    })
  })

  it('uses the tools as the parser rewrote them', () => {
    const request = requestOf('{"input":"x","tools":[{"type":"web_search"}],"tool_choice":"auto"}', {
      rewritten: new Map([
        ['tools', Buffer.from('[]')],
        ['tool_choice', null],
      ]),
    })
    const { tools, tool_choice } = rewritten(request)
    expect([tools, tool_choice]).toEqual([[], undefined])
  })

  it('strips the ids of items and touches nothing else of them', () => {
    expect(
      inputOf(
        '[ {"role":"user","content":"\\u0041 \\"id\\""},\n{"type":"message", "id":"msg_1","role":"user","content":[{"id":7}]} ,{"id":"fc_1"}]',
      ),
    ).toBe('[{"role":"user","content":"\\u0041 \\"id\\""},{"type":"message","role":"user","content":[{"id":7}]},{}]')
    expect(inputOf('[["id",{"id":1}],null,"id"]')).toBe('[["id",{"id":1}],null,"id"]')
  })

  it('writes an input as a prefix of the next one', () => {
    const one = '{"type":"message","role":"user","content":"{\\"id\\":1}"}'
    expect(inputOf('"{\\"id\\":1}"')).toBe(`[${one}]`)
    const two = '{ "role":"user","content":"x" }'
    expect(inputOf(`[ ${two} ,\n${two} ]`)).toBe(`[${two},${two}]`)
    expect(inputOf(`[ ${two} ,\n${two} , {"id":"msg_1","role":"assistant"}]`)).toBe(
      `[${two},${two},{"role":"assistant"}]`,
    )
  })

  it('uses the expanded input', () => {
    const request = requestOf('{"input":"x"}', {
      rewritten: new Map([['input', Buffer.from('[{"id":"a","role":"user"}]')]]),
    })
    expect(rewritten(request).input).toEqual([{ role: 'user' }])
  })

  it('leaves out reasoning that has neither text nor a seal', () => {
    expect(inputOf('[{"type":"reasoning","id":"rs_1","summary":[]},{"role":"user"}]', 'openai')).toBe(
      '[{"role":"user"}]',
    )
  })
})
