import { expect } from 'vitest'
import type { Fields } from '../../../src/lib/types.ts'
import { readStream } from '../../support/read-stream.ts'
import { type Address, type Answer, answerOf, send } from '../../support/send-chat.ts'
import { readResponseStream } from '../../support/send-responses.ts'

export const DELIVERIES = ['json', 'stream'] as const
export type Delivery = (typeof DELIVERIES)[number]
export type Protocol = 'chat' | 'responses'

const PATHS: Readonly<Record<Protocol, string>> = { chat: '/chat/completions', responses: '/responses' }

type Who = { readonly key: string }

/** A request in the shape that a client gave it, answered whole, whatever became of it. */
export const sendShape = async (server: Address, who: Who, protocol: Protocol, body: object): Promise<Answer> =>
  answerOf(await send(server, who, body, { path: PATHS[protocol] }))

export interface Parsed {
  readonly text: string
  /** What the header says was not passed on. */
  readonly ignored: string | null
}

/** The same, where it has to be served: what the client read of it. */
export async function parseShape(
  server: Address,
  who: Who,
  { protocol, delivery }: { readonly protocol: Protocol; readonly delivery: Delivery },
  body: object,
): Promise<Parsed> {
  const receivedRequest = delivery === 'stream' ? { ...body, stream: true } : body
  const answer = await send(server, who, receivedRequest, { path: PATHS[protocol] })
  const ignored = answer.headers.get('x-millrace-ignored-fields')
  if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`)
  return { text: await TEXT_OF[protocol][delivery](answer), ignored }
}

const TEXT_OF: Readonly<Record<Protocol, Readonly<Record<Delivery, (answer: Response) => Promise<string>>>>> = {
  chat: {
    json: async (answer) => (await answerOf(answer)).json.choices[0].message.content,
    stream: async (answer) => {
      const { text, done } = await readStream(answer)
      expect(done).toBe(true)
      return text
    },
  },
  responses: {
    json: async (answer) => textOf((await answerOf(answer)).json),
    stream: async (answer) => textOf((await readResponseStream(answer)).response),
  },
}

function textOf({ status, output }: { status: string; output: Fields[] }): string {
  expect(status).toBe('completed')
  return output
    .flatMap(({ type, content }) => (type === 'message' ? (content as Fields[]) : []))
    .map(({ text }) => text)
    .join('')
}
