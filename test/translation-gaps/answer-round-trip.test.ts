import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { ReplyItem } from '../../src/model/conversation.ts'
import type { TurnEvent } from '../../src/model/event.ts'
import { SETTLED } from '../fixtures/protocols/chat/translate.ts'
import { collectReply } from '../fixtures/protocols/collect-reply.ts'
import { lossRows } from './loss-pages.ts'
import { finishInChat, randomAnswer, saidBy, saidInChat } from './random-answer.ts'
import { eventsIn, framesIn, openClient, readerOf, sentBy } from './turns.ts'

const SEED = 20_263
const RUNS = Number(process.env.RANDOM_TURNS ?? 200)

/** Chat has one message and one reasoning for an answer: these rows say so, and the model of a chat answer is all of them. */
const ROWS_OF_CHAT = ['several messages', 'several reasonings', 'summary', 'summary, several parts']

/** What is left of a lane's chat stream when a Responses client has been told of it, as its frames. */
function throughResponses(stream: string): string {
  const adapter = openClient('responses', 'stream').translate(readerOf('chat'))
  const emitted = framesIn([Buffer.from(stream)]).map((frame) => adapter.read(frame).bytes?.toString() ?? '')
  return emitted.join('') + adapter.close(SETTLED).toString()
}

/** The items of an answer, without those that say nothing; a reasoning has one kind of words, and one seal. */
function itemsOf(events: readonly TurnEvent[]): unknown[] {
  return collectReply(events).items.flatMap((item): unknown[] => {
    if (item.type === 'tool-call') return [{ ...item, callId: undefined }]
    if (item.type === 'message')
      return hasWords(item) ? [{ ...item, content: item.content.filter(({ text }) => text !== '') }] : []
    const reasoning = { thought: item.text, delivered: item.summary.join(''), seal: item.opaque?.data }
    return reasoning.thought + reasoning.delivered === '' && reasoning.seal === undefined ? [] : [reasoning]
  })
}

const hasWords = ({ content }: Extract<ReplyItem, { type: 'message' }>): boolean =>
  content.some(({ text }) => text !== '')

/** A reasoning that is told in words and in summaries is two there, and of two seals each has its own: only their sum stays. */
function summed(items: readonly unknown[]): unknown {
  const isReasoning = (item: unknown): item is Reasoning => 'thought' in (item as object)
  const reasonings = items.filter(isReasoning)
  return {
    others: items.filter((item) => !isReasoning(item)),
    seals: reasonings.flatMap(({ seal }) => seal ?? []),
    thought: reasonings.map(({ thought }) => thought).join(''),
    delivered: reasonings.map(({ delivered }) => delivered).join(''),
  }
}

interface Reasoning {
  readonly thought: string
  readonly delivered: string
  readonly seal: string | undefined
}

it('the rows that the model of a chat answer stands for are in the page', () => {
  const rows = lossRows('chat-to-responses', 'The answer')
  expect(ROWS_OF_CHAT.filter((what) => !rows.includes(`${what} | changed`))).toEqual([])
})

it('a random answer that is written and read again is the same, but for what is known', { timeout: 60_000 }, () => {
  const counts: Record<string, number> = {}
  fc.assert(
    fc.property(randomAnswer, ({ events }) => {
      for (const { type } of events) counts[type] = (counts[type] ?? 0) + 1
      const finish = events.at(-1)

      const inChat = sentBy('chat', events)
      const afterChat = eventsIn('chat', inChat)
      expect(saidBy(afterChat)).toEqual(saidInChat(events, 'untold'))
      expect(afterChat.at(-1)).toEqual(finishInChat(events))

      const afterResponses = eventsIn('responses', sentBy('responses', events))
      expect(summed(itemsOf(afterResponses))).toEqual(summed(itemsOf(events)))
      expect(afterResponses.at(-1)).toEqual(finish)

      const afterBoth = eventsIn('responses', throughResponses(inChat))
      expect(itemsOf(afterBoth)).toEqual(itemsOf(afterChat))
      expect(afterBoth.at(-1)).toEqual(finishInChat(events))
    }),
    { seed: SEED, numRuns: RUNS },
  )
  console.info(`answers there and back: seed ${SEED}, ${RUNS} answers`, counts)
  const kinds = ['text-delta', 'refusal-delta', 'reasoning-delta', 'summary-delta', 'reasoning-seal', 'tool-call-delta']
  expect(kinds.filter((kind) => !((counts[kind] ?? 0) > RUNS / 4))).toEqual([])
})
