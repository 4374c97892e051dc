import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { requestOf } from '../../../test/fixtures/protocols/chat/translate.ts'
import { conversationIn } from '../../../test/fixtures/protocols/conversation-in.ts'
import { outputText, signed, type Written, written } from '../../../test/fixtures/protocols/gemini/lane.ts'
import { refusalOfGeminiRequest } from '../../../test/fixtures/protocols/gemini/strict-request.ts'
import { requestOf as responsesRequestOf } from '../../../test/fixtures/protocols/responses/read-request.ts'
import { CHAT_SPECIMENS } from '../../../test/translation-gaps/chat-specimens.ts'
import { differences, lossRows } from '../../../test/translation-gaps/loss-pages.ts'
import { randomChatRequest, randomResponsesRequest } from '../../../test/translation-gaps/random-requests.ts'
import { RESPONSES_SPECIMENS } from '../../../test/translation-gaps/responses-specimens.ts'
import { fieldsOf, type Specimen } from '../../../test/translation-gaps/specimen.ts'
import type { Conversation, ConversationItem } from '../../model/conversation.ts'
import type { Protocol, TurnRequest } from '../../model/turn.ts'
import type { GeminiDialect } from './dialects.ts'

const SEED = 20_265
const RUNS = Number(process.env.RANDOM_TURNS ?? 200)

const CLIENTS = {
  chat: { ask: (body: object): TurnRequest => requestOf(body), specimens: CHAT_SPECIMENS, random: randomChatRequest },
  responses: {
    ask: (body: object): TurnRequest => responsesRequestOf({ model: 'm', ...body }),
    specimens: RESPONSES_SPECIMENS,
    random: randomResponsesRequest,
  },
} as const

const LANES: readonly GeminiDialect[] = [
  outputText(),
  outputText('generic'),
  outputText('google', { jsonSchema: 'tool' }),
  outputText('google', { signedCalls: false, systemPrompt: false, jsonSchema: 'none', efforts: { high: 2048 } }),
]

/** What a lane is sent of a client's request, with whatever it has sealed before. */
function sent(client: Protocol, body: object, { dialect = outputText(), seal = identity }: Sending = {}): Written {
  const request = CLIENTS[client].ask(withRealData(body))
  const { effort, outputCap = 999 } = request
  const asked = written(seal(conversationIn(request)), { dialect, effort, outputCap, client })
  const { callIds, traits } = dialect
  const judge = { signatures: OWN, signedCalls: traits.signedCalls, callIds }
  expect(refusalOfGeminiRequest(asked.body, judge), JSON.stringify(body)).toBeUndefined()
  return asked
}

/** Files are looked into here: what stands for one elsewhere is none. */
const withRealData = (body: object): object =>
  JSON.parse(JSON.stringify(body).replaceAll('"data:x"', '"data:application/pdf;base64,AA=="'))

interface Sending {
  readonly dialect?: GeminiDialect
  readonly seal?: (conversation: Conversation) => Conversation
}

const identity = (conversation: Conversation): Conversation => conversation
const OWN: ReadonlySet<string> = new Set(['own-0', 'own-1'])

describe.each(['chat', 'responses'] as const)('a request of a client that speaks %s', (client) => {
  const { specimens, random } = CLIENTS[client]

  it.each(specimens.map((specimen) => [specimen.what, specimen] as const))(
    'is one that the server takes: %s',
    (_, specimen) => {
      for (const dialect of LANES) {
        sent(client, specimen.without, { dialect })
        sent(client, specimen.with, { dialect })
      }
    },
  )

  it('is accepted by the server, whatever it contains and however it was signed', { timeout: 60_000 }, () => {
    const counted = { calls: 0, own: 0, foreign: 0 }
    const seal = (conversation: Conversation): Conversation => {
      const items = conversation.items.flatMap((item, at): ConversationItem[] => {
        if (item.type === 'tool-call') counted.calls++
        if (at % 3 === 0) return [item]
        counted[at % 3 === 1 ? 'own' : 'foreign']++
        const on = item.type === 'tool-call' ? 'call' : 'text'
        return [at % 3 === 1 ? signed(`own-${at % 2}`, on) : signed('foreign', on, 'elsewhere'), item]
      })
      return { ...conversation, items }
    }
    fc.assert(
      fc.property(random, fc.constantFrom(...LANES), ({ body }, dialect) => {
        sent(client, body, { dialect, seal })
      }),
      { seed: SEED, numRuns: RUNS },
    )
    console.info(`${client} to gemini: seed ${SEED}, ${RUNS} requests`, counted)
    for (const count of Object.values(counted)) expect(count).toBeGreaterThan(RUNS / 10)
  })

  it('loses what the page says, and names what the page says', () => {
    const rows = lossRows('to-gemini', `A request of a ${client === 'chat' ? 'Chat' : 'Responses'} client`)
    const delivered = new Map(rows.map((row) => [row.split(' | ')[0], row]))
    const fates = specimens.map((specimen) => ({ specimen, ...fateOf(client, specimen) }))
    const expected = fates.flatMap(({ specimen: { what }, fate, named }) => {
      // What is sent may be sent as something else: that is for people to say.
      if (fate === 'sent' && named === '') return delivered.has(what) ? [`${what} | changed | `] : []
      return [`${what} | ${fate === 'sent' ? 'changed' : fate} | ${named}`]
    })
    expect(rows).toEqual(expected)
  })
})

function fateOf(client: Protocol, specimen: Specimen): { fate: 'lost' | 'ours' | 'refused' | 'sent'; named: string } {
  // Who asks for several answers is not sent here at all.
  if (client === 'chat' && specimen.what === 'n') return { fate: 'refused', named: '' }
  const [before, after] = [sent(client, specimen.without), sent(client, specimen.with)]
  const isSame = differences(before.body, after.body).length === 0
  const named = after.leftOut.filter((name) => !before.leftOut.includes(name)).map((name) => `\`${name}\``)
  const isOurs = [specimen.what, ...fieldsOf(specimen)].some((name) => OURS.has(name))
  return { fate: isSame ? (isOurs ? 'ours' : 'lost') : 'sent', named: named.join(', ') }
}

/** What Millrace does itself, so that no lane has to. */
const OURS = new Set([
  ...['model', 'stream', 'stream_options', 'store', 'previous_response_id'],
  ...['include: reasoning.encrypted_content', 'input[].id', 'input[].status'],
])
