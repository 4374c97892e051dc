import { describe, expect, it } from 'vitest'
import { conversationOf, message } from '../../../test/fixtures/protocols/conversation.ts'
import { outputText, written } from '../../../test/fixtures/protocols/gemini/lane.ts'
import { refusalOfGeminiRequest } from '../../../test/fixtures/protocols/gemini/strict-request.ts'
import { type Conversation, NO_SAMPLING, type ToolChoice, type ToolDefinition } from '../../model/conversation.ts'
import { effortOf } from '../../model/effort.ts'

const ask = (over: Partial<Conversation>, target: Parameters<typeof written>[1] = {}) => {
  const request = written(conversationOf([message('user', 'q')], over), target)
  expect(refusalOfGeminiRequest(request.body)).toBeUndefined()
  return request
}
const sampled = (over: Partial<Conversation['sampling']>) => ({ sampling: { ...NO_SAMPLING, ...over } })

describe('a request', () => {
  it('of nothing but a question is that, and what the hold covers', () => {
    expect(ask({}).body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'q' }] }],
      generationConfig: { maxOutputTokens: 1000 },
    })
    expect(ask({}).leftOut).toEqual([])
  })

  it('has sampling by its names, a seed of as many bits as there are, and no stop that stops nothing', () => {
    const { body, leftOut } = ask(
      sampled({
        temperature: 0,
        topP: 0.5,
        stop: ['x', ''],
        seed: 2 ** 33 + 7,
        presencePenalty: 0,
        frequencyPenalty: 0,
      }),
    )
    expect(body.generationConfig).toEqual({
      maxOutputTokens: 1000,
      temperature: 0,
      topP: 0.5,
      stopSequences: ['x'],
      seed: 7,
    })
    expect(leftOut).toEqual([])
  })

  it('has of penalties and log probabilities what the server takes, and names the rest', () => {
    const wanted = sampled({ presencePenalty: 0.5, frequencyPenalty: -0.5, topLogprobs: 3 })
    expect(ask(wanted).body.generationConfig).toEqual({ maxOutputTokens: 1000 })
    expect(ask(wanted).leftOut).toEqual(['presence_penalty', 'frequency_penalty', 'include', 'top_logprobs'])
    expect(ask(wanted, { client: 'chat' }).leftOut).toEqual([
      'presence_penalty',
      'frequency_penalty',
      'logprobs',
      'top_logprobs',
    ])
    const { body, leftOut } = ask(wanted, { dialect: outputText('generic') })
    const taken = { presencePenalty: 0.5, frequencyPenalty: -0.5, responseLogprobs: true, logprobs: 3 }
    expect(body.generationConfig).toEqual({ maxOutputTokens: 1000, ...taken })
    expect(leftOut).toEqual([])
    const none = ask(sampled({ topLogprobs: 0 }), { dialect: outputText('generic') })
    expect(none.body.generationConfig).toEqual({ maxOutputTokens: 1000, responseLogprobs: true })
  })

  it('names what there is no place for', () => {
    const over: Partial<Conversation> = {
      verbosity: 'low',
      ...sampled({ logitBias: { 5: 1 } }),
      identity: { user: 'u', safetyIdentifier: 's', promptCacheKey: 'k' },
      parallelToolCalls: false,
      tools: [tool('look')],
    }
    const named = ['user', 'safety_identifier', 'prompt_cache_key']
    expect(ask(over).leftOut).toEqual(['logit_bias', 'parallel_tool_calls', 'text.verbosity', ...named])
    expect(ask(over, { client: 'chat' }).leftOut).toContain('verbosity')
    expect(ask({ parallelToolCalls: true, ...sampled({ logitBias: {} }) }).leftOut).toEqual([])
    const item = { ...message('user', 'q'), name: 'ann' } as const
    expect(written(conversationOf([item]), { client: 'chat' }).leftOut).toEqual(['messages.name'])
  })
})

describe('an answer in JSON', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }
  const inSchema = { type: 'json_schema', name: 'n', description: 'd', schema, strict: true } as const
  const json = { maxOutputTokens: 1000, responseMimeType: 'application/json' }

  it('is requested by its type, and by its schema as it stands', () => {
    expect(ask({ format: { type: 'text' } }).body.generationConfig).toEqual({ maxOutputTokens: 1000 })
    expect(ask({ format: { type: 'json_object' } }).body.generationConfig).toEqual(json)
    expect(ask({ format: inSchema }).body.generationConfig).toEqual({ ...json, responseJsonSchema: schema })
    expect(ask({ format: { ...inSchema, schema: undefined } }).body.generationConfig).toEqual(json)
  })

  it('of a model that keeps to a schema only in the input of a tool, is the input of one', () => {
    const dialect = outputText('google', { jsonSchema: 'tool' })
    const answer = {
      name: 'answer__n',
      description: 'Takes the whole answer: call it once, and say nothing besides.\n\nd',
      parametersJsonSchema: schema,
    }
    const alone = { mode: 'ANY', allowedFunctionNames: ['answer__n'] }
    const asked = (over: Partial<Conversation>) => {
      const { body, answerTool } = ask({ format: inSchema, ...over }, { dialect })
      const [declared] = (body.tools ?? []) as { functionDeclarations: readonly unknown[] }[]
      expect(body.generationConfig).toEqual({ maxOutputTokens: 1000 })
      const { functionCallingConfig } = (body.toolConfig ?? {}) as { functionCallingConfig?: object }
      return { answerTool, last: declared?.functionDeclarations.at(-1), config: functionCallingConfig }
    }
    expect(asked({})).toEqual({ answerTool: 'answer__n', last: answer, config: alone })
    const tools = [tool('look')]
    expect(asked({ tools })).toEqual({ answerTool: 'answer__n', last: answer, config: { mode: 'ANY' } })
    expect(asked({ tools, toolChoice: { type: 'none' } })).toEqual({
      answerTool: 'answer__n',
      last: answer,
      config: alone,
    })
    expect(asked({ tools, toolChoice: { type: 'required' } })).toMatchObject({
      answerTool: undefined,
      config: { mode: 'ANY' },
    })
    const own = ask({ format: inSchema, tools: [tool('answer__n')] }, { dialect })
    expect(own.answerTool).toMatch(/^answer__n_[0-9a-f]{8}$/)
    expect(ask({ format: { type: 'json_object' } }, { dialect }).body.generationConfig).toEqual(json)
  })

  it('of a model without JSON mode is requested by a sentence', () => {
    const { body } = ask(
      { format: { type: 'json_object' }, instructions: 'i' },
      { dialect: outputText('google', { jsonSchema: 'none' }) },
    )
    const text = 'i\n\nAnswer with one JSON object, and with nothing before or behind it.'
    expect(body).toMatchObject({
      systemInstruction: { parts: [{ text }] },
      generationConfig: { maxOutputTokens: 1000 },
    })
    expect(body.generationConfig.responseMimeType).toBeUndefined()
  })
})

describe('thinking', () => {
  const thinkingOf = (effort: string | undefined, target: Parameters<typeof written>[1] = {}, summary?: string) => {
    const over = { reasoning: { summary } }
    const { body, leftOut } = ask(over, { ...target, effort: effort === undefined ? undefined : effortOf(effort) })
    return [body.generationConfig.thinkingConfig, leftOut]
  }
  const budgets = { none: 'disabled', low: 1024, high: 24_576 }

  it('is by level where nothing else is known of a model', () => {
    const levels = {
      none: 'low',
      minimal: 'low',
      low: 'low',
      medium: 'medium',
      high: 'high',
      xhigh: 'high',
      max: 'high',
    }
    for (const [effort, thinkingLevel] of Object.entries(levels))
      expect(thinkingOf(effort)).toEqual([{ thinkingLevel }, []])
    expect(thinkingOf(undefined)).toEqual([undefined, []])
    expect(thinkingOf('unheard_of')).toEqual([undefined, ['reasoning.effort']])
  })

  it('that a server has refused is not sent again, nor a setting under the server’s own name', () => {
    const taught = { ...outputText(), withoutFields: ['thinkingConfig', 'topP'] }
    expect(thinkingOf('low', { dialect: taught }, 'auto')).toEqual([
      undefined,
      ['reasoning.effort', 'reasoning.summary'],
    ])
    expect(thinkingOf(undefined, { dialect: taught })).toEqual([undefined, []])
    const { body, leftOut } = ask(sampled({ topP: 0.5, temperature: 1 }), { dialect: taught })
    expect(body.generationConfig).toEqual({ maxOutputTokens: 1000, temperature: 1 })
    expect(leftOut).toEqual(['top_p'])
  })

  it('is by budget where the model has one, and none is a budget of nothing', () => {
    const dialect = outputText('google', { efforts: budgets })
    expect(thinkingOf('none', { dialect })).toEqual([{ thinkingBudget: 0 }, []])
    expect(thinkingOf('high', { dialect, outputCap: 60_000 })).toEqual([{ thinkingBudget: 24_576 }, []])
    expect(thinkingOf('low', { dialect: outputText('google', { efforts: { low: -1 } }) })).toEqual([
      { thinkingBudget: -1 },
      [],
    ])
  })

  it('leaves a quarter of the cap for the answer, and is left out where the budget is too small', () => {
    const dialect = outputText('google', { efforts: budgets })
    expect(thinkingOf('high', { dialect, outputCap: 1000 })).toEqual([{ thinkingBudget: 750 }, []])
    expect(thinkingOf('high', { dialect, outputCap: 100 })).toEqual([undefined, ['reasoning.effort']])
    expect(thinkingOf('high', { dialect, outputCap: 100, client: 'chat' })).toEqual([undefined, ['reasoning_effort']])
  })

  it('is summarised for a Responses client that requests a summary, and for a Chat client that requests an effort', () => {
    expect(thinkingOf(undefined, {}, 'auto')).toEqual([{ includeThoughts: true }, []])
    expect(thinkingOf('high', {}, 'auto')).toEqual([{ thinkingLevel: 'high', includeThoughts: true }, []])
    expect(thinkingOf('high', { client: 'chat' })).toEqual([{ thinkingLevel: 'high', includeThoughts: true }, []])
    expect(thinkingOf('none', { client: 'chat' })).toEqual([{ thinkingLevel: 'low' }, []])
    expect(thinkingOf(undefined, { client: 'chat' })).toEqual([undefined, []])
  })

  it('that is switched off has no summary, and a client that requested one learns it', () => {
    const dialect = outputText('google', { efforts: budgets })
    expect(thinkingOf('none', { dialect }, 'auto')).toEqual([{ thinkingBudget: 0 }, ['reasoning.summary']])
    const never = outputText('google', { efforts: {} })
    expect(thinkingOf(undefined, { dialect: never }, 'auto')).toEqual([undefined, ['reasoning.summary']])
    expect(thinkingOf('low', { dialect: never }, 'auto')).toEqual([
      undefined,
      ['reasoning.effort', 'reasoning.summary'],
    ])
  })

  it('that a server has refused is not sent again, and reported', () => {
    const dialect = { ...outputText(), withoutFields: ['thinkingConfig'] }
    expect(thinkingOf('high', { dialect })).toEqual([undefined, ['reasoning.effort']])
    expect(thinkingOf(undefined, { dialect }, 'auto')).toEqual([undefined, ['reasoning.summary']])
    expect(thinkingOf('high', { dialect, client: 'chat' })).toEqual([undefined, ['reasoning_effort']])
    expect(thinkingOf(undefined, { dialect })).toEqual([undefined, []])
  })
})

const parameters = { type: 'object', properties: { city: { type: ['string', 'null'] } }, $defs: {} }

function tool(name: string, over: Partial<Extract<ToolDefinition, { type: 'function' }>> = {}): ToolDefinition {
  return { type: 'function', name, namespace: undefined, description: 'd', parameters, strict: undefined, ...over }
}
const custom: ToolDefinition = {
  ...{ type: 'custom', name: 'patch', namespace: undefined, description: 'd' },
  grammar: { syntax: 'lark', definition: 'start: "a"' },
}

describe('tools', () => {
  const declared = (tools: readonly ToolDefinition[]) => {
    const [first] = ask({ tools }).body.tools as { functionDeclarations: readonly Record<string, unknown>[] }[]
    return first?.functionDeclarations ?? []
  }

  it('are functions, with their schemas as they stand; those of free text have one string', () => {
    const [look, bare, patch] = declared([
      tool('look'),
      tool('bare', { description: undefined, parameters: undefined }),
      custom,
    ])
    expect(look).toEqual({ name: 'look', description: 'd', parametersJsonSchema: parameters })
    expect(bare).toEqual({ name: 'bare' })
    expect(patch).toMatchObject({
      name: 'patch',
      description: 'd\n\nThe input must match this lark grammar:\nstart: "a"',
      parametersJsonSchema: { required: ['input'] },
    })
  })

  it('have names that begin with a letter, in which their namespace stands, and find their way back', () => {
    const tools = [tool('2nd'), tool('wait', { namespace: 'agents' }), tool('a b'), tool(`${'x'.repeat(70)}`)]
    const names = declared(tools).map(({ name }) => name)
    expect(names.slice(0, 3)).toEqual(['_2nd', 'agents__wait', 'a_b'])
    const back = ask({ tools }).tools
    expect(names.map((name) => back.clientName(String(name))?.name)).toEqual(tools.map(({ name }) => name))
  })

  const configOf = (toolChoice: ToolChoice | undefined, tools = [tool('look'), custom], dialect = outputText()) =>
    (ask({ tools, toolChoice }, { dialect }).body.toolConfig as { functionCallingConfig?: object })
      ?.functionCallingConfig
  const look = { name: 'look', namespace: undefined, tool: 'function' } as const
  const patch = { name: 'patch', namespace: undefined, tool: 'custom' } as const

  it('are chosen from as the client says', () => {
    expect(configOf(undefined)).toBeUndefined()
    expect(configOf({ type: 'auto' })).toEqual({ mode: 'AUTO' })
    expect(configOf({ type: 'none' })).toEqual({ mode: 'NONE' })
    expect(configOf({ type: 'required' })).toEqual({ mode: 'ANY' })
    expect(configOf({ type: 'tool', ...patch })).toEqual({ mode: 'ANY', allowedFunctionNames: ['patch'] })
    expect(configOf({ type: 'allowed', mode: 'required', tools: [look, patch] })).toEqual({
      mode: 'ANY',
      allowedFunctionNames: ['look', 'patch'],
    })
    expect(ask({ toolChoice: { type: 'none' } }).body).not.toHaveProperty('toolConfig')
  })

  it('that are allowed and not forced are the only ones that are declared', () => {
    const { body } = ask({
      tools: [tool('look'), custom],
      toolChoice: { type: 'allowed', mode: 'auto', tools: [look] },
    })
    expect(body.tools).toEqual([
      { functionDeclarations: [{ name: 'look', description: 'd', parametersJsonSchema: parameters }] },
    ])
    expect(body.toolConfig).toEqual({ functionCallingConfig: { mode: 'AUTO' } })
  })

  it('that are strict are checked by the server, where it can and the model is free to call', () => {
    const strict = [tool('look', { strict: true })]
    expect(configOf(undefined, strict)).toEqual({ mode: 'VALIDATED' })
    expect(configOf({ type: 'auto' }, strict)).toEqual({ mode: 'VALIDATED' })
    expect(configOf({ type: 'required' }, strict)).toEqual({ mode: 'ANY' })
    expect(configOf({ type: 'none' }, strict)).toEqual({ mode: 'NONE' })
    expect(configOf(undefined, strict, outputText('generic'))).toBeUndefined()
  })
})

describe('what the server has refused', () => {
  const refusing = (...fields: readonly string[]) => ({ ...outputText(), withoutFields: fields })
  const high = { effort: effortOf('high') }

  it('of thinking goes, and is named', () => {
    const { body, leftOut } = ask(
      { reasoning: { summary: 'auto' } },
      { ...high, client: 'responses', dialect: refusing('thinkingConfig') },
    )
    expect(body.generationConfig).toEqual({ maxOutputTokens: 1000 })
    expect(leftOut).toEqual(['reasoning.effort', 'reasoning.summary'])
  })
})
