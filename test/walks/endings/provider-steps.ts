import { setTimeout as pause } from 'node:timers/promises'
import { chunk, errorBody, reply, USAGE, usageChunk, WORDS } from '../../fakes/chat-words.ts'
import { delivered } from '../../fakes/delivered.ts'
import type { Talk } from '../../fakes/talk.ts'

/** What a provider may do next. A JSON answer has a `half` and a `rest`, a stream has its frames. */
export type Step =
  | 'head'
  | 'half'
  | 'rest'
  | 'role'
  | 'word'
  | 'stop'
  | 'length'
  | 'usage'
  | 'done'
  | 'error'
  | 'pings'
  | 'reset'
  /** Nothing more until the connection is closed. */
  | 'silence'
  /** Until the test says so. */
  | 'pause'
  | { readonly status: number }
  /** The usage that is told, in a frame or in the rest of a JSON answer. */
  | { readonly usage: unknown }
  | { readonly finish: 'length' }

const DRIP_MS = 40
const HALF_CHARACTERS = 120

/** Plays the steps; `wait` is asked at each pause. */
export async function playSteps(talk: Talk, steps: readonly Step[], wait: () => Promise<void>): Promise<void> {
  const { model } = talk
  let said = 0
  let more: object = {}
  let finish = 'stop'
  const whole = () => JSON.stringify(reply(model, { finish, more }))
  const plays: Record<Extract<Step, string>, () => Promise<void> | void> = {
    head: () => talk.head(),
    half: () => talk.bytes(whole().slice(0, HALF_CHARACTERS)),
    async rest() {
      await talk.bytes(whole().slice(HALF_CHARACTERS))
      await talk.end()
    },
    role: () => talk.frames(chunk(model, { delta: { role: 'assistant', content: '' } })),
    word: () => talk.frames(chunk(model, { delta: { content: WORDS[said++] } })),
    stop: () => talk.frames(chunk(model, { finish: 'stop' })),
    length: () => talk.frames(chunk(model, { finish: 'length' })),
    usage: () => talk.frames(usageChunk(model, USAGE)),
    async done() {
      await talk.frames('[DONE]')
      await talk.end()
    },
    error: () => talk.frames(errorBody('Broken.')),
    pings: () => repeat(talk, () => talk.bytes(talk.delivery === 'stream' ? ': ping\n\n' : ' ')),
    async reset() {
      await delivered()
      talk.reset()
    },
    silence: () => talk.closed,
    pause: wait,
  }
  for (const step of steps) {
    if (typeof step === 'string') await plays[step]()
    else if ('status' in step) await refuse(talk, step.status)
    else if ('finish' in step) finish = step.finish
    else if (talk.delivery === 'json') more = step
    else await talk.frames(usageChunk(model, step.usage))
  }
}

async function repeat(talk: Talk, say: () => Promise<void>): Promise<void> {
  while (!talk.socket.destroyed) {
    await say()
    await pause(DRIP_MS)
  }
}

async function refuse(talk: Talk, status: number): Promise<void> {
  await talk.head(status)
  await talk.bytes(JSON.stringify(errorBody('No.')))
  await talk.end()
}

export const WHOLE = {
  json: ['head', 'half', 'rest'],
  stream: ['head', 'role', 'word', 'word', 'word', 'word', 'stop', 'usage', 'done'],
} as const satisfies Record<string, readonly Step[]>
