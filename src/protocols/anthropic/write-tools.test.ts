import { describe, expect, it } from 'vitest'
import { outputText, tool, written } from '../../../test/fixtures/protocols/anthropic/messages.ts'
import { call, conversationOf, message, result } from '../../../test/fixtures/protocols/conversation.ts'
import type { AnswerFormat, Conversation, ToolChoice } from '../../model/conversation.ts'
import type { ModelTraits } from '../../model/effort.ts'
import { toolSchema } from './write-tools.ts'

const hi = message('user', 'hi')
const asked = (over: Partial<Conversation>, name = 'anthropic', traits: Partial<ModelTraits> = {}) =>
  written(conversationOf([hi], over), outputText(name, traits))
const chosen = (toolChoice: ToolChoice | undefined, parallelToolCalls?: boolean) =>
  asked({ tools: [tool('look'), tool('see')], toolChoice, parallelToolCalls }).body.tool_choice
const LOOK = { type: 'tool', tool: 'function', name: 'look', namespace: undefined } as const

describe('tools', () => {
  it('take an object, and nothing beside it that the server does not know', () => {
    const { body, tools } = asked({
      tools: [
        { ...tool('look'), description: 'd', parameters: undefined },
        tool('see', { $schema: 'x', type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }),
        { ...tool('a.b'), namespace: 'ns' },
        tool('look'),
      ],
    })
    const none = { type: 'object', properties: {} }
    expect(body.tools).toEqual([
      { name: 'look', description: 'd', input_schema: none },
      { name: 'see', input_schema: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } },
      { name: 'ns__a_b', input_schema: none },
    ])
    expect(tools.clientName('ns__a_b')).toMatchObject({ name: 'a.b', namespace: 'ns' })
    expect(body.tool_choice).toBeUndefined()
  })

  it('of free text are functions of one string, with the grammar in the description', () => {
    const grammar = { syntax: 'lark', definition: 'start: "a"' }
    const { body } = asked({ tools: [{ type: 'custom', name: 'p', namespace: undefined, description: 'd', grammar }] })
    expect(body.tools).toEqual([
      {
        name: 'p',
        description: 'd\n\nThe input must match this lark grammar:\nstart: "a"',
        input_schema: expect.objectContaining({ type: 'object', required: ['input'] }),
      },
    ])
  })

  it('are held to their schema where the client wants it, and the server can', () => {
    const closed = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }
    const strictOf = (parameters: Record<string, unknown>, name = 'anthropic', traits: Partial<ModelTraits> = {}) =>
      (asked({ tools: [{ ...tool('look', parameters), strict: true }] }, name, traits).body.tools as object[])[0]
    expect(strictOf(closed)).toHaveProperty('strict', true)
    expect(strictOf({ ...closed, properties: { a: { type: 'string', minLength: 2 } } })).not.toHaveProperty('strict')
    expect(strictOf({ type: 'object', properties: {} })).not.toHaveProperty('strict')
    expect(strictOf(closed, 'generic')).not.toHaveProperty('strict')
    expect(strictOf(closed, 'anthropic', { jsonSchema: 'tool' })).not.toHaveProperty('strict')
  })

  it('that were called in the past and are declared no more are declared, and not to be called', () => {
    const { body } = written(conversationOf([hi, call('a'), result('a', 'A'), call('b'), result('b', 'B')]))
    expect(body.tools).toEqual([{ name: 'look', input_schema: { type: 'object', properties: {} } }])
    expect(body.tool_choice).toEqual({ type: 'none' })
  })
})

describe('the choice of a tool', () => {
  it('is written with the server’s names', () => {
    expect(chosen({ type: 'auto' })).toEqual({ type: 'auto' })
    expect(chosen({ type: 'none' })).toEqual({ type: 'none' })
    expect(chosen({ type: 'required' })).toEqual({ type: 'any' })
    expect(chosen(LOOK)).toEqual({ type: 'tool', name: 'look' })
    expect(chosen(undefined, false)).toEqual({ type: 'auto', disable_parallel_tool_use: true })
    expect(chosen(LOOK, false)).toEqual({ type: 'tool', name: 'look', disable_parallel_tool_use: true })
    expect(chosen({ type: 'none' }, false)).toEqual({ type: 'none' })
    expect(chosen(undefined, true)).toBeUndefined()
    expect(asked({ toolChoice: { type: 'required' }, parallelToolCalls: false }).body.tool_choice).toBeUndefined()
  })

  it('among some of them declares only those', () => {
    const some = (mode: 'auto' | 'required') =>
      asked({ tools: [tool('look'), tool('see')], toolChoice: { type: 'allowed', mode, tools: [LOOK] } }).body
    expect(some('required').tools).toEqual([expect.objectContaining({ name: 'look' })])
    expect(some('required').tool_choice).toEqual({ type: 'any' })
    expect(some('auto').tool_choice).toEqual({ type: 'auto' })
  })
})

describe('an answer in a form', () => {
  const schema = { type: 'object', properties: { a: { type: 'integer', minimum: 1 } } }
  const format: AnswerFormat = { type: 'json_schema', name: 'look', description: 'd', schema, strict: true }

  it('is held to its schema where the server can do that', () => {
    const { body, answerTool } = asked({ format })
    expect(body.output_config).toEqual({
      format: {
        type: 'json_schema',
        schema: {
          type: 'object',
          properties: { a: { type: 'integer', description: '{minimum: 1}' } },
          additionalProperties: false,
        },
      },
    })
    expect([answerTool, body.tools]).toEqual([undefined, undefined])
  })

  it('is the input of a tool where it cannot, and where the schema is of a kind that it does not hold', () => {
    const map: AnswerFormat = { ...format, schema: { type: 'object', additionalProperties: { type: 'string' } } }
    for (const { body, answerTool } of [
      asked({ format }, 'anthropic', { jsonSchema: 'tool' }),
      asked({ format: map }),
    ]) {
      expect(answerTool).toBe('answer__look')
      expect(body.tools).toEqual([expect.objectContaining({ name: 'answer__look' })])
      expect(body.tool_choice).toEqual({ type: 'tool', name: 'answer__look', disable_parallel_tool_use: true })
      expect(body.output_config).toBeUndefined()
    }
  })

  it('beside tools lets the model call those first, and never stands against the client’s own choice', () => {
    const beside = (toolChoice: ToolChoice | undefined) =>
      asked({ format, tools: [tool('look')], toolChoice }, 'anthropic', { jsonSchema: 'tool' })
    expect(beside(undefined).body.tool_choice).toEqual({ type: 'any', disable_parallel_tool_use: true })
    expect(beside({ type: 'none' }).body.tool_choice).toMatchObject({ type: 'tool', name: 'answer__look' })
    expect(beside({ type: 'required' }).body.tool_choice).toEqual({ type: 'any' })
    expect(beside({ type: 'required' }).answerTool).toBeUndefined()
    expect(beside(LOOK).body.tools).toHaveLength(1)
  })

  it('of any JSON is requested by a sentence', () => {
    const { body } = asked({ format: { type: 'json_object' }, instructions: 'Be brief.' })
    expect(body.system).toEqual([
      { type: 'text', text: 'Be brief.' },
      { type: 'text', text: expect.stringMatching(/JSON/) },
    ])
    const empty: AnswerFormat = { ...format, schema: undefined }
    expect(asked({ format: empty }).body.system).toHaveLength(1)
    expect(asked({ format: { type: 'text' } }).body.system).toBeUndefined()
  })
})

it('the top of a schema is an object, without choices', () => {
  expect(toolSchema(undefined)).toEqual({ type: 'object', properties: {} })
  expect(toolSchema({ type: 'string' })).toEqual({ type: 'object', properties: {} })
  expect(toolSchema({ type: ['object', 'null'], properties: null, required: 'a' })).toEqual({
    ...{ type: 'object', properties: {} },
  })
})

it('what was a choice at the top is one object: wanted is what every choice wants', () => {
  const one = { type: 'object', properties: { a: { type: 'string' }, b: {} }, required: ['a', 'b'] }
  const other = { type: 'object', properties: { a: {}, c: {} }, required: ['a'] }
  expect(toolSchema({ anyOf: [one, other, 5] })).toEqual({
    ...{ type: 'object', properties: { a: {}, b: {}, c: {} }, required: ['a'] },
  })
  expect(toolSchema({ required: ['z'], properties: { z: {} }, allOf: [one, other] })).toEqual({
    ...{ type: 'object', properties: { z: {}, a: {}, b: {}, c: {} }, required: ['z', 'a', 'b'] },
  })
})
