import { describe, expect, it } from 'vitest'
import { repairItems } from './input-items.ts'

const user = { role: 'user', content: 'Hi' }
const text = (type: string, more: object = {}) => ({ type, text: 'Hi', ...more })

describe('repairItems', () => {
  it('leaves items alone that every server accepts', () => {
    const items = [
      user,
      { type: 'message', role: 'user', content: [text('input_text'), { type: 'input_image', image_url: 'data:' }] },
      { role: 'assistant', content: [text('output_text', { annotations: [] }), { type: 'refusal', refusal: 'No.' }] },
      { role: 'assistant', content: 'Hi', phase: 'commentary' },
      { role: 'user', content: '' },
      { type: 'function_call', call_id: '1', name: 'look', arguments: '' },
      { type: 'function_call_output', call_id: '1', output: [text('input_text')] },
      { type: 'reasoning', summary: [text('summary_text')], content: [text('reasoning_text')] },
    ]
    const repaired = repairItems(items)
    expect(repaired.every((item, at) => item === items[at])).toBe(true)
    expect(repaired).toHaveLength(items.length)
  })

  it.each(['user', 'system', 'developer'])('gives a %s message input parts', (role) => {
    const content = [text('output_text', { annotations: [], logprobs: [] }), text('text', { cache: 1 })]
    const [repaired] = repairItems([{ role, content, id: 'msg_1' }])
    expect(JSON.parse(JSON.stringify(repaired))).toEqual({
      ...{ role, id: 'msg_1', content: [text('input_text'), text('input_text', { cache: 1 })] },
    })
  })

  it('gives an assistant message output parts', () => {
    const [repaired] = repairItems([
      { type: 'message', role: 'assistant', content: [text('input_text'), text('text')] },
    ])
    expect(repaired?.content).toEqual([
      text('output_text', { annotations: [] }),
      text('output_text', { annotations: [] }),
    ])
  })

  it('gives the output of a tool input parts', () => {
    for (const type of ['function_call_output', 'custom_tool_call_output']) {
      const [repaired] = repairItems([{ type, call_id: '1', output: [text('text')] }])
      expect(JSON.parse(JSON.stringify(repaired))).toEqual({ type, call_id: '1', output: [text('input_text')] })
    }
  })

  it.each([{ content: null }, {}, { content: '' }, { content: [] }, { content: [{ type: 'output_text', text: '' }] }])(
    'leaves out an empty assistant message: $content',
    (content) => {
      const silent = { role: 'assistant', ...content }
      expect(repairItems([user, silent, user])).toEqual([user, user])
      const thought = { type: 'reasoning', encrypted_content: 'sealed' }
      expect(repairItems([thought, silent, user]), 'what reasoning has led to').toEqual([thought, silent, user])
    },
  )
})
