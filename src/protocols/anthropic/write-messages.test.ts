import { describe, expect, it } from 'vitest'
import {
  messagesOf,
  outputText,
  sealed,
  thinking,
  written,
} from '../../../test/fixtures/protocols/anthropic/messages.ts'
import { call, conversationOf, message, reasoning, result } from '../../../test/fixtures/protocols/conversation.ts'
import type { ContentPart } from '../../model/conversation.ts'

const text = (emitted: string) => ({ type: 'text', text: emitted })
const used = (id: string, input: object = {}, name = 'look') => ({ type: 'tool_use', id, name, input })
const delivered = (id: string, content: unknown, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
})
const user = (...content: object[]) => ({ role: 'user', content })
const assistant = (...content: object[]) => ({ role: 'assistant', content })
const hi = message('user', 'hi')

describe('who speaks', () => {
  it('instructions and what the system says first are the system; what it says later goes into the next turn', () => {
    const items = [message('system', 'a'), message('developer', 'b'), hi, message('assistant', 'c')]
    const later = [...items, message('developer', 'd'), message('user', 'e')]
    const { body } = written(conversationOf(later, { instructions: 'Be brief.' }))
    expect(body.system).toEqual([text('Be brief.'), text('a'), text('b')])
    expect(body.messages.slice(1)).toEqual([assistant(text('c')), user(text('[system] d'), text('e'))])
  })

  it('the system may stand in the middle where the server takes it there', () => {
    const dialect = { ...outputText('anthropic'), midSystem: true }
    const { body } = written(conversationOf([hi, message('system', 'd'), message('user', 'e')]), dialect)
    expect(body.messages).toEqual([user(text('hi')), { role: 'system', content: [text('d')] }, user(text('e'))])
  })

  it('a model without a system prompt gets it as the first user message', () => {
    const conversation = conversationOf([hi], { instructions: 'Be brief.' })
    const { body } = written(conversation, outputText('anthropic', { systemPrompt: false }), { promptCache: 'system' })
    expect(body.system).toBeUndefined()
    expect(body.messages).toEqual([user(text('Be brief.'), text('hi'))])
  })

  it('roles alternate, the user is first, and texts of nothing but spaces are nothing', () => {
    expect(messagesOf(hi, message('user', ' \n'), message('user', 'b'), message('assistant', ''), hi)).toEqual([
      user(text('hi'), text('b'), text('hi')),
    ])
    expect(messagesOf(message('assistant', 'a'), hi)).toEqual([
      user(text('Begin.')),
      assistant(text('a')),
      user(text('hi')),
    ])
    expect(messagesOf(message('system', 's'))).toEqual([user(text('Begin.'))])
  })

  it('a last message of the assistant is the beginning of the answer, or is gone on from where that is refused', () => {
    const conversation = conversationOf([hi, message('assistant', 'The answer is \n')])
    expect(written(conversation, outputText('generic')).body.messages[1]).toEqual(assistant(text('The answer is')))
    expect(written(conversation).body.messages.slice(1)).toEqual([
      ...[assistant(text('The answer is \n')), user(text('Go on.'))],
    ])
  })

  it('names are left out and reported, refusals are text', () => {
    const named = { ...message('user', 'a'), name: 'ann' } as typeof hi
    const refusal: ContentPart = { type: 'refusal', text: 'No.' }
    const { body, leftOut } = written(conversationOf([named, message('assistant', [refusal]), hi]))
    expect(body.messages[1]).toEqual(assistant(text('No.')))
    expect(leftOut).toEqual(['input.name'])
  })
})

describe('calls and results', () => {
  it('results stand in one message behind their calls, in their order, before other content', () => {
    expect(
      messagesOf(
        ...[hi, message('assistant', 'Looking.'), call('a', { text: '{"x":1}' }), call('b')],
        ...[result('b', 'B'), message('user', 'quick!'), result('a', 'A')],
      ),
    ).toEqual([
      ...[user(text('hi')), assistant(text('Looking.'), used('a', { x: 1 }), used('b'))],
      user(delivered('a', 'A'), delivered('b', 'B'), text('quick!')),
    ])
  })

  it('a missing result is made up, and one without a call becomes text and is reported', () => {
    const { body, leftOut } = written(conversationOf([hi, call('a'), result('zz', 'lost'), message('user', 'b')]))
    expect(body.messages.slice(1)).toEqual([
      assistant(used('a')),
      user(
        ...[delivered('a', 'aborted', { is_error: true })],
        ...[text('[The result of a tool call that is not in this conversation, zz]'), text('lost'), text('b')],
      ),
    ])
    expect(leftOut).toEqual(['function_call_output'])
  })

  it('what an assistant says behind its calls stands before them', () => {
    expect(messagesOf(hi, call('a'), message('assistant', 'Wait.'), result('a', ''))[1]).toEqual(
      assistant(text('Wait.'), used('a')),
    )
  })

  it('arguments are always an object', () => {
    const deep = `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    const inputs = ['', ' ', '{"a":1}', '[1]', 'null', '{"a":', '"x"', deep].map(
      (args) => messagesOf(hi, call('a', { text: args }))[1]?.content[0]?.input,
    )
    expect(inputs).toEqual([
      ...[{}, {}, { a: 1 }, { _raw: '[1]' }, { _raw: 'null' }, { _raw: '{"a":' }, { _raw: '"x"' }, { _raw: deep }],
    ])
    expect(messagesOf(hi, call('a', { tool: 'custom', text: '{"a":1}' }))[1]).toEqual(
      assistant(used('a', { input: '{"a":1}' })),
    )
  })

  it('ids are such as the server takes, no two the same, and the same for a call and its result', () => {
    const long = 'x'.repeat(70)
    const ids = ['fc_1|call:2', 'fc_1_call_2', long, '', 'a', 'a']
    const messages = messagesOf(hi, ...ids.flatMap((id) => [call(id), result(id, id)]))
    const blocks = messages.flatMap(({ content }) => content)
    const calls = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id as string)
    expect(blocks.filter(({ type }) => type === 'tool_result').map(({ tool_use_id }) => tool_use_id)).toEqual(calls)
    expect(new Set(calls).size).toBe(ids.length)
    for (const id of calls) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect([calls[0], calls[4]]).toEqual(['fc_1_call_2', 'a'])
    const longer = messagesOf(hi, ...[...ids, 'a', 'b'].flatMap((id) => [call(id), result(id, id)]))
    expect(JSON.stringify(longer).startsWith(JSON.stringify(messages).slice(0, -1))).toBe(true)
  })

  it('a call that was sent twice is one', () => {
    expect(messagesOf(hi, call('a'), call('a', { text: '{"b":2}' }), result('a', 'A')).slice(1)).toEqual([
      ...[assistant(used('a', { b: 2 })), user(delivered('a', 'A'))],
    ])
  })
})

describe('what was thought', () => {
  const redacted = { type: 'redacted_thinking', data: 'Rk9P' }

  it('goes back whole and in its place, only to who has thought it', () => {
    const block = thinking('hm')
    expect(
      messagesOf(
        ...[hi, sealed(block), sealed(redacted), call('a'), sealed(thinking('so')), call('b'), result('a', 'A')],
      ).slice(1, 2),
    ).toEqual([assistant(block, redacted, used('a'), thinking('so'), used('b'))])
    expect(messagesOf(hi, sealed(block, 'elsewhere'), reasoning('raw'), call('a'))[1]).toEqual(assistant(used('a')))
  })

  it('that has led to nothing, or is no block at all, does not go', () => {
    const items = [hi, sealed(thinking('a')), message('assistant', 'b'), sealed(redacted), hi, sealed(thinking('c'))]
    expect(messagesOf(...items)).toEqual([user(text('hi')), assistant(thinking('a'), text('b')), user(text('hi'))])
    expect(messagesOf(hi, sealed({ type: 'text', text: 'x' }), sealed([]), call('a'))[1]).toEqual(assistant(used('a')))
  })

  it('is followed by a user text where the user message is empty, in every later request too', () => {
    const silent = [hi, message('assistant', 'a'), message('user', ' ')]
    const goesOn = user(text('Go on.'))
    expect(messagesOf(...silent)).toEqual([user(text('hi')), assistant(text('a')), goesOn])
    expect(messagesOf(...silent, message('assistant', 'b'), hi).slice(0, 3)).toEqual(messagesOf(...silent))
  })

  it('starts behind the same user text, with and without content of the assistant', () => {
    const begins = user(text('Begin.'))
    expect(messagesOf()).toEqual([begins])
    expect(messagesOf(message('assistant', 'a'), hi)).toEqual([begins, assistant(text('a')), user(text('hi'))])
    expect(messagesOf(message('assistant', ' '), hi)).toEqual([user(text('Begin.'), text('hi'))])
  })

  it('by another model before the last calls switches off thinking by budget', () => {
    const loop = (...first: Parameters<typeof messagesOf>) =>
      written(conversationOf([hi, ...first, call('a'), result('a', 'A')]), outputText('generic'), {
        effort: 'low' as never,
      })
    expect(loop().body.thinking).toEqual({ type: 'disabled' })
    expect(loop().leftOut).toEqual(['reasoning.effort'])
    expect(loop(sealed(thinking('hm'))).body.thinking).toMatchObject({ type: 'enabled' })
    const goesOn = loop(sealed(thinking('hm')), call('z'), result('z', 'Z'))
    expect(goesOn.body.thinking, 'a model that thinks once a turn').toMatchObject({ type: 'enabled' })
    const asked = loop(sealed(thinking('hm')), call('z'), result('z', 'Z'), hi)
    expect(asked.body.thinking, 'the user has spoken since').toEqual({ type: 'disabled' })
    const over = written(
      conversationOf([hi, call('a'), result('a', 'A'), message('assistant', 'b'), hi]),
      outputText('generic'),
      {
        effort: 'low' as never,
      },
    )
    expect(over.body.thinking).toMatchObject({ type: 'enabled' })
  })
})

describe('images and files', () => {
  const image = (url: string): ContentPart => ({ type: 'image', url, detail: undefined })
  const file = (over: Partial<Extract<ContentPart, { type: 'file' }>>): ContentPart => ({
    ...{ type: 'file', data: undefined, url: undefined, id: undefined, name: undefined },
    ...over,
  })
  const shown = (part: ContentPart) => {
    const { body, leftOut } = written(conversationOf([message('user', [part])]))
    return [body.messages[0]?.content[0], leftOut]
  }
  const inside = (media_type: string, data: string) => ({ type: 'base64', media_type, data })

  it('go as data or as an address', () => {
    expect(shown(image('data:image/png;base64,AAAA'))).toEqual([
      { type: 'image', source: inside('image/png', 'AAAA') },
      [],
    ])
    expect(shown(image('data:image/JPG;name=a;base64,AAAA'))[0]).toMatchObject({ source: { media_type: 'image/jpeg' } })
    expect(shown(image('https://a.b/c.png'))[0]).toEqual({
      ...{ type: 'image', source: { type: 'url', url: 'https://a.b/c.png' } },
    })
    const pdf = { type: 'document', source: inside('application/pdf', 'JVBERi0x'), title: 'a.pdf' }
    expect(shown(file({ data: 'data:application/pdf;base64,JVBERi0x', name: 'a.pdf' }))).toEqual([pdf, []])
    expect(shown(file({ data: 'data:text/plain;base64,aGk=' }))[0]).toEqual({
      ...{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'hi' } },
    })
    expect(shown(file({ data: 'data:image/png;base64,AAAA' }))[0]).toMatchObject({ type: 'image' })
    expect(shown(file({ url: 'https://a.b/c.pdf' }))[0]).toMatchObject({ source: { type: 'url' } })
  })

  it('that cannot be sent leave a text in their place and are reported', () => {
    const gone = (what: string, name: string) => [text(`[Here stood ${what} that cannot be shown.]`), [name]]
    expect(shown(image('data:image/svg+xml;base64,AAAA'))).toEqual(gone('an image', 'input_image'))
    expect(shown(image('file:///etc/passwd'))).toEqual(gone('an image', 'input_image'))
    expect(shown(file({ id: 'file-1' }))).toEqual(gone('a file', 'input_file.file_id'))
    expect(shown(file({ data: 'AAAA', name: 'a.zip' }))).toEqual(gone('a file', 'input_file'))
    expect(shown({ type: 'audio', data: 'AAAA', format: 'mp3' })).toEqual(gone('a recording', 'input_audio'))
  })

  it('stand in results, and nowhere else but where the user speaks', () => {
    const picture = image('data:image/png;base64,AAAA')
    const block = { type: 'image', source: inside('image/png', 'AAAA') }
    const emitted: ContentPart[] = [{ type: 'text', text: 'a' }, picture]
    const messages = messagesOf(hi, call('a'), result('a', emitted), message('user', 'b'))
    expect(messages[2]).toEqual(user(delivered('a', [text('a'), block]), text('b')))
    const { body, leftOut } = written(
      conversationOf([message('system', emitted), hi, message('assistant', emitted), hi]),
    )
    expect([body.system, body.messages[1]]).toEqual([[text('a')], assistant(text('a'))])
    expect(leftOut).toEqual(['input_image'])
  })
})
