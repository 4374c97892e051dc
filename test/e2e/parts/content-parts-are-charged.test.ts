import { describe, expect, it } from 'vitest'
import { inputCounted, OUTPUT_TOKENS } from '../../fakes/content-parts.ts'
import { answerOf, send } from '../../support/send-chat.ts'
import { openSubscriber } from '../../support/subscriber.ts'
import { INPUT, LONG_TEXT, LOOKERS, OUTPUT, PDF, PICTURE, usePartsServer } from './parts-server.ts'

const setup = usePartsServer()

const words = 'What is in these?'

function chatAsk(canary: string) {
  const shown = { type: 'image_url', image_url: { url: `${canary}/result.png` } }
  return {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: words },
          { type: 'image_url', image_url: { url: PICTURE, detail: 'low' } },
          { type: 'image_url', image_url: { url: `${canary}/a.png?sig=1`, detail: 'high' } },
          { type: 'file', file: { file_data: PDF, filename: 'a.pdf' } },
          { type: 'file', file: { file_data: LONG_TEXT, filename: 'a.txt' } },
        ],
      },
      {
        role: 'assistant',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'here' }, shown] },
    ],
  }
}

function responsesAsk(canary: string) {
  return {
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: words },
          { type: 'input_image', image_url: PICTURE, detail: 'low' },
          { type: 'input_image', image_url: `${canary}/a.png?sig=1`, detail: 'high' },
          { type: 'input_file', file_data: PDF, filename: 'a.pdf' },
          { type: 'input_file', file_data: LONG_TEXT, filename: 'a.txt' },
        ],
      },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'call_1',
        output: [
          { type: 'input_text', text: 'here' },
          { type: 'input_image', image_url: `${canary}/result.png` },
        ],
      },
    ],
  }
}

const PROTOCOLS = {
  chat: { path: '/chat/completions', sendTurn: chatAsk },
  responses: { path: '/responses', sendTurn: responsesAsk },
} as const

const WAYS = (['chat', 'responses'] as const).flatMap((protocol) =>
  LOOKERS.flatMap((model) =>
    (['wallet', 'builder'] as const).flatMap((kind) =>
      [false, true].map((stream) => [protocol, model, kind, stream] as const),
    ),
  ),
)

describe('images and files', () => {
  it.each(WAYS)(
    'of a %s client reach %s unchanged, charged to a %s key (stream: %s)',
    async (protocol, model, kind, stream) => {
      const { server, far, canary } = setup()
      const person = await openSubscriber(server, 'pro')
      const { path, sendTurn } = PROTOCOLS[protocol]
      const who = kind === 'wallet' ? person : person.builder
      const response = await send(server, who, { model, stream, ...sendTurn(canary) }, { path })
      const emitted = await response.text()
      expect(response.status, emitted).toBe(200)
      expect(response.headers.get('x-millrace-ignored-fields')).toBe(null)

      // The provider says what it saw. For a detail that the client omits, the two protocols send nothing and `auto`.
      for (const seen of [
        `image image/png of ${PICTURE.length} low`,
        `image ${canary}/a.png?sig=1 high`,
        `file a.pdf application/pdf of ${PDF.length}`,
        `file a.txt text/plain of ${LONG_TEXT.length}`,
      ]) {
        expect(emitted).toContain(seen)
      }
      expect(emitted).toMatch(new RegExp(`image ${canary}/result.png (as it likes|auto)`))

      const counted = inputCounted(far.providerAnswers[0]!)
      const [receipt] = await person.receipts()
      expect(receipt).toMatchObject({ outcome: 'completed', estimated: 0, shortfall_nano: 0n, uncached_input: counted })
      expect(receipt!.charge_nano).toBe(BigInt(counted) * INPUT + BigInt(OUTPUT_TOKENS) * OUTPUT)
      expect(receipt!.charge_nano).toBeLessThanOrEqual(receipt!.hold_nano)
      // And no more is held than what they may count for: the picture alone is more bytes than all of it has tokens.
      expect(receipt!.hold_nano).toBeLessThan(BigInt(PICTURE.length) * INPUT)
    },
  )

  it('by URL go to a lane that supports URLs', async () => {
    const { server, far, canary } = setup()
    const person = await openSubscriber(server)
    const file = { type: 'input_file', file_url: `${canary}/long.pdf` }
    const receivedRequest = {
      model: 'both',
      input: [{ role: 'user', content: [{ type: 'input_text', text: words }, file] }],
    }
    const answer = await answerOf(await send(server, person, receivedRequest, { path: '/responses' }))
    expect(answer.status).toBe(200)
    expect(answer.json.output[0].content[0].text).toBe(`I see: file ${canary}/long.pdf`)
    expect(far.providerAnswers.map(({ receivedRequest: sent }) => Object.hasOwn(sent, 'input'))).toEqual([true])
    expect((await person.receipts())[0]).toMatchObject({ estimated: 0, shortfall_nano: 0n })
  })
})
