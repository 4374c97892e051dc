import { describe, expect, it } from 'vitest'
import type { Lane } from '../catalog/catalog.ts'
import { readProviderError } from '../protocols/refusals/provider-error.ts'
import { createLearnedCapabilities, laneDialect, type TeachableDialect } from './learned-capabilities.ts'

const says = (message: string) => readProviderError(400, Buffer.from(JSON.stringify({ error: { message } })))
const PLAIN: TeachableDialect = { withoutFields: [] }
const laneOf = (id: string) => ({ id, upstream: { wire: 'chat', dialect: 'generic' }, traits: {} }) as Lane
const [FAR_A, FAR_B] = [laneOf('far/a'), laneOf('far/b')]
const google = (name: string, at: string) =>
  `Invalid JSON payload received. Unknown name "${name}" at '${at}': Cannot find field.`

describe('a lane that refuses', () => {
  it.each<[string, readonly string[]]>([
    ['cache_control: Extra inputs are not permitted', ['cache_control']],
    ["Unknown parameter: 'stream_options'.", ['stream_options']],
    ['Encrypted content is not supported with this model.', ['include']],
  ])('a field that Millrace adds teaches once, and is not asked for it again: %s', (message, fields) => {
    const capabilities = createLearnedCapabilities(() => 0)
    expect(capabilities.learn('far/a', PLAIN, says(message))).toBe(true)
    expect(capabilities.dialectOf(FAR_A).withoutFields).toEqual(fields)
    expect(capabilities.learn('far/a', PLAIN, says(message))).toBe(false)
    expect(capabilities.dialectOf(FAR_B).withoutFields).toEqual([])
  })

  it.each<[string, readonly string[]]>([
    ["Unsupported parameter: 'temperature' is not supported with this model.", ['temperature']],
    ['temperature: Extra inputs are not permitted', ['temperature']],
    ['thinking: Extra inputs are not permitted', ['thinking']],
    ['This model does not support the effort parameter.', ['output_config']],
    [google('seed', 'generation_config'), ['seed']],
    [google('thinkingLevel', 'generation_config.thinking_config'), ['thinkingConfig']],
    [
      'Penalty is not enabled for models/gemini-2.5-pro',
      expect.arrayContaining(['presencePenalty', 'frequencyPenalty']),
    ],
  ])('a field of a client leaves the requests of others as they are: %s', (message, fields) => {
    const capabilities = createLearnedCapabilities(() => 0)
    expect(capabilities.learn('far/a', PLAIN, says(message))).toBe(false)
    expect(capabilities.droppedOnce(PLAIN, says(message))).toEqual(fields)
    expect(capabilities.dialectOf(FAR_A)).toBe(laneDialect(FAR_A))
  })

  it.each([
    'max_tokens: Extra inputs are not permitted',
    'system: Extra inputs are not permitted',
    'tools: Extra inputs are not permitted',
    'stop_sequences: Extra inputs are not permitted',
    google('maxOutputTokens', 'generation_config'),
    google('responseJsonSchema', 'generation_config'),
    google('stopSequences', 'generation_config'),
    "Unsupported parameter: 'stop' is not supported with this model.",
    "Unknown parameter: 'cache_salt'.",
    "Unknown parameter: 'instructions'.",
    google('parametersJsonSchema', 'tools[0].function_declarations[0]'),
    'Invalid JSON payload received. Unknown name "systemInstruction": Cannot find field.',
  ])('what makes the request another one is never left out: %s', (message) => {
    const capabilities = createLearnedCapabilities(() => 0)
    expect(capabilities.learn('far/a', PLAIN, says(message))).toBe(false)
    expect(capabilities.droppedOnce(PLAIN, says(message))).toEqual([])
  })

  it.each<[string, string]>([
    ['"thinking.type.enabled" is not supported for this model.', 'thinking'],
    ["output_config.effort: Input should be 'low' or 'high'", 'output_config'],
    ['Thinking level MINIMAL is not supported for this model.', 'thinkingConfig'],
  ])('one effort says nothing about others: left out this once, and not remembered: %s', (message, field) => {
    const capabilities = createLearnedCapabilities(() => 0)
    expect(capabilities.learn('far/a', PLAIN, says(message))).toBe(false)
    expect(capabilities.droppedOnce(PLAIN, says(message))).toEqual([field])
    expect(capabilities.droppedOnce({ withoutFields: [field] }, says(message))).toEqual([])
    expect(capabilities.dialectOf(FAR_A)).toBe(laneDialect(FAR_A))
  })

  it('a field of clients is left out for some minutes beside the same effort, and on that lane only', () => {
    let now = 0
    const capabilities = createLearnedCapabilities(() => now)
    const asked = { lane: 'far/a', effort: 'high' }
    const error = says("Unsupported parameter: 'temperature' is not supported with this model.")
    expect(capabilities.droppedOnce(PLAIN, error, asked)).toEqual(['temperature'])
    capabilities.droppedOnce(PLAIN, says("Unrecognized request argument supplied: 'made_up'"), asked)
    expect(capabilities.refusedLately(asked)).toEqual(['temperature'])
    expect(capabilities.refusedLately({ ...asked, effort: 'none' })).toEqual([])
    expect(capabilities.refusedLately({ ...asked, lane: 'far/b' })).toEqual([])
    now += 5 * 60_000_000
    expect(capabilities.refusedLately(asked)).toEqual([])
  })

  it('a value that a client has chosen is not left out for it', () => {
    const error = says("Unsupported value: 'temperature' does not support 0.2 with this model.")
    expect(createLearnedCapabilities(() => 0).droppedOnce(PLAIN, error)).toEqual([])
  })

  it('has said nothing about a field that only one client has sent: it is left out this once', () => {
    const capabilities = createLearnedCapabilities(() => 0)
    for (let made = 0; made < 100; made++) {
      const field = `made_up_${'x'.repeat((made % 20) + 1)}`
      const error = says(`Unrecognized request argument supplied: '${field}'`)
      expect(capabilities.learn('far/a', PLAIN, error)).toBe(false)
      expect(capabilities.droppedOnce(PLAIN, error)).toEqual([field])
      expect(capabilities.droppedOnce({ withoutFields: [field] }, error)).toEqual([])
    }
    expect(capabilities.dialectOf(FAR_A)).toBe(laneDialect(FAR_A))
    expect(capabilities.learn('far/a', PLAIN, says('cache_control: Extra inputs are not permitted'))).toBe(true)
  })

  it.each([
    `Invalid value: 'Unsupported parameter: "cache_control"'. Supported values are: 'auto' and 'none'.`,
    `messages: Input should be a list, input: "Unknown parameter: 'include'"`,
    `1 error [type=list, input_value="Unknown parameter: 'include'", input_type=str]`,
    `"Unknown parameter: 'include'" is too long`,
  ])('teaches nothing with words that it quotes: %s', (message) => {
    expect(createLearnedCapabilities(() => 0).learn('far/a', PLAIN, says(message))).toBe(false)
    expect(createLearnedCapabilities(() => 0).droppedOnce(PLAIN, says(message))).toEqual([])
  })
})
