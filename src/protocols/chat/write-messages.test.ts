import { describe, expect, it } from 'vitest'
import {
  call,
  conversationOf,
  message,
  messagesOf,
  reasoning,
  result,
  written,
} from '../../../test/fixtures/protocols/chat/translate.ts'
import type { ContentPart } from '../../model/conversation.ts'

const image: ContentPart = { type: 'image', url: 'data:image/png;base64,AA', detail: 'low' }
const shownImage = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA', detail: 'low' } }
const asked = (id: string, name = 'look', args = '{}') => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})
const delivered = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content })

describe('who speaks', () => {
  it('instructions come first, as a developer where the server knows one, else as the system', () => {
    const conversation = conversationOf([message('user', 'hi')], { instructions: 'Be brief.' })
    expect(written(conversation, 'openai').body.messages[0]).toEqual({ role: 'developer', content: 'Be brief.' })
    expect(written(conversation, 'generic').body.messages[0]).toEqual({ role: 'system', content: 'Be brief.' })
    expect(messagesOf([message('user', 'hi')])).toHaveLength(1)
  })

  it('system and developer messages stay in their places, under a role that the server knows', () => {
    const items = [message('system', 'a'), message('user', 'b'), message('developer', 'c')]
    expect(messagesOf(items).map(({ role }) => role)).toEqual(['system', 'user', 'developer'])
    expect(messagesOf(items, 'generic').map(({ role }) => role)).toEqual(['system', 'user', 'system'])
  })

  it('a single text is a plain string, several parts are a list', () => {
    const two: ContentPart[] = [{ type: 'text', text: 'a' }, image]
    expect(messagesOf([message('user', 'a'), message('user', two), message('user', [])])).toEqual([
      { role: 'user', content: 'a' },
      { role: 'user', content: [{ type: 'text', text: 'a' }, shownImage] },
      { role: 'user', content: '' },
    ])
  })

  it('files and audio go as the parts that chat has for them, and a file that is only an address is named', () => {
    const parts: ContentPart[] = [
      { type: 'file', data: 'data:x', url: undefined, id: undefined, name: 'a.pdf' },
      { type: 'audio', data: 'AA', format: 'mp3' },
      { type: 'file', data: undefined, url: 'https://example.com/a.pdf', id: undefined, name: undefined },
    ]
    const { body, leftOut } = written(conversationOf([message('user', parts)]))
    expect(body.messages[0]!.content).toEqual([
      { type: 'file', file: { file_data: 'data:x', filename: 'a.pdf' } },
      { type: 'input_audio', input_audio: { data: 'AA', format: 'mp3' } },
    ])
    expect(leftOut).toEqual(['input_file.file_url'])
    expect(messagesOf([message('user', parts.slice(2))])[0]!.content).toBe('')
  })

  it('an image in an assistant or system message is left out and reported', () => {
    const { body, leftOut } = written(conversationOf([message('assistant', [image]), message('system', [image])]))
    expect(body.messages).toEqual([
      { role: 'assistant', content: '' },
      { role: 'system', content: '' },
    ])
    expect(leftOut).toEqual(['input_image'])
  })

  it('names of speakers go where the server takes them', () => {
    const conversation = conversationOf([{ ...message('user', 'a'), name: 'ann' } as never])
    expect(written(conversation).body.messages[0]).toMatchObject({ name: 'ann' })
    const groq = written(conversation, 'groq')
    expect(groq.body.messages[0]).not.toHaveProperty('name')
    expect(groq.leftOut).toEqual(['input.name'])
  })

  it('a refusal stays one where the server knows refusals, and is text elsewhere', () => {
    const items = [message('assistant', [{ type: 'refusal', text: 'No.' }])]
    expect(messagesOf(items)).toEqual([{ role: 'assistant', content: null, refusal: 'No.' }])
    expect(messagesOf(items, 'generic')).toEqual([{ role: 'assistant', content: 'No.' }])
  })
})

describe('what an assistant says and calls', () => {
  it('consecutive messages and calls of an assistant become one message', () => {
    const items = [
      message('assistant', 'Looking.'),
      message('assistant', 'Now.'),
      call('1'),
      call('2'),
      result('1', 'a'),
    ]
    expect(messagesOf([...items, result('2', 'b')])).toEqual([
      { role: 'assistant', content: 'Looking.\n\nNow.', tool_calls: [asked('1'), asked('2')] },
      delivered('1', 'a'),
      delivered('2', 'b'),
    ])
  })

  it('calls without text have null for content', () => {
    expect(messagesOf([call('1')])[0]).toEqual({ role: 'assistant', content: null, tool_calls: [asked('1')] })
  })

  it('arguments go as the model wrote them, empty or broken', () => {
    const [emitted] = messagesOf([call('1', { text: '' }), call('2', { text: '{"a' })])
    expect(emitted!.tool_calls).toEqual([asked('1', 'look', ''), asked('2', 'look', '{"a')])
  })

  it('a custom call goes natively where the server knows such tools, else as the function that it went as', () => {
    const items = [call('1', { tool: 'custom', name: 'patch', text: 'a "b"\n' })]
    expect(messagesOf(items)[0]!.tool_calls).toEqual([
      { id: '1', type: 'custom', custom: { name: 'patch', input: 'a "b"\n' } },
    ])
    expect(messagesOf(items, 'generic')[0]!.tool_calls).toEqual([asked('1', 'patch', '{"input":"a \\"b\\"\\n"}')])
  })

  it('a call of an earlier turn is named as its tool would be, declared or not', () => {
    const [emitted] = messagesOf([call('1', { namespace: 'agents', name: 'wait' })])
    expect(emitted!.tool_calls).toEqual([asked('1', 'agents__wait')])
  })

  it('reasoning goes back only to servers that want it, with the message that it led to', () => {
    const items = [message('user', 'q'), reasoning('hm'), call('1'), result('1', 'a'), reasoning('', ['so', 'then'])]
    const all = [...items, message('assistant', 'done'), reasoning('for nothing')]
    expect(messagesOf(all).map((each) => each.reasoning_content)).toEqual([undefined, undefined, undefined, undefined])
    for (const dialect of ['deepseek', 'moonshot']) {
      const thoughts = messagesOf(all, dialect).map((each) => each.reasoning_content)
      expect(thoughts).toEqual([undefined, 'hm', undefined, 'so\n\nthen'])
    }
  })

  it('reasoning that came from a chat lane under seal goes back as it was, and from elsewhere it stays sealed', () => {
    const sealed = (wire: 'chat' | 'responses') => ({ ...reasoning('', ['short']), opaque: { wire, data: 'long' } })
    const thoughts = (wire: 'chat' | 'responses') =>
      messagesOf([sealed(wire) as never, message('assistant', 'a')], 'deepseek')[0]!.reasoning_content
    expect(thoughts('chat')).toBe('long')
    expect(thoughts('responses')).toBe('short')
  })

  it('reasoning between two calls of one turn does not part them', () => {
    const items = [call('1'), reasoning('more'), call('2'), result('1', 'a'), result('2', 'b')]
    for (const dialect of ['openai', 'deepseek']) {
      expect(messagesOf(items, dialect)[0]!.tool_calls).toHaveLength(2)
    }
  })

  it('reasoning that led to nothing makes no message', () => {
    expect(messagesOf([reasoning('hm'), message('user', 'q')], 'deepseek')).toEqual([{ role: 'user', content: 'q' }])
  })
})

describe('results', () => {
  it('stand right behind their message, in the order of the calls', () => {
    const items = [call('1'), call('2'), result('2', 'b'), result('1', 'a'), message('user', 'go on')]
    expect(messagesOf(items).slice(1)).toEqual([
      delivered('1', 'a'),
      delivered('2', 'b'),
      { role: 'user', content: 'go on' },
    ])
  })

  it('come before a message that was put between', () => {
    const items = [call('1'), message('user', 'wait'), message('developer', 'x'), result('1', 'a')]
    expect(messagesOf(items).map(({ role }) => role)).toEqual(['assistant', 'tool', 'user', 'developer'])
  })

  it('of a call that is answered before another of its turn are all there, once', () => {
    const items = [call('1'), call('2'), result('1', 'a'), call('3'), result('2', 'b'), result('3', 'c')]
    expect(messagesOf(items)).toEqual([
      { role: 'assistant', content: null, tool_calls: [asked('1'), asked('2')] },
      delivered('1', 'a'),
      delivered('2', 'b'),
      { role: 'assistant', content: null, tool_calls: [asked('3')] },
      delivered('3', 'c'),
    ])
  })

  it('that are missing say that the call was aborted, at the end and in the middle', () => {
    expect(messagesOf([call('1'), message('user', 'again'), call('2')]).filter(({ role }) => role === 'tool')).toEqual([
      delivered('1', 'aborted'),
      delivered('2', 'aborted'),
    ])
  })

  it('that come twice count once: the last one wins', () => {
    const items = [call('1'), result('1', 'old'), message('user', 'x'), result('1', 'new')]
    expect(messagesOf(items).filter(({ role }) => role === 'tool')).toEqual([delivered('1', 'new')])
  })

  it('belong to the call before them where a provider has given an id twice', () => {
    const items = [call('0'), result('0', 'a'), message('user', 'x'), call('0'), result('0', 'b')]
    expect(messagesOf(items).filter(({ role }) => role === 'tool')).toEqual([delivered('0', 'a'), delivered('0', 'b')])
  })

  it('that came before their call are its own, and no later one of the same id has them', () => {
    const items = [result('0', 'a'), call('0'), message('user', 'x'), call('0')]
    const { body, leftOut } = written(conversationOf(items))
    expect(body.messages.filter(({ role }) => role === 'tool')).toEqual([
      delivered('0', 'a'),
      delivered('0', 'aborted'),
    ])
    expect(leftOut).toEqual([])
  })

  it('without a call are left out, and reported', () => {
    const { body, leftOut } = written(conversationOf([message('user', 'x'), result('9', 'a')]))
    expect(body.messages).toEqual([{ role: 'user', content: 'x' }])
    expect(leftOut).toEqual(['function_call_output'])
  })

  it('a call that was sent twice is one', () => {
    expect(messagesOf([call('1', { text: 'old' }), call('1', { text: 'new' }), result('1', 'a')])).toEqual([
      { role: 'assistant', content: null, tool_calls: [asked('1', 'look', 'new')] },
      delivered('1', 'a'),
    ])
  })

  it('several texts of a result are one, and its images go in a message of the user behind all results', () => {
    const parts: ContentPart[] = [{ type: 'text', text: 'a' }, image, { type: 'text', text: 'b' }]
    expect(messagesOf([call('1'), call('2'), result('1', parts), result('2', [image])]).slice(1)).toEqual([
      delivered('1', 'a\nb'),
      delivered('2', 'The result is shown below.'),
      {
        role: 'user',
        content: [
          { type: 'text', text: 'From the result of the tool look:' },
          shownImage,
          { type: 'text', text: 'From the result of the tool look:' },
          shownImage,
        ],
      },
    ])
  })

  it('have ids of nine letters for the server that takes no others: the same for call and result, and every time', () => {
    const items = [call('call_01abc'), call('abcdefGH9'), result('call_01abc', 'a'), result('abcdefGH9', 'b')]
    const [emitted, ...results] = messagesOf(items, 'mistral')
    const ids = (emitted!.tool_calls as { id: string }[]).map(({ id }) => id)
    expect(ids).toEqual([expect.stringMatching(/^[A-Za-z0-9]{9}$/), 'abcdefGH9'])
    expect(results.map((each) => each.tool_call_id)).toEqual(ids)
    expect(messagesOf(items, 'mistral')[0]).toEqual(emitted)
    expect(messagesOf(items)[1]).toMatchObject({ tool_call_id: 'call_01abc' })
  })
})
