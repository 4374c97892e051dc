import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { answerOf, get, send } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { PDF, PICTURE, usePartsServer } from './parts-server.ts'

const setup = usePartsServer()

const chatWith = (model: string, part: object) => ({ model, messages: [{ role: 'user', content: [part] }] })
const responsesWith = (model: string, part: object) => ({ model, input: [{ role: 'user', content: [part] }] })
const image = (url: string) => ({ type: 'image_url', image_url: { url } })

type Refusal = readonly [
  what: string,
  code: 'unsupported_content' | 'invalid_value',
  body: object,
  place: string,
  words: RegExp,
]

const CHAT_PART = 'messages[0].content[0]'
const PART = 'input[0].content[0]'

const REFUSED: readonly Refusal[] = [
  [
    'an image, where only text is read',
    'unsupported_content',
    chatWith('blind', image(PICTURE)),
    CHAT_PART,
    /takes text only/,
  ],
  [
    'the same of a Responses client',
    'unsupported_content',
    responsesWith('blind', { type: 'input_image', image_url: PICTURE }),
    PART,
    /takes text only/,
  ],
  [
    'a file, where only images are looked at',
    'unsupported_content',
    chatWith('images-only', { type: 'file', file: { file_data: PDF, filename: 'a.pdf' } }),
    CHAT_PART,
    /takes text, image only/,
  ],
  [
    'audio, wherever',
    'unsupported_content',
    chatWith('over-chat', { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }),
    CHAT_PART,
    /takes text, image, file only/,
  ],
  [
    'audio of a Responses client',
    'unsupported_content',
    responsesWith('over-responses', { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }),
    PART,
    /audio/,
  ],
  [
    'a file of another place',
    'unsupported_content',
    chatWith('over-chat', { type: 'file', file: { file_id: 'file-1' } }),
    `${CHAT_PART}.file.file_id`,
    /keeps none/,
  ],
  [
    'an image of another place',
    'unsupported_content',
    responsesWith('over-responses', { type: 'input_image', file_id: 'file-1' }),
    `${PART}.file_id`,
    /keeps none/,
  ],
  [
    'a file by its address, where no lane has a place for it',
    'unsupported_content',
    responsesWith('over-chat', { type: 'input_file', file_url: 'https://a.example/b.pdf' }),
    PART,
    /fetches nothing/,
  ],
  [
    'an image that the assistant shows',
    'unsupported_content',
    { model: 'over-chat', messages: [{ role: 'assistant', content: [image(PICTURE)] }] },
    CHAT_PART,
    /user messages/,
  ],
  [
    'a file of our own disk',
    'invalid_value',
    chatWith('over-chat', image('file:///etc/passwd')),
    `${CHAT_PART}.image_url.url`,
    /http/,
  ],
  [
    'a script',
    'invalid_value',
    responsesWith('over-responses', { type: 'input_image', image_url: 'javascript:alert(1)' }),
    `${PART}.image_url`,
    /http/,
  ],
  [
    'data that is none',
    'invalid_value',
    chatWith('over-chat', image('data:image/png;base64,<not>')),
    `${CHAT_PART}.image_url.url`,
    /not base64/,
  ],
  [
    'a program as a file',
    'invalid_value',
    responsesWith('over-responses', { type: 'input_file', file_data: 'data:application/x-sh;base64,aGk=' }),
    `${PART}.file_data`,
    /data:application\/pdf/,
  ],
]

describe('content parts are refused:', () => {
  it.each(REFUSED)('%s: %s', async (_what, code, body, param, message) => {
    const { server, far } = setup()
    const person = await openAccount(server)
    for (const stream of [false, true]) {
      const path = 'messages' in body ? '/chat/completions' : '/responses'
      const answer = await answerOf(await send(server, person, { ...body, stream }, { path }))
      expectProblem(answer, code, { param, message })
    }
    expect(far.providerAnswers).toEqual([])
    expect(await person.receipts()).toEqual([])
  })

  it('but not what the model list promises', async () => {
    const { server } = setup()
    const person = await openAccount(server)
    const { json } = await get(server, person, '/models')
    const modalities = json.data.map((model: { id: string; input_modalities: string[] }) => [
      model.id,
      model.input_modalities,
    ])
    expect(Object.fromEntries(modalities)).toEqual({
      'over-chat': ['text', 'image', 'file'],
      'over-responses': ['text', 'image', 'file'],
      liar: ['text', 'image', 'file'],
      breaks: ['text', 'image', 'file'],
      both: ['text', 'image', 'file'],
      'images-only': ['text', 'image'],
      blind: ['text'],
    })
    const { models } = await server.operate('models.list', {})
    expect(models.find(({ id }) => id === 'images-only')).toMatchObject({ input_tokens_max: { image: 1500 } })
  })
})
