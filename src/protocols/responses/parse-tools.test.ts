import { describe, expect, it } from 'vitest'
import {
  base,
  conversationOf,
  problemOf,
  read,
  requestOf,
  withItems,
} from '../../../test/fixtures/protocols/responses/read-request.ts'
import { spliceMembers } from '../json/bytes.ts'
import { requestedField } from './fields.ts'

const fn = (name: string, more: object = {}) => ({ type: 'function', name, parameters: { type: 'object' }, ...more })
const custom = (name: string, more: object = {}) => ({ type: 'custom', name, ...more })
const namespace = (name: string, ...tools: readonly object[]) => ({ type: 'namespace', name, description: 'd', tools })
const added = (...tools: readonly object[]) => ({ type: 'additional_tools', role: 'developer', tools })
const withTools = (...tools: readonly object[]) => ({ ...base, tools })

/** What every lane is sent of a request, but for what the lane decides. */
const sentOf = (body: string | object) => {
  const { body: given, rewritten } = requestOf(body)
  return String(spliceMembers(given, rewritten))
}

describe('the tools of a request', () => {
  it('may be functions, flat, of which only the name is needed', () => {
    const full = fn('a', { strict: true, description: 'A', defer_loading: false, output_schema: {} })
    const request = withTools(full, { type: 'function', name: 'b', parameters: null, strict: null, description: null })
    expect(conversationOf(request).tools).toEqual([
      {
        type: 'function',
        name: 'a',
        namespace: undefined,
        description: 'A',
        parameters: { type: 'object' },
        strict: true,
      },
      {
        type: 'function',
        name: 'b',
        namespace: undefined,
        description: undefined,
        parameters: undefined,
        strict: undefined,
      },
    ])
    expect(sentOf(request)).toBe(JSON.stringify(request))
  })

  it('may be custom, with a grammar or without', () => {
    const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }
    const tools = withTools(
      custom('a', { format: grammar, description: 'A' }),
      custom('b', { format: { type: 'text' } }),
    )
    expect(conversationOf(tools).tools).toEqual([
      {
        type: 'custom',
        name: 'a',
        namespace: undefined,
        description: 'A',
        grammar: { syntax: 'lark', definition: 'start: "x"' },
      },
      { type: 'custom', name: 'b', namespace: undefined, description: undefined, grammar: undefined },
    ])
  })

  it('may stand in namespaces, where the same name may stand again', () => {
    const request = withTools(fn('a'), namespace('one', fn('a'), custom('b')), namespace('two', fn('a')))
    expect(conversationOf(request).tools.map(({ namespace, name }) => [namespace, name])).toEqual([
      [undefined, 'a'],
      ['one', 'a'],
      ['one', 'b'],
      ['two', 'a'],
    ])
    expect(requestOf(request).inputSize.tools).toBe(6)
  })

  it('may be added by items, which override earlier definitions', () => {
    const items = withItems(
      added(fn('a', { description: 'old' })),
      { role: 'user', content: 'x' },
      added(fn('a'), fn('c')),
    )
    const request = { ...items, tools: [fn('b')] }
    const { tools, items: kept } = conversationOf(request)
    expect(tools.map(({ name, description }) => [name, description])).toEqual([
      ['b', undefined],
      ['a', undefined],
      ['c', undefined],
    ])
    expect(kept).toHaveLength(1)
    expect(requestOf(request).inputSize.tools).toBe(4)
  })

  const HOSTED = [
    ...['web_search', 'web_search_preview', 'file_search', 'code_interpreter', 'image_generation', 'computer', 'mcp'],
    ...['computer_use_preview', 'programmatic_tool_calling', 'shell', 'local_shell', 'apply_patch', 'tool_search'],
    ...['what_comes_next_year', '__proto__', 'constructor', ''],
  ]
  it.each(HOSTED)('of type "%s" are left out and named', (type) => {
    const tool = { type, name: 7, tools: 'x' }
    expect(requestOf(withTools(tool, fn('a'))).ignoredTools).toEqual([type])
    expect(JSON.parse(sentOf({ ...withTools(tool, fn('a')), tool_choice: 'auto' }))).toEqual({
      ...base,
      tools: [fn('a')],
      tool_choice: 'auto',
    })
  })

  it('are left out inside namespaces and items too, and all are named', () => {
    const request = {
      ...withItems(added({ type: 'mcp' }, fn('x')), { role: 'user', content: 'x' }),
      tools: [
        fn('a'),
        { type: 'web_search' },
        namespace('n', fn('b'), { type: 'shell' }),
        namespace('m', { type: 'mcp' }),
      ],
    }
    expect(requestOf(request).ignoredTools).toEqual(['web_search', 'shell', 'mcp', 'mcp'])
    expect(JSON.parse(sentOf(request)).tools).toEqual([fn('a'), namespace('n', fn('b'))])
    expect(requestedField(requestOf(request), 'tools')).toEqual([fn('a'), namespace('n', fn('b'))])
  })

  it('keep their own bytes when others are left out', () => {
    const text = `{"model":"demo","input":"x","tools":[{"type":"mcp"}, {"type":"function","name":"f","parameters":{"n":1.0}} ]}`
    expect(sentOf(text)).toContain('"tools":[ {"type":"function","name":"f","parameters":{"n":1.0}} ]')
  })

  it('remove the related fields when no tool is left', () => {
    const request = { ...withTools({ type: 'mcp' }), tool_choice: 'auto', parallel_tool_calls: false }
    expect(JSON.parse(sentOf(request))).toEqual(base)
    expect(conversationOf(request)).toMatchObject({ tools: [], toolChoice: undefined })
    expect(requestedField(requestOf(request), 'tools')).toBeUndefined()
    expect(requestedField(requestOf(request), 'tool_choice')).toBeUndefined()
    const withAdded = { ...request, input: [added(fn('a')), { role: 'user', content: 'x' }] }
    expect(JSON.parse(sentOf(withAdded))).toMatchObject({ tool_choice: 'auto', parallel_tool_calls: false })
    expect(JSON.parse(sentOf(withAdded))).not.toHaveProperty('tools')
  })

  it.each([
    ['a tool that is text', ['f'], 'invalid_type', 'tools[0]'],
    ['a tool of no type', [{}], 'missing_required_parameter', 'tools[0].type'],
    ['a type that is a number', [{ type: 1 }], 'invalid_type', 'tools[0].type'],
    [
      'a function nested as in Chat',
      [{ type: 'function', function: fn('f') }],
      'missing_required_parameter',
      'tools[0].name',
    ],
    ['an empty name', [fn('')], 'invalid_value', 'tools[0].name'],
    ['parameters as text', [fn('f', { parameters: '{}' })], 'invalid_type', 'tools[0].parameters'],
    ['strict as a word', [fn('f', { strict: 'yes' })], 'invalid_type', 'tools[0].strict'],
    ['a description of numbers', [fn('f', { description: 1 })], 'invalid_type', 'tools[0].description'],
    ['an unknown format', [custom('f', { format: { type: 'yaml' } })], 'invalid_value', 'tools[0].format.type'],
    [
      'a grammar without definition',
      [custom('f', { format: { type: 'grammar', syntax: 'lark' } })],
      'missing_required_parameter',
      'tools[0].format.definition',
    ],
    ['a namespace without name', [{ type: 'namespace', tools: [] }], 'missing_required_parameter', 'tools[0].name'],
    ['a namespace of nothing', [{ type: 'namespace', name: 'n' }], 'missing_required_parameter', 'tools[0].tools'],
    ['a nameless tool inside', [namespace('n', fn('a'), custom(''))], 'invalid_value', 'tools[0].tools[1].name'],
    ['the same name twice', [fn('a'), fn('b'), fn('a')], 'invalid_value', 'tools[2].name'],
    ['the same name in two kinds', [fn('a'), custom('a')], 'invalid_value', 'tools[1].name'],
    ['the same name twice inside', [namespace('n', fn('a'), fn('a'))], 'invalid_value', 'tools[0].tools[1].name'],
    [
      'a namespace in two halves',
      [namespace('n', fn('a')), namespace('n', fn('a'))],
      'invalid_value',
      'tools[1].tools[0].name',
    ],
  ])('%s is refused', (_name, tools, code, param) => {
    expect(problemOf({ ...base, tools })).toMatchObject({ code, param })
    const inItem = withItems({ type: 'additional_tools', tools })
    expect(problemOf(inItem)).toMatchObject({ code, param: `input[0].${param}` })
  })
})

describe('tool_choice', () => {
  const tools = [fn('a'), custom('b'), namespace('n', fn('c'), fn('d')), { type: 'web_search' }]
  const choosing = (tool_choice: unknown) => ({ ...base, tools, tool_choice })
  const allowed = (mode: unknown, ...named: readonly unknown[]) => ({ type: 'allowed_tools', mode, tools: named })

  it.each([
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'required' }],
    [
      { type: 'function', name: 'a' },
      { type: 'tool', tool: 'function', name: 'a', namespace: undefined },
    ],
    [
      { type: 'custom', name: 'b' },
      { type: 'tool', tool: 'custom', name: 'b', namespace: undefined },
    ],
    [
      { type: 'function', name: 'c', namespace: 'n' },
      { type: 'tool', tool: 'function', name: 'c', namespace: 'n' },
    ],
    [
      { type: 'function', name: 'd' },
      { type: 'tool', tool: 'function', name: 'd', namespace: 'n' },
    ],
    [
      allowed('required', { type: 'function', name: 'a' }, { type: 'custom', name: 'b' }),
      {
        type: 'allowed',
        mode: 'required',
        tools: [
          { tool: 'function', name: 'a', namespace: undefined },
          { tool: 'custom', name: 'b', namespace: undefined },
        ],
      },
    ],
    [
      allowed('auto', { type: 'namespace', name: 'n' }),
      {
        type: 'allowed',
        mode: 'auto',
        tools: [
          { tool: 'function', name: 'c', namespace: 'n' },
          { tool: 'function', name: 'd', namespace: 'n' },
        ],
      },
    ],
    [null, undefined],
  ])('%j is read', (choice, expected) => {
    expect(conversationOf(choosing(choice)).toolChoice).toEqual(expected)
    expect(requestOf(choosing(choice)).rewritten.has('tool_choice')).toBe(false)
  })

  it('loses what it allows of hosted tools', () => {
    const some = choosing(allowed('auto', { type: 'web_search' }, { type: 'function', name: 'a' }))
    const rest = allowed('auto', { type: 'function', name: 'a' })
    expect(JSON.parse(sentOf(some)).tool_choice).toEqual(rest)
    expect(requestedField(requestOf(some), 'tool_choice')).toEqual(rest)
    const only = choosing(allowed('auto', { type: 'web_search' }))
    expect(JSON.parse(sentOf(only)).tool_choice).toBe('none')
    expect(conversationOf(only).toolChoice).toEqual({ type: 'none' })
  })

  it('counts a tool once, however often it is allowed', () => {
    const one = { type: 'namespace', name: 'n' }
    const request = choosing(
      allowed('auto', { type: 'function', name: 'd' }, one, one, { type: 'function', name: 'c' }),
    )
    expect(conversationOf(request).toolChoice).toMatchObject({ tools: [{ name: 'd' }, { name: 'c' }] })
  })

  it('does not resolve a name without a namespace that several namespaces have', () => {
    const two = { ...base, tools: [namespace('n', fn('a')), namespace('m', fn('a'))] }
    expect(problemOf({ ...two, tool_choice: { type: 'function', name: 'a' } }).param).toBe('tool_choice')
    expect(read({ ...two, tool_choice: { type: 'function', name: 'a', namespace: 'm' } }).kind).toBe('read')
  })

  it('may name a tool that an item adds', () => {
    const request = {
      ...withItems(added(fn('x')), { role: 'user', content: 'x' }),
      tool_choice: { type: 'function', name: 'x' },
    }
    expect(conversationOf(request).toolChoice).toMatchObject({ name: 'x' })
  })

  it.each([
    ['an unknown word', 'any', 'invalid_value', 'tool_choice'],
    ['a number', 5, 'invalid_type', 'tool_choice'],
    ['an object without type', { name: 'a' }, 'missing_required_parameter', 'tool_choice.type'],
    ['a function without name', { type: 'function' }, 'missing_required_parameter', 'tool_choice.name'],
    ['a function that is not declared', { type: 'function', name: 'z' }, 'invalid_value', 'tool_choice'],
    ['a function that is custom', { type: 'function', name: 'b' }, 'invalid_value', 'tool_choice'],
    ['a tool of another namespace', { type: 'function', name: 'c', namespace: 'm' }, 'invalid_value', 'tool_choice'],
    ['a hosted tool that is declared', { type: 'web_search' }, 'unsupported_tool', 'tool_choice'],
    ['a hosted tool that is not', { type: 'mcp', server_label: 'x' }, 'unsupported_tool', 'tool_choice'],
    ['a shell', { type: 'shell' }, 'unsupported_tool', 'tool_choice'],
    [
      'allowed ones without mode',
      allowed(null, { type: 'function', name: 'a' }),
      'missing_required_parameter',
      'tool_choice.mode',
    ],
    [
      'allowed ones of another mode',
      allowed('none', { type: 'function', name: 'a' }),
      'invalid_value',
      'tool_choice.mode',
    ],
    ['none that are allowed', allowed('auto'), 'invalid_value', 'tool_choice.tools'],
    ['an allowed word', allowed('auto', 'a'), 'invalid_type', 'tool_choice.tools[0]'],
    [
      'an allowed tool that is not declared',
      allowed('auto', { type: 'function', name: 'z' }),
      'invalid_value',
      'tool_choice',
    ],
    ['one of hosted tools required', allowed('required', { type: 'web_search' }), 'unsupported_tool', 'tool_choice'],
  ])('%s is refused', (_name, choice, code, param) => {
    expect(problemOf(choosing(choice))).toMatchObject({ code, param })
  })

  it('cannot be required when none is left, or none was there', () => {
    expect(problemOf({ ...base, tools: [{ type: 'mcp' }], tool_choice: 'required' }).code).toBe('unsupported_tool')
    expect(problemOf({ ...withItems(added({ type: 'mcp' })), tool_choice: 'required' }).code).toBe('unsupported_tool')
    expect(problemOf({ ...base, tool_choice: 'required' }).code).toBe('invalid_value')
    expect(read({ ...withItems({ role: 'user', content: 'x' }, added(fn('x'))), tool_choice: 'required' }).kind).toBe(
      'read',
    )
  })
})
