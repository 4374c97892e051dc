import { describe, expect, it } from 'vitest'
import { classifyRefusal, readProviderError, refusedField, refusesSeals } from './provider-error.ts'

const read = (error: object) => readProviderError(400, Buffer.from(JSON.stringify({ error })))
const saying = (message: string) => read({ type: 'invalid_request_error', message })

const ALL_THINKING = 'thinking thinkingConfig reasoning_effort reasoning'

describe('a field that a server does not take', () => {
  it.each<[string, string]>([
    ['temperature: Extra inputs are not permitted', 'temperature'],
    ['thinking: Extra inputs are not permitted', 'thinking'],
    ['thinking.adaptive.display: Extra inputs are not permitted', 'thinking'],
    ['output_config: Extra inputs are not permitted', 'output_config'],
    ['output_config.effort: Extra inputs are not permitted', 'output_config'],
    ['metadata: Extra inputs are not permitted', 'metadata'],
    ['`temperature` is deprecated for this model.', 'temperature'],
    ['`top_p` is not supported for this model', 'top_p'],
    ['This model does not support the effort parameter.', 'output_config'],
    ["Unsupported parameter: 'max_tokens' is not supported with this model.", 'max_tokens'],
    ["Unrecognized request argument supplied: 'seed'", 'seed'],
    ['Invalid JSON payload received. Unknown name "seed" at \'generation_config\': Cannot find field.', 'seed'],
    [
      'Invalid JSON payload received. Unknown name "thinkingLevel" at \'generation_config.thinking_config\': Cannot find field.',
      'thinkingConfig',
    ],
    ['Invalid JSON payload received. Unknown name "labels": Cannot find field.', 'labels'],
    [
      'Invalid JSON payload received. Unknown name "parametersJsonSchema" at \'tools[0].function_declarations[0]\': Cannot find field.',
      'tools',
    ],
    [
      'Invalid JSON payload received. Unknown name "presence_penalty" at \'generation_config\': Cannot find field.',
      'presencePenalty presence_penalty',
    ],
    [
      'Invalid JSON payload received. Unknown name "responseLogprobs" at \'generation_config\': Cannot find field.',
      'responseLogprobs logprobs',
    ],
    ['Penalty is not enabled for this model', 'presencePenalty frequencyPenalty presence_penalty frequency_penalty'],
    ['Unable to submit request because thinking is not supported by this model.', ALL_THINKING],
  ])('%s', (message, names) => {
    expect(refusedField(saying(message))).toEqual({ names: names.split(' '), onlyValue: false })
    expect(classifyRefusal(saying(message))).toBe('unsupported-field')
  })

  it.each<[string, string]>([
    ['"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".', 'thinking'],
    ["thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags", 'thinking'],
    ['thinking.enabled.budget_tokens: Input should be greater than or equal to 1024', 'thinking'],
    ['adaptive thinking is not supported on this model', 'thinking'],
    ["output_config.effort: Input should be 'low', 'medium' or 'high'", 'output_config'],
    ["This model does not support effort level 'max'. Supported levels: high, low, medium.", 'output_config'],
    ['Thinking level MINIMAL is not supported for this model.', 'thinkingConfig'],
    ['The thinking budget 50 is invalid. Please choose a value between 128 and 32768.', 'thinkingConfig'],
    ['Budget 0 is invalid. This model only works in thinking mode.', 'thinkingConfig'],
    [
      'Invalid value at \'generation_config.thinking_config.thinking_level\' (type.googleapis.com/x), "ultra"',
      'thinkingConfig',
    ],
    ["Unsupported value: 'temperature' does not support 0.2 with this model.", 'temperature'],
  ])('as this request has it: %s', (message, name) => {
    expect(refusedField(saying(message))).toEqual({ names: [name], onlyValue: true })
    expect(classifyRefusal(saying(message))).toBe('unsupported-field')
  })

  it('is named by the error itself where that has a place for it', () => {
    const delivered = { code: 'unsupported_parameter', message: 'No.', param: 'stream_options.include_usage' }
    expect(refusedField(read(delivered))).toEqual({ names: ['stream_options'], onlyValue: false })
    expect(refusedField(read({ ...delivered, code: 'unsupported_value' }))).toMatchObject({ onlyValue: true })
    const mistral = {
      detail: [{ type: 'extra_forbidden', loc: ['body', 'seed'], msg: 'Extra inputs are not permitted' }],
    }
    expect(refusedField(readProviderError(422, Buffer.from(JSON.stringify(mistral))))).toEqual({
      names: ['seed'],
      onlyValue: false,
    })
  })

  it.each([
    'messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.',
    'tools.0.custom.name: String should match pattern',
    'max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens',
    'temperature must be below 2',
    'Please use a valid role: user, model.',
  ])('is none: %s', (message) => {
    expect(refusedField(saying(message))).toBeUndefined()
  })
})

describe('messages about thinking that came back', () => {
  it.each([
    'messages.1.content.0: Invalid `signature` in `thinking` block',
    'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).',
    'messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
    'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.',
    'Thought signature is not valid.',
    'Corrupted thought signature.',
  ])('are about seals, and teach nothing of a field: %s', (message) => {
    expect(refusesSeals(saying(message))).toBe(true)
    expect(refusedField(saying(message))).toBeUndefined()
  })
})
