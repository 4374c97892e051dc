import { setTimeout as pause } from 'node:timers/promises'
import { errorBody, USAGE } from '../../fakes/chat-frames.ts'
import { delivered } from '../../fakes/delivered.ts'
import type { Talk } from '../../fakes/answers.ts'
import type { Finish, Wire } from './provider-frames.ts'
import { wordsOf } from './visible-text.ts'

/** What a provider may do next. A JSON answer has a `half` and a `rest`, a stream has its frames. */
export type Step =
  | 'head'
  | 'half'
  | 'rest'
  | 'role'
  | 'word'
  | 'page'
  /** Nothing more will be said, and why it ends has not been. */
  | 'item-end'
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
  | { readonly finish: Finish }

const DRIP_MS = 40
const HALF_CHARACTERS = 120

export interface Playing {
  readonly wire: Wire
  readonly steps: readonly Step[]
  /** Asked at each pause. */
  wait(): Promise<void>
}

export async function playSteps(talk: Talk, { wire, steps, wait }: Playing): Promise<void> {
  const words = wordsOf(wire, talk.model)
  let usage: unknown = USAGE
  let finish: Finish = 'stop'
  // A chunk of nothing would be the end of the body.
  const say = async (frames: readonly (object | string)[]) => {
    if (frames.length > 0) await talk.frames(...frames)
  }
  const whole = () => JSON.stringify(words.whole(finish, usage))
  const plays: Record<Extract<Step, string>, () => Promise<void> | void> = {
    head: () => talk.head(),
    half: () => talk.bytes(whole().slice(0, HALF_CHARACTERS)),
    async rest() {
      await talk.bytes(whole().slice(HALF_CHARACTERS))
      await talk.end()
    },
    role: () => say(words.begin()),
    word: () => say(words.word()),
    page: () => say(words.page()),
    'item-end': () => say(words.itemEnd()),
    stop: () => say(words.finish('stop')),
    length: () => say(words.finish('length')),
    usage: () => say(words.usage(USAGE)),
    async done() {
      await say(words.done())
      await talk.end()
    },
    error: () => say(words.error()),
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
    else if (talk.delivery === 'json') usage = step.usage
    else await say(words.usage(step.usage))
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

/** The steps of a JSON answer as a provider takes them that was asked for a stream: its half is two of the words. */
export function asStream(steps: readonly Step[]): readonly Step[] {
  let usage: Step = 'usage'
  let finish: Finish = 'stop'
  return steps.flatMap((step): readonly Step[] => {
    if (step === 'half') return ['role', 'word', 'word']
    if (step === 'rest') return ['word', 'word', finish, usage, 'done']
    if (typeof step === 'string' || 'status' in step) return [step]
    if ('finish' in step) finish = step.finish
    else usage = step
    return []
  })
}
