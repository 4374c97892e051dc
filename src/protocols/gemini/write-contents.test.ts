import { describe, expect, it } from 'vitest'
import { call, conversationOf, message, reasoning, result } from '../../../test/fixtures/protocols/conversation.ts'
import { outputText, signed, type Written, written } from '../../../test/fixtures/protocols/gemini/lane.ts'
import { refusalOfGeminiRequest } from '../../../test/fixtures/protocols/gemini/strict-request.ts'
import type { ContentPart, ConversationItem } from '../../model/conversation.ts'
import { restoreNumbersIn } from '../json/exact-numbers.ts'
import { FOREIGN_CALL } from './write-contents.ts'

/** What the lane is sent of these, which a strict server takes. */
function sent(items: readonly ConversationItem[], over: Parameters<typeof written>[1] = {}): Written {
  const request = written(conversationOf(items), over)
  const { signedCalls } = over.dialect?.traits ?? { signedCalls: true }
  const judge = { signatures: new Set(['s1', 's2', 't1']), signedCalls, callIds: over.dialect?.callIds ?? true }
  expect(refusalOfGeminiRequest(request.body, judge)).toBeUndefined()
  return request
}
const contentsOf = (...items: ConversationItem[]) => sent(items).body.contents
const user = (...parts: unknown[]) => ({ role: 'user', parts })
const model = (...parts: unknown[]) => ({ role: 'model', parts })
const asked = message('user', 'q')
const made = (id: string, signature?: string, args: object = {}) => ({
  functionCall: { id, name: 'look', args },
  ...(signature === undefined ? {} : { thoughtSignature: signature }),
})
const answered = (id: string, emitted: string) => ({
  functionResponse: { id, name: 'look', response: { result: emitted } },
})
const text = (words: string) => ({ text: words })

describe('turns', () => {
  it('alternate between user and model, however many messages each has', () => {
    const items = [
      asked,
      message('user', 'r'),
      message('assistant', 'a'),
      message('assistant', 'b'),
      message('user', 's'),
    ]
    expect(contentsOf(...items)).toEqual([user(text('q'), text('r')), model(text('a\n\nb')), user(text('s'))])
  })

  it('keep refusals apart from text', () => {
    const content: ContentPart[] = [
      { type: 'text', text: 'a' },
      { type: 'refusal', text: 'no' },
      { type: 'text', text: 'b' },
    ]
    expect(contentsOf(asked, message('assistant', content), asked)).toEqual([
      user(text('q')),
      model(text('ab\n\nno')),
      user(text('q')),
    ])
  })

  it('begin and end with the user, even without messages', () => {
    expect(contentsOf(message('assistant', 'a'))).toEqual([
      user(text('Begin.')),
      model(text('a')),
      user(text('Go on.')),
    ])
    expect(contentsOf()).toEqual([user(text('Begin.'))])
    expect(contentsOf(asked, message('user', ''), message('assistant', ''))).toEqual([user(text('q'))])
  })
})

describe('instructions', () => {
  const system = message('system', 's')
  const developer = message('developer', [
    { type: 'text', text: 'd' },
    { type: 'text', text: 'e' },
  ])

  it('that come first have a place of their own', () => {
    const request = written(conversationOf([system, developer, asked], { instructions: 'i' }))
    expect(request.body).toMatchObject({
      systemInstruction: { parts: [text('i\n\ns\n\nd\ne')] },
      contents: [user(text('q'))],
    })
  })

  it('that come later stand in the next user turn, marked with their role', () => {
    expect(contentsOf(asked, message('assistant', 'a'), system, message('user', 'r'))).toEqual([
      user(text('q')),
      model(text('a')),
      user(text('[system] s'), text('r')),
    ])
    expect(contentsOf(asked, call('c1'), developer, result('c1', 'r'))).toEqual([
      user(text('q')),
      model(made('c1', FOREIGN_CALL)),
      user(answered('c1', 'r'), text('[developer] d\ne')),
    ])
  })

  it('are the system instruction as long as no other message stands before them', () => {
    const place = { systemInstruction: { parts: [{ text: 's' }] } }
    expect(sent([system]).body).toMatchObject({ ...place, contents: [user(text('Begin.'))] })
    expect(sent([system, message('assistant', 'a'), asked]).body).toMatchObject({
      ...place,
      contents: [user(text('Begin.')), {}, {}],
    })
  })

  it('of a user who says nothing are to go on, in every later request too', () => {
    const silent = [asked, message('assistant', 'a'), message('user', '')]
    const { contents } = sent(silent).body
    expect(contents).toMatchObject([{}, {}, user(text('Go on.'))])
    const later = sent([...silent, message('assistant', 'b'), asked]).body
    expect((later.contents as object[]).slice(0, 3)).toEqual(contents)
  })

  it('are a user message for a model without a system instruction', () => {
    const { body } = sent([system, asked], { dialect: outputText('google', { systemPrompt: false }) })
    expect(body.contents).toEqual([user(text('s'), text('q'))])
    expect(body.systemInstruction).toBeUndefined()
  })
})

describe('calls and their results', () => {
  it('stand behind each other, one for each call and in their order, whatever stood between them', () => {
    const items = [
      asked,
      call('a'),
      call('b', { text: '{"x":1}' }),
      result('b', 'B'),
      message('user', 'r'),
      result('a', 'A'),
    ]
    expect(contentsOf(...items)).toEqual([
      user(text('q')),
      model(made('a', FOREIGN_CALL), made('b', undefined, { x: 1 })),
      user(answered('a', 'A'), answered('b', 'B'), text('r')),
    ])
  })

  it('are complete: missing ones are made up, duplicates are dropped, orphans are reported', () => {
    const items = [asked, call('a'), call('a', { text: '{"x":1}' }), message('user', 'r'), result('zz', 'Z')]
    const { body, leftOut } = sent(items)
    expect(body.contents).toEqual([
      user(text('q')),
      model(made('a', FOREIGN_CALL, { x: 1 })),
      user(answered('a', 'aborted'), text('r'), text('The result of a tool call that is not shown here:\nZ')),
    ])
    expect(leftOut).toEqual(['function_call_output'])
    expect(sent(items, { client: 'chat' }).leftOut).toEqual(['messages.tool_call_id'])
  })

  it('of ids that come again belong to the last one before, and no two have the same', () => {
    const again = 'call_1f46d050d86b'
    expect(contentsOf(asked, call('a'), result('a', '1'), call('a'), result('a', '2'))).toEqual([
      user(text('q')),
      model(made('a', FOREIGN_CALL)),
      user(answered('a', '1')),
      model(made(again, FOREIGN_CALL)),
      user(answered(again, '2')),
    ])
  })

  it('have ids of the characters and the length that every server takes, the same for call and result', () => {
    expect(contentsOf(asked, call('a.b:c'), result('a.b:c', 'A'))).toEqual([
      user(text('q')),
      model(made('a_b_c', FOREIGN_CALL)),
      user(answered('a_b_c', 'A')),
    ])
  })

  it('have no ids for a server that does not know them', () => {
    const { body } = sent([asked, call('a'), result('a', 'A')], { dialect: outputText('generic') })
    expect(body.contents.slice(1)).toEqual([
      model({ functionCall: { name: 'look', args: {} }, thoughtSignature: FOREIGN_CALL }),
      user({ functionResponse: { name: 'look', response: { result: 'A' } } }),
    ])
  })

  const deep = `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
  it.each([
    ['', {}],
    [' ', {}],
    ['{"a":{"b":[1]}}', { a: { b: [1] } }],
    ['[1]', { _raw: '[1]' }],
    ['"x"', { _raw: '"x"' }],
    ['null', { _raw: 'null' }],
    ['{"a":', { _raw: '{"a":' }],
    ['{"a":1}}', { _raw: '{"a":1}}' }],
    [deep, { _raw: deep }],
  ])('have arguments that are an object, whatever stood there: %.20s', (given, args) => {
    expect(contentsOf(asked, call('a', { text: given }))[1]).toEqual(model(made('a', FOREIGN_CALL, args)))
  })

  it('keep their numbers digit for digit, once they are written', () => {
    const numbers = '{"id":9007199254740993,"price":1.10}'
    const { body } = written(conversationOf([asked, call('a', { text: numbers })]))
    expect(restoreNumbersIn(JSON.stringify(body.contents[1]))).toContain(`"args":${numbers}`)
  })

  it('keep a member of an odd name', () => {
    const { body } = written(conversationOf([asked, call('a', { text: '{"__proto__":{"x":1},"constructor":2}' })]))
    expect(JSON.stringify(body.contents[1])).toContain('"args":{"__proto__":{"x":1},"constructor":2}')
  })

  it('of tools that take free text are those of a function with one string', () => {
    const free = call('a', { tool: 'custom', name: 'patch', text: '*** "go"' })
    expect(contentsOf(asked, free)[1]).toMatchObject(
      model({ functionCall: { name: 'patch', args: { input: '*** "go"' } } }),
    )
  })

  it('show beside the results what is no text', () => {
    const image: ContentPart = { type: 'image', url: 'data:image/png;base64,AA==', detail: undefined }
    const items = [asked, call('a'), call('b'), result('a', [image]), result('b', [{ type: 'text', text: 'B' }, image])]
    expect(contentsOf(...items)[2]).toEqual(
      user(
        ...[answered('a', 'The result is shown below.'), answered('b', 'B')],
        ...[text('From the result of the tool look:'), { inlineData: { mimeType: 'image/png', data: 'AA==' } }],
        ...[text('From the result of the tool look:'), { inlineData: { mimeType: 'image/png', data: 'AA==' } }],
      ),
    )
  })
})

describe('what this model has signed', () => {
  it('goes back on the call that it came with, and only there', () => {
    const items = [
      asked,
      message('assistant', 'a'),
      signed('s1'),
      call('a'),
      call('b'),
      result('a', ''),
      signed('s2'),
      call('c'),
    ]
    expect(contentsOf(...items).slice(1, 4)).toEqual([
      model(text('a'), made('a', 's1'), made('b')),
      user(answered('a', ''), answered('b', 'aborted')),
      model(made('c', 's2')),
    ])
  })

  it('stays behind the text that it came with', () => {
    const items = [asked, message('assistant', 'a'), signed('t1', 'text'), message('assistant', 'b'), call('a')]
    expect(contentsOf(...items)[1]).toEqual(
      model(text('a'), { text: '', thoughtSignature: 't1' }, text('b'), made('a', FOREIGN_CALL)),
    )
    expect(contentsOf(asked, signed('t1', 'text'), message('user', 'r'))[1]).toEqual(
      model({ text: '', thoughtSignature: 't1' }),
    )
  })

  it('is nothing without its call', () => {
    expect(contentsOf(asked, signed('s1'), message('assistant', 'a'), message('user', 'r'), call('a'))[3]).toEqual(
      model(made('a', FOREIGN_CALL)),
    )
    expect(contentsOf(asked, signed('s1'), message('user', 'r'))).toEqual([user(text('q'), text('r'))])
  })

  it('of another model, or that is not a signature, is left out, and so is the text of every thought', () => {
    const nobody = [
      'x',
      '{}',
      'null',
      '{"thoughtSignature":"","on":"call"}',
      '{"thoughtSignature":"s1","on":"x"}',
      '[]',
    ]
    const odd = nobody.map((data) => ({ ...reasoning(''), opaque: { wire: 'gemini', origin: 'lane', data } }) as const)
    const foreign = [
      signed('other', 'call', 'elsewhere'),
      signed('other', 'text', 'elsewhere'),
      { ...reasoning('Hm', ['s']), opaque: { wire: 'anthropic', origin: 'lane', data: '{}' } } as const,
      reasoning('Hm', ['summary']),
    ]
    for (const item of [...odd, ...foreign]) {
      expect(contentsOf(asked, item, call('a'))[1]).toEqual(model(made('a', FOREIGN_CALL)))
    }
  })

  it('is not missed by a model that signs nothing', () => {
    const dialect = outputText('google', { signedCalls: false })
    expect(sent([asked, call('a')], { dialect }).body.contents[1]).toEqual(model(made('a')))
    expect(sent([asked, signed('s1'), call('a')], { dialect }).body.contents[1]).toEqual(model(made('a', 's1')))
  })
})

describe('parts', () => {
  const image = (url: string): ContentPart => ({ type: 'image', url, detail: 'low' })
  const file = (more: object): ContentPart => ({
    type: 'file',
    data: undefined,
    url: undefined,
    id: undefined,
    name: undefined,
    ...more,
  })
  const inline = (mimeType: string, data: string) => ({ inlineData: { mimeType, data } })
  const behind = (mimeType: string, fileUri: string) => ({ fileData: { mimeType, fileUri } })

  it.each([
    [image('data:image/png;base64,AA=='), inline('image/png', 'AA==')],
    [image('data:image/JPG;name=a;base64,AA=='), inline('image/jpeg', 'AA==')],
    [image('https://a.b/c.webp?x=1.png'), behind('image/webp', 'https://a.b/c.webp?x=1.png')],
    [image('https://a.b/c'), behind('image/jpeg', 'https://a.b/c')],
    [file({ data: 'data:application/pdf;base64,AA==' }), inline('application/pdf', 'AA==')],
    [
      file({ data: 'data:application/pdf;base64,AA==', name: 'a.txt' }),
      text('[a.txt]'),
      inline('application/pdf', 'AA=='),
    ],
    [file({ url: 'https://a/b.mp4' }), behind('video/mp4', 'https://a/b.mp4')],
    [file({ url: 'https://a/b', name: 'c.csv' }), text('[c.csv]'), behind('text/csv', 'https://a/b')],
    [{ type: 'audio', data: 'AA==', format: 'mp3' } as const, inline('audio/mp3', 'AA==')],
    [{ type: 'audio', data: 'AA==', format: '\r\nx' } as const, inline('audio/wav', 'AA==')],
    [{ type: 'refusal', text: 'no' } as const, text('no')],
  ])('go as data or by their address: %#', (part, ...expected) => {
    expect(contentsOf(message('user', [part]))).toEqual([user(...expected)])
  })

  it.each([
    [file({ id: 'file_1' }), 'input_file.file_id', 'file.file_id'],
    [file({}), 'input_file', 'file'],
    [file({ data: 'data:x' }), 'input_file', 'file'],
    [file({ url: 'gs://a/b' }), 'input_file', 'file'],
    [image('ftp://a/b.png'), 'input_image', 'image_url'],
    [image('x'), 'input_image', 'image_url'],
  ])('that have no place are named: %#', (part, inResponses, inChat) => {
    const items = [message('user', [part, { type: 'text', text: 'q' }])]
    expect(sent(items).body.contents).toEqual([user(text('q'))])
    expect(sent(items).leftOut).toEqual([inResponses])
    expect(sent(items, { client: 'chat' }).leftOut).toEqual([inChat])
  })

  it('of the model and of instructions are text', () => {
    const parts: ContentPart[] = [image('https://a/b.png'), { type: 'text', text: 'a' }, { type: 'refusal', text: 'b' }]
    const { body, leftOut } = sent([message('system', parts), asked, message('assistant', parts), asked])
    expect(body.contents).toEqual([user(text('[system] a\nb'), text('q')), model(text('a\n\nb')), user(text('q'))])
    expect(leftOut).toEqual(['input_image'])
  })
})
