import { describe, expect, it } from 'vitest'
import {
  conversationOf,
  problemOf,
  read,
  requestOf,
  withItems,
} from '../../../test/fixtures/protocols/responses/read-request.ts'

const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' }
const output = { type: 'function_call_output', call_id: 'call_1', output: 'ok' }
const user = { role: 'user', content: 'Hi' }
const parts = (...content: readonly unknown[]) => ({ role: 'user', content })

describe('the items of an input', () => {
  it.each([
    ['a message without type', { role: 'user', content: 'Hi' }],
    ['a message with type null', { type: null, role: 'user', content: 'Hi' }],
    ['a full message', { type: 'message', id: 'msg_1', status: 'completed', role: 'user', content: 'Hi' }],
    ['a developer', { role: 'developer', content: 'Hi' }],
    ['a system message as parts', { role: 'system', content: [{ type: 'input_text', text: 'Hi' }] }],
    ['an assistant with input_text', { role: 'assistant', content: [{ type: 'input_text', text: 'Hi' }] }],
    ['a user with output_text', parts({ type: 'output_text', text: 'Hi', annotations: [], logprobs: [] })],
    ['a part of type text', parts({ type: 'text', text: 'Hi', prompt_cache_breakpoint: {} })],
    [
      'texts of a reasoning in a message',
      parts({ type: 'summary_text', text: '' }, { type: 'reasoning_text', text: '' }),
    ],
    ['a refusal', { role: 'assistant', content: [{ type: 'refusal', refusal: 'No' }] }],
    ['an assistant without content', { role: 'assistant', content: null }],
    ['a message without parts', parts()],
    ['a phase', { role: 'assistant', content: 'Hm', phase: 'commentary' }],
    ['an unknown phase', { role: 'assistant', content: 'Hm', phase: 'later' }],
    ['a call without output', call],
    ['a call without arguments', { ...call, arguments: null }],
    ['a call in a namespace', { ...call, namespace: 'ns', id: 'fc_1', status: 'completed', caller: {} }],
    ['a custom call', { type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: 'x' }],
    ['a reasoning of Codex', { type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: 'x' }],
    ['a reasoning without id', { type: 'reasoning', summary: [{ type: 'summary_text', text: 'x' }] }],
    ['a reasoning in full', { type: 'reasoning', id: 'rs_1', content: [{ type: 'reasoning_text', text: 'x' }] }],
    ['added tools', { type: 'additional_tools', role: 'developer', tools: [] }],
  ])('%s is accepted', (_name, item) => {
    expect(read(withItems(user, item))).toMatchObject({ kind: 'read' })
  })

  it('name at most a few characters of an unknown type where none can be sent', () => {
    const problem = problemOf({ model: 'demo', input: [{ type: 'x'.repeat(600) }] })
    expect(problem).toMatchObject({ param: 'input' })
    expect(problem.message.length).toBeLessThan(200)
  })

  const TOLERATED = [
    ...['web_search_call', 'file_search_call', 'computer_call', 'computer_call_output', 'code_interpreter_call'],
    ...['image_generation_call', 'mcp_list_tools', 'mcp_call', 'mcp_approval_request', 'mcp_approval_response'],
    ...['program', 'program_output', 'configuration_update', 'agent_message', 'context_compaction'],
    ...['tool_search_call', 'tool_search_output', 'local_shell_call', 'local_shell_call_output', 'shell_call'],
    ...['shell_call_output', 'apply_patch_call', 'apply_patch_call_output', 'what_comes_next_year', '__proto__'],
  ]
  it.each(TOLERATED)('%s is accepted and left out', (type) => {
    const item = { type, id: 'x_1', call_id: 'call_9', output: [{ type: 'computer_screenshot' }], tools: 5 }
    const request = withItems(user, item)
    expect(requestOf(request).otherInputs).toEqual([])
    expect(conversationOf(request).items).toHaveLength(1)
  })

  it('the output of a call that is left out is left out with it', () => {
    const shell = { type: 'local_shell_call', call_id: 'call_1', action: {} }
    expect(conversationOf(withItems(user, shell, output)).items).toHaveLength(1)
  })

  it('an output may be text or parts, and stand apart from its call', () => {
    const list = {
      ...output,
      output: [
        { type: 'input_text', text: 'a' },
        { type: 'output_text', text: 'b' },
      ],
    }
    for (const each of [output, list, { ...output, output: '' }, { ...output, output: [] }]) {
      expect(read(withItems(call, user, { ...each, id: 'fco_1', status: null })).kind).toBe('read')
    }
  })

  it('an output of any kind without its call is refused', () => {
    for (const type of ['function_call_output', 'custom_tool_call_output']) {
      expect(problemOf(withItems(user, { ...output, type }))).toMatchObject({
        code: 'invalid_value',
        param: 'input',
        message: 'No tool call found for function call output with call_id call_1.',
      })
    }
    const unrelated = { type: 'computer_call_output', call_id: 'call_1' }
    expect(problemOf(withItems(unrelated, output)).param).toBe('input')
    expect(problemOf(withItems({ ...user, call_id: 'call_1' }, output)).param).toBe('input')
    expect(problemOf(withItems({ type: 'reasoning', call_id: 'call_1' }, output)).param).toBe('input')
  })

  it('parts that are not text are listed with their place', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' }
    const file = { type: 'input_file', file_url: 'https://a/b.pdf', filename: 'a.pdf', file_id: null }
    const audio = { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }
    const request = withItems(parts({ type: 'text', text: '' }, image, file, audio), call, {
      ...output,
      output: [image],
    })
    expect(requestOf(request).otherInputs).toEqual([
      { kind: 'image', param: 'input[0].content[1]', form: 'picture', dataBytes: 12 },
      { kind: 'file', param: 'input[0].content[2]', form: 'address', dataBytes: 0 },
      { kind: 'audio', param: 'input[0].content[3]', form: 'text', dataBytes: 0 },
      { kind: 'image', param: 'input[2].output[0]', form: 'picture', dataBytes: 12 },
    ])
  })

  it('parts in the output of a call that is left out do not count', () => {
    const shell = { type: 'local_shell_call', call_id: 'call_1', action: {} }
    const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }
    expect(requestOf(withItems(user, shell, { ...output, output: [image] })).otherInputs).toEqual([])
  })

  it.each([
    ['a message of the assistant', { role: 'assistant' }],
    ['a message of the system', { role: 'system' }],
    ['a message of the developer', { role: 'developer' }],
    ['a reasoning', { type: 'reasoning', summary: [] }],
  ])('%s may have only text', (_name, item) => {
    const image = { type: 'input_image', image_url: 'https://a/b.png' }
    expect(problemOf(withItems(user, { ...item, content: [image] }))).toMatchObject({
      code: 'unsupported_content',
      param: 'input[1].content[0]',
    })
  })

  it.each([
    ['a text among the items', 'Hi', 'invalid_type', 'input[1]'],
    ['null among the items', null, 'invalid_type', 'input[1]'],
    ['an item without type and role', { content: 'x' }, 'missing_required_parameter', 'input[1].type'],
    ['a type that is a number', { type: 5 }, 'invalid_type', 'input[1].type'],
    ['a message without role', { type: 'message', content: '' }, 'missing_required_parameter', 'input[1].role'],
    ['an unknown role', { role: 'tool', content: '' }, 'invalid_value', 'input[1].role'],
    ['a role that is an object', { role: {}, content: '' }, 'invalid_type', 'input[1].role'],
    ['a user without content', { role: 'user' }, 'missing_required_parameter', 'input[1].content'],
    ['a user whose content is null', { role: 'user', content: null }, 'missing_required_parameter', 'input[1].content'],
    ['content as a number', { role: 'user', content: 5 }, 'invalid_type', 'input[1].content'],
    ['a part that is text', parts('Hi'), 'invalid_type', 'input[1].content[0]'],
    ['a part of no type', parts({ text: 'x' }), 'missing_required_parameter', 'input[1].content[0].type'],
    ['a part without text', parts({ type: 'input_text' }), 'missing_required_parameter', 'input[1].content[0].text'],
    ['a text that is a number', parts({ type: 'input_text', text: 1 }), 'invalid_type', 'input[1].content[0].text'],
    ['a video', parts({ type: 'input_video', video_url: 'x' }), 'unsupported_content', 'input[1].content[0]'],
    ['an unknown part', parts({ type: 'hologram' }), 'unsupported_content', 'input[1].content[0]'],
    ['a part of Chat', parts({ type: 'image_url', image_url: {} }), 'unsupported_content', 'input[1].content[0]'],
    [
      'an image that is a file',
      parts({ type: 'input_image', file_id: 'file_1' }),
      'unsupported_content',
      'input[1].content[0].file_id',
    ],
    [
      'an image that is a file as well',
      parts({ type: 'input_image', file_id: 'file_1', image_url: 'https://a' }),
      'unsupported_content',
      'input[1].content[0].file_id',
    ],
    [
      'a file by its id',
      parts({ type: 'input_file', file_id: 'file_1' }),
      'unsupported_content',
      'input[1].content[0].file_id',
    ],
    [
      'a file twice',
      parts({ type: 'input_file', file_data: 'data:text/plain;base64,aGk=', file_url: 'https://a' }),
      'invalid_value',
      'input[1].content[0]',
    ],
    [
      'an image on our own disk',
      parts({ type: 'input_image', image_url: 'file:///etc/passwd' }),
      'invalid_value',
      'input[1].content[0].image_url',
    ],
    [
      'a file that is no data URL',
      parts({ type: 'input_file', file_data: 'JVBERi0xLjQK' }),
      'invalid_value',
      'input[1].content[0].file_data',
    ],
    [
      'a file whose address is its data',
      parts({ type: 'input_file', file_url: 'data:text/plain;base64,aGk=' }),
      'invalid_value',
      'input[1].content[0].file_url',
    ],
    [
      'a detail that is a number',
      parts({ type: 'input_image', image_url: 'https://a', detail: 1 }),
      'invalid_type',
      'input[1].content[0].detail',
    ],
    [
      'an image of nothing',
      parts({ type: 'input_image' }),
      'missing_required_parameter',
      'input[1].content[0].image_url',
    ],
    [
      'a file of nothing',
      parts({ type: 'input_file', filename: 'x' }),
      'missing_required_parameter',
      'input[1].content[0].file_data',
    ],
    ['a flat audio', parts({ type: 'input_audio', data: '' }), 'invalid_type', 'input[1].content[0].input_audio'],
    ['a call without id', { ...call, call_id: null }, 'missing_required_parameter', 'input[1].call_id'],
    ['a call with an empty id', { ...call, call_id: '' }, 'invalid_value', 'input[1].call_id'],
    ['a call with a long id', { ...call, call_id: 'c'.repeat(65) }, 'invalid_value', 'input[1].call_id'],
    ['a call with a number as id', { ...call, call_id: 7 }, 'invalid_type', 'input[1].call_id'],
    ['a call without name', { ...call, name: undefined }, 'missing_required_parameter', 'input[1].name'],
    ['arguments as an object', { ...call, arguments: {} }, 'invalid_type', 'input[1].arguments'],
    ['a custom input as an object', { ...call, type: 'custom_tool_call', input: {} }, 'invalid_type', 'input[1].input'],
    ['a namespace that is no word', { ...call, namespace: 5 }, 'invalid_type', 'input[1].namespace'],
    ['an output of nothing', { ...output, output: null }, 'missing_required_parameter', 'input[1].output'],
    ['an output that is an object', { ...output, output: { a: 1 } }, 'invalid_type', 'input[1].output'],
    ['an output without id', { ...output, call_id: undefined }, 'missing_required_parameter', 'input[1].call_id'],
    ['a summary as an object', { type: 'reasoning', summary: {} }, 'invalid_type', 'input[1].summary'],
    [
      'sealed content as an object',
      { type: 'reasoning', encrypted_content: {} },
      'invalid_type',
      'input[1].encrypted_content',
    ],
    ['a reference', { type: 'item_reference', id: 'rs_1' }, 'item_not_found', 'input[1].id'],
    ['a reference without type', { id: 'msg_1' }, 'item_not_found', 'input[1].id'],
    ['an empty compaction', { type: 'compaction' }, 'missing_required_parameter', 'input[1].encrypted_content'],
    [
      'a compaction without words',
      { type: 'compaction', encrypted_content: '' },
      'invalid_value',
      'input[1].encrypted_content',
    ],
    ['a trigger of a compaction that is not the last', { type: 'compaction_trigger' }, 'invalid_value', 'input[1]'],
    ['added tools without tools', { type: 'additional_tools' }, 'missing_required_parameter', 'input[1].tools'],
    ['a hosted item of a numeric type', { type: 1, call_id: 'x' }, 'invalid_type', 'input[1].type'],
  ])('%s is refused', (_name, item, code, param) => {
    expect(problemOf(withItems(user, item))).toMatchObject({ code, param })
  })
})

describe('an item that goes to no lane', () => {
  const user = { role: 'user', content: 'Hi' }

  it('is named by its place and type, with the output of a call that goes nowhere', () => {
    const shell = { type: 'local_shell_call', call_id: 'c', action: {} }
    const output = { type: 'function_call_output', call_id: 'c', output: 'x' }
    const input = [{ type: 'web_search_call', id: 'ws' }, user, shell, output, { type: 'who_knows', data: 1 }]
    expect(requestOf({ model: 'demo', input }).optionalFields).toEqual([
      'input.0.web_search_call',
      'input.2.local_shell_call',
      'input.3.function_call_output',
      'input.4.who_knows',
    ])
  })

  it('is refused where its type is unknown and it has content', () => {
    for (const fields of [{ role: 'user' }, { content: 'Hi' }, { role: 'user', content: [] }]) {
      const { code, param, message } = problemOf({ model: 'demo', input: [user, { type: 'mesage', ...fields }] })
      expect([code, param]).toEqual(['invalid_value', 'input[1].type'])
      expect(message).toContain('"mesage"')
    }
  })

  it('is refused where nothing else is there', () => {
    for (const input of [
      [{ type: 'web_search_call', id: 'ws' }],
      [{ type: 'additional_tools', role: 'developer', tools: [] }],
    ])
      expect(problemOf({ model: 'demo', input })).toMatchObject({ code: 'invalid_value', param: 'input' })
  })
})
