import { setTimeout as pause } from 'node:timers/promises'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { errorBody, USAGE } from '../../fakes/chat-frames.ts'
import { delivered } from '../../fakes/delivered.ts'
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

export async function playSteps(providerAnswer: ProviderAnswer, { wire, steps, wait }: Playing): Promise<void> {
  const words = wordsOf(wire, providerAnswer.model)
  let usage: unknown = USAGE
  let finish: Finish = 'stop'
  // A chunk of nothing would be the end of the body.
  const emit = async (frames: readonly (object | string)[]) => {
    if (frames.length > 0) await providerAnswer.frames(...frames)
  }
  const whole = () => JSON.stringify(words.whole(finish, usage))
  const plays: Record<Extract<Step, string>, () => Promise<void> | void> = {
    head: () => providerAnswer.head(),
    half: () => providerAnswer.bytes(whole().slice(0, HALF_CHARACTERS)),
    async rest() {
      await providerAnswer.bytes(whole().slice(HALF_CHARACTERS))
      await providerAnswer.end()
    },
    role: () => emit(words.begin()),
    word: () => emit(words.word()),
    page: () => emit(words.page()),
    'item-end': () => emit(words.itemEnd()),
    stop: () => emit(words.finish('stop')),
    length: () => emit(words.finish('length')),
    usage: () => emit(words.usage(USAGE)),
    async done() {
      await emit(words.done())
      await providerAnswer.end()
    },
    error: () => emit(words.error()),
    pings: () =>
      repeat(providerAnswer, () => providerAnswer.bytes(providerAnswer.delivery === 'stream' ? ': ping\n\n' : ' ')),
    async reset() {
      await delivered()
      providerAnswer.reset()
    },
    silence: () => providerAnswer.closed,
    pause: wait,
  }
  for (const step of steps) {
    if (typeof step === 'string') await plays[step]()
    else if ('status' in step) await refuse(providerAnswer, step.status)
    else if ('finish' in step) finish = step.finish
    else if (providerAnswer.delivery === 'json') usage = step.usage
    else await emit(words.usage(step.usage))
  }
}

async function repeat(providerAnswer: ProviderAnswer, emit: () => Promise<void>): Promise<void> {
  while (!providerAnswer.socket.destroyed) {
    await emit()
    await pause(DRIP_MS)
  }
}

async function refuse(providerAnswer: ProviderAnswer, status: number): Promise<void> {
  await providerAnswer.head(status)
  await providerAnswer.bytes(JSON.stringify(errorBody('No.')))
  await providerAnswer.end()
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
